/* SPDX-License-Identifier: Apache-2.0 */
/* Plans whose weights are stored in half precision: held to the references for f32 over the numbers as
 * they are stored. */
#include <math.h>
#include <string.h>

#include "tests/kernels/harness.h"

/* The numbers as a type stores them; returned in that type, and rounded where they are. */
static void *store(struct test *test, float *numbers, enum kernel_dtype dtype, size_t count)
{
    void *stored = test_input_bytes(test, count * kernel_dtype_bytes(dtype) + 1);

    cast_ref(stored, dtype, numbers, KERNEL_F32, count);
    cast_ref(numbers, KERNEL_F32, stored, dtype, count);
    return stored;
}

static struct kernel_plan_types random_types(struct test *test)
{
    struct kernel_plan_types types = {.weights = test_chance(test, 2) ? KERNEL_F16 : KERNEL_BF16};

    if (types.weights == KERNEL_BF16 && test_chance(test, 2))
        types.x = KERNEL_BF16;
    else
        types.keeps_x = test_chance(test, 3);
    if (types.weights == KERNEL_BF16 && test_chance(test, 2))
        types.y = KERNEL_BF16;
    return types;
}

/* x as the plan takes it, which is one of two types. */
static const void *as_taken(struct test *test, const float *x, enum kernel_dtype taken,
                            size_t count)
{
    void *stored = test_output(test, count * sizeof(float) + 1);

    cast_ref(stored, taken, x, KERNEL_F32, count);
    return stored;
}

static double unit_of(const struct kernel_plan_types *types)
{
    return types->weights == KERNEL_BF16 && !types->keeps_x ? 0x1p-7 : 0.0;
}

static void check_result(struct test *test, const void *y, enum kernel_dtype made,
                         const float *want, const float *allowed, size_t count, double products,
                         double unit)
{
    struct test_tolerance tolerance = {.absolute = 4e-6,
                                       .relative = made == KERNEL_BF16 ? 0x1p-7 : 0.0,
                                       .allowed = allowed,
                                       .scale = 1e-6 + 2e-7 * sqrt(products) + unit};
    float *got = test_input(test, count);

    cast_ref(got, KERNEL_F32, y, made, count);
    test_compare(test, got, want, count, &tolerance);
}

static float *sizes_of(struct test *test, const float *x, size_t count)
{
    float *sizes = test_input(test, count);

    for (size_t i = 0; i < count; i++)
        sizes[i] = fabsf(x[i]);
    return sizes;
}

/* --- Products --- */

static const struct kernel_activation relu = {KERNEL_RELU, 0.0f, 0.0f};

static struct kernel_gemm random_product(struct test *test)
{
    struct kernel_gemm s = {
        .m = test_chance(test, 3) ? 1 : test_range(test, 1, 60),
        .n = test_range(test, 1, test_chance(test, 4) ? 900 : 90),
        .k = test_range(test, 1, test_chance(test, 4) ? 500 : 70),
        .trans_b = test_chance(test, 2),
        .alpha = 1.0f,
        .beta = 1.0f,
        .c_col_stride = 1,
        .types = random_types(test),
    };

    return s;
}

static void check_gemm_plan_half(struct test *test, const struct kernel_table *table)
{
    struct kernel_gemm s = random_product(test);
    size_t counts[3] = {(size_t)(s.m * s.k), (size_t)(s.k * s.n), (size_t)(s.m * s.n)};
    bool has_relu = test_chance(test, 3);
    float *a = test_input(test, counts[0]), *b = test_input(test, counts[1]);
    float *bias = test_chance(test, 3) ? NULL : test_input(test, (size_t)s.n);
    float *want = test_output(test, counts[2] * sizeof(*want));
    float *allowed = test_output(test, counts[2] * sizeof(*want));
    void *stored = store(test, b, s.types.weights, counts[1]), *y, *workspace;
    struct kernel_activation activation = has_relu ? relu : (struct kernel_activation){0};
    struct kernel_gemm_plan *plan = NULL;
    struct kernel_gemm_plan_info info;
    int rc = kernel_gemm_plan_create(&s, stored, bias, &activation, &plan);

    test_describe(test, "%lldx%lldx%lld%s weights %d x %d%s y %d", (long long)s.m, (long long)s.n,
                  (long long)s.k, s.trans_b ? " B^T" : "", (int)s.types.weights, (int)s.types.x,
                  s.types.keeps_x ? " kept" : "", (int)s.types.y);
    if (rc < 0) {
        test_fail(test, "kernel_gemm_plan_create: %d", rc);
        return;
    }
    if (s.types.x == KERNEL_BF16)
        store(test, a, KERNEL_BF16, counts[0]);
    info = kernel_gemm_plan_info(plan);
    test->version = "dnnl";
    y = test_output(test, counts[2] * sizeof(float));
    workspace = test_output(test, info.workspace_bytes + 1);
    TEST_RUN(test, TEST_REF, gemm_f32_ref(want, a, b, bias, &s));
    if (has_relu)
        relu_f32_ref(want, want, counts[2], 0.0f, 0.0f);
    TEST_RUN(test, TEST_NEW,
             rc = kernel_gemm_plan_run(plan, y, as_taken(test, a, info.a, counts[0]), workspace));
    if (rc < 0)
        test_fail(test, "kernel_gemm_plan_run: %d", rc);
    if (info.weights_bytes > (size_t)((s.n + 63) / 64 * 64 * (2 * ((s.k + 63) / 64 * 64) + 4)))
        test_fail(test, "%zu bytes of weights", info.weights_bytes);
    gemm_f32_ref(allowed, sizes_of(test, a, counts[0]), sizes_of(test, b, counts[1]),
                 bias ? sizes_of(test, bias, (size_t)s.n) : NULL, &s);
    check_result(test, y, info.y, want, allowed, counts[2], (double)s.k, unit_of(&s.types));
    kernel_gemm_plan_destroy(&plan);
}

