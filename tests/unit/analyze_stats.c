/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions that pass over what is not known, and percentiles by nearest rank. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats/describe.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"

static void reductions_pass_over_unknown(void **state)
{
    struct stats_reducer reducer = {0};

    assert_true(isnan(stats_reduced(&reducer, STATS_SUM)));
    stats_add(&reducer, NAN);
    assert_true(isnan(stats_reduced(&reducer, STATS_MEAN)));
    stats_add(&reducer, 3);
    stats_add(&reducer, -1);
    stats_add(&reducer, NAN);
    stats_add(&reducer, 4);
    CHECK_U64(reducer.known_count, 3);
    CHECK_NEAR(stats_reduced(&reducer, STATS_MAX), 4, 0);
    CHECK_NEAR(stats_reduced(&reducer, STATS_MIN), -1, 0);
    CHECK_NEAR(stats_reduced(&reducer, STATS_SUM), 6, 0);
    CHECK_NEAR(stats_reduced(&reducer, STATS_MEAN), 2, 1e-12);
}

static void percentile_is_nearest_rank(void **state)
{
    double ten[10], thousand[1000], one = 7;

    for (int i = 0; i < 10; i++)
        ten[i] = i + 1;
    for (int i = 0; i < 1000; i++)
        thousand[i] = i + 1;
    CHECK_NEAR(stats_percentile(ten, 10, 0), 1, 0);
    CHECK_NEAR(stats_percentile(ten, 10, 10), 1, 0);
    CHECK_NEAR(stats_percentile(ten, 10, 11), 2, 0);
    CHECK_NEAR(stats_percentile(ten, 10, 50), 5, 0);
    CHECK_NEAR(stats_percentile(ten, 10, 90), 9, 0);
    CHECK_NEAR(stats_percentile(ten, 10, 99), 10, 0);
    CHECK_NEAR(stats_percentile(ten, 10, 100), 10, 0);
    CHECK_NEAR(stats_percentile(thousand, 1000, 99.9), 999, 0);
    CHECK_NEAR(stats_percentile(thousand, 1000, 99.91), 1000, 0);
    CHECK_NEAR(stats_percentile(&one, 1, 50), 7, 0);
}

static void sort_is_ascending(void **state)
{
    double values[] = {3, -2, 10, 0};

    stats_sort(values, 4);
    CHECK_NEAR(values[0], -2, 0);
    CHECK_NEAR(values[1], 0, 0);
    CHECK_NEAR(values[3], 10, 0);
}

static int compare(const void *a, const void *b)
{
    const double *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/* Many are sorted by their digits. */
static void many_are_sorted_as_few_are(void **state)
{
    enum { COUNT = 20000 };
    double *values = malloc(COUNT * sizeof(*values)), *expected = malloc(COUNT * sizeof(*values));
    uint64_t seed = DRAW_SEED;

    (void)state;
    assert_true(values && expected);
    for (size_t i = 0; i < COUNT; i++) {
        draw_u64(&seed);
        values[i] = (double)(seed >> 40) - 8000000 + (i % 3 ? 0 : 1e-3 * (double)(seed % 1000));
    }
    values[7] = -INFINITY;
    values[8] = INFINITY;
    values[9] = 0;
    values[10] = -1e300;
    memcpy(expected, values, COUNT * sizeof(*values));
    qsort(expected, COUNT, sizeof(*expected), compare);
    stats_sort(values, COUNT);
    assert_memory_equal(values, expected, COUNT * sizeof(*values));
    free(values);
    free(expected);
}

static void distances_from_the_median(void **state)
{
    const double values[] = {1, 1, 2, 2, 4, 6, 9}; /* median 2, distances 0 0 1 1 2 4 7 */
    const double equal[] = {3, 3, 3, 8};

    assert_float_equal(stats_median_distance(values, 7), 1, 0);
    assert_float_equal(stats_median_distance(values, 1), 0, 0);
    assert_float_equal(stats_median_distance(values + 2, 5), 2, 0); /* of 4: 0 2 2 2 5 */
    assert_float_equal(stats_median_distance(equal, 4), 0, 0);
}

/* As sorting finds it, of equal ones, few kinds, ordered ones and any. */
static void medians_are_found_without_sorting(void **state)
{
    enum { MOST = 200000, MANY = 100000, FEW = 5000 };
    static double values[MOST], sorted[MOST];

    (void)state;
    assert_true(isnan(stats_find_median(values, 0)));
    srand(5);
    for (int round = 0; round < 400; round++) {
        size_t count = 1 + (size_t)rand() % (round % 4 ? FEW : 9) + (round % 7 ? 0 : MANY);
        int kinds = round % 3 == 0 ? 1 + rand() % 3 : 1 << 20;

        for (size_t i = 0; i < count; i++)
            values[i] = round % 5 == 0   ? (double)i
                        : round % 5 == 1 ? -(double)i
                                         : rand() % kinds - 1.5;
        memcpy(sorted, values, count * sizeof(*values));
        stats_sort(sorted, count);
        assert_float_equal(stats_find_median(values, count), stats_median(sorted, count), 0);
        stats_sort(values, count); /* none was lost */
        assert_memory_equal(values, sorted, count * sizeof(*values));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_pass_over_unknown),
        cmocka_unit_test(percentile_is_nearest_rank),
        cmocka_unit_test(sort_is_ascending),
        cmocka_unit_test(many_are_sorted_as_few_are),
        cmocka_unit_test(distances_from_the_median),
        cmocka_unit_test(medians_are_found_without_sorting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
