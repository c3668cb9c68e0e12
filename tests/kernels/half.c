/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of what is stored in half precision: held to the references for f32 over the same numbers. */
#include <math.h>
#include <string.h>

#include "tests/kernels/harness.h"

enum { CHAIN_INPUTS = 4, CHAIN_STEPS = 5 };

static double unit_of(enum kernel_dtype dtype)
{
    return dtype == KERNEL_F16 ? 0x1p-10 : dtype == KERNEL_BF16 ? 0x1p-7 : 0.0;
}

static double most_of(enum kernel_dtype dtype)
{
    return dtype == KERNEL_F16 ? 0x1.ffcp15 : 0x1.fep127;
}

static enum kernel_dtype random_half(struct test *test)
{
    return test_chance(test, 2) ? KERNEL_F16 : KERNEL_BF16;
}

/* Numbers of a type, and the same as floats; sizes up to `size`. */
struct numbers {
    enum kernel_dtype dtype;
    void *stored;
    float *wide, *sizes;
};

static struct numbers make_numbers(struct test *test, enum kernel_dtype dtype, size_t count,
                                   float size)
{
    struct numbers made = {dtype, test_input_bytes(test, count * kernel_dtype_bytes(dtype)),
                           test_input(test, count), test_input(test, count)};

    for (size_t i = 0; i < count; i++)
        made.wide[i] *= size;
    cast_ref(made.stored, dtype, made.wide, KERNEL_F32, count);
    cast_ref(made.wide, KERNEL_F32, made.stored, dtype, count);
    for (size_t i = 0; i < count; i++)
        made.sizes[i] = fabsf(made.wide[i]);
    return made;
}

/* allowed  the sum of the sizes of what is added up; where that is too large, results only have to be
 * finite where they saturate, and numbers */
static void compare(struct test *test, const void *y, enum kernel_dtype dtype, const float *want,
                    const float *allowed, size_t count, int64_t products, bool saturates,
                    double unit)
{
    const struct test_tolerance tolerance = {
        .absolute = 2e-6, /* of an activation; more than the smallest number */
        .relative = unit,
        .allowed = allowed,
        .scale = 1e-6 + 2e-7 * sqrt((double)products) + unit};
    float *got = test_input(test, count), *held = test_input(test, count);

    cast_ref(got, KERNEL_F32, y, dtype, count);
    for (size_t i = 0; i < count; i++) {
        double size = fabs((double)want[i]),
               room = tolerance.scale * (double)allowed[i] + unit * size;

        held[i] = want[i];
        if (dtype == KERNEL_F32 || (double)allowed[i] + room <= most_of(dtype))
            continue;
        if (saturates && size > most_of(dtype))
            held[i] = copysignf((float)most_of(dtype), want[i]);
        /* A sum may have been cut off before an activation, or before something was added to it. */
        if (!isnan(got[i]) && !isnan(want[i]) &&
            (!saturates || !isinf(got[i]) || dtype == KERNEL_BF16))
            held[i] = got[i];
    }
    test_compare(test, got, held, count, &tolerance);
}

static struct kernel_activation random_activation(struct test *test, int count)
{
    enum kernel_unary kind = (enum kernel_unary)test_range(test, 0, count - 1);

    return (struct kernel_activation){kind, kind == KERNEL_CLIP ? -0.25f : 0.125f, 1.5f};
}

static void activate(float *y, size_t count, const struct kernel_activation *activation)
{
    static unary_f32_fn *const functions[] = {
        [KERNEL_RELU] = relu_f32_ref, [KERNEL_LEAKY_RELU] = leaky_relu_f32_ref,
        [KERNEL_CLIP] = clip_f32_ref, [KERNEL_SIGMOID] = sigmoid_f32_ref,
        [KERNEL_TANH] = tanh_f32_ref, [KERNEL_GELU_TANH] = gelu_tanh_f32_ref};

    if (activation->kind != KERNEL_IDENTITY)
        functions[activation->kind](y, y, count, activation->a, activation->b);
}

/* --- Convolutions --- */

static int64_t volume(const int64_t *dims)
{
    return dims[0] * dims[1] * dims[2];
}

