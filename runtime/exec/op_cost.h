/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a step computes and how many bytes it moves: the columns `computation` and `memory` of
 * profiles and traces.
 *
 * Computation counts the arithmetic operations of the operator's definition by the formulas of
 * base/op_flop.h; a residual and a fused activation add elems(y) each, a chain of element-wise
 * operators elems(y) for each of them, and a reorder computes 0.
 *
 * Memory is what the definition reads and writes once: all inputs, weights included, and all
 * outputs; of Gather and Slice only the elements that are picked. Scratch memory does not count.
 */
#ifndef OPTRACE_RUNTIME_EXEC_OP_COST_H
#define OPTRACE_RUNTIME_EXEC_OP_COST_H

#include "runtime/exec/exec.h"

struct op_cost {
    int64_t computation;  /* operations; -1: not known */
    int64_t memory_bytes; /* -1: not known */
};

/** Operations of a node whose shapes are known, by the definition; -1: not known. */
int64_t op_cost_computation(const struct node *node);

struct op_cost op_cost_of(const struct exec_step *step);

#endif
