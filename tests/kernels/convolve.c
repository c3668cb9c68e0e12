/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the image kernels over every type: reals held to the references for f32, the transpose
 * to what makes it one, quantised ones to sums that are worked out in another order. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/kernels/harness.h"

static int64_t volume(const int64_t *dims)
{
    return dims[0] * dims[1] * dims[2];
}

static void random_window(struct test *test, struct kernel_window *w)
{
    int rank = (int)test_range(test, 1, 3);
    bool is_wide = test->is_wide && test_chance(test, 2);
    char text[TEST_WINDOW_BYTES];

    if (is_wide)
        test_wide_window(test, rank, w);
    for (int i = 0; i < KERNEL_SPATIAL && !is_wide; i++) {
        bool is_used = i >= KERNEL_SPATIAL - rank;
        int64_t reach;

        w->kernel[i] = is_used ? test_range(test, 1, 3) : 1;
        w->stride[i] = is_used ? test_range(test, 1, 3) : 1;
        w->dilation[i] = is_used ? test_range(test, 1, 2) : 1;
        reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        w->pad_begin[i] = is_used ? test_range(test, 0, w->kernel[i] - 1) : 0;
        w->pad_end[i] = is_used ? test_range(test, 0, w->kernel[i] - 1) : 0;
        w->in[i] = is_used ? test_range(test, reach, reach + 5) : 1;
        w->out[i] = (w->in[i] + w->pad_begin[i] + w->pad_end[i] - reach) / w->stride[i] + 1;
    }
    test_window_text(w, text);
    test_describe(test, "%s", text);
}

static void random_convolve(struct test *test, struct kernel_convolve *s)
{
    int64_t groups = test_range(test, 1, 3);

    *s = (struct kernel_convolve){
        .batch = test_range(test, 1, 2),
        .channels = groups * test_range(test, 1, 3),
        .filters = groups * test_range(test, 1, 3),
        .groups = groups,
    };
    random_window(test, &s->window);
}

static size_t x_count(const struct kernel_convolve *s)
{
    return (size_t)(s->batch * s->channels * volume(s->window.in));
}

static size_t w_count(const struct kernel_convolve *s)
{
    return (size_t)(s->filters * s->channels / s->groups * volume(s->window.kernel));
}

static size_t y_count(const struct kernel_convolve *s)
{
    return (size_t)(s->batch * s->filters * volume(s->window.out));
}

static struct kernel_conv plain(const struct kernel_convolve *s)
{
    return (struct kernel_conv){.batch = s->batch,
                                .channels = s->channels,
                                .filters = s->filters,
                                .groups = s->groups,
                                .rank = KERNEL_SPATIAL,
                                .window = s->window};
}

static void convolve_reals(struct test *test, const struct kernel_table *table,
                           struct kernel_convolve *s)
{
    struct test_tolerance tolerance = {.absolute = 1e-5, .relative = 1e-6};
    struct kernel_conv conv = plain(s);
    struct kernel_convolve_data data = {.y = test_output(test, y_count(s) * sizeof(float)),
                                        .x = test_input(test, x_count(s)),
                                        .w = test_input(test, w_count(s)),
                                        .bias = test_input(test, (size_t)s->filters)};
    float *want = test_output(test, y_count(s) * sizeof(float));

    s->x_type = s->w_type = s->y_type = s->bias_type = KERNEL_F32;
    TEST_RUN(test, TEST_REF, conv_f32_ref(want, data.x, data.w, data.bias, NULL, &conv));
    TEST_RUN(test, TEST_NEW, table->convolve.fn(&data, s));
    test_compare(test, data.y, want, y_count(s), &tolerance);
}

