/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of matrix products and sums of products over every element type, quantised ones
 * included. What is common to all contracts stands in kernels.h, which includes this.
 *
 * Reals are summed in f64, in any order, and rounded once. Integers are summed in int64 and wrap around when they
 * are stored.
 */
#ifndef OPTRACE_KERNELS_PRODUCT_H
#define OPTRACE_KERNELS_PRODUCT_H

#include "kernels/dtype.h"

/** Where the zero point and the scale of a line (row or column) of a matrix stand: at matrix number
 *  * matrix_stride + line * line_stride. {0}: one for all. */
struct kernel_lines {
    int64_t matrix_stride, line_stride;
};

struct kernel_product {
    enum kernel_dtype a_type, b_type, y_type; /* c is of y_type */
    enum kernel_dtype scale_type;             /* of all scales */
    int64_t m, n, k;
    bool trans_a, trans_b; /* a is stored as [k, m], b as [n, k] */
    double alpha, beta;
    int64_t c_row_stride, c_col_stride; /* in elements; 0 where c is broadcast */

    /* Many products of the same size; batch_rank 0 is one. Strides in elements, 0: broadcast. */
    int batch_rank;
    int64_t batch_dims[KERNEL_MAX_RANK];
    int64_t a_batch_stride[KERNEL_MAX_RANK];
    int64_t b_batch_stride[KERNEL_MAX_RANK];

    struct kernel_lines a_lines, b_lines, y_lines; /* rows of a, columns of b, rows of y */
};

/** Those said to be NULL may be. Zero points have the type of what they belong to. */
struct kernel_product_data {
    void *y;
    const void *a, *b;
    const void *c; /* NULL: 0; shared by the batch; int32 where y is quantised, beta being 1 then */
    const void *a_zero, *b_zero, *y_zero; /* NULL: 0 */
    const void *a_scale, *b_scale;        /* not NULL where y_scale is not */
    const void *y_scale;                  /* NULL: y is not quantised */
};

/** y [batch..., m, n] = alpha * (op(a) - a_zero) * (op(b) - b_zero) + beta * c. Where y is
 * quantised it is saturate(round(y * a_scale * b_scale / y_scale) + y_zero), halves to even. An
 * integer result with alpha and beta other than 1 is computed in f64 and cut off. */
typedef void product_fn(const struct kernel_product_data *data, const struct kernel_product *shape);

struct kernel_determinant {
    enum kernel_dtype dtype; /* a real one */
    int64_t batch, size;
};

/** y [batch]: the determinant of each matrix of x [batch, size, size]; of size 0 it is 1. workspace: size *
 *  size. */
typedef void determinant_fn(void *y, const void *x, double *workspace,
                            const struct kernel_determinant *shape);

/** y: the inverse of each matrix of x, both [batch, size, size]; of one that has none, what dividing by 0 gives.
 *  workspace: 2 * size * size. */
typedef void inverse_fn(void *y, const void *x, double *workspace,
                        const struct kernel_determinant *shape);

enum { KERNEL_EINSUM_OPERANDS = 16, KERNEL_EINSUM_AXES = 24 };

/** The sum runs over `summed` axes behind the `kept` ones, which are y's. */
struct kernel_einsum {
    enum kernel_dtype dtype;
    int operands; /* 1 to KERNEL_EINSUM_OPERANDS */
    int kept, summed;
    int64_t dims[KERNEL_EINSUM_AXES];
    int64_t strides[KERNEL_EINSUM_OPERANDS][KERNEL_EINSUM_AXES]; /* in elements; 0: not its axis */
};

/** y[kept] = sum of the products of one element of each operand. Versions agree for f32 as products
 *  of gemm_f32_fn do. */
typedef void einsum_fn(void *y, const void *const *operands, const struct kernel_einsum *shape);

/* See KERNEL_DECLARE(). */
#define PRODUCT_KERNELS(KERNEL)                                                                    \
    KERNEL(determinant, REF);                                                                      \
    KERNEL(inverse, REF);                                                                          \
    KERNEL(product, EACH);                                                                         \
    KERNEL(einsum, EACH)
PRODUCT_KERNELS(KERNEL_DECLARE);

#endif
