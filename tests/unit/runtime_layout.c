/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of axes, and which reshapes need no copy. */
#include "tests/support/check.h"

#include "runtime/graph/layout.h"

static struct shape shape_of(int rank, const int64_t *dims)
{
    struct shape shape = {.rank = rank};

    memcpy(shape.dims, dims, (size_t)rank * sizeof(*dims));
    return shape;
}

#define DIMS(...)                                                                                  \
    shape_of((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static void strides_follow_the_order(void **state)
{
    struct shape shape = DIMS(2, 3, 5, 7);
    struct layout layout = layout_channels_last(4);
    int64_t strides[SHAPE_MAX_RANK];

    layout_strides(&layout, &shape, strides);
    assert_int_equal(strides[0], 105);
    assert_int_equal(strides[1], 1);
    assert_int_equal(strides[2], 21);
    assert_int_equal(strides[3], 3);
    layout = layout_row_major(4);
    layout_strides(&layout, &shape, strides);
    assert_int_equal(strides[0], 105);
    assert_int_equal(strides[1], 35);
    assert_int_equal(strides[3], 1);
}

static void axes_of_one_element_do_not_count(void **state)
{
    struct shape pooled = DIMS(4, 64, 1, 1), image = DIMS(4, 64, 2, 1), gray = DIMS(4, 1, 9, 9);
    struct layout layout = layout_channels_last(4);

    assert_true(layout_is_row_major(&layout, &pooled));
    assert_true(layout_is_row_major(&layout, &gray));
    assert_false(layout_is_row_major(&layout, &image));
    assert_true(layout_is_channels_last(&layout, &image));
}

/* Element by element: both shapes walk the same memory. */
static bool shows_the_same(const struct shape *from, const struct layout *a, const struct shape *to,
                           const struct layout *b)
{
    int64_t a_strides[SHAPE_MAX_RANK], b_strides[SHAPE_MAX_RANK];

    layout_strides(a, from, a_strides);
    layout_strides(b, to, b_strides);
    for (int64_t i = 0; i < shape_elements(from); i++) {
        int64_t rest = i, a_at = 0, b_at = 0;

        for (int axis = from->rank - 1; axis >= 0; axis--) {
            a_at += rest % from->dims[axis] * a_strides[axis];
            rest /= from->dims[axis];
        }
        rest = i;
        for (int axis = to->rank - 1; axis >= 0; axis--) {
            b_at += rest % to->dims[axis] * b_strides[axis];
            rest /= to->dims[axis];
        }
        if (a_at != b_at)
            return false;
    }
    return true;
}

static void reshapes(void **state)
{
    struct shape image = DIMS(2, 12, 5, 3);
    struct layout last = layout_channels_last(4), dense = layout_row_major(4), out;
    struct {
        struct shape to;
        bool from_last; /* possible from channels-last? From row-major always. */
    } cases[] = {
        {DIMS(2, 3, 4, 5, 3), true}, /* split channels */
        {DIMS(2, 12, 15), true},     /* join the spatial axes */
        {DIMS(1, 2, 12, 1, 5, 3), true}, {DIMS(2, 180), false},
        {DIMS(24, 15), false},           {DIMS(360), false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(layout_reshape(&image, &last, &cases[i].to, &out), cases[i].from_last);
        if (cases[i].from_last)
            assert_true(shows_the_same(&image, &last, &cases[i].to, &out));
        assert_true(layout_reshape(&image, &dense, &cases[i].to, &out));
        assert_true(shows_the_same(&image, &dense, &cases[i].to, &out));
    }
}

/* Every order of the axes of a small shape, to every shape of the same size in a list: whatever is
 * called possible must show the same elements. */
static void whatever_is_called_a_view_is_one(void **state)
{
    struct shape from = DIMS(2, 6, 1, 4);
    struct shape to[] = {DIMS(2, 2, 3, 4), DIMS(12, 4),   DIMS(2, 6, 4), DIMS(1, 2, 6, 1, 2, 2),
                         DIMS(48),         DIMS(4, 3, 4), DIMS(2, 24)};
    int possible = 0;

    for (int code = 0; code < 256; code++) {
        struct layout layout = {.rank = 4}, out;
        unsigned seen = 0;

        for (int i = 0; i < 4; i++) {
            layout.order[i] = (uint8_t)(code >> (2 * i) & 3);
            seen |= 1u << layout.order[i];
        }
        if (seen != 15)
            continue;
        for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
            if (!layout_reshape(&from, &layout, &to[i], &out))
                continue;
            possible++;
            assert_true(shows_the_same(&from, &layout, &to[i], &out));
        }
    }
    assert_true(possible > 24); /* from row-major alone there are 7 times 4 */
}

static void scalars_and_empty_tensors(void **state)
{
    struct shape scalar = {.rank = 0}, one = DIMS(1, 1), none = DIMS(0, 3), flat = DIMS(0);
    struct layout layout = layout_row_major(0), out;

    assert_true(layout_reshape(&scalar, &layout, &one, &out));
    assert_int_equal(out.rank, 2);
    layout = layout_row_major(2);
    assert_true(layout_reshape(&one, &layout, &scalar, &out));
    assert_int_equal(out.rank, 0);
    assert_true(layout_reshape(&none, &layout, &flat, &out));
    assert_int_equal(out.rank, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strides_follow_the_order),
        cmocka_unit_test(axes_of_one_element_do_not_count),
        cmocka_unit_test(reshapes),
        cmocka_unit_test(whatever_is_called_a_view_is_one),
        cmocka_unit_test(scalars_and_empty_tensors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
