/* SPDX-License-Identifier: Apache-2.0 */
/* Replacing operators by others: finding the rule. */
#include "runtime/ops/lower/lower.h"

#include <string.h>

#include "runtime/ops/lower/rules.h"

static const struct lower_rule *const books[] = {
    lower_layers,   lower_attentions, lower_quantised, lower_linear,  lower_groups,
    lower_learning, lower_scans,      lower_sequences, lower_trees,   lower_ensembles,
    lower_signals,  lower_windows,    lower_carriers,  lower_blocks,  lower_channels,
    lower_training, lower_flexible,   lower_diffusion, lower_contrib, lower_gated,
    lower_experts,  lower_streams,    lower_deltas};
enum { BOOKS = sizeof(books) / sizeof(books[0]) };

const struct lower_facts *lower_facts_at(size_t index)
{
    for (size_t book = 0; book < BOOKS; book++)
        for (const struct lower_rule *rule = books[book]; rule->facts.type; rule++)
            if (index-- == 0)
                return &rule->facts;
    return NULL;
}

static const struct lower_rule *find_rule(const struct node *node)
{
    char buffer[NODE_TYPE_BYTES];
    const char *type = node_full_type(node, buffer);

    for (size_t book = 0; book < BOOKS; book++)
        for (const struct lower_rule *rule = books[book]; rule->facts.type; rule++)
            if (strcmp(rule->facts.type, type) == 0)
                return rule;
    return NULL;
}

/* The walk */

static void check_node(struct lower *l, const struct lower_rule *rule)
{
    const struct node *node = l->node;

    if (node->input_count < rule->inputs_min || node->input_count > rule->inputs_max)
        lower_refuse(l, "it has %u inputs", node->input_count);
    if (rule->inputs_min > 0 && !node_input(node, 0))
        lower_refuse(l, "input 0 is left out");
    for (uint32_t i = rule->outputs_max; i < node->output_count; i++)
        if (node->outputs[i])
            lower_refuse(l, "output %u is wanted", i);
    if (!lower_wants(l, 0) && rule->outputs_max != LOWER_ANY)
        lower_refuse(l, "output 0 is left out");
    for (uint32_t i = 0; i < node->attribute_count; i++)
        if (!lower_is_listed(rule->attributes, node->attributes[i].name))
            lower_refuse(l, "attribute %.60s is not known", node->attributes[i].name);
}

/* Returns 1 where the node stays. */
static int lower_node(struct graph *graph, struct node *node, const struct lower_rule *rule,
                      struct diag *diag)
{
    struct lower l = {.graph = graph, .node = node, .diag = diag, .first = graph->node_count};

    lower_settle(&l);
    check_node(&l, rule);
    if (l.rc == 0)
        rule->lower(&l);
    if (l.is_kept)
        return l.rc < 0 ? l.rc : 1;
    for (uint32_t i = 0; l.rc == 0 && i < node->output_count; i++)
        if (node->outputs[i])
            lower_refuse(&l, "output %u is wanted", i);
    if (l.rc == 0)
        graph_detach_node(node);
    return l.rc;
}

/* What bodies read of sequences. */
static int lower_bodies(struct lower *l)
{
    for (uint32_t i = 0; l->rc == 0 && i < l->node->attribute_count; i++) {
        struct graph *body = l->node->attributes[i].graph;

        if (l->node->attributes[i].type != ATTRIBUTE_GRAPH || !lower_reads_sequence(l, body))
            continue;
        if (l->rc == 0)
            l->rc = lower_graph(body, l->diag);
        lower_prune(body);
        if (l->rc == 0)
            l->rc = graph_sort(body, l->diag);
    }
    return l->rc;
}

/* Returns whether it did. A Loop that can be so becomes its turns first: each knows its number, by which it may
 * take of a sequence from outside. */
