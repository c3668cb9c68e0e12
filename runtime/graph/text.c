/* SPDX-License-Identifier: Apache-2.0 */
/* The text form of a graph. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/graph/element.h"
#include "runtime/graph/text.h"
#include "runtime/graph/texts.h"

enum { LITERAL_ELEMENTS_MAX = 10 };

static const char *activation_name(enum activation activation)
{
    switch (activation) {
    case ACTIVATION_RELU:
        return "Relu";
    case ACTIVATION_LEAKY_RELU:
        return "LeakyRelu";
    case ACTIVATION_CLIP:
        return "Clip";
    case ACTIVATION_SIGMOID:
        return "Sigmoid";
    case ACTIVATION_TANH:
        return "Tanh";
    case ACTIVATION_GELU_TANH:
        return "Gelu(tanh)";
    case ACTIVATION_NONE:
        break;
    }
    return "";
}

static void write_quoted(const char *text, FILE *out)
{
    text_print(out, "\"%s\"", text);
}

void graph_text_element(const struct tensor_view *tensor, int64_t index, int digits, FILE *out)
{
    size_t length;

    if (tensor->dtype == DTYPE_STRING)
        write_quoted(texts_get(((const int64_t *)tensor->data)[index], &length), out);
    else
        fprintf(out, "%.*Lg", digits, element_get(tensor->data, tensor->dtype, index));
}

static void write_element(const struct tensor_view *tensor, int64_t i, FILE *out)
{
    /* As many as tell neighbours apart; integers have all of theirs. */
    int digits = tensor->dtype == DTYPE_F64 ? 17 : element_is_float(tensor->dtype) ? 7 : 20;

    graph_text_element(tensor, i, digits, out);
}

/* "{1, 2}", or "{ ... }" for many. */
void graph_text_elements(const struct tensor_view *tensor, FILE *out)
{
    int64_t count = shape_elements(&tensor->shape);

    if (count > LITERAL_ELEMENTS_MAX) {
        fputs("{ ... }", out);
        return;
    }
    fputc('{', out);
    for (int64_t i = 0; i < count; i++) {
        if (i > 0)
            fputs(", ", out);
        write_element(tensor, i, out);
    }
    fputc('}', out);
}

static void write_type(const struct value *value, FILE *out)
{
    char text[SHAPE_TEXT_BYTES];

    text_print(out, " -> %s, %s", dtype_name(value->dtype), shape_text(&value->shape, text));
}

void graph_text_attribute(const struct attribute *a, FILE *out)
{
    text_print(out, "%s=", a->name);
    switch (a->type) {
    case ATTRIBUTE_INT:
        fprintf(out, "%" PRId64, a->i);
        return;
    case ATTRIBUTE_FLOAT:
        fprintf(out, "%.7g", (double)a->f);
        return;
    case ATTRIBUTE_STRING:
        write_quoted(a->s, out);
        return;
    case ATTRIBUTE_TENSOR:
        graph_text_elements(&a->tensor, out);
        return;
    case ATTRIBUTE_GRAPH:
        fprintf(out, "{%" PRIu32 " nodes}", a->graph->node_count);
        return;
    default:
        break;
    }
    fputc('{', out);
    for (size_t i = 0; i < a->count; i++) {
        if (i > 0)
            fputc(',', out);
        if (a->type == ATTRIBUTE_INTS)
            fprintf(out, "%" PRId64, a->ints[i]);
        else if (a->type == ATTRIBUTE_FLOATS)
            fprintf(out, "%.7g", (double)a->floats[i]);
        else
            write_quoted(a->strings[i], out);
    }
    fputc('}', out);
}

void graph_text_activation(const struct fused *fused, FILE *out)
{
    text_put(activation_name(fused->activation), out);
    if (fused->activation == ACTIVATION_LEAKY_RELU)
        fprintf(out, "[%.7g]", (double)fused->alpha);
    if (fused->activation == ACTIVATION_CLIP)
        fprintf(out, "[%.7g,%.7g]", (double)fused->alpha, (double)fused->beta);
}

static void write_fused(const struct node *node, FILE *out)
{
    const struct fused *fused = &node->fused;

    if (fused->residual_input >= 0)
        text_print(out, " + %s", node->inputs[fused->residual_input]->name);
    if (fused->activation == ACTIVATION_NONE)
        return;
    fputs(" + ", out);
    graph_text_activation(fused, out);
}

