/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that stand for several standard ones: what ONNX Runtime's optimisers and quantisers
 * write (com.microsoft), and linear models (ai.onnx.ml). A model's nodes of these types are replaced
 * as it is read, so that neither shapes nor kernels know them; passes fuse what comes of it.
 */
#ifndef OPTRACE_RUNTIME_OPS_LOWER_LOWER_H
#define OPTRACE_RUNTIME_OPS_LOWER_LOWER_H

#include "base/diag.h"
#include "runtime/graph/graph.h"

/** Replace all such nodes of a graph, which need not be sorted yet. Returns 0, -ENOTSUP with a
 *  sentence that names the node and what of it is not supported, -EINVAL or -ENOMEM. */
int lower_graph(struct graph *graph, struct diag *diag);

/** One of these operators: its full type and what it becomes, for people. NULL behind the last.
 *  For tests: docs/operators.md is held to it. */
struct lower_facts {
    const char *type, *becomes;
};
const struct lower_facts *lower_facts_at(size_t index);

#endif