static bool lower_carrier(struct lower *l)
{
    bool has_body = node_graph(l->node, "body") != NULL;

    if (has_body && lower_carried(l, true))
        return true;
    if (l->node->captured_count > 0 && lower_bodies(l) < 0)
        return false;
    return (has_body && lower_carried(l, false)) ||
           (node_graph(l->node, "then_branch") && lower_branches(l));
}

/* Loops and bodies before the rules of what they make. */
static int lower_carriers_of(struct graph *graph, struct diag *diag)
{
    uint32_t i = 0;
    int rc = 0;

    while (rc == 0 && i < graph->node_count) {
        struct lower l = {
            .graph = graph, .node = graph->nodes[i], .diag = diag, .first = graph->node_count};
        bool is_done = lower_carrier(&l);

        i++;
        rc = l.rc;
        if (rc == 0 && is_done)
            graph_detach_node(l.node);
    }
    graph_remove_detached(graph);
    return rc;
}

int lower_decided(struct graph *graph, struct diag *diag)
{
    int taken = 0, rc = 0;

    for (uint32_t i = 0; rc == 0 && i < graph->node_count; i++) {
        struct lower l = {
            .graph = graph, .node = graph->nodes[i], .diag = diag, .first = graph->node_count};

        if (!node_graph(l.node, "then_branch") || !lower_branches(&l))
            continue;
        rc = l.rc;
        graph_detach_node(l.node);
        taken++;
    }
    if (taken == 0)
        return rc;
    graph_remove_detached(graph);
    lower_prune(graph);
    if (rc == 0)
        rc = graph_sort(graph, diag);
    return rc < 0 ? rc : taken;
}

/* Models of trees alone import no standard operators, as XGBoost's do. */
static int import_standard(struct graph *graph)
{
    enum { VERSION = 21 };

    return graph_opset(graph, "") > 0 ? 0 : graph_add_opset(graph, "", VERSION);
}

int lower_graph(struct graph *graph, struct diag *diag)
{
    uint32_t i = 0;
    int rc = lower_carriers_of(graph, diag);

    /* New nodes go to the end, and are none that have rules. */
    while (rc >= 0 && i < graph->node_count) {
        struct node *node = graph->nodes[i++];
        const struct lower_rule *rule = find_rule(node);

        if (rule)
            rc = import_standard(graph);
        if (rc >= 0)
            rc = rule ? lower_node(graph, node, rule, diag) : 0;
    }
    graph_remove_detached(graph);
    return rc < 0 ? rc : 0;
}

/* What lower_for_device() makes of a node; NULL: it stays. */
static const struct lower_rule *rule_for_device(const struct node *node, bool on_device,
                                                enum dtype half)
{
    char buffer[NODE_TYPE_BYTES];
    const char *type = node_full_type(node, buffer);

    if (on_device && strcmp(type, lower_kept_experts.facts.type) == 0)
        return &lower_kept_experts;
    if (on_device && strcmp(type, lower_kept_lstm.facts.type) == 0)
        return &lower_kept_lstm;
    if (strcmp(type, lower_kept_blocks.facts.type) == 0 &&
        (on_device || lower_is_slower_than(node, half)))
        return &lower_kept_blocks;
    return NULL;
}

int lower_for_device(struct graph *graph, bool on_device, enum dtype half, struct diag *diag)
{
    const uint32_t count = graph->node_count;
    int made = 0, rc = 0;

    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        struct node *node = graph->nodes[i];
        const struct lower_rule *rule = rule_for_device(node, on_device, half);

        if (!rule)
            continue;
        rc = lower_node(graph, node, rule, diag);
        made++;
    }
    if (made == 0)
        return rc;
    graph_remove_detached(graph);
    if (rc == 0)
        rc = graph_sort(graph, diag);
    return rc < 0 ? rc : made;
}

bool lower_takes_body(const struct node *node)
{
    char buffer[NODE_TYPE_BYTES];

    return lower_is_listed("Scan SequenceMap ai.onnx.preview.FlexAttention",
                           node_full_type(node, buffer));
}
