/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers that follow from constants, and the turns of a Loop that counts up to one: exporters write a loop over
 * the bags of an embedding as one that ends when its counter has reached their number. */
#include <string.h>

#include "runtime/ops/lower/rules.h"

enum { DEPTH_MAX = 64 };
#define COUNT_MAX ((int64_t)1 << 11) /* what every type holds that counts */

static bool is_op(const struct node *node, const char *type)
{
    return node && node->domain[0] == '\0' && strcmp(node->op_type, type) == 0;
}

/* The value outside that a body captures as this one, or the value itself. */
static struct value *captured(const struct node *holder, const struct graph *body,
                              struct value *value)
{
    for (uint32_t i = 0; body && i < body->capture_count; i++)
        if (value == body->inputs[body->input_count - body->capture_count + i])
            return holder->inputs[body->captures[i]];
    return value;
}

/* Element `at` of whole numbers that are given. */
static bool element_of(struct value *value, int64_t at, int64_t *out_number)
{
    struct tensor_view view = {0};
    int64_t count;

    if (!value || !lower_given(value, &view) || !view.data || view.dtype != DTYPE_I64)
        return false;
    count = shape_elements(&view.shape);
    at += at < 0 ? count : 0;
    if (at < 0 || at >= count)
        return false;
    memcpy(out_number, (const int64_t *)view.data + at, sizeof(*out_number));
    return true;
}

static bool find_number(const struct node *holder, const struct graph *body, struct value *value,
                        int depth, int64_t *out_number);

/* One element that a Slice takes of a list. */
static bool find_slice(const struct node *holder, const struct graph *body,
                       const struct node *slice, int depth, int64_t *out_number)
{
    struct value *x = captured(holder, body, node_input(slice, 0)), *axes = node_input(slice, 3);
    int64_t begin, end, axis = 0;

    return x && x->shape.rank == 1 && !node_input(slice, 4) &&
           find_number(holder, body, node_input(slice, 1), depth, &begin) &&
           find_number(holder, body, node_input(slice, 2), depth, &end) && begin >= 0 &&
           end == begin + 1 &&
           (!axes || (find_number(holder, body, axes, depth, &axis) && axis == 0)) &&
           element_of(x, begin, out_number);
}

static bool find_number(const struct node *holder, const struct graph *body, struct value *value,
                        int depth, int64_t *out_number)
{
    const struct node *node;
    struct tensor_view view = {0};
    int64_t a, b;

    value = captured(holder, body, value);
    if (!value || depth == 0)
        return false;
    if (lower_given(value, &view))
        return shape_elements(&view.shape) == 1 && element_of(value, 0, out_number);
    node = value->producer;
    if (is_op(node, "CastLike"))
        return find_number(holder, body, node_input(node, 0), depth - 1, out_number) &&
               *out_number >= 0 && *out_number <= COUNT_MAX;
    if (is_op(node, "Identity") || is_op(node, "Reshape") || is_op(node, "Squeeze") ||
        is_op(node, "Unsqueeze"))
        return find_number(holder, body, node_input(node, 0), depth - 1, out_number);
    if (is_op(node, "Slice"))
        return find_slice(holder, body, node, depth - 1, out_number);
    if (!is_op(node, "Add") || !find_number(holder, body, node_input(node, 0), depth - 1, &a) ||
        !find_number(holder, body, node_input(node, 1), depth - 1, &b))
        return false;
    return !__builtin_add_overflow(a, b, out_number);
}

bool lower_whole_number(struct value *value, int64_t *out_number)
{
    return find_number(NULL, NULL, value, DEPTH_MAX, out_number);
}

/* What a turn adds to state i; false: something else becomes of it. */
static bool find_step(const struct node *loop, const struct graph *body, uint32_t i,
                      int64_t *out_step)
{
    const struct node *sum = body->outputs[1 + i]->producer;
    uint32_t other;

    if (!is_op(sum, "Add") || sum->input_count != 2)
        return false;
    other = sum->inputs[0] == body->inputs[2 + i] ? 1 : 0;
    return sum->inputs[1 - other] == body->inputs[2 + i] &&
           find_number(loop, body, sum->inputs[other], DEPTH_MAX, out_step);
}

int64_t lower_count_up(const struct node *loop, const struct graph *body,
                       struct lower_counter *out_counter)
{
    const struct node *less = body->outputs[0]->producer;
    uint32_t states = loop->input_count - loop->captured_count - 2;
    int64_t end, turns;

    if (!is_op(less, "Less") || node_input(loop, 0) ||
        !find_number(loop, body, node_input(less, 1), DEPTH_MAX, &end))
        return -1;
    for (uint32_t i = 0; i < states; i++) {
        struct lower_counter counter = {.state = i};

        if (body->outputs[1 + i] != node_input(less, 0) ||
            !find_step(loop, body, i, &counter.step) ||
            !lower_whole_number(loop->inputs[2 + i], &counter.first) || counter.step <= 0 ||
            counter.first < 0 || end < 0 || end > COUNT_MAX || counter.step > COUNT_MAX)
            continue;
        turns = counter.first >= end ? 1 : (end - counter.first + counter.step - 1) / counter.step;
        *out_counter = counter;
        return turns;
    }
    return -1;
}
