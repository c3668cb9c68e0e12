/* SPDX-License-Identifier: Apache-2.0 */
/* Compute one node right now with the plain reference kernels: for folding constants at load time,
 * and as the truth in tests. Not for timed runs. */
#ifndef OPTRACE_RUNTIME_OPS_EVAL_H
#define OPTRACE_RUNTIME_OPS_EVAL_H

#include "base/diag.h"
#include "runtime/graph/graph.h"

struct kernel_table;
struct call;
struct call_request;
struct call_watch;
struct body_calls;

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
    struct body_calls *calls;       /* of the nodes inside, which are kept; NULL: none are */
    uint32_t first_call;            /* the number of the first of them */
    /* By the inputs of the node; in a body, by the inputs of that: its content is the same in
     * every run. NULL: nothing is known of any. */
    const bool *is_fixed;
};

/** The same with other kernels than the reference ones; large convolutions by those that prepare their
 *  weights then. */
int eval_node_with(const struct graph *graph, const struct node *node,
                   const struct tensor_view *inputs, struct tensor_view *outputs,
                   const struct eval_options *options, struct diag *diag);

/** The call that eval_node_with() runs, alone. Where a request shows_fixed, all convolutions and products whose
 *  weights are shown lay them out. As call_bind(); -EAGAIN where it is better bound with what is not shown. */
int eval_bind(const struct call_request *request, struct call *out_call);

/** Runs it, once inputs, outputs and workspace are set, and tells who watches. As call_run(), with diag. */
int eval_run(const struct graph *graph, const struct node *node, struct call *call,
             const struct eval_options *options, struct diag *diag);

#endif
