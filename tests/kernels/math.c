/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of element-wise functions, softmax and matrix products. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "tests/kernels/harness.h"

/* One operand */

static void check_unary(struct test *test, const struct kernel_table *table, enum kernel_unary kind,
                        unary_f32_fn *ref)
{
    size_t count = (size_t)test_range(test, 0, test_chance(test, 6) ? 200000 : 300);
    bool in_place = test_chance(test, 3) && !test->bench;
    float *x = test_input(test, count), *want = test_output(test, count * sizeof(*want));
    float *got = test_output(test, count * sizeof(*got));
    float a = kind == KERNEL_CLIP ? -0.5f : 0.01f, b = 0.25f;
    bool is_exact = kind != KERNEL_SIGMOID && kind != KERNEL_TANH;
    struct test_tolerance tolerance = {.absolute = is_exact ? 0.0 : 2e-6};

    test_describe(test, "%zu elements%s", count, in_place ? ", in place" : "");
    for (size_t i = 0; i < count; i++) {
        if (test_chance(test, 3))
            x[i] *= 100.0f;
        if (test_chance(test, 100))
            x[i] = test_chance(test, 3) ? NAN : test_chance(test, 2) ? INFINITY : -INFINITY;
    }
    TEST_RUN(test, TEST_REF, ref(want, x, count, a, b));
    if (in_place)
        memcpy(got, x, count * sizeof(*got));
    TEST_RUN(test, TEST_NEW, table->unary_f32[kind].fn(got, in_place ? got : x, count, a, b));
    test_compare(test, got, want, count, &tolerance);
}