/* The same numbers, made real, through the reference for f32. */
static void convolve_quantised(struct test *test, const struct kernel_table *table,
                               struct kernel_convolve *s)
{
    uint8_t *x = test_input_bytes(test, x_count(s)), x_zero = 120;
    int8_t *w = test_input_bytes(test, w_count(s)), y_zero = 5;
    int8_t *w_zero = test_input_bytes(test, (size_t)s->filters);
    int32_t *bias = test_input_bytes(test, (size_t)s->filters * sizeof(*bias));
    float x_scale = 0.02f, y_scale = 0.3f, *w_scale = test_input(test, (size_t)s->filters);
    float *real_x = test_input(test, x_count(s)), *real_w = test_input(test, w_count(s));
    float *real_bias = test_input(test, (size_t)s->filters);
    float *want = test_output(test, y_count(s) * sizeof(float));
    int8_t *y = test_output(test, y_count(s));
    struct kernel_conv conv = plain(s);
    struct kernel_convolve_data data = {.y = y,
                                        .x = x,
                                        .w = w,
                                        .bias = bias,
                                        .x_zero = &x_zero,
                                        .w_zero = w_zero,
                                        .y_zero = &y_zero,
                                        .x_scale = &x_scale,
                                        .w_scale = w_scale,
                                        .y_scale = &y_scale};

    for (size_t i = 0; i < x_count(s); i++)
        real_x[i] = (float)(x[i] - x_zero) * x_scale;
    for (size_t i = 0; i < w_count(s); i++) {
        size_t f = i / (w_count(s) / (size_t)s->filters);

        real_w[i] = (float)(w[i] - w_zero[f]) * w_scale[f];
    }
    for (int64_t f = 0; f < s->filters; f++) {
        bias[f] %= 2000;
        real_bias[f] = (float)bias[f] * x_scale * w_scale[f];
    }
    s->x_type = KERNEL_U8;
    s->w_type = s->y_type = KERNEL_I8;
    s->bias_type = KERNEL_I32;
    s->scale_type = KERNEL_F32;
    s->has_filter_scales = s->has_filter_zeros = true;
    conv_f32_ref(want, real_x, real_w, real_bias, NULL, &conv);
    TEST_RUN(test, TEST_NEW, table->convolve.fn(&data, s));
    for (size_t i = 0; i < y_count(s); i++) {
        double near = fmin(fmax((double)want[i] / (double)y_scale + y_zero, -128.0), 127.0);

        if (fabs(near - y[i]) > 0.501)
            test_fail(test, "element %zu is %d, not %g", i, y[i], near);
    }
}

static void check_convolve(struct test *test, const struct kernel_table *table)
{
    struct kernel_convolve s;

    random_convolve(test, &s);
    if (test_chance(test, 2))
        convolve_reals(test, table, &s);
    else
        convolve_quantised(test, table, &s);
}

/* The transpose t of a convolution c: for all x and z, the products of c(x) and z sum up to those
 * of x and t(z). */
static void check_conv_transpose(struct test *test, const struct kernel_table *table)
{
    struct kernel_convolve s;
    struct kernel_conv conv;
    struct kernel_conv_transpose t = {.dtype = KERNEL_F32};
    double left = 0.0, right = 0.0, size = 0.0;
    float *x, *z, *w, *forward, *back;

    random_convolve(test, &s);
    conv = plain(&s);
    t.batch = s.batch;
    t.channels = s.filters;
    t.filters = s.channels;
    t.groups = s.groups;
    t.window = s.window;
    x = test_input(test, x_count(&s));
    z = test_input(test, y_count(&s));
    w = test_input(test, w_count(&s));
    forward = test_output(test, y_count(&s) * sizeof(float));
    back = test_output(test, x_count(&s) * sizeof(float));
    TEST_RUN(test, TEST_REF, conv_f32_ref(forward, x, w, NULL, NULL, &conv));
    TEST_RUN(test, TEST_NEW, table->conv_transpose.fn(back, z, w, NULL, &t));
    for (size_t i = 0; i < y_count(&s); i++)
        left += (double)forward[i] * (double)z[i];
    for (size_t i = 0; i < x_count(&s); i++) {
        right += (double)back[i] * (double)x[i];
        size += fabs((double)back[i] * (double)x[i]);
    }
    if (fabs(left - right) > 1e-5 * (1.0 + size))
        test_fail(test, "the sums of products are %g and %g", left, right);
}

