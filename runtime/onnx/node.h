/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graphs of an ONNX model, their nodes and attributes; shared by model.c and node.c.
 *
 * A graph holds nodes, a node attributes, and an attribute may be a graph: so model.c, which reads
 * graphs, and node.c call each other, as deep as MODEL_DEPTH_MAX. scripts/call-rules lets them.
 */
#ifndef OPTRACE_RUNTIME_ONNX_NODE_H
#define OPTRACE_RUNTIME_ONNX_NODE_H

#include "runtime/graph/graph.h"
#include "runtime/onnx/cut.h"
#include "runtime/onnx/function.h"
#include "runtime/onnx/model.h"
#include "runtime/onnx/onnx.pb-c.h"

enum { MODEL_DEPTH_MAX = 8 }; /* of bodies inside of bodies */

/** Where a graph was found. */
struct model_place {
    int folder_fd;              /* of the model's folder, or -1 */
    int depth;                  /* 0: the model's graph; else a body */
    const struct onnx_cut *cut; /* of the model's graph; NULL: the message has all. Not in bodies */
    bool may_share;             /* parameters may stay where they are, else they are copied */
    bool defers;                /* large weights stay there for now: value_defer_data() */
    const bool *may_defer;      /* which ones, by initialiser; of the model's graph; or NULL */
    bool is_mapped;             /* what was cut lies in a mapped file */
    const struct model_sequences *sequences;     /* or NULL */
    struct model_functions *functions;           /* of the model */
    const struct model_call *names, *attributes; /* of the function that is being read, or NULL */
};

/** Add initialisers, inputs, nodes and outputs, sort and check. What a body reads from outside
 *  becomes further inputs of it, behind its own. */
int model_read_graph(struct graph *graph, const Onnx__GraphProto *proto, struct model_place place,
                     struct diag *diag);

/** Add all nodes; values that they name and nobody has named yet are made. Checks that each value
 *  has one source. */
int model_read_nodes(struct graph *graph, const Onnx__GraphProto *proto, struct model_place place,
                     struct diag *diag);

/** Whether a text of the model may be shown and stored: UTF-8 without control characters, which
 * could break a line or move a terminal's cursor. */
bool model_text_is_sound(const char *text);

#endif
