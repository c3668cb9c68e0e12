/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds by the roofline, against numbers worked out by hand. */
#include <math.h>

#include "analyze/metrics/roofline.h"
#include "tests/support/check.h"

/* 100 FLOP/s and 10 bytes/s: the ridge is at 10 FLOP per byte. */
static const struct roofline_peaks peaks = {100, 10};

static void much_arithmetic_is_bound_by_compute(void **state)
{
    struct roofline line = roofline_of(2000, 100, 40e9, &peaks); /* 20 FLOP/byte, 40 s */

    assert_int_equal(line.bound, ROOFLINE_COMPUTE);
    assert_float_equal(line.flop_per_s, 50, 0);
    assert_float_equal(line.bytes_per_s, 2.5, 0);
    assert_float_equal(line.intensity, 20, 0);
    assert_float_equal(line.best_ns, 20e9, 1);
    assert_float_equal(line.efficiency, 0.5, 1e-12); /* 50 of min(100, 20 * 10) */
    assert_float_equal(line.win_ns, 20e9, 1);
}

static void little_arithmetic_is_bound_by_memory(void **state)
{
    struct roofline line = roofline_of(200, 100, 40e9, &peaks); /* 2 FLOP/byte */

    assert_int_equal(line.bound, ROOFLINE_MEMORY);
    assert_float_equal(line.best_ns, 10e9, 1);
    assert_float_equal(line.efficiency, 0.25, 1e-12); /* 5 of min(100, 2 * 10) */
    assert_float_equal(line.efficiency, line.flop_per_s / fmin(100, line.intensity * 10), 1e-12);
}

static void one_of_both_is_enough(void **state)
{
    assert_int_equal(roofline_of(200, NAN, 4e9, &peaks).bound, ROOFLINE_COMPUTE);
    assert_float_equal(roofline_of(200, NAN, 4e9, &peaks).efficiency, 0.5, 1e-12);
    assert_int_equal(roofline_of(NAN, 20, 4e9, &peaks).bound, ROOFLINE_MEMORY);
    assert_float_equal(roofline_of(NAN, 20, 4e9, &peaks).efficiency, 0.5, 1e-12);
    assert_int_equal(roofline_of(0, 20, 4e9, &peaks).bound, ROOFLINE_MEMORY);
}

static void what_is_not_known_is_not_zero(void **state)
{
    const struct roofline_peaks none = {NAN, NAN};
    struct roofline line = roofline_of(NAN, NAN, 4e9, &peaks);

    assert_int_equal(line.bound, ROOFLINE_UNKNOWN);
    assert_true(isnan(line.efficiency) && isnan(line.win_ns) && isnan(line.best_ns));
    line = roofline_of(200, 20, 4e9, &none);
    assert_int_equal(line.bound, ROOFLINE_UNKNOWN);
    assert_float_equal(line.flop_per_s, 50, 0);
    assert_true(isnan(line.win_ns));
    assert_int_equal(roofline_of(200, 20, 0, &peaks).bound, ROOFLINE_UNKNOWN);
    assert_true(isnan(roofline_of(200, 20, NAN, &peaks).flop_per_s));
}

static void faster_than_memory_wins_nothing(void **state)
{
    struct roofline line = roofline_of(10, 100, 5e9, &peaks); /* from a cache: 20 bytes/s */

    assert_float_equal(line.efficiency, 2, 1e-12);
    assert_float_equal(line.win_ns, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(much_arithmetic_is_bound_by_compute),
        cmocka_unit_test(little_arithmetic_is_bound_by_memory),
        cmocka_unit_test(one_of_both_is_enough),
        cmocka_unit_test(what_is_not_known_is_not_zero),
        cmocka_unit_test(faster_than_memory_wins_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