/* [batch, channels, plane] to [batch, plane, channels], or back. */
static void swap_channels(float *to, const float *from, size_t batch, size_t channels, size_t plane)
{
    for (size_t n = 0; n < batch; n++)
        for (size_t c = 0; c < channels; c++)
            for (size_t i = 0; i < plane; i++)
                to[(n * plane + i) * channels + c] = from[(n * channels + c) * plane + i];
}

/* x and y of the convolution are y and x of its transpose. */
static struct kernel_conv transposed(const struct kernel_convolve *s)
{
    const struct kernel_window *w = &s->window;
    struct kernel_conv conv = plain(s);

    if (w->in[0] * w->out[0] * w->kernel[0] * w->stride[0] == 1 && w->pad_begin[0] == 0)
        conv.rank = 2;
    conv.channels_last = conv.is_transposed = true;
    conv.channels = s->filters;
    conv.filters = s->channels;
    return conv;
}

static float *absolute(struct test *test, const float *x, size_t count)
{
    float *y = x ? test_input(test, count) : NULL;

    for (size_t i = 0; x && i < count; i++)
        y[i] = fabsf(x[i]);
    return y;
}

/* Windows side by side: no two elements of x meet. */
static void spread(struct test *test, struct kernel_convolve *s)
{
    struct kernel_window *w = &s->window;
    char text[TEST_WINDOW_BYTES];

    for (int i = 0; i < KERNEL_SPATIAL; i++) {
        w->stride[i] = w->kernel[i];
        w->dilation[i] = 1;
        w->pad_begin[i] = w->pad_end[i] = 0;
        w->out[i] = i == 0 && w->in[0] == 1 ? 1 : test_range(test, 1, 20);
        w->in[i] = w->out[i] * w->stride[i];
    }
    s->groups = 1;
    test_window_text(w, text);
    test_describe(test, "%s", text);
}

/* A transpose with what goes into it: images row-major, as the reference wants them, and
 * channels-last. */
struct transpose_scene {
    struct kernel_convolve s; /* what it transposes */
    struct kernel_conv conv;
    float *x_last, *w, *bias, *want_last, *allowed_last;
};

static void make_transpose_scene(struct test *test, struct transpose_scene *scene)
{
    struct kernel_convolve *s = &scene->s;
    struct kernel_conv_transpose t = {.dtype = KERNEL_F32};
    size_t used, batch, channels, plane;
    float *x, *want, *allowed;
    bool has_bias;

    random_convolve(test, s);
    if (!test->is_wide && test_chance(test, 3))
        spread(test, s);
    s->channels *= test_range(test, 1, 8);
    s->filters *= test_range(test, 1, 8);
    has_bias = test_chance(test, 2);
    scene->conv = transposed(s);
    t.batch = s->batch;
    t.channels = scene->conv.channels;
    t.filters = scene->conv.filters;
    t.groups = s->groups;
    t.window = s->window;
    used = strlen(test->text);
    snprintf(test->text + used, sizeof(test->text) - used, ", %lldx%lld->%lld groups %lld%s",
             (long long)t.batch, (long long)t.channels, (long long)t.filters, (long long)t.groups,
             has_bias ? ", bias" : "");
    batch = (size_t)s->batch;
    channels = (size_t)s->channels;
    plane = (size_t)volume(s->window.in);
    x = test_input(test, y_count(s));
    scene->w = test_input(test, w_count(s));
    scene->bias = has_bias ? test_input(test, channels) : NULL;
    scene->x_last = test_output(test, y_count(s) * sizeof(float)); /* aligned */
    want = test_output(test, x_count(s) * sizeof(float));
    allowed = test_output(test, x_count(s) * sizeof(float));
    scene->want_last = test_output(test, x_count(s) * sizeof(float));
    scene->allowed_last = test_output(test, x_count(s) * sizeof(float));
    swap_channels(scene->x_last, x, batch, (size_t)s->filters, (size_t)volume(s->window.out));
    TEST_RUN(test, TEST_REF, conv_transpose_ref(want, x, scene->w, scene->bias, &t));
    conv_transpose_ref(allowed, absolute(test, x, y_count(s)), absolute(test, scene->w, w_count(s)),
                       absolute(test, scene->bias, channels), &t);
    swap_channels(scene->want_last, want, batch, channels, plane);
    swap_channels(scene->allowed_last, allowed, batch, channels, plane);
}

