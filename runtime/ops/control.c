/* SPDX-License-Identifier: Apache-2.0 */
/* If and Loop: running the bodies of a node, node by node. */
#include "runtime/ops/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "runtime/graph/run_limits.h"
#include "runtime/ops/body_calls.h"
#include "runtime/ops/call/call.h"
#include "runtime/ops/shape/shape.h"

/* Facts */

bool control_is(const struct node *node)
{
    return node->domain[0] == '\0' &&
           (strcmp(node->op_type, "If") == 0 || strcmp(node->op_type, "Loop") == 0);
}

static uint32_t body_steps(const struct graph *body)
{
    uint32_t count = body->node_count;

    for (uint32_t i = 0; i < body->node_count; i++)
        count += control_inner_count(body->nodes[i]);
    return count;
}

uint32_t control_inner_count(const struct node *node)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < node->attribute_count; i++)
        if (node->attributes[i].type == ATTRIBUTE_GRAPH)
            count += body_steps(node->attributes[i].graph);
    return count;
}

/* The number of a body's first step. */
static uint32_t first_of(const struct node *node, const struct graph *body, uint32_t first)
{
    for (uint32_t i = 0; i < node->attribute_count; i++) {
        if (node->attributes[i].type != ATTRIBUTE_GRAPH)
            continue;
        if (node->attributes[i].graph == body)
            break;
        first += body_steps(node->attributes[i].graph);
    }
    return first;
}

static int refuse(const struct node *node, int error, struct diag *diag, const char *text)
{
    return diag_set(diag, error, "node \"%s\" (%s): %s", node->name, node->op_type, text);
}

static uint32_t own_inputs(const struct graph *body)
{
    return body->input_count - body->capture_count;
}

int control_check(const struct node *node, struct diag *diag)
{
    bool is_loop = strcmp(node->op_type, "Loop") == 0;
    const struct graph *body = node_graph(node, is_loop ? "body" : "then_branch");
    const struct graph *other = is_loop ? body : node_graph(node, "else_branch");
    uint32_t formal = node->input_count - node->captured_count;

    if (!body || !other)
        return refuse(node, -EINVAL, diag, "it lacks a body");
    if (!is_loop &&
        (own_inputs(body) != 0 || own_inputs(other) != 0 || formal != 1 ||
         body->output_count != node->output_count || other->output_count != node->output_count))
        return refuse(node, -EINVAL, diag, "its bodies do not fit its inputs and outputs");
    if (is_loop && (formal < 2 || own_inputs(body) != formal || body->output_count < formal - 1 ||
                    body->output_count - 1 != node->output_count))
        return refuse(node, -EINVAL, diag, "its body does not fit its inputs and outputs");
    for (uint32_t i = 2; is_loop && i < formal; i++)
        if (!node->inputs[i])
            return refuse(node, -EINVAL, diag, "an initial value is left out");
    return 0;
}

void control_feed_captures(const struct graph *body, const struct tensor_view *node_inputs,
                           struct tensor_view *body_inputs)
{
    for (uint32_t i = 0; i < body->capture_count; i++)
        body_inputs[own_inputs(body) + i] = node_inputs[body->captures[i]];
}

/* One run of a body */

/* By its inputs: which are the same in every run, as what they capture is. NULL without memory. */
static bool *fixed_inputs(const struct graph *body, const struct eval_options *options)
{
    bool *fixed = calloc((size_t)body->input_count + 1, sizeof(*fixed));

    for (uint32_t i = 0; fixed && options->is_fixed && i < body->capture_count; i++)
        fixed[own_inputs(body) + i] = options->is_fixed[body->captures[i]];
    return fixed;
}

static struct tensor_view view_of(const struct value *value)
{
    if (!value)
        return (struct tensor_view){0};
    return (struct tensor_view){value->dtype, value->shape,
                                value->data ? value->data : value->known};
}

static size_t bytes_of(const struct tensor_view *view)
{
    return (size_t)shape_bytes(&view->shape, view->dtype);
}

static int allocate(const struct value *value, struct tensor_view *out_view)
{
    *out_view = view_of(value);
    if (!value)
        return 0;
    out_view->data = graph_alloc_data(bytes_of(out_view));
    return out_view->data ? 0 : -ENOMEM;
}

