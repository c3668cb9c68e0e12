/* SPDX-License-Identifier: Apache-2.0 */
/* The model as a graph: changing edges, removing what is dead, ordering, checking. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/graph.h"
#include "runtime/graph/private.h"

/* Make room for inputs up to i. */
static int grow_inputs(struct node *node, uint32_t i)
{
    struct value **grown = realloc(node->inputs, (i + 1) * sizeof(*grown));
    uint32_t *places;

    if (!grown)
        return -ENOMEM;
    node->inputs = grown;
    places = realloc(node->places, (i + 1) * sizeof(*places));
    if (!places)
        return -ENOMEM;
    node->places = places;
    for (uint32_t k = node->input_count; k <= i; k++)
        node->inputs[k] = NULL;
    node->input_count = i + 1;
    return 0;
}

int node_set_input(struct node *node, uint32_t i, struct value *value)
{
    struct value *former;
    uint32_t place;

    if (i >= node->input_count && grow_inputs(node, i) < 0)
        return -ENOMEM;
    former = node->inputs[i];
    place = former ? node->places[i] : 0;
    if (value && value_add_consumer(value, node, i) < 0)
        return -ENOMEM;
    if (former)
        value_remove_consumer(former, place);
    node->inputs[i] = value;
    return 0;
}

int graph_replace_uses(struct graph *graph, struct value *from, struct value *to)
{
    (void)graph;
    while (from->consumer_count > 0) {
        uint32_t last = from->consumer_count - 1;

        if (node_set_input(from->consumers[last], from->read_as[last], to) < 0)
            return -ENOMEM;
    }
    return 0;
}

void node_take_output(struct node *node, uint32_t i, struct value *value)
{
    struct node *former = value->producer;

    if (former) {
        for (uint32_t k = 0; k < former->output_count; k++) {
            if (former->outputs[k] == value)
                former->outputs[k] = NULL;
        }
    }
    if (node->outputs[i])
        node->outputs[i]->producer = NULL;
    node->outputs[i] = value;
    value->producer = node;
}

int node_add_origins(struct node *into, const struct node *from)
{
    char **grown =
        realloc(into->origins, (into->origin_count + from->origin_count) * sizeof(*into->origins));

    if (!grown)
        return -ENOMEM;
    into->origins = grown;
    for (uint32_t i = 0; i < from->origin_count; i++) {
        char *name = strdup(from->origins[i]);

        if (!name)
            return -ENOMEM;
        into->origins[into->origin_count++] = name;
    }
    return 0;
}

/* Take over what `from` did: it reads nothing any more. */
static int take_over(struct node *into, struct node *from, bool is_first)
{
    /* The first one's own name is there already: with others behind it, it comes twice. */
    int rc = is_first && from->origin_count == 1 ? 0 : node_add_origins(into, from);

    for (uint32_t i = 0; rc == 0 && i < from->input_count; i++)
        rc = node_set_input(from, i, NULL);
    return rc;
}

struct node *graph_merge_nodes(struct graph *graph, struct node *const *nodes, uint32_t count,
                               const char *op_type, struct value *const *inputs,
                               uint32_t input_count)
{
    struct node *last = nodes[count - 1], *merged;
    struct value *none = NULL;

    merged = graph_add_node(graph, op_type, "", nodes[0]->name, inputs, input_count, &none, 1);
    for (uint32_t i = 0; merged && i < count; i++)
        if (take_over(merged, nodes[i], i == 0) < 0)
            return NULL;
    if (!merged)
        return NULL;
    node_take_output(merged, 0, last->outputs[0]);
    graph->nodes[merged->index] = last;
    graph->nodes[last->index] = merged;
    merged->index = last->index;
    last->index = graph->node_count - 1;
    return merged;
}

/* Position of value among the outputs of its producer. */
static uint32_t output_position(const struct value *value)
{
    uint32_t i = 0;

    while (value->producer->outputs[i] != value)
        i++;
    return i;
}

int graph_bypass(struct graph *graph, struct node *node, uint32_t input)
{
    struct value *in = node_input(node, input);
    struct value *out = node_output(node, 0);
    int rc;

    if (!out->is_output) {
        rc = graph_replace_uses(graph, out, in);
        return rc < 0 ? rc : 1;
    }
    if (in->is_output || !in->producer)
        return 0;
    /* The output's name must live: its value moves up to the producer of the input. */
    rc = node_set_input(node, input, NULL);
    if (rc == 0)
        rc = graph_replace_uses(graph, in, out);
    if (rc < 0)
        return rc;
    node_take_output(in->producer, output_position(in), out);
    return 1;
}

