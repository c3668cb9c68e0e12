/* SPDX-License-Identifier: Apache-2.0 */
/* Equal stacks of spans put together. */
#include "analyze/export/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/place_map.h"
#include "analyze/query/span_tree.h"

struct builder {
    const struct export *export;
    const struct spans_answer *spans;
    struct call_tree *tree;
    struct place_map nodes; /* parent and name to the place of a node */
    struct place_map names; /* text to the place of a name */
    uint32_t *name_of_op;   /* beside spans->ops */
    uint32_t *node_of_span; /* beside spans; SPAN_NONE: in no stack */
    int64_t bytes;          /* of all spans, so that sums of some end in time */
};

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
static bool is_frame(const struct builder *builder, const struct span *span)
{
    enum span_kind kind = (enum span_kind)builder->spans->op_kinds[span->op];

    return kind == SPAN_OP || (kind == SPAN_LABEL && !span_is_device(builder->spans, span));
}

static uint32_t enclosing_node(const struct builder *builder, const struct span *span)
{
    const struct span *items = builder->spans->spans.items;
    uint32_t place = span_is_device(builder->spans, span) ? span->launch : span->parent;

    while (place != SPAN_NONE && builder->node_of_span[place] == SPAN_NONE)
        place = items[place].parent;
    return place == SPAN_NONE ? SPAN_NONE : builder->node_of_span[place];
}

/* 0 also for what no sum could hold any more. */
static int64_t take_bytes(struct builder *builder, const struct span *span)
{
    int64_t bytes = span->bytes;

    if (bytes == STORE_NULL)
        bytes = builder->spans->ops.items[span->op].memory_bytes;
    if (bytes == STORE_NULL || bytes < 0 || bytes > INT64_MAX - builder->bytes)
        return 0;
    builder->bytes += bytes;
    return bytes;
}

/* An op that runs on a device was launched by a span of the same op on the host: what it moves
 * counts once, on the device. */
static bool is_counted_on_device(const struct builder *builder, const struct span *span)
{
    const struct span *items = builder->spans->spans.items;

    if (span_is_device(builder->spans, span))
        return false;
    for (uint32_t place = span->launch; place != SPAN_NONE; place = items[place].next) {
        if (items[place].op == span->op)
            return true;
    }
    return false;
}

static int add_span(struct builder *builder, uint32_t place)
{
    const struct span *span = &builder->spans->spans.items[place];
    struct call_node *node;
    uint32_t found;

    if (!is_frame(builder, span))
        return 0;
    if (find_node(builder, enclosing_node(builder, span), span->op, &found) < 0)
        return -ENOMEM;
    builder->node_of_span[place] = found;
    if (!span->is_shown)
        return 0;
    node = &builder->tree->nodes.items[found];
    if (span_is_device(builder->spans, span))
        node->values[WEIGHT_DEVICE] += span->dur_ns;
    else
        node->values[WEIGHT_TIME] += span->self_ns;
    if (is_counted_on_device(builder, span))
        return 0;
    node->values[WEIGHT_CALLS]++;
    node->values[WEIGHT_BYTES] += take_bytes(builder, span);
    return 0;
}

/* Host lanes first: what runs on devices goes on from their stacks. */
static int add_spans(struct builder *builder)
{
    const struct spans_answer *spans = builder->spans;
    int rc = 0;

    for (int side = 0; side < OP_SIDES; side++) {
        for (size_t i = 0; i < spans->lanes.count && rc == 0; i++) {
            size_t first = spans->ranges[i].first, end = first + spans->ranges[i].count;

            for (size_t k = first; k < end && rc == 0; k++) {
                if (spans->lanes.items[i].side == (enum op_side)side)
                    rc = add_span(builder, (uint32_t)k);
            }
        }
    }
    return rc;
}

/* Memory is of the innermost span of its thread; where none is open, of its op alone. */
static int add_memory(struct builder *builder)
{
    const struct memory_row_array *memory = builder->export->memory;
    int rc = 0;

    for (size_t i = 0; i < memory->count && rc == 0; i++) {
        const struct memory_row *row = &memory->items[i];
        uint32_t place, node = SPAN_NONE;

        if (row->bytes <= 0) /* given back, or not known */
            continue;
        place = span_at(builder->spans, row->lane, row->time_ns);
        while (place != SPAN_NONE && builder->node_of_span[place] == SPAN_NONE)
            place = builder->spans->spans.items[place].parent;
        if (place != SPAN_NONE)
            node = builder->node_of_span[place];
        else if (row->op != SPAN_NONE)
            rc = find_node(builder, SPAN_NONE, row->op, &node);
        if (node != SPAN_NONE)
            builder->tree->nodes.items[node].values[WEIGHT_ALLOC] += row->bytes;
    }
    return rc;
}

int call_tree_init(struct call_tree *tree, const struct export *export)
{
    struct builder builder = {.export = export, .spans = export->spans, .tree = tree};
    size_t spans = export->spans->spans.count;
    int rc;

    *tree = (struct call_tree){0};
    builder.name_of_op = calloc(export->spans->ops.count + 1, sizeof(*builder.name_of_op));
    builder.node_of_span = malloc((spans + 1) * sizeof(*builder.node_of_span));
    rc = builder.name_of_op && builder.node_of_span ? name_ops(&builder) : -ENOMEM;
    if (rc == 0) {
        memset(builder.node_of_span, 0xff, (spans + 1) * sizeof(*builder.node_of_span));
        rc = add_spans(&builder);
    }
    if (rc == 0)
        rc = add_memory(&builder);
    free(builder.name_of_op);
    free(builder.node_of_span);
    place_map_deinit(&builder.nodes);
    place_map_deinit(&builder.names);
    return rc;
}

void call_tree_deinit(struct call_tree *tree)
{
    array_deinit(&tree->nodes);
    array_deinit(&tree->names);
}
