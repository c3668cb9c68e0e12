/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If and Loop: running the bodies of a node, node by node.
 *
 * Each node of a body is inferred from what is really there and computed at once, so that sizes may
 * change from one turn of a loop to the next. That costs more per node than a planned run does, and
 * allocates; where nothing has changed that sizes follow from, what was found serves again, from turn to turn and from
 * run to run (body_calls.h).
 *
 * A body may hold any operator, and If and Loop are operators: so the table of operators leads to
 * what runs a body, and that back to the table, for shapes (shape/infer.c) and for kernels (eval.c).
 * scripts/call-rules lets this circle of files in.
 */
#ifndef OPTRACE_RUNTIME_OPS_CONTROL_H
#define OPTRACE_RUNTIME_OPS_CONTROL_H

#include "base/diag.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/eval.h"

/** A loop that takes more turns is stopped with -E2BIG. */
enum { CONTROL_TURNS_MAX = 1 << 20 };

/** Whether the node holds bodies. */
bool control_is(const struct node *node);

/** Nodes in all bodies of the node, and in theirs. They are numbered through: the bodies by
 *  attribute, their nodes in order, each followed by what is inside of it. */
uint32_t control_inner_count(const struct node *node);

/** Check that bodies are there and fit the node's inputs and outputs. -EINVAL with the reason. */
int control_check(const struct node *node, struct diag *diag);

/**
 * inputs   node->input_count of them, with data; left-out ones have DTYPE_NONE
 * outputs  node->output_count of them; filled with dtype, shape and data, which the caller frees.
 *          After failure all data is NULL.
 *
 * Returns 0, or a negative errno with the reason in diag. Not two threads at once over one node.
 */
int control_run(const struct node *node, const struct tensor_view *inputs,
                struct tensor_view *outputs, const struct eval_options *options, struct diag *diag);

/** What a body of the node is fed of its captures; the body's own inputs are `own` views. */
void control_feed_captures(const struct graph *body, const struct tensor_view *node_inputs,
                           struct tensor_view *body_inputs);

#endif