/* Whether a value of a body is the same in every run. */
static bool is_fixed(const struct graph *body, const struct value *value,
                     const struct eval_options *options)
{
    if (!value || value->data)
        return value != NULL;
    for (uint32_t i = own_inputs(body); value->is_input && i < body->input_count; i++)
        if (body->inputs[i] == value)
            return options->is_fixed && options->is_fixed[i];
    return false;
}

/* Of the node whose insides these are the options of, among the calls that are kept. */
static uint32_t number_of(const struct eval_options *options)
{
    return options->first_inner - 1 - options->first_call;
}

/* options: of the nodes inside of this. fixed: room for as many as there are inputs. */
static int run_node(const struct graph *body, const struct node *node,
                    const struct tensor_view *inputs, bool *fixed, struct tensor_view *outputs,
                    const struct eval_options *options, struct diag *diag)
{
    int rc = 1;

    for (uint32_t i = 0; options->calls && i < node->input_count; i++)
        fixed[i] = is_fixed(body, node->inputs[i], options);
    if (options->calls)
        rc = body_calls_run(options->calls, number_of(options), body, node, inputs, fixed, outputs,
                            options, diag);
    if (rc == 1)
        rc = node->outputs[0] ? shape_evaluate(node, outputs) : -ENOTSUP;
    return rc == -ENOTSUP ? eval_node_with(body, node, inputs, outputs, options, diag) : rc;
}

/* asked: as shape_infer_node() says. */
static int compute_node(const struct graph *body, const struct node *node, uint64_t asked,
                        const struct eval_options *options, struct diag *diag)
{
    size_t count = (size_t)node->input_count + node->output_count;
    struct tensor_view *views = calloc(1, (count + 1) * sizeof(*views) + node->input_count);
    struct tensor_view *outputs = views + node->input_count;
    bool *fixed = (bool *)(views + count + 1); /* behind them */
    int rc = views ? 0 : -ENOMEM;

    for (uint32_t i = 0; rc == 0 && i < node->input_count; i++)
        views[i] = view_of(node->inputs[i]);
    for (uint32_t i = 0; rc == 0 && i < node->output_count; i++)
        rc = allocate(node->outputs[i], &outputs[i]);
    if (rc == 0)
        rc = run_node(body, node, views, fixed, outputs, options, diag);
    if (rc == 0 && options->calls)
        body_calls_note(options->calls, number_of(options), node, views, fixed, asked);
    for (uint32_t i = 0; views && i < node->output_count; i++) {
        if (rc == 0 && node->outputs[i] && !node->outputs[i]->known)
            node->outputs[i]->known = outputs[i].data;
        else
            free(outputs[i].data);
    }
    free(views);
    return rc;
}

/* Inputs that no later node reads are let go. */
static void release_inputs(const struct node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        struct value *value = node->inputs[i];
        bool is_last = value && !value->is_input && !value->is_output && !value->data;

        for (uint32_t c = 0; is_last && c < value->consumer_count; c++)
            is_last = value->consumers[c]->index <= node->index;
        if (is_last && !value->known_is_lent)
            free(value->known);
        if (is_last) {
            value->known = NULL;
            value->known_is_lent = false;
        }
    }
}

static void tell(const struct eval_options *options, uint32_t number, enum call_moment moment)
{
    const struct call_watch *watch = options->watch;

    if (watch && (watch->wants_phases || moment == CALL_START || moment == CALL_END))
        watch->moment(watch->user, number, moment);
}

static int run_nodes(const struct graph *body, const struct eval_options *options,
                     struct diag *diag)
{
    struct eval_options inner = *options;
    uint32_t number = options->first_inner;
    uint64_t asked = 0;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < body->node_count; i++) {
        const struct node *node = body->nodes[i];
        bool repeats;

        tell(options, number, CALL_START);
        inner.first_inner = number + 1;
        repeats = inner.calls && body_calls_recall(inner.calls, number_of(&inner), node);
        rc = limits_check_time(diag);
        if (rc == 0 && !repeats)
            rc = shape_infer_node(body, node, eval_node, &asked, diag);
        tell(options, number, CALL_PREPARE);
        if (rc == 0)
            rc = repeats
                     ? body_calls_repeat(inner.calls, number_of(&inner), body, node, &inner, diag)
                     : compute_node(body, node, asked, &inner, diag);
        tell(options, number, CALL_END);
        release_inputs(node);
        number += 1 + control_inner_count(node);
    }
    return rc == -ENOMEM ? diag_set(diag, rc, "out of memory") : rc;
}

