/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs of a model that are sequences or optionals. Part of model.c. */
#ifndef OPTRACE_RUNTIME_ONNX_PORTS_H
#define OPTRACE_RUNTIME_ONNX_PORTS_H

#include "runtime/graph/graph.h"
#include "runtime/onnx/file.h"

/** A type taken apart. */
struct port_type {
    struct port port;               /* without its name; one tensor */
    const Onnx__TypeProto *element; /* the tensor in it */
    ProtobufCMessage *messages[2];  /* that it lies in */
};

/** `what` is for messages. -ENOTSUP unless it is a tensor, a sequence of tensors, or an optional of one of
 *  these. Free with port_type_deinit(), also after failure. */
int port_type_read(const Onnx__TypeProto *type, const char *what, struct port_type *out_type,
                   struct diag *diag);
void port_type_deinit(struct port_type *type);

/** Make `whole` what the tensors are together, by nodes that are gone once the model is read. -ENOMEM. */
int port_join(struct graph *graph, const struct port *port, struct value *const *tensors,
              struct value *whole);

#endif