static void check_transpose_version(struct test *test, const struct transpose_scene *scene,
                                    const char *version)
{
    size_t count = x_count(&scene->s);
    double products = (double)scene->conv.channels / (double)scene->conv.groups *
                      (double)volume(scene->s.window.kernel);
    struct test_tolerance tolerance = {
        .absolute = 4e-6, .allowed = scene->allowed_last, .scale = 1e-6 + 2e-7 * sqrt(products)};
    struct kernel_conv_plan *plan = NULL;
    float *got = test_output(test, count * sizeof(*got));
    void *workspace;
    int rc = kernel_conv_plan_create(&scene->conv, scene->w, scene->bias, false, version, &plan);

    test_kernel(test, version);
    if (rc < 0) {
        test_fail(test, "kernel_conv_plan_create %s: %d", version, rc);
        return;
    }
    test->version = strncmp(version, "dnnl", 4) == 0 ? "dnnl" : "own";
    workspace = test_output(test, kernel_conv_plan_info(plan).workspace_bytes);
    TEST_RUN(test, TEST_NEW, rc = kernel_conv_plan_run(plan, got, scene->x_last, workspace));
    if (rc < 0)
        test_fail(test, "kernel_conv_plan_run %s: %d", version, rc);
    test_compare(test, got, scene->want_last, count, &tolerance);
    kernel_conv_plan_destroy(&plan);
}

static void check_transpose_plan(struct test *test, const struct kernel_table *table)
{
    struct kernel_conv_versions versions;
    struct transpose_scene scene;
    int chosen;

    make_transpose_scene(test, &scene);
    if (kernel_conv_plan_list(&scene.conv, scene.bias != NULL, false, true, &versions) < 0)
        return; /* conv_transpose does it then */
    chosen = (int)test_range(test, 0, versions.count - 1);
    for (int i = 0; i < versions.count && !test->failed; i++)
        if (i == chosen || test->takes_all)
            check_transpose_version(test, &scene, versions.items[i].name);
}

/* Maximum and average against the references for f32; the place of a maximum leads to it. */
static void check_pool(struct test *test, const struct kernel_table *table)
{
    struct kernel_pool_any s = {.dtype = KERNEL_F32,
                                .batch = test_range(test, 0, 2),
                                .channels = test_range(test, 1, 3),
                                .op = test_chance(test, 2) ? POOL_MAX : POOL_AVERAGE,
                                .count_pads = test_chance(test, 2)};
    struct test_tolerance tolerance = {.absolute = 1e-6};
    struct kernel_pool f32;
    int64_t *places;
    float *x, *got, *want;
    size_t count;

    random_window(test, &s.window);
    f32 = (struct kernel_pool){s.batch, s.channels, KERNEL_SPATIAL, false, s.window, s.count_pads};
    count = (size_t)(s.batch * s.channels * volume(s.window.out));
    x = test_input(test, (size_t)(s.batch * s.channels * volume(s.window.in)));
    got = test_output(test, count * sizeof(*got));
    want = test_output(test, count * sizeof(*want));
    places = test_output(test, count * sizeof(*places));
    if (s.op == POOL_MAX)
        TEST_RUN(test, TEST_REF, max_pool_f32_ref(want, x, &f32));
    else
        TEST_RUN(test, TEST_REF, average_pool_f32_ref(want, x, &f32));
    TEST_RUN(test, TEST_NEW, table->pool.fn(got, places, x, &s));
    test_compare(test, got, want, count, &tolerance);
    for (size_t i = 0; s.op == POOL_MAX && i < count; i++)
        if (places[i] >= 0 && x[places[i]] < got[i])
            test_fail(test, "the place of maximum %zu is wrong", i);
}