/* --- Convolutions --- */

static struct kernel_conv random_image(struct test *test)
{
    bool is_deep = test_chance(test, 4);
    struct kernel_conv s = {
        .batch = test_range(test, 1, 2),
        .groups = 1,
        .channels = test_range(test, 1, 40),
        .filters = test_range(test, 1, 40),
        .rank = 2,
        .channels_last = true,
        .types = random_types(test),
    };
    int64_t kernel = test_range(test, 1, 3), stride = kernel == 3 ? test_range(test, 1, 2) : 1;
    struct kernel_window *w = &s.window;

    if (is_deep) {
        s.filters = s.channels = s.groups = 8 * test_range(test, 1, 4);
    } else if (test_chance(test, 4)) {
        s.groups = test_range(test, 2, 3);
        s.filters *= s.groups;
        s.channels *= s.groups;
    }
    *w = (struct kernel_window){.kernel = {1, kernel, kernel},
                                .stride = {1, stride, stride},
                                .dilation = {1, 1, 1},
                                .in = {1, test_range(test, 3, 30), test_range(test, 3, 30)},
                                .out = {1}};
    for (int i = 1; i < KERNEL_SPATIAL; i++) {
        w->pad_begin[i] = w->pad_end[i] = kernel / 2;
        w->out[i] = (w->in[i] + 2 * (kernel / 2) - kernel) / stride + 1;
    }
    if (test_chance(test, 3))
        s.activation = relu;
    return s;
}

/* Any of the kernels now and then; NULL: the first. */
static const char *some_version(struct test *test, const struct kernel_conv *s, bool has_bias,
                                bool has_residual, struct kernel_conv_versions *room)
{
    if (test_chance(test, 2) || kernel_conv_plan_list(s, has_bias, has_residual, false, room) < 0)
        return NULL;
    return room->items[test_random(test) % (size_t)room->count].name;
}

/* Transformed weights are four times as many, and in f32. */
static void check_winograd_bytes(struct test *test, const struct kernel_conv *s, size_t bytes)
{
    int64_t filters = (s->filters / s->groups + 31) / 32 * 32 * s->groups;
    size_t most = (size_t)(filters * (s->channels / s->groups * 9 * 2 + 4)) + 128;

    if (bytes > most)
        test_fail(test, "%zu bytes of weights, %zu at most", bytes, most);
}

