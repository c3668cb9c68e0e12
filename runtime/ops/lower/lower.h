/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that stand for several standard ones: what ONNX Runtime's optimisers and quantisers
 * write (com.microsoft), models without trees (ai.onnx.ml), scans, sequences, windows. A model's nodes of these types are replaced
 * as it is read, so that neither shapes nor kernels know them; passes fuse what comes of it.
 */
#ifndef OPTRACE_RUNTIME_OPS_LOWER_LOWER_H
#define OPTRACE_RUNTIME_OPS_LOWER_LOWER_H

#include "base/diag.h"
#include "runtime/graph/graph.h"

/** Replace all such nodes of a graph, which need not be sorted yet. Returns 0, -ENOTSUP with a
 *  sentence that names the node and what of it is not supported, -EINVAL or -ENOMEM. */
int lower_graph(struct graph *graph, struct diag *diag);

/** Replace each If whose condition is known by its branch: also of what follows from shapes, once these are
 *  inferred, which those of the branches then are not. Returns how many, or as lower_graph(). */
int lower_decided(struct graph *graph, struct diag *diag);

/** Replace what lower_graph() made for kernels of a CPU alone, products by weights of 4 bits and by those that rows choose, LSTMs of bytes: all
 *  on a device, which has no kernel of them; else, where weights are to be stored in `half`, those that are faster so. Shapes are to be inferred once
 *  more. Returns how many, or as lower_graph(). */
int lower_for_device(struct graph *graph, bool on_device, enum dtype half, struct diag *diag);

/** Whether a node may bring a body, though it is no If and no Loop: it becomes one. */
bool lower_takes_body(const struct node *node);

/**
 * The tensors in a sequence or optional that is an output of the graph.
 *
 * port         says which it is; its count and is_empty are set
 * out_tensors  the caller frees the array; the values may be constants, inputs, or the same ones
 *
 * Errors as lower_graph(): -ENOTSUP where they are not known before the model runs.
 */
int lower_output(struct graph *graph, struct value *whole, struct port *port,
                 struct value ***out_tensors, struct diag *diag);

/** Remove what makes sequences and optionals and is read by nobody: rules took what is in them.
 *  After the graph's outputs are known. */
void lower_prune(struct graph *graph);

/** One of these operators: its full type and what it becomes, for people. NULL behind the last.
 *  For tests: docs/operators.md is held to it. */
struct lower_facts {
    const char *type, *becomes;
};
const struct lower_facts *lower_facts_at(size_t index);

#endif