#define UNARY(name, kind)                                                                          \
    static void check_##name(struct test *test, const struct kernel_table *table)                  \
    {                                                                                              \
        check_unary(test, table, kind, name##_f32_ref);                                            \
    }

UNARY(relu, KERNEL_RELU)
UNARY(leaky_relu, KERNEL_LEAKY_RELU)
UNARY(clip, KERNEL_CLIP)
UNARY(sigmoid, KERNEL_SIGMOID)
UNARY(tanh, KERNEL_TANH)

static unary_f32_fn *const activations[KERNEL_UNARY_COUNT] = {
    [KERNEL_RELU] = relu_f32_ref, [KERNEL_LEAKY_RELU] = leaky_relu_f32_ref,
    [KERNEL_CLIP] = clip_f32_ref, [KERNEL_SIGMOID] = sigmoid_f32_ref,
    [KERNEL_TANH] = tanh_f32_ref,
};

/* Two operands */

/* An operand of the case: some axes broadcast, the others in one of the orders of memory. */
static size_t random_strides(struct test *test, const struct kernel_broadcast *s, int64_t *strides,
                             bool is_dense)
{
    bool reversed = !is_dense && test_chance(test, 5);
    int64_t stride = 1;

    for (int i = 0; i < s->rank; i++) {
        int axis = reversed ? i : s->rank - 1 - i;
        bool is_broadcast = !is_dense && test_chance(test, 3);

        strides[axis] = is_broadcast || s->dims[axis] == 1 ? 0 : stride;
        stride *= is_broadcast ? 1 : s->dims[axis];
    }
    return (size_t)stride;
}

static void check_binary(struct test *test, const struct kernel_table *table, enum kernel_binary op,
                         binary_fn *ref)
{
    struct kernel_broadcast s = {.rank = (int)test_range(test, 0, 5)};
    bool in_place = test_chance(test, 3) && !test->bench;
    size_t count = 1, a_count, b_count;
    struct test_tolerance tolerance = {0};
    float *a, *b, *want, *got;

    for (int i = 0; i < s.rank; i++) {
        s.dims[i] = test_chance(test, 40) ? 0 : test_range(test, 1, i == s.rank - 1 ? 70 : 9);
        count *= (size_t)s.dims[i];
    }
    a_count = random_strides(test, &s, s.a_stride, in_place || test_chance(test, 3));
    b_count = random_strides(test, &s, s.b_stride, test_chance(test, 3));
    test_describe(test, "rank %d, %zu elements, operands of %zu and %zu%s", s.rank, count, a_count,
                  b_count, in_place ? ", in place" : "");
    a = test_input(test, a_count);
    b = test_input(test, b_count);
    want = test_output(test, count * sizeof(*want));
    got = test_output(test, count * sizeof(*got));
    if (in_place)
        memcpy(got, a, count * sizeof(*got));
    TEST_RUN(test, TEST_REF, ref(want, a, b, &s));
    TEST_RUN(test, TEST_NEW, table->binary[op][KERNEL_F32].fn(got, in_place ? got : a, b, &s));
    test_compare(test, got, want, count, &tolerance);
}

#define BINARY(name, op)                                                                           \
    static void check_##name(struct test *test, const struct kernel_table *table)                  \
    {                                                                                              \
        check_binary(test, table, op, name##_f32_ref);                                             \
    }

BINARY(add, KERNEL_ADD)
BINARY(sub, KERNEL_SUB)
BINARY(mul, KERNEL_MUL)
BINARY(div, KERNEL_DIV)

/* Integers of `bytes`, many of them 0, 1 and -1. */
static char *whole_numbers(struct test *test, size_t count, size_t bytes)
{
    char *x = test_input_bytes(test, count * bytes);

    for (size_t i = 0; i < count; i++)
        if (test_chance(test, 3))
            memset(x + i * bytes, test_chance(test, 2) ? 0 : -1, bytes);
    return x;
}

static void check_integers(struct test *test, const struct kernel_table *table,
                           enum kernel_dtype type, binary_fn *const refs[KERNEL_BINARY_COUNT])
{
    struct kernel_broadcast s = {.rank = (int)test_range(test, 0, 4)};
    enum kernel_binary op = (enum kernel_binary)test_range(test, 0, KERNEL_BINARY_COUNT - 1);
    size_t count = 1, bytes = kernel_dtype_bytes(type), a_count, b_count;
    char *a, *b, *want, *got;

    for (int i = 0; i < s.rank; i++) {
        s.dims[i] = test_chance(test, 40) ? 0 : test_range(test, 1, i == s.rank - 1 ? 70 : 9);
        count *= (size_t)s.dims[i];
    }
    a_count = random_strides(test, &s, s.a_stride, test_chance(test, 3));
    b_count = random_strides(test, &s, s.b_stride, test_chance(test, 3));
    test_describe(test, "operation %d, rank %d, %zu elements, operands of %zu and %zu", (int)op,
                  s.rank, count, a_count, b_count);
    a = whole_numbers(test, a_count, bytes);
    b = whole_numbers(test, b_count, bytes);
    want = test_output(test, count * bytes);
    got = test_output(test, count * bytes);
    TEST_RUN(test, TEST_REF, refs[op](want, a, b, &s));
    TEST_RUN(test, TEST_NEW, table->binary[op][type].fn(got, a, b, &s));
    test_compare_bytes(test, got, want, count * bytes);
}

#define INTEGERS(name, type)                                                                       \
    static void check_##name(struct test *test, const struct kernel_table *table)                  \
    {                                                                                              \
        static binary_fn *const refs[KERNEL_BINARY_COUNT] = {add_##name##_ref, sub_##name##_ref,   \
                                                             mul_##name##_ref, div_##name##_ref};  \
                                                                                                   \
        check_integers(test, table, type, refs);                                                   \
    }

INTEGERS(i32, KERNEL_I32)
INTEGERS(i64, KERNEL_I64)

/* Softmax */

static void check_softmax(struct test *test, const struct kernel_table *table)
{
    size_t outer = (size_t)test_range(test, 0, 5);
    size_t axis = (size_t)test_range(test, 1, test_chance(test, 3) ? 1100 : 40);
    /* Beside a long axis few others: it is its length that matters then. */
    size_t most = axis > 40 && !test->bench ? 40 : 300;
    size_t inner =
        test_chance(test, 2) ? 1 : (size_t)test_range(test, test->is_wide ? 0 : 1, (int64_t)most);
    size_t count = outer * axis * inner;
    bool in_place = test_chance(test, 3) && !test->bench;
    float *x = test_input(test, count), *want = test_output(test, count * sizeof(*want));
    float *got = test_output(test, count * sizeof(*got));
    struct test_tolerance tolerance = {.absolute = 2e-6};

    test_describe(test, "%zux%zux%zu%s", outer, axis, inner, in_place ? ", in place" : "");
    for (size_t i = 0; i < count; i++) {
        x[i] *= 30.0f;
        if (test_chance(test, 100))
            x[i] = test_chance(test, 3) ? NAN : test_chance(test, 6) ? INFINITY : -INFINITY;
    }
    TEST_RUN(test, TEST_REF, softmax_f32_ref(want, x, outer, axis, inner));
    if (in_place)
        memcpy(got, x, count * sizeof(*got));
    TEST_RUN(test, TEST_NEW, table->softmax_f32.fn(got, in_place ? got : x, outer, axis, inner));
    test_compare(test, got, want, count, &tolerance);
}

/* Matrix products */

static void random_gemm(struct test *test, struct kernel_gemm *s)
{
    *s = (struct kernel_gemm){
        .m = test_chance(test, 2) ? 1 : test_range(test, test->is_wide ? 0 : 1, 40),
        .n = test_range(test, test->is_wide ? 0 : 1, test_chance(test, 3) ? 300 : 40),
        .k = test_chance(test, 30) ? 0 : test_range(test, 1, test_chance(test, 3) ? 700 : 40),
        .trans_a = test_chance(test, 3),
        .trans_b = test_chance(test, 2),
        .alpha = test_chance(test, 2) ? 1.0f : 0.5f,
        .beta = test_chance(test, 4)   ? 0.0f
                : test_chance(test, 2) ? 1.0f
                                       : -2.0f,
        .batch_rank = test_chance(test, 4) ? 2 : 0,
    };
    switch (test_range(test, 0, 3)) { /* how C is broadcast */
    case 0:
        s->c_row_stride = s->n;
        s->c_col_stride = 1;
        break;
    case 1:
        s->c_col_stride = 1;
        break;
    case 2:
        s->c_row_stride = 1;
        break;
    default:
        break;
    }
    if (s->batch_rank == 0)
        return;
    s->batch_dims[0] = test_range(test, 1, 3);
    s->batch_dims[1] = test_range(test, 1, 3);
    s->a_batch_stride[0] = s->batch_dims[1] * s->m * s->k;
    s->a_batch_stride[1] = s->m * s->k;
    s->b_batch_stride[1] = test_chance(test, 2) ? 0 : s->k * s->n;
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
    s->y_batch_stride[0] = s->y_line * s->m; /* the outer axis is the inner one in memory */
    s->y_batch_stride[1] = s->batch_dims[0] * s->y_batch_stride[0];
}

static float *absolute(struct test *test, const float *x, size_t count)
{
    float *y = x ? test_input(test, count) : NULL;

    for (size_t i = 0; x && i < count; i++)
        y[i] = fabsf(x[i]);
    return y;
}

/* One element that must not get into the rows of others. */
static void poison(struct test *test, float *a, size_t count)
{
    if (test->is_wide && count > 0 && test_chance(test, 5))
        a[test_random(test) % count] = NAN;
}

static void check_gemm(struct test *test, const struct kernel_table *table)
{
    struct kernel_gemm s, plain;
    size_t batch, a_count, b_count, c_count, y_count;
    float *a, *b, *c, *want, *got, *allowed;
    struct test_tolerance tolerance = {0};

    random_gemm(test, &s);
    if (test_chance(test, 3))
        random_lines(test, &s);
    batch = s.batch_rank ? (size_t)(s.batch_dims[0] * s.batch_dims[1]) : 1;
    a_count = batch * (size_t)(kernel_gemm_a_line(&s) * (s.trans_a ? s.k : s.m));
    b_count = batch * (size_t)(kernel_gemm_b_line(&s) * (s.trans_b ? s.n : s.k));
    c_count = (size_t)((s.m - 1) * s.c_row_stride + (s.n - 1) * s.c_col_stride + 1);
    y_count = batch * (size_t)(s.m * kernel_gemm_y_line(&s));
    test_describe(test, "%lldx%lldx%lld%s%s%s alpha %g beta %g c strides %lld %lld, batch %zu",
                  (long long)s.m, (long long)s.n, (long long)s.k, s.trans_a ? " A^T" : "",
                  s.trans_b ? " B^T" : "", s.y_line ? " with gaps" : "", (double)s.alpha,
                  (double)s.beta, (long long)s.c_row_stride, (long long)s.c_col_stride, batch);
    a = test_input(test, a_count);
    poison(test, a, a_count);
    b = test_input(test, b_count);
    c = test_chance(test, 4) ? NULL : test_input(test, c_count);
    want = test_output(test, y_count * sizeof(*want));
    got = test_output(test, y_count * sizeof(*got));
    TEST_RUN(test, TEST_REF, gemm_f32_ref(want, a, b, c, &s));
    TEST_RUN(test, TEST_NEW, table->gemm_f32.fn(got, a, b, c, &s));
    plain = s;
    plain.alpha = fabsf(s.alpha);
    plain.beta = fabsf(s.beta);
    allowed = test_input(test, y_count);
    gemm_f32_ref(allowed, absolute(test, a, a_count), absolute(test, b, b_count),
                 absolute(test, c, c_count), &plain);
    tolerance.allowed = allowed;
    tolerance.scale = 1e-6 + 2e-7 * sqrt((double)s.k);
    test_compare(test, got, want, y_count, &tolerance);
}

/* What kernels.h allows for each result: the sum of the absolute products. */
static float *gemm_allowance(struct test *test, const struct kernel_gemm *s, const float *a,
                             const float *b, const float *bias)
{
    float *allowed = test_input(test, (size_t)(s->m * s->n));

    gemm_f32_ref(allowed, absolute(test, a, (size_t)(s->m * s->k)),
                 absolute(test, b, (size_t)(s->k * s->n)), absolute(test, bias, (size_t)s->n), s);
    return allowed;
}

static void check_gemm_plan(struct test *test, const struct kernel_table *table)
{
    struct kernel_gemm s = {
        .m = test_range(test, 1, test_chance(test, 3) ? 150 : 20),
        .n = test_range(test, 1, test_chance(test, 3) ? 300 : 40),
        .k = test_range(test, 1, test_chance(test, 3) ? 400 : 40),
        .trans_b = test_chance(test, 2),
        .alpha = 1.0f,
        .beta = 1.0f,
        .c_col_stride = 1,
    };
    struct kernel_activation activation = {
        (enum kernel_unary)test_range(test, 0, KERNEL_UNARY_COUNT - 1), -0.25f, 1.5f};
    struct test_tolerance tolerance = {.absolute = 4e-6};
    size_t count = (size_t)(s.m * s.n);
    struct kernel_gemm_plan *plan = NULL;
    float *a, *b, *bias, *want, *got;
    void *workspace;
    int rc;

    if (activation.kind == KERNEL_LEAKY_RELU)
        activation.a = 0.125f;
    test_describe(test, "%lldx%lldx%lld%s activation %d", (long long)s.m, (long long)s.n,
                  (long long)s.k, s.trans_b ? " B^T" : "", (int)activation.kind);
    a = test_input(test, (size_t)(s.m * s.k));
    poison(test, a, (size_t)(s.m * s.k));
    b = test_input(test, (size_t)(s.k * s.n));
    bias = test_chance(test, 3) ? NULL : test_input(test, (size_t)s.n);
    want = test_output(test, count * sizeof(*want));
    got = test_output(test, count * sizeof(*got));
    rc = kernel_gemm_plan_create(&s, b, bias, &activation, &plan);
    if (rc == -ENOTSUP)
        return; /* gemm_f32 does it then */
    if (rc < 0) {
        test_fail(test, "kernel_gemm_plan_create: %d", rc);
        return;
    }
    test->version = "dnnl";
    workspace = test_output(test, kernel_gemm_plan_info(plan).workspace_bytes);
    TEST_RUN(test, TEST_REF, gemm_f32_ref(want, a, b, bias, &s));
    for (size_t i = 0; activation.kind != KERNEL_IDENTITY && i < count; i++)
        activations[activation.kind](&want[i], &want[i], 1, activation.a, activation.b);
    TEST_RUN(test, TEST_NEW, rc = kernel_gemm_plan_run(plan, got, a, workspace));
    if (rc < 0)
        test_fail(test, "kernel_gemm_plan_run: %d", rc);
    tolerance.allowed = gemm_allowance(test, &s, a, b, bias);
    tolerance.scale = 1e-6 + 2e-7 * sqrt((double)s.k);
    test_compare(test, got, want, count, &tolerance);
    kernel_gemm_plan_destroy(&plan);
}

const struct test_op test_ops_math[] = {
    {"relu_f32", check_relu, offsetof(struct kernel_table, unary_f32[KERNEL_RELU])},
    {"leaky_relu_f32", check_leaky_relu,
     offsetof(struct kernel_table, unary_f32[KERNEL_LEAKY_RELU])},
    {"clip_f32", check_clip, offsetof(struct kernel_table, unary_f32[KERNEL_CLIP])},
    {"sigmoid_f32", check_sigmoid, offsetof(struct kernel_table, unary_f32[KERNEL_SIGMOID])},
    {"tanh_f32", check_tanh, offsetof(struct kernel_table, unary_f32[KERNEL_TANH])},
    {"add_f32", check_add, offsetof(struct kernel_table, binary[KERNEL_ADD][KERNEL_F32])},
    {"sub_f32", check_sub, offsetof(struct kernel_table, binary[KERNEL_SUB][KERNEL_F32])},
    {"mul_f32", check_mul, offsetof(struct kernel_table, binary[KERNEL_MUL][KERNEL_F32])},
    {"div_f32", check_div, offsetof(struct kernel_table, binary[KERNEL_DIV][KERNEL_F32])},
    {"arithmetic_i32", check_i32, offsetof(struct kernel_table, binary[KERNEL_ADD][KERNEL_I32])},
    {"arithmetic_i64", check_i64, offsetof(struct kernel_table, binary[KERNEL_ADD][KERNEL_I64])},
    {"softmax_f32", check_softmax, offsetof(struct kernel_table, softmax_f32)},
    {"gemm_plan", check_gemm_plan, TEST_ALWAYS},
    {"gemm_f32", check_gemm, offsetof(struct kernel_table, gemm_f32)},
};
const size_t test_ops_math_count = sizeof(test_ops_math) / sizeof(test_ops_math[0]);