void graph_detach_node(struct node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i])
            value_remove_consumer(node->inputs[i], node->places[i]);
        node->inputs[i] = NULL;
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i])
            node->outputs[i]->producer = NULL;
        node->outputs[i] = NULL;
    }
    node->input_count = 0;
    node->captured_count = 0;
    node->output_count = 0;
    node->is_detached = true;
}

/* Renew every value->index and node->index. */
static void renumber(struct graph *graph)
{
    for (uint32_t i = 0; i < graph->node_count; i++)
        graph->nodes[i]->index = i;
    for (uint32_t i = 0; i < graph->value_count; i++)
        graph->values[i]->index = i;
}

/* Close the gaps that NULL leaves in the list. */
static void close_gaps(struct graph *graph)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i])
            graph->nodes[kept++] = graph->nodes[i];
    }
    graph->node_count = kept;
}

void graph_remove_node(struct graph *graph, struct node *node)
{
    graph_detach_node(node);
    graph->nodes[node->index] = NULL;
    node_free(node);
    close_gaps(graph);
    renumber(graph);
}

void graph_remove_detached(struct graph *graph)
{
    for (uint32_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];

        if (node->is_detached) {
            graph->nodes[i] = NULL;
            node_free(node);
        }
    }
    close_gaps(graph);
    renumber(graph);
}

static bool node_is_dead(const struct node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++) {
        const struct value *value = node->outputs[i];

        if (value && (value->is_output || value->consumer_count > 0))
            return false;
    }
    return true;
}

/* One sweep from the end, where the order is topological, finds all dead nodes at once. */
static uint32_t sweep_nodes(struct graph *graph)
{
    uint32_t removed = 0;

    for (uint32_t i = graph->node_count; i-- > 0;) {
        struct node *node = graph->nodes[i];

        if (node_is_dead(node)) {
            graph_detach_node(node);
            node_free(node);
            graph->nodes[i] = NULL;
            removed++;
        }
    }
    close_gaps(graph);
    return removed;
}

static void sweep_values(struct graph *graph)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < graph->value_count; i++) {
        struct value *value = graph->values[i];

        if (value->is_input || value->is_output || value->producer || value->consumer_count > 0) {
            graph->values[kept++] = value;
            continue;
        }
        graph_forget_name(graph, value);
        value_free(value);
    }
    graph->value_count = kept;
}

uint32_t graph_remove_dead(struct graph *graph)
{
    uint32_t total = 0;
    uint32_t removed;

    do {
        removed = sweep_nodes(graph);
        total += removed;
    } while (removed > 0);
    sweep_values(graph);
    renumber(graph);
    return total;
}

/* Kahn's algorithm with a heap of ready nodes, lowest index first, so that a list which is in order
 * already stays as it is. */
struct sorter {
    uint32_t *wait; /* per node: reads whose producer has not been placed */
    uint32_t *heap;
    uint32_t heap_count;
    struct node **order;
    uint32_t placed;
};

