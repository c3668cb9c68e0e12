/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of what samples places of images in f64, held to the reference: places anywhere, pixels and places that are no
 * numbers among them. */
#include <math.h>

#include "tests/kernels/harness.h"

static void hold(struct test *test, const double *got, const double *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isnan(want[i]) ? !isnan(got[i])
                           : got[i] != want[i] && !(fabs(got[i] - want[i]) <= 1e-12))
            test_fail(test, "element %zu is %.17g, not %.17g", i, got[i], want[i]);
}

static void check_grid_sample(struct test *test, const struct kernel_table *table)
{
    struct kernel_grid_sample s = {
        .dtype = KERNEL_F64,
        .grid_type = KERNEL_F64,
        .mode = (enum kernel_sample_mode)test_range(test, 0, 2),
        .outside = (enum kernel_outside)test_range(test, 0, 2),
        .align_corners = test_chance(test, 2),
        .batch = test_range(test, 0, 2),
        .channels = test_range(test, 0, 6),
        .rank = (int)test_range(test, 1, 3),
        .points = test_range(test, 0, 150),
    };
    size_t plane = 1, count = (size_t)(s.batch * s.channels * s.points);
    double *x, *grid, *want = test_output(test, count * sizeof(*want));
    double *got = test_output(test, count * sizeof(*got));

    for (int i = 0; i < s.rank; i++)
        plane *= (size_t)(s.in[i] = test_range(test, 1, 7));
    x = test_input_f64(test, (size_t)(s.batch * s.channels) * plane);
    grid = test_input_f64(test, (size_t)(s.batch * s.points * s.rank));
    test_describe(test, "mode %d, outside %d, align %d, rank %d, %lld points", (int)s.mode,
                  (int)s.outside, s.align_corners, s.rank, (long long)s.points);
    for (int64_t i = 0; i < s.batch * s.points * s.rank; i++)
        if (test_chance(test, 3))
            grid[i] = test_chance(test, 9) ? (double)NAN : (double)test_range(test, -12, 12) / 8.0;
    TEST_RUN(test, TEST_REF, grid_sample_ref(want, x, grid, &s));
    TEST_RUN(test, TEST_NEW, table->grid_sample.fn(got, x, grid, &s));
    hold(test, got, want, count);
}

static void check_roi_align(struct test *test, const struct kernel_table *table)
{
    struct kernel_roi_align s = {.dtype = KERNEL_F64,
                                 .index_type = KERNEL_I64,
                                 .is_max = test_chance(test, 2),
                                 .is_half_pixel = test_chance(test, 2),
                                 .batch = test_range(test, 1, 2),
                                 .channels = test_range(test, 1, 5),
                                 .in = {test_range(test, 1, 12), test_range(test, 1, 12)},
                                 .out = {test_range(test, 1, 9), test_range(test, 1, 9)},
                                 .regions = test_range(test, 1, 4),
                                 .samples = test_range(test, 0, 4),
                                 .scale = 0.5};
    size_t count = (size_t)(s.regions * s.channels * s.out[0] * s.out[1]);
    double *x = test_input_f64(test, (size_t)(s.batch * s.channels * s.in[0] * s.in[1]));
    double *rois = test_input_f64(test, (size_t)s.regions * 4);
    double *want = test_output(test, count * sizeof(*want));
    double *got = test_output(test, count * sizeof(*got));
    int64_t *images = test_output(test, (size_t)s.regions * sizeof(*images));
    int rc = 0;

    test_describe(test, "%lld regions of %lldx%lld in %lldx%lld, %lld samples",
                  (long long)s.regions, (long long)s.out[0], (long long)s.out[1],
                  (long long)s.in[0], (long long)s.in[1], (long long)s.samples);
    for (int64_t r = 0; r < s.regions; r++)
        images[r] = test_range(test, 0, s.batch - 1);
    for (int64_t i = 0; i < 4 * s.regions; i++)
        rois[i] = (double)test_range(test, -8, 40) * 0.7;
    x[0] = test_chance(test, 3) ? (double)NAN : x[0]; /* which counts for no sample outside */
    TEST_RUN(test, TEST_REF, rc = roi_align_ref(want, x, rois, images, &s));
    TEST_RUN(test, TEST_NEW, rc |= table->roi_align.fn(got, x, rois, images, &s));
    if (rc != 0)
        test_fail(test, "it returned %d", rc);
    hold(test, got, want, count);
}

