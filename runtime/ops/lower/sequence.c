/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences and optionals whose parts are known when the model is read: what takes of them takes the
 * parts themselves, and what made them is dead then. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "runtime/ops/lower/rules.h"

enum { PARTS_MAX = 4096, DEPTH_MAX = 4096 };

static bool is_op(const struct node *node, const char *type)
{
    return node && node->domain[0] == '\0' && strcmp(node->op_type, type) == 0;
}

/* What is copied, and not a copy. */
static const struct value *source_of(const struct value *value)
{
    for (int step = 0; step < DEPTH_MAX && value && is_op(value->producer, "Identity"); step++)
        value = node_input(value->producer, 0);
    return value;
}

static bool makes_sequence(const struct node *node)
{
    return node->domain[0] == '\0' &&
           (strncmp(node->op_type, "Sequence", strlen("Sequence")) == 0 ||
            strncmp(node->op_type, "Optional", strlen("Optional")) == 0 ||
            is_op(node, "SplitToSequence"));
}

bool lower_holds_sequence(const struct value *value)
{
    const struct node *node = value ? value->producer : NULL;

    return node && node->domain[0] == '\0' &&
           (strncmp(node->op_type, "Sequence", strlen("Sequence")) == 0 ||
            is_op(node, "SplitToSequence"));
}

/* One whole number that is known, `fallback` where there is no input. */
static bool find_number(struct value *value, int64_t fallback, int64_t *out_number)
{
    struct tensor_view view;

    *out_number = fallback;
    if (!value)
        return true;
    if (!lower_given(value, &view) || shape_elements(&view.shape) != 1)
        return false;
    if (view.dtype == DTYPE_I64)
        memcpy(out_number, view.data, sizeof(*out_number));
    else if (view.dtype == DTYPE_I32)
        *out_number = *(const int32_t *)view.data;
    return view.dtype == DTYPE_I64 || view.dtype == DTYPE_I32;
}

/* Nothing follows a sequence within a sequence: one that holds itself has no end. */
static bool is_sequence(const struct value *value)
{
    static const char *const makers[] = {"SequenceConstruct", "SequenceEmpty", "SequenceErase",
                                         "SequenceInsert",    "SequenceMap",   "SplitToSequence"};

    for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
        if (is_op(value->producer, makers[i]))
            return true;
    return false;
}

