/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of what is stored in half precision and computed in float32: convolutions, matrix
 * products and chains of element-wise operations. What is common to all contracts stands in
 * kernels.h, which includes this. A CPU has the references alone: there tensors are converted to
 * float32 and back around the kernels of that type, and plans keep weights in half (kernel_plan_types).
 *
 * A result of f16 or bf16 is rounded to it, halves to even. Where `saturates` is set, what is finite
 * in float32 stays so: beyond the largest number it becomes that. Where libraries compute convolutions
 * and products, what they have rounded to infinity does, also before something is added to it; in bf16
 * it stays infinite.
 */
#ifndef OPTRACE_KERNELS_HALF_H
#define OPTRACE_KERNELS_HALF_H

#include "kernels/chain.h"
#include "kernels/conv_f32.h"
#include "kernels/gemm_f32.h"

struct kernel_conv_half {
    struct kernel_conv conv;                    /* also transposed: then row-major images */
    enum kernel_dtype dtype;                    /* of x, w and y: f16 or bf16 */
    enum kernel_dtype bias_type, residual_type; /* this or f32 */
    bool saturates;
};

/**
 * As conv_f32_fn, or where transposed as conv_transpose_fn with what stands behind the former; then
 * w is [channels, filters / groups, kernel...].
 *
 * ref sums in f64. Agrees to (1e-6 + 2e-7 * sqrt(K) + u) * (sum of |x * w| + |bias| + |residual|), u of
 * |y|, and the smallest number of the type, K being the number of products, and u 2^-10 of f16 and 2^-7
 * of bf16: what is added may be added to a rounded sum. An activation adds what it allows itself.
 */
typedef void conv_half_fn(void *y, const void *x, const void *w, const void *bias,
                          const void *residual, const struct kernel_conv_half *shape);

struct kernel_gemm_half {
    struct kernel_gemm gemm;
    enum kernel_dtype dtype;          /* of a and b: f16, bf16, or f32 for the activation's sake */
    enum kernel_dtype y_type, c_type; /* this or f32 */
    struct kernel_activation activation;
    bool saturates;
};

/** y = activation(what gemm_f32_fn computes). ref sums in f64; agrees as conv_half_fn does, where y is
 *  f32 with u = 0. */
typedef void gemm_half_fn(void *y, const void *a, const void *b, const void *c,
                          const struct kernel_gemm_half *shape);

struct kernel_chain_half {
    struct kernel_chain chain;                    /* its type is not read */
    enum kernel_dtype types[KERNEL_CHAIN_INPUTS]; /* of the first any, of others f32, f16, bf16 */
    enum kernel_dtype y_type;                     /* f32, f16 or bf16 */
    bool saturates;
};

/** As chain_fn, in float32; the result is rounded once. y may be an input of its type under the same
 *  rule. Agrees as chain_fn does, and to a unit in the last place of its type. */
typedef void chain_half_fn(void *y, const void *const *inputs,
                           const struct kernel_chain_half *chain);

/* See KERNEL_DECLARE(). */
#define HALF_KERNELS(KERNEL)                                                                       \
    KERNEL(conv_half, REF);                                                                        \
    KERNEL(gemm_half, REF);                                                                        \
    KERNEL(chain_half, REF)
HALF_KERNELS(KERNEL_DECLARE);

#endif
