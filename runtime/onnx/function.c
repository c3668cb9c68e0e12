/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that a model brings along. */
#include "runtime/onnx/function.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/onnx/file.h"
#include "runtime/onnx/model.h"
#include "runtime/onnx/node.h"

static const char *text_of(const char *text)
{
    return text ? text : "";
}

static const char *domain_of(const char *domain)
{
    return !domain || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

/* Reading */

static int check_names(char *const *names, size_t count, const char *what, const char *function,
                       struct diag *diag)
{
    for (size_t i = 0; i < count; i++) {
        if (names[i][0] == '\0' || !model_text_is_sound(names[i]))
            return diag_set(diag, -EINVAL, "function '%s' has %s without a proper name", function,
                            what);
        for (size_t k = 0; k < i; k++)
            if (strcmp(names[i], names[k]) == 0)
                return diag_set(diag, -EINVAL, "function '%s' has the name '%s' twice", function,
                                names[i]);
    }
    return 0;
}

static int check_function(const struct model_functions *functions,
                          const Onnx__FunctionProto *function, struct diag *diag)
{
    const char *name = text_of(function->name);
    int rc;

    if (name[0] == '\0' || !model_text_is_sound(name) ||
        !model_text_is_sound(text_of(function->domain)) ||
        !model_text_is_sound(text_of(function->overload)))
        return diag_set(diag, -EINVAL, "a function of the model has no proper name");
    if (function->n_input > MODEL_NODE_INPUTS_MAX || function->n_output > MODEL_NODE_OUTPUTS_MAX)
        return diag_set(diag, -E2BIG, "function '%s' has more than %d inputs or %d outputs", name,
                        MODEL_NODE_INPUTS_MAX, MODEL_NODE_OUTPUTS_MAX);
    for (size_t i = 0; i + 1 < functions->count; i++) {
        const Onnx__FunctionProto *other = functions->items[i];

        if (strcmp(text_of(other->name), name) == 0 &&
            strcmp(domain_of(other->domain), domain_of(function->domain)) == 0 &&
            strcmp(text_of(other->overload), text_of(function->overload)) == 0)
            return diag_set(diag, -EINVAL, "the model has two functions '%s'", name);
    }
    rc = check_names(function->input, function->n_input, "an input", name, diag);
    return rc < 0 ? rc : check_names(function->output, function->n_output, "an output", name, diag);
}

int model_functions_init(struct model_functions *functions, const Onnx__ModelProto *model,
                         struct diag *diag)
{
    enum { NAME_FIELD = 1 }; /* every function has one */
    int rc = 0;

    *functions = (struct model_functions){0};
    if (model->n_functions == 0)
        return 0;
    functions->items = calloc(model->n_functions, sizeof(*functions->items));
    if (!functions->items)
        return -ENOMEM;
    for (size_t i = 0; rc == 0 && i < model->n_functions; i++) {
        ProtobufCMessage *message = NULL;

        rc = onnx_unpack(&onnx__function_proto__descriptor, "function", NAME_FIELD,
                         model->functions[i].data, model->functions[i].len, &message, diag);
        if (rc < 0)
            return rc;
        functions->items[functions->count++] = (Onnx__FunctionProto *)message;
        rc = check_function(functions, functions->items[i], diag);
    }
    return rc;
}

void model_functions_deinit(struct model_functions *functions)
{
    for (size_t i = 0; i < functions->count; i++)
        onnx_free((ProtobufCMessage *)functions->items[i]);
    free(functions->items);
    *functions = (struct model_functions){0};
}

const Onnx__FunctionProto *model_functions_find(const struct model_functions *functions,
                                                const Onnx__NodeProto *node)
{
    for (size_t i = 0; functions && i < functions->count; i++) {
        const Onnx__FunctionProto *function = functions->items[i];

        if (strcmp(function->name, node->op_type) == 0 &&
            strcmp(domain_of(function->domain), domain_of(node->domain)) == 0 &&
            strcmp(text_of(function->overload), text_of(node->overload)) == 0)
            return function;
    }
    return NULL;
}

/* Calls */

/* Versions of the standard set that gave an operator another meaning, or inputs for attributes. Below
 * 9 nearly all have changed. */
static const struct change {
    const char *op_type;
    uint8_t versions[6];
} changes[] = {
    {"AveragePool", {10, 11, 19}},
    {"BatchNormalization", {14}},
    {"Clip", {11}},
    {"ConvTranspose", {11}},
    {"DFT", {20}},
    {"DequantizeLinear", {13, 21}},
    {"Dropout", {10, 12}},
    {"Flatten", {11}},
    {"Gemm", {11}},
    {"GroupNormalization", {21}},
    {"Hardmax", {13}},
    {"LogSoftmax", {13}},
    {"LpPool", {11, 18}},
    {"MaxPool", {10, 11}},
    {"Pad", {11}},
    {"QuantizeLinear", {13, 21}},
    {"ReduceL1", {18}},
    {"ReduceL2", {18}},
    {"ReduceLogSum", {18}},
    {"ReduceLogSumExp", {18}},
    {"ReduceMax", {18}},
    {"ReduceMean", {18}},
    {"ReduceMin", {18}},
    {"ReduceProd", {18}},
    {"ReduceSum", {13}},
    {"ReduceSumSquare", {18}},
    {"Resize", {11, 13, 18, 19}},
    {"RoiAlign", {16}},
    {"Slice", {10}},
    {"Softmax", {13}},
    {"Split", {13, 18}},
    {"Squeeze", {13}},
    {"TopK", {10, 11}},
    {"Unsqueeze", {13}},
    {"Upsample", {10}},
};

enum { SETTLED_OPSET = 9 };

static bool changed_between(const char *op_type, int64_t from, int64_t to)
{
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        const uint8_t *versions = changes[i].versions;

        for (size_t k = 0; strcmp(changes[i].op_type, op_type) == 0 && versions[k] != 0; k++)
            if (from < versions[k] && versions[k] <= to)
                return true;
    }
    return false;
}

