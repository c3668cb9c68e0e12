/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of one f32 operand that other kernels apply to their results, too. */
#ifndef OPTRACE_KERNELS_ACTIVATION_H
#define OPTRACE_KERNELS_ACTIVATION_H

enum kernel_unary {
    KERNEL_IDENTITY,   /* of an activation only: the table has no such function */
    KERNEL_RELU,       /* max(x, 0) */
    KERNEL_LEAKY_RELU, /* x < 0 ? a * x : x */
    KERNEL_CLIP,       /* min(max(x, a), b) */
    KERNEL_SIGMOID,    /* 1 / (1 + exp(-x)) */
    KERNEL_TANH,
    KERNEL_UNARY_COUNT,
    KERNEL_GELU_TANH = KERNEL_UNARY_COUNT, /* MAP_GELU_TANH: of gemm_half, and not in the table */
    KERNEL_ACTIVATION_COUNT,
};

/** What is applied to each result of another operation. {0} is the identity. */
struct kernel_activation {
    enum kernel_unary kind;
    float a, b;
};

#endif
