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
                    struct tensor_view *output)
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
    rc = eval(graph, node, inputs, output, &ignored);
    free(inputs);
    return rc;
}

/* Cuts the node out: its output becomes a constant, and constants that only it read lose their data
 * at once, so that a chain of large ones is never held as a whole. */
static void replace(struct node *node, void *data)
{
    struct value *value = node->outputs[0];

    for (uint32_t i = 0; i < node->input_count; i++) {
        struct value *input = node->inputs[i];

        (void)node_set_input(node, i, NULL); /* removing cannot fail */
        if (input && input->consumer_count == 0 && !input->is_output)
            value_set_data(input, NULL);
    }
    node->outputs[0] = NULL;
    value->producer = NULL;
    value_set_data(value, data);
}

/* Returns 1 when folded, 0 when it stays, -ENOMEM or -ETIME. */
static int fold(const struct graph *graph, struct node *node, eval_fn *eval)
{
    const struct value *value = node_output(node, 0);
    struct tensor_view output;
    int64_t bytes;
    int rc;

    if (!value || node->output_count != 1)
        return 0;
    output = view_of(value);
    bytes = shape_bytes(&output.shape, output.dtype);
    if (bytes < 0 || (bytes > FOLD_OUTPUT_BYTES_MAX && !is_constant(node)))
        return 0;
    output.data = graph_alloc_data((size_t)bytes);
    if (!output.data)
        return -ENOMEM;
    rc = shape_evaluate(node, &output);
    if (rc == -ENOTSUP && eval)
        rc = evaluate(graph, node, eval, &output);
    if (rc < 0) {
        free(output.data);
        return rc == -ENOMEM || rc == -ETIME ? rc : 0;
    }
    replace(node, output.data);
    return 1;
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
