/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the kernels that move elements. */
#include <string.h>

#include "tests/kernels/harness.h"

/* A permutation of the axes, sometimes with an axis repeated (stride 0) or reversed: what
 * Transpose, Tile, Slice and the changes of layout ask for. */
static void check_copy(struct test *test, const struct kernel_table *table)
{
    static const size_t sizes[] = {1, 2, 4, 8};
    struct kernel_copy s = {
        .element_bytes = test_chance(test, 2) ? 4 : sizes[test_range(test, 0, 3)],
        .rank = (int)test_range(test, 0, 5),
    };
    int64_t y_stride = 1, x_stride = 1, x_offset = 0;
    int order[KERNEL_MAX_AXES];
    char *x, *want, *got;

    for (int i = s.rank - 1; i >= 0; i--) {
        s.dims[i] = test_range(test, 1, test_chance(test, 3) ? 37 : 6);
        s.y_stride[i] = y_stride;
        y_stride *= s.dims[i];
        order[i] = i;
    }
    for (int i = s.rank - 1; i > 0 && !test_chance(test, 4); i--) {
        int j = (int)test_range(test, 0, i), other = order[i];

        order[i] = order[j];
        order[j] = other;
    }
    for (int i = s.rank - 1; i >= 0; i--) {
        int axis = order[i];

        if (test_chance(test, 8)) {
            s.x_stride[axis] = 0;
            continue;
        }
        s.x_stride[axis] = x_stride;
        x_stride *= s.dims[axis];
        if (test_chance(test, 8)) {
            x_offset += (s.dims[axis] - 1) * s.x_stride[axis];
            s.x_stride[axis] = -s.x_stride[axis];
        }
    }
    test_describe(test, "rank %d, %lld elements of %zu bytes from %lld", s.rank,
                  (long long)y_stride, s.element_bytes, (long long)x_stride);
    x = test_input_bytes(test, (size_t)x_stride * s.element_bytes);
    want = test_output(test, (size_t)y_stride * s.element_bytes);
    got = test_output(test, (size_t)y_stride * s.element_bytes);
    x += x_offset * (int64_t)s.element_bytes;
    TEST_RUN(test, TEST_REF, copy_ref(want, x, &s));
    TEST_RUN(test, TEST_NEW, table->copy.fn(got, x, &s));
    test_compare_bytes(test, got, want, (size_t)y_stride * s.element_bytes);
}

const struct test_op test_ops_move[] = {
    {"copy", check_copy, offsetof(struct kernel_table, copy)},
};
const size_t test_ops_move_count = sizeof(test_ops_move) / sizeof(test_ops_move[0]);
