/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of regions, places and grids of any size, some of which are larger than what kernels have room for at once, held
 * to the reference. */
#include <math.h>

#include "tests/kernels/harness.h"

/* Regions that lie anywhere, and some nowhere, of more bins and wider than there is room for at once, against the
 * reference. */
static void check_roi_max(struct test *test, const struct kernel_table *table)
{
    struct kernel_roi_max s = {
        .dtype = test_chance(test, 2) ? KERNEL_F32 : KERNEL_F64,
        .batch = test_range(test, 1, 2),
        .channels = test_range(test, 0, 2),
        .in = {test_range(test, 0, 40), test_range(test, 0, test_chance(test, 8) ? 2100 : 40)},
        .out = {test_range(test, 1, test_chance(test, 8) ? 70 : 7),
                test_range(test, 1, test_chance(test, 8) ? 70 : 7)},
        .regions = test_range(test, 0, 3),
        .scale = 0.3f};
    size_t pixels = (size_t)(s.batch * s.channels * s.in[0] * s.in[1]);
    size_t count = (size_t)(s.regions * s.channels * s.out[0] * s.out[1]);
    size_t bytes = kernel_dtype_bytes(s.dtype), corners = (size_t)s.regions * 5;
    float *numbers = test_input(test, pixels), *places = test_input(test, corners);
    void *x = test_input_bytes(test, pixels * bytes),
         *rois = test_input_bytes(test, corners * bytes);
    void *y = test_output(test, count * bytes), *want = test_output(test, count * bytes);
    int rc = 0;

    test_describe(test, "%lld regions of %lldx%lld of %lldx%lld, type %d", (long long)s.regions,
                  (long long)s.out[0], (long long)s.out[1], (long long)s.in[0], (long long)s.in[1],
                  (int)s.dtype);
    for (size_t i = 0; i < pixels; i++)
        if (test_random(test) % 32 == 0)
            numbers[i] = NAN;
    for (size_t i = 0; i < corners; i++) {
        places[i] *= 120.0f;
        if (test_random(test) % 16 == 0)
            places[i] = test_chance(test, 2) ? NAN : -INFINITY;
        if (i % 5 == 0)
            places[i] = (float)test_range(test, 0, s.batch - 1);
    }
    cast_ref(x, s.dtype, numbers, KERNEL_F32, pixels);
    cast_ref(rois, s.dtype, places, KERNEL_F32, corners);
    TEST_RUN(test, TEST_REF, roi_max_ref(want, x, rois, &s));
    TEST_RUN(test, TEST_NEW, rc = table->roi_max.fn(y, x, rois, &s));
    test_compare_bytes(test, y, want, count * bytes);
    if (rc != 0)
        test_fail(test, "it returned %d", rc);
}

/* Elements of every size, some of which come to one place, against the reference. */
static void check_max_unpool(struct test *test, const struct kernel_table *table)
{
    struct kernel_max_unpool s = {.element_bytes = (size_t)1 << test_range(test, 0, 3),
                                  .x_count = test_range(test, 0, 40),
                                  .y_count = test_range(test, 1, 60)};
    void *x = test_input_bytes(test, (size_t)s.x_count * s.element_bytes);
    int64_t *indices = test_input_bytes(test, (size_t)s.x_count * sizeof(*indices));
    void *y = test_output(test, (size_t)s.y_count * s.element_bytes);
    void *want = test_output(test, (size_t)s.y_count * s.element_bytes);
    int rc = 0;

    test_describe(test, "%lld of %lld, of %zu bytes", (long long)s.x_count, (long long)s.y_count,
                  s.element_bytes);
    for (int64_t i = 0; i < s.x_count; i++)
        indices[i] = test_range(test, 0, s.y_count - 1);
    TEST_RUN(test, TEST_REF, max_unpool_ref(want, x, indices, &s));
    TEST_RUN(test, TEST_NEW, rc = table->max_unpool.fn(y, x, indices, &s));
    test_compare_bytes(test, y, want, (size_t)s.y_count * s.element_bytes);
    if (rc != 0)
        test_fail(test, "it returned %d", rc);
}

/* Any matrix, and rows longer than there is room for at once, against the reference. */
static void check_affine_grid(struct test *test, const struct kernel_table *table)
{
    struct kernel_affine_grid s = {.dtype = KERNEL_F32,
                                   .align_corners = test_chance(test, 2),
                                   .batch = test_range(test, 0, 2),
                                   .rank = (int)test_range(test, 2, 3)};
    size_t count = (size_t)(s.batch * s.rank), thetas = count * (size_t)(s.rank + 1);
    float *theta = test_input(test, thetas), *y, *want;

    for (int i = 0; i < s.rank; i++) {
        s.out[i] = test_range(test, 0, i < s.rank - 1 ? 4 : test_chance(test, 8) ? 1100 : 40);
        count *= (size_t)s.out[i];
    }
    y = test_output(test, count * sizeof(*y));
    want = test_output(test, count * sizeof(*want));
    test_describe(test, "%lld images of %lldx%lldx%lld", (long long)s.batch, (long long)s.out[0],
                  (long long)s.out[1], (long long)s.out[2]);
    TEST_RUN(test, TEST_REF, affine_grid_ref(want, theta, &s));
    TEST_RUN(test, TEST_NEW, table->affine_grid.fn(y, theta, &s));
    test_compare(test, y, want, count, &(struct test_tolerance){.absolute = 1e-6});
}

const struct test_op test_ops_vision_sizes[] = {
    {"affine_grid_sizes", check_affine_grid, offsetof(struct kernel_table, affine_grid)},
    {"max_unpool_sizes", check_max_unpool, offsetof(struct kernel_table, max_unpool)},
    {"roi_max_sizes", check_roi_max, offsetof(struct kernel_table, roi_max)},
};
const size_t test_ops_vision_sizes_count =
    sizeof(test_ops_vision_sizes) / sizeof(test_ops_vision_sizes[0]);
