/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of two and three operands over every type, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"

#include <math.h>
#include <string.h>

static double modulo(double a, double b)
{
    double rest = fmod(a, b);

    if (rest == 0.0)
        return copysign(0.0, b);
    return (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

static bool compare_reals(enum kernel_zip op, double a, double b)
{
    switch (op) {
    case ZIP_EQUAL:
        return a == b;
    case ZIP_GREATER:
        return a > b;
    case ZIP_GREATER_OR_EQUAL:
        return a >= b;
    case ZIP_LESS:
        return a < b;
    default:
        return a <= b;
    }
}

static double zip_reals(enum kernel_zip op, double a, double b)
{
    switch (op) {
    case ZIP_ADD:
        return a + b;
    case ZIP_SUB:
        return a - b;
    case ZIP_MUL:
        return a * b;
    case ZIP_DIV:
        return a / b;
    case ZIP_MAX:
        return isnan(a) || isnan(b) ? (double)NAN : a > b ? a : b;
    case ZIP_MIN:
        return isnan(a) || isnan(b) ? (double)NAN : a < b ? a : b;
    case ZIP_MOD:
        return modulo(a, b);
    case ZIP_FMOD:
        return fmod(a, b);
    case ZIP_POW:
        return pow(a, b);
    case ZIP_PRELU:
        return a < 0.0 ? a * b : a;
    default:
        return compare_reals(op, a, b);
    }
}

/* By squaring; wraps around. */
static int64_t power(int64_t base, int64_t exponent)
{
    uint64_t result = 1, square = (uint64_t)base;

    if (exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    for (; exponent > 0; exponent /= 2) {
        if (exponent % 2)
            result *= square;
        square *= square;
    }
    return (int64_t)result;
}

static int64_t divide(int64_t a, int64_t b)
{
    return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t remainder_of(int64_t a, int64_t b, bool of_divisor)
{
    int64_t rest = b == 0 || b == -1 ? 0 : a % b;

    return of_divisor && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static bool compare_integers(enum kernel_zip op, int64_t a, int64_t b)
{
    switch (op) {
    case ZIP_EQUAL:
        return a == b;
    case ZIP_GREATER:
        return a > b;
    case ZIP_GREATER_OR_EQUAL:
        return a >= b;
    case ZIP_LESS:
        return a < b;
    case ZIP_LESS_OR_EQUAL:
        return a <= b;
    case ZIP_AND:
        return a && b;
    case ZIP_OR:
        return a || b;
    default:
        return !a != !b;
    }
}

static int64_t shift(int64_t a, int64_t by, bool is_left)
{
    if (by < 0 || by >= 64)
        return !is_left && a < 0 ? -1 : 0;
    return is_left ? (int64_t)((uint64_t)a << by) : a >> by;
}

static int64_t zip_integers(enum kernel_zip op, int64_t a, int64_t b)
{
    switch (op) {
    case ZIP_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case ZIP_SUB:
        return (int64_t)((uint64_t)a - (uint64_t)b);
    case ZIP_MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case ZIP_DIV:
        return divide(a, b);
    case ZIP_MAX:
        return a > b ? a : b;
    case ZIP_MIN:
        return a < b ? a : b;
    case ZIP_MOD:
        return remainder_of(a, b, true);
    case ZIP_FMOD:
        return remainder_of(a, b, false);
    case ZIP_POW:
        return power(a, b);
    case ZIP_PRELU:
        return a < 0 ? (int64_t)((uint64_t)a * (uint64_t)b) : a;
    case ZIP_BIT_AND:
        return a & b;
    case ZIP_BIT_OR:
        return a | b;
    case ZIP_BIT_XOR:
        return a ^ b;
    case ZIP_SHIFT_LEFT:
    case ZIP_SHIFT_RIGHT:
        return shift(a, b, op == ZIP_SHIFT_LEFT);
    default:
        return compare_integers(op, a, b);
    }
}

/* What depends on there being no sign. */
static int64_t zip_unsigned(enum kernel_zip op, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b, result = 1;

    switch (op) {
    case ZIP_DIV:
        return y == 0 ? 0 : (int64_t)(x / y);
    case ZIP_MOD:
    case ZIP_FMOD:
        return y == 0 ? 0 : (int64_t)(x % y);
    case ZIP_PRELU:
        return a;
    case ZIP_SHIFT_RIGHT:
        return y >= 64 ? 0 : (int64_t)(x >> y);
    case ZIP_POW:
        for (; y > 0; y /= 2, x *= x)
            result *= y % 2 ? x : 1;
        return (int64_t)result;
    case ZIP_MAX:
        return x > y ? a : b;
    case ZIP_MIN:
        return x < y ? a : b;
    case ZIP_EQUAL:
    case ZIP_GREATER:
    case ZIP_GREATER_OR_EQUAL:
    case ZIP_LESS:
    case ZIP_LESS_OR_EQUAL:
        return compare_integers(op, ref_order(a, KERNEL_U64), ref_order(b, KERNEL_U64));
    default:
        return zip_integers(op, a, b);
    }
}

/* Both operands as the first one's type has them. */
static int64_t zip_whole(int64_t a, int64_t b, const struct kernel_zip_args *args)
{
    if (args->a_type == KERNEL_U64 && (args->b_type == KERNEL_U64 || b >= 0))
        return zip_unsigned(args->op, a, b);
    if (args->op == ZIP_POW && args->b_type == KERNEL_U64 && b < 0)
        return a == -1 || a == 1 || a == 0 ? power(a, b & 1 ? 1 : 2) : 0;
    return zip_integers(args->op, a, b);
}

void zip_ref(void *y, const void *a, const void *b, const struct kernel_zip_args *args)
{
    bool is_real = kernel_dtype_is_real(args->a_type) || kernel_dtype_is_real(args->b_type);
    int64_t count = ref_product(args->dims, args->rank);
    int64_t at[KERNEL_MAX_RANK] = {0};

    for (int64_t i = 0; i < count; i++) {
        int64_t ia = ref_offset(at, args->a_stride, args->rank);
        int64_t ib = ref_offset(at, args->b_stride, args->rank);

        if (is_real)
            ref_set_f64(y, args->y_type, i,
                        zip_reals(args->op, ref_get_f64(a, args->a_type, ia),
                                  ref_get_f64(b, args->b_type, ib)));
        else
            ref_set_i64(y, args->y_type, i,
                        zip_whole(ref_get_i64(a, args->a_type, ia),
                                  ref_get_i64(b, args->b_type, ib), args));
        ref_step(at, args->dims, args->rank);
    }
}

void where_ref(void *y, const uint8_t *condition, const void *a, const void *b,
               const struct kernel_where *shape)
{
    int64_t count = ref_product(shape->dims, shape->rank);
    size_t bytes = shape->element_bytes;
    int64_t at[KERNEL_MAX_RANK] = {0};

    for (int64_t i = 0; i < count; i++) {
        bool first = condition[ref_offset(at, shape->condition_stride, shape->rank)];
        int64_t from = ref_offset(at, first ? shape->a_stride : shape->b_stride, shape->rank);

        memcpy((char *)y + (size_t)i * bytes, (const char *)(first ? a : b) + (size_t)from * bytes,
               bytes);
        ref_step(at, shape->dims, shape->rank);
    }
}
