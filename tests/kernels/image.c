/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of convolution, pooling and the normalisations of images. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/kernels/harness.h"

static size_t image_elements(int64_t batch, int64_t channels, const int64_t *spatial)
{
    return (size_t)(batch * channels * spatial[0] * spatial[1] * spatial[2]);
}

/* Sizes such that the output is not empty; axes that the tensor lacks are 1. */
static void random_window(struct test *test, int rank, int64_t in_max, bool dilates,
                          struct kernel_window *w)
{
    for (int i = 0; i < KERNEL_SPATIAL; i++) {
        bool is_used = i >= KERNEL_SPATIAL - rank;
        int64_t reach;

        w->kernel[i] = is_used ? test_range(test, 1, test_chance(test, 8) ? 7 : 3) : 1;
        w->stride[i] = is_used ? test_range(test, 1, 3) : 1;
        w->dilation[i] = is_used && dilates ? test_range(test, 1, 2) : 1;
        reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        w->pad_begin[i] = is_used ? test_range(test, 0, w->kernel[i] - 1) : 0;
        w->pad_end[i] = is_used ? test_range(test, 0, w->kernel[i] - 1) : 0;
        w->in[i] = is_used ? test_range(test, reach, reach + in_max) : 1;
        w->out[i] = (w->in[i] + w->pad_begin[i] + w->pad_end[i] - reach) / w->stride[i] + 1;
    }
}

/* Convolution */

static struct kernel_activation random_activation(struct test *test)
{
    enum kernel_unary kind = (enum kernel_unary)test_range(test, 0, KERNEL_UNARY_COUNT - 1);
    struct kernel_activation activation = {.kind = kind};

    if (kind == KERNEL_LEAKY_RELU)
        activation.a = 0.125f;
    if (kind == KERNEL_CLIP) {
        activation.a = -0.25f;
        activation.b = 1.5f;
    }
    return activation;
}

/* A third of them dilated. Draws nothing for that: the cases of found.txt stay as they were drawn. */
static void common_window(struct test *test, struct kernel_window *window)
{
    bool is_point = test_chance(test, 3), dilates = false;

    for (int i = 1; i < KERNEL_SPATIAL; i++) {
        int64_t dilation;

        window->in[i] = test_range(test, 1, test_chance(test, 4) ? 40 : 12);
        dilates = i == 1 ? window->in[i] % 3 == 0 : dilates;
        dilation = dilates && !is_point ? 1 + window->in[i] % 5 : 1;
        window->dilation[i] = dilation;
        window->stride[i] = 1;
        window->kernel[i] = is_point ? 1 : 3;
        window->pad_begin[i] = is_point ? 0 : dilation * test_range(test, 1, 2);
        window->pad_end[i] = is_point ? 0 : dilation * test_range(test, 1, 2);
        window->out[i] = window->in[i] + window->pad_begin[i] + window->pad_end[i] -
                         (window->kernel[i] - 1) * dilation;
    }
}

static int64_t conv_products(const struct kernel_conv *s)
{
    const int64_t *k = s->window.kernel;

    return (int64_t)image_elements(s->batch, s->filters, s->window.out) *
           (s->channels / s->groups) * k[0] * k[1] * k[2];
}

/* Not so much of it that the reference takes long. */
static void bound_conv(struct kernel_conv *s)
{
    enum { PRODUCTS_MAX = 800000 };

    while (conv_products(s) > PRODUCTS_MAX && s->channels > s->groups) {
        int64_t width = s->channels / s->groups / 2;

        if (s->filters == s->channels)
            s->filters = s->groups * width;
        s->channels = s->groups * width;
    }
    while (conv_products(s) > PRODUCTS_MAX && s->filters > s->groups)
        s->filters = s->filters / s->groups / 2 * s->groups;
}

/* Of some with narrow groups, those of widths that are merged. Draws nothing: the cases of found.txt stay. */
static void few_channels(struct kernel_conv *s)
{
    enum { NARROW = 16 };
    int64_t unit = s->groups == 4 && s->channels % 8 != 0 ? 2 : 4;

    if (s->groups % 2 != 0 || s->channels >= NARROW * s->groups || s->filters >= NARROW * s->groups)
        return;
    s->channels = s->groups * unit;
    s->filters = s->groups * unit * (1 + s->filters % 3);
}