static enum kernel_dtype pooled_type(struct test *test)
{
    static const enum kernel_dtype types[] = {KERNEL_F32, KERNEL_U8, KERNEL_I8, KERNEL_F64};

    return types[test_range(test, 0, 3)];
}

/* A window that steps by one through all of its places. */
static void step_by_one(struct kernel_window *w)
{
    for (int axis = 1; axis < KERNEL_SPATIAL; axis++) {
        w->stride[axis] = w->dilation[axis] = 1;
        w->out[axis] = w->in[axis] + w->pad_begin[axis] + w->pad_end[axis] - w->kernel[axis] + 1;
        w->in[axis] += w->out[axis] < 1 ? 1 - w->out[axis] : 0;
        w->out[axis] = w->out[axis] < 1 ? 1 : w->out[axis];
    }
}

/* The last axis is channels, over which no window reaches. */
static void end_in_channels(struct test *test, struct kernel_window *w)
{
    w->kernel[2] = w->stride[2] = w->dilation[2] = 1;
    w->pad_begin[2] = w->pad_end[2] = 0;
    w->in[2] = w->out[2] = test_range(test, 5, 70);
}

/* Maxima and their places, of which many are equal and some are NaN, and norms, against the reference. */
static void check_pool_places(struct test *test, const struct kernel_table *table)
{
    struct kernel_pool_any s = {.batch = test_range(test, 0, 2),
                                .channels = test_range(test, 1, 3)};
    size_t count, x_count;
    int64_t *places, *want_places;
    float *numbers;
    void *x, *got, *want;
    bool has_places;

    s.op = test_chance(test, 3) ? POOL_LP : POOL_MAX;
    s.dtype = s.op == POOL_LP ? KERNEL_F32 : pooled_type(test);
    s.p = (double)test_range(test, 1, 3);
    s.is_column_major = test_chance(test, 8);
    if (test_chance(test, 3))
        test_wide_window(test, 2, &s.window);
    else
        random_window(test, &s.window);
    if (test_chance(test, 3))
        step_by_one(&s.window);
    if (test_chance(test, 4))
        end_in_channels(test, &s.window);
    count = (size_t)(s.batch * s.channels * volume(s.window.out));
    x_count = (size_t)(s.batch * s.channels * volume(s.window.in));
    numbers = test_input(test, x_count);
    for (size_t i = 0; i < x_count; i++)
        numbers[i] = test_random(test) % 64 == 0 && kernel_dtype_is_real(s.dtype)
                         ? (s.dtype == KERNEL_F64 && test_chance(test, 2) ? -INFINITY : NAN)
                         : truncf(numbers[i] * 20.0f);
    x = test_input_bytes(test, x_count * kernel_dtype_bytes(s.dtype));
    cast_ref(x, s.dtype, numbers, KERNEL_F32, x_count);
    got = test_output(test, count * kernel_dtype_bytes(s.dtype));
    want = test_output(test, count * kernel_dtype_bytes(s.dtype));
    has_places = s.op == POOL_MAX && !test_chance(test, 3);
    places = has_places ? test_output(test, count * sizeof(*places)) : NULL;
    want_places = has_places ? test_output(test, count * sizeof(*places)) : NULL;
    TEST_RUN(test, TEST_REF, pool_ref(want, want_places, x, &s));
    TEST_RUN(test, TEST_NEW, table->pool.fn(got, places, x, &s));
    if (s.dtype == KERNEL_F32)
        test_compare(test, got, want, count, &(struct test_tolerance){.relative = 1e-7});
    else
        test_compare_bytes(test, got, want, count * kernel_dtype_bytes(s.dtype));
    if (places)
        test_compare_bytes(test, places, want_places, count * sizeof(*places));
}

