/* SPDX-License-Identifier: Apache-2.0 */
/* Take out nodes that do nothing. */
#include <errno.h>
#include <string.h>

#include "runtime/passes/pass.h"

/* Input 0 and output 0 have the same dtype and shape. */
static bool keeps_form(const struct node *node)
{
    const struct value *in = node->inputs[0];
    const struct value *out = node->outputs[0];

    return in->dtype == out->dtype && shape_equal(&in->shape, &out->shape);
}

static bool is_unused(const struct value *value)
{
    return !value || (value->consumer_count == 0 && !value->is_output);
}

/* Every entry of the integer list in attribute `name`, or else in constant input i, is `wanted`.
 * True when there is no such list. */
static bool all_are(const struct node *node, const char *name, uint32_t i, int64_t wanted)
{
    const struct value *value = node_input(node, i);
    size_t count;
    const int64_t *list = node_ints(node, name, &count);

    if (!list && !value)
        return true;
    if (!list) {
        if (!value->data || value->dtype != DTYPE_I64)
            return false;
        list = value->data;
        count = (size_t)shape_elements(&value->shape);
    }
    for (size_t k = 0; k < count; k++) {
        if (list[k] != wanted)
            return false;
    }
    return true;
}

/* The permutation moves nothing, or only dimensions of size 1: the elements stay in order. */
static bool transpose_is_view(const struct node *node)
{
    size_t count;
    const int64_t *perm = node_ints(node, "perm", &count);
    const struct shape *shape = &node->inputs[0]->shape;
    int64_t last = -1;

    for (int i = 0; i < shape->rank; i++) {
        int64_t from = !perm ? shape->rank - 1 - i : perm[i];

        if (shape->dims[from] == 1)
            continue;
        if (from < last)
            return false;
        last = from;
    }
    return true;
}

static bool is_any(const char *op_type, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(op_type, names[i]) == 0)
            return true;
    }
    return false;
}

static bool does_nothing(const struct node *node)
{
    static const char *const by_form[] = {"Identity",  "Dropout", "Reshape", "Flatten", "Squeeze",
                                          "Unsqueeze", "Cast",    "Expand",  "Tile"};
    static const char *const by_count[] = {"Concat", "Sum"};
    const char *op_type = node->op_type;

    if (!node->inputs[0] || !node->outputs[0] || node->domain[0] != '\0' ||
        node->fused.activation != ACTIVATION_NONE || !keeps_form(node))
        return false;
    if (is_any(op_type, by_form, sizeof(by_form) / sizeof(by_form[0])))
        return is_unused(node_output(node, 1));
    if (is_any(op_type, by_count, sizeof(by_count) / sizeof(by_count[0])))
        return node->input_count == 1;
    if (strcmp(op_type, "Transpose") == 0)
        return transpose_is_view(node);
    if (strcmp(op_type, "Slice") == 0)
        return all_are(node, "steps", 4, 1);
    if (strcmp(op_type, "Pad") == 0)
        return all_are(node, "pads", 1, 0) && all_are(node, "paddings", 1, 0);
    if (strcmp(op_type, "Clip") == 0)
        return !node_input(node, 1) && !node_input(node, 2) && !node_attribute(node, "min") &&
               !node_attribute(node, "max");
    return false;
}

int pass_drop_identities(struct graph *graph, struct diag *diag)
{
    int dropped = 0;

    for (uint32_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        int rc = node->input_count > 0 && does_nothing(node) ? graph_bypass(graph, node, 0) : 0;

        if (rc < 0)
            return diag_set(diag, rc, "no memory to optimise the model");
        dropped += rc;
    }
    if (dropped > 0)
        graph_remove_dead(graph);
    return dropped;
}