/* Whether output i of a body is the carried value that came in at its place. */
static bool stays(const struct graph *body, uint32_t i)
{
    return i > 0 && i + 1 < own_inputs(body) && body->outputs[i] == body->inputs[i + 1];
}

/* The results, which then belong to the caller; what the body only handed on is copied, but for a carried
 * value that stays: its view is of what the caller has. */
static int take_outputs(const struct graph *body, struct tensor_view *outputs)
{
    for (uint32_t i = 0; i < body->output_count; i++) {
        struct value *value = body->outputs[i];

        outputs[i] = view_of(value);
        if (stays(body, i)) {
            outputs[i].data = NULL;
        } else if (value->data || value->is_input) {
            outputs[i].data = graph_alloc_data(bytes_of(&outputs[i]));
            if (!outputs[i].data)
                return -ENOMEM;
            memcpy(outputs[i].data, view_of(value).data, bytes_of(&outputs[i]));
        } else {
            value->known = NULL;
        }
    }
    return 0;
}

static void free_views(struct tensor_view *views, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(views[i].data);
        views[i].data = NULL;
    }
}

/* outputs: zeroed, by position in body->outputs. */
static int run_body(struct graph *body, const struct tensor_view *inputs,
                    struct tensor_view *outputs, const struct eval_options *options,
                    struct diag *diag)
{
    int rc;

    shape_feed_body(body, inputs);
    rc = run_nodes(body, options, diag);
    if (rc == 0 && take_outputs(body, outputs) < 0)
        rc = diag_set(diag, -ENOMEM, "out of memory");
    shape_forget_body(body);
    if (rc < 0)
        free_views(outputs, body->output_count);
    return rc;
}

/* If */

static bool truth_of(const struct tensor_view *view)
{
    return *(const uint8_t *)view->data != 0;
}

static bool is_condition(const struct tensor_view *view)
{
    return view->dtype == DTYPE_BOOL && shape_elements(&view->shape) == 1 && view->data;
}

static int run_if(const struct node *node, const struct tensor_view *inputs,
                  struct tensor_view *outputs, const struct eval_options *options,
                  struct diag *diag)
{
    struct eval_options inner = *options;
    struct tensor_view *body_inputs;
    struct graph *body;
    bool *fixed;
    int rc;

    if (!is_condition(&inputs[0]))
        return refuse(node, -EINVAL, diag, "its condition is not one bool");
    body = node_graph(node, truth_of(&inputs[0]) ? "then_branch" : "else_branch");
    body_inputs = calloc((size_t)body->input_count + 1, sizeof(*body_inputs));
    fixed = fixed_inputs(body, options);
    if (!body_inputs || !fixed) {
        rc = refuse(node, -ENOMEM, diag, "out of memory");
    } else {
        control_feed_captures(body, inputs, body_inputs);
        inner.first_inner = first_of(node, body, options->first_inner);
        inner.is_fixed = fixed;
        rc = run_body(body, body_inputs, outputs, &inner, diag);
    }
    free(body_inputs);
    free(fixed);
    return rc;
}

/* Loop */

struct loop {
    const struct node *node;
    struct graph *body;
    struct eval_options options;
    uint32_t states, scans; /* values that are carried, values that are collected */
    int64_t turn;
    uint8_t condition;
    bool owns_states;                       /* what `inputs` carry and change is a turn's */
    bool *fixed;                            /* by the body's inputs */
    struct tensor_view *inputs;             /* of the body */
    struct tensor_view *outputs;            /* of the body's last turn */
    ARRAY_OF(struct tensor_view) collected; /* turn by turn, `scans` each */
    struct diag *diag;
};

static int no_memory(const struct loop *loop)
{
    return refuse(loop->node, -ENOMEM, loop->diag, "out of memory");
}

