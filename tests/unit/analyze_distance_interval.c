/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals of the distance of two samples: against tables, and how often they hold the truth. */
#include <math.h>

#include "analyze/stats/distance_interval.h"
#include "analyze/stats/random.h"
#include "tests/support/check.h"

static void ends_are_those_of_the_table(void **state)
{
    const double low[] = {1, 2, 3, 4, 5}, high[] = {6, 7, 8, 9, 10}, none[] = {0, 1, 2, 3, 4};
    struct distance_interval found;

    (void)state;
    /* P(U <= 2) = 4 / 252, P(U <= 3) = 7 / 252: the third of 25 distances from each end. */
    CHECK_OK(distance_interval(low, 5, high, 5, 0.95, &found));
    CHECK_NEAR(found.difference.low, 2, 0);
    CHECK_NEAR(found.difference.high, 8, 0);
    CHECK_NEAR(found.ratio.low, 6.0 / 4, 1e-12);
    CHECK_NEAR(found.ratio.high, 8.0 / 1, 1e-12);
    /* 4 and 4: P(U = 0) = 1 / 70, P(U <= 1) = 2 / 70. */
    CHECK_OK(distance_interval(low, 4, high, 4, 0.95, &found));
    CHECK_NEAR(found.difference.low, 2, 0);
    CHECK_NEAR(found.difference.high, 8, 0);
    CHECK_OK(distance_interval(low, 3, high, 3, 0.95, &found));
    assert_true(isnan(found.difference.low) && isnan(found.ratio.high));
    CHECK_OK(distance_interval(none, 5, high, 5, 0.95, &found));
    assert_true(isnan(found.ratio.low) && !isnan(found.difference.low));
    CHECK_OK(distance_interval(low, 0, high, 5, 0.95, &found));
    assert_true(isnan(found.difference.low));
}

static void the_truth_is_within(void **state)
{
    static const size_t sizes[][2] = {{5, 5}, {13, 2}, {10, 12}, {25, 30}};
    enum { ROUNDS = 4000 };
    uint64_t seed = 4;

    (void)state;
    for (size_t size = 0; size < sizeof(sizes) / sizeof(sizes[0]); size++) {
        unsigned within = 0;

        for (int round = 0; round < ROUNDS; round++) {
            double a[30], b[30];
            struct distance_interval found;

            for (int i = 0; i < 30; i++) {
                a[i] = -log(1 - random_unit(&seed));
                b[i] = -log(1 - random_unit(&seed)) + 0.5;
            }
            CHECK_OK(distance_interval(a, sizes[size][0], b, sizes[size][1], 0.95, &found));
            within += found.difference.low <= 0.5 && 0.5 <= found.difference.high;
        }
        assert_in_range(within, 3757, 3980); /* 0.95, 3 deviations */
        print_message("%u\n", within);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_are_those_of_the_table),
        cmocka_unit_test(the_truth_is_within),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