static void check_conv_plan_half(struct test *test, const struct kernel_table *table)
{
    struct kernel_conv s = random_image(test), plain;
    const struct kernel_window *w = &s.window;
    size_t area = (size_t)(w->kernel[1] * w->kernel[2]);
    size_t counts[3] = {(size_t)(s.batch * s.channels * w->in[1] * w->in[2]),
                        (size_t)(s.filters * s.channels / s.groups) * area,
                        (size_t)(s.batch * s.filters * w->out[1] * w->out[2])};
    float *x = test_input(test, counts[0]), *weights = test_input(test, counts[1]);
    float *bias = test_chance(test, 2) ? NULL : test_input(test, (size_t)s.filters);
    float *residual = test_chance(test, 2) ? NULL : test_input(test, counts[2]);
    float *want = test_output(test, counts[2] * sizeof(*want));
    float *allowed = test_output(test, counts[2] * sizeof(*want)), largest = 0.0f;
    void *stored = store(test, weights, s.types.weights, counts[1]), *y, *workspace;
    struct kernel_conv_plan *plan = NULL;
    struct kernel_conv_plan_info info;
    struct kernel_conv_versions room;
    const char *version = some_version(test, &s, bias != NULL, residual != NULL, &room);
    int rc = kernel_conv_plan_create(&s, stored, bias, residual != NULL, version, &plan);

    test_describe(
        test, "%s %lldx%lld to %lld by %lld, %lldx%lld, kernel %lld weights %d x %d%s y %d%s",
        version ? version : "", (long long)s.batch, (long long)s.channels, (long long)s.filters,
        (long long)s.groups, (long long)w->in[1], (long long)w->in[2], (long long)w->kernel[1],
        (int)s.types.weights, (int)s.types.x, s.types.keeps_x ? " kept" : "", (int)s.types.y,
        residual ? ", residual" : "");
    if (rc < 0) {
        test_fail(test, "kernel_conv_plan_create: %d", rc);
        return;
    }
    if (s.types.x == KERNEL_BF16)
        store(test, x, KERNEL_BF16, counts[0]);
    info = kernel_conv_plan_info(plan);
    test_kernel(test, info.version);
    test->version = "dnnl";
    y = test_output(test, counts[2] * sizeof(float));
    workspace = test_output(test, info.workspace_bytes + 1);
    if (residual)
        cast_ref(y, info.y, residual, KERNEL_F32, counts[2]);
    TEST_RUN(test, TEST_REF, conv_f32_ref(want, x, weights, bias, residual, &s));
    rc = kernel_conv_plan_run(plan, y, as_taken(test, x, info.x, counts[0]), workspace);
    if (rc < 0)
        test_fail(test, "kernel_conv_plan_run: %d", rc);
    plain = s;
    plain.activation.kind = KERNEL_IDENTITY;
    conv_f32_ref(allowed, sizes_of(test, x, counts[0]), sizes_of(test, weights, counts[1]),
                 bias ? sizes_of(test, bias, (size_t)s.filters) : NULL,
                 residual ? sizes_of(test, residual, counts[2]) : NULL, &plain);
    for (size_t i = 0; i < counts[2]; i++)
        largest = fmaxf(largest, allowed[i]);
    if (strncmp(info.version, "winograd", 8) == 0) {
        check_winograd_bytes(test, &s, info.weights_bytes);
        for (size_t i = 0; i < counts[2]; i++)
            allowed[i] = 2.0f * largest;
    }
    check_result(test, y, info.y, want, allowed, counts[2], (double)counts[1] / (double)s.filters,
                 unit_of(&s.types));
    kernel_conv_plan_destroy(&plan);
}

/* --- What is narrowed --- */

static void check_narrow(struct test *test, const struct kernel_table *table)
{
    static const float odd[] = {0.0f,     -0.0f,     65504.0f, 65519.0f, 65520.0f, -70000.0f,
                                INFINITY, -INFINITY, 3.4e38f,  -3.4e38f, 1e-8f,    6e-5f};
    enum kernel_dtype dtype = test_chance(test, 2) ? KERNEL_F16 : KERNEL_BF16;
    size_t count = (size_t)test_range(test, 0, test_chance(test, 3) ? 3000 : 40);
    float *x = test_input(test, count + 1);
    uint16_t *want = test_output(test, 2 * count + 1), *got = test_output(test, 2 * count + 1);
    float *wide[2] = {test_input(test, count + 1), test_input(test, count + 1)};

    for (size_t i = 0; i < count; i++)
        if (test_chance(test, 4))
            x[i] = odd[test_random(test) % (sizeof(odd) / sizeof(odd[0]))];
    if (count > 0 && test_chance(test, 4))
        x[test_random(test) % count] = NAN;
    test_describe(test, "%zu to type %d", count, (int)dtype);
    TEST_RUN(test, TEST_REF, narrow_ref(want, dtype, x, count));
    TEST_RUN(test, TEST_NEW, table->narrow.fn(got, dtype, x, count));
    cast_ref(wide[0], KERNEL_F32, want, dtype, count);
    cast_ref(wide[1], KERNEL_F32, got, dtype, count);
    for (size_t i = 0; i < count; i++)
        if (isfinite(x[i]) && !isfinite(wide[1][i]))
            test_fail(test, "%g became %g", (double)x[i], (double)wide[1][i]);
    test_compare(test, wide[1], wide[0], count, &(struct test_tolerance){0});
}

const struct test_op test_ops_half_plan[] = {
    {"narrow", check_narrow, offsetof(struct kernel_table, narrow)},
    {"gemm_plan_half", check_gemm_plan_half, TEST_ALWAYS},
    {"conv_plan_half", check_conv_plan_half, TEST_ALWAYS},
};
const size_t test_ops_half_plan_count = sizeof(test_ops_half_plan) / sizeof(test_ops_half_plan[0]);
