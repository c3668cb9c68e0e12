/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of an ONNX model and their attributes; part of model_onnx.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/model_node.h"
#include "runtime/model_onnx.h"
#include "runtime/onnx_tensor.h"

/* The numbers of AttributeProto.type. */
enum {
    PROTO_FLOAT = 1,
    PROTO_INT = 2,
    PROTO_STRING = 3,
    PROTO_TENSOR = 4,
    PROTO_GRAPH = 5,
    PROTO_FLOATS = 6,
    PROTO_INTS = 7,
    PROTO_STRINGS = 8,
};

bool model_text_is_sound(const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return false;
    }
    return text_is_utf8(text, strlen(text));
}

static int read_strings(struct node *node, const Onnx__AttributeProto *proto)
{
    char **copies = calloc(proto->n_strings + 1, sizeof(*copies));
    int rc = copies == NULL ? -ENOMEM : 0;

    for (size_t i = 0; rc == 0 && i < proto->n_strings; i++) {
        copies[i] = strndup((const char *)proto->strings[i].data, proto->strings[i].len);
        if (copies[i] == NULL)
            rc = -ENOMEM;
    }
    if (rc == 0)
        rc = node_set_strings(node, proto->name, (const char *const *)copies, proto->n_strings);
    for (size_t i = 0; copies != NULL && i < proto->n_strings; i++)
        free(copies[i]);
    free(copies);
    return rc;
}

static int read_tensor(struct node *node, const Onnx__AttributeProto *proto, int folder_fd,
                       struct diag *diag)
{
    struct tensor_view view;
    char what[240];
    int rc;

    snprintf(what, sizeof(what), "attribute '%.60s' of node '%.120s'", proto->name, node->name);
    if (proto->t == NULL)
        return diag_set(diag, -EINVAL, "%s holds no tensor", what);
    rc = onnx_tensor_from_proto(proto->t, folder_fd, what, &view, diag);
    return rc < 0 ? rc : node_set_tensor(node, proto->name, &view);
}

static int read_attribute(struct node *node, const Onnx__AttributeProto *proto, int folder_fd,
                          struct diag *diag)
{
    const char *name = proto->name;

    if (name == NULL || name[0] == '\0' || !model_text_is_sound(name))
        return diag_set(diag, -EINVAL, "node '%s' has an attribute without a proper name",
                        node->name);
    if (node_attribute(node, name) != NULL)
        return diag_set(diag, -EINVAL, "node '%s' has attribute '%s' twice", node->name, name);
    switch (proto->type) {
    case PROTO_FLOAT:
        return node_set_float(node, name, proto->f);
    case PROTO_INT:
        return node_set_int(node, name, proto->i);
    case PROTO_STRING:
        return node_set_string(node, name, (const char *)proto->s.data, proto->s.len);
    case PROTO_TENSOR:
        return read_tensor(node, proto, folder_fd, diag);
    case PROTO_FLOATS:
        return node_set_floats(node, name, proto->floats, proto->n_floats);
    case PROTO_INTS:
        return node_set_ints(node, name, proto->ints, proto->n_ints);
    case PROTO_STRINGS:
        return read_strings(node, proto);
    default:
        return diag_set(diag, -ENOTSUP,
                        "attribute '%s' of node '%s' (%s) is %s, which is not supported", name,
                        node->name, node->op_type,
                        proto->type == PROTO_GRAPH ? "a subgraph" : "of an unknown type");
    }
}

/* The value of that name, made if need be; NULL in *out for "". */
static int find_or_add(struct graph *graph, const char *name, struct value **out, struct diag *diag)
{
    static const struct shape unknown_shape = {.rank = -1};

    *out = NULL;
    if (name[0] == '\0')
        return 0;
    *out = graph_find_value(graph, name);
    if (*out != NULL)
        return 0;
    if (!model_text_is_sound(name))
        return diag_set(diag, -EINVAL, "a value of the graph has a name that is not plain UTF-8");
    *out = graph_add_value(graph, name, DTYPE_NONE, &unknown_shape, NULL);
    return *out == NULL ? -ENOMEM : 0;
}

static int find_inputs(struct graph *graph, const Onnx__NodeProto *proto, struct value **inputs,
                       struct diag *diag)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < proto->n_input; i++)
        rc = find_or_add(graph, proto->input[i], &inputs[i], diag);
    return rc;
}

