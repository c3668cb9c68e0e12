/* SPDX-License-Identifier: Apache-2.0 */
/* Making a graph end earlier: other outputs, or fewer nodes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/passes/pass.h"

static void forget_outputs(struct graph *graph)
{
    for (uint32_t i = 0; i < graph->output_count; i++)
        graph->outputs[i]->is_output = false;
    graph->output_count = 0;
}

static int add_output(struct graph *graph, const char *name, struct diag *diag)
{
    struct value *value = graph_find_value(graph, name);

    if (!value || (!value->producer && !value->is_input))
        return diag_set(diag, -EINVAL, "--output-names: nothing computes '%.120s'", name);
    if (value->is_output)
        return diag_set(diag, -EINVAL, "--output-names: '%.120s' is named twice", name);
    if (graph_add_output(graph, value) < 0)
        return diag_set(diag, -ENOMEM, "no memory for the outputs");
    return 0;
}

static int choose_outputs(struct graph *graph, const char *names, struct diag *diag)
{
    char *copy = strdup(names), *rest = copy, *name;
    int rc = copy ? 0 : diag_set(diag, -ENOMEM, "no memory for the outputs");

    forget_outputs(graph);
    while (rc == 0 && (name = strsep(&rest, ",")))
        if (name[0] != '\0')
            rc = add_output(graph, name, diag);
    if (rc == 0 && graph->output_count == 0)
        rc = diag_set(diag, -EINVAL, "--output-names names no output");
    free(copy);
    return rc;
}

/* What the last node that is left makes are the outputs then. */
static int trim_nodes(struct graph *graph, int64_t count, struct diag *diag)
{
    struct node *last;

    if (count >= (int64_t)graph->node_count)
        return diag_set(diag, -EINVAL, "--trim %lld leaves no node: the model has %u",
                        (long long)count, graph->node_count);
    forget_outputs(graph);
    while (count-- > 0)
        graph_remove_node(graph, graph->nodes[graph->node_count - 1]);
    last = graph->nodes[graph->node_count - 1];
    for (uint32_t i = 0; i < last->output_count; i++)
        if (last->outputs[i] && graph_add_output(graph, last->outputs[i]) < 0)
            return diag_set(diag, -ENOMEM, "no memory for the outputs");
    return 0;
}

int pass_cut(struct graph *graph, const struct pass_options *options, struct diag *diag)
{
    int rc = 0;

    if (options->trim > 0)
        rc = trim_nodes(graph, options->trim, diag);
    if (rc == 0 && options->output_names)
        rc = choose_outputs(graph, options->output_names, diag);
    if (rc == 0 && (options->trim > 0 || options->output_names))
        graph_remove_dead(graph);
    return rc;
}
