/* SPDX-License-Identifier: Apache-2.0 */
/* Products as cuBLASLt takes them: product.c makes them of what the contracts say, product_plan.c
 * decides what computes each, and runs it. Inside of kernels/cuda only. */
#ifndef OPTRACE_KERNELS_CUDA_PRODUCT_H
#define OPTRACE_KERNELS_CUDA_PRODUCT_H

#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/device.h"

/** What is added to y. */
enum product_addend {
    ADDEND_NONE,
    ADDEND_BIAS, /* a number per column */
    ADDEND_FULL, /* a matrix in c's own place */
    ADDEND_Y,    /* it was spread out in y before */
};

/** Batches of matrices, by rows: y = alpha * op(a) * op(b) + beta * addend, and a function of that. All
 *  that a plan hangs on; compared byte by byte. */
struct product_shape {
    int64_t m, n, k;
    int64_t a_line, b_line, c_line, y_line; /* from row to row as it is stored, in elements */
    int64_t batches, a_stride, b_stride, y_stride;
    uint32_t a_alignment, b_alignment, c_alignment, y_alignment; /* of addresses */
    int16_t dtype, y_type;                                       /* of a and b; of y and c */
    int16_t trans_a, trans_b;
    int32_t addend;
    int32_t behind; /* the addend: KERNEL_IDENTITY, KERNEL_RELU or KERNEL_GELU_TANH */
};
_Static_assert(sizeof(struct product_shape) == 11 * 8 + 8 * 4, "its gaps would be compared, too");

struct product_run {
    struct product_shape shape;
    const void *a, *b, *c;
    void *y;
    double alpha, beta;
};

/** The own kernel for a call of the table. */
typedef void product_own_fn(const void *call);

struct product_plan;

struct product_call {
    struct product_run *runs; /* of one shape */
    int count;                /* 0: cuBLASLt does not take it */
    product_own_fn *own;
    const void *call;
    struct product_plan *plan; /* by product_is_planned() */
    bool is_refused;           /* by the same: cuBLASLt has nothing for it */
};

/** Whether cuBLASLt is to compute it: then product_run() does. Makes a plan where there is none yet,
 *  unless a graph is being captured. False: the own kernel has to. */
bool product_is_planned(struct kernel_cuda *cuda, struct product_call *call);
void product_run(struct kernel_cuda *cuda, const struct product_call *call);

#endif
