/* SPDX-License-Identifier: Apache-2.0 */
/* Growable arrays. */
#include "base/array.h"

#include "tests/support/check.h"

struct point {
    int x, y;
};

static void pushes_keep_their_order(void **state)
{
    ARRAY_OF(struct point) points = {0};

    for (int i = 0; i < 1000; i++)
        CHECK_OK(array_push(&points, ((struct point){i, -i})));
    CHECK_U64(points.count, 1000);
    assert_true(points.capacity >= 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(points.items[i].x, i);
        assert_int_equal(points.items[i].y, -i);
    }
    array_deinit(&points);
    assert_null(points.items);
    CHECK_U64(points.count, 0);
    CHECK_U64(points.capacity, 0);
    CHECK_OK(array_push(&points, ((struct point){1, 2})));
    array_deinit(&points);
}

static void reserve_does_not_count(void **state)
{
    ARRAY_OF(uint64_t) numbers = {0};
    uint64_t *place;

    CHECK_OK(array_reserve(&numbers, 100));
    CHECK_U64(numbers.count, 0);
    CHECK_U64(numbers.capacity, 100);
    place = numbers.items;
    for (uint64_t i = 0; i < 100; i++)
        CHECK_OK(array_push(&numbers, i));
    assert_ptr_equal(numbers.items, place);
    CHECK_OK(array_reserve(&numbers, 1));
    CHECK_U64(numbers.capacity, 100);
    array_deinit(&numbers);
}

static void what_cannot_be_had_changes_nothing(void **state)
{
    ARRAY_OF(uint64_t) numbers = {0};

    CHECK_OK(array_push(&numbers, 7));
    assert_int_equal(array_reserve(&numbers, SIZE_MAX / 4), -ENOMEM);
    assert_int_equal(array_reserve(&numbers, SIZE_MAX), -ENOMEM);
    CHECK_U64(numbers.count, 1);
    CHECK_U64(numbers.capacity, 8);
    CHECK_U64(numbers.items[0], 7);
    array_deinit(&numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushes_keep_their_order),
        cmocka_unit_test(reserve_does_not_count),
        cmocka_unit_test(what_cannot_be_had_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
