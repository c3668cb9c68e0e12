/* SPDX-License-Identifier: Apache-2.0 */
/* The model as a graph: creation and lookup. Editing is in edit.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/graph/graph.h"
#include "runtime/graph/private.h"
#include "runtime/graph/run_limits.h"

enum { HUGE_PAGE_BYTES = 2 << 20, LARGE_BYTES = 2 * HUGE_PAGE_BYTES };

static struct value tombstone;

struct graph *graph_create(void)
{
    struct graph *graph = calloc(1, sizeof(*graph));

    if (!graph)
        return NULL;
    graph->private_state = calloc(1, sizeof(*graph->private_state));
    graph->path = strdup("");
    graph->name = strdup("");
    graph->producer_name = strdup("");
    graph->producer_version = strdup("");
    if (!graph->private_state || !graph->path || !graph->name || !graph->producer_name ||
        !graph->producer_version)
        graph_destroy(&graph);
    return graph;
}

int graph_set_text(char **field, const char *text)
{
    char *copy = strdup(text);

    if (!copy)
        return -ENOMEM;
    free(*field);
    *field = copy;
    return 0;
}

int graph_add_opset(struct graph *graph, const char *domain, int64_t version)
{
    struct opset *grown = realloc(graph->opsets, (graph->opset_count + 1) * sizeof(*graph->opsets));
    char *copy = strdup(strcmp(domain, "ai.onnx") == 0 ? "" : domain);

    if (grown)
        graph->opsets = grown;
    if (!grown || !copy) {
        free(copy);
        return -ENOMEM;
    }
    graph->opsets[graph->opset_count++] = (struct opset){copy, version};
    return 0;
}

const char *node_full_type(const struct node *node, char out[NODE_TYPE_BYTES])
{
    if (node->domain[0] == '\0')
        return !strchr(node->op_type, '.') ? node->op_type : "";
    return snprintf(out, NODE_TYPE_BYTES, "%s.%s", node->domain, node->op_type) < NODE_TYPE_BYTES
               ? out
               : "";
}

int64_t graph_opset(const struct graph *graph, const char *domain)
{
    for (uint32_t i = 0; i < graph->opset_count; i++) {
        if (strcmp(graph->opsets[i].domain, domain) == 0)
            return graph->opsets[i].version;
    }
    return 0;
}

static uint32_t hash_text(const char *text)
{
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (; *text != '\0'; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    return hash;
}

static void put(struct name_slot *slots, uint32_t slot_count, struct name_slot added)
{
    uint32_t i = added.hash & (slot_count - 1);

    while (slots[i].value)
        i = (i + 1) & (slot_count - 1);
    slots[i] = added;
}

/* Makes room for one more name at a load of at most one half. */
static int reserve_name(struct graph_private *state)
{
    uint32_t slot_count = state->slot_count == 0 ? 64 : state->slot_count * 2;
    struct name_slot *slots;

    if ((state->used_count + 1) * 2 <= state->slot_count)
        return 0;
    slots = calloc(slot_count, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    state->used_count = 0;
    for (uint32_t i = 0; i < state->slot_count; i++) {
        if (state->slots[i].value && state->slots[i].value != &tombstone) {
            put(slots, slot_count, state->slots[i]);
            state->used_count++;
        }
    }
    free(state->slots);
    state->slots = slots;
    state->slot_count = slot_count;
    return 0;
}

/* The hash is asked first: other values' names need not be brought into the cache. */
static struct value **find_slot(const struct graph_private *state, const char *name)
{
    uint32_t hash = hash_text(name);
    struct name_slot *slot;

    if (state->slot_count == 0)
        return NULL;
    for (uint32_t i = hash;; i++) {
        slot = &state->slots[i & (state->slot_count - 1)];
        if (!slot->value)
            return NULL;
        if (slot->hash == hash && slot->value != &tombstone && strcmp(slot->value->name, name) == 0)
            return &slot->value;
    }
}

struct value *graph_find_value(const struct graph *graph, const char *name)
{
    struct value **slot = find_slot(graph->private_state, name);

    return slot ? *slot : NULL;
}

void graph_forget_name(struct graph *graph, const struct value *value)
{
    struct value **slot = find_slot(graph->private_state, value->name);

    if (slot && *slot == value)
        *slot = &tombstone;
}

/* A copy of name, or a made-up one that nobody has. */
static char *choose_name(const struct graph *graph, const char *name)
{
    char made[32];

    if (name)
        return strdup(name);
    for (uint32_t i = graph->private_state->next_value_id;; i++) {
        snprintf(made, sizeof(made), "value_%u", i);
        if (!graph_find_value(graph, made))
            return strdup(made);
    }
}

/* Room for one more pointer in a list that doubles. */
static int reserve_pointer(void **list, uint32_t count, uint32_t *room)
{
    uint32_t wanted = *room == 0 ? 64 : *room * 2;
    void *grown;

    if (count < *room)
        return 0;
    grown = realloc(*list, wanted * sizeof(void *));
    if (!grown)
        return -ENOMEM;
    *list = grown;
    *room = wanted;
    return 0;
}

struct value *graph_add_value(struct graph *graph, const char *name, enum dtype dtype,
                              const struct shape *shape, int *error)
{
    struct graph_private *state = graph->private_state;
    struct value *value;
    int ignored;

    if (!error)
        error = &ignored;
    if (name && graph_find_value(graph, name)) {
        *error = -EEXIST;
        return NULL;
    }
    *error = -ENOMEM;
    if (reserve_name(state) < 0 ||
        reserve_pointer((void **)&graph->values, graph->value_count, &state->value_room) < 0)
        return NULL;
    value = calloc(1, sizeof(*value));
    if (!value)
        return NULL;
    value->name = choose_name(graph, name);
    if (!value->name) {
        free(value);
        return NULL;
    }
    value->id = state->next_value_id++;
    value->index = graph->value_count;
    value->dtype = dtype;
    value->shape = *shape;
    graph->values[graph->value_count++] = value;
    put(state->slots, state->slot_count, (struct name_slot){value, hash_text(value->name)});
    state->used_count++;
    *error = 0;
    return value;
}

void value_share_data(struct value *value, const void *data)
{
    value_set_data(value, (void *)data); /* a constant: nobody writes there */
    value->is_shared = true;
}

void value_give_back(const struct value *value, size_t offset, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)value->data + offset;
    uintptr_t first = (begin + page - 1) / page * page, end = (begin + bytes) / page * page;

    if (value->is_shared && end > first)
        madvise((void *)first, end - first, MADV_DONTNEED); /* a wish: nothing depends on it */
}

