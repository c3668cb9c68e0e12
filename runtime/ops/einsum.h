/* SPDX-License-Identifier: Apache-2.0 */
/* The equation of an Einsum, as the kernel wants it: which axis of which operand is which axis of
 * the sum. */
#ifndef OPTRACE_RUNTIME_OPS_EINSUM_H
#define OPTRACE_RUNTIME_OPS_EINSUM_H

#include "kernels/kernels.h"
#include "runtime/graph/graph.h"

/**
 * Work out axes, dims and strides of "ij,jk->ik" for operands of these shapes; the output has the
 * dims of the kept axes. out_einsum->dtype is left 0.
 *
 * count  1 to KERNEL_EINSUM_OPERANDS
 *
 * Returns NULL, or what is wrong with the equation, as words that live forever.
 */
const char *einsum_parse(const char *equation, const struct shape *const *operands, int count,
                         struct kernel_einsum *out_einsum);

#endif
