/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of quantisation: there and back is at most half a step away. */
#include <math.h>
#include <stdlib.h>

#include "tests/kernels/harness.h"

static void check_quantize(struct test *test, const struct kernel_table *table)
{
    struct kernel_quantize s = {.real_type = KERNEL_F32,
                                .scale_type = KERNEL_F32,
                                .integer_type = test_chance(test, 2) ? KERNEL_U8 : KERNEL_I8,
                                .outer = test_range(test, 0, 4),
                                .axis = test_range(test, 1, 9),
                                .inner = test_range(test, 1, 7),
                                .scale_stride = {0, 1, 0},
                                .block = test_range(test, 1, 3)};
    size_t count = (size_t)(s.outer * s.axis * s.inner);
    size_t scales = (size_t)((s.axis + s.block - 1) / s.block);
    float *x = test_input(test, count), *scale = test_input(test, scales);
    uint8_t *zero = test_input_bytes(test, scales), *y = test_output(test, count);
    float *back = test_output(test, count * sizeof(*back));

    test_describe(test, "%lldx%lldx%lld in blocks of %lld", (long long)s.outer, (long long)s.axis,
                  (long long)s.inner, (long long)s.block);
    for (size_t i = 0; i < scales; i++) {
        scale[i] = 0.01f + fabsf(scale[i]) * 0.01f;
        zero[i] = s.integer_type == KERNEL_U8 ? 128 : 0;
    }
    TEST_RUN(test, TEST_NEW, table->quantize.fn(y, x, scale, zero, &s));
    table->dequantize.fn(back, y, scale, zero, &s);
    for (size_t i = 0; i < count; i++) {
        double step = scale[i / (size_t)s.inner % (size_t)s.axis / (size_t)s.block];

        if (fabs((double)back[i] - (double)x[i]) > 0.51 * step && fabs((double)x[i]) < 127 * step)
            test_fail(test, "element %zu was %g and is %g", i, (double)x[i], (double)back[i]);
    }
}

/* Byte for byte what the reference makes: one scale, or one for each place of an axis. Nothing is quantised to
 * int32, of which biases are. */
static void check_quantize_exact(struct test *test, const struct kernel_table *table)
{
    static const enum kernel_dtype types[] = {KERNEL_U8, KERNEL_I8, KERNEL_U16, KERNEL_I16,
                                              KERNEL_I32};
    struct kernel_quantize s = {.real_type = KERNEL_F32,
                                .scale_type = KERNEL_F32,
                                .precision = KERNEL_F32,
                                .integer_type = types[test_range(test, 0, 4)],
                                .outer = test_range(test, 0, 3),
                                .axis = test_range(test, 1, 40),
                                .inner = test_chance(test, 2) ? 1 : test_range(test, 1, 70),
                                .scale_stride = {0, test_chance(test, 2), 0},
                                .block = 1};
    size_t count = (size_t)(s.outer * s.axis * s.inner);
    size_t element = kernel_dtype_bytes(s.integer_type);
    float *x = test_input(test, count), *scale = test_input(test, (size_t)s.axis);
    void *zero = test_input_bytes(test, (size_t)s.axis * element);
    void *want = test_input_bytes(test, count * element);
    void *got = test_output(test, count * element);
    float *want_back = test_output(test, count * sizeof(float));
    float *got_back = test_output(test, count * sizeof(float));

    test_describe(test, "%lldx%lldx%lld of type %d, scale stride %lld", (long long)s.outer,
                  (long long)s.axis, (long long)s.inner, (int)s.integer_type,
                  (long long)s.scale_stride[1]);
    if (test_chance(test, 3))
        zero = NULL;
    for (int64_t i = 0; i < s.axis; i++)
        scale[i] = 0.01f + 0.01f * fabsf(scale[i]);
    if (s.integer_type == KERNEL_I32 && count > 0)
        for (size_t i = (size_t)test_range(test, 0, (int)count - 1); i < count; i++)
            ((int32_t *)want)[i] >>= test_chance(test, 500) ? 6 : 8;
    for (size_t i = 0; i < count; i++)
        x[i] = test_chance(test, 50)
                   ? (const float[]){NAN, INFINITY, -INFINITY, 1e30f, -0.0f}[i % 5]
                   : x[i] * 3.0f;
    if (s.integer_type != KERNEL_I32) {
        TEST_RUN(test, TEST_REF, quantize_ref(want, x, scale, zero, &s));
        TEST_RUN(test, TEST_NEW, table->quantize.fn(got, x, scale, zero, &s));
        test_compare_bytes(test, got, want, count * element);
    }
    dequantize_ref(want_back, want, scale, zero, &s);
    table->dequantize.fn(got_back, want, scale, zero, &s);
    test_compare_bytes(test, got_back, want_back, count * sizeof(float));
}