static void check_lrn(struct test *test, const struct kernel_table *table)
{
    struct kernel_lrn f32 = {.batch = test_range(test, 0, 2),
                             .channels = test_range(test, 1, 9),
                             .plane = test_range(test, 1, 7),
                             .size = test_range(test, 1, 12),
                             .alpha = 0.5f,
                             .beta = 0.75f,
                             .bias = 1.0f};
    struct kernel_lrn_any s = {.dtype = KERNEL_F32,
                               .batch = f32.batch,
                               .channels = f32.channels,
                               .plane = f32.plane,
                               .size = f32.size,
                               .alpha = 0.5,
                               .beta = 0.75,
                               .bias = 1.0};
    size_t count = (size_t)(s.batch * s.channels * s.plane);
    float *x = test_input(test, count), *got = test_output(test, count * sizeof(*got));
    float *want = test_output(test, count * sizeof(*want));
    struct test_tolerance tolerance = {.relative = 1e-6};

    test_describe(test, "%zu elements, size %lld", count, (long long)s.size);
    TEST_RUN(test, TEST_REF, lrn_f32_ref(want, x, &f32));
    TEST_RUN(test, TEST_NEW, table->lrn.fn(got, x, &s));
    test_compare(test, got, want, count, &tolerance);
}

/* With its own statistics, a channel comes out with mean 0 and variance 1. */
static void check_training(struct test *test, const struct kernel_batch_norm *s, const float *y)
{
    int64_t count = s->batch * s->plane;

    for (int64_t c = 0; c < s->channels; c++) {
        double sum = 0.0, squares = 0.0;

        for (int64_t i = 0; i < count; i++) {
            int64_t at = (i / s->plane * s->channels + c) * s->plane + i % s->plane;

            sum += (double)y[at];
            squares += (double)y[at] * (double)y[at];
        }
        if (fabs(sum) > 1e-3 * (double)count ||
            (count > 3 && fabs(squares / (double)count - 1.0) > 0.05))
            test_fail(test, "channel %lld has mean %g and square %g", (long long)c,
                      sum / (double)count, squares / (double)count);
    }
}

static void check_batch_norm(struct test *test, const struct kernel_table *table)
{
    struct kernel_batch_norm s = {.batch = test_range(test, 1, 4),
                                  .channels = test_range(test, 1, 5),
                                  .plane = test_range(test, 2, 9),
                                  .plane_stats = 1,
                                  .epsilon = 1e-6,
                                  .momentum = 0.0};
    size_t count = (size_t)(s.batch * s.channels * s.plane), channels = (size_t)s.channels;
    float *x = test_input(test, count), *y = test_output(test, count * sizeof(*y));
    float *want = test_output(test, count * sizeof(*want)), *p[4];
    struct kernel_batch_norm_data data = {.x = x, .y = y};
    struct test_tolerance tolerance = {.absolute = 1e-4, .relative = 1e-5};

    test_describe(test, "%lldx%lldx%lld", (long long)s.batch, (long long)s.channels,
                  (long long)s.plane);
    for (int i = 0; i < 4; i++) {
        p[i] = test_input(test, channels);
        for (size_t c = 0; c < channels; c++)
            p[i][c] = i == 0 || i == 3 ? 1.0f : 0.0f;
    }
    data.scale = p[0];
    data.bias = p[1];
    data.mean = p[2];
    data.variance = p[3];
    TEST_RUN(test, TEST_REF,
             batch_norm_f32_ref(want, x, p[0], p[1], p[2], p[3], 1e-6f, (size_t)s.batch, channels,
                                (size_t)s.plane));
    TEST_RUN(test, TEST_NEW, table->batch_norm.fn(&data, &s));
    test_compare(test, y, want, count, &tolerance);
    data.new_mean = test_output(test, channels * sizeof(float));
    data.new_variance = test_output(test, channels * sizeof(float));
    table->batch_norm.fn(&data, &s);
    check_training(test, &s, y);
}