/* Of wider images, as at the end of networks that make them. */
static void few_filters(struct test *test, struct kernel_conv *s)
{
    struct kernel_window *w = &s->window;

    s->filters = test_range(test, 1, 8);
    s->channels = test_chance(test, 2) ? 16 * test_range(test, 1, 4) : test_range(test, 1, 20);
    w->in[2] += test_range(test, 0, 150);
    w->stride[2] = test_chance(test, 3) ? w->stride[2] : 1;
    w->out[2] =
        (w->in[2] + w->pad_begin[2] + w->pad_end[2] - (w->kernel[2] - 1) * w->dilation[2] - 1) /
            w->stride[2] +
        1;
}

static void random_conv(struct test *test, struct kernel_conv *s)
{
    static const int64_t widths[] = {1,  2,  3,  4,  5,  7,  8,  15,  16,  17,  20, 24,
                                     31, 32, 33, 48, 63, 64, 65, 130, 256, 259, 515};
    int64_t count = sizeof(widths) / sizeof(widths[0]) - (test->is_wide ? 0 : 5);
    bool is_wide = test->is_wide && test_chance(test, 2);
    char window[TEST_WINDOW_BYTES];

    *s = (struct kernel_conv){.batch = test_range(test, 1, is_wide ? 3 : 2)};
    s->rank = test_chance(test, 5) ? (test_chance(test, 2) ? 1 : 3) : 2;
    s->channels_last = !test_chance(test, 4);
    s->activation = random_activation(test);
    switch (test_range(test, 0, 3)) {
    case 0: /* depthwise */
        s->groups = s->channels = s->filters = widths[test_range(test, 0, count - 1)];
        break;
    case 1: /* grouped */
        s->groups = test_range(test, 2, 4);
        s->channels = s->groups * widths[test_range(test, 0, count - 4)];
        s->filters = s->groups * widths[test_range(test, 0, count - 4)];
        few_channels(s);
        break;
    default:
        s->groups = 1;
        s->channels = widths[test_range(test, 0, count - 1)];
        s->filters = widths[test_range(test, 0, count - 1)];
        break;
    }
    if (is_wide) {
        test_wide_window(test, s->rank, &s->window);
    } else {
        random_window(test, s->rank, s->rank == 3 ? 3 : 11, true, &s->window);
        if (s->rank == 2 && test_chance(test, 2)) /* what networks use most: 1 x 1 and 3 x 3 */
            common_window(test, &s->window);
    }
    if (s->groups == 1 && test_chance(test, 4))
        few_filters(test, s);
    if (test->is_wide)
        bound_conv(s);
    test_window_text(&s->window, window);
    test_describe(test, "%lldx%lld->%lld groups %lld %s activation %d: %s", (long long)s->batch,
                  (long long)s->channels, (long long)s->filters, (long long)s->groups,
                  s->channels_last ? "channels-last" : "row-major", (int)s->activation.kind,
                  window);
}

static float *absolute(struct test *test, const float *x, size_t count)
{
    float *y = x ? test_input(test, count) : NULL;

    for (size_t i = 0; x && i < count; i++)
        y[i] = fabsf(x[i]);
    return y;
}

/* What kernels.h allows for each output: the sum of the absolute products, as conv_f32_fn says. */
static float *conv_allowance(struct test *test, const struct kernel_conv *s, const float *x,
                             const float *w, const float *bias, const float *residual,
                             const size_t counts[4])
{
    struct kernel_conv plain = *s;
    float *allowed = test_input(test, counts[3]);

    plain.activation = (struct kernel_activation){0};
    conv_f32_ref(allowed, absolute(test, x, counts[0]), absolute(test, w, counts[1]),
                 absolute(test, bias, counts[2]), absolute(test, residual, counts[3]), &plain);
    return allowed;
}

/* A convolution with what goes into it. */
struct conv_scene {
    struct kernel_conv shape;
    float *x, *w, *bias, *residual, *want, *allowed;
    size_t counts[4]; /* of x, w, bias, y */
};

