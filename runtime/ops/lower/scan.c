/* SPDX-License-Identifier: Apache-2.0 */
/* Scan as a Loop, whose turns gather each its part of what is scanned; or where all that the turns do is
 * to compare a row with all rows of a state, as CDist. */
#include <errno.h>
#include <string.h>

#include "runtime/ops/lower/rules.h"

enum { MANY = 1024 };

struct scan {
    struct graph *body;
    uint32_t states, scanned, captured; /* inputs of the node, in this order */
    struct value *inputs[MANY];         /* without what is captured */
};

/* Operator set 8 had it over a batch: [batch, turn, ...]. One of 1 is left out. */
static bool is_batched(const struct lower *l)
{
    return graph_opset(l->graph, "") < 9;
}

static int64_t input_axis(const struct lower *l, uint32_t i)
{
    return is_batched(l) ? 0 : node_int_at(l->node, "scan_input_axes", i, 0);
}

static bool is_backward(const struct lower *l, uint32_t i)
{
    return node_int_at(l->node, is_batched(l) ? "directions" : "scan_input_directions", i, 0) != 0;
}

static void check_attributes(struct lower *l)
{
    if (graph_opset(l->graph, "") < 8)
        lower_refuse(l, "operator set 8 is the first that has it");
    for (uint32_t i = 0; i < l->node->attribute_count; i++) {
        const char *name = l->node->attributes[i].name;

        if (is_batched(l) ? strncmp(name, "scan_", 5) == 0 : strcmp(name, "directions") == 0)
            lower_refuse(l, "attribute %.60s is not known", name);
    }
}

/* What a batch of 1 has. */
static struct value *only_one(struct lower *l, struct value *value)
{
    if (value->shape.rank < 1 || value->shape.dims[0] != 1) {
        lower_refuse(l, "operator set 8 has it over a batch, which is not known to be 1");
        return NULL;
    }
    return lower_squeeze(l, value, 0);
}

static void read_scan(struct lower *l, struct scan *s)
{
    const struct node *node = l->node;
    const uint32_t first = is_batched(l) ? 1 : 0; /* behind lengths of each of a batch */
    int64_t scanned = node_int(node, "num_scan_inputs", 0);
    uint32_t given = node->input_count - node->captured_count;

    s->body = node_graph(node, "body");
    s->captured = node->captured_count;
    check_attributes(l);
    if (first && given > 0 && node->inputs[0])
        lower_refuse(l, "it has a length for each of its batch");
    given -= given < first ? given : first;
    if (!s->body || scanned < 1 || scanned > given || given > MANY ||
        s->body->input_count - s->body->capture_count != given ||
        s->body->output_count != node->output_count) {
        lower_refuse(l, "its body does not fit its inputs and outputs");
        return;
    }
    s->scanned = (uint32_t)scanned;
    s->states = given - s->scanned;
    if (s->states > s->body->output_count)
        lower_refuse(l, "its body does not fit its inputs and outputs");
    for (uint32_t i = 0; i < given && l->rc == 0; i++) {
        s->inputs[i] = node->inputs[first + i];
        if (!s->inputs[i])
            lower_refuse(l, "input %u is left out", first + i);
        else if (first)
            s->inputs[i] = only_one(l, s->inputs[i]);
    }
}

/* A number as long as `axis` of the value. */
static struct value *length_of(struct lower *l, struct value *value, int64_t axis)
{
    int64_t none = 0;
    struct value *shape = lower_one(l, "Shape", value);
    struct value *length = lower_two(l, "Gather", shape, lower_list(l, &axis, 1));

    return lower_reshape(l, length, &none, 0);
}

static int insert_first(struct value **list, uint32_t count, struct value *value)
{
    memmove(list + 1, list, (count - 1) * sizeof(*list));
    list[0] = value;
    return 0;
}

static struct value *body_value(struct lower *l, struct graph *body, enum dtype dtype, int rank)
{
    struct value *value = NULL;

    if (l->rc == 0)
        value = graph_add_value(body, NULL, dtype, &(struct shape){.rank = rank}, NULL);
    if (!value && l->rc == 0)
        l->rc = -ENOMEM;
    return value;
}

static struct node *body_node(struct lower *l, struct graph *body, const char *type,
                              struct value *const *inputs, uint32_t count, struct value *output)
{
    struct node *node = NULL;

    if (l->rc == 0)
        node = graph_add_node(body, type, "", NULL, inputs, count, &output, 1);
    if (!node && l->rc == 0)
        l->rc = -ENOMEM;
    if (node)
        node->is_lowered = true;
    return node;
}