/* f32 and f64 in any mixture, with given statistics and those of x itself, held to the reference. */
static void check_batch_norm_types(struct test *test, const struct kernel_table *table)
{
    static const enum kernel_dtype reals[] = {KERNEL_F32, KERNEL_F64};
    struct kernel_batch_norm s = {.dtype = reals[test_range(test, 0, 1)],
                                  .scale_dtype = reals[test_range(test, 0, 1)],
                                  .stat_dtype = reals[test_range(test, 0, 1)],
                                  .batch = test_range(test, 1, 4),
                                  .channels = test_range(test, 1, test_chance(test, 4) ? 600 : 5),
                                  .plane = test_chance(test, 2) ? 1 : test_range(test, 2, 70),
                                  .plane_stats = 1,
                                  .epsilon = 1e-3,
                                  .momentum = 0.75};
    bool is_training = s.batch * s.plane > 1 && test_chance(test, 2);
    size_t count = (size_t)(s.batch * s.channels * s.plane), channels = (size_t)s.channels;
    double *got = test_output(test, count * 8), *want = test_output(test, count * 8);
    void *given[5], *made[2][3];
    struct kernel_batch_norm_data data;

    test_describe(test, "%lldx%lldx%lld of types %d %d %d%s", (long long)s.batch,
                  (long long)s.channels, (long long)s.plane, (int)s.dtype, (int)s.scale_dtype,
                  (int)s.stat_dtype, is_training ? ", training" : "");
    for (int i = 0; i < 5; i++) {
        size_t numbers = i ? channels : count;
        float *from = test_input(test, numbers);

        for (size_t c = 0; i == 4 && c < channels; c++)
            from[c] = 0.1f + fabsf(from[c]);
        given[i] = test_output(test, numbers * 8);
        cast_ref(given[i],
                 i == 0  ? s.dtype
                 : i < 3 ? s.scale_dtype
                         : s.stat_dtype,
                 from, KERNEL_F32, numbers);
    }
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 3; k++)
            made[i][k] = test_output(test, (k ? channels : count) * 8);
        data = (struct kernel_batch_norm_data){made[i][0],
                                               is_training ? made[i][1] : NULL,
                                               is_training ? made[i][2] : NULL,
                                               given[0],
                                               given[1],
                                               given[2],
                                               given[3],
                                               given[4]};
        if (i)
            TEST_RUN(test, TEST_NEW, table->batch_norm.fn(&data, &s));
        else
            TEST_RUN(test, TEST_REF, batch_norm_ref(&data, &s));
    }
    for (int k = 0; k < (is_training ? 3 : 1); k++) {
        enum kernel_dtype dtype = k ? s.stat_dtype : s.dtype;
        double room = dtype == KERNEL_F64 ? 1e-13 : 1e-6;

        cast_ref(got, KERNEL_F64, made[1][k], dtype, k ? channels : count);
        cast_ref(want, KERNEL_F64, made[0][k], dtype, k ? channels : count);
        for (size_t i = 0; i < (k ? channels : count); i++)
            if (!(fabs(got[i] - want[i]) <= room * fmax(1.0, fabs(want[i]))))
                test_fail(test, "output %d, element %zu is %.17g, not %.17g", k, i, got[i],
                          want[i]);
    }
}

