/* SPDX-License-Identifier: Apache-2.0 */
/* What a graph owns, given back. Attributes hold graphs, so all of it stands together. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/graph/graph.h"
#include "runtime/graph/private.h"

void attribute_clear(struct attribute *attribute)
{
    if (attribute->strings) {
        for (size_t i = 0; i < attribute->count; i++)
            free(attribute->strings[i]);
    }
    free(attribute->strings);
    free(attribute->name);
    free(attribute->s);
    free(attribute->tensor.data);
    free(attribute->ints);
    free(attribute->floats);
    graph_destroy(&attribute->graph);
    *attribute = (struct attribute){0};
}

bool value_may_decide(const struct value *value)
{
    return value->dtype == DTYPE_I64 || value->dtype == DTYPE_I32 || value->dtype == DTYPE_BOOL;
}

int value_learn(struct value *value, const struct tensor_view *content)
{
    enum { ELEMENTS_MAX = 1024 };
    int64_t count = shape_elements(&content->shape);
    bool fits = value->shape.rank < 0 || value->shape.rank == content->shape.rank;
    size_t bytes = dtype_bytes(content->dtype);
    void *copy;

    for (int i = 0; fits && i < value->shape.rank; i++)
        fits = value->shape.dims[i] < 0 || value->shape.dims[i] == content->shape.dims[i];
    if (!fits || value->known || value->dtype != content->dtype || count < 1 ||
        count > ELEMENTS_MAX)
        return 0;
    copy = malloc((size_t)count * bytes);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, content->data, (size_t)count * bytes);
    value->known = copy;
    value->shape = content->shape;
    return 0;
}

void value_set_data(struct value *value, void *data)
{
    if (!value->is_shared)
        free(value->data);
    value->data = data;
    value->is_shared = value->is_deferred = false;
    free(value->factors);
    value->factors = NULL;
}

void node_free(struct node *node)
{
    free(node->op_type);
    free(node->domain);
    free(node->name);
    free(node->inputs);
    free(node->places);
    free(node->outputs);
    for (uint32_t i = 0; i < node->attribute_count; i++)
        attribute_clear(&node->attributes[i]);
    free(node->attributes);
    for (uint32_t i = 0; i < node->origin_count; i++)
        free(node->origins[i]);
    free(node->origins);
    free(node);
}

void value_free(struct value *value)
{
    for (int i = 0; i < SHAPE_MAX_RANK; i++)
        free(value->dim_names[i]);
    free(value->name);
    value_set_data(value, NULL);
    if (!value->known_is_lent)
        free(value->known);
    free(value->consumers);
    free(value->read_as);
    free(value);
}

static void free_ports(struct port_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        free(list->items[i].name);
    free(list->items);
}

void graph_destroy(struct graph **graph_ptr)
{
    struct graph *graph = *graph_ptr;

    *graph_ptr = NULL;
    if (!graph)
        return;
    for (uint32_t i = 0; i < graph->node_count; i++)
        node_free(graph->nodes[i]);
    for (uint32_t i = 0; i < graph->value_count; i++)
        value_free(graph->values[i]);
    for (uint32_t i = 0; i < graph->opset_count; i++)
        free(graph->opsets[i].domain);
    for (size_t i = 0; graph->private_state && i < graph->private_state->maps.count; i++)
        munmap(graph->private_state->maps.items[i].address,
               graph->private_state->maps.items[i].bytes);
    if (graph->private_state) {
        free(graph->private_state->slots);
        array_deinit(&graph->private_state->maps);
    }
    free(graph->private_state);
    free(graph->opsets);
    free(graph->nodes);
    free(graph->values);
    free(graph->inputs);
    free(graph->outputs);
    free(graph->captures);
    free_ports(&graph->input_ports);
    free_ports(&graph->output_ports);
    free(graph->path);
    free(graph->name);
    free(graph->producer_name);
    free(graph->producer_version);
    free(graph->layouts);
    free(graph->notice);
    free(graph);
}
