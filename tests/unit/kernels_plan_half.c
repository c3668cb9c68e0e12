/* SPDX-License-Identifier: Apache-2.0 */
/* Plans whose weights are stored in half precision and multiplied in float32: the same numbers as those of
 * weights that were float32 all along, and no copy of them in float32 on the way. */
#include "tests/support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"

static size_t largest; /* of what was asked for */

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    largest = bytes > largest ? bytes : largest;
    return __real_aligned_alloc(alignment, bytes);
}

/* Elsewhere oneDNN has no way to move 16 bits. */
static bool moves_halves(void)
{
    return kernel_best_level() >= KERNEL_LEVEL_AVX512 && !getenv("ONEDNN_MAX_CPU_ISA");
}

static void *room(size_t bytes)
{
    void *data = aligned_alloc(64, (bytes + 64) / 64 * 64);

    assert_non_null(data);
    memset(data, 0, bytes);
    return data;
}

static float *numbers(size_t count)
{
    float *made = room(count * sizeof(*made));

    for (size_t i = 0; i < count; i++)
        made[i] = (float)(i * 2654435761u % 1009) / 500.0f - 1.0f;
    return made;
}

/* Weights in their type, and the same in float32. Zeros, the smallest and the largest are among them. */
static void make_weights(size_t count, enum kernel_dtype dtype, void **out_half, float **out_wide)
{
    static const float odd[] = {0.0f, -0.0f, 0x1p-24f, -0x1p-20f, 65504.0f, -65504.0f, 0x1p-133f};
    struct kernel_table kernels;
    float *wide = numbers(count);

    for (size_t i = 0; i < count && i < sizeof(odd) / sizeof(odd[0]); i++)
        wide[i * 3 % count] = odd[i];
    kernel_table_init(&kernels, kernel_best_level());
    *out_half = room(count * 2);
    kernels.cast.fn(*out_half, dtype, wide, KERNEL_F32, count);
    kernels.cast.fn(wide, KERNEL_F32, *out_half, dtype, count);
    *out_wide = wide;
}

static void check_near(const float *y, const float *wanted, size_t count)
{
    float most = 0;

    for (size_t i = 0; i < count; i++)
        most = fmaxf(most, fabsf(wanted[i]));
    for (size_t i = 0; i < count; i++)
        CHECK_NEAR(y[i], wanted[i], 1e-5 * (double)most);
}

/* A few rows by weights of float16 that lie as they are read are summed in another order. */
static bool is_summed_alike(const struct kernel_gemm *shape, enum kernel_dtype dtype)
{
    return dtype != KERNEL_F16 || shape->trans_b || shape->m == 1;
}

static void check_product(struct kernel_gemm shape, enum kernel_dtype dtype, bool has_bias)
{
    static const struct kernel_activation relu = {.kind = KERNEL_RELU};
    size_t y_count = (size_t)(shape.m * shape.n), b_count = (size_t)(shape.k * shape.n);
    struct kernel_gemm_plan *plan, *plain;
    float *a = numbers((size_t)(shape.m * shape.k)), *bias = numbers((size_t)shape.n), *wide;
    float *y = room(y_count * sizeof(*y)), *wanted = room(y_count * sizeof(*y));
    void *b, *workspace;
    int rc;

    make_weights(b_count, dtype, &b, &wide);
    rc = kernel_gemm_plan_create(&shape, wide, has_bias ? bias : NULL, &relu, &plain);
    shape.types = (struct kernel_plan_types){.weights = dtype, .keeps_x = true};
    largest = 0;
    assert_int_equal(kernel_gemm_plan_create(&shape, b, has_bias ? bias : NULL, &relu, &plan), rc);
    if (rc == 0) {
        struct kernel_gemm_plan_info info = kernel_gemm_plan_info(plan);

        assert_true(info.weights_bytes < kernel_gemm_plan_info(plain).weights_bytes ||
                    b_count < 1000);
        if (b_count > 1 << 16 && moves_halves())
            assert_true(largest < b_count * 3);
        workspace = room(info.workspace_bytes);
        assert_int_equal(kernel_gemm_plan_run(plan, y, a, workspace), 0);
        free(workspace);
        workspace = room(kernel_gemm_plan_info(plain).workspace_bytes);
        assert_int_equal(kernel_gemm_plan_run(plain, wanted, a, workspace), 0);
        free(workspace);
        if (is_summed_alike(&shape, dtype))
            assert_memory_equal(y, wanted, y_count * sizeof(*y));
        else
            check_near(y, wanted, y_count);
        kernel_gemm_plan_destroy(&plan);
        kernel_gemm_plan_destroy(&plain);
    }
    free(a);
    free(b);
    free(bias);
    free(wide);
    free(y);
    free(wanted);
}