/* As the convolution with as many pads in front as it sees, over the past and its input. */
static void check_causal_conv(struct test *test, const struct kernel_table *table)
{
    struct kernel_causal_conv s = {.dtype = KERNEL_F32,
                                   .batch = test_range(test, 0, 3),
                                   .channels = test_range(test, 0, 5),
                                   .steps = test_range(test, 0, test_chance(test, 5) ? 2500 : 12),
                                   .taps = test_range(test, 1, 6),
                                   .is_swish = test_chance(test, 2)};
    int64_t kept = s.taps - 1;
    size_t rows = (size_t)(s.batch * s.channels), count = rows * (size_t)s.steps;
    struct kernel_causal_conv_data want = {0}, got;

    test_describe(test, "%zu rows of %lld steps, %lld taps, swish %d", rows, (long long)s.steps,
                  (long long)s.taps, s.is_swish);
    want.x = test_input(test, count);
    want.w = test_input(test, (size_t)(s.channels * s.taps));
    want.bias = test_chance(test, 2) ? test_input(test, (size_t)s.channels) : NULL;
    want.past = test_chance(test, 2) ? test_input(test, rows * (size_t)kept) : NULL;
    got = want;
    want.y = test_output(test, count * sizeof(float));
    got.y = test_output(test, count * sizeof(float));
    want.present = test_output(test, rows * (size_t)kept * sizeof(float));
    got.present =
        test_chance(test, 3) ? NULL : test_output(test, rows * (size_t)kept * sizeof(float));
    TEST_RUN(test, TEST_REF, causal_conv_ref(&want, &s));
    TEST_RUN(test, TEST_NEW, table->causal_conv.fn(&got, &s));
    test_compare(test, got.y, want.y, count, &(struct test_tolerance){.absolute = 1e-5});
    if (got.present)
        test_compare_bytes(test, got.present, want.present, rows * (size_t)kept * sizeof(float));
}

/* Step by step, each with what the one before kept, it gives what it gives at once. */
static void check_causal_steps(struct test *test, const struct kernel_table *table)
{
    struct kernel_causal_conv s = {.dtype = KERNEL_F32,
                                   .batch = 1,
                                   .channels = 1,
                                   .steps = test_range(test, 1, 9),
                                   .taps = test_range(test, 1, 5),
                                   .is_swish = test_chance(test, 2)};
    size_t count = (size_t)s.steps, kept = (size_t)(s.taps - 1);
    float *x = test_input(test, count), *w = test_input(test, kept + 1);
    float *want = test_output(test, count * sizeof(float));
    float *got = test_output(test, count * sizeof(float));
    float *states[] = {test_output(test, kept * sizeof(float)),
                       test_output(test, kept * sizeof(float))};
    struct kernel_causal_conv_data data = {.y = want, .x = x, .w = w};

    test_describe(test, "%zu steps, %lld taps", count, (long long)s.taps);
    for (size_t t = 0; t < count; t++) {
        double sum = 0.0;

        for (size_t j = 0; j <= kept; j++)
            sum += t + j < kept ? 0.0 : (double)w[j] * x[t + j - kept];
        want[t] = (float)(s.is_swish ? sum / (1.0 + exp(-sum)) : sum);
    }
    s.steps = 1;
    for (size_t t = 0; t < count; t++) {
        data.x = x + t;
        data.y = got + t;
        data.past = t > 0 ? states[t % 2] : NULL;
        data.present = states[(t + 1) % 2];
        TEST_RUN(test, TEST_NEW, table->causal_conv.fn(&data, &s));
    }
    test_compare(test, got, want, count, &(struct test_tolerance){.absolute = 1e-5});
}

const struct test_op test_ops_convolve[] = {
    {"causal_conv", check_causal_conv, offsetof(struct kernel_table, causal_conv)},
    {"causal_conv_steps", check_causal_steps, offsetof(struct kernel_table, causal_conv)},
    {"convolve", check_convolve, offsetof(struct kernel_table, convolve)},
    {"conv_transpose", check_conv_transpose, offsetof(struct kernel_table, conv_transpose)},
    {"transpose_plan", check_transpose_plan, TEST_ALWAYS},
    {"pool", check_pool, offsetof(struct kernel_table, pool)},
    {"pool_places", check_pool_places, offsetof(struct kernel_table, pool)},
    {"lrn", check_lrn, offsetof(struct kernel_table, lrn)},
    {"batch_norm", check_batch_norm, offsetof(struct kernel_table, batch_norm)},
    {"batch_norm_types", check_batch_norm_types, offsetof(struct kernel_table, batch_norm)},
};
const size_t test_ops_convolve_count = sizeof(test_ops_convolve) / sizeof(test_ops_convolve[0]);
