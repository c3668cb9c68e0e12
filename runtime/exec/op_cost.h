/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a step computes and how many bytes it moves: the columns `computation` and `memory` of
 * profiles and traces.
 *
 * Computation counts the arithmetic operations of the operator's definition, whatever algorithm
 * computes it; a multiply and an add are two. The formulas are MegEngine's where it has one
 * (element-wise, Conv, matrix product, pooling), so that figures can be compared; elems(t) is the
 * number of elements of t:
 *
 *     element-wise       elems(y) * (max(number of inputs, 2) - 1)
 *     Conv               elems(y) * 2 * channels / group * (size of the kernel window)
 *     Gemm, MatMul       2 * m * n * k * (size of the batch)
 *     MaxPool, AveragePool   elems(y) * (size of the window); global pools: elems(x)
 *
 * Ours, where it has none: a bias, a residual and a fused activation add elems(y) each;
 * BatchNormalization elems(y) * 2 (scale and shift, which follow from constants); Softmax elems(y)
 * * 5 (maximum, difference, exponential, sum, quotient); LRN elems(y) * (2 * size + 4). What only
 * moves or copies elements (Reorder, Concat, Transpose, Gather, Cast ...) computes 0, where
 * MegEngine counts the elements moved. Any other operator is not known.
 *
 * Memory is what the definition reads and writes once: all inputs, weights included, and all
 * outputs; of Gather and Slice only the elements that are picked. Scratch memory does not count.
 */
#ifndef OPTRACE_RUNTIME_EXEC_OP_COST_H
#define OPTRACE_RUNTIME_EXEC_OP_COST_H

#include "runtime/exec/exec.h"

struct footprint {
    int64_t computation;  /* operations; -1: not known */
    int64_t memory_bytes; /* -1: not known */
};

struct footprint footprint_of(const struct exec_step *step);

#endif