/* Outputs must be new, or named before only by readers. */
static int find_outputs(struct graph *graph, const Onnx__NodeProto *proto, struct value **outputs,
                        struct diag *diag)
{
    for (size_t i = 0; i < proto->n_output; i++) {
        int rc = find_or_add(graph, proto->output[i], &outputs[i], diag);
        const struct value *value = outputs[i];

        if (rc < 0)
            return rc;
        if (value != NULL && (value->producer != NULL || value->data != NULL || value->is_input))
            return diag_set(diag, -EINVAL, "the graph has two values with the name '%s'",
                            value->name);
        for (size_t k = 0; value != NULL && k < i; k++) {
            if (outputs[k] == value)
                return diag_set(diag, -EINVAL, "a node has the output '%s' twice", value->name);
        }
    }
    return 0;
}

static int check_node(const Onnx__NodeProto *proto, struct diag *diag)
{
    const char *op_type = proto->op_type;

    if (op_type == NULL || op_type[0] == '\0' || !model_text_is_sound(op_type))
        return diag_set(diag, -EINVAL, "node '%s' has no operator type",
                        proto->name != NULL ? proto->name : "");
    if ((proto->name != NULL && !model_text_is_sound(proto->name)) ||
        (proto->domain != NULL && !model_text_is_sound(proto->domain)))
        return diag_set(diag, -EINVAL, "a node of type '%s' has a name that is not plain UTF-8",
                        op_type);
    if (proto->n_input > MODEL_NODE_INPUTS_MAX || proto->n_output > MODEL_NODE_OUTPUTS_MAX ||
        proto->n_attribute > MODEL_NODE_ATTRIBUTES_MAX)
        return diag_set(diag, -E2BIG,
                        "node '%s' has more than %d inputs, %d outputs or %d attributes",
                        proto->name != NULL ? proto->name : "", MODEL_NODE_INPUTS_MAX,
                        MODEL_NODE_OUTPUTS_MAX, MODEL_NODE_ATTRIBUTES_MAX);
    if (proto->n_output == 0)
        return diag_set(diag, -EINVAL, "node '%s' has no output",
                        proto->name != NULL ? proto->name : op_type);
    return 0;
}

static int read_node(struct graph *graph, const Onnx__NodeProto *proto, int folder_fd,
                     struct diag *diag)
{
    struct value **edges;
    struct node *node;
    int rc = check_node(proto, diag);

    if (rc < 0)
        return rc;
    edges = calloc(proto->n_input + proto->n_output, sizeof(*edges));
    if (edges == NULL)
        return -ENOMEM;
    rc = find_inputs(graph, proto, edges, diag);
    if (rc == 0)
        rc = find_outputs(graph, proto, edges + proto->n_input, diag);
    if (rc < 0)
        goto out;
    node = graph_add_node(graph, proto->op_type, proto->domain != NULL ? proto->domain : "",
                          proto->name, edges, (uint32_t)proto->n_input, edges + proto->n_input,
                          (uint32_t)proto->n_output);
    if (node == NULL)
        rc = -ENOMEM;
    for (size_t i = 0; rc == 0 && i < proto->n_attribute; i++)
        rc = read_attribute(node, proto->attribute[i], folder_fd, diag);
out:
    free(edges);
    return rc;
}

/* A value that is read must come from somewhere; the message names the reader. */
static int check_sources(const struct graph *graph, struct diag *diag)
{
    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct value *value = graph->values[i];

        if (value->consumer_count > 0 && value->producer == NULL && value->data == NULL &&
            !value->is_input)
            return diag_set(diag, -EINVAL,
                            "node '%s' reads '%s', but the model has no input, initialiser or node "
                            "output of that name",
                            value->consumers[0]->name, value->name);
    }
    return 0;
}

int model_read_nodes(struct graph *graph, const Onnx__GraphProto *proto, int folder_fd,
                     struct diag *diag)
{
    if (proto->n_node > MODEL_NODES_MAX)
        return diag_set(diag, -E2BIG, "the graph has %zu nodes; the limit is %d", proto->n_node,
                        MODEL_NODES_MAX);
    for (size_t i = 0; i < proto->n_node; i++) {
        int rc = read_node(graph, proto->node[i], folder_fd, diag);

        if (rc < 0)
            return rc;
    }
    return check_sources(graph, diag);
}
