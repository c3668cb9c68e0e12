/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a body in place of the node that has it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/lower/rules.h"

/* What a value of one graph is in another, by index. */
struct places {
    struct value **items;
};

static int copy_data(struct value *to, const struct value *from)
{
    size_t bytes = (size_t)shape_bytes(&from->shape, from->dtype);
    void *data = graph_alloc_data(bytes);

    if (!data)
        return -ENOMEM;
    memcpy(data, from->data, bytes);
    value_set_data(to, data);
    return 0;
}

/* The copy of a value, made at its first use. name: it keeps its name. */
static struct value *copy_value(struct graph *to, struct places *places, const struct value *value,
                                bool keeps_name)
{
    struct value **place;

    if (!value)
        return NULL;
    place = &places->items[value->index];
    if (!*place)
        *place =
            graph_add_value(to, keeps_name ? value->name : NULL, value->dtype, &value->shape, NULL);
    if (*place && value->data && !(*place)->data && copy_data(*place, value) < 0)
        return NULL;
    return *place;
}

static struct graph *copy_graph(const struct graph *from, int depth);

static int copy_attributes(struct node *to, const struct node *from, int depth)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < from->attribute_count; i++) {
        const struct attribute *a = &from->attributes[i];

        if (a->type == ATTRIBUTE_GRAPH) {
            struct graph *body = depth > 0 ? copy_graph(a->graph, depth - 1) : NULL;

            rc = body ? node_set_graph(to, a->name, body) : -ENOMEM;
        } else {
            rc = node_copy_attribute(to, a->name, a);
        }
    }
    return rc;
}

static int copy_node(struct graph *to, struct places *places, const struct node *node,
                     const char *name, bool keeps_names, int depth, struct node **out_copy)
{
    size_t room = (size_t)node->input_count + node->output_count + 1;
    struct value **edges = calloc(room, sizeof(*edges));
    struct node *copy = NULL;
    int rc = edges ? 0 : -ENOMEM;

    for (uint32_t i = 0; rc == 0 && i < node->input_count + node->output_count; i++) {
        const struct value *value =
            i < node->input_count ? node->inputs[i] : node->outputs[i - node->input_count];

        edges[i] = copy_value(to, places, value, keeps_names);
        rc = value && !edges[i] ? -ENOMEM : 0;
    }
    if (rc == 0) {
        copy = graph_add_node(to, node->op_type, node->domain, name, edges, node->input_count,
                              edges + node->input_count, node->output_count);
        rc = copy ? copy_attributes(copy, node, depth) : -ENOMEM;
    }
    if (copy) {
        copy->captured_count = node->captured_count;
        copy->is_lowered = node->is_lowered;
    }
    free(edges);
    if (rc == 0 && out_copy)
        *out_copy = copy;
    return rc;
}

static int copy_ends(struct graph *to, struct places *places, const struct graph *from)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < from->input_count; i++) {
        struct value *value = copy_value(to, places, from->inputs[i], true);

        rc = value ? graph_add_input(to, value) : -ENOMEM;
    }
    for (uint32_t i = 0; rc == 0 && i < from->output_count; i++) {
        struct value *value = copy_value(to, places, from->outputs[i], true);

        rc = value ? graph_add_output(to, value) : -ENOMEM;
    }
    to->captures = malloc((from->capture_count + 1) * sizeof(*to->captures));
    if (!to->captures)
        return -ENOMEM;
    for (uint32_t i = 0; i < from->capture_count; i++)
        to->captures[to->capture_count++] = from->captures[i];
    return rc;
}

/* NULL without memory, or where bodies are too deep. */
static struct graph *copy_graph(const struct graph *from, int depth)
{
    struct places places = {calloc((size_t)from->value_count + 1, sizeof(struct value *))};
    struct graph *to = graph_create();
    int rc = to && places.items ? 0 : -ENOMEM;

    for (uint32_t i = 0; rc == 0 && i < from->opset_count; i++)
        rc = graph_add_opset(to, from->opsets[i].domain, from->opsets[i].version);
    for (uint32_t i = 0; rc == 0 && i < from->node_count; i++)
        rc = copy_node(to, &places, from->nodes[i], from->nodes[i]->name, true, depth, NULL);
    if (rc == 0)
        rc = copy_ends(to, &places, from);
    free(places.items);
    if (rc < 0)
        graph_destroy(&to);
    return to;
}

void lower_inline(struct lower *l, const struct graph *body, struct value *const *inputs,
                  struct value **outputs)
{
    enum { DEPTH = 16 };
    struct places places = {calloc((size_t)body->value_count + 1, sizeof(struct value *))};
    uint32_t own = body->input_count - body->capture_count;
    int rc = places.items ? 0 : -ENOMEM;

    for (uint32_t i = 0; rc == 0 && i < body->input_count; i++)
        places.items[body->inputs[i]->index] =
            i < own ? inputs[i] : l->node->inputs[body->captures[i - own]];
    for (uint32_t i = 0; rc == 0 && i < body->node_count; i++) {
        struct node *copy = NULL;
        char *name;

        if (asprintf(&name, "%s/%s", l->node->name, body->nodes[i]->name) < 0)
            rc = -ENOMEM;
        else {
            rc = copy_node(l->graph, &places, body->nodes[i], name, false, DEPTH, &copy);
            free(name);
        }
        if (rc == 0)
            rc = node_add_origins(copy, l->node);
    }
    for (uint32_t i = 0; rc == 0 && i < body->output_count; i++) {
        outputs[i] = copy_value(l->graph, &places, body->outputs[i], false);
        rc = outputs[i] ? 0 : -ENOMEM;
    }
    free(places.items);
    if (l->rc == 0 && rc < 0)
        l->rc = rc;
}
