/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs from short texts, for tests of the runtime:
 *
 *     struct graph *g = build_graph(13);
 *     build_node(g, "Conv", "x:f32 1,3,8,8; w:f32 4,3,3,3", "pads=[1,1,1,1]", "y");
 *     build_output(g, "y");
 *
 * An input is a name that exists, or is made on the spot: "x:f32 1,3" is a graph input, "s:f32" a
 * scalar one; "k:i64=2,3" a constant vector, "k:i64 2,2=1,2,3,4" a constant of that shape, "a:f32
 * =1.5" a constant scalar; "-" is left out. Attributes: "axis=1 pads=[1,2] mode='edge' alpha=0.5
 * a=[0.5] b=['x','y']". Everything fails the test on a mistake.
 */
#ifndef OPTRACE_TESTS_SUPPORT_GRAPH_BUILD_H
#define OPTRACE_TESTS_SUPPORT_GRAPH_BUILD_H

#include "runtime/graph/graph.h"

struct graph *build_graph(int64_t opset);

struct value *build_value(struct graph *graph, const char *text);

struct node *build_node(struct graph *graph, const char *op_type, const char *inputs,
                        const char *attributes, const char *outputs);

void build_output(struct graph *graph, const char *name);

/** "f32 1,3,8,8", "i64" for a scalar. `out` has at least 100 bytes. */
const char *build_type_text(const struct value *value, char *out);

/** Fill every graph input with numbers from `seed`, compute all nodes in order with the reference
 *  kernels, and return a copy of output `index`'s elements; the caller frees it. float32 graphs. */
float *build_evaluate(const struct graph *graph, uint32_t index, uint32_t seed);

/** All shapes and types. */
void build_infer(struct graph *graph);

/** What a pass returns, which is not negative; output 0 keeps its shape, and its elements to within `tolerance`. Shapes
 *  are inferred before and after. */
int build_apply(struct graph *graph, int (*pass)(struct graph *graph, struct diag *diag),
                double tolerance);

#endif