static void random_window(struct test *test, struct kernel_window *w)
{
    int rank = (int)test_range(test, 1, 3);
    char text[TEST_WINDOW_BYTES];

    for (int i = 0; i < KERNEL_SPATIAL; i++) {
        bool is_used = i >= KERNEL_SPATIAL - rank;
        int64_t reach;

        w->kernel[i] = is_used ? test_range(test, 1, 3) : 1;
        w->stride[i] = is_used ? test_range(test, 1, 3) : 1;
        w->dilation[i] = is_used ? test_range(test, 1, 2) : 1;
        reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        w->pad_begin[i] = is_used ? test_range(test, 0, w->kernel[i] - 1) : 0;
        w->pad_end[i] = is_used ? test_range(test, 0, w->kernel[i] - 1) : 0;
        w->in[i] = is_used ? test_range(test, reach, reach + 4) : 1;
        w->out[i] = (w->in[i] + w->pad_begin[i] + w->pad_end[i] - reach) / w->stride[i] + 1;
    }
    test_window_text(w, text);
    test_describe(test, "%s", text);
}

/* What the references for f32 make of it, with a sum and an activation behind. */
static void convolve_wide(float *y, const float *x, const float *w, const float *bias,
                          const float *residual, const struct kernel_conv *conv, size_t count)
{
    struct kernel_conv_transpose back = {KERNEL_F32,    conv->batch,  conv->channels,
                                         conv->filters, conv->groups, conv->window};

    if (!conv->is_transposed) {
        conv_f32_ref(y, x, w, bias, residual, conv);
        return;
    }
    conv_transpose_ref(y, x, w, bias, &back);
    for (size_t i = 0; residual && i < count; i++)
        y[i] += residual[i];
    activate(y, count, &conv->activation);
}

static void check_conv_half(struct test *test, const struct kernel_table *table)
{
    int64_t groups = test_range(test, 1, 3);
    struct kernel_conv_half s = {.conv = {.batch = test_range(test, 1, 2),
                                          .channels = groups * test_range(test, 1, 3),
                                          .filters = groups * test_range(test, 1, 3),
                                          .groups = groups,
                                          .rank = KERNEL_SPATIAL,
                                          .is_transposed = test_chance(test, 3)},
                                 .dtype = random_half(test),
                                 .saturates = test_chance(test, 2)};
    struct kernel_conv *conv = &s.conv, plain;
    const float size = test_chance(test, 6) ? 200.0f : 1.0f;
    const int64_t *in, *out;
    struct numbers x, w, bias, residual;
    size_t y_count;
    bool has_bias = test_chance(test, 2), has_residual = test_chance(test, 2);
    bool is_in_place = has_residual && test_chance(test, 2);
    float *want, *allowed;
    void *y;

    random_window(test, &conv->window);
    conv->activation = random_activation(test, KERNEL_UNARY_COUNT);
    in = conv->is_transposed ? conv->window.out : conv->window.in;
    out = conv->is_transposed ? conv->window.in : conv->window.out;
    s.bias_type = test_chance(test, 2) ? s.dtype : KERNEL_F32;
    s.residual_type = is_in_place || test_chance(test, 2) ? s.dtype : KERNEL_F32;
    conv->channels_last = !conv->is_transposed && test_chance(test, 2);
    conv->w_channels_last = !conv->is_transposed && test_chance(test, 2);
    y_count = (size_t)(conv->batch * conv->filters * volume(out));
    x = make_numbers(test, s.dtype, (size_t)(conv->batch * conv->channels * volume(in)), size);
    w = make_numbers(
        test, s.dtype,
        (size_t)(conv->filters * conv->channels / groups * volume(conv->window.kernel)), size);
    bias = make_numbers(test, s.bias_type, (size_t)conv->filters, size);
    residual = make_numbers(test, s.residual_type, y_count, size);
    y = test_output(test, y_count * 2);
    if (is_in_place)
        memcpy(y, residual.stored, y_count * 2);
    want = test_input(test, y_count);
    allowed = test_input(test, y_count);
    plain = *conv;
    plain.activation.kind = KERNEL_IDENTITY;
    TEST_RUN(test, TEST_REF,
             convolve_wide(want, x.wide, w.wide, has_bias ? bias.wide : NULL,
                           has_residual ? residual.wide : NULL, conv, y_count));
    convolve_wide(allowed, x.sizes, w.sizes, has_bias ? bias.sizes : NULL,
                  has_residual ? residual.sizes : NULL, &plain, y_count);
    TEST_RUN(test, TEST_NEW,
             table->conv_half.fn(y, x.stored, w.stored, has_bias ? bias.stored : NULL,
                                 is_in_place    ? y
                                 : has_residual ? residual.stored
                                                : NULL,
                                 &s));
    if (test->bench && is_in_place)
        return; /* the residual was added more than once */
    compare(test, y, s.dtype, want, allowed, y_count,
            conv->channels / groups * volume(conv->window.kernel), s.saturates, unit_of(s.dtype));
}

/* --- Products --- */

