/* SPDX-License-Identifier: Apache-2.0 */
/* Change points: where they are, where there are none, and how improbable. */
#include <math.h>

#include "analyze/stats/change_points.h"
#include "analyze/stats/random.h"
#include "tests/support/check.h"

static void fill(double *values, size_t first, size_t end, double level, uint64_t *seed)
{
    for (size_t i = first; i < end; i++)
        values[i] = level + random_unit(seed);
}

/* The flow of the Nile at Aswan, 1871 to 1900 (Cobb, 1978): it fell with 1899. */
static void the_nile_changed_in_1899(void **state)
{
    const double nile[] = {1120, 1160, 963,  1210, 1160, 1160, 813,  1230, 1370, 1140,
                           995,  935,  1110, 994,  1020, 960,  1180, 799,  958,  1140,
                           1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774,  840,
                           874,  694,  940,  833,  701,  916,  692,  1020, 1050, 969,
                           831,  726,  456,  824,  702,  1120, 1100, 832,  764,  821};
    struct change_point_array points;
    double p;

    CHECK_OK(change_points_find(nile, 50, 0.01, 1, &points, &p));
    assert_int_equal(points.count, 1);
    assert_int_equal(1871 + points.items[0].place, 1899);
    assert_true(points.items[0].p < 0.001);
    CHECK_NEAR(p, points.items[0].p, 0);
    assert_true(points.items[0].before > 1080 && points.items[0].after < 850);
    array_deinit(&points);
}

static void several_changes_come_in_order(void **state)
{
    struct change_point_array points;
    double p;
    double values[60];
    uint64_t seed = 4;

    fill(values, 0, 20, 100, &seed);
    fill(values, 20, 45, 110, &seed);
    fill(values, 45, 60, 104, &seed);
    CHECK_OK(change_points_find(values, 60, 0.01, 1, &points, &p));
    assert_int_equal(points.count, 2);
    assert_int_equal(points.items[0].place, 20);
    assert_int_equal(points.items[1].place, 45);
    CHECK_NEAR(points.items[0].before, 100.5, 0.5);
    CHECK_NEAR(points.items[0].after, 110.5, 0.5);
    CHECK_NEAR(points.items[1].before, 110.5, 0.5);
    CHECK_NEAR(points.items[1].after, 104.5, 0.5);
    array_deinit(&points);
}

/* Whatever lies next to the change: the rank sum alone may take the last value before here, the
 * largest of these, for the first of the new level. */
static void the_place_is_the_first_value_of_the_new_level(void **state)
{
    for (size_t place = 6; place <= 18; place++) {
        struct change_point_array points;
        double values[24], p;

        for (size_t i = 0; i < 24; i++)
            values[i] = (i < place ? 100 : 108) + (double)(i * 7 % 10) * 0.1;
        values[place - 1] = 101;
        CHECK_OK(change_points_find(values, 24, 0.01, 1, &points, &p));
        assert_int_equal(points.count, 1);
        CHECK_U64(points.items[0].place, place);
        array_deinit(&points);
    }
}

static void two_values_are_no_level(void **state)
{
    const double values[] = {101, 103, 100, 102, 104, 103, 101, 100, 102, 101, 103, 102,
                             100, 101, 104, 103, 102, 101, 103, 102, 100, 104, 120, 121};
    struct change_point_array points;
    double p;

    CHECK_OK(change_points_find(values, 24, 0.2, 1, &points, &p));
    assert_true(p <= 0.2);
    CHECK_U64(points.count, 0);
    array_deinit(&points);
}

/* Eight values of which the last four are larger: of the 70 choices of four places 2 are as
 * extreme; other places for the cut only add to them. */
static void p_is_that_of_all_orders(void **state)
{
    const double values[] = {3, 1, 4, 2, 8, 6, 5, 7};
    struct change_point_array points;
    double p;

    CHECK_OK(change_points_find(values, 8, 0.2, 1, &points, &p));
    assert_int_equal(points.count, 1);
    assert_int_equal(points.items[0].place, 4);
    CHECK_NEAR(points.items[0].p, 2.0 / 70, 0.015);
    array_deinit(&points);
    CHECK_OK(change_points_find(values, 7, 1, 1, &points, &p));
    assert_int_equal(points.count, 0);
    array_deinit(&points);
}

static void noise_changes_no_more_often_than_alpha(void **state)
{
    enum { ROUNDS = 400 };
    uint64_t seed = 8;
    unsigned found = 0;

    for (unsigned round = 0; round < ROUNDS; round++) {
        struct change_point_array points;
        double p;
        double values[25];

        fill(values, 0, 25, 100, &seed);
        CHECK_OK(change_points_find(values, 25, 0.05, round, &points, &p));
        found += points.count > 0;
        array_deinit(&points);
    }
    /* 20 are to be expected, deviation 4.4. */
    assert_in_range(found, 6, 34);
}

static void what_stays_the_same_has_no_change(void **state)
{
    const double same[20] = {0};
    struct change_point_array points;
    double p;

    CHECK_OK(change_points_find(same, 20, 0.05, 1, &points, &p));
    assert_int_equal(points.count, 0);
    array_deinit(&points);
    CHECK_OK(change_points_find(same, 0, 0.05, 1, &points, &p));
    assert_int_equal(points.count, 0);
    array_deinit(&points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nile_changed_in_1899),
        cmocka_unit_test(several_changes_come_in_order),
        cmocka_unit_test(the_place_is_the_first_value_of_the_new_level),
        cmocka_unit_test(two_values_are_no_level),
        cmocka_unit_test(p_is_that_of_all_orders),
        cmocka_unit_test(noise_changes_no_more_often_than_alpha),
        cmocka_unit_test(what_stays_the_same_has_no_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