/* Weights of 4 and 8 bits with a scale for each block of an axis, of each place beside it. */
static void check_dequantize_blocks(struct test *test, const struct kernel_table *table)
{
    static const enum kernel_dtype types[] = {KERNEL_I4, KERNEL_U4, KERNEL_I8, KERNEL_U8};
    int kind = (int)test_range(test, 0, 3);
    struct kernel_quantize s = {.real_type = KERNEL_F32,
                                .scale_type = KERNEL_F32,
                                .precision = KERNEL_F32,
                                .integer_type = types[kind],
                                .outer = test_range(test, 0, 3),
                                .axis = test_range(test, 1, 90),
                                .inner = test_chance(test, 2) ? 1 : test_range(test, 1, 70),
                                .block = test_range(test, 1, 33)};
    int64_t blocks = (s.axis + s.block - 1) / s.block;
    size_t count = (size_t)(s.outer * s.axis * s.inner);
    size_t scales = (size_t)(s.outer * blocks * s.inner);
    float *scale = test_input(test, scales);
    uint8_t *x = test_input_bytes(test, count), *zero = test_input_bytes(test, scales);
    float *want = test_output(test, count * sizeof(*want));
    float *got = test_output(test, count * sizeof(*got));

    s.scale_stride[0] = blocks * s.inner;
    s.scale_stride[1] = s.inner;
    s.scale_stride[2] = 1;
    test_describe(test, "%lldx%lldx%lld of type %d in blocks of %lld", (long long)s.outer,
                  (long long)s.axis, (long long)s.inner, (int)s.integer_type, (long long)s.block);
    for (size_t i = 0; kind < 2 && i < count; i++)
        x[i] = (uint8_t)(kind == 0 ? x[i] % 16 - 8 : x[i] % 16);
    for (size_t i = 0; kind < 2 && i < scales; i++)
        zero[i] = (uint8_t)(kind == 0 ? zero[i] % 16 - 8 : zero[i] % 16);
    if (test_chance(test, 3))
        zero = NULL;
    TEST_RUN(test, TEST_REF, dequantize_ref(want, x, scale, zero, &s));
    TEST_RUN(test, TEST_NEW, table->dequantize.fn(got, x, scale, zero, &s));
    test_compare_bytes(test, got, want, count * sizeof(*got));
}

static void check_quantize_dynamic(struct test *test, const struct kernel_table *table)
{
    size_t count = (size_t)test_range(test, 0, 200);
    float *x = test_input(test, count), *scale = test_output(test, sizeof(*scale));
    uint8_t *y = test_output(test, count), *zero = test_output(test, 1);
    uint8_t *want = test_output(test, count), want_zero;
    float want_scale;

    test_describe(test, "%zu elements", count);
    TEST_RUN(test, TEST_NEW, table->quantize_dynamic.fn(y, scale, zero, x, count));
    quantize_dynamic_ref(want, &want_scale, &want_zero, x, count);
    test_compare_bytes(test, y, want, count);
    test_compare_bytes(test, scale, &want_scale, sizeof(want_scale));
    test_compare_bytes(test, zero, &want_zero, 1);
    for (size_t i = 0; i < count; i++)
        if (fabs(((double)y[i] - *zero) * (double)*scale - (double)x[i]) > 1.01 * (double)*scale)
            test_fail(test, "element %zu was %g and is %d", i, (double)x[i], (int)y[i]);
}

static void check_lookup(struct test *test, const struct kernel_table *table)
{
    size_t count = (size_t)test_range(test, 0, test_chance(test, 8) ? 1 << 17 : 200);
    uint8_t *bytes = test_input_bytes(test, 256), *x = test_input_bytes(test, count);
    uint8_t *want = test_output(test, count), *y = test_output(test, count);

    test_describe(test, "%zu elements", count);
    for (size_t i = 0; i < count && i < 256; i++)
        x[i] = (uint8_t)(x[i] + i); /* each byte, wherever it stands */
    TEST_RUN(test, TEST_REF, lookup_ref(want, x, bytes, count));
    TEST_RUN(test, TEST_NEW, table->lookup.fn(y, x, bytes, count));
    test_compare_bytes(test, y, want, count);
    table->lookup.fn(x, x, bytes, count);
    test_compare_bytes(test, x, want, count);
}

