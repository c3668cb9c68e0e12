/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the element-wise kernels over every type: a whole tensor must be what each element gives
 * when it is computed alone. What one element gives is checked by hand in tests/unit. */
#include <math.h>
#include <string.h>

#include "tests/kernels/harness.h"

/* Numbers that every type can hold, small enough not to be all the same after saturation. */
static void *random_tensor(struct test *test, enum kernel_dtype dtype, size_t count)
{
    float *numbers = test_input(test, count);
    void *data = test_input_bytes(test, count * kernel_dtype_bytes(dtype));
    float most = dtype == KERNEL_F32 && test_chance(test, 3) ? 200.0f : 20.0f;

    for (size_t i = 0; i < count; i++)
        numbers[i] *= dtype == KERNEL_BOOL ? (test_chance(test, 2) ? 0.0f : 1.0f) : most;
    cast_ref(data, dtype, numbers, KERNEL_F32, count);
    return data;
}

static enum kernel_dtype random_dtype(struct test *test)
{
    return (enum kernel_dtype)test_range(test, 0, KERNEL_DTYPES - 1);
}

/* Functions that versions compute as the reference does, rounding included. */
static bool is_exact(enum kernel_map op)
{
    return op == MAP_ABS || op == MAP_CEIL || op == MAP_CLIP || op == MAP_FLOOR || op == MAP_NEG ||
           op == MAP_RELU || op == MAP_RECIPROCAL || op == MAP_ROUND || op == MAP_SIGN ||
           op == MAP_SQRT || op == MAP_THRESHOLDED_RELU;
}

/* The others: relative to the result, or to the largest of result, operand and 1. */
static void compare_reals(struct test *test, const float *got, const float *want, const float *x,
                          size_t count, enum kernel_map op)
{
    for (size_t i = 0; i < count; i++) {
        float size = fabsf(want[i]);

        if (op == MAP_SIN || op == MAP_COS)
            size = 1.0f;
        else if (op != MAP_ERF && op != MAP_EXP)
            size = fmaxf(size, fmaxf(fabsf(x[i]), 1.0f));
        if (isnan(want[i]) ? !isnan(got[i])
                           : got[i] != want[i] && !(fabsf(got[i] - want[i]) <= 2e-6f * size))
            test_fail(test, "function %d of %.9g is %.9g, not %.9g", (int)op, (double)x[i],
                      (double)got[i], (double)want[i]);
    }
}

/* Functions of f64 that versions compute their own way. */
static bool is_near_f64(enum kernel_map op)
{
    return op == MAP_COS || op == MAP_EXP || op == MAP_GELU_TANH || op == MAP_LOG ||
           op == MAP_SIGMOID || op == MAP_SIN || op == MAP_TANH;
}

static double room_f64(double want, double x, enum kernel_map op)
{
    if (op == MAP_SIN || op == MAP_COS)
        return 1e-15;
    return 2e-15 * fabs(op == MAP_GELU_TANH ? x : want) + 1e-300;
}

static void compare_f64(struct test *test, const double *got, const double *want, const double *x,
                        size_t count, enum kernel_map op)
{
    for (size_t i = 0; i < count; i++)
        if (isnan(want[i])
                ? !isnan(got[i])
                : got[i] != want[i] && !(fabs(got[i] - want[i]) <= room_f64(want[i], x[i], op)))
            test_fail(test, "function %d of %.17g is %.17g, not %.17g", (int)op, x[i], got[i],
                      want[i]);
}

/* Zeros and infinities of half precision and what is next to them; NaN, too, where no bits of one come out. */
static void add_odd_half(struct test *test, uint16_t *x, size_t count,
                         const struct kernel_map_args *args)
{
    static const uint16_t odd[] = {0, 1, 0x7bff, 0x7c00, 0x7f7f, 0x7f80, 0x7e00, 0x7fc0};
    uint32_t kinds = args->op != MAP_SIGN ? 8 : args->dtype == KERNEL_F16 ? 4 : 6;

    for (size_t i = 0; i < count; i++)
        if (test_random(test) % 16 == 0)
            x[i] = (uint16_t)(odd[test_random(test) % kinds] | (test_random(test) % 2) << 15);
}

/* What is beyond functions that are computed in f64, at their ends, or next to nothing. */
static void add_odd_f32(struct test *test, float *x, size_t count)
{
    static const float odd[] = {NAN,   INFINITY, -INFINITY, 0.0f,   -0.0f,     1.0f,
                                -1.0f, 3e38f,    -3e38f,    1e-30f, 0x1p-126f, 0.05f};

    for (size_t i = 0; i < count; i++)
        if (test_random(test) % 16 == 0)
            x[i] = odd[test_random(test) % (sizeof(odd) / sizeof(odd[0]))];
}

