/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads ONNX models (IR versions 3 to 13, standard operator sets 1 to 27) into a graph.
 *
 * Nothing in a file is trusted: lengths, dims, names, edges and cycles are checked, what a file can
 * make us allocate is bounded by its size, and data files are only read from the model's own
 * folder.
 *
 * The bodies of If and Loop are graphs of their own. The model's functions are put in where they
 * are called: function.h. Left out, with an error that says so: sparse tensors,
 * sequences, other subgraphs, functions for another version of the operator set. Shapes in the
 * model's value_info are not read: shape inference computes them.
 */
#ifndef OPTRACE_RUNTIME_ONNX_MODEL_H
#define OPTRACE_RUNTIME_ONNX_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "runtime/graph/graph.h"

enum {
    MODEL_IR_VERSION_MIN = 3,
    MODEL_IR_VERSION_MAX = 14,
    MODEL_OPSET_MIN = 1,
    MODEL_OPSET_MAX = 28,
    MODEL_NODES_MAX = 1 << 20,
    MODEL_NODE_INPUTS_MAX = 1 << 16,
    MODEL_NODE_OUTPUTS_MAX = 1 << 10,
    MODEL_NODE_ATTRIBUTES_MAX = 1 << 8,
};

/**
 * What is known of the model's inputs that are no tensors before it is read: each tensor of a sequence becomes an
 * input of the graph.
 *
 * count  asked once for each such input: its position and name among the inputs that are no initialisers. Sets how
 *        many tensors a sequence has, or that an optional is empty; *port says which it is, and that there
 *        is one tensor. Returns 0 or a negative errno with diag
 */
struct model_sequences {
    void *user;
    int (*count)(void *user, uint32_t index, const char *name, struct port *port,
                 struct diag *diag);
    /* Called once the graph's inputs are there, before its nodes are: value_learn() of those whose content
     * is known may tell how many tensors a sequence has, and which branch an If takes. NULL: none is. Returns 0 or -ENOMEM. */
    int (*learn)(void *user, struct graph *graph);
};

struct model_loading {
    /* Parameters are left where they are, in the model's file and in data files that it names, as far as they are
     * aligned there (value->is_shared). The graph maps the files until it is destroyed: who shortens
     * one of them meanwhile kills the program. */
    bool shares;
    /* Large weights of float32 are left there until graph_optimise() has stored them in half precision, which
     * alone knows how to read them (value->is_deferred). The same holds for the files. */
    bool defers;
    /* NULL: sequences have one tensor, optionals something. */
    const struct model_sequences *sequences;
};

/**
 * Load a model file. The graph is sorted and passes graph_check(); inputs and outputs have their
 * declared shapes (-1 where the model leaves a dim open), other values none.
 *
 * Returns 0; -ENOENT, -EACCES, ... when the file (or a data file) cannot be read; -EINVAL when it
 * is damaged; -ENOTSUP for what is too new, too old or left out; -ENOMEM, -E2BIG. diag says it in
 * one sentence that begins with the path.
 */
int model_onnx_load_with(const char *path, const struct model_loading *loading,
                         struct graph **out_graph, struct diag *diag);

/** The same, with all of it 0. For tests. */
int model_onnx_load(const char *path, struct graph **out_graph, struct diag *diag);

/** From bytes in memory, sharing; they must outlive the graph. For tests. */
int model_onnx_parse_shared(const uint8_t *bytes, size_t size, int folder_fd,
                            struct graph **out_graph, struct diag *diag);

/** From bytes in memory; folder_fd: where data files lie, or -1 to refuse them.
 *  Outside of its file, for tests. */
int model_onnx_parse(const uint8_t *bytes, size_t size, int folder_fd, struct graph **out_graph,
                     struct diag *diag);

#endif