/* Carried values move on, collected ones are kept. */
static int finish_turn(struct loop *loop)
{
    struct tensor_view *condition = &loop->outputs[0];

    if (!is_condition(condition))
        return refuse(loop->node, -EINVAL, loop->diag, "its body's condition is not one bool");
    loop->condition = truth_of(condition);
    for (uint32_t i = 0; i < loop->states; i++) {
        if (stays(loop->body, 1 + i))
            continue;
        if (loop->owns_states)
            free(loop->inputs[2 + i].data);
        loop->inputs[2 + i] = loop->outputs[1 + i];
        loop->outputs[1 + i].data = NULL; /* ownership moved */
    }
    loop->owns_states = true;
    for (uint32_t i = 0; i < loop->scans; i++) {
        if (array_push(&loop->collected, loop->outputs[1 + loop->states + i]) < 0)
            return no_memory(loop);
        loop->outputs[1 + loop->states + i].data = NULL;
    }
    free(condition->data);
    condition->data = NULL;
    return 0;
}

static int run_turns(struct loop *loop, const struct tensor_view *count)
{
    int64_t limit = count->data ? *(const int64_t *)count->data : INT64_MAX;
    int rc = 0;

    while (rc == 0 && loop->turn < limit && loop->condition) {
        if (limits_is_over()) /* a body may have no nodes */
            return limits_check_time(loop->diag);
        if (loop->turn == CONTROL_TURNS_MAX)
            return refuse(loop->node, -E2BIG, loop->diag, "it does not end within 1048576 turns");
        loop->inputs[0].data = &loop->turn;
        loop->inputs[1].data = &loop->condition;
        memset(loop->outputs, 0, loop->body->output_count * sizeof(*loop->outputs));
        rc = run_body(loop->body, loop->inputs, loop->outputs, &loop->options, loop->diag);
        if (rc == 0)
            rc = finish_turn(loop);
        if (rc == 0)
            loop->turn++;
    }
    return rc;
}

/* Of no turn: the shape that a turn would have given. */
static int shape_of_nothing(struct loop *loop, struct tensor_view *outputs)
{
    bool ignored;
    int rc;

    for (uint32_t i = 0; i < 2 + loop->states; i++)
        loop->inputs[i].data = NULL;
    rc = shape_infer_body(loop->body, loop->inputs, eval_node, &ignored, loop->diag);
    for (uint32_t i = 0; rc == 0 && i < loop->scans; i++)
        outputs[loop->states + i] = view_of(loop->body->outputs[1 + loop->states + i]);
    shape_forget_body(loop->body);
    return rc;
}

/* Output i of the node out of the i-th value of each turn. element: dtype and shape of one. */
static int join(struct loop *loop, uint32_t i, struct tensor_view *out_view)
{
    struct tensor_view element = *out_view;
    size_t bytes;

    if (loop->turn > 0)
        element = loop->collected.items[i];
    if (element.shape.rank == SHAPE_MAX_RANK)
        return refuse(loop->node, -ENOTSUP, loop->diag,
                      "it collects tensors of too many dimensions");
    for (int64_t turn = 0; turn < loop->turn; turn++) {
        const struct tensor_view *next = &loop->collected.items[turn * loop->scans + i];

        if (next->dtype != element.dtype || !shape_equal(&next->shape, &element.shape))
            return refuse(loop->node, -EINVAL, loop->diag,
                          "what it collects differs in shape from turn to turn");
    }
    *out_view =
        (struct tensor_view){.dtype = element.dtype, .shape = {.rank = element.shape.rank + 1}};
    out_view->shape.dims[0] = loop->turn;
    memcpy(out_view->shape.dims + 1, element.shape.dims,
           (size_t)element.shape.rank * sizeof(int64_t));
    if (shape_bytes(&out_view->shape, out_view->dtype) < 0)
        return refuse(loop->node, -EINVAL, loop->diag, "what it collects is too large");
    out_view->data = graph_alloc_data(bytes_of(out_view));
    if (!out_view->data)
        return no_memory(loop);
    bytes = bytes_of(&element);
    for (int64_t turn = 0; bytes > 0 && turn < loop->turn; turn++)
        memcpy((char *)out_view->data + (size_t)turn * bytes,
               loop->collected.items[turn * loop->scans + i].data, bytes);
    return 0;
}

