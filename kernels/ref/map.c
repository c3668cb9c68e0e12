/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of one operand over every type, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"

#include <math.h>

static double clamp_unit(double x)
{
    return isnan(x) ? x : x < 0.0 ? 0.0 : x > 1.0 ? 1.0 : x;
}

static double softplus(double x)
{
    return x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double gelu_tanh(double x)
{
    return 0.5 * x * (1.0 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

static double shrink(double x, double bias, double limit)
{
    return x < -limit ? x + bias : x > limit ? x - bias : isnan(x) ? x : 0.0;
}

/* What C's library has under the same name, and what needs no parameter. */
static double map_plain(enum kernel_map op, double x)
{
    switch (op) {
    case MAP_ABS:
        return fabs(x);
    case MAP_ACOS:
        return acos(x);
    case MAP_ACOSH:
        return acosh(x);
    case MAP_ASIN:
        return asin(x);
    case MAP_ASINH:
        return asinh(x);
    case MAP_ATAN:
        return atan(x);
    case MAP_ATANH:
        return atanh(x);
    case MAP_CEIL:
        return ceil(x);
    case MAP_COS:
        return cos(x);
    case MAP_COSH:
        return cosh(x);
    case MAP_ERF:
        return erf(x);
    case MAP_EXP:
        return exp(x);
    case MAP_FLOOR:
        return floor(x);
    case MAP_LOG:
        return log(x);
    case MAP_NEG:
        return -x;
    case MAP_RECIPROCAL:
        return 1.0 / x;
    case MAP_RELU:
        return x < 0.0 ? 0.0 : x;
    case MAP_ROUND:
        return nearbyint(x);
    case MAP_SIGMOID:
        return 1.0 / (1.0 + exp(-x));
    case MAP_SIGN:
        return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x;
    case MAP_SIN:
        return sin(x);
    case MAP_SINH:
        return sinh(x);
    case MAP_SOFTPLUS:
        return softplus(x);
    case MAP_SOFTSIGN:
        return x / (1.0 + fabs(x));
    case MAP_SQRT:
        return sqrt(x);
    case MAP_TAN:
        return tan(x);
    default:
        return tanh(x);
    }
}

static double map_real(double x, const struct kernel_map_args *args)
{
    double a = args->a, b = args->b;

    switch (args->op) {
    case MAP_CELU:
        return x > 0.0 ? x : a * expm1(x / a);
    case MAP_ELU:
        return x < 0.0 ? a * expm1(x) : x;
    case MAP_GELU:
        return 0.5 * x * (1.0 + erf(x * 0.70710678118654752440));
    case MAP_CLIP:
        x = x < a ? a : x;
        return x > b ? b : x;
    case MAP_GELU_TANH:
        return gelu_tanh(x);
    case MAP_HARD_SIGMOID:
        return clamp_unit(a * x + b);
    case MAP_HARD_SWISH:
        return x * clamp_unit(x / 6.0 + 0.5);
    case MAP_IS_INF:
        return isinf(x) && (x > 0.0 ? a : b) != 0.0;
    case MAP_IS_NAN:
        return isnan(x);
    case MAP_LEAKY_RELU:
        return x < 0.0 ? a * x : x;
    case MAP_MISH:
        return x * tanh(softplus(x));
    case MAP_SELU:
        return b * (x > 0.0 ? x : a * expm1(x));
    case MAP_SHRINK:
        return shrink(x, a, b);
    case MAP_SWISH:
        return x / (1.0 + exp(-a * x));
    case MAP_THRESHOLDED_RELU:
        return x > a || isnan(x) ? x : 0.0;
    default:
        return map_plain(args->op, x);
    }
}

/* The unsigned detour wraps the lowest number around. */
static int64_t negate(int64_t x)
{
    return (int64_t)(0 - (uint64_t)x);
}

static int64_t map_integer(int64_t x, const struct kernel_map_args *args)
{
    bool is_below = x < 0 && args->dtype != KERNEL_U64;

    switch (args->op) {
    case MAP_ABS:
        return is_below ? negate(x) : x;
    case MAP_BIT_NOT:
        return ~x;
    case MAP_NEG:
        return negate(x);
    case MAP_NOT:
        return !x;
    case MAP_RELU:
        return is_below ? 0 : x;
    default:
        return (x != 0) - 2 * is_below;
    }
}

bool kernel_map_has(enum kernel_map op, enum kernel_dtype dtype)
{
    bool is_real = kernel_dtype_is_real(dtype);

    switch (op) {
    case MAP_NOT:
        return dtype == KERNEL_BOOL;
    case MAP_BIT_NOT:
        return !is_real && dtype != KERNEL_BOOL;
    case MAP_ABS:
    case MAP_NEG:
    case MAP_RELU:
    case MAP_SHRINK:
    case MAP_SIGN:
        return dtype != KERNEL_BOOL;
    default:
        return is_real;
    }
}

void map_ref(void *y, const void *x, size_t count, const struct kernel_map_args *args)
{
    bool to_bool = args->op == MAP_IS_INF || args->op == MAP_IS_NAN;
    bool as_real = kernel_dtype_is_real(args->dtype) || args->op == MAP_SHRINK;
    enum kernel_dtype y_type = to_bool ? KERNEL_BOOL : args->dtype;

    for (int64_t i = 0; i < (int64_t)count; i++) {
        if (as_real)
            ref_set_f64(y, y_type, i, map_real(ref_get_f64(x, args->dtype, i), args));
        else
            ref_set_i64(y, y_type, i, map_integer(ref_get_i64(x, args->dtype, i), args));
    }
}
