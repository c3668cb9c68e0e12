/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of an ONNX model and their attributes, bodies among them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/graph/texts.h"
#include "runtime/onnx/file.h"
#include "runtime/onnx/model.h"
#include "runtime/onnx/node.h"
#include "runtime/onnx/tensor.h"
#include "runtime/ops/control.h"
#include "runtime/ops/lower/lower.h"

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
    PROTO_TYPE = 13,
};

static int read_strings(struct node *node, const Onnx__AttributeProto *proto)
{
    char **copies = calloc(proto->n_strings + 1, sizeof(*copies));
    int rc = !copies ? -ENOMEM : 0;

    for (size_t i = 0; rc == 0 && i < proto->n_strings; i++) {
        const ProtobufCBinaryData *text = &proto->strings[i]; /* data NULL: it is empty */

        copies[i] = strndup(text->data ? (const char *)text->data : "", text->len);
        if (!copies[i])
            rc = -ENOMEM;
    }
    if (rc == 0)
        rc = node_set_strings(node, proto->name, (const char *const *)copies, proto->n_strings);
    for (size_t i = 0; copies && i < proto->n_strings; i++)
        free(copies[i]);
    free(copies);
    return rc;
}

/* A Constant's texts are the elements of a tensor, as its other values are. */
static int read_texts(struct node *node, const Onnx__AttributeProto *proto, struct diag *diag)
{
    bool is_list = proto->type == PROTO_STRINGS;
    const ProtobufCBinaryData *texts = is_list ? proto->strings : &proto->s;
    struct tensor_view view = {.dtype = DTYPE_STRING, .shape = {.rank = is_list ? 1 : 0}};
    size_t count = is_list ? proto->n_strings : 1;
    int64_t *numbers = graph_alloc_data(count * sizeof(*numbers));
    int64_t failure = numbers ? 0 : -ENOMEM;

    view.shape.dims[0] = (int64_t)count;
    view.data = numbers;
    for (size_t i = 0; failure == 0 && i < count; i++) {
        numbers[i] = texts_number((const char *)texts[i].data, texts[i].len);
        failure = numbers[i] < 0 ? numbers[i] : 0;
    }
    if (failure == 0 && node_attribute(node, "value"))
        failure = diag_set(diag, -EINVAL, "node '%s' has two values", node->name);
    if (failure == 0)
        return node_set_tensor(node, "value", &view);
    free(numbers);
    return (int)failure;
}

static bool holds_texts(const struct node *node, const char *name)
{
    return strcmp(node->op_type, "Constant") == 0 && node->domain[0] == '\0' &&
           (strcmp(name, "value_string") == 0 || strcmp(name, "value_strings") == 0);
}

/* stays: the message is read again, as that of a function is for each call; else its bytes are given back. */
static int read_tensor(struct node *node, const Onnx__AttributeProto *proto, int folder_fd,
                       bool stays, struct diag *diag)
{
    struct onnx_raw raw = {0};
    struct onnx_share share = {.raw = &raw};
    struct tensor_view view;
    Onnx__TensorProto copy;
    char what[240];
    int rc;

    snprintf(what, sizeof(what), "attribute '%.60s' of node '%.120s'", proto->name, node->name);
    if (!proto->t)
        return diag_set(diag, -EINVAL, "%s holds no tensor", what);
    copy = *proto->t;
    raw = (struct onnx_raw){copy.raw_data.data, copy.raw_data.len};
    rc = stays && raw.size > 0 && copy.data_location == 0
             ? onnx_tensor_share(&copy, folder_fd, what, &share, &view, diag)
             : onnx_tensor_from_proto(proto->t, folder_fd, what, &view, diag);
    return rc < 0 ? rc : node_set_tensor(node, proto->name, &view);
}

/* The body's own operator sets are the model's. */
static struct graph *create_body(const struct graph *graph)
{
    struct graph *body = graph_create();

    for (uint32_t i = 0; body && i < graph->opset_count; i++) {
        if (graph_add_opset(body, graph->opsets[i].domain, graph->opsets[i].version) < 0)
            graph_destroy(&body);
    }
    return body;
}

/* The value of that name, made if need be; NULL in *out_value for "". */
static int take_value(struct graph *graph, const char *name, struct value **out_value,
                      struct diag *diag)
{
    static const struct shape unknown_shape = {.rank = -1};