/* Some with so many channels that places are done in several parts. */
static void random_convolution(struct test *test, struct kernel_deform_conv *s, bool is_parted)
{
    char text[TEST_WINDOW_BYTES];

    *s = (struct kernel_deform_conv){.dtype = KERNEL_F64,
                                     .rank = (int)test_range(test, 1, 3),
                                     .batch = test_range(test, 0, 2),
                                     .groups = test_range(test, 1, 3),
                                     .offset_groups = test_range(test, 1, 2)};
    test_wide_window(test, s->rank, &s->window);
    s->channels = s->groups * s->offset_groups * test_range(test, 1, 2);
    s->filters = s->groups * test_range(test, 0, 3);
    if (is_parted) {
        s->batch = s->groups = 1;
        s->filters = 2;
        s->channels = 2048;
        s->rank = 2;
        s->window = (struct kernel_window){.in = {1, 12, 16},
                                           .out = {1, 12, 15},
                                           .kernel = {1, 1, 2},
                                           .stride = {1, 1, 1},
                                           .dilation = {1, 1, 1}};
    }
    test_window_text(&s->window, text);
    test_describe(test, "%lld images, %lld to %lld channels, %lld and %lld groups, %s",
                  (long long)s->batch, (long long)s->channels, (long long)s->filters,
                  (long long)s->groups, (long long)s->offset_groups, text);
}

static void check_deform_conv(struct test *test, const struct kernel_table *table)
{
    struct kernel_deform_conv_data data = {0}, want;
    int64_t area = 1, places = 1, plane = 1;
    size_t count, masks, offsets;
    struct kernel_deform_conv s;
    double *offset, *x;

    random_convolution(test, &s, test_chance(test, 40));
    for (int i = 0; i < KERNEL_SPATIAL; i++) {
        area *= s.window.kernel[i];
        places *= s.window.out[i];
        plane *= s.window.in[i];
    }
    count = (size_t)(s.batch * s.filters * places);
    masks = (size_t)(s.batch * s.offset_groups * area * places);
    offsets = masks * (size_t)s.rank;
    data.x = x = test_input_f64(test, (size_t)(s.batch * s.channels * plane));
    data.w = test_input_f64(test, (size_t)(s.filters * s.channels / s.groups * area));
    data.offset = offset = test_input_f64(test, offsets);
    data.bias = test_chance(test, 2) ? test_input_f64(test, (size_t)s.filters) : NULL;
    data.mask = test_chance(test, 2) ? test_input_f64(test, masks) : NULL;
    data.workspace = test_output(test, kernel_deform_conv_room(&s));
    data.y = test_output(test, count * sizeof(double));
    want = data;
    want.y = test_output(test, count * sizeof(double));
    for (size_t i = 0; i < (size_t)(s.batch * s.channels * plane); i++)
        x[i] *= 0.01; /* of which many are summed */
    for (size_t i = 0; i < offsets; i++)
        offset[i] = test_chance(test, 3)    ? (double)test_range(test, -12, 12) / 4.0
                    : test_chance(test, 30) ? (double)(test_chance(test, 2) ? NAN : -1e30f)
                                            : offset[i] * 3.0;
    TEST_RUN(test, TEST_REF, deform_conv_ref(&want, &s));
    TEST_RUN(test, TEST_NEW, table->deform_conv.fn(&data, &s));
    hold(test, data.y, want.y, count);
}

const struct test_op test_ops_vision_f64[] = {
    {"deform_conv_f64", check_deform_conv, offsetof(struct kernel_table, deform_conv)},
    {"grid_sample_f64", check_grid_sample, offsetof(struct kernel_table, grid_sample)},
    {"roi_align_f64", check_roi_align, offsetof(struct kernel_table, roi_align)},
};
const size_t test_ops_vision_f64_count =
    sizeof(test_ops_vision_f64) / sizeof(test_ops_vision_f64[0]);
