/* SPDX-License-Identifier: Apache-2.0 */
/* Equal stacks of spans put together. */
#include "analyze/export/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/place_map.h"

struct builder {
    const struct export *export;
    const struct spans_answer *spans;
    struct call_tree *tree;
    struct place_map nodes; /* parent and name to the place of a node */
    struct place_map names; /* text to the place of a name */
    uint32_t *name_of_op;   /* beside spans->ops */
    uint32_t *node_of_span; /* beside spans: the innermost stack it lies in; SPAN_NONE: in none */
    int64_t bytes;          /* of all spans, so that sums of some end in time */

    uint32_t *memory;         /* places of the rows of memory, lane by lane */
    size_t *memory_end;       /* beside lanes: behind its last in `memory` */
    uint32_t *node_of_memory; /* beside the rows: as of spans */
};

/* What is open on a lane. */
struct open_call {
    int64_t end_ns;
    uint32_t node;
};
struct open_calls ARRAY_FIELDS(struct open_call);

/* --- Names. --- */

static int name_ops(struct builder *builder)
{
    const struct op_row_array *ops = &builder->spans->ops;

    for (size_t i = 0; i < ops->count; i++) {
        struct call_name name = {ops->items[i].name, (uint32_t)i};
        struct place_key key = {0};
        uint32_t place;

        place_key_add(&key, name.text, strlen(name.text));
        place = place_map_find(&builder->names, key);
        if (place == PLACE_NONE) {
            place = (uint32_t)builder->tree->names.count;
            if (array_push(&builder->tree->names, name) < 0 ||
                place_map_set(&builder->names, key, place) < 0)
                return -ENOMEM;
        }
        builder->name_of_op[i] = place;
    }
    return 0;
}

/* --- Nodes. --- */

static int find_node(struct builder *builder, uint32_t parent, uint32_t op, uint32_t *out_node)
{
    struct call_node node = {.parent = parent, .name = builder->name_of_op[op]};
    struct place_key key = {.low = (uint64_t)parent << 32 | node.name};

    *out_node = place_map_find(&builder->nodes, key);
    if (*out_node != PLACE_NONE)
        return 0;
    *out_node = (uint32_t)builder->tree->nodes.count;
    if (array_push(&builder->tree->nodes, node) < 0)
        return -ENOMEM;
    return place_map_set(&builder->nodes, key, *out_node);
}

/* A span that is a frame of stacks. */
static bool is_frame(const struct builder *builder, const struct packed_span *span)
{
    enum span_kind kind = (enum span_kind)builder->spans->op_kinds[span->op];

    return kind == SPAN_OP || (kind == SPAN_LABEL && !span->is_device);
}

static uint32_t node_of(const struct builder *builder, uint32_t place)
{
    return place == SPAN_NONE ? SPAN_NONE : builder->node_of_span[place];
}

/* 0 also for what no sum could hold any more. */
static int64_t take_bytes(struct builder *builder, const struct packed_span *span)
{
    int64_t bytes = span->bytes;

    if (bytes == STORE_NULL)
        bytes = builder->spans->ops.items[span->op].memory_bytes;
    if (bytes == STORE_NULL || bytes < 0 || bytes > INT64_MAX - builder->bytes)
        return 0;
    builder->bytes += bytes;
    return bytes;
}

static int add_span(struct builder *builder, const struct packed_span *span)
{
    struct call_node *node;
    uint32_t found = node_of(builder, span->parent);

    if (!is_frame(builder, span)) {
        builder->node_of_span[span->place] = found;
        return 0;
    }
    /* What runs on a device goes on from its launch's stack. */
    if (find_node(builder, span->is_device ? node_of(builder, span->launch) : found, span->op,
                  &found) < 0)
        return -ENOMEM;
    builder->node_of_span[span->place] = found;
    if (!span->is_shown)
        return 0;
    node = &builder->tree->nodes.items[found];
    if (span->is_device)
        node->values[WEIGHT_DEVICE] += span->dur_ns;
    else
        node->values[WEIGHT_TIME] += span->self_ns;
    if (span->counts_on_device)
        return 0; /* what it moves counts there */
    node->values[WEIGHT_CALLS]++;
    node->values[WEIGHT_BYTES] += take_bytes(builder, span);
    return 0;
}

/* Memory is of the innermost span of its thread that is open then. */
static void find_memory(struct builder *builder, size_t *next, size_t end,
                        const struct open_calls *open, int64_t until_ns)
{
    for (; *next < end; ++*next) {
        uint32_t row = builder->memory[*next];
        int64_t time_ns = builder->export->memory->items[row].time_ns;
        size_t depth = open->count;

        if (time_ns >= until_ns)
            return;
        while (depth && open->items[depth - 1].end_ns < time_ns)
            depth--;
        builder->node_of_memory[row] = depth ? open->items[depth - 1].node : SPAN_NONE;
    }
}

