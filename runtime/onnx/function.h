/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that a model brings along: a node that calls one is replaced by the function's nodes
 * while the model is read. Part of node.c.
 *
 * What a function names is its own: a value inside becomes one of the graph under another name,
 * unless it is an input or output of the function, which are the caller's.
 */
#ifndef OPTRACE_RUNTIME_ONNX_FUNCTION_H
#define OPTRACE_RUNTIME_ONNX_FUNCTION_H

#include "runtime/graph/graph.h"
#include "runtime/onnx/onnx.pb-c.h"

enum { MODEL_CALLS_MAX = 1 << 18, MODEL_CALL_DEPTH_MAX = 64 };

/** Those of a model. */
struct model_functions {
    Onnx__FunctionProto **items;
    size_t count;
    uint32_t call_count; /* until now */
};

/** One call at work. */
struct model_call {
    const Onnx__FunctionProto *function;
    const Onnx__NodeProto *node;
    /* Where the node stands: what its names and what its attributes mean; NULL: the model's. In the
     * bodies inside of a function names are the body's, attributes still the function's. */
    const struct model_call *names, *attributes;
    int depth;
    char *prefix; /* of names inside; owned */
};

/** -EINVAL, -E2BIG as onnx_unpack(), -ENOMEM; deinit in any case. */
int model_functions_init(struct model_functions *functions, const Onnx__ModelProto *model,
                         struct diag *diag);
void model_functions_deinit(struct model_functions *functions);

/** The function that a node calls; NULL: it is an operator. */
const Onnx__FunctionProto *model_functions_find(const struct model_functions *functions,
                                                const Onnx__NodeProto *node);

/** Check a call and take down what it means. The graph imports what the function does. -EINVAL,
 *  -ENOTSUP, -E2BIG with a sentence; -ENOMEM. */
int model_call_init(struct model_call *call, struct model_functions *functions, struct graph *graph,
                    const Onnx__FunctionProto *function, const Onnx__NodeProto *node,
                    const struct model_call *names, const struct model_call *attributes,
                    struct diag *diag);
void model_call_deinit(struct model_call *call);

/** The graph's name of what is called `name` inside of a call, "" for what is left out; the caller
 *  frees it. call NULL: a copy. NULL without memory. */
char *model_call_name(const struct model_call *call, const char *name);

/** What an attribute inside of a call stands for; NULL: it is left out. */
const Onnx__AttributeProto *model_call_attribute(const struct model_call *call,
                                                 const Onnx__AttributeProto *attribute);

/** Outputs of the function that are inputs of it as well, by position. */
bool model_call_hands_on(const struct model_call *call, size_t output);

#endif