static void random_gemm(struct test *test, struct kernel_gemm *s)
{
    *s = (struct kernel_gemm){.m = test_range(test, 0, 70),
                              .n = test_range(test, 1, 40),
                              .k = test_range(test, 0, 40),
                              .trans_a = test_chance(test, 2),
                              .trans_b = test_chance(test, 2),
                              .alpha = test_chance(test, 2) ? 1.0f : 0.5f,
                              .beta = test_chance(test, 2) ? 1.0f : 2.0f,
                              .c_row_stride = test_chance(test, 2),
                              .c_col_stride = test_chance(test, 4) ? 0 : 1,
                              .batch_rank = (int)test_range(test, 0, 2)};
    s->c_row_stride *= s->c_col_stride ? s->n : 1;
    test_batch(test, s->batch_rank, s->m * s->k, s->k * s->n, s->batch_dims, s->a_batch_stride,
               s->b_batch_stride);
    test_describe(test, "%lldx%lldx%lld trans %d %d, batch rank %d", (long long)s->m,
                  (long long)s->n, (long long)s->k, s->trans_a, s->trans_b, s->batch_rank);
}

/* Matrices with gaps between their rows, and others between them. */
static void random_lines(struct test *test, struct kernel_gemm *s)
{
    s->a_line = (s->trans_a ? s->m : s->k) + test_range(test, 1, 9);
    s->b_line = (s->trans_b ? s->k : s->n) + test_range(test, 0, 9);
    s->y_line = s->n + test_range(test, 0, 9);
    if (s->batch_rank == 0)
        return;
    s->a_batch_stride[1] = s->a_line * (s->trans_a ? s->k : s->m);
    s->a_batch_stride[0] = s->batch_dims[1] * s->a_batch_stride[1];
    s->b_batch_stride[1] = s->b_line * (s->trans_b ? s->n : s->k);
    s->b_batch_stride[0] = 0;
    s->y_batch_stride[0] = s->y_line * s->m; /* the outer axis is the inner one in memory */
    s->y_batch_stride[1] = s->batch_dims[0] * s->y_batch_stride[0];
}

static void check_gemm_half(struct test *test, const struct kernel_table *table)
{
    struct kernel_gemm_half s = {.dtype = random_half(test), .saturates = test_chance(test, 2)};
    bool is_float = test_chance(test, 4);
    struct kernel_gemm *gemm = &s.gemm, sizes;
    const float size = test_chance(test, 6) ? 200.0f : 1.0f;
    bool has_c = test_chance(test, 2);
    int64_t batches = 1;
    struct numbers a, b, c;
    size_t y_count;
    float *want, *allowed;
    void *y;

    if (is_float)
        s.dtype = KERNEL_F32;
    random_gemm(test, gemm);
    if (gemm->batch_rank != 1 && test_chance(test, 3))
        random_lines(test, gemm);
    s.activation = random_activation(test, KERNEL_ACTIVATION_COUNT);
    s.y_type = test_chance(test, 3) ? KERNEL_F32 : s.dtype;
    s.c_type = test_chance(test, 2) ? s.dtype : KERNEL_F32;
    for (int i = 0; i < gemm->batch_rank; i++)
        batches *= gemm->batch_dims[i];
    y_count = (size_t)(batches * gemm->m * kernel_gemm_y_line(gemm));
    a = make_numbers(
        test, s.dtype,
        (size_t)(batches * (gemm->trans_a ? gemm->k : gemm->m) * kernel_gemm_a_line(gemm)), size);
    b = make_numbers(
        test, s.dtype,
        (size_t)(batches * (gemm->trans_b ? gemm->n : gemm->k) * kernel_gemm_b_line(gemm)), size);
    c = make_numbers(test, s.c_type, (size_t)(gemm->m * gemm->n + gemm->n + 1), size);
    y = test_output(test, y_count * kernel_dtype_bytes(s.y_type));
    want = test_output(test, y_count * sizeof(*want)); /* of gaps nobody writes anything */
    allowed = test_input(test, y_count);
    sizes = *gemm;
    TEST_RUN(test, TEST_REF, gemm_f32_ref(want, a.wide, b.wide, has_c ? c.wide : NULL, gemm));
    activate(want, y_count, &s.activation);
    gemm_f32_ref(allowed, a.sizes, b.sizes, has_c ? c.sizes : NULL, &sizes);
    TEST_RUN(test, TEST_NEW,
             table->gemm_half.fn(y, a.stored, b.stored, has_c ? c.stored : NULL, &s));
    compare(test, y, s.y_type, want, allowed, y_count, gemm->k, s.saturates, unit_of(s.y_type));
}

/* --- Chains --- */

