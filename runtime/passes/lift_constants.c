/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the body of a Loop or an If computes of constants alone goes out of it, where it is folded as all that depends on
 * constants is: exporters that trace scripts leave in a body what slices and transposes its weights, in each turn.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/passes/pass.h"

#define COPIED_BYTES_MAX ((int64_t)1 << 16) /* of a constant that the body has itself */

/* A body, and what stands outside for its values. */
struct lift {
    struct graph *graph, *body;
    struct node *holder;
    struct value **outside; /* by index in body->values; NULL: it is computed in each run */
};

/* Operators whose results depend on nothing else, and that cannot fail where the body would not run. */
static bool is_liftable(const struct node *node)
{
    static const char *const types[] = {"Add",    "Cast",    "Concat", "Constant",  "Identity",
                                        "MatMul", "Mul",     "Neg",    "Reshape",   "Shape",
                                        "Slice",  "Squeeze", "Sub",    "Transpose", "Unsqueeze"};
    const struct value *y = node_output(node, 0);

    if (node->domain[0] != '\0' || node->output_count != 1 || !y || y->is_output ||
        y->dtype == DTYPE_NONE || !shape_is_known(&y->shape) || node->captured_count > 0)
        return false;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(node->op_type, types[i]) == 0)
            return true;
    return false;
}

/* A constant of the body's own, as one of the graph around it. NULL with *rc 0: it is too large. */
static struct value *copy_constant(struct lift *lift, const struct value *value, int *rc)
{
    int64_t bytes = shape_bytes(&value->shape, value->dtype);
    struct value *copy;
    void *data;

    if (bytes < 0 || bytes > COPIED_BYTES_MAX || value->is_deferred)
        return NULL;
    copy = graph_add_value(lift->graph, NULL, value->dtype, &value->shape, NULL);
    data = graph_alloc_data((size_t)bytes);
    if (!copy || !data) {
        free(data);
        *rc = -ENOMEM;
        return NULL;
    }
    memcpy(data, value->data, (size_t)bytes);
    value_set_data(copy, data);
    return copy;
}

/* What the body captures of constants. */
static void find_captures(struct lift *lift)
{
    const struct graph *body = lift->body;
    uint32_t own = body->input_count - body->capture_count;

    for (uint32_t i = 0; i < body->capture_count; i++) {
        struct value *value = lift->holder->inputs[body->captures[i]];

        if (value && value->data)
            lift->outside[body->inputs[own + i]->index] = value;
    }
}

/* The operands outside; false: there is one that is not. */
static bool find_operands(struct lift *lift, const struct node *node, struct value **operands,
                          int *rc)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        struct value *value = node->inputs[i];
        struct value **found = value ? &lift->outside[value->index] : NULL;

        if (value && !*found && value->data)
            *found = copy_constant(lift, value, rc);
        if (value && !*found)
            return false;
        operands[i] = value ? *found : NULL;
    }
    return true;
}

/* The node outside, which takes its attributes along. */
static int add_outside(struct lift *lift, struct node *node, struct value **operands)
{
    const struct value *y = node->outputs[0];
    struct value *made = graph_add_value(lift->graph, NULL, y->dtype, &y->shape, NULL);
    struct node *copy = made ? graph_add_node(lift->graph, node->op_type, "", node->name, operands,
                                              node->input_count, &made, 1)
                             : NULL;

    if (!copy)
        return -ENOMEM;
    copy->attributes = node->attributes;
    copy->attribute_count = node->attribute_count;
    copy->is_lowered = node->is_lowered;
    node->attributes = NULL;
    node->attribute_count = 0;
    lift->outside[y->index] = made;
    return 1;
}

/* Returns 1 where the node went out of the body. */
static int lift_node(struct lift *lift, struct node *node)
{
    struct value **operands;
    int rc = 0;

    if (!is_liftable(node))
        return 0;
    operands = calloc((size_t)node->input_count + 1, sizeof(*operands));
    if (!operands)
        return -ENOMEM;
    if (find_operands(lift, node, operands, &rc))
        rc = add_outside(lift, node, operands);
    free(operands);
    return rc;
}

/* Whom the body still reads comes in as what it captures. */
static int capture(struct lift *lift, struct value *value, struct value *outside)
{
    int rc = value->consumer_count == 0 ? 0 : graph_add_input(lift->body, value);

    if (rc == 0 && value->consumer_count > 0)
        rc = node_capture(lift->holder, lift->body, outside);
    return rc;
}

static int lift_body(struct graph *graph, struct node *holder, struct graph *body)
{
    struct lift lift = {graph, body, holder,
                        calloc((size_t)body->value_count + 1, sizeof(struct value *))};
    struct value **lifted = calloc((size_t)body->node_count + 1, sizeof(struct value *));
    uint32_t count = 0;
    int rc = lift.outside && lifted ? 0 : -ENOMEM;

    if (rc == 0)
        find_captures(&lift);
    for (uint32_t i = 0; rc >= 0 && i < body->node_count; i++) {
        struct node *node = body->nodes[i];
        struct value *y = node_output(node, 0);

        rc = lift_node(&lift, node);
        if (rc == 1) {
            lifted[count++] = y;
            graph_detach_node(node);
        }
    }
    graph_remove_detached(body);
    for (uint32_t i = 0; rc >= 0 && i < count; i++)
        rc = capture(&lift, lifted[i], lift.outside[lifted[i]->index]);
    free(lifted);
    free(lift.outside);
    return rc < 0 ? rc : (int)count;
}

int pass_lift_constants(struct graph *graph, struct diag *diag)
{
    uint32_t nodes = graph->node_count;
    int lifted = 0;

    for (uint32_t i = 0; i < nodes; i++) {
        struct node *node = graph->nodes[i];
        int rc = 0;

        if (node->domain[0] != '\0' ||
            (strcmp(node->op_type, "Loop") != 0 && strcmp(node->op_type, "If") != 0))
            continue;
        for (uint32_t k = 0; rc >= 0 && k < node->attribute_count; k++) {
            if (node->attributes[k].type == ATTRIBUTE_GRAPH)
                rc = lift_body(graph, node, node->attributes[k].graph);
            if (rc < 0)
                return diag_set(diag, -ENOMEM, "no memory to optimise the model");
            lifted += rc;
            rc = 0;
        }
    }
    return pass_settle(graph, lifted, diag);
}
