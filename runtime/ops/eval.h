/* SPDX-License-Identifier: Apache-2.0 */
/* Compute one node right now with the plain reference kernels: for folding constants at load time,
 * and as the truth in tests. Not for timed runs. */
#ifndef OPTRACE_RUNTIME_OPS_EVAL_H
#define OPTRACE_RUNTIME_OPS_EVAL_H

#include "base/diag.h"
#include "runtime/graph/graph.h"

struct kernel_table;
struct call_watch;

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

/** The same with the kernels that a run has. For contents that decide sizes: how many numbers are 0
 *  after a logarithm is then what the run finds, too. */
int eval_node_as_run(const struct graph *graph, const struct node *node,
                     const struct tensor_view *inputs, struct tensor_view *outputs,
                     struct diag *diag);

/** With which kernels, and who watches the steps inside of the node. */
struct eval_options {
    const struct kernel_table *kernels;
    const struct call_watch *watch; /* NULL: nobody */
    uint32_t first_inner;           /* number of the first step inside of the node; where somebody
                                       watches, the node itself is the one before */
};

/** The same with other kernels than the reference ones; large convolutions by those that prepare their
 *  weights then. */
int eval_node_with(const struct graph *graph, const struct node *node,
                   const struct tensor_view *inputs, struct tensor_view *outputs,
                   const struct eval_options *options, struct diag *diag);

#endif