static int add_lane(struct builder *builder, size_t lane)
{
    size_t next = lane ? builder->memory_end[lane - 1] : 0, end = builder->memory_end[lane];
    struct open_calls open = {0};
    struct packed_reader reader;
    int rc = 0, read_rc;

    packed_read(builder->export->packed, lane, &reader);
    while (rc == 0 && packed_next(&reader)) {
        const struct packed_span *span = &reader.span;
        struct open_call call = {.end_ns = span->start_ns + span->dur_ns};

        find_memory(builder, &next, end, &open, span->start_ns);
        rc = add_span(builder, span);
        call.node = builder->node_of_span[span->place];
        open.count = span->depth;
        if (rc == 0)
            rc = array_push(&open, call);
    }
    find_memory(builder, &next, end, &open, INT64_MAX);
    array_deinit(&open);
    read_rc = packed_reader_deinit(&reader);
    return rc < 0 ? rc : read_rc;
}

/* Host lanes first: what runs on devices goes on from their stacks. */
static int add_lanes(struct builder *builder)
{
    const struct spans_answer *spans = builder->spans;
    int rc = 0;

    for (int side = 0; side < OP_SIDES; side++) {
        for (size_t i = 0; i < spans->lanes.count && rc == 0; i++) {
            if (spans->lanes.items[i].side == (enum op_side)side)
                rc = add_lane(builder, i);
        }
    }
    return rc;
}

/* Rows stay in the order of time. */
static int sort_memory(struct builder *builder)
{
    const struct memory_row_array *memory = builder->export->memory;
    size_t lanes = builder->spans->lanes.count, sum = 0;

    builder->memory = malloc((memory->count + 1) * sizeof(*builder->memory));
    builder->node_of_memory = malloc((memory->count + 1) * sizeof(*builder->node_of_memory));
    builder->memory_end = calloc(lanes + 1, sizeof(*builder->memory_end));
    if (!builder->memory || !builder->node_of_memory || !builder->memory_end)
        return -ENOMEM;
    for (size_t i = 0; i < memory->count; i++)
        builder->memory_end[memory->items[i].lane]++;
    for (size_t i = 0; i < lanes; i++) {
        size_t count = builder->memory_end[i];

        builder->memory_end[i] = sum;
        sum += count;
    }
    for (size_t i = 0; i < memory->count; i++)
        builder->memory[builder->memory_end[memory->items[i].lane]++] = (uint32_t)i;
    return 0;
}

/* Where no span is open, memory is of its op alone. */
static int add_memory(struct builder *builder)
{
    const struct memory_row_array *memory = builder->export->memory;
    int rc = 0;

    for (size_t i = 0; i < memory->count && rc == 0; i++) {
        const struct memory_row *row = &memory->items[i];
        uint32_t node = builder->node_of_memory[i];

        if (row->bytes <= 0) /* given back, or not known */
            continue;
        if (node == SPAN_NONE && row->op != SPAN_NONE)
            rc = find_node(builder, SPAN_NONE, row->op, &node);
        if (node != SPAN_NONE)
            builder->tree->nodes.items[node].values[WEIGHT_ALLOC] += row->bytes;
    }
    return rc;
}

int call_tree_init(struct call_tree *tree, const struct export *export)
{
    struct builder builder = {.export = export, .spans = export->spans, .tree = tree};
    int rc;

    *tree = (struct call_tree){0};
    builder.name_of_op = calloc(export->spans->ops.count + 1, sizeof(*builder.name_of_op));
    builder.node_of_span = malloc((export->packed->count + 1) * sizeof(*builder.node_of_span));
    rc = builder.name_of_op && builder.node_of_span ? name_ops(&builder) : -ENOMEM;
    if (rc == 0)
        rc = sort_memory(&builder);
    if (rc == 0)
        rc = add_lanes(&builder);
    if (rc == 0)
        rc = add_memory(&builder);
    free(builder.name_of_op);
    free(builder.node_of_span);
    free(builder.memory);
    free(builder.memory_end);
    free(builder.node_of_memory);
    place_map_deinit(&builder.nodes);
    place_map_deinit(&builder.names);
    return rc;
}

void call_tree_deinit(struct call_tree *tree)
{
    array_deinit(&tree->nodes);
    array_deinit(&tree->names);
}