/* Of the shape that the scene has. */
static void fill_conv_scene(struct test *test, struct conv_scene *scene)
{
    struct kernel_conv *s = &scene->shape;
    size_t *counts = scene->counts;
    size_t used;
    bool has_bias, has_residual, has_poison;

    has_bias = test_chance(test, 2);
    has_residual = test_chance(test, 3);
    has_poison = test->is_wide && test_chance(test, 5);
    used = strlen(test->text);
    snprintf(test->text + used, sizeof(test->text) - used, "%s%s%s", has_bias ? ", bias" : "",
             has_residual ? ", residual" : "", has_poison ? ", NaN" : "");
    counts[0] = image_elements(s->batch, s->channels, s->window.in);
    counts[1] = (size_t)(s->filters * (s->channels / s->groups)) *
                (size_t)(s->window.kernel[0] * s->window.kernel[1] * s->window.kernel[2]);
    counts[2] = (size_t)s->filters;
    counts[3] = image_elements(s->batch, s->filters, s->window.out);
    scene->x = test_output(test, counts[0] * sizeof(float)); /* aligned */
    for (size_t i = 0; i < counts[0]; i++)
        scene->x[i] = test_float(test);
    if (has_poison)
        scene->x[test_random(test) % counts[0]] = NAN;
    scene->w = test_input(test, counts[1]);
    scene->bias = has_bias ? test_input(test, counts[2]) : NULL;
    scene->residual = has_residual ? test_input(test, counts[3]) : NULL;
    scene->want = test_output(test, counts[3] * sizeof(float));
    TEST_RUN(test, TEST_REF,
             conv_f32_ref(scene->want, scene->x, scene->w, scene->bias, scene->residual, s));
    scene->allowed =
        conv_allowance(test, s, scene->x, scene->w, scene->bias, scene->residual, counts);
}

static void make_conv_scene(struct test *test, struct conv_scene *scene)
{
    random_conv(test, &scene->shape);
    fill_conv_scene(test, scene);
}

static bool is_of(const char *version, const char *family)
{
    return strncmp(version, family, strlen(family)) == 0;
}

/* What computes turned images is of the kind that it is for others. */
static const char *kind_of(const char *version)
{
    return is_of(version, "turned:") ? version + strlen("turned:") : version;
}

static void check_conv_result(struct test *test, const struct conv_scene *scene, const float *got,
                              const char *version)
{
    size_t count = scene->counts[3];
    struct test_tolerance tolerance = {.absolute = 4e-6, .allowed = scene->allowed};
    const bool is_winograd = is_of(kind_of(version), "winograd");
    float *allowed, largest = 0.0f;

    tolerance.scale = 1e-6 + 2e-7 * sqrt((double)scene->counts[1] / (double)scene->shape.filters);
    if (is_winograd || is_of(kind_of(version), "merged:")) {
        allowed = test_input(test, count);
        for (size_t i = 0; i < count; i++)
            largest = isnan(largest) || largest > scene->allowed[i] ? largest : scene->allowed[i];
        for (size_t i = 0; i < count; i++)
            allowed[i] = is_winograd      ? 2.0f * largest
                         : isnan(largest) ? largest
                                          : scene->allowed[i];
        tolerance.allowed = allowed;
    }
    test_compare(test, got, scene->want, count, &tolerance);
}

static void check_conv_version(struct test *test, struct conv_scene *scene, const char *version)
{
    size_t bytes = scene->counts[3] * sizeof(float);
    struct kernel_conv_plan *plan = NULL;
    float *got = test_output(test, bytes);
    void *workspace;
    int rc = kernel_conv_plan_create(&scene->shape, scene->w, scene->bias, scene->residual != NULL,
                                     version, &plan);

    test_kernel(test, version);
    if (rc < 0) {
        test_fail(test, "kernel_conv_plan_create %s: %d", version, rc);
        return;
    }
    test->version = is_of(kind_of(version), "winograd")  ? "winograd"
                    : is_of(kind_of(version), "merged:") ? "merged"
                                                         : "dnnl";
    workspace = test_output(test, kernel_conv_plan_info(plan).workspace_bytes);
    if (scene->residual)
        memcpy(got, scene->residual, bytes);
    TEST_RUN(test, TEST_NEW, rc = kernel_conv_plan_run(plan, got, scene->x, workspace));
    if (rc < 0)
        test_fail(test, "kernel_conv_plan_run %s: %d", version, rc);
    if (!test->bench || !scene->residual) /* a second run has added the first one's result */
        check_conv_result(test, scene, got, version);
    kernel_conv_plan_destroy(&plan);
}

