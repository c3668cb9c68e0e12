/* SPDX-License-Identifier: Apache-2.0 */
/* The text form of a graph: a line per input, constant and node, in execution order. */
#ifndef OPTRACE_RUNTIME_GRAPH_TEXT_H
#define OPTRACE_RUNTIME_GRAPH_TEXT_H

#include <stdio.h>

#include "base/json.h"
#include "runtime/graph/graph.h"

/**
 * Write the graph, for people:
 *
 *     module: "main"
 *     x = @param -> float32, {1,3,8,8}
 *     w = @literal{ ... } -> float32, {4,3,3,3}
 *     y = Conv[pads={1,1,1,1}](x,w) + Relu -> float32, {1,4,8,8} # conv1, relu1
 *     @return(y)
 *
 * Values go by their names in the model. Literals of up to ten elements show them. "+" lists what
 * is fused, in the order in which it is applied ("+ z" adds tensor z, then "+ Relu"). Behind "#"
 * stand the names of the model's nodes that the line does the work of.
 */
void graph_text_write(const struct graph *graph, FILE *out);

/** "name=value" as above. */
void graph_text_attribute(const struct attribute *attribute, FILE *out);

/** One element: a number with so many digits, or a text in quotes. */
void graph_text_element(const struct tensor_view *tensor, int64_t index, int digits, FILE *out);

/** "{1, 2}" of up to ten elements, else "{ ... }". */
void graph_text_elements(const struct tensor_view *tensor, FILE *out);

/** What is fused into a node, "Relu", "Clip[0,6]"; "" for nothing. */
void graph_text_activation(const struct fused *fused, FILE *out);

/** The attributes of a node, and what is fused into it, as members of the JSON object that is open:
 *  the op's parameters in profiles and traces. Tensors are left out. */
void graph_text_params(const struct node *node, struct json_writer *json);

#endif