static struct kernel_quanta random_quanta(struct test *test)
{
    struct kernel_quanta q = {.scale = 0.01f + 0.02f * fabsf(test_float(test)),
                              .is_signed = test_chance(test, 2)};

    if (test_chance(test, 3))
        q.scale = 1.0f / (float)(1 << test_range(test, 0, 7)); /* of which halves come */
    q.zero = (int32_t)test_range(test, 0, 255) - (q.is_signed ? 128 : 0);
    return q;
}

static double real_of(const uint8_t *x, int64_t i, const struct kernel_quanta *q)
{
    int byte = q->is_signed ? (int8_t)x[i] : x[i];

    return (double)(byte - q->zero) * (double)q->scale;
}

/* A result may be the one beside it where the number is as near to a half as the contract says. */
static void compare_zip(struct test *test, const uint8_t *got, const uint8_t *want,
                        const uint8_t *a, const uint8_t *b, const struct kernel_zip_quanta *s)
{
    double most_a = 255.0 * (double)s->a.scale, most_b = 255.0 * (double)s->b.scale;
    double most = (s->is_product ? most_a * most_b : most_a + most_b) / (double)s->y.scale;
    int64_t count = 1;

    for (int i = 0; i < s->shape.rank; i++)
        count *= s->shape.dims[i];
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, a_at = 0, b_at = 0;
        double first, second, number;

        for (int axis = s->shape.rank - 1; axis >= 0; rest /= s->shape.dims[axis--]) {
            a_at += rest % s->shape.dims[axis] * s->shape.a_stride[axis];
            b_at += rest % s->shape.dims[axis] * s->shape.b_stride[axis];
        }
        first = real_of(a, a_at, &s->a);
        second = real_of(b, b_at, &s->b);
        number = (s->is_product ? first * second : first + second) / (double)s->y.scale;
        if (got[i] != want[i] && (abs((int8_t)(got[i] - want[i])) != 1 ||
                                  fabs(fabs(number - floor(number)) - 0.5) > 1e-6 * most)) {
            test_fail(test, "element %lld, %.9g, was %d and is %d", (long long)i, number, want[i],
                      got[i]);
            return;
        }
    }
}

/* Shapes that join to one axis, operands that are broadcast along some. */
static void check_zip_quanta(struct test *test, const struct kernel_table *table)
{
    struct kernel_zip_quanta s = {.y = random_quanta(test),
                                  .a = random_quanta(test),
                                  .b = random_quanta(test),
                                  .is_product = test_chance(test, 2),
                                  .shape.rank = (int)test_range(test, 0, 3)};
    int64_t a_count = 1, b_count = 1, count = 1;
    uint8_t *a, *b, *want, *got;

    for (int i = s.shape.rank - 1; i >= 0; i--) {
        bool a_stays = test_chance(test, 5), b_stays = test_chance(test, 5);

        s.shape.dims[i] =
            test_range(test, test_chance(test, 30) ? 0 : 1, i == s.shape.rank - 1 ? 150 : 9);
        s.shape.a_stride[i] = a_stays ? 0 : a_count;
        s.shape.b_stride[i] = b_stays ? 0 : b_count;
        a_count *= a_stays ? 1 : s.shape.dims[i];
        b_count *= b_stays ? 1 : s.shape.dims[i];
        count *= s.shape.dims[i];
    }
    a = test_input_bytes(test, (size_t)a_count);
    b = test_input_bytes(test, (size_t)b_count);
    want = test_output(test, (size_t)count);
    got = test_output(test, (size_t)count);
    test_describe(test, "%s of %d axes, %lldx%lldx%lld, %lld and %lld bytes",
                  s.is_product ? "product" : "sum", s.shape.rank, (long long)s.shape.dims[0],
                  (long long)s.shape.dims[1], (long long)s.shape.dims[2], (long long)a_count,
                  (long long)b_count);
    TEST_RUN(test, TEST_REF, zip_quanta_ref(want, a, b, &s));
    TEST_RUN(test, TEST_NEW, table->zip_quanta.fn(got, a, b, &s));
    compare_zip(test, got, want, a, b, &s);
    if (a_count != count)
        return;
    table->zip_quanta.fn(a, a, b, &s);
    test_compare_bytes(test, a, got, (size_t)count);
}