static bool is_wide(enum kernel_map op)
{
    return op == MAP_ACOSH || op == MAP_ASINH || op == MAP_ATANH || op == MAP_COSH ||
           op == MAP_SHRINK || op == MAP_SINH || op == MAP_TAN;
}

/* What is beyond a function, at its ends, or next to nothing. */
static void add_odd_f64(struct test *test, double *x, size_t count)
{
    static const double odd[] = {NAN,   INFINITY, -INFINITY, 0.0,   -0.0,    5e-324,
                                 1e308, -1e308,   1e-310,    709.5, -745.05, 1e-8};

    for (size_t i = 0; i < count; i++)
        if (test_random(test) % 16 == 0)
            x[i] = odd[test_random(test) % (sizeof(odd) / sizeof(odd[0]))];
}

static void check_map(struct test *test, const struct kernel_table *table)
{
    size_t count = (size_t)test_range(test, 0, test->is_wide ? 3000 : 300), bytes, y_bytes;
    struct kernel_map_args args = {.a = 0.75, .b = 0.25};
    bool in_place;
    char *x, *want, *got;

    do {
        args.op = (enum kernel_map)test_range(test, 0, MAP_COUNT - 1);
        args.dtype = random_dtype(test);
    } while (!kernel_map_has(args.op, args.dtype));
    bytes = kernel_dtype_bytes(args.dtype);
    y_bytes = args.op == MAP_IS_INF || args.op == MAP_IS_NAN ? 1 : bytes;
    in_place = y_bytes == bytes && test_chance(test, 3) && !test->bench;
    test_describe(test, "function %d of %zu elements of type %d%s", (int)args.op, count,
                  (int)args.dtype, in_place ? ", in place" : "");
    x = random_tensor(test, args.dtype, count);
    for (size_t i = 0; args.dtype == KERNEL_F32 && i < count; i++)
        if ((args.op == MAP_SIN || args.op == MAP_COS) && test_chance(test, 8))
            ((float *)(void *)x)[i] *= powf(10.0f, (float)test_range(test, 0, 36));
    if (args.dtype == KERNEL_F64)
        add_odd_f64(test, (double *)(void *)x, count);
    if (args.dtype == KERNEL_F32 && is_wide(args.op))
        add_odd_f32(test, (float *)(void *)x, count);
    if (bytes == 2 && (y_bytes == 1 || (args.op == MAP_SIGN && kernel_dtype_is_real(args.dtype))))
        add_odd_half(test, (uint16_t *)(void *)x, count, &args);
    if (args.op == MAP_IS_INF) {
        args.a = (double)(count % 2);
        args.b = (double)(count / 2 % 2);
    }
    want = test_output(test, count * y_bytes);
    got = test_output(test, count * y_bytes);
    TEST_RUN(test, TEST_REF,
             for (size_t i = 0; i < count; i++)
                 map_ref(want + i * y_bytes, x + i * bytes, 1, &args));
    if (in_place)
        memcpy(got, x, count * bytes);
    TEST_RUN(test, TEST_NEW, table->map.fn(got, in_place ? got : x, count, &args));
    if (args.dtype == KERNEL_F32 && !is_exact(args.op) && y_bytes == bytes)
        compare_reals(test, (const float *)got, (const float *)want, (const float *)x, count,
                      args.op);
    else if (args.dtype == KERNEL_F64 && is_near_f64(args.op))
        compare_f64(test, (const double *)(void *)got, (const double *)(void *)want,
                    (const double *)(void *)x, count, args.op);
    else
        test_compare_bytes(test, got, want, count * y_bytes);
}

/* Dense, broadcast or reversed in memory; how many elements that spans. */
static size_t random_strides(struct test *test, int rank, const int64_t *dims, int64_t *strides)
{
    bool reversed = test_chance(test, 5);
    int64_t stride = 1;

    for (int i = 0; i < rank; i++) {
        int axis = reversed ? i : rank - 1 - i;
        bool is_broadcast = test_chance(test, 3);

        strides[axis] = is_broadcast ? 0 : stride;
        stride *= is_broadcast ? 1 : dims[axis];
    }
    return (size_t)stride;
}

static size_t random_dims(struct test *test, int rank, int64_t *dims)
{
    size_t count = 1;

    for (int i = 0; i < rank; i++) {
        dims[i] =
            test_chance(test, 40) ? 0 : test_range(test, 1, i == rank - 1 && rank < 4 ? 70 : 6);
        count *= (size_t)dims[i];
    }
    return count;
}

/* Element i of the dense result: where an operand has it. */
static int64_t place(size_t i, int rank, const int64_t *dims, const int64_t *strides)
{
    int64_t at = 0;

    for (int axis = rank - 1; axis >= 0; axis--) {
        at += (int64_t)i % dims[axis] * strides[axis];
        i /= (size_t)dims[axis];
    }
    return at;
}

