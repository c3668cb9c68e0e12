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

/** Whether a text of the model may be shown and stored: UTF-8 without control characters, which
 * could break a line or move a terminal's cursor. */
bool model_text_is_sound(const char *text);

/** -EINVAL unless name is such a text and not empty; `what` is for the message. */
int model_check_name(const char *name, const char *what, struct diag *diag);

#endif