static void check_mean_quanta(struct test *test, const struct kernel_table *table)
{
    struct kernel_mean_quanta s = {.y = random_quanta(test),
                                   .x = random_quanta(test),
                                   .outer = test_range(test, 0, 5),
                                   .count = test_range(test, 1, 600),
                                   .inner = test_chance(test, 2) ? 1 : test_range(test, 0, 150)};
    uint8_t *x = test_input_bytes(test, (size_t)(s.outer * s.count * s.inner));
    uint8_t *want = test_output(test, (size_t)(s.outer * s.inner));
    uint8_t *got = test_output(test, (size_t)(s.outer * s.inner));

    test_describe(test, "%lldx%lldx%lld", (long long)s.outer, (long long)s.count,
                  (long long)s.inner);
    TEST_RUN(test, TEST_REF, mean_quanta_ref(want, x, &s));
    TEST_RUN(test, TEST_NEW, table->mean_quanta.fn(got, x, &s));
    test_compare_bytes(test, got, want, (size_t)(s.outer * s.inner));
}

/* Every number survives the way through a wider type; what lies between two becomes one of them. */
static void check_cast_small(struct test *test, const struct kernel_table *table)
{
    struct kernel_cast_small there = {.saturates = true, .rounding = SMALL_DOWN}, back;
    bool is_float;
    size_t count = (size_t)test_range(test, 0, 700);
    uint8_t *x = test_input_bytes(test, count), *y = test_output(test, count);
    float *wide = test_output(test, count * sizeof(float)), *again, *want;

    there.to = (enum kernel_dtype)test_range(test, KERNEL_F8E4M3FN, KERNEL_U2);
    is_float = there.to <= KERNEL_F8E8M0;
    there.from = KERNEL_F32;
    back = (struct kernel_cast_small){.from = there.to, .to = KERNEL_F32};
    again = test_output(test, count * sizeof(float));
    want = test_output(test, count * sizeof(float));
    test_describe(test, "%zu elements of type %d", count, (int)there.to);
    for (size_t i = 0; i < count; i++)
        if (there.to == KERNEL_F4E2M1 || !is_float)
            x[i] %= there.to == KERNEL_F4E2M1 || there.to == KERNEL_U4 ? 16
                    : there.to == KERNEL_I4                            ? 8
                    : there.to == KERNEL_U2                            ? 4
                                                                       : 2;
    TEST_RUN(test, TEST_REF, cast_small_ref(want, x, count, &back));
    TEST_RUN(test, TEST_NEW, table->cast_small.fn(wide, x, count, &back));
    test_compare_bytes(test, wide, want, count * sizeof(float));
    table->cast_small.fn(y, wide, count, &there);
    table->cast_small.fn(again, y, count, &back);
    for (size_t i = 0; i < count; i++)
        if (isinf(wide[i]) ? !(fabsf(again[i]) == 57344.0f) : isnan(wide[i]) != isnan(again[i]))
            test_fail(test, "code %d, %g, comes back as %g", x[i], (double)wide[i],
                      (double)again[i]);
        else if (isfinite(wide[i]) && wide[i] != again[i])
            test_fail(test, "code %d, %g, comes back as %g", x[i], (double)wide[i],
                      (double)again[i]);
}

const struct test_op test_ops_quantize[] = {
    {"cast_small", check_cast_small, offsetof(struct kernel_table, cast_small)},
    {"quantize", check_quantize, offsetof(struct kernel_table, quantize)},
    {"quantize_exact", check_quantize_exact, offsetof(struct kernel_table, quantize)},
    {"dequantize_blocks", check_dequantize_blocks, offsetof(struct kernel_table, dequantize)},
    {"lookup", check_lookup, offsetof(struct kernel_table, lookup)},
    {"mean_quanta", check_mean_quanta, offsetof(struct kernel_table, mean_quanta)},
    {"zip_quanta", check_zip_quanta, offsetof(struct kernel_table, zip_quanta)},
    {"quantize_dynamic", check_quantize_dynamic, offsetof(struct kernel_table, quantize_dynamic)},
};
const size_t test_ops_quantize_count = sizeof(test_ops_quantize) / sizeof(test_ops_quantize[0]);