static void check_conv_plans(struct test *test, struct conv_scene *scene)
{
    struct kernel_conv_versions versions;
    bool with_slow;
    int chosen;

    /* Mostly what a network gets. Drawn before it is known how many this machine has, so that the draws of a case
     * mean the same on each. */
    chosen = test_chance(test, 2) ? 0 : (int)test_range(test, 0, KERNEL_CONV_VERSIONS_MAX - 1);
    /* The references are on each list: a search looks at the others rather. */
    with_slow = !test->is_wide || test->takes_all || test_chance(test, 4);
    if (kernel_conv_plan_list(&scene->shape, scene->bias != NULL, scene->residual != NULL,
                              with_slow, &versions) < 0)
        return; /* conv_f32 does it then */
    for (int i = 0; i < versions.count && !test->failed; i++)
        if (i == chosen % versions.count || test->takes_all)
            check_conv_version(test, scene, versions.items[i].name);
}

static void check_conv_plan(struct test *test, const struct kernel_table *table)
{
    struct conv_scene scene;

    make_conv_scene(test, &scene);
    check_conv_plans(test, &scene);
}

/* Few filters along a line, as vocoders end with: neighbouring places may be computed as one. */
static void check_conv_line(struct test *test, const struct kernel_table *table)
{
    struct conv_scene scene = {.shape = {.batch = test_range(test, 1, 2),
                                         .channels = test_range(test, 1, 20),
                                         .filters = test_range(test, 1, 9),
                                         .groups = 1,
                                         .rank = 1,
                                         .channels_last = true,
                                         .activation = random_activation(test)}};
    struct kernel_window *w = &scene.shape.window;

    *w = (struct kernel_window){{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0}, {0}};
    w->kernel[2] = test_range(test, 2, 9);
    w->stride[2] = test_range(test, 1, 3);
    w->out[2] = test_range(test, 1, 40) << test_range(test, 0, 4);
    w->pad_begin[2] = test_range(test, 0, w->kernel[2] - 1);
    w->pad_end[2] = test_range(test, 0, w->kernel[2] - 1);
    w->in[2] = (w->out[2] - 1) * w->stride[2] + w->kernel[2] - w->pad_begin[2] - w->pad_end[2];
    if (w->in[2] < 1) {
        w->in[2] += w->pad_begin[2] + w->pad_end[2];
        w->pad_begin[2] = w->pad_end[2] = 0;
    }
    test_describe(test, "line %lldx%lld->%lld, kernel %lld by %lld, pads %lld %lld, %lld places",
                  (long long)scene.shape.batch, (long long)scene.shape.channels,
                  (long long)scene.shape.filters, (long long)w->kernel[2], (long long)w->stride[2],
                  (long long)w->pad_begin[2], (long long)w->pad_end[2], (long long)w->out[2]);
    fill_conv_scene(test, &scene);
    check_conv_plans(test, &scene);
}

/* The residual may be what the result will lie in. */
static void check_conv_in_place(struct test *test, const struct kernel_table *table,
                                const struct conv_scene *scene)
{
    size_t bytes = scene->counts[3] * sizeof(float);
    float *got = test_output(test, bytes);

    memcpy(got, scene->residual, bytes);
    TEST_RUN(test, TEST_NEW,
             table->conv_f32.fn(got, scene->x, scene->w, scene->bias, got, &scene->shape));
    check_conv_result(test, scene, got, "");
}

/* [filters, channels, kernel...] to [filters, kernel..., channels]. */
static void turn_weights(struct test *test, struct conv_scene *scene)
{
    struct kernel_conv *s = &scene->shape;
    size_t channels = (size_t)(s->channels / s->groups);
    size_t volume = scene->counts[1] / (size_t)s->filters / channels;
    float *turned = test_input(test, scene->counts[1]);

    for (size_t i = 0; i < scene->counts[1]; i++)
        turned[(i / volume / channels * volume + i % volume) * channels + i / volume % channels] =
            scene->w[i];
    scene->w = turned;
    s->w_channels_last = true;
}

/* The one that takes its weights as they are: the reference is the CPU's only version. */
static void check_conv(struct test *test, const struct kernel_table *table)
{
    struct conv_scene scene;
    float *got;
    const bool is_turned = test_chance(test, 2);

    if (table->conv_f32.fn == conv_f32_ref)
        return;
    make_conv_scene(test, &scene);
    if (is_turned)
        turn_weights(test, &scene);
    got = test_output(test, scene.counts[3] * sizeof(*got));
    TEST_RUN(test, TEST_NEW,
             table->conv_f32.fn(got, scene.x, scene.w, scene.bias, scene.residual, &scene.shape));
    check_conv_result(test, &scene, got, "");
    if (scene.residual && !test->bench && !test->failed)
        check_conv_in_place(test, table, &scene);
}

