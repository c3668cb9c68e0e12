/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs of a model that are sequences or optionals. */
#include "runtime/onnx/ports.h"

#include <errno.h>

/* What is in a sequence or an optional. */
static int unwrap(const ProtobufCBinaryData *bytes, const char *what,
                  ProtobufCMessage **out_message, const Onnx__TypeProto **out_type,
                  struct diag *diag)
{
    int rc = onnx_unpack(&onnx__element_type_proto__descriptor, "type", 1, bytes->data, bytes->len,
                         out_message, diag);

    if (rc < 0)
        return rc;
    *out_type = ((const Onnx__ElementTypeProto *)*out_message)->elem_type;
    return *out_type ? 0 : diag_set(diag, -EINVAL, "%s has no type", what);
}

int port_type_read(const Onnx__TypeProto *type, const char *what, struct port_type *out_type,
                   struct diag *diag)
{
    int rc = 0;

    *out_type = (struct port_type){.port = {.count = 1}};
    if (type && type->has_optional_type) {
        out_type->port.is_optional = true;
        rc = unwrap(&type->optional_type, what, &out_type->messages[0], &type, diag);
    }
    if (rc == 0 && type && type->has_sequence_type) {
        out_type->port.is_sequence = true;
        rc = unwrap(&type->sequence_type, what, &out_type->messages[1], &type, diag);
    }
    if (rc < 0)
        return rc;
    if (type && (type->has_sequence_type || type->has_map_type || type->has_sparse_tensor_type ||
                 type->has_optional_type))
        return diag_set(diag, -ENOTSUP,
                        "%s is no tensor and no sequence of tensors, and others are not supported",
                        what);
    out_type->element = type;
    return 0;
}

void port_type_deinit(struct port_type *type)
{
    for (int i = 0; i < 2; i++)
        if (type->messages[i])
            onnx_free(type->messages[i]);
    *type = (struct port_type){0};
}

int port_join(struct graph *graph, const struct port *port, struct value *const *tensors,
              struct value *whole)
{
    static const struct shape unknown = {.rank = -1};
    struct value *inner = whole;
    const char *op = port->count > 0 ? "SequenceConstruct" : "SequenceEmpty";

    if (port->is_empty)
        return graph_add_node(graph, "Optional", "", NULL, NULL, 0, &whole, 1) ? 0 : -ENOMEM;
    if (port->is_optional) {
        inner = graph_add_value(graph, NULL, DTYPE_NONE, &unknown, NULL);
        if (!inner)
            return -ENOMEM;
    }
    if (!graph_add_node(graph, op, "", NULL, tensors, port->count, &inner, 1))
        return -ENOMEM;
    return !port->is_optional || graph_add_node(graph, "Optional", "", NULL, &inner, 1, &whole, 1)
               ? 0
               : -ENOMEM;
}