/* The turn's number, or how far it is from the end: -1, -2, ... */
static struct value *place_of(struct lower *l, const struct scan *s, struct value *turn,
                              bool from_end)
{
    struct value *last, *place;
    int64_t *data;

    if (!from_end)
        return turn;
    last = body_value(l, s->body, DTYPE_I64, 0);
    place = body_value(l, s->body, DTYPE_NONE, -1);
    data = place ? graph_alloc_data(sizeof(*data)) : NULL;
    if (!data) {
        l->rc = -ENOMEM;
        return NULL;
    }
    *data = -1;
    value_set_data(last, data);
    body_node(l, s->body, "Sub", (struct value *[]){last, turn}, 2, place);
    return place;
}

/* What was input `i` of the body becomes a part of `whole`, a new capture's input. */
static void gather_part(struct lower *l, const struct scan *s, uint32_t i, struct value *turn,
                        struct value *part)
{
    struct value *place = place_of(l, s, turn, is_backward(l, i));
    struct value *whole = body_value(l, s->body, DTYPE_NONE, -1);
    struct node *node;

    if (l->rc < 0)
        return;
    part->is_input = false;
    node = body_node(l, s->body, "Gather", (struct value *[]){whole, place}, 2, part);
    if (node)
        l->rc = node_set_int(node, "axis", input_axis(l, i));
    if (l->rc == 0)
        l->rc = graph_add_input(s->body, whole);
}

/* Inputs: states, parts, captures; they become turn, condition, states, captures, wholes. */
static void remake_body(struct lower *l, const struct scan *s)
{
    struct graph *body = s->body;
    struct value *turn = body_value(l, body, DTYPE_NONE, -1);
    struct value *goes_on = body_value(l, body, DTYPE_NONE, -1);
    struct value *still = body_value(l, body, DTYPE_NONE, -1);

    body_node(l, body, "Identity", &goes_on, 1, still);
    for (uint32_t i = 0; l->rc == 0 && i < s->scanned; i++)
        gather_part(l, s, i, turn, body->inputs[s->states + i]);
    if (l->rc < 0)
        return;
    memmove(body->inputs + s->states, body->inputs + s->states + s->scanned,
            (body->input_count - s->states - s->scanned) * sizeof(*body->inputs));
    body->input_count -= s->scanned;
    if (graph_add_input(body, goes_on) < 0 || graph_add_output(body, still) < 0) {
        l->rc = -ENOMEM;
        return;
    }
    insert_first(body->inputs, body->input_count, goes_on);
    if (graph_add_input(body, turn) < 0) {
        l->rc = -ENOMEM;
        return;
    }
    insert_first(body->inputs, body->input_count, turn);
    insert_first(body->outputs, body->output_count, still);
    l->rc = graph_sort(body, l->diag);
}

/* The body is the Loop's from here on, with what it reads from outside. */
static void hand_over(struct lower *l, const struct scan *s, struct node *loop)
{
    struct node *old = l->node;
    int rc = node_set_graph(loop, "body", s->body);

    for (uint32_t i = 0; i < old->attribute_count; i++)
        if (old->attributes[i].type == ATTRIBUTE_GRAPH)
            old->attributes[i].graph = NULL;
    if (rc == 0)
        s->body->capture_count = 0;
    for (uint32_t i = 0; rc == 0 && i < s->captured; i++)
        rc = node_capture(loop, s->body, old->inputs[old->input_count - s->captured + i]);
    for (uint32_t i = 0; rc == 0 && i < s->scanned; i++)
        rc = node_capture(loop, s->body, s->inputs[s->states + i]);
    l->rc = rc;
}

static struct value *with_batch(struct lower *l, struct value *y)
{
    int64_t first = 0;

    return is_batched(l) ? lower_unsqueeze(l, y, &first, 1) : y;
}

static struct value *joined(struct lower *l, struct value *a, struct value *b, struct value *c)
{
    struct value *y = lower_op(l, "Concat", (struct value *[]){a, b, c}, 3);

    lower_int(l, "axis", 0);
    return y;
}

static struct value *product(struct lower *l, struct value *list)
{
    return lower_one(l, "ReduceProd", list);
}

static struct value *reshaped(struct lower *l, struct value *x, struct value *dims)
{
    struct value *y = lower_two(l, "Reshape", x, dims);

    lower_int(l, "allowzero", 1);
    return y;
}