static void heap_push(struct sorter *sorter, uint32_t index)
{
    uint32_t *heap = sorter->heap;
    uint32_t i = sorter->heap_count++;

    for (; i > 0 && heap[(i - 1) / 2] > index; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = index;
}

static uint32_t heap_pop(struct sorter *sorter)
{
    uint32_t *heap = sorter->heap;
    uint32_t top = heap[0];
    uint32_t last = heap[--sorter->heap_count];
    uint32_t i = 0;

    for (;;) {
        uint32_t child = 2 * i + 1;

        if (child + 1 < sorter->heap_count && heap[child + 1] < heap[child])
            child++;
        if (child >= sorter->heap_count || heap[child] >= last)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
    return top;
}

/* Appends the node to the order and pushes the readers that waited for it alone. */
static void place(struct sorter *sorter, struct node *node)
{
    sorter->order[sorter->placed++] = node;
    for (uint32_t o = 0; o < node->output_count; o++) {
        const struct value *value = node->outputs[o];

        for (uint32_t c = 0; value && c < value->consumer_count; c++) {
            uint32_t reader = value->consumers[c]->index;

            if (--sorter->wait[reader] == 0)
                heap_push(sorter, reader);
        }
    }
}

int graph_sort(struct graph *graph, struct diag *diag)
{
    struct sorter sorter = {0};
    int rc = -ENOMEM;

    renumber(graph);
    sorter.wait = calloc(graph->node_count + 1, sizeof(*sorter.wait));
    sorter.heap = calloc(graph->node_count + 1, sizeof(*sorter.heap));
    sorter.order = calloc(graph->node_count + 1, sizeof(*sorter.order));
    if (!sorter.wait || !sorter.heap || !sorter.order)
        goto out;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];

        for (uint32_t k = 0; k < node->input_count; k++)
            sorter.wait[i] += node->inputs[k] && node->inputs[k]->producer;
        if (sorter.wait[i] == 0)
            heap_push(&sorter, i);
    }
    while (sorter.heap_count > 0)
        place(&sorter, graph->nodes[heap_pop(&sorter)]);
    rc = 0;
    for (uint32_t i = 0; i < graph->node_count && rc == 0; i++) {
        if (sorter.wait[i] != 0)
            rc = diag_set(diag, -EINVAL, "the graph has a cycle through node '%s'",
                          graph->nodes[i]->name);
    }
    if (rc == 0 && graph->node_count > 0)
        memcpy(graph->nodes, sorter.order, graph->node_count * sizeof(struct node *));
    renumber(graph);
out:
    free(sorter.wait);
    free(sorter.heap);
    free(sorter.order);
    return rc;
}

static int check_node(const struct node *node, uint32_t *reads, struct diag *diag)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct value *value = node->inputs[i];

        if (!value)
            continue;
        reads[value->index]++;
        if (node->places[i] >= value->consumer_count || value->consumers[node->places[i]] != node ||
            value->read_as[node->places[i]] != i)
            return diag_set(diag, -EINVAL, "value '%s' does not know its reader '%s'", value->name,
                            node->name);
        if (!value->producer && !value->data && !value->is_input)
            return diag_set(diag, -EINVAL,
                            "node '%s' reads '%s', which no node, input or initialiser provides",
                            node->name, value->name);
        if (value->producer && value->producer->index >= node->index)
            return diag_set(diag, -EINVAL, "node '%s' stands before '%s', which it reads from",
                            node->name, value->producer->name);
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] && node->outputs[i]->producer != node)
            return diag_set(diag, -EINVAL, "value '%s' does not know its producer '%s'",
                            node->outputs[i]->name, node->name);
    }
    return 0;
}

/* `reads` counts, per value, how often nodes read it; the caller has zeroed it. */
static int check_all(const struct graph *graph, uint32_t *reads, struct diag *diag)
{
    int rc;

    for (uint32_t i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i]->index != i)
            return diag_set(diag, -EINVAL, "node '%s' is not where its index says",
                            graph->nodes[i]->name);
        rc = check_node(graph->nodes[i], reads, diag);
        if (rc < 0)
            return rc;
    }
    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct value *value = graph->values[i];

        if (value->consumer_count != reads[i])
            return diag_set(diag, -EINVAL, "value '%s' knows %u readers and has %u", value->name,
                            value->consumer_count, reads[i]);
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const struct value *value = graph->outputs[i];

        if (!value->producer && !value->data && !value->is_input)
            return diag_set(diag, -EINVAL, "nothing computes the graph's output '%s'", value->name);
    }
    return 0;
}

int graph_check(const struct graph *graph, struct diag *diag)
{
    uint32_t *reads = calloc(graph->value_count + 1, sizeof(*reads));
    int rc = 0;

    if (!reads)
        return -ENOMEM;
    for (uint32_t i = 0; i < graph->value_count && rc == 0; i++) {
        const struct value *value = graph->values[i];

        if (value->index != i || graph_find_value(graph, value->name) != value)
            rc = diag_set(diag, -EINVAL, "value '%s' is not where its name says", value->name);
        else if (value->data && (value->producer || value->is_input))
            rc = diag_set(diag, -EINVAL, "constant '%s' is also computed or fed", value->name);
    }
    if (rc == 0)
        rc = check_all(graph, reads, diag);
    free(reads);
    return rc;
}