    *out_value = NULL;
    if (name[0] == '\0')
        return 0;
    *out_value = graph_find_value(graph, name);
    if (*out_value)
        return 0;
    if (!model_text_is_sound(name))
        return diag_set(diag, -EINVAL, "a value of the graph has a name that is not plain UTF-8");
    *out_value = graph_add_value(graph, name, DTYPE_NONE, &unknown_shape, NULL);
    return !*out_value ? -ENOMEM : 0;
}

/* The same of what is called so inside of a function. */
static int find_value(struct graph *graph, const struct model_call *names, const char *name,
                      struct value **out_value, struct diag *diag)
{
    char *own;
    int rc;

    if (!names)
        return take_value(graph, name, out_value, diag);
    own = model_call_name(names, name);
    if (!own)
        return -ENOMEM;
    rc = take_value(graph, own, out_value, diag);
    free(own);
    return rc;
}

/* The inputs that reading has added to the body are fed by values of the same name. */
static int capture_all(struct graph *graph, struct node *node, struct graph *body, size_t own,
                       const struct model_call *names, struct diag *diag)
{
    int rc = 0;

    for (size_t i = own; rc == 0 && i < body->input_count; i++) {
        struct value *outside;

        if (node->input_count >= MODEL_NODE_INPUTS_MAX)
            return diag_set(diag, -E2BIG, "the bodies of node '%s' read more than %d values",
                            node->name, MODEL_NODE_INPUTS_MAX);
        rc = find_value(graph, names, body->inputs[i]->name, &outside, diag);
        if (rc == 0)
            rc = node_capture(node, body, outside);
    }
    return rc;
}

static int read_body(struct graph *graph, struct node *node, const Onnx__AttributeProto *proto,
                     struct model_place place, struct diag *diag)
{
    const struct model_call *names = place.names;
    enum { OUTPUT_FIELD = 12 }; /* every body has outputs */
    ProtobufCMessage *message = NULL;
    struct diag inner = {0};
    struct graph *body;
    size_t own;
    int rc;

    place.cut = NULL; /* a body's message has all of its initialisers */
    place.names = NULL;
    if (!control_is(node) && !lower_takes_body(node))
        return diag_set(diag, -ENOTSUP,
                        "attribute '%.60s' of node '%.120s' (%.60s) is a subgraph, which is "
                        "supported of If, Loop, Scan, SequenceMap and FlexAttention only",
                        proto->name, node->name, node->op_type);
    if (++place.depth > MODEL_DEPTH_MAX)
        return diag_set(diag, -ENOTSUP, "node '%s' has bodies inside of bodies, more than %d deep",
                        node->name, MODEL_DEPTH_MAX);
    rc = onnx_unpack(&onnx__graph_proto__descriptor, "body", OUTPUT_FIELD, proto->g.data,
                     proto->g.len, &message, &inner);
    body = create_body(graph);
    if (rc == 0 && !body)
        rc = -ENOMEM;
    if (rc == 0)
        rc = model_read_graph(body, (Onnx__GraphProto *)message, place, &inner);
    own = rc == 0 ? body->input_count - body->capture_count : 0;
    onnx_free(message);
    if (rc == 0) {
        body->capture_count = 0; /* counted anew, with where they come from */
        rc = capture_all(graph, node, body, own, names, &inner);
    }
    if (rc < 0) {
        graph_destroy(&body);
        if (rc == -ENOMEM || place.depth > 1) /* the outermost place is enough */
            return diag_set(diag, rc, "%s", inner.text);
        return diag_set(diag, rc, "attribute '%.60s' of node '%.120s': %.300s", proto->name,
                        node->name, inner.text);
    }
    return node_set_graph(node, proto->name, body);
}

static int read_attribute(struct graph *graph, struct node *node, const Onnx__AttributeProto *given,
                          struct model_place place, struct diag *diag)
{
    const Onnx__AttributeProto *proto = model_call_attribute(place.attributes, given);
    Onnx__AttributeProto named;
    const char *name = given->name;

