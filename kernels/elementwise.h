/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of the element-wise operations over every element type. What is common to all contracts
 * stands in kernels.h, which includes this.
 *
 * Reals are computed in f64 and rounded once to their type; integers in int64, and wrap around when
 * they are stored. All is exact where it is not said otherwise.
 */
#ifndef OPTRACE_KERNELS_ELEMENTWISE_H
#define OPTRACE_KERNELS_ELEMENTWISE_H

#include "kernels/dtype.h"

/** One operand. Where integers are allowed it is said; all take reals. */
enum kernel_map {
    MAP_ABS, /* integers too */
    MAP_ACOS,
    MAP_ACOSH,
    MAP_ASIN,
    MAP_ASINH,
    MAP_ATAN,
    MAP_ATANH,
    MAP_CEIL,
    MAP_CELU, /* max(0, x) + min(0, a * (exp(x / a) - 1)) */
    MAP_CLIP, /* min(max(x, a), b) */
    MAP_COS,
    MAP_COSH,
    MAP_ELU, /* x < 0 ? a * (exp(x) - 1) : x */
    MAP_ERF,
    MAP_EXP,
    MAP_FLOOR,
    MAP_GELU,         /* x / 2 * (1 + erf(x / sqrt(2))) */
    MAP_GELU_TANH,    /* x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) */
    MAP_HARD_SIGMOID, /* max(0, min(1, a * x + b)) */
    MAP_HARD_SWISH,   /* x * max(0, min(1, x / 6 + 0.5)) */
    MAP_IS_INF,       /* to bool; a: count +inf, b: count -inf */
    MAP_IS_NAN,       /* to bool */
    MAP_LEAKY_RELU,   /* x < 0 ? a * x : x */
    MAP_LOG,
    MAP_MISH, /* x * tanh(log(1 + exp(x))) */
    MAP_NEG,  /* integers too */
    MAP_NOT,  /* bool only */
    MAP_RECIPROCAL,
    MAP_RELU,   /* integers too */
    MAP_ROUND,  /* halves to even */
    MAP_SELU,   /* b * (x > 0 ? x : a * (exp(x) - 1)) */
    MAP_SHRINK, /* x < -b ? x + a : x > b ? x - a : 0; integers too */
    MAP_SIGMOID,
    MAP_SIGN, /* integers too */
    MAP_SIN,
    MAP_SINH,
    MAP_SOFTPLUS, /* log(1 + exp(x)) */
    MAP_SOFTSIGN, /* x / (1 + |x|) */
    MAP_SQRT,
    MAP_SWISH, /* x / (1 + exp(-a * x)) */
    MAP_TAN,
    MAP_TANH,
    MAP_THRESHOLDED_RELU, /* x > a ? x : 0 */
    MAP_BIT_NOT,          /* integers only */
    MAP_COUNT,
};

struct kernel_map_args {
    enum kernel_map op;
    enum kernel_dtype dtype; /* of x, and of y where the operation does not say bool */
    double a, b;
};

/** y[i] = op(x[i]). y may be x where both have the same type. The reference computes in f64 and
 *  rounds once; the versions agree with it to 2e-6 of the largest of |y|, |x|, |a|, |b| and 1;
 *  MAP_ERF and MAP_EXP to 2e-6 of |y|, MAP_SIN and MAP_COS to 2e-6; MAP_ABS, MAP_CEIL, MAP_CLIP, MAP_FLOOR, MAP_NEG, MAP_RELU,
 *  MAP_RECIPROCAL, MAP_ROUND, MAP_SIGN, MAP_SQRT and MAP_THRESHOLDED_RELU exactly. Of f64 MAP_EXP, MAP_LOG, MAP_SIGMOID and
 *  MAP_TANH agree to 2e-15 of |y| and 1e-300, MAP_GELU_TANH to 2e-15 of |x|, MAP_SIN and MAP_COS to 1e-15, the others
 *  exactly. NaN stays NaN. */
typedef void map_fn(void *y, const void *x, size_t count, const struct kernel_map_args *args);

/** False for an operation that is not defined over the type. */
bool kernel_map_has(enum kernel_map op, enum kernel_dtype dtype);

/** Two operands. */
enum kernel_zip {
    ZIP_ADD,
    ZIP_SUB,
    ZIP_MUL,
    ZIP_DIV, /* integers cut off; x / 0 is 0 */
    ZIP_MAX, /* NaN where either is */
    ZIP_MIN,
    ZIP_MOD,  /* the divisor's sign, of a 0 too; x mod 0 is 0 */
    ZIP_FMOD, /* the dividend's sign */
    ZIP_POW, /* computed in f64 when either is real; a negative integer power is 0, 1 or -1. Versions agree
                    to 2e-7 of |y| where all are f32 */
    ZIP_PRELU,   /* a < 0 ? a * b : a */
    ZIP_BIT_AND, /* from here to the shifts of integers only */
    ZIP_BIT_OR,
    ZIP_BIT_XOR,
    ZIP_SHIFT_LEFT, /* a negative b is one of the type's width or more, which leaves signs alone */
    ZIP_SHIFT_RIGHT,
    ZIP_EQUAL, /* from here on the result is bool */
    ZIP_GREATER,
    ZIP_GREATER_OR_EQUAL,
    ZIP_LESS,
    ZIP_LESS_OR_EQUAL,
    ZIP_AND, /* of bools */
    ZIP_OR,
    ZIP_XOR,
    ZIP_COUNT,
};

/** y has shape dims, dense. Strides in elements; 0 where an operand is broadcast. */
struct kernel_zip_args {
    enum kernel_zip op;
    enum kernel_dtype y_type, a_type, b_type;
    int rank;
    int64_t dims[KERNEL_MAX_RANK];
    int64_t a_stride[KERNEL_MAX_RANK];
    int64_t b_stride[KERNEL_MAX_RANK];
};

/** y = a op b. y may be a or b when that operand has y's type and is not broadcast. */
typedef void zip_fn(void *y, const void *a, const void *b, const struct kernel_zip_args *args);

struct kernel_where {
    size_t element_bytes;
    int rank;
    int64_t dims[KERNEL_MAX_RANK];
    int64_t condition_stride[KERNEL_MAX_RANK];
    int64_t a_stride[KERNEL_MAX_RANK];
    int64_t b_stride[KERNEL_MAX_RANK];
};

/** y = condition ? a : b, each broadcast by its strides. */
typedef void where_fn(void *y, const uint8_t *condition, const void *a, const void *b,
                      const struct kernel_where *shape);

/* See KERNEL_DECLARE(). */
#define ELEMENTWISE_KERNELS(KERNEL)                                                                \
    KERNEL(map, EACH);                                                                             \
    KERNEL(zip, EACH);                                                                             \
    KERNEL(where, EACH)
ELEMENTWISE_KERNELS(KERNEL_DECLARE);

#endif
