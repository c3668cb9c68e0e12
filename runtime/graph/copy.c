/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a graph as a graph of its own. */
#include <errno.h>
#include <stdlib.h>

#include "runtime/graph/graph.h"

/* The copy, and by value->index what stands for a value there. */
struct copy {
    struct graph *graph;
    struct value **values;
};

static void share_data(struct value *to, const struct value *from)
{
    value_share_data(to, from->data ? from->data : from->known);
    to->is_deferred = from->is_deferred;
    to->stored = from->stored;
}

/* What nothing in the part computes: constants, and what is known, which is one where it is small. */
static int add_source(struct copy *copy, struct value *to, const struct value *from)
{
    if (!from->data && !from->known)
        return -EINVAL;
    if (!from->data && shape_elements(&from->shape) > GRAPH_PART_CONSTANT_MAX)
        return graph_add_input(copy->graph, to);
    share_data(to, from);
    return 0;
}

/* The value's copy, made at its first use. */
static int copy_value(struct copy *copy, const struct value *value, bool is_source,
                      struct value **out_value)
{
    struct value **place;
    int rc = 0;

    *out_value = NULL;
    if (!value)
        return 0;
    place = &copy->values[value->index];
    if (!*place) {
        *place = graph_add_value(copy->graph, value->name, value->dtype, &value->shape, NULL);
        rc = !*place ? -ENOMEM : is_source ? add_source(copy, *place, value) : 0;
    }
    *out_value = *place;
    return rc;
}

static int copy_node(struct copy *copy, const struct node *node)
{
    size_t room = (size_t)node->input_count + node->output_count + 1;
    struct value **edges = calloc(room, sizeof(*edges));
    struct node *made = NULL;
    int rc = edges ? 0 : -ENOMEM;

    for (uint32_t i = 0; rc == 0 && i < node->input_count; i++)
        rc = copy_value(copy, node->inputs[i], true, &edges[i]);
    for (uint32_t i = 0; rc == 0 && i < node->output_count; i++)
        rc = copy_value(copy, node->outputs[i], false, &edges[node->input_count + i]);
    if (rc == 0) {
        made = graph_add_node(copy->graph, node->op_type, node->domain, node->name, edges,
                              node->input_count, edges + node->input_count, node->output_count);
        rc = made ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; rc == 0 && i < node->attribute_count; i++)
        rc = node_copy_attribute(made, node->attributes[i].name, &node->attributes[i]);
    if (made) {
        made->is_lowered = node->is_lowered;
        made->fused = node->fused;
    }
    free(edges);
    return rc;
}

int graph_copy_part(const struct graph *graph, const bool *nodes, struct value *const *outputs,
                    uint32_t output_count, struct graph **out_part)
{
    struct copy copy = {graph_create(),
                        calloc((size_t)graph->value_count + 1, sizeof(*copy.values))};
    int rc = copy.graph && copy.values ? 0 : -ENOMEM;

    for (uint32_t i = 0; rc == 0 && i < graph->opset_count; i++)
        rc = graph_add_opset(copy.graph, graph->opsets[i].domain, graph->opsets[i].version);
    for (uint32_t i = 0; rc == 0 && i < graph->node_count; i++)
        rc = nodes[i] ? copy_node(&copy, graph->nodes[i]) : 0;
    for (uint32_t i = 0; rc == 0 && i < output_count; i++) {
        struct value *value = copy.values[outputs[i]->index];

        rc = value ? graph_add_output(copy.graph, value) : -EINVAL;
    }
    free(copy.values);
    if (rc == 0)
        *out_part = copy.graph;
    else
        graph_destroy(&copy.graph);
    return rc;
}