static void products_are_the_same(void **state)
{
    /* One column has a plan of halves only. */
    static const int64_t sizes[][3] = {{2, 1, 2},   {5, 37, 83},   {4, 64, 64},
                                       {3, 17, 16}, {7, 1000, 33}, {8, 512, 1024}};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int k = 0; k < 8; k++)
            check_product(
                (struct kernel_gemm){
                    .m = sizes[i][0], .k = sizes[i][1], .n = sizes[i][2], .trans_b = (k & 1) != 0},
                k & 2 ? KERNEL_BF16 : KERNEL_F16, (k & 4) != 0);
}

struct sample {
    int64_t channels, filters, groups, size, kernel;
    bool channels_last;
};

static struct kernel_conv shape_of(const struct sample *sample)
{
    struct kernel_conv shape = {.batch = 1,
                                .channels = sample->channels,
                                .filters = sample->filters,
                                .groups = sample->groups,
                                .rank = 2,
                                .channels_last = sample->channels_last};
    struct kernel_window *w = &shape.window;

    for (int i = 0; i < KERNEL_SPATIAL; i++) {
        bool is_used = i >= KERNEL_SPATIAL - 2;

        w->in[i] = is_used ? sample->size : 1;
        w->kernel[i] = is_used ? sample->kernel : 1;
        w->stride[i] = w->dilation[i] = 1;
        w->pad_begin[i] = w->pad_end[i] = is_used ? sample->kernel / 2 : 0;
        w->out[i] = w->in[i] + 2 * w->pad_begin[i] - w->kernel[i] + 1;
    }
    return shape;
}

static void check_convolution(const struct sample *sample, enum kernel_dtype dtype, bool has_bias)
{
    struct kernel_conv shape = shape_of(sample);
    size_t pixels = (size_t)(sample->size * sample->size);
    size_t w_count = (size_t)(sample->filters * sample->channels / sample->groups * sample->kernel *
                              sample->kernel);
    size_t y_count = pixels * (size_t)sample->filters;
    float *x = numbers(pixels * (size_t)sample->channels), *bias = numbers((size_t)sample->filters);
    float *y = room(y_count * sizeof(*y)), *wanted = room(y_count * sizeof(*y)), *wide;
    struct kernel_conv_plan *plan, *plain;
    struct kernel_conv_plan_info info, plain_info;
    void *w, *workspace;
    bool is_same;

    make_weights(w_count, dtype, &w, &wide);
    assert_int_equal(
        kernel_conv_plan_create(&shape, wide, has_bias ? bias : NULL, false, NULL, &plain), 0);
    shape.types = (struct kernel_plan_types){.weights = dtype, .keeps_x = true};
    largest = 0;
    assert_int_equal(kernel_conv_plan_create(&shape, w, has_bias ? bias : NULL, false, NULL, &plan),
                     0);
    info = kernel_conv_plan_info(plan);
    plain_info = kernel_conv_plan_info(plain);
    is_same =
        strncmp(info.version, "panels:", 7) != 0 && strncmp(plain_info.version, "turned:", 7) != 0;
    if (is_same)
        assert_string_equal(info.version, plain_info.version);
    if (w_count > 1 << 16 && strncmp(info.version, "dnnl:", 5) == 0 && moves_halves())
        assert_true(largest < w_count * 3);
    workspace = room(info.workspace_bytes);
    assert_int_equal(kernel_conv_plan_run(plan, y, x, workspace), 0);
    free(workspace);
    workspace = room(plain_info.workspace_bytes);
    assert_int_equal(kernel_conv_plan_run(plain, wanted, x, workspace), 0);
    free(workspace);
    if (is_same)
        assert_memory_equal(y, wanted, y_count * sizeof(*y));
    else
        check_near(y, wanted, y_count);
    kernel_conv_plan_destroy(&plan);
    kernel_conv_plan_destroy(&plain);
    free(w);
    free(x);
    free(bias);
    free(wide);
    free(y);
    free(wanted);
}

static void convolutions_are_the_same(void **state)
{
    static const struct sample samples[] = {
        {3, 16, 1, 9, 3, true},   {5, 7, 1, 5, 3, true},    {256, 512, 1, 2, 3, true},
        {64, 64, 1, 14, 3, true}, {64, 100, 1, 7, 1, true}, {32, 32, 32, 7, 3, true},
        {32, 48, 4, 7, 3, true},  {8, 24, 1, 6, 5, false},  {48, 48, 48, 7, 7, true},
        {96, 70, 1, 8, 1, true},  {33, 65, 1, 9, 3, true},
    };

    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        for (int k = 0; k < 4; k++)
            check_convolution(&samples[i], k & 1 ? KERNEL_BF16 : KERNEL_F16, (k & 2) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_the_same),
        cmocka_unit_test(convolutions_are_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
