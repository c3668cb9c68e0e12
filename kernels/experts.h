/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contract of products of rows by matrices that each row chooses, as the layers of a mixture of experts are. Apart from
 * the kernel table: the fast version multiplies by whatever gemm_f32_fn it is given.
 */
#ifndef OPTRACE_KERNELS_EXPERTS_H
#define OPTRACE_KERNELS_EXPERTS_H

#include "kernels/kernels.h"

struct kernel_experts {
    enum kernel_dtype dtype; /* a real one */
    int64_t experts, k, n;   /* matrices [k, n]; n >= 1 */
    int64_t rows;            /* of y */
    int64_t each;            /* rows of y that one of x makes, each by another matrix; >= 1 */
};

/** Those said to be NULL may be. */
struct kernel_experts_data {
    void *y;               /* [rows, n] */
    const void *x;         /* [rows / each, k] */
    const int64_t *chosen; /* [rows]: which matrix */
    const void *w;         /* [experts, k, n] */
    const void *bias;      /* [experts, n]; NULL: 0 */
    void *workspace;       /* kernel_experts_room() bytes, 64-byte aligned */
};

size_t kernel_experts_room(const struct kernel_experts *shape);

/** y[i] = x[i / each] * w[chosen[i]] + bias[chosen[i]]. Returns 0, or -1 where a choice is not within [0, experts). The
 *  versions agree as those of gemm_f32_fn do. gemm: of the fast one, which gives rows of the same choice to it together;
 *  the reference, which types other than f32 have, does not look at it. */
typedef int experts_fn(const struct kernel_experts_data *data, const struct kernel_experts *shape,
                       gemm_f32_fn *gemm);
experts_fn experts_ref, experts_grouped;

#endif