    if (!name || name[0] == '\0' || !model_text_is_sound(name))
        return diag_set(diag, -EINVAL, "node '%s' has an attribute without a proper name",
                        node->name);
    if (node_attribute(node, name))
        return diag_set(diag, -EINVAL, "node '%s' has attribute '%s' twice", node->name, name);
    if (!proto) /* the call leaves it out */
        return 0;
    if (proto->ref_attr_name && proto->ref_attr_name[0] != '\0')
        return diag_set(diag, -EINVAL,
                        "attribute '%s' of node '%s' stands for an attribute of a function, but is "
                        "in none",
                        name, node->name);
    if (proto != given) {
        named = *proto;
        named.name = given->name;
        proto = &named;
    }
    switch (proto->type) {
    case PROTO_FLOAT:
        return node_set_float(node, name, proto->f);
    case PROTO_INT:
        return node_set_int(node, name, proto->i);
    case PROTO_STRING:
        if (holds_texts(node, name))
            return read_texts(node, proto, diag);
        return node_set_string(node, name, (const char *)proto->s.data, proto->s.len);
    case PROTO_TENSOR:
        return read_tensor(node, proto, place.folder_fd, place.attributes != NULL, diag);
    case PROTO_GRAPH:
        return read_body(graph, node, proto, place, diag);
    case PROTO_FLOATS:
        return node_set_floats(node, name, proto->floats, proto->n_floats);
    case PROTO_INTS:
        return node_set_ints(node, name, proto->ints, proto->n_ints);
    case PROTO_STRINGS:
        if (holds_texts(node, name))
            return read_texts(node, proto, diag);
        return read_strings(node, proto);
    case PROTO_TYPE: /* what an optional without anything would hold */
        if (node->domain[0] == '\0' && strcmp(node->op_type, "Optional") == 0)
            return 0;
        /* fall through */
    default:
        return diag_set(diag, -ENOTSUP,
                        "attribute '%s' of node '%s' (%s) is of type %d, which is not supported",
                        name, node->name, node->op_type, (int)proto->type);
    }
}

static int find_inputs(struct graph *graph, const Onnx__NodeProto *proto,
                       const struct model_call *names, struct value **inputs, struct diag *diag)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < proto->n_input; i++)
        rc = find_value(graph, names, proto->input[i], &inputs[i], diag);
    return rc;
}

/* Outputs must be new, or named before only by readers. */
static int find_outputs(struct graph *graph, const Onnx__NodeProto *proto,
                        const struct model_call *names, struct value **outputs, struct diag *diag)
{
    for (size_t i = 0; i < proto->n_output; i++) {
        int rc = find_value(graph, names, proto->output[i], &outputs[i], diag);
        const struct value *value = outputs[i];

        if (rc < 0)
            return rc;
        if (value && (value->producer || value->data || value->is_input))
            return diag_set(diag, -EINVAL, "the graph has two values with the name '%s'",
                            value->name);
        for (size_t k = 0; value && k < i; k++) {
            if (outputs[k] == value)
                return diag_set(diag, -EINVAL, "a node has the output '%s' twice", value->name);
        }
    }
    return 0;
}

static int check_node(const Onnx__NodeProto *proto, struct diag *diag)
{
    const char *op_type = proto->op_type;

    if (!op_type || op_type[0] == '\0' || !model_text_is_sound(op_type))
        return diag_set(diag, -EINVAL, "node '%s' has no operator type",
                        proto->name ? proto->name : "");
    if ((proto->name && !model_text_is_sound(proto->name)) ||
        (proto->domain && !model_text_is_sound(proto->domain)))
        return diag_set(diag, -EINVAL, "a node of type '%s' has a name that is not plain UTF-8",
                        op_type);
    if (proto->n_input > MODEL_NODE_INPUTS_MAX || proto->n_output > MODEL_NODE_OUTPUTS_MAX ||
        proto->n_attribute > MODEL_NODE_ATTRIBUTES_MAX)
        return diag_set(diag, -E2BIG,
                        "node '%s' has more than %d inputs, %d outputs or %d attributes",
                        proto->name ? proto->name : "", MODEL_NODE_INPUTS_MAX,
                        MODEL_NODE_OUTPUTS_MAX, MODEL_NODE_ATTRIBUTES_MAX);
    if (proto->n_output == 0)
        return diag_set(diag, -EINVAL, "node '%s' has no output",
                        proto->name ? proto->name : op_type);
    return 0;
}

static int read_operator(struct graph *graph, const Onnx__NodeProto *proto,
                         struct model_place place, struct diag *diag)
{
    struct value **edges;
    struct node *node;
    char *name = NULL;
    int rc;