int graph_add_map(struct graph *graph, const void *address, size_t bytes)
{
    struct graph_map map = {(void *)address, bytes};

    return array_push(&graph->private_state->maps, map);
}

size_t value_release_data(struct value *value)
{
    size_t bytes =
        value->data && !value->is_shared ? (size_t)shape_bytes(&value->shape, value->dtype) : 0;

    value_set_data(value, NULL);
    return bytes;
}

void *graph_alloc_data(size_t bytes)
{
    /* Large constants in huge pages: they are written once and then streamed through on each run.
     */
    bool is_large = bytes >= LARGE_BYTES;
    size_t alignment = is_large ? HUGE_PAGE_BYTES : 64;
    /* aligned_alloc wants a multiple of the alignment. */
    size_t rounded = bytes == 0 ? alignment : (bytes + alignment - 1) & ~(alignment - 1);
    void *data = limits_allow(rounded) ? aligned_alloc(alignment, rounded) : NULL;

    /* A wish: nothing depends on it. What does not fill its last huge page takes small ones. */
    if (data && is_large)
        madvise(data, bytes / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES, MADV_HUGEPAGE);
    return data;
}

static int add_end(struct value ***list, uint32_t *count, struct value *value)
{
    uint32_t n = *count;

    /* The room is the next power of two, or more where some were taken out. */
    if ((n & (n - 1)) == 0) {
        struct value **grown = realloc(*list, (n == 0 ? 1 : (size_t)n * 2) * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        *list = grown;
    }
    (*list)[(*count)++] = value;
    return 0;
}

int graph_add_input(struct graph *graph, struct value *value)
{
    int rc = add_end(&graph->inputs, &graph->input_count, value);

    if (rc == 0)
        value->is_input = true;
    return rc;
}

int graph_add_port(struct port_list *list, const char *name, const struct port *port)
{
    struct port *items = realloc(list->items, (list->count + 1) * sizeof(*items));
    struct port made = *port;

    if (!items)
        return -ENOMEM;
    list->items = items;
    made.name = strdup(name);
    if (!made.name)
        return -ENOMEM;
    items[list->count++] = made;
    return 0;
}

int graph_add_output(struct graph *graph, struct value *value)
{
    int rc = add_end(&graph->outputs, &graph->output_count, value);

    if (rc == 0)
        value->is_output = true;
    return rc;
}

static char *node_name(const char *name, const char *op_type, uint32_t id)
{
    char *made;

    if (name && name[0] != '\0')
        return strdup(name);
    return asprintf(&made, "%s_%u", op_type, id) < 0 ? NULL : made;
}

int value_add_consumer(struct value *value, struct node *node, uint32_t i)
{
    uint32_t n = value->consumer_count;

    if (n == value->consumer_room) {
        size_t room = n == 0 ? 1 : (size_t)n * 2;
        struct node **grown = realloc(value->consumers, room * sizeof(struct node *));
        uint32_t *numbers;

        if (!grown)
            return -ENOMEM;
        value->consumers = grown;
        numbers = realloc(value->read_as, room * sizeof(*numbers));
        if (!numbers)
            return -ENOMEM;
        value->read_as = numbers;
        value->consumer_room = (uint32_t)room;
    }
    value->consumers[n] = node;
    value->read_as[n] = i;
    node->places[i] = n;
    value->consumer_count++;
    return 0;
}

void value_remove_consumer(struct value *value, uint32_t place)
{
    uint32_t last = --value->consumer_count;

    if (place == last)
        return; /* its node may have noted another place already */
    value->consumers[place] = value->consumers[last];
    value->read_as[place] = value->read_as[last];
    value->consumers[place]->places[value->read_as[place]] = place;
}

/* A node with its texts and empty edges. */
static struct node *node_create(const char *op_type, const char *domain, const char *name,
                                uint32_t id, uint32_t input_count, uint32_t output_count)
{
    struct node *node = calloc(1, sizeof(*node));

    if (!node)
        return NULL;
    node->id = id;
    node->fused.residual_input = -1;
    node->op_type = strdup(op_type);
    node->domain = strdup(strcmp(domain, "ai.onnx") == 0 ? "" : domain);
    node->name = node_name(name, op_type, id);
    node->inputs = calloc(input_count + 1, sizeof(*node->inputs));
    node->places = calloc(input_count + 1, sizeof(*node->places));
    node->outputs = calloc(output_count + 1, sizeof(*node->outputs));
    node->origins = calloc(1, sizeof(*node->origins));
    if (!node->op_type || !node->domain || !node->name || !node->inputs || !node->places ||
        !node->outputs || !node->origins || !(node->origins[0] = strdup(node->name))) {
        node_free(node);
        return NULL;
    }
    node->origin_count = 1;
    node->input_count = input_count;
    node->output_count = output_count;
    return node;
}

struct node *graph_add_node(struct graph *graph, const char *op_type, const char *domain,
                            const char *name, struct value *const *inputs, uint32_t input_count,
                            struct value *const *outputs, uint32_t output_count)
{
    struct graph_private *state = graph->private_state;
    struct node *node;

    if (reserve_pointer((void **)&graph->nodes, graph->node_count, &state->node_room) < 0)
        return NULL;
    node = node_create(op_type, domain, name, state->next_node_id, input_count, output_count);
    if (!node)
        return NULL;
    for (uint32_t i = 0; i < input_count; i++) {
        if (!inputs[i])
            continue;
        if (value_add_consumer(inputs[i], node, i) < 0) {
            while (i-- > 0) {
                if (inputs[i])
                    value_remove_consumer(inputs[i], node->places[i]);
            }
            node_free(node);
            return NULL;
        }
        node->inputs[i] = inputs[i];
    }
    for (uint32_t i = 0; i < output_count; i++) {
        node->outputs[i] = outputs[i];
        if (outputs[i])
            outputs[i]->producer = node;
    }
    state->next_node_id++;
    node->index = graph->node_count;
    graph->nodes[graph->node_count++] = node;
    return node;
}

struct value *node_input(const struct node *node, uint32_t i)
{
    return i < node->input_count ? node->inputs[i] : NULL;
}

struct value *node_output(const struct node *node, uint32_t i)
{
    return i < node->output_count ? node->outputs[i] : NULL;
}

bool node_decides_sizes(const struct node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] && node->outputs[i]->decides_sizes)
            return true;
    return false;
}