static void random_steps(struct test *test, struct kernel_chain *chain)
{
    int steps = test_chance(test, 2) ? 1 : (int)test_range(test, 0, CHAIN_STEPS);

    for (; chain->steps < steps; chain->steps++) {
        struct kernel_chain_step *step = &chain->step[chain->steps];

        step->has_two = test_chance(test, 2);
        step->zip = (enum kernel_zip)test_range(test, ZIP_ADD, ZIP_MIN);
        step->map = test_chance(test, 2) ? MAP_RELU : MAP_NEG;
        for (int k = 0; k < 2; k++) {
            int operand = (int)test_range(test, 0, chain->inputs + chain->steps - 1);

            step->operands[k] =
                operand < chain->inputs ? operand : KERNEL_CHAIN_RESULT + operand - chain->inputs;
        }
    }
}

/* Dense, one number, or some axes broadcast. */
static size_t random_strides(struct test *test, const struct kernel_chain *chain, int64_t *strides)
{
    int kind = test_chance(test, 2) ? 0 : (int)test_range(test, 0, 2);
    int64_t stride = 1;

    for (int i = chain->rank - 1; i >= 0; i--) {
        bool is_broadcast = kind == 1 || (kind == 2 && test_chance(test, 2));

        strides[i] = is_broadcast ? 0 : stride;
        stride *= is_broadcast ? 1 : chain->dims[i];
    }
    return (size_t)stride;
}

/* To the bit: the steps that are drawn are exact in f32, and the result is rounded once. */
static void check_chain_half(struct test *test, const struct kernel_table *table)
{
    struct kernel_chain_half s = {.saturates = !test_chance(test, 3)};
    struct kernel_chain *chain = &s.chain;
    const void *stored[CHAIN_INPUTS], *wide[CHAIN_INPUTS];
    bool is_large = !test_chance(test, 3);
    size_t count = 1;
    float *want, *back;
    void *y;

    s.y_type = test_chance(test, 2) ? KERNEL_F16 : test_chance(test, 2) ? KERNEL_F32 : KERNEL_BF16;
    chain->rank = (int)test_range(test, 0, 4);
    chain->inputs = (int)test_range(test, 1, CHAIN_INPUTS);
    for (int i = 0; i < chain->rank; i++) {
        chain->dims[i] = test_chance(test, 40) ? 0 : test_range(test, 1, i == 0 ? 30 : 9);
        count *= (size_t)chain->dims[i];
    }
    for (int i = 0; i < chain->inputs; i++) {
        struct numbers numbers;

        s.types[i] =
            (enum kernel_dtype[]){KERNEL_F32, KERNEL_F16, KERNEL_BF16}[test_range(test, 0, 2)];
        numbers = make_numbers(test, s.types[i], random_strides(test, chain, chain->strides[i]),
                               !is_large                  ? 2.0f
                               : s.types[i] == KERNEL_F16 ? 4e4f
                                                          : 2e5f);
        stored[i] = numbers.stored;
        wide[i] = numbers.wide;
    }
    random_steps(test, chain);
    test_describe(test, "rank %d, %zu elements, %d inputs, %d steps, to type %d%s", chain->rank,
                  count, chain->inputs, chain->steps, (int)s.y_type,
                  s.saturates ? ", saturates" : "");
    want = test_input(test, count);
    back = test_input(test, count);
    y = test_output(test, count * kernel_dtype_bytes(s.y_type));
    TEST_RUN(test, TEST_REF, chain_ref(want, wide, chain));
    TEST_RUN(test, TEST_NEW, table->chain_half.fn(y, stored, &s));
    for (size_t i = 0; i < count && s.saturates && s.y_type != KERNEL_F32; i++)
        if (isfinite(want[i]) && fabs((double)want[i]) > most_of(s.y_type))
            want[i] = copysignf((float)most_of(s.y_type), want[i]);
    if (s.y_type != KERNEL_F32) {
        void *rounded = test_input_bytes(test, count * kernel_dtype_bytes(s.y_type));

        cast_ref(rounded, s.y_type, want, KERNEL_F32, count);
        cast_ref(want, KERNEL_F32, rounded, s.y_type, count);
    }
    cast_ref(back, KERNEL_F32, y, s.y_type, count);
    test_compare(test, back, want, count, &(struct test_tolerance){0});
}

const struct test_op test_ops_half[] = {
    {"conv_half", check_conv_half, offsetof(struct kernel_table, conv_half)},
    {"gemm_half", check_gemm_half, offsetof(struct kernel_table, gemm_half)},
    {"chain_half", check_chain_half, offsetof(struct kernel_table, chain_half)},
};
const size_t test_ops_half_count = sizeof(test_ops_half) / sizeof(test_ops_half[0]);