    if (graph->node_count >= MODEL_NODES_MAX)
        return diag_set(diag, -E2BIG, "the graph has more than %d nodes", MODEL_NODES_MAX);
    if (place.names && asprintf(&name, "%s/%s", place.names->prefix,
                                proto->name ? proto->name : proto->op_type) < 0)
        return -ENOMEM;
    edges = calloc(proto->n_input + proto->n_output, sizeof(*edges));
    rc = !edges ? -ENOMEM : find_inputs(graph, proto, place.names, edges, diag);
    if (rc == 0)
        rc = find_outputs(graph, proto, place.names, edges + proto->n_input, diag);
    if (rc < 0)
        goto out;
    node = graph_add_node(graph, proto->op_type, proto->domain ? proto->domain : "",
                          name ? name : proto->name, edges, (uint32_t)proto->n_input,
                          edges + proto->n_input, (uint32_t)proto->n_output);
    if (!node)
        rc = -ENOMEM;
    for (size_t i = 0; rc == 0 && i < proto->n_attribute; i++)
        rc = read_attribute(graph, node, proto->attribute[i], place, diag);
out:
    free(edges);
    free(name);
    return rc;
}

static int read_node(struct graph *graph, const Onnx__NodeProto *proto, struct model_place place,
                     struct diag *diag);

/* What a function hands on from its inputs gets the name that the caller wants. */
static int hand_on(struct graph *graph, const struct model_call *call, size_t output,
                   struct diag *diag)
{
    const char *wanted = call->node->output[output];
    struct value *from, *to;
    int rc = find_value(graph, call, call->function->output[output], &from, diag);

    if (rc == 0)
        rc = find_value(graph, call->names, wanted, &to, diag);
    if (rc < 0 || !to)
        return rc;
    if (!from || to->producer || to->data || to->is_input)
        return diag_set(diag, -EINVAL, "function '%s' cannot hand on '%s'", call->function->name,
                        wanted);
    return !graph_add_node(graph, "Identity", "", call->prefix, &from, 1, &to, 1) ? -ENOMEM : 0;
}

/* The function's nodes in place of the call. */
static int read_call(struct graph *graph, const Onnx__NodeProto *proto,
                     const Onnx__FunctionProto *function, struct model_place place,
                     struct diag *diag)
{
    struct model_call call;
    int rc = model_call_init(&call, place.functions, graph, function, proto, place.names,
                             place.attributes, diag);

    place.names = place.attributes = &call;
    for (size_t i = 0; rc == 0 && i < function->n_node; i++)
        rc = read_node(graph, function->node[i], place, diag);
    for (size_t i = 0; rc == 0 && i < proto->n_output; i++)
        if (model_call_hands_on(&call, i))
            rc = hand_on(graph, &call, i, diag);
    model_call_deinit(&call);
    return rc;
}

static int read_node(struct graph *graph, const Onnx__NodeProto *proto, struct model_place place,
                     struct diag *diag)
{
    const Onnx__FunctionProto *function;
    int rc = check_node(proto, diag);

    if (rc < 0)
        return rc;
    function = model_functions_find(place.functions, proto);
    return function ? read_call(graph, proto, function, place, diag)
                    : read_operator(graph, proto, place, diag);
}

/* A value that is read must come from somewhere, and in a body it may come from outside; the
 * message names the reader. */
static int check_sources(struct graph *graph, struct model_place place, struct diag *diag)
{
    for (uint32_t i = 0; i < graph->value_count; i++) {
        struct value *value = graph->values[i];

        if (value->consumer_count == 0 || value->producer || value->data || value->is_input)
            continue;
        if (place.depth == 0)
            return diag_set(diag, -EINVAL,
                            "node '%s' reads '%s', but the model has no input, initialiser or node "
                            "output of that name",
                            value->consumers[0]->name, value->name);
        if (graph_add_input(graph, value) < 0)
            return -ENOMEM;
        graph->capture_count++;
    }
    return 0;
}

int model_read_nodes(struct graph *graph, const Onnx__GraphProto *proto, struct model_place place,
                     struct diag *diag)
{
    int rc = 0;

    if (proto->n_node > MODEL_NODES_MAX)
        return diag_set(diag, -E2BIG, "the graph has %zu nodes; the limit is %d", proto->n_node,
                        MODEL_NODES_MAX);
    for (size_t i = 0; rc == 0 && i < proto->n_node; i++)
        rc = read_node(graph, proto->node[i], place, diag);
    if (rc == 0)
        rc = lower_graph(graph, diag);
    return rc < 0 ? rc : check_sources(graph, place, diag);
}