/* Versions of the standard set, and how many bodies are around. */
struct versions {
    int64_t from, to;
    int depth;
};

static const char *find_changed(Onnx__NodeProto *const *nodes, size_t count, struct versions v);

/* Whether one of its bodies has such an operator; what cannot be read counts as one that has. */
static bool has_changed_body(const Onnx__NodeProto *node, struct versions v)
{
    enum { OUTPUT_FIELD = 12 };
    bool found = false;

    v.depth++;
    for (size_t i = 0; !found && i < node->n_attribute; i++) {
        const ProtobufCBinaryData *body = &node->attribute[i]->g;
        ProtobufCMessage *message = NULL;
        struct diag diag = {0};

        if (body->len == 0)
            continue;
        found = v.depth > MODEL_DEPTH_MAX ||
                onnx_unpack(&onnx__graph_proto__descriptor, "body", OUTPUT_FIELD, body->data,
                            body->len, &message, &diag) < 0;
        if (!found) {
            const Onnx__GraphProto *graph = (const Onnx__GraphProto *)message;

            found = find_changed(graph->node, graph->n_node, v) != NULL;
        }
        onnx_free(message);
    }
    return found;
}

/* The first operator that another version of the standard set means otherwise, or that has one in a body.
 * NULL: none. */
static const char *find_changed(Onnx__NodeProto *const *nodes, size_t count, struct versions v)
{
    for (size_t i = 0; i < count; i++) {
        const Onnx__NodeProto *node = nodes[i];
        bool is_standard = domain_of(node->domain)[0] == '\0';

        if ((is_standard &&
             (v.from < SETTLED_OPSET || changed_between(text_of(node->op_type), v.from, v.to))) ||
            has_changed_body(node, v))
            return text_of(node->op_type);
    }
    return NULL;
}

/* Operators mean what the model's version of their set says: there is one of each. Of another
 * version a function may be that has none of those that differ. */
static int import_opsets(struct graph *graph, const Onnx__FunctionProto *function,
                         struct diag *diag)
{
    for (size_t i = 0; i < function->n_opset_import; i++) {
        const char *domain = domain_of(function->opset_import[i]->domain);
        int64_t version = function->opset_import[i]->version, own = graph_opset(graph, domain);
        bool is_standard = domain[0] == '\0' && version <= MODEL_OPSET_MAX;
        struct versions between = {own < version ? own : version, own < version ? version : own, 0};
        const char *changed =
            is_standard ? find_changed(function->node, function->n_node, between) : NULL;

        if (own == version || (own != 0 && is_standard && !changed))
            continue;
        if (own != 0)
            return diag_set(diag, -ENOTSUP,
                            "function '%s' is written for version %" PRId64
                            " of operator set '%s', the model for version %" PRId64
                            "%s%.60s: that is not supported",
                            function->name, version, domain, own,
                            changed ? ", which differ in " : "", changed ? changed : "");
        if (!model_text_is_sound(domain) || version < MODEL_OPSET_MIN ||
            (domain[0] == '\0' && version > MODEL_OPSET_MAX))
            return diag_set(diag, -ENOTSUP,
                            "function '%s' is written for version %" PRId64
                            " of an operator set, which is not supported",
                            function->name, version);
        if (graph_add_opset(graph, domain, version) < 0)
            return -ENOMEM;
    }
    return 0;
}