/* The dims of a turn's result that come to stand in front of the turns, and those behind them. The list of
 * numbers is what is refused where there are not so many. */
static void split_dims(struct lower *l, struct value *dims, int64_t axis, struct value **out_front,
                       struct value **out_back)
{
    int64_t numbers[SHAPE_MAX_RANK];
    size_t count = (size_t)(axis > 0 ? axis : -axis - 1);
    struct value *listed;

    for (size_t i = 0; i < count; i++)
        numbers[i] = axis > 0 ? (int64_t)i + 1 : axis + 1 + (int64_t)i;
    listed = lower_two(l, "Gather", dims, lower_list(l, numbers, count));
    *out_front = axis > 0 ? listed : lower_part(l, dims, 1, axis == -1 ? INT64_MAX : axis + 1);
    *out_back = axis > 0 ? lower_part(l, dims, axis + 1, INT64_MAX) : listed;
}

/* Turns, which are the first axis of what was collected, become another: of three axes they are the first, then
 * the second, however many there are. */
static struct value *move_turns(struct lower *l, struct value *y, int64_t axis)
{
    static const int64_t swapped[] = {1, 0, 2};
    struct value *dims, *turns, *front, *back;

    if (axis == 0)
        return y;
    if (axis <= -SHAPE_MAX_RANK || axis >= SHAPE_MAX_RANK) {
        lower_refuse(l, "its results are collected along axis %lld", (long long)axis);
        return NULL;
    }
    dims = lower_one(l, "Shape", y);
    turns = lower_part(l, dims, 0, 1);
    split_dims(l, dims, axis, &front, &back);
    y = reshaped(l, y, joined(l, turns, product(l, front), product(l, back)));
    y = lower_one(l, "Transpose", y);
    lower_ints(l, "perm", swapped, 3);
    return reshaped(l, y, joined(l, front, turns, back));
}

/* Collected values lie turn by turn: the other order, where it is wanted. */
static struct value *order_turns(struct lower *l, struct value *y, uint32_t i)
{
    int64_t first = -1, end = INT64_MIN, axis = 0;
    struct value *inputs[5];

    if (node_int_at(l->node, "scan_output_directions", i, 0) == 0)
        return y;
    if (graph_opset(l->graph, "") < 10)
        lower_refuse(l, "its results are collected backward");
    inputs[0] = y;
    inputs[1] = lower_list(l, &first, 1);
    inputs[2] = lower_list(l, &end, 1);
    inputs[3] = lower_list(l, &axis, 1);
    inputs[4] = lower_list(l, &first, 1);
    return lower_op(l, "Slice", inputs, 5);
}

/* What the turns gave as result i of those that are collected, from the outputs of the Loop. */
static struct value *collected(struct lower *l, struct value *y, uint32_t i)
{
    return move_turns(l, order_turns(l, y, i), node_int_at(l->node, "scan_output_axes", i, 0));
}

static const struct node *made_by(const struct value *value, const char *type)
{
    const struct node *node = value ? value->producer : NULL;

    while (node && node->domain[0] == '\0' && strcmp(node->op_type, "Identity") == 0)
        node = node->inputs[0]->producer;
    return node && node->domain[0] == '\0' && strcmp(node->op_type, type) == 0 ? node : NULL;
}

static bool is_itself(const struct value *value, const struct value *input)
{
    while (value && value != input && value->producer && value->producer->domain[0] == '\0' &&
           strcmp(value->producer->op_type, "Identity") == 0)
        value = value->producer->inputs[0];
    return value == input;
}

/* The last of the two axes, which goes. */
static bool reduces_rows(const struct node *node)
{
    const struct attribute *list = node_attribute(node, "axes");
    const int64_t *axes = list ? list->ints : NULL;
    size_t count = list ? list->count : 0;
    struct tensor_view view;

    if (node->input_count > 1 && lower_content(node->inputs[1], &view) && view.dtype == DTYPE_I64 &&
        view.shape.rank == 1) {
        axes = view.data;
        count = (size_t)view.shape.dims[0];
    }
    return axes && count == 1 && (axes[0] == 1 || axes[0] == -1) &&
           node_int(node, "keepdims", 1) == 0;
}

/* Whether these are rows of reals, two axes in all. */
static bool is_matrix(const struct value *value)
{
    bool is_flat = lower_rank(value) == 2;

    for (int step = 0; step < 64 && value && value->dtype == DTYPE_NONE && value->producer &&
                       value->producer->domain[0] == '\0' &&
                       lower_is_listed("Add Div Identity Mul Sub", value->producer->op_type);
         step++)
        value = node_input(value->producer, 0);
    return is_flat && value && (value->dtype == DTYPE_F32 || value->dtype == DTYPE_F64);
}

