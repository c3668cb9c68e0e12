/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shape inference: dtype and shape of every value, from those of the graph's inputs.
 *
 * Works on shapes that are known: the inputs of the graph must be bound to sizes first. Where a
 * shape depends on integers that the graph computes from shapes and constants (Shape, Gather,
 * Concat, Reshape ...), those are computed along the way.
 */
#ifndef OPTRACE_RUNTIME_OPS_SHAPE_SHAPE_H
#define OPTRACE_RUNTIME_OPS_SHAPE_SHAPE_H

#include "base/diag.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/eval.h"

/** eval_node(), or NULL where integers need not be computed. */
typedef int eval_fn(const struct graph *graph, const struct node *node,
                    const struct tensor_view *inputs, struct tensor_view *outputs,
                    struct diag *diag);

/**
 * Set dtype and shape of every value of a sorted graph.
 *
 * Returns 0; -ENOTSUP for an operator or form that is not supported, which the diag names with its
 * node and its operator set, or for a shape that depends on data; -EINVAL where the graph
 * contradicts itself or the type declared for an output; -ENOMEM. An output of another shape than
 * the declared one is written down in graph->notice.
 * For tests.
 */
int shape_infer(struct graph *graph, eval_fn *eval, struct diag *diag);

/**
 * The same, where shapes may also depend on the content of the graph's inputs (the target of a
 * Reshape, the boxes that a NonMaxSuppression keeps).
 *
 * contents  by position in graph->inputs: as they are bound, with the data where it is given, else
 *           with data NULL. Read only where a shape needs it: the graph is then right for that
 *           content alone, which the input keeps a copy of (value->known)
 * For tests.
 */
int shape_infer_for(struct graph *graph, const struct tensor_view *contents, eval_fn *eval,
                    struct diag *diag);

/** What a content is computed of: nodes without bodies and texts whose other inputs are known. */
struct shape_part {
    const bool *nodes;           /* by node->index */
    struct value *const *wanted; /* of what they make: to be `known` */
    uint32_t wanted_count;
};

/** Compute it all, faster than node by node. Returns 1; 0 where it does not pay, or did not work out: nothing has changed then; -ETIME. */
typedef int shape_part_fn(void *user, const struct graph *graph, const struct shape_part *part,
                          struct diag *diag);

struct shape_sources {
    const struct tensor_view *contents;
    eval_fn *eval;
    shape_part_fn *compute_part; /* or NULL */
    void *user;                  /* of compute_part */
};

/** shape_infer_for() with somebody who computes much at once. Errors as that and compute_part. */
int shape_infer_from(struct graph *graph, const struct shape_sources *sources, struct diag *diag);

/** One node whose inputs are inferred, and whose inputs' content is in `known` where it matters.
 *
 *  out_asked  a bit for each input that is no constant and whose content its outputs' types depend on; the last one
 *             for all further inputs. Of all others it is the types alone
 */
int shape_infer_node(const struct graph *graph, const struct node *node, eval_fn *eval,
                     uint64_t *out_asked, struct diag *diag);

/**
 * Shapes of a body that is fed like this. Afterwards its values hold what is known of their content
 * until shape_forget_body().
 *
 * inputs     by position in body->inputs; data is borrowed until then, NULL: not known
 * out_asked  whether types depend on the content of anything but constants
 */
int shape_infer_body(struct graph *body, const struct tensor_view *inputs, eval_fn *eval,
                     bool *out_asked, struct diag *diag);

void shape_forget_body(struct graph *body);

/** Feed a body; as for shape_infer_body(). */
void shape_feed_body(struct graph *body, const struct tensor_view *inputs);

/** Compute a node whose output follows from attributes and input shapes alone (Constant, Shape)
 * into output->data, which has room for it. -ENOTSUP for any other operator. */
int shape_evaluate(const struct node *node, const struct tensor_view *output);

#endif