/* The carried values' ends, which are copies where no turn made them. */
static int take_states(struct loop *loop, struct tensor_view *outputs)
{
    for (uint32_t i = 0; i < loop->states; i++) {
        struct tensor_view *state = &loop->inputs[2 + i];

        outputs[i] = *state;
        if (loop->owns_states && !stays(loop->body, 1 + i)) {
            state->data = NULL; /* ownership moved */
            continue;
        }
        outputs[i].data = graph_alloc_data(bytes_of(state));
        if (!outputs[i].data)
            return no_memory(loop);
        memcpy(outputs[i].data, state->data, bytes_of(state));
    }
    return 0;
}

static int run_loop_with(struct loop *loop, const struct tensor_view *inputs,
                         struct tensor_view *outputs)
{
    int rc;

    loop->inputs[0] = (struct tensor_view){.dtype = DTYPE_I64};
    loop->inputs[1] = (struct tensor_view){.dtype = DTYPE_BOOL};
    for (uint32_t i = 0; i < loop->states; i++)
        loop->inputs[2 + i] = inputs[2 + i];
    control_feed_captures(loop->body, inputs, loop->inputs);
    rc = run_turns(loop, &inputs[0]);
    if (rc == 0)
        rc = take_states(loop, outputs);
    if (rc == 0 && loop->scans > 0 && loop->turn == 0)
        rc = shape_of_nothing(loop, outputs);
    for (uint32_t i = 0; rc == 0 && i < loop->scans; i++)
        rc = join(loop, i, &outputs[loop->states + i]);
    return rc;
}

static int run_loop(const struct node *node, const struct tensor_view *inputs,
                    struct tensor_view *outputs, const struct eval_options *options,
                    struct diag *diag)
{
    struct loop loop = {.node = node,
                        .body = node_graph(node, "body"),
                        .options = *options,
                        .condition = 1,
                        .diag = diag};
    int rc;

    if (inputs[0].dtype != DTYPE_NONE &&
        (inputs[0].dtype != DTYPE_I64 || shape_elements(&inputs[0].shape) != 1))
        return refuse(node, -EINVAL, diag, "its count is not one int64");
    if (inputs[1].dtype != DTYPE_NONE && !is_condition(&inputs[1]))
        return refuse(node, -EINVAL, diag, "its condition is not one bool");
    if (inputs[1].dtype != DTYPE_NONE)
        loop.condition = truth_of(&inputs[1]);
    loop.states = node->input_count - node->captured_count - 2;
    loop.scans = loop.body->output_count - 1 - loop.states;
    loop.inputs = calloc((size_t)loop.body->input_count + 1, sizeof(*loop.inputs));
    loop.outputs = calloc((size_t)loop.body->output_count + 1, sizeof(*loop.outputs));
    loop.fixed = fixed_inputs(loop.body, options);
    loop.options.is_fixed = loop.fixed;
    rc = loop.inputs && loop.outputs && loop.fixed ? run_loop_with(&loop, inputs, outputs)
                                                   : no_memory(&loop);
    for (uint32_t i = 0; loop.owns_states && i < loop.states; i++)
        if (!stays(loop.body, 1 + i))
            free(loop.inputs[2 + i].data);
    if (loop.outputs)
        free_views(loop.outputs, loop.body->output_count);
    free_views(loop.collected.items, loop.collected.count);
    free(loop.collected.items);
    free(loop.inputs);
    free(loop.outputs);
    free(loop.fixed);
    return rc;
}

int control_run(const struct node *node, const struct tensor_view *inputs,
                struct tensor_view *outputs, const struct eval_options *options, struct diag *diag)
{
    int rc = control_check(node, diag);

    memset(outputs, 0, node->output_count * sizeof(*outputs));
    if (rc == 0)
        rc = strcmp(node->op_type, "If") == 0 ? run_if(node, inputs, outputs, options, diag)
                                              : run_loop(node, inputs, outputs, options, diag);
    if (rc < 0)
        free_views(outputs, node->output_count);
    return rc;
}