static void zip_alone(zip_fn *zip, char *y, const char *a, const char *b, size_t count,
                      const struct kernel_zip_args *args)
{
    struct kernel_zip_args one = {
        .op = args->op, .y_type = args->y_type, .a_type = args->a_type, .b_type = args->b_type};

    for (size_t i = 0; i < count; i++)
        zip(y + i * kernel_dtype_bytes(args->y_type),
            a + (size_t)place(i, args->rank, args->dims, args->a_stride) *
                    kernel_dtype_bytes(args->a_type),
            b + (size_t)place(i, args->rank, args->dims, args->b_stride) *
                    kernel_dtype_bytes(args->b_type),
            &one);
}

/* Some that all versions know, and any. */
static void make_exponents(struct test *test, float *b, size_t count)
{
    static const float some[] = {2.0f, 3.0f, 0.5f, -1.0f, 0.0f, 1.0f, INFINITY, -INFINITY, NAN};
    bool is_any = test_chance(test, 2);

    for (size_t i = 0; i < count; i++)
        if (!is_any)
            b[i] = some[test_range(test, 0, 3)];
        else if (test_random(test) % 16 == 0)
            b[i] = some[test_random(test) % (sizeof(some) / sizeof(some[0]))];
}

/* Quotients that are large, or nothing, and what is no number. */
static void add_odd_reals(struct test *test, void *a, size_t a_count, void *b, size_t b_count,
                          enum kernel_dtype type)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 3e9, 1e-30, 0.1, 7.0};

    for (size_t i = 0; i < a_count + b_count; i++)
        if (test_random(test) % 4 == 0)
            cast_ref((char *)(i < a_count ? a : b) +
                         (i < a_count ? i : i - a_count) * kernel_dtype_bytes(type),
                     type, &odd[test_random(test) % (sizeof(odd) / sizeof(odd[0]))], KERNEL_F64, 1);
}

static void compare_powers(struct test *test, const float *got, const float *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isnan(want[i]) ? !isnan(got[i])
                           : got[i] != want[i] &&
                                 !(fabsf(got[i] - want[i]) <= 2e-7f * fabsf(want[i]) + 1e-44f))
            test_fail(test, "power %zu is %.9g, not %.9g", i, (double)got[i], (double)want[i]);
}

/* Exact, but for the bits of a NaN. */
static void compare_rests(struct test *test, const double *got, const double *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isnan(want[i]) ? !isnan(got[i])
                           : got[i] != want[i] || signbit(got[i]) != signbit(want[i]))
            test_fail(test, "rest %zu is %.17g, not %.17g", i, got[i], want[i]);
}

static void check_zip(struct test *test, const struct kernel_table *table)
{
    struct kernel_zip_args args = {.op = (enum kernel_zip)test_range(test, 0, ZIP_COUNT - 1),
                                   .a_type = random_dtype(test),
                                   .rank = (int)test_range(test, 0, 5)};
    size_t count = random_dims(test, args.rank, args.dims), a_count, b_count, bytes;
    char *a, *b, *want, *got;

    if (args.op >= ZIP_AND)
        args.a_type = KERNEL_BOOL;
    else if (args.op == ZIP_SHIFT_LEFT || args.op == ZIP_SHIFT_RIGHT)
        args.a_type = args.a_type < KERNEL_I16 ? KERNEL_U8 : KERNEL_U32;
    else if (args.op >= ZIP_BIT_AND && args.op <= ZIP_BIT_XOR)
        args.a_type = args.a_type < KERNEL_I16 ? KERNEL_I8 : KERNEL_I64;
    args.b_type = args.op == ZIP_POW ? random_dtype(test) : args.a_type;
    args.y_type = args.op >= ZIP_EQUAL ? KERNEL_BOOL : args.a_type;
    a_count = random_strides(test, args.rank, args.dims, args.a_stride);
    b_count = random_strides(test, args.rank, args.dims, args.b_stride);
    test_describe(test, "function %d of types %d and %d, rank %d, %zu elements of %zu and %zu",
                  (int)args.op, (int)args.a_type, (int)args.b_type, args.rank, count, a_count,
                  b_count);
    bytes = count * kernel_dtype_bytes(args.y_type);
    a = random_tensor(test, args.a_type, a_count);
    b = random_tensor(test, args.b_type, b_count);
    if (args.op == ZIP_POW && args.b_type == KERNEL_F32)
        make_exponents(test, (float *)(void *)b, b_count);
    if ((args.op == ZIP_FMOD || args.op == ZIP_MAX || args.op == ZIP_MIN) &&
        kernel_dtype_is_real(args.a_type))
        add_odd_reals(test, a, a_count, b, b_count, args.a_type);
    want = test_output(test, bytes);
    got = test_output(test, bytes);
    TEST_RUN(test, TEST_REF, zip_alone(zip_ref, want, a, b, count, &args));
    TEST_RUN(test, TEST_NEW, table->zip.fn(got, a, b, &args));
    if (args.op == ZIP_POW && args.a_type == KERNEL_F32 && args.b_type == KERNEL_F32)
        compare_powers(test, (const float *)(void *)got, (const float *)(void *)want, count);
    else if (args.op == ZIP_FMOD && args.a_type == KERNEL_F64)
        compare_rests(test, (const double *)(void *)got, (const double *)(void *)want, count);
    else
        test_compare_bytes(test, got, want, bytes);
}

