/* SPDX-License-Identifier: Apache-2.0 */
/* The rank test against published examples and against all ways to choose a sample, by force. */
#include <math.h>

#include "analyze/stats/random.h"
#include "analyze/stats/rank_test.h"
#include "tests/support/check.h"

/* Hollander and Wolfe's permeability of the chorioamnion at term and at 12 to 26 weeks; the help
 * page of R's wilcox.test() has W = 35 and p = 0.1272 for one side. */
static void agrees_with_a_published_exact_test(void **state)
{
    const double term[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
    const double early[] = {1.15, 0.88, 0.90, 0.74, 1.21};
    struct rank_result result;

    CHECK_OK(rank_test(early, 5, term, 10, &result));
    assert_true(result.is_exact);
    CHECK_NEAR(result.u, 35, 0);
    CHECK_NEAR(result.superiority, 0.7, 1e-12);
    CHECK_NEAR(result.p, 2 * 0.1272, 5e-5 * 2);
    CHECK_OK(rank_test(term, 10, early, 5, &result));
    CHECK_NEAR(result.u, 15, 0);
    CHECK_NEAR(result.p, 2 * 0.1272, 5e-5 * 2);
}

/* Ozone in New York in May and August 1973; the same help page has W = 127.5, p = 0.0001208 by the
 * normal approximation with correction for ties and continuity. */
static void agrees_with_a_published_approximation(void **state)
{
    const double may[] = {41, 36, 12, 18, 28, 23, 19, 8, 7,  16, 11, 14,  18,
                          14, 34, 6,  30, 11, 1,  11, 4, 32, 23, 45, 115, 37};
    const double august[] = {39, 9,  16, 78, 35, 66, 122, 89,  110, 44, 28,  65, 22,
                             59, 23, 31, 44, 21, 9,  45,  168, 73,  76, 118, 84, 85};
    struct rank_result result;

    CHECK_OK(rank_test(august, 26, may, 26, &result));
    assert_false(result.is_exact);
    CHECK_NEAR(result.u, 127.5, 0);
    CHECK_NEAR(result.p, 0.0001208, 5e-8);
}

/* The share of all choices of the first sample whose U lies as far from its mean. */
static double p_by_force(const double *both, unsigned a_count, unsigned count)
{
    double observed = -1, far = 0, all = 0, pairs = a_count * (count - a_count);

    /* The first choice is that of the lowest bits: the sample itself. */
    for (unsigned chosen = (1u << a_count) - 1; chosen < 1u << count; chosen++) {
        double u = 0;

        if ((unsigned)__builtin_popcount(chosen) != a_count)
            continue;
        for (unsigned i = 0; i < count; i++) {
            for (unsigned k = 0; k < count; k++) {
                if ((chosen >> i & 1) && !(chosen >> k & 1))
                    u += both[k] > both[i] ? 1 : both[k] == both[i] ? 0.5 : 0;
            }
        }
        if (observed < 0)
            observed = fabs(u - pairs / 2);
        far += fabs(u - pairs / 2) >= observed;
        all++;
    }
    return far / all;
}

static void exact_p_is_that_of_all_choices(void **state)
{
    uint64_t seed = 7;

    for (unsigned round = 0; round < 60; round++) {
        unsigned a_count = 1 + round % 5, b_count = 1 + round % 7;
        unsigned values = round % 3 ? 4 : 1000; /* few values: many ties */
        struct rank_result result;
        double both[12];

        for (unsigned i = 0; i < a_count + b_count; i++)
            both[i] = (double)random_below(&seed, values);
        CHECK_OK(rank_test(both, a_count, both + a_count, b_count, &result));
        CHECK_NEAR(result.p, p_by_force(both, a_count, a_count + b_count), 1e-12);
    }
}

static void approximation_meets_the_exact_test(void **state)
{
    double a[40], b[40];
    struct rank_result small, large;
    uint64_t seed = 3;

    for (int i = 0; i < 40; i++) {
        a[i] = random_unit(&seed);
        b[i] = random_unit(&seed) + 0.2;
    }
    CHECK_OK(rank_test(a, 15, b, 15, &small));
    CHECK_OK(rank_test(a, 15, b, 16, &large));
    assert_true(small.is_exact);
    assert_false(large.is_exact);
    CHECK_NEAR(log(small.p), log(large.p), 0.6);
}

static void equal_values_are_no_difference(void **state)
{
    const double same[50] = {0};
    struct rank_result result;

    CHECK_OK(rank_test(same, 3, same, 4, &result));
    CHECK_NEAR(result.p, 1, 0);
    CHECK_NEAR(result.superiority, 0.5, 0);
    CHECK_OK(rank_test(same, 30, same, 20, &result));
    CHECK_NEAR(result.p, 1, 0);
    CHECK_OK(rank_test(same, 1, same, 1, &result));
    CHECK_NEAR(result.p, 1, 0);
}

static void floor_is_the_p_of_parted_samples(void **state)
{
    const double low[] = {1, 2, 3, 4, 5}, high[] = {6, 7, 8, 9, 10};
    struct rank_result result;

    CHECK_OK(rank_test(low, 5, high, 5, &result));
    CHECK_NEAR(result.p, 2.0 / 252, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_published_exact_test),
        cmocka_unit_test(agrees_with_a_published_approximation),
        cmocka_unit_test(exact_p_is_that_of_all_choices),
        cmocka_unit_test(approximation_meets_the_exact_test),
        cmocka_unit_test(equal_values_are_no_difference),
        cmocka_unit_test(floor_is_the_p_of_parted_samples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
