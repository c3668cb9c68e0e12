/* SPDX-License-Identifier: Apache-2.0 */
/* Replace what depends on constants alone by its value. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/run_limits.h"
#include "runtime/passes/pass.h"

enum { TABLE_MIN = 1 << 16 }; /* elements: below, it does not matter when it is turned */

static bool is_constant(const struct node *node)
{
    return node->domain[0] == '\0' && strcmp(node->op_type, "Constant") == 0;
}

static bool inputs_are_constant(const struct node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] && !node->inputs[i]->data)
            return false;
    }
    return true;
}

static struct tensor_view view_of(const struct value *value)
{
    if (!value)
        return (struct tensor_view){0};
    return (struct tensor_view){value->dtype, value->shape, value->data};
}

/* Runs eval over the node's constants. */
static int evaluate(const struct graph *graph, const struct node *node, eval_fn *eval,
                    struct tensor_view *outputs)
{
    struct diag ignored = {0};
    struct tensor_view *inputs;
    int rc;

    if (!inputs_are_constant(node))
        return -ENOTSUP;
    if (node_settle(node) < 0)
        return -ENOMEM;
    inputs = calloc(node->input_count + 1, sizeof(*inputs));
    if (!inputs)
        return -ENOMEM;
    for (uint32_t i = 0; i < node->input_count; i++)
        inputs[i] = view_of(node->inputs[i]);
    rc = eval(graph, node, inputs, outputs, &ignored);
    free(inputs);
    return rc;
}

/* Cuts the node out: its outputs become constants, and constants that only it read lose their data
 * at once, so that a chain of large ones is never held as a whole. Takes the data of the outputs. */
static void replace(struct node *node, struct tensor_view *outputs)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        struct value *input = node->inputs[i];

        (void)node_set_input(node, i, NULL); /* removing cannot fail */
        if (input && input->consumer_count == 0 && !input->is_output)
            value_set_data(input, NULL);
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        struct value *value = node->outputs[i];

        node->outputs[i] = NULL;
        value->producer = NULL;
        value_set_data(value, outputs[i].data);
        outputs[i].data = NULL;
    }
}

/* One output, or the parts of a Split, which exporters write of projections that share a matrix, or what a
 * BatchNormalization that trains makes of weights, which are standardised so. */
static bool can_fold(const struct node *node)
{
    bool has_parts = node->domain[0] == '\0' && (strcmp(node->op_type, "Split") == 0 ||
                                                 strcmp(node->op_type, "BatchNormalization") == 0);

    if (node->output_count != 1 && (!has_parts || !inputs_are_constant(node)))
        return false;
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (!node->outputs[i])
            return false;
    }
    return node->output_count > 0;
}

/* Room for all outputs. Returns 1, 0 when they are too large, or -ENOMEM. */
static int make_room(const struct node *node, struct tensor_view *outputs)
{
    for (uint32_t i = 0; i < node->output_count; i++) {
        int64_t bytes;

        outputs[i] = view_of(node->outputs[i]);
        outputs[i].data = NULL;
        bytes = shape_bytes(&outputs[i].shape, outputs[i].dtype);
        if (bytes < 0 || (bytes > FOLD_OUTPUT_BYTES_MAX && !is_constant(node)))
            return 0;
        outputs[i].data = graph_alloc_data((size_t)bytes);
        if (!outputs[i].data)
            return -ENOMEM;
    }
    return 1;
}

/* Returns as fold(), with the room for all outputs. */
static int fold_into(const struct graph *graph, struct node *node, eval_fn *eval,
                     struct tensor_view *outputs)
{
    int rc = make_room(node, outputs);

    if (rc <= 0)
        return rc;
    rc = node->output_count == 1 ? shape_evaluate(node, outputs) : -ENOTSUP;
    if (rc == -ENOTSUP && eval)
        rc = evaluate(graph, node, eval, outputs);
    if (rc < 0)
        return rc == -ENOMEM || rc == -ETIME ? rc : 0;
    replace(node, outputs);
    return 1;
}

/* Returns 1 when folded, 0 when it stays, -ENOMEM or -ETIME. */
static int fold(const struct graph *graph, struct node *node, eval_fn *eval)
{
    struct tensor_view *outputs;
    int rc;

    if (!can_fold(node))
        return 0;
    outputs = calloc(node->output_count, sizeof(*outputs));
    if (!outputs)
        return -ENOMEM;
    rc = fold_into(graph, node, eval, outputs);
    for (uint32_t i = 0; i < node->output_count; i++)
        free(outputs[i].data);
    free(outputs);
    return rc;
}

/* A table of which others read rows, turned for a product: two copies of it are there from then on. */
static bool is_turned_table(const struct node *node)
{
    const struct value *table = node_input(node, 0);

    return strcmp(node->op_type, "Transpose") == 0 && node->domain[0] == '\0' && table &&
           table->data && table->consumer_count > 1 && shape_elements(&table->shape) >= TABLE_MIN;
}

static bool is_any_but_table(const struct node *node)
{
    return !is_turned_table(node);
}

/* wants: which nodes; NULL: all. */
static int fold_nodes(struct graph *graph, bool (*wants)(const struct node *node), eval_fn *eval,
                      struct diag *diag)
{
    int folded = 0;

    for (uint32_t i = 0; i < graph->node_count; i++) {
        int rc = 0;

        if (!wants || wants(graph->nodes[i]))
            rc = fold(graph, graph->nodes[i], eval);
        if (limits_is_over())
            return limits_check_time(diag);
        if (rc < 0)
            return diag_set(diag, rc, "no memory to compute node \"%s\" while loading",
                            graph->nodes[i]->name);
        folded += rc;
    }
    if (folded > 0)
        graph_remove_dead(graph);
    return folded;
}

int pass_fold_constants(struct graph *graph, bool leaves_tables, eval_fn *eval, struct diag *diag)
{
    return fold_nodes(graph, leaves_tables ? is_any_but_table : NULL, eval, diag);
}

int pass_fold_tables(struct graph *graph, eval_fn *eval, struct diag *diag)
{
    return fold_nodes(graph, is_turned_table, eval, diag);
}

int pass_take_constants(struct graph *graph, struct diag *diag)
{
    return fold_nodes(graph, is_constant, NULL, diag);
}