/* Pools */

/* As many outputs as pixels, as within a block of a network. */
static void same_window(struct test *test, struct kernel_window *w)
{
    for (int axis = 1; axis < KERNEL_SPATIAL; axis++) {
        w->in[axis] = w->out[axis] = test_range(test, 1, 34);
        w->kernel[axis] = test_range(test, 1, 6);
        w->pad_begin[axis] =
            test_chance(test, 2) ? w->kernel[axis] / 2 : test_range(test, 0, w->kernel[axis] - 1);
        w->pad_end[axis] = w->kernel[axis] - 1 - w->pad_begin[axis];
        w->stride[axis] = w->dilation[axis] = 1;
    }
}

/* A wide one that steps by one, over more rows than are taken at once, now and then. */
static void wide_window(struct test *test, struct kernel_window *w)
{
    for (int axis = 1; axis < KERNEL_SPATIAL; axis++) {
        w->in[axis] = test_range(test, 1, test_chance(test, 6) ? 150 : 50);
        w->kernel[axis] = test_range(test, 1, 14);
        w->pad_begin[axis] = test_range(test, 0, w->kernel[axis] - 1);
        w->pad_end[axis] = test_range(test, 0, w->kernel[axis] - 1);
        w->stride[axis] = w->dilation[axis] = 1;
        w->out[axis] = w->in[axis] + w->pad_begin[axis] + w->pad_end[axis] - w->kernel[axis] + 1;
        if (w->out[axis] < 1) {
            w->in[axis] += 1 - w->out[axis];
            w->out[axis] = 1;
        }
    }
}

static void check_pool(struct test *test, const struct kernel_table *table, bool is_max)
{
    struct kernel_pool s = {
        .batch = test_range(test, test->is_wide ? 0 : 1, 2),
        .channels = test_range(test, 1, test_chance(test, 4) ? 300 : 40),
        .rank = (int)test_range(test, 1, 3),
        .channels_last = !test_chance(test, 4),
        .count_pads = test_chance(test, 2),
    };
    struct test_tolerance tolerance = {.relative = is_max ? 0.0 : 2e-6};
    size_t x_count, y_count;
    float *x, *got, *want, *allowed;
    char window[TEST_WINDOW_BYTES];

    if (test->is_wide && !test_chance(test, 4))
        test_wide_window(test, s.rank, &s.window);
    else
        random_window(test, s.rank, s.rank == 3 ? 4 : s.channels_last ? 12 : 60, true, &s.window);
    if (s.rank == 2 && test_chance(test, 3))
        same_window(test, &s.window);
    else if (s.rank == 2 && !s.channels_last && test_chance(test, 2))
        wide_window(test, &s.window);
    else if (test_chance(test, 3)) /* rounded up: the last window may lie in the pads alone */
        for (int i = KERNEL_SPATIAL - s.rank; i < KERNEL_SPATIAL; i++)
            s.window.out[i]++;
    test_window_text(&s.window, window);
    test_describe(test, "%lldx%lld %s count_pads %d: %s", (long long)s.batch, (long long)s.channels,
                  s.channels_last ? "channels-last" : "row-major", s.count_pads, window);
    x_count = image_elements(s.batch, s.channels, s.window.in);
    y_count = image_elements(s.batch, s.channels, s.window.out);
    x = test_input(test, x_count);
    want = test_output(test, y_count * sizeof(*want));
    got = test_output(test, y_count * sizeof(*got));
    if (is_max) {
        TEST_RUN(test, TEST_REF, max_pool_f32_ref(want, x, &s));
        TEST_RUN(test, TEST_NEW, table->max_pool_f32.fn(got, x, &s));
    } else {
        TEST_RUN(test, TEST_REF, average_pool_f32_ref(want, x, &s));
        TEST_RUN(test, TEST_NEW, table->average_pool_f32.fn(got, x, &s));
        allowed = test_input(test, y_count);
        average_pool_f32_ref(allowed, absolute(test, x, x_count), &s);
        tolerance = (struct test_tolerance){.allowed = allowed, .scale = 2e-6};
    }
    test_compare(test, got, want, y_count, &tolerance);
}