static void write_names(struct value *const *values, uint32_t count, int except, FILE *out)
{
    for (uint32_t i = 0; i < count; i++) {
        if ((int)i == except)
            continue;
        if (i > 0)
            fputc(',', out);
        if (values[i])
            text_put(values[i]->name, out);
    }
}

static void write_module(const struct graph *graph, const char *name, FILE *out);

/* What the node's bodies do, behind the graph that it stands in. */
static void write_bodies(const struct graph *graph, const char *name, FILE *out)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct node *node = graph->nodes[n];

        for (uint32_t i = 0; i < node->attribute_count; i++) {
            char *inner;

            if (node->attributes[i].type != ATTRIBUTE_GRAPH ||
                asprintf(&inner, "%s:%s:%s", name, node->name, node->attributes[i].name) < 0)
                continue;
            write_module(node->attributes[i].graph, inner, out);
            free(inner);
        }
    }
}

static void write_node(const struct node *node, FILE *out)
{
    write_names(node->outputs, node->output_count, -1, out);
    text_print(out, " = %s%s%s", node->domain, node->domain[0] != '\0' ? "." : "", node->op_type);
    for (uint32_t i = 0; i < node->attribute_count; i++) {
        fputc(i == 0 ? '[' : ',', out);
        graph_text_attribute(&node->attributes[i], out);
    }
    fputs(node->attribute_count > 0 ? "](" : "(", out);
    write_names(node->inputs, node->input_count, node->fused.residual_input, out);
    fputc(')', out);
    write_fused(node, out);
    if (node_output(node, 0))
        write_type(node->outputs[0], out);
    for (uint32_t i = 0; i < node->origin_count; i++)
        text_print(out, "%s%s", i == 0 ? " # " : ", ", node->origins[i]);
    fputc('\n', out);
}

static void write_module(const struct graph *graph, const char *name, FILE *out)
{
    fputs("module: ", out);
    write_quoted(name, out);
    fputc('\n', out);
    for (uint32_t i = 0; i < graph->input_count; i++) {
        text_print(out, "%s = @param", graph->inputs[i]->name);
        write_type(graph->inputs[i], out);
        fputc('\n', out);
    }
    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct value *value = graph->values[i];
        struct tensor_view view = {value->dtype, value->shape, value->data};

        if (!value->data)
            continue;
        text_print(out, "%s = @literal", value->name);
        graph_text_elements(&view, out);
        write_type(value, out);
        fputc('\n', out);
    }
    for (uint32_t i = 0; i < graph->node_count; i++)
        write_node(graph->nodes[i], out);
    fputs("@return(", out);
    write_names(graph->outputs, graph->output_count, -1, out);
    fputs(")\n", out);
    write_bodies(graph, name, out);
}

void graph_text_write(const struct graph *graph, FILE *out)
{
    write_module(graph, "main", out);
}

static void param_value(const struct attribute *a, struct json_writer *json)
{
    json_key(json, a->name);
    switch (a->type) {
    case ATTRIBUTE_INT:
        json_int(json, a->i);
        return;
    case ATTRIBUTE_FLOAT:
        json_double(json, (double)a->f);
        return;
    case ATTRIBUTE_STRING:
        json_string(json, a->s);
        return;
    default:
        break;
    }
    json_begin_array(json);
    for (size_t i = 0; i < a->count; i++) {
        if (a->type == ATTRIBUTE_INTS)
            json_int(json, a->ints[i]);
        else if (a->type == ATTRIBUTE_FLOATS)
            json_double(json, (double)a->floats[i]);
        else
            json_string(json, a->strings[i]);
    }
    json_end_array(json);
}

void graph_text_params(const struct node *node, struct json_writer *json)
{
    for (uint32_t i = 0; i < node->attribute_count; i++) {
        if (node->attributes[i].type != ATTRIBUTE_TENSOR &&
            node->attributes[i].type != ATTRIBUTE_GRAPH)
            param_value(&node->attributes[i], json);
    }
    if (node->fused.activation != ACTIVATION_NONE) {
        json_key(json, "fused_activation");
        json_string(json, activation_name(node->fused.activation));
    }
    if (node->fused.residual_input >= 0) {
        json_key(json, "fused_residual");
        json_bool(json, true);
    }
}