/* Every pair of bytes, divided, and squares of integers, held to the reference. */
static void check_zip_whole(struct test *test, const struct kernel_table *table)
{
    static const enum kernel_zip ops[] = {ZIP_DIV, ZIP_MOD, ZIP_FMOD, ZIP_POW};
    static const enum kernel_dtype types[] = {KERNEL_I8, KERNEL_U8, KERNEL_I32, KERNEL_I64};
    struct kernel_zip_args args = {.op = ops[test_range(test, 0, 3)],
                                   .rank = 2,
                                   .dims = {256, 256},
                                   .a_stride = {256, 1},
                                   .b_stride = {256, 1}};
    int64_t kind = test_range(test, 0, args.op == ZIP_POW ? 3 : 1);
    size_t count = 256 * 256, bytes;
    uint8_t *a, *b, *got, *want;

    args.y_type = args.a_type = args.b_type = types[kind];
    bytes = count * kernel_dtype_bytes(args.a_type);
    a = test_input_bytes(test, bytes);
    b = test_input_bytes(test, bytes);
    got = test_output(test, bytes);
    want = test_output(test, bytes);
    test_describe(test, "function %d of pairs of type %d", (int)args.op, (int)args.a_type);
    for (size_t i = 0; args.op != ZIP_POW && i < count; i++) {
        a[i] = (uint8_t)(i / 256);
        b[i] = (uint8_t)(i % 256);
    }
    if (args.op == ZIP_POW) {
        args.b_stride[0] = args.b_stride[1] = 0;
        cast_ref(b, args.b_type, &(int32_t){(int32_t)test_range(test, 0, 4)}, KERNEL_I32, 1);
    }
    TEST_RUN(test, TEST_REF, zip_ref(want, a, b, &args));
    TEST_RUN(test, TEST_NEW, table->zip.fn(got, a, b, &args));
    test_compare_bytes(test, got, want, bytes);
}

static void check_where(struct test *test, const struct kernel_table *table)
{
    struct kernel_where s = {.element_bytes = (size_t)1 << test_range(test, 0, 3),
                             .rank = (int)test_range(test, 0, 5)};
    size_t count = random_dims(test, s.rank, s.dims), bytes = count * s.element_bytes;
    size_t c_count = random_strides(test, s.rank, s.dims, s.condition_stride);
    size_t a_count = random_strides(test, s.rank, s.dims, s.a_stride);
    size_t b_count = random_strides(test, s.rank, s.dims, s.b_stride);
    uint8_t *condition = random_tensor(test, KERNEL_BOOL, c_count);
    char *a = test_input_bytes(test, a_count * s.element_bytes);
    char *b = test_input_bytes(test, b_count * s.element_bytes);
    char *want = test_output(test, bytes), *got = test_output(test, bytes);

    test_describe(test, "rank %d, %zu elements of %zu bytes", s.rank, count, s.element_bytes);
    for (size_t i = 0; i < count; i++) {
        bool first = condition[place(i, s.rank, s.dims, s.condition_stride)];
        int64_t at = place(i, s.rank, s.dims, first ? s.a_stride : s.b_stride);

        memcpy(want + i * s.element_bytes, (first ? a : b) + (size_t)at * s.element_bytes,
               s.element_bytes);
    }
    TEST_RUN(test, TEST_NEW, table->where.fn(got, condition, a, b, &s));
    test_compare_bytes(test, got, want, bytes);
}

const struct test_op test_ops_elementwise[] = {
    {"map", check_map, offsetof(struct kernel_table, map)},
    {"zip_whole", check_zip_whole, offsetof(struct kernel_table, zip)},
    {"where", check_where, offsetof(struct kernel_table, where)},
    {"zip", check_zip, offsetof(struct kernel_table, zip)},
};
const size_t test_ops_elementwise_count =
    sizeof(test_ops_elementwise) / sizeof(test_ops_elementwise[0]);