static int add_part(struct lower *l, struct lower_parts *parts, size_t at, struct value *part)
{
    struct value **grown;

    if (is_sequence(part)) {
        lower_refuse(l, "a sequence stands in a sequence, which holds tensors");
        return -1;
    }
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

/* Where a position, which may count from the end, lies among `count`, up to `last`. */
static bool find_place(struct lower *l, struct value *value, int64_t fallback, size_t count,
                       int64_t last, int64_t *out_at)
{
    int64_t given;

    if (!find_number(value, fallback, &given))
        return false;
    *out_at = given < 0 ? given + (int64_t)count : given;
    if (*out_at >= 0 && *out_at <= last)
        return true;
    lower_refuse(l, "position %lld is not in a sequence of %zu tensors", (long long)given, count);
    return false;
}

/* The parts of the axis, each as a value; a Split makes them. */
static bool split_parts(struct lower *l, const struct node *node, struct lower_parts *parts)
{
    struct value *x = node_input(node, 0), *outputs[256];
    int64_t axis = node_int(node, "axis", 0), length, each = 1, count;
    bool keeps = node_int(node, "keepdims", 1) != 0 || node_input(node, 1);
    struct tensor_view sizes;
    int64_t dims[256];

    if (!x)
        return false;
    if (axis < 0 && x->shape.rank >= 0)
        axis += x->shape.rank;
    length = axis >= 0 && axis < x->shape.rank ? x->shape.dims[axis] : -1;
    if (node_input(node, 1) && lower_given(node_input(node, 1), &sizes) && sizes.shape.rank == 1 &&
        (sizes.dtype == DTYPE_I64 || sizes.dtype == DTYPE_I32)) {
        count = sizes.shape.dims[0];
        for (int64_t i = 0; i < count && i < 256; i++)
            dims[i] = sizes.dtype == DTYPE_I64 ? ((const int64_t *)sizes.data)[i]
                                               : ((const int32_t *)sizes.data)[i];
    } else {
        if (length < 0 || !find_number(node_input(node, 1), 1, &each))
            return false;
        if (each < 1)
            lower_refuse(l, "a sequence is split into parts of %lld", (long long)each);
        if (l->rc < 0)
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
static bool find_parts(struct lower *l, struct value *value, struct lower_parts *parts, int depth)
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
               find_place(l, node_input(node, 2), (int64_t)parts->count, parts->count,
                          (int64_t)parts->count, &at) &&
               add_part(l, parts, (size_t)at, node_input(node, 1)) == 0;
    if (!is_op(node, "SequenceErase") || !find_parts(l, node_input(node, 0), parts, depth + 1) ||
        !find_place(l, node_input(node, 1), -1, parts->count, (int64_t)parts->count - 1, &at))
        return false;
    memmove(parts->items + at, parts->items + at + 1,
            (parts->count - (size_t)at - 1) * sizeof(*parts->items));
    parts->count--;
    return true;
}

bool lower_find_parts(struct lower *l, struct value *value, struct lower_parts *out_parts)
{
    *out_parts = (struct lower_parts){NULL, 0};
    if (find_parts(l, value, out_parts, 0) && l->rc == 0)
        return true;
    free(out_parts->items);
    *out_parts = (struct lower_parts){NULL, 0};
    return false;
}

/* Sequences of another graph, which the body that stands here reads: known once that is lowered. */
static bool is_from_outside(const struct value *value)
{
    for (int step = 0; step < DEPTH_MAX && value && value->producer; step++)
        value = makes_sequence(value->producer) || is_op(value->producer, "Identity")
                    ? node_input(value->producer, 0)
                    : NULL;
    return value && !value->producer && !value->data;
}

/* Parts of a split that is known only when the model runs */

/* The SplitToSequence that makes it; NULL: something else does. */
static const struct node *split_of(const struct lower *l)
{
    const struct value *value = source_of(lower_input(l, 0));

    return value && is_op(value->producer, "SplitToSequence") && node_input(value->producer, 0)
               ? value->producer
               : NULL;
}

static struct value *flat(struct lower *l, struct value *x)
{
    int64_t all = -1;

    return lower_reshape(l, lower_cast(l, x, DTYPE_I64), &all, 1);
}

static struct value *scalar(struct lower *l, struct value *x)
{
    int64_t none = 0;

    return lower_reshape(l, x, &none, 0);
}

/* From where to where a part goes. */
static struct value *slice_part(struct lower *l, const struct node *split, struct value *at)
{
    int64_t axis = node_int(split, "axis", 0), first;
    struct value *sizes = flat(l, split->inputs[1]), *inputs[4], *number;
    int64_t *data;

    if (lower_rank(split->inputs[1]) == 0) {
        if (!find_number(lower_input(l, 1), 0, &first) || first < 0)
            lower_refuse(l, "its position is not known, or counts from an end that is not");
        inputs[1] = lower_two(l, "Mul", at, sizes);
        inputs[2] = lower_two(l, "Add", inputs[1], sizes);
    } else {
        data = lower_data(l, DTYPE_I64, &(struct shape){.rank = 0}, &number);
        if (data)
            *data = 0;
        inputs[2] = lower_two(l, "Gather", lower_two(l, "CumSum", sizes, number), at);
        inputs[1] = lower_two(l, "Sub", inputs[2], lower_two(l, "Gather", sizes, at));
    }
    inputs[0] = split->inputs[0];
    inputs[3] = lower_list(l, &axis, 1);
    return lower_op(l, "Slice", inputs, 4);
}

static void lower_at_split(struct lower *l, const struct node *split)
{
    struct value *at = flat(l, lower_input(l, 1)), *y;

    if (node_input(split, 1)) {
        lower_done(l, 0, slice_part(l, split, at));
        return;
    }
    if (node_int(split, "keepdims", 1) == 0)
        at = scalar(l, at);
    y = lower_two(l, "Gather", split->inputs[0], at);
    lower_int(l, "axis", node_int(split, "axis", 0));
    lower_done(l, 0, y);
}

/* As many as there are sizes, or as the axis is long. */
static void lower_length_of_split(struct lower *l, const struct node *split)
{
    int64_t axis = node_int(split, "axis", 0);
    struct value *y;

    if (node_input(split, 1) && lower_rank(split->inputs[1]) == 0)
        lower_refuse(l, "how many parts its sequence has is not known before the model runs");
    y = node_input(split, 1) ? lower_one(l, "Size", split->inputs[1])
                             : lower_two(l, "Gather", lower_one(l, "Shape", split->inputs[0]),
                                         lower_list(l, &axis, 1));
    lower_done(l, 0, scalar(l, y));
}

/* All parts again: with an axis of their own they are the tensor; in a row its first two axes are one. */
static void lower_joined_split(struct lower *l, const struct node *split)
{
    int64_t axis = node_int(l->node, "axis", 0), of = node_int(split, "axis", 0), all = -1;
    bool has_axis = node_int(l->node, "new_axis", 0) != 0;
    bool keeps = node_input(split, 1) || node_int(split, "keepdims", 1) != 0;
    struct value *x = split->inputs[0], *inputs[4];

    if (axis == of && keeps != has_axis) {
        lower_done(l, 0, x);
        return;
    }
    if (axis != 0 || of != 0 || keeps) {
        lower_refuse(l, "which tensors are in its sequence is not known before the model runs");
        return;
    }
    inputs[0] = lower_one(l, "Shape", x);
    inputs[1] = lower_list(l, &(int64_t){2}, 1);
    inputs[2] = lower_list(l, &(int64_t){INT64_MAX}, 1);
    inputs[1] = lower_op(l, "Slice", inputs, 3);
    inputs[0] = lower_list(l, &all, 1);
    inputs[0] = lower_op(l, "Concat", inputs, 2);
    lower_int(l, "axis", 0);
    lower_done(l, 0, lower_two(l, "Reshape", x, inputs[0]));
}

/* Returns false where the parts are not known: then it is up to on_split, to another graph, or refused. */
static bool take_parts(struct lower *l, struct lower_parts *parts,
                       void (*on_split)(struct lower *l, const struct node *split))
{
    const struct node *split = split_of(l);

    if (lower_find_parts(l, lower_input(l, 0), parts))
        return true;
    if (l->rc == 0 && split)
        on_split(l, split);
    else if (l->rc == 0 && is_from_outside(lower_input(l, 0)))
        lower_keep(l);
    else
        lower_refuse(l, "which tensors are in its sequence is not known before the model runs");
    return false;
}

static void lower_at(struct lower *l)
{
    struct lower_parts parts;
    int64_t at;

    if (!take_parts(l, &parts, lower_at_split))
        return;
    if (find_place(l, lower_input(l, 1), 0, parts.count, (int64_t)parts.count - 1, &at))
        lower_done(l, 0, parts.items[at]);
    else
        lower_refuse(l, "its position is not known before the model runs");
    free(parts.items);
}

static void lower_length(struct lower *l)
{
    struct lower_parts parts;
    struct value *value;
    int64_t *data;

    if (!take_parts(l, &parts, lower_length_of_split))
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
    struct lower_parts parts;
    struct value *y;

    if (!take_parts(l, &parts, lower_joined_split))
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

/* Which optionals are empty is known: only Optional without an input makes one. NULL: this one is. */
static const struct value *unless_empty(const struct value *optional)
{
    const struct value *x = source_of(optional);

    return x && is_op(x->producer, "Optional") && !node_input(x->producer, 0) ? NULL : x;
}

/* What a body is fed, whose type nobody told. */
static bool is_fed(const struct value *x)
{
    return x && !x->producer && x->is_input && x->dtype == DTYPE_NONE;
}

/* Whether what a node makes of one whole number is that number, of any shape. */
static bool moves_number(const struct node *node)
{
    int64_t at;

    if (!node || node->domain[0] != '\0')
        return false;
    if (is_op(node, "Cast"))
        return node_int(node, "to", DTYPE_NONE) == DTYPE_I64;
    if (is_op(node, "Gather")) /* of one there is no other */
        return find_number(node_input(node, 1), 1, &at) && (at == 0 || at == -1);
    return lower_is_listed("Identity Reshape Squeeze Unsqueeze", node->op_type);
}

/* One whole number or bool that is known, also behind what only moves it. */
static bool known_number(struct value *value, int64_t *out_number)
{
    struct tensor_view view = {0};
    int steps = DEPTH_MAX;

    while (value && !lower_given(value, &view) && --steps > 0 && moves_number(value->producer))
        value = node_input(value->producer, 0);
    if (!view.data || shape_elements(&view.shape) != 1)
        return false;
    switch (view.dtype) {
    case DTYPE_BOOL:
        *out_number = *(const uint8_t *)view.data != 0;
        return true;
    case DTYPE_I32:
        *out_number = *(const int32_t *)view.data;
        return true;
    case DTYPE_I64:
        memcpy(out_number, view.data, sizeof(*out_number));
        return true;
    default:
        return false;
    }
}

/* Whether a node that compares two numbers has known ones, and what it says. */
static bool compares(const struct node *node, bool *out_truth)
{
    int64_t a, b;

    if (!node || node->domain[0] != '\0' || node->input_count != 2 ||
        !lower_is_listed("Equal Greater GreaterOrEqual Less LessOrEqual", node->op_type) ||
        (!known_number(node->inputs[0], &a) && !lower_whole_number(node->inputs[0], &a)) ||
        (!known_number(node->inputs[1], &b) && !lower_whole_number(node->inputs[1], &b)))
        return false;
    *out_truth = is_op(node, "Equal")            ? a == b
                 : is_op(node, "Greater")        ? a > b
                 : is_op(node, "GreaterOrEqual") ? a >= b
                 : is_op(node, "Less")           ? a < b
                                                 : a <= b;
    return true;
}

bool lower_truth(struct value *value, bool *out_truth)
{
    struct tensor_view view = {0};
    bool is_not = false;

    for (int step = 0; step < DEPTH_MAX && value; step++) {
        const struct node *node = value->producer;

        if (!lower_given(value, &view) && value->known && shape_is_known(&value->shape))
            view = (struct tensor_view){value->dtype, value->shape, value->known};
        if (view.data) {
            *out_truth = (shape_elements(&view.shape) == 1 && view.dtype == DTYPE_BOOL &&
                          *(const uint8_t *)view.data != 0) != is_not;
            return view.dtype == DTYPE_BOOL && shape_elements(&view.shape) == 1;
        }
        if (is_op(node, "OptionalHasElement")) {
            const struct value *x = unless_empty(node_input(node, 0));

            *out_truth = (x != NULL) != is_not;
            return !x || x->producer;
        }
        if (compares(node, out_truth)) {
            *out_truth ^= is_not;
            return true;
        }
        if (!is_op(node, "Not") && !is_op(node, "Identity"))
            return false;
        is_not ^= is_op(node, "Not");
        value = node_input(node, 0);
    }
    return false;
}

static void lower_has(struct lower *l)
{
    const struct value *x = unless_empty(lower_input(l, 0));
    struct value *value;
    bool *data;

    if (is_fed(x)) { /* known once the body stands for itself */
        lower_keep(l);
        return;
    }
    data = lower_data(l, DTYPE_BOOL, &(struct shape){.rank = 0}, &value);
    if (data)
        *data = x != NULL;
    lower_done(l, 0, value);
}

/* Of a tensor it is that tensor; of a sequence it stays until nobody takes of it. */
static void lower_element(struct lower *l)
{
    struct value *x = lower_input(l, 0);

    for (int step = 0; step < DEPTH_MAX && x && is_op(x->producer, "Optional"); step++)
        x = node_input(x->producer, 0);
    if (!x)
        lower_refuse(l, "its optional is empty");
    else if (lower_holds_sequence(x))
        lower_keep(l);
    else
        lower_done(l, 0, x);
}

/* What an optional holds, through all that hands it on; NULL: nothing. */
static struct value *held_by(struct value *value)
{
    for (int step = 0; step < DEPTH_MAX && value && value->producer &&
                       (is_op(value->producer, "Optional") || is_op(value->producer, "Identity"));
         step++)
        value = node_input(value->producer, 0);
    return value;
}

int lower_output(struct graph *graph, struct value *whole, struct port *port,
                 struct value ***out_tensors, struct diag *diag)
{
    struct lower l = {.graph = graph, .node = whole->producer, .diag = diag};
    struct value *held = port->is_optional ? held_by(whole) : whole;
    struct lower_parts parts = {NULL, 0};

    if (!held) {
        port->is_empty = true;
        port->count = 0;
        return 0;
    }
    if (!port->is_sequence) {
        if (lower_holds_sequence(held))
            return diag_set(diag, -EINVAL, "output '%.120s' is a sequence, and no tensor",
                            whole->name);
        if (add_part(&l, &parts, 0, held) < 0)
            return -ENOMEM;
    } else if (!lower_find_parts(&l, held, &parts)) {
        return l.rc < 0
                   ? l.rc
                   : diag_set(
                         diag, -ENOTSUP,
                         "which tensors are in output '%.120s' is not known: what decides it is "
                         "computed, or an input that is not given",
                         whole->name);
    }
    port->count = (uint32_t)parts.count;
    *out_tensors = parts.items;
    return 0;
}

const struct lower_rule lower_sequences[] = {
    {{"ConcatFromSequence", "Concat"}, 1, 1, 1, "axis new_axis", lower_joined},
    {{"OptionalGetElement", "nothing: its input"}, 1, 1, 1, "", lower_element},
    {{"OptionalHasElement", "a constant"}, 0, 1, 1, "", lower_has},
    {{"SequenceAt", "nothing: a part of its sequence"}, 2, 2, 1, "", lower_at},
    {{"SequenceLength", "a constant"}, 1, 1, 1, "", lower_length},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};

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
            bool is_copy = is_op(node, "Identity") && node_input(node, 0) &&
                           node->inputs[0]->producer && makes_sequence(node->inputs[0]->producer);

            if ((makes_sequence(node) || is_copy) && is_unread(node))
                graph_detach_node(node);
        }
        graph_remove_detached(graph);
    } while (graph->node_count < before);
}
