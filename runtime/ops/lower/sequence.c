/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences and optionals whose parts are known when the model is read: what takes of them takes the
 * parts themselves, and what made them is dead then. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "runtime/ops/lower/rules.h"

enum { PARTS_MAX = 4096, DEPTH_MAX = 4096 };

struct parts {
    struct value **items;
    size_t count;
};

static bool is_op(const struct node *node, const char *type)
{
    return node && node->domain[0] == '\0' && strcmp(node->op_type, type) == 0;
}

/* One whole number that is known, `fallback` where there is no input. */
static bool find_number(const struct value *value, int64_t fallback, int64_t *out_number)
{
    struct tensor_view view;

    *out_number = fallback;
    if (!value)
        return true;
    if (!lower_content(value, &view) || shape_elements(&view.shape) != 1)
        return false;
    if (view.dtype == DTYPE_I64)
        memcpy(out_number, view.data, sizeof(*out_number));
    else if (view.dtype == DTYPE_I32)
        *out_number = *(const int32_t *)view.data;
    return view.dtype == DTYPE_I64 || view.dtype == DTYPE_I32;
}

static int add_part(struct lower *l, struct parts *parts, size_t at, struct value *part)
{
    struct value **grown;

    if (parts->count >= PARTS_MAX) {
        lower_refuse(l, "a sequence has more than %d parts", PARTS_MAX);
        return -1;
    }
    grown = realloc(parts->items, (parts->count + 1) * sizeof(struct value *));
    if (!grown) {
        l->rc = -ENOMEM;
        return -1;
    }
    parts->items = grown;
    memmove(grown + at + 1, grown + at, (parts->count - at) * sizeof(*grown));
    grown[at] = part;
    parts->count++;
    return 0;
}

/* Where a position, which may count from the end, lies among `count`. */
static bool find_place(const struct value *value, int64_t fallback, int64_t count, int64_t *out_at)
{
    if (!find_number(value, fallback, out_at))
        return false;
    if (*out_at < 0)
        *out_at += count;
    return *out_at >= 0 && *out_at <= count;
}

/* The parts of the axis, each as a value; a Split makes them. */
static bool split_parts(struct lower *l, const struct node *node, struct parts *parts)
{
    struct value *x = node_input(node, 0), *outputs[256];
    int64_t axis = node_int(node, "axis", 0), length, each = 1, count;
    bool keeps = node_int(node, "keepdims", 1) != 0 || node_input(node, 1);
    struct tensor_view sizes;
    int64_t dims[256];

    if (axis < 0 && x->shape.rank >= 0)
        axis += x->shape.rank;
    length = axis >= 0 && axis < x->shape.rank ? x->shape.dims[axis] : -1;
    if (node_input(node, 1) && lower_content(node_input(node, 1), &sizes) &&
        sizes.shape.rank == 1) {
        count = sizes.shape.dims[0];
        for (int64_t i = 0; i < count && i < 256; i++)
            dims[i] = sizes.dtype == DTYPE_I64 ? ((const int64_t *)sizes.data)[i]
                                               : ((const int32_t *)sizes.data)[i];
    } else {
        if (length < 0 || !find_number(node_input(node, 1), 1, &each) || each < 1)
            return false;
        count = (length + each - 1) / each;
        for (int64_t i = 0; i < count && i < 256; i++)
            dims[i] = i + 1 < count ? each : length - each * (count - 1);
    }
    if (count < 1 || count > 256)
        return false;
    lower_split(l, x, axis, dims, (uint32_t)count, outputs);
    for (int64_t i = 0; i < count; i++) {
        struct value *part = keeps ? outputs[i] : lower_squeeze(l, outputs[i], axis);

        if (add_part(l, parts, parts->count, part) < 0)
            return false;
    }
    return true;
}

/* What stands in a sequence; false: not known. Follows who made it, up to where it is listed. */
static bool find_parts(struct lower *l, struct value *value, struct parts *parts, int depth)
{
    struct node *node = value ? value->producer : NULL;
    int64_t at;

    if (!node || depth > DEPTH_MAX || l->rc < 0)
        return false;
    if (is_op(node, "SequenceEmpty"))
        return true;
    if (is_op(node, "SequenceConstruct")) {
        for (uint32_t i = 0; i < node->input_count; i++)
            if (!node->inputs[i] || add_part(l, parts, parts->count, node->inputs[i]) < 0)
                return false;
        return true;
    }
    if (is_op(node, "SplitToSequence"))
        return split_parts(l, node, parts);
    if (is_op(node, "Identity") || is_op(node, "Optional") || is_op(node, "OptionalGetElement"))
        return find_parts(l, node_input(node, 0), parts, depth + 1);
    if (is_op(node, "SequenceInsert"))
        return find_parts(l, node_input(node, 0), parts, depth + 1) && node_input(node, 1) &&
               find_place(node_input(node, 2), (int64_t)parts->count, (int64_t)parts->count, &at) &&
               add_part(l, parts, (size_t)at, node_input(node, 1)) == 0;
    if (!is_op(node, "SequenceErase") || !find_parts(l, node_input(node, 0), parts, depth + 1) ||
        !find_place(node_input(node, 1), -1, (int64_t)parts->count, &at) ||
        at >= (int64_t)parts->count)
        return false;
    memmove(parts->items + at, parts->items + at + 1,
            (parts->count - (size_t)at - 1) * sizeof(*parts->items));
    parts->count--;
    return true;
}

