/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of an ONNX model and their attributes; part of model_onnx.c. */
#ifndef OPTRACE_RUNTIME_MODEL_NODE_H
#define OPTRACE_RUNTIME_MODEL_NODE_H

#include "runtime/graph.h"
#include "runtime/onnx.pb-c.h"

/** Add all nodes; values that they name and nobody has named yet are made. Checks that each value
 *  has one source. */
int model_read_nodes(struct graph *graph, const Onnx__GraphProto *proto, int folder_fd,
                     struct diag *diag);

/** -EINVAL unless name is a non-empty UTF-8 text; `what` is for the message. */
int model_check_name(const char *name, const char *what, struct diag *diag);

#endif
