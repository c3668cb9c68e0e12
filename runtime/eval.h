/* SPDX-License-Identifier: Apache-2.0 */
/* Compute one node right now with the plain reference kernels: for folding constants at load time,
 * and as the truth in tests. Not for timed runs. */
#ifndef OPTRACE_RUNTIME_EVAL_H
#define OPTRACE_RUNTIME_EVAL_H

#include "base/diag.h"
#include "runtime/graph.h"

/**
 * inputs   node->input_count of them; left-out ones have DTYPE_NONE and data NULL
 * outputs  node->output_count of them; dtype and shape are set (by shape inference), data has room
 *          for them; left-out ones have data NULL. Never aliases an input.
 *
 * Computes what node->fused says, too. Returns 0; -ENOTSUP when there is no kernel for this
 * operator or these dtypes (diag names both); -EINVAL when the inputs make no sense; -ENOMEM. Any
 * thread. No state.
 */
int eval_node(const struct graph *graph, const struct node *node, const struct tensor_view *inputs,
              struct tensor_view *outputs, struct diag *diag);

#endif
