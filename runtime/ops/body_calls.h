/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the nodes in the bodies of one If or Loop, kept from turn to turn and from run to run: a node is
 * bound anew, and lays its weights out anew, only when the types of its tensors are others than before.
 *
 * They are bound as a planned run binds them: of what the node reads, content is shown of that alone which is
 * the same in every run. What cannot be bound so, as its sizes stand in numbers that change, is not kept.
 *
 * Nor are shapes inferred anew where nothing that they follow from is another: for each node body_calls_recall(),
 * and where that says so body_calls_repeat(); else inference, body_calls_run() and body_calls_note().
 *
 * A body may hold an If or a Loop, whose call has kept ones of its own: this is part of the circle of
 * ops/control.h.
 */
#ifndef OPTRACE_RUNTIME_OPS_BODY_CALLS_H
#define OPTRACE_RUNTIME_OPS_BODY_CALLS_H

#include "base/diag.h"
#include "runtime/ops/eval.h"

struct body_calls;

/** count: nodes in all the bodies. 0 or -ENOMEM. */
int body_calls_create(uint32_t count, struct body_calls **out_calls);

/** Accepts NULL; sets *calls to NULL. */
void body_calls_destroy(struct body_calls **calls);

/**
 * As eval_node_with(), by the call that is kept for the node with this number.
 *
 * is_fixed  by the node's inputs: that its content is the same in every run, at the same address
 *
 * Returns 1, and nothing was done, where none can be kept. Not two threads at once.
 */
int body_calls_run(struct body_calls *calls, uint32_t number, const struct graph *body,
                   const struct node *node, const struct tensor_view *inputs, const bool *is_fixed,
                   struct tensor_view *outputs, const struct eval_options *options,
                   struct diag *diag);

/** After body_calls_run() of the node: what the types of its outputs depend on besides those of its inputs, as
 *  shape_infer_node() says. Does nothing without memory. */
void body_calls_note(struct body_calls *calls, uint32_t number, const struct node *node,
                     const struct tensor_view *inputs, const bool *is_fixed, uint64_t asked);

/** Whether all of that is as it was: then the node's outputs have their types now. */
bool body_calls_recall(struct body_calls *calls, uint32_t number, const struct node *node);

/** Then: what the node computes, into `known` of its outputs. Small results that stay within the body are lent: they
 *  are there until the node runs again. */
int body_calls_repeat(struct body_calls *calls, uint32_t number, const struct graph *body,
                      const struct node *node, const struct eval_options *options,
                      struct diag *diag);

#endif
