/* SPDX-License-Identifier: Apache-2.0 */
/* Robust lines: the slope, and how sure it is. */
#include <math.h>

#include "analyze/stats/slope.h"
#include "tests/support/check.h"

static void outliers_do_not_move_it(void **state)
{
    double x[20], y[20];
    struct slope slope;

    for (int i = 0; i < 20; i++) {
        x[i] = i;
        y[i] = 5 + 3 * i + (i % 2 ? 0.1 : -0.1);
    }
    y[3] = 1e6;
    y[17] = -1e6;
    CHECK_OK(slope_fit(x, y, 20, &slope));
    assert_float_equal(slope.slope, 3, 0.02);
    assert_true(slope.low > 2.9 && slope.high < 3.1 && slope.low <= slope.slope);
}

/* Up and down in turns: nobody can be sure that it grows. */
static void what_swings_does_not_grow(void **state)
{
    double x[12], y[12];
    struct slope slope;

    for (int i = 0; i < 12; i++) {
        x[i] = i;
        y[i] = i % 2 ? 100 : 0;
    }
    CHECK_OK(slope_fit(x, y, 12, &slope));
    assert_true(slope.low <= 0 && slope.high > 0);
}

static void what_stays_has_no_slope(void **state)
{
    double x[8], y[8];
    struct slope slope;

    for (int i = 0; i < 8; i++) {
        x[i] = i * 4;
        y[i] = 7;
    }
    CHECK_OK(slope_fit(x, y, 8, &slope));
    assert_float_equal(slope.slope, 0, 0);
    assert_float_equal(slope.low, 0, 0);
    assert_float_equal(slope.high, 0, 0);
    CHECK_OK(slope_fit(x, y, 7, &slope)); /* too few */
    assert_true(isnan(slope.slope) && isnan(slope.low) && isnan(slope.high));
}

static void bounds_are_order_statistics(void **state)
{
    /* y = x^2: the slope of i and k is i + k, so the sorted slopes are known. */
    double x[8], y[8];
    struct slope slope;

    for (int i = 0; i < 8; i++) {
        x[i] = i;
        y[i] = i * i;
    }
    CHECK_OK(slope_fit(x, y, 8, &slope));
    assert_float_equal(slope.slope, 7, 0);
    /* Half the width is 1.96 * sqrt(8 * 7 * 21 / 18) / 2 = 7.92: of 28, the 6th from either end of
     * 1 2 3 3 4 4 5 5 5 ... 9 9 9 10 10 11 11 12 13. */
    assert_float_equal(slope.low, 4, 0);
    assert_float_equal(slope.high, 10, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outliers_do_not_move_it),
        cmocka_unit_test(what_swings_does_not_grow),
        cmocka_unit_test(what_stays_has_no_slope),
        cmocka_unit_test(bounds_are_order_statistics),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