static bool take_parts(struct lower *l, struct parts *parts)
{
    *parts = (struct parts){NULL, 0};
    if (find_parts(l, lower_input(l, 0), parts, 0) && l->rc == 0)
        return true;
    free(parts->items);
    parts->items = NULL;
    lower_refuse(l, "which tensors are in its sequence is not known before the model runs");
    return false;
}

static void lower_at(struct lower *l)
{
    struct parts parts;
    int64_t at;

    if (!take_parts(l, &parts))
        return;
    if (find_place(lower_input(l, 1), 0, (int64_t)parts.count, &at) && at < (int64_t)parts.count)
        lower_done(l, 0, parts.items[at]);
    else
        lower_refuse(l, "its position is not known before the model runs, or not in the sequence");
    free(parts.items);
}

static void lower_length(struct lower *l)
{
    struct parts parts;
    struct value *value;
    int64_t *data;

    if (!take_parts(l, &parts))
        return;
    data = lower_data(l, DTYPE_I64, &(struct shape){.rank = 0}, &value);
    if (data)
        *data = (int64_t)parts.count;
    lower_done(l, 0, value);
    free(parts.items);
}

/* new_axis: each part gets an axis of one first. */
static void lower_joined(struct lower *l)
{
    int64_t axis = node_int(l->node, "axis", 0);
    struct parts parts;
    struct value *y;

    if (!take_parts(l, &parts))
        return;
    if (parts.count == 0)
        lower_refuse(l, "its sequence is empty");
    for (size_t i = 0; node_int(l->node, "new_axis", 0) != 0 && i < parts.count; i++)
        parts.items[i] = lower_unsqueeze(l, parts.items[i], &axis, 1);
    y = lower_op(l, "Concat", parts.items, (uint32_t)parts.count);
    lower_int(l, "axis", axis);
    lower_done(l, 0, y);
    free(parts.items);
}

/* Which optionals are empty is known: only Optional without an input makes one. */
static void lower_has(struct lower *l)
{
    struct value *x = lower_input(l, 0), *value;
    bool *data = lower_data(l, DTYPE_BOOL, &(struct shape){.rank = 0}, &value);

    while (x && x->producer && is_op(x->producer, "Identity"))
        x = node_input(x->producer, 0);
    if (data)
        *data = x && !(is_op(x->producer, "Optional") && !node_input(x->producer, 0));
    lower_done(l, 0, value);
}

static bool holds_sequence(const struct value *value)
{
    const struct node *node = value ? value->producer : NULL;

    return node && node->domain[0] == '\0' &&
           (strncmp(node->op_type, "Sequence", strlen("Sequence")) == 0 ||
            is_op(node, "SplitToSequence"));
}

/* Of a tensor it is that tensor; of a sequence it stays until nobody takes of it. */
static void lower_element(struct lower *l)
{
    struct value *x = lower_input(l, 0);

    for (int step = 0; step < DEPTH_MAX && x && is_op(x->producer, "Optional"); step++)
        x = node_input(x->producer, 0);
    if (!x)
        lower_refuse(l, "its optional is empty");
    else if (holds_sequence(x))
        lower_keep(l);
    else
        lower_done(l, 0, x);
}

const struct lower_rule lower_sequences[] = {
    {{"ConcatFromSequence", "Concat"}, 1, 1, 1, "axis new_axis", lower_joined},
    {{"OptionalGetElement", "nothing: its input"}, 1, 1, 1, "", lower_element},
    {{"OptionalHasElement", "a constant"}, 0, 1, 1, "", lower_has},
    {{"SequenceAt", "nothing: a part of its sequence"}, 2, 2, 1, "", lower_at},
    {{"SequenceLength", "a constant"}, 1, 1, 1, "", lower_length},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};

static bool makes_sequence(const struct node *node)
{
    return node->domain[0] == '\0' &&
           (strncmp(node->op_type, "Sequence", strlen("Sequence")) == 0 ||
            strncmp(node->op_type, "Optional", strlen("Optional")) == 0 ||
            is_op(node, "SplitToSequence"));
}

static bool is_unread(const struct node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] &&
            (node->outputs[i]->consumer_count > 0 || node->outputs[i]->is_output))
            return false;
    return true;
}

void lower_prune(struct graph *graph)
{
    uint32_t before;

    do {
        before = graph->node_count;
        for (uint32_t i = graph->node_count; i-- > 0;) {
            struct node *node = graph->nodes[i];
            bool is_copy =
                is_op(node, "Identity") && node->inputs[0] && holds_sequence(node->inputs[0]);

            if ((makes_sequence(node) || is_copy) && is_unread(node))
                graph_remove_node(graph, node);
        }
    } while (graph->node_count < before);
}