static const Onnx__AttributeProto *find_attribute(Onnx__AttributeProto *const *list, size_t count,
                                                  const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (list[i]->name && strcmp(list[i]->name, name) == 0)
            return list[i];
    return NULL;
}

static bool has_parameter(const Onnx__FunctionProto *function, const char *name)
{
    for (size_t i = 0; i < function->n_attribute; i++)
        if (strcmp(function->attribute[i], name) == 0)
            return true;
    return find_attribute(function->attribute_proto, function->n_attribute_proto, name) != NULL;
}

static int check_call(const struct model_call *call, const struct model_functions *functions,
                      struct diag *diag)
{
    const Onnx__FunctionProto *function = call->function;
    const Onnx__NodeProto *node = call->node;

    if (node->n_input > function->n_input || node->n_output > function->n_output)
        return diag_set(diag, -EINVAL,
                        "node '%s' calls function '%s' with %zu inputs and %zu outputs; it has %zu "
                        "and %zu",
                        text_of(node->name), function->name, node->n_input, node->n_output,
                        function->n_input, function->n_output);
    for (size_t i = 0; i < node->n_attribute; i++)
        if (!has_parameter(function, text_of(node->attribute[i]->name)))
            return diag_set(
                diag, -EINVAL,
                "node '%s' gives function '%s' the attribute '%.60s', which it does not "
                "have",
                text_of(node->name), function->name, text_of(node->attribute[i]->name));
    for (const struct model_call *outer = call->attributes; outer; outer = outer->attributes)
        if (outer->function == function)
            return diag_set(diag, -EINVAL, "function '%s' calls itself", function->name);
    if (call->depth > MODEL_CALL_DEPTH_MAX || functions->call_count >= MODEL_CALLS_MAX)
        return diag_set(diag, -E2BIG,
                        "the model's functions make more than %d calls, or more than %d inside of "
                        "each other",
                        MODEL_CALLS_MAX, MODEL_CALL_DEPTH_MAX);
    return 0;
}

int model_call_init(struct model_call *call, struct model_functions *functions, struct graph *graph,
                    const Onnx__FunctionProto *function, const Onnx__NodeProto *node,
                    const struct model_call *names, const struct model_call *attributes,
                    struct diag *diag)
{
    int rc;

    *call = (struct model_call){
        .function = function,
        .node = node,
        .names = names,
        .attributes = attributes,
        .depth = attributes ? attributes->depth + 1 : 1,
    };
    rc = check_call(call, functions, diag);
    if (rc == 0)
        rc = import_opsets(graph, function, diag);
    if (rc < 0)
        return rc;
    if (asprintf(&call->prefix, "%s#%" PRIu32,
                 node->name && node->name[0] != '\0' ? node->name : function->name,
                 functions->call_count++) < 0) {
        call->prefix = NULL;
        return -ENOMEM;
    }
    return 0;
}

void model_call_deinit(struct model_call *call)
{
    free(call->prefix);
    *call = (struct model_call){0};
}

static size_t position(char *const *names, size_t count, const char *name)
{
    size_t at = 0;

    while (at < count && strcmp(names[at], name) != 0)
        at++;
    return at;
}

char *model_call_name(const struct model_call *call, const char *name)
{
    while (call && name[0] != '\0') {
        const Onnx__NodeProto *node = call->node;
        size_t input = position(call->function->input, call->function->n_input, name);
        size_t output = position(call->function->output, call->function->n_output, name);

        if (input < call->function->n_input) {
            name = input < node->n_input ? node->input[input] : "";
        } else if (output < node->n_output && node->output[output][0] != '\0') {
            name = node->output[output];
        } else {
            char *own = NULL;

            return asprintf(&own, "%s/%s", call->prefix, name) < 0 ? NULL : own;
        }
        call = call->names;
    }
    return strdup(name);
}

const Onnx__AttributeProto *model_call_attribute(const struct model_call *call,
                                                 const Onnx__AttributeProto *attribute)
{
    while (attribute && attribute->ref_attr_name && attribute->ref_attr_name[0] != '\0' && call) {
        const char *name = attribute->ref_attr_name;
        const Onnx__FunctionProto *function = call->function;

        attribute = find_attribute(call->node->attribute, call->node->n_attribute, name);
        if (!attribute)
            return find_attribute(function->attribute_proto, function->n_attribute_proto, name);
        call = call->attributes;
    }
    return attribute;
}

bool model_call_hands_on(const struct model_call *call, size_t output)
{
    return position(call->function->input, call->function->n_input,
                    call->function->output[output]) < call->function->n_input;
}