static void check_max_pool(struct test *test, const struct kernel_table *table)
{
    check_pool(test, table, true);
}

static void check_average_pool(struct test *test, const struct kernel_table *table)
{
    check_pool(test, table, false);
}

/* Normalisations */

static void check_lrn(struct test *test, const struct kernel_table *table)
{
    struct kernel_lrn s = {
        .batch = test_range(test, test->is_wide ? 0 : 1, 2),
        .channels = test_range(test, 1, test_chance(test, 3) ? 600 : 40),
        .plane = test_range(test, 1, 40),
        .size = test_range(test, 1, test_chance(test, 8) ? 40 : 7),
        .channels_last = !test_chance(test, 4),
        .alpha = test_chance(test, 2) ? 1e-4f : 2.0f,
        .beta = test_chance(test, 3) ? 0.6f : 0.75f,
        .bias = test_chance(test, 2) ? 1.0f : 2.5f,
    };
    struct test_tolerance tolerance = {.relative = 1e-5};
    size_t count = (size_t)(s.batch * s.channels * s.plane);
    float *x = test_input(test, count), *got = test_output(test, count * sizeof(*got));
    float *want = test_output(test, count * sizeof(*want));

    test_describe(test, "%lldx%lldx%lld size %lld beta %g %s", (long long)s.batch,
                  (long long)s.channels, (long long)s.plane, (long long)s.size, (double)s.beta,
                  s.channels_last ? "channels-last" : "row-major");
    TEST_RUN(test, TEST_REF, lrn_f32_ref(want, x, &s));
    TEST_RUN(test, TEST_NEW, table->lrn_f32.fn(got, x, &s));
    test_compare(test, got, want, count, &tolerance);
}

static void check_batch_norm(struct test *test, const struct kernel_table *table)
{
    size_t batch = (size_t)test_range(test, test->is_wide ? 0 : 1, 20);
    size_t channels = (size_t)test_range(test, 1, test_chance(test, 3) ? 600 : 40);
    size_t plane = test_chance(test, 2) ? 1 : (size_t)test_range(test, 1, 70);
    size_t count = batch * channels * plane;
    float *x = test_input(test, count), *p[4], *allowed = test_input(test, count);
    float *want = test_output(test, count * sizeof(*want));
    float *got = test_output(test, count * sizeof(*got));
    struct test_tolerance tolerance = {.allowed = allowed, .scale = 1e-5};

    test_describe(test, "%zux%zux%zu", batch, channels, plane);
    for (int i = 0; i < 4; i++)
        p[i] = test_input(test, channels);
    for (size_t c = 0; c < channels; c++)
        p[3][c] = fabsf(p[3][c]);
    for (size_t i = 0; i < count; i++) {
        size_t c = i / plane % channels;
        double s = fabs((double)p[0][c]) / sqrt((double)p[3][c] + 1e-3);

        allowed[i] =
            (float)(fabs((double)x[i]) * s + fabs((double)p[2][c]) * s + fabs((double)p[1][c]));
    }
    TEST_RUN(test, TEST_REF,
             batch_norm_f32_ref(want, x, p[0], p[1], p[2], p[3], 1e-3f, batch, channels, plane));
    TEST_RUN(
        test, TEST_NEW,
        table->batch_norm_f32.fn(got, x, p[0], p[1], p[2], p[3], 1e-3f, batch, channels, plane));
    test_compare(test, got, want, count, &tolerance);
}

const struct test_op test_ops_image[] = {
    {"conv_plan", check_conv_plan, TEST_ALWAYS},
    {"conv_line", check_conv_line, TEST_ALWAYS},
    {"conv_f32", check_conv, offsetof(struct kernel_table, conv_f32)},
    {"max_pool_f32", check_max_pool, offsetof(struct kernel_table, max_pool_f32)},
    {"average_pool_f32", check_average_pool, offsetof(struct kernel_table, average_pool_f32)},
    {"lrn_f32", check_lrn, offsetof(struct kernel_table, lrn_f32)},
    {"batch_norm_f32", check_batch_norm, offsetof(struct kernel_table, batch_norm_f32)},
};
const size_t test_ops_image_count = sizeof(test_ops_image) / sizeof(test_ops_image[0]);
