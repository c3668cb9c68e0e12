/* SPDX-License-Identifier: Apache-2.0 */
/* Bootstrap intervals against sums of binomials, resampling by hand, and their own promise. */
#include <math.h>

#include "analyze/stats/bootstrap.h"
#include "analyze/stats/describe.h"
#include "analyze/stats/random.h"
#include "tests/support/check.h"

/* I(x; k, n - k + 1) is the chance that at least k of n draws hit, each with chance x. */
static double at_least(double x, int k, int n)
{
    double sum = 0;

    for (int i = k; i <= n; i++)
        sum +=
            exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1)) * pow(x, i) * pow(1 - x, n - i);
    return sum;
}

static void incomplete_beta_sums_binomials(void **state)
{
    CHECK_NEAR(bootstrap_beta(0, 2, 3), 0, 0);
    CHECK_NEAR(bootstrap_beta(1, 2, 3), 1, 0);
    CHECK_NEAR(bootstrap_beta(0.5, 2, 2), 0.5, 1e-12);
    CHECK_NEAR(bootstrap_beta(0.3, 1, 1), 0.3, 1e-12);
    for (int n = 1; n <= 40; n += 3) {
        for (int k = 1; k <= n; k++) {
            for (double x = 0.05; x < 1; x += 0.15)
                CHECK_NEAR(bootstrap_beta(x, k, n - k + 1), at_least(x, k, n), 1e-10);
        }
    }
}

/* Resampling as the books describe it. */
static void resample_by_hand(const double *a, size_t a_count, const double *b, size_t b_count,
                             double percent, double *out_low, double *out_high)
{
    enum { ROUNDS = 20000 };
    static double found[ROUNDS];
    double drawn[2][64];
    uint64_t seed = 99;

    for (int i = 0; i < ROUNDS; i++) {
        for (size_t k = 0; k < a_count; k++)
            drawn[0][k] = a[random_below(&seed, a_count)];
        for (size_t k = 0; k < b_count; k++)
            drawn[1][k] = b[random_below(&seed, b_count)];
        stats_sort(drawn[0], a_count);
        stats_sort(drawn[1], b_count);
        found[i] = stats_percentile(drawn[1], b_count, percent) -
                   stats_percentile(drawn[0], a_count, percent);
    }
    stats_sort(found, ROUNDS);
    *out_low = stats_percentile(found, ROUNDS, 2.5);
    *out_high = stats_percentile(found, ROUNDS, 97.5);
}

static int change_of(const double *a, size_t a_count, const double *b, size_t b_count,
                     double percent, uint64_t seed, struct bootstrap_change *out_change)
{
    double places[2][64];
    const struct bootstrap_sample base = {a, places[0], a_count}, new = {b, places[1], b_count};

    bootstrap_places(a_count, percent, places[0]);
    bootstrap_places(b_count, percent, places[1]);
    return bootstrap_change(&base, &new, 0.95, seed, out_change);
}

static void agrees_with_resampling(void **state)
{
    const double percents[] = {50, 90, 99};
    uint64_t seed = 5;
    double a[40], b[30];

    for (int i = 0; i < 40; i++)
        a[i] = 10 + random_unit(&seed);
    for (int i = 0; i < 30; i++)
        b[i] = 10.5 + 2 * random_unit(&seed);
    stats_sort(a, 40);
    stats_sort(b, 30);
    for (int i = 0; i < 3; i++) {
        struct bootstrap_change change;
        double low, high;

        CHECK_OK(change_of(a, 40, b, 30, percents[i], 1, &change));
        resample_by_hand(a, 40, b, 30, percents[i], &low, &high);
        CHECK_NEAR(change.difference.low, low, 0.12);
        CHECK_NEAR(change.difference.high, high, 0.12);
        assert_true(change.ratio.low <= change.ratio.high);
        CHECK_NEAR(change.ratio.high, 1 + change.difference.high / 10.5, 0.05);
    }
}

/* A sum of twelve evenly spread numbers: nearly normal. */
static double draw_normal(uint64_t *seed)
{
    double sum = -6;

    for (int i = 0; i < 12; i++)
        sum += random_unit(seed);
    return sum;
}

static void covers_the_truth_as_often_as_promised(void **state)
{
    enum { ROUNDS = 400, COUNT = 30 };
    uint64_t seed = 11;
    int covered = 0;

    for (int round = 0; round < ROUNDS; round++) {
        double a[COUNT], b[COUNT];
        struct bootstrap_change change;

        for (int i = 0; i < COUNT; i++) {
            a[i] = 100 + draw_normal(&seed);
            b[i] = 102 + draw_normal(&seed);
        }
        stats_sort(a, COUNT);
        stats_sort(b, COUNT);
        CHECK_OK(change_of(a, COUNT, b, COUNT, 50, (uint64_t)round, &change));
        covered += change.difference.low <= 2 && change.difference.high >= 2;
    }
    /* 380 are promised; percentile intervals of a median are known to be a little short or long. */
    assert_in_range(covered, 364, 397);
}

static void the_same_seed_gives_the_same_interval(void **state)
{
    const double a[] = {1, 2, 3, 4, 5}, b[] = {2, 3, 5, 8, 13};
    struct bootstrap_change one, two;

    CHECK_OK(change_of(a, 5, b, 5, 50, 42, &one));
    CHECK_OK(change_of(a, 5, b, 5, 50, 42, &two));
    assert_memory_equal(&one, &two, sizeof(one));
}

static void one_value_says_nothing(void **state)
{
    const double one = 3, zeros[] = {0, 0, 1};
    struct bootstrap_change change;

    CHECK_OK(change_of(&one, 1, zeros, 3, 50, 1, &change));
    assert_true(isnan(change.difference.low) && isnan(change.difference.high));
    CHECK_OK(change_of(zeros, 3, zeros, 3, 50, 1, &change));
    assert_true(isnan(change.ratio.low));
    CHECK_NEAR(change.difference.low, -1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(incomplete_beta_sums_binomials),
        cmocka_unit_test(agrees_with_resampling),
        cmocka_unit_test(covers_the_truth_as_often_as_promised),
        cmocka_unit_test(the_same_seed_gives_the_same_interval),
        cmocka_unit_test(one_value_says_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
