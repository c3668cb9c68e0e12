/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of f32 matrix products: one that takes both matrices as they are, and plans, which
 * bring a constant right matrix into the order that their kernel wants, once. What is common to all
 * contracts stands in kernels.h, which includes this.
 */
#ifndef OPTRACE_KERNELS_GEMM_F32_H
#define OPTRACE_KERNELS_GEMM_F32_H

#include "kernels/activation.h"
#include "kernels/dtype.h"

struct kernel_gemm {
    int64_t m, n, k;
    bool trans_a, trans_b; /* a is stored as [k, m], b as [n, k] */
    float alpha, beta;
    int64_t c_row_stride, c_col_stride; /* of c, in elements; 0 where it is broadcast */

    /* Many products of the same size; batch_rank 0 is one. Strides in elements, 0: broadcast. */
    int batch_rank;
    int64_t batch_dims[KERNEL_MAX_RANK];
    int64_t a_batch_stride[KERNEL_MAX_RANK];
    int64_t b_batch_stride[KERNEL_MAX_RANK];

    /* From one row of a matrix to the next as it is stored, in elements; 0: dense. */
    int64_t a_line, b_line, y_line;
    int64_t y_batch_stride[KERNEL_MAX_RANK]; /* read where y_line is not 0 */

    struct kernel_plan_types types; /* of plans only */
};

/** y's matrices follow each other where y_line is 0. */
static inline int64_t kernel_gemm_y_line(const struct kernel_gemm *shape)
{
    return shape->y_line ? shape->y_line : shape->n;
}

static inline int64_t kernel_gemm_a_line(const struct kernel_gemm *shape)
{
    return shape->a_line ? shape->a_line : shape->trans_a ? shape->m : shape->k;
}

static inline int64_t kernel_gemm_b_line(const struct kernel_gemm *shape)
{
    return shape->b_line ? shape->b_line : shape->trans_b ? shape->k : shape->n;
}

/** Where the matrices with this number begin, of all combinations of batch_dims. */
struct kernel_gemm_place {
    int64_t a, b, y;
};

static inline struct kernel_gemm_place kernel_gemm_place(const struct kernel_gemm *shape,
                                                         int64_t index)
{
    struct kernel_gemm_place at = {0, 0, shape->y_line ? 0 : index * shape->m * shape->n};

    for (int i = shape->batch_rank - 1; i >= 0; i--) {
        int64_t c = index % shape->batch_dims[i];

        at.a += c * shape->a_batch_stride[i];
        at.b += c * shape->b_batch_stride[i];
        at.y += shape->y_line ? c * shape->y_batch_stride[i] : 0;
        index /= shape->batch_dims[i];
    }
    return at;
}

/**
 * y = alpha * op(a) * op(b) + beta * c for each matrix of the batch; y [batch..., m, n] is dense
 * unless it has a y_line.
 * c may be NULL, is shared by the batch, and is not read when beta is 0.
 *
 * ref sums in f64. Agrees to (1e-6 + 2e-7 * sqrt(k)) * (|alpha| * sum of |a * b| + |beta * c|).
 */
typedef void gemm_f32_fn(float *y, const float *a, const float *b, const float *c,
                         const struct kernel_gemm *shape);

/**
 * y = activation(a * op(b) + bias), for one b. y [m, n] and a [m, k] are dense.
 *
 * Made and run by threads whose kernel_threads() are the same, run by one thread at a time.
 * Tolerance as above; an activation adds what it allows itself. Weights of f16 and bf16 are kept so:
 * see kernel_conv_plan.
 */
struct kernel_gemm_plan;

/**
 * shape    m, n, k, trans_b and types count; the rest is not read
 * b, bias  read during this call only; b of the type in shape->types; bias [n] or NULL
 *
 * Returns 0, -ENOMEM, or -ENOTSUP when no kernel is faster than gemm_f32_fn for this shape.
 */
int kernel_gemm_plan_create(const struct kernel_gemm *shape, const void *b, const float *bias,
                            const struct kernel_activation *activation,
                            struct kernel_gemm_plan **out_plan);

/** Accepts NULL; sets *plan to NULL. */
void kernel_gemm_plan_destroy(struct kernel_gemm_plan **plan);

/** workspace: 64-byte aligned scratch of the bytes that the plan asks for. Returns 0 or -EIO when
 *  the library under it failed. */
int kernel_gemm_plan_run(struct kernel_gemm_plan *plan, void *y, const void *a, void *workspace);

struct kernel_gemm_plan_info {
    const char *version; /* "dnnl:brg:avx512_core"; lives as long as the plan */
    size_t workspace_bytes;
    const void *weights; /* the plan's own copy of b, and the bias behind it */
    size_t weights_bytes;
    enum kernel_dtype a, y; /* what it reads and writes: f32, or what it was allowed as x and y */
};

struct kernel_gemm_plan_info kernel_gemm_plan_info(const struct kernel_gemm_plan *plan);

/* See KERNEL_DECLARE(). */
#define GEMM_F32_KERNELS(KERNEL) KERNEL(gemm_f32, EACH)
GEMM_F32_KERNELS(KERNEL_DECLARE);

#endif