/* The difference of which `y` is the sum along each row, squared or without its sign; NULL: it is none. */
static const struct node *summed_difference(const struct value *y, const char **out_metric)
{
    const struct node *sum;

    *out_metric = "sqeuclidean";
    sum = made_by(y, "ReduceSumSquare");
    if (!sum) {
        *out_metric = "cityblock";
        sum = made_by(y, "ReduceL1");
    }
    if (sum)
        return reduces_rows(sum) ? made_by(sum->inputs[0], "Sub") : NULL;
    sum = made_by(y, "ReduceSum");
    if (!sum || !reduces_rows(sum))
        return NULL;
    sum = made_by(sum->inputs[0], "Abs");
    return sum ? made_by(sum->inputs[0], "Sub") : NULL;
}

/* The sum of (state - row)^2, or of |state - row|, over each row of the state, which stays what it is: how
 * skl2onnx writes distances of the rows of two matrices. Which of the two; NULL: it is something else. */
static const char *metric_of(const struct lower *l, const struct scan *s)
{
    const struct graph *body = s->body;
    const struct node *difference;
    const char *metric;
    const struct value *state, *row, *a, *b;

    if (is_batched(l) || s->states != 1 || s->scanned != 1 || s->captured != 0 ||
        body->output_count != 2 || node_int_at(l->node, "scan_input_axes", 0, 0) != 0 ||
        node_int_at(l->node, "scan_input_directions", 0, 0) != 0 ||
        node_int_at(l->node, "scan_output_axes", 0, 0) != 0 ||
        node_int_at(l->node, "scan_output_directions", 0, 0) != 0)
        return NULL;
    state = body->inputs[0];
    row = body->inputs[1];
    difference = summed_difference(body->outputs[1], &metric);
    if (!difference || !is_itself(body->outputs[0], state) || !is_matrix(lower_input(l, 0)) ||
        !is_matrix(lower_input(l, 1)))
        return NULL;
    a = difference->inputs[0];
    b = difference->inputs[1];
    if ((is_itself(a, state) && is_itself(b, row)) || (is_itself(a, row) && is_itself(b, state)))
        return metric;
    return NULL;
}

static void lower_as_distances(struct lower *l, const char *metric)
{
    struct value *state = lower_input(l, 0), *rows = lower_input(l, 1);

    if (lower_wants(l, 1)) {
        struct value *y = lower_two(l, "com.microsoft.CDist", rows, state);

        lower_string(l, "metric", metric);
        lower_done(l, 1, y);
    }
    if (lower_wants(l, 0))
        lower_done(l, 0, lower_one(l, "Identity", state));
}

static void lower_scan(struct lower *l)
{
    struct value *inputs[MANY + 2], *outputs[MANY], *always;
    uint32_t count = l->node->output_count;
    struct scan s = {0};
    const char *metric;
    bool *data;

    read_scan(l, &s);
    if (l->rc == 0 && count > MANY)
        lower_refuse(l, "it has %u outputs", count);
    if (l->rc < 0)
        return;
    metric = metric_of(l, &s);
    if (metric) {
        lower_as_distances(l, metric);
        return;
    }
    data = lower_data(l, DTYPE_BOOL, &(struct shape){.rank = 0}, &always);
    if (data)
        *data = true;
    inputs[0] = length_of(l, s.inputs[s.states], input_axis(l, 0));
    inputs[1] = always;
    memcpy(inputs + 2, s.inputs, s.states * sizeof(struct value *));
    remake_body(l, &s);
    lower_many(l, "Loop", inputs, 2 + s.states, outputs, count);
    if (l->rc == 0)
        hand_over(l, &s, l->made);
    for (uint32_t i = 0; l->rc == 0 && i < count; i++)
        if (lower_wants(l, i))
            lower_done(
                l, i,
                with_batch(l, i < s.states ? outputs[i] : collected(l, outputs[i], i - s.states)));
}

const struct lower_rule lower_scans[] = {
    {{"Scan", "Loop, Gather, Slice, Transpose; or CDist"},
     0,
     LOWER_ANY,
     LOWER_ANY,
     "body directions num_scan_inputs scan_input_axes scan_input_directions scan_output_axes "
     "scan_output_directions",
     lower_scan},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
