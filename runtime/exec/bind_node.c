/* SPDX-License-Identifier: Apache-2.0 */
/* Binding: one node, its kernel, and the layouts that its values then have. */
#include "runtime/exec/bind_private.h"
#include "runtime/exec/layout_format.h"
#include "runtime/graph/fused_ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is decided for a node before its call is bound. */
struct choice {
    struct layout *input_layouts; /* by input */
    struct layout y_layout;       /* of output 0 */
    uint32_t in_place_input; /* index of the input that output 0 may be written over, or none */
    bool must_be_in_place;
    bool on_device;
};

enum { NO_INPUT = UINT32_MAX };

/* Calls */

static int make_call(struct binding *binding, const struct node *node, const struct choice *choice,
                     call_bind_any_fn *bind, struct call *out_call)
{
    struct tensor_view *inputs = calloc(node->input_count + 1, sizeof(*inputs));
    struct tensor_view *outputs = calloc(node->output_count + 1, sizeof(*outputs));
    struct call_request request = {
        .kernels = choice->on_device ? &binding->device_kernels : &binding->kernels,
        .on_device = choice->on_device,
        .graph = binding->graph,
        .node = node,
        .inputs = inputs,
        .outputs = outputs,
        .input_layouts = choice->input_layouts,
        .output_layouts = &choice->y_layout,
        .diag = binding->diag,
    };
    int rc;

    if (inputs && outputs) {
        for (uint32_t i = 0; i < node->input_count; i++)
            inputs[i] = binding_view(node->inputs[i]);
        for (uint32_t i = 0; i < node->output_count; i++)
            outputs[i] = binding_view(node->outputs[i]);
        rc = call_bind_any(&request, bind, out_call);
    } else {
        rc = binding_no_memory(binding);
    }
    free(inputs);
    free(outputs);
    return rc;
}

/* Buffers for the inputs in the layouts that were chosen, and a new one for output 0. */
static int take_buffers(struct binding *binding, const struct node *node,
                        const struct choice *choice, struct bound_step *step)
{
    int rc = 0;

    step->input_buffers = calloc(node->input_count + 1, sizeof(*step->input_buffers));
    step->output_buffers = calloc(node->output_count + 1, sizeof(*step->output_buffers));
    if (!step->input_buffers || !step->output_buffers)
        return binding_no_memory(binding);
    for (uint32_t i = 0; rc == 0 && i < node->input_count; i++) {
        step->input_buffers[i] = PLAN_NONE;
        if (node->inputs[i])
            rc = binding_get_form(binding, node, node->inputs[i], &choice->input_layouts[i],
                                  &step->input_buffers[i]);
    }
    for (uint32_t i = 0; i < node->output_count; i++)
        step->output_buffers[i] = PLAN_NONE;
    return rc;
}

/* The residual must lie where y will, and nobody may need it, or x in its place, afterwards. */
static int settle_residual(struct binding *binding, const struct node *node,
                           const struct choice *choice, struct bound_step *step)
{
    uint32_t residual = choice->in_place_input, buffer = step->input_buffers[residual];
    bool is_read_too = false;

    for (uint32_t i = 0; i < node->input_count; i++)
        is_read_too = is_read_too || (i != residual && node->inputs[i] &&
                                      binding_is_same(binding, step->input_buffers[i], buffer));
    if (!is_read_too && binding_ends_at(binding, node, buffer))
        return 0;
    return binding_copy_form(binding, node, node->inputs[residual],
                             &choice->input_layouts[residual], &step->input_buffers[residual]);
}

/* A buffer for an output; the first one's layout was chosen, the others are row-major. An output
 * behind the first that nobody reads has none. */
static int make_output(struct binding *binding, const struct value *value,
                       const struct layout *layout, uint32_t *out_buffer)
{
    struct layout row_major;

    if (!value || (!layout && value->consumer_count == 0 && !value->is_output))
        return 0;
    row_major = layout_row_major(value->shape.rank);
    return binding_make_form(binding, value, layout ? layout : &row_major, out_buffer);
}

static int add_node_step(struct binding *binding, const struct node *node,
                         const struct choice *choice, struct call *call)
{
    struct bound_step step = {
        .info = {.name = node->name,
                 .type = node->op_type,
                 .node = node,
                 .inputs = (const struct value *const *)node->inputs,
                 .input_count = node->input_count,
                 .outputs = (const struct value *const *)node->outputs,
                 .output_count = node->output_count,
                 .on_device = choice->on_device},
        .call = *call,
        .copied = PLAN_NONE,
        .in_place_input = PLAN_NONE,
        .must_be_in_place = choice->must_be_in_place,
    };
    int rc = take_buffers(binding, node, choice, &step);

    if (rc == 0 && choice->must_be_in_place)
        rc = settle_residual(binding, node, choice, &step);
    for (uint32_t i = 0; rc == 0 && i < node->output_count; i++)
        rc = make_output(binding, node->outputs[i], i == 0 ? &choice->y_layout : NULL,
                         &step.output_buffers[i]);
    if (rc < 0) {
        bound_step_deinit(&step);
        return rc;
    }
    if (choice->in_place_input != NO_INPUT)
        step.in_place_input = step.input_buffers[choice->in_place_input];
    return binding_add_step(binding, &step);
}

/* Choices */

static bool is_image(const struct layout *layout, const struct shape *shape)
{
    return layout_is_row_major(layout, shape) || layout_is_channels_last(layout, shape);
}

/* Element-wise, concatenation: y as the first operand of its rank, images before the rest. */
static struct layout layout_of_operands(const struct binding *binding, const struct node *node)
{
    const struct value *y = node->outputs[0];
    struct layout chosen = layout_row_major(y->shape.rank);

    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct value *x = node->inputs[i];
        const struct form *form;

        if (!x || x->data || x->shape.rank != y->shape.rank)
            continue;
        form = binding_first_form(binding, x);
        if (!layout_is_row_major(&form->layout, &x->shape))
            return form->layout;
    }
    return chosen;
}

/* What makes an image out of something else makes it as the convolution behind it wants it. */
static bool makes_image(const struct binding *binding, const struct node *node)
{
    const struct value *y = node->outputs[0];
    const struct node *reader = y->consumer_count > 0 ? y->consumers[0] : NULL;

    return !binding->backend && strcmp(node->op_type, PREPROCESS_OP_TYPE) == 0 && reader &&
           !y->is_output && strcmp(reader->op_type, "Conv") == 0 && node_input(reader, 1) &&
           reader->inputs[1]->data;
}

static void choose_any(const struct binding *binding, const struct node *node,
                       struct choice *choice)
{
    int in_place = call_in_place_input(node);

    choice->y_layout = makes_image(binding, node)
                           ? layout_channels_last(node->outputs[0]->shape.rank)
                           : layout_of_operands(binding, node);
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct value *x = node->inputs[i];

        if (!x)
            continue;
        choice->input_layouts[i] = binding_first_form(binding, x)->layout;
        /* The same layout as y's where there is a choice. */
        if (x->shape.rank == choice->y_layout.rank &&
            binding_find_form(binding, x, &choice->y_layout))
            choice->input_layouts[i] = choice->y_layout;
    }
    if (in_place >= 0 &&
        layout_same(&choice->input_layouts[in_place], &choice->y_layout, &node->outputs[0]->shape))
        choice->in_place_input = (uint32_t)in_place;
}

static void choose_same(const struct binding *binding, const struct node *node, bool only_images,
                        struct choice *choice)
{
    const struct value *x = node->inputs[0];
    const struct layout *layout = &binding_first_form(binding, x)->layout;
    int in_place = call_in_place_input(node);

    if (!node->outputs[0]) /* of several, another one is wanted */
        return;
    if (layout->rank == node->outputs[0]->shape.rank &&
        (!only_images || is_image(layout, &x->shape)))
        choice->input_layouts[0] = choice->y_layout = *layout;
    if (in_place >= 0)
        choice->in_place_input = (uint32_t)in_place;
}

/* Matrix products: each matrix may lie with gaps between its rows. Reading it transposed takes
 * longer than a copy does. */

static bool is_linked_op(const struct node *node, const char *op_type)
{
    return strcmp(node->op_type, op_type) == 0 && node->domain[0] == '\0' && node_input(node, 0) &&
           node_output(node, 0);
}

/* The layout under which the result of a Transpose shows the memory of its input. */
static bool transposed_layout(const struct node *node, const struct layout *x,
                              struct layout *out_layout)
{
    int rank = node->outputs[0]->shape.rank;
    size_t count;
    const int64_t *perm = node_ints(node, "perm", &count);

    *out_layout = layout_row_major(rank);
    if (x->rank != rank || (perm && count != (size_t)rank))
        return false;
    for (int k = 0; k < rank; k++)
        for (int i = 0; i < rank; i++)
            if ((perm ? perm[i] : rank - 1 - i) == x->order[k])
                out_layout->order[k] = (uint8_t)i;
    return true;
}

/* Numbers that are multiplied as they lie: a device's kernels take half precision, too, and what is
 * converted keeps its order. */
static bool has_lines_type(const struct binding *binding, const struct value *value)
{
    return value->dtype == DTYPE_F32 ||
           (binding->backend && (value->dtype == DTYPE_F16 || value->dtype == DTYPE_BF16));
}

/* Attention of heads that a device computes: whose steps may lie apart. */
static bool has_lines_of_heads(const struct binding *binding, const struct node *node)
{
    bool all = binding->backend && is_linked_op(node, "Attention") && node->input_count >= 3;

    for (uint32_t i = 0; all && i < 3; i++)
        all = node->inputs[i] && !node->inputs[i]->data && node->inputs[i]->shape.rank == 4 &&
              has_lines_type(binding, node->inputs[i]);
    return all;
}

/* What a kernel may take in as it is bound: constants, and small ones that come of these. */
static bool is_constant(const struct value *value)
{
    return binding_view(value).data != NULL;
}

/* A product of two tensors that both change from run to run, of more than a row. */
static bool takes_lines(const struct binding *binding, const struct node *node)
{
    const struct value *a = node_input(node, 0), *b = node_input(node, 1);

    if (has_lines_of_heads(binding, node))
        return true;
    return is_linked_op(node, "MatMul") && a && b && !is_constant(a) && !is_constant(b) &&
           a->shape.rank >= 2 && b->shape.rank >= 2 && a->shape.dims[a->shape.rank - 2] > 1 &&
           has_lines_type(binding, a) && has_lines_type(binding, b) &&
           has_lines_type(binding, node->outputs[0]);
}

/* The last axis is innermost. */
static bool has_lines(const struct layout *layout, const struct shape *shape)
{
    int at = layout->rank - 1;

    if (shape->rank < 2 || shape->dims[shape->rank - 1] <= 1 || shape->dims[shape->rank - 2] <= 1)
        return false;
    while (shape->dims[layout->order[at]] == 1)
        at--;
    return layout->order[at] == shape->rank - 1;
}

/* Products and attention alone read the result of a Transpose, and can read it where it is. */
static bool is_read_in_lines(const struct binding *binding, const struct node *transpose,
                             const struct layout *layout)
{
    const struct value *y = transpose->outputs[0];
    bool all = !y->is_output && y->consumer_count > 0 && has_lines(layout, &y->shape);

    for (uint32_t i = 0; i < y->consumer_count; i++)
        all = all && takes_lines(binding, y->consumers[i]);
    return all;
}

static void choose_product(const struct binding *binding, const struct node *node,
                           struct choice *choice)
{
    const struct value *y = node->outputs[0];
    const struct node *reader = y->is_output || y->consumer_count != 1 ? NULL : y->consumers[0];
    struct layout memory = layout_row_major(y->shape.rank), shown;
    size_t count;
    const int64_t *perm = reader ? node_ints(reader, "perm", &count) : NULL;

    for (uint32_t i = 0; i < (is_linked_op(node, "MatMul") ? 2u : 3u); i++) {
        const struct layout *layout = &binding_first_form(binding, node->inputs[i])->layout;

        if (has_lines(layout, &node->inputs[i]->shape))
            choice->input_layouts[i] = *layout;
    }
    /* The result in the order in which a Transpose behind it wants the axes. */
    if (!reader || !is_linked_op(reader, "Transpose") || !perm || count != (size_t)y->shape.rank)
        return;
    for (int i = 0; i < memory.rank; i++)
        memory.order[i] = (uint8_t)perm[i];
    if (memory.order[memory.rank - 1] == memory.rank - 1 && has_lines(&memory, &y->shape) &&
        transposed_layout(reader, &memory, &shown))
        choice->y_layout = memory;
}

static enum format chosen_format(const struct binding *binding, const struct node *node)
{
    return binding->formats ? (enum format)binding->formats[node->index] : FORMAT_BY_RULE;
}

/* What was chosen takes the place of what the rules say. */
static void choose_format(const struct binding *binding, const struct node *node,
                          struct choice *choice)
{
    int in_place = call_in_place_input(node);

    if (!format_layouts(node, chosen_format(binding, node), false, choice->input_layouts,
                        &choice->y_layout))
        return;
    choice->in_place_input = NO_INPUT;
    if (in_place >= 0 &&
        layout_same(&choice->input_layouts[in_place], &choice->y_layout, &node->outputs[0]->shape))
        choice->in_place_input = (uint32_t)in_place;
}

/* Row-major everywhere, then what the operator allows. */
static int choose(struct binding *binding, const struct node *node, struct choice *out_choice)
{
    *out_choice = (struct choice){.in_place_input = NO_INPUT};
    out_choice->y_layout = layout_row_major(node->outputs[0] ? node->outputs[0]->shape.rank : 0);
    out_choice->input_layouts = calloc(node->input_count + 1, sizeof(*out_choice->input_layouts));
    if (!out_choice->input_layouts)
        return binding_no_memory(binding);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i])
            out_choice->input_layouts[i] = layout_row_major(node->inputs[i]->shape.rank);
    switch (call_layout_need(node)) {
    case LAYOUT_ANY:
        choose_any(binding, node, out_choice);
        break;
    case LAYOUT_IMAGE:
    case LAYOUT_SAME:
        if (node_input(node, 0))
            choose_same(binding, node, call_layout_need(node) == LAYOUT_IMAGE, out_choice);
        break;
    case LAYOUT_QUANTA:
        if (!binding->backend)
            binding_choose_bytes(binding, node, out_choice->input_layouts, &out_choice->y_layout);
        break;
    case LAYOUT_ROW_MAJOR:
        if (takes_lines(binding, node))
            choose_product(binding, node, out_choice);
        else if (!binding->backend && node->outputs[0])
            binding_choose_bytes(binding, node, out_choice->input_layouts, &out_choice->y_layout);
        if (call_in_place_input(node) >= 0)
            out_choice->in_place_input = (uint32_t)call_in_place_input(node);
        break;
    }
    choose_format(binding, node, out_choice);
    return 0;
}

/* Nodes */

/* Returns 1 when there is no kernel that prepares its weights. */
static int bind_conv(struct binding *binding, const struct node *node)
{
    struct choice choice;
    struct call call = {0};
    int residual = node->fused.residual_input;
    int rc = choose(binding, node, &choice);

    if (rc < 0)
        return rc;
    if (!format_layouts(node, chosen_format(binding, node), true, choice.input_layouts,
                        &choice.y_layout)) {
        choice.y_layout = layout_channels_last(node->outputs[0]->shape.rank);
        choice.input_layouts[0] = layout_channels_last(node->inputs[0]->shape.rank);
    }
    if (residual >= 0) {
        choice.input_layouts[residual] = choice.y_layout;
        choice.in_place_input = (uint32_t)residual;
        choice.must_be_in_place = true;
    }
    rc = make_call(binding, node, &choice, call_bind_conv_plan, &call);
    if (call.half && residual >= 0) { /* it converts the residual to where it adds to it */
        choice.must_be_in_place = false;
        if (node->inputs[residual]->dtype != node->outputs[0]->dtype)
            choice.in_place_input = NO_INPUT;
    }
    if (rc == 0)
        rc = add_node_step(binding, node, &choice, &call);
    free(choice.input_layouts);
    return rc;
}

/* The output is the input's buffer under another name; row-major first where it must be. */
static int bind_view(struct binding *binding, const struct node *node)
{
    const struct value *x = node_input(node, 0), *y = node->outputs[0];
    struct layout row_major = layout_row_major(x->shape.rank), layout;
    const struct form *form = binding_first_form(binding, x);
    struct plan_buffer buffer = {.bytes = binding_bytes(y)};
    int rc = 0;

    if (layout_reshape(&x->shape, &form->layout, &y->shape, &layout)) {
        buffer.parent = form->buffer;
    } else {
        rc = binding_get_form(binding, node, x, &row_major, &buffer.parent);
        layout = layout_row_major(y->shape.rank);
    }
    /* Of what it shows in the end, so that a chain of views is none of buffers. */
    if (rc == 0) {
        buffer.parent = binding_root(binding, buffer.parent);
        rc = binding_add_buffer(binding, &buffer, &layout, NULL, &buffer.parent);
    }
    return rc < 0 ? rc : binding_add_form(binding, y, &layout, buffer.parent);
}

/* Returns 1 when there is no kernel that packs its weights. */
static int bind_product(struct binding *binding, const struct node *node)
{
    struct choice choice;
    struct call call = {0};
    int rc = choose(binding, node, &choice);

    if (rc == 0)
        rc = make_call(binding, node, &choice, call_bind_gemm_plan, &call);
    if (rc == 0)
        rc = add_node_step(binding, node, &choice, &call);
    free(choice.input_layouts);
    return rc;
}

static int bind_other(struct binding *binding, const struct node *node)
{
    struct choice choice;
    struct call call = {0};
    int rc = choose(binding, node, &choice);

    if (rc == 0)
        rc = make_call(binding, node, &choice, call_bind, &call);
    if (rc == 0 && call_is_view(node) && !call.activate) {
        call_deinit(&call); /* it was bound for its checks only */
        rc = bind_view(binding, node);
    } else if (rc == 0) {
        rc = add_node_step(binding, node, &choice, &call);
    }
    free(choice.input_layouts);
    return rc;
}

void binding_free_packed(struct binding *binding, const struct bound_step *step)
{
    const struct node *node = step->info.node;
    size_t bytes;

    if (!binding->frees_packed || step->value || !call_weights(&step->call, &bytes))
        return;
    for (uint32_t i = 1; i < node->input_count; i++) {
        const struct value *value = node->inputs[i];

        if (!value || !value->data || value->consumer_count != 1 || value->is_output ||
            (int)i == node->fused.residual_input)
            continue;
        binding->memory.items[step->input_buffers[i]] = NULL;
        value_release_data(binding->frees_packed->values[value->index]);
    }
}

/* A Transpose that moves nothing: its result shows its input's memory. Returns 1 where it has to.
 */
static int bind_transpose(struct binding *binding, const struct node *node)
{
    const struct value *y = node->outputs[0];
    const struct form *form = binding_first_form(binding, node->inputs[0]);
    struct plan_buffer buffer = {.bytes = binding_bytes(y), .parent = form->buffer};
    struct layout layout;
    uint32_t index;
    int rc;

    if (!transposed_layout(node, &form->layout, &layout) ||
        !(layout_is_row_major(&layout, &y->shape) || is_read_in_lines(binding, node, &layout) ||
          (!binding->backend && layout_is_channels_last(&layout, &y->shape) &&
           binding_takes_last(binding, y))))
        return 1;
    rc = binding_add_buffer(binding, &buffer, &layout, NULL, &index);
    return rc < 0 ? rc : binding_add_form(binding, y, &layout, index);
}

bool bound_is_on_device(const struct device_backend *backend, const struct call *call)
{
    return backend->is_own(call->version) && !call->plan && !call->gemm &&
           (call->activation.kind == KERNEL_IDENTITY || call->activate);
}

/* Types that no device's kernels know. */
static bool is_for_cpu(const struct value *value)
{
    return value && (value->dtype == DTYPE_U64 || value->dtype >= DTYPE_F8E4M3FN);
}

static bool has_rare_type(const struct node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++)
        if (is_for_cpu(node->inputs[i]))
            return true;
    return is_for_cpu(node_output(node, 0));
}

/* Returns 1 when the device has no kernel for it; what is wrong with the node is told by the CPU's.
 */
static int bind_on_device(struct binding *binding, const struct node *node)
{
    struct choice choice;
    struct call call = {0};
    int rc;

    if (!binding->backend || call_is_view(node) || node_decides_sizes(node) || has_rare_type(node))
        return 1;
    rc = choose(binding, node, &choice);
    if (rc < 0)
        return rc;
    (void)format_device_layouts(node, chosen_format(binding, node), choice.input_layouts,
                                &choice.y_layout);
    choice.on_device = true;
    rc = make_call(binding, node, &choice, call_bind, &call);
    if (rc == 0 && bound_is_on_device(binding->backend, &call)) {
        rc = add_node_step(binding, node, &choice, &call);
    } else {
        if (rc == 0)
            call_deinit(&call);
        rc = rc == -ENOMEM ? rc : 1;
    }
    free(choice.input_layouts);
    return rc;
}

int binding_bind_node(struct binding *binding, const struct node *node)
{
    int rc = 1;

    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] && binding->value_forms[node->inputs[i]->index] == PLAN_NONE)
            return diag_set(binding->diag, -EINVAL, "node \"%s\" reads \"%s\", which nothing makes",
                            node->name, node->inputs[i]->name);
    if (binding->backend && is_linked_op(node, "Transpose"))
        rc = bind_transpose(binding, node); /* what moves nothing is no work for a device either */
    if (rc > 0)
        rc = bind_on_device(binding, node);
    if (rc <= 0)
        return rc;
    if (is_linked_op(node, "Conv") || is_linked_op(node, "ConvTranspose"))
        rc = bind_conv(binding, node);
    else if (is_linked_op(node, "MatMul") || is_linked_op(node, "Gemm"))
        rc = bind_product(binding, node);
    else if (is_linked_op(node, "Transpose"))
        rc = bind_transpose(binding, node);
    if (rc == 0 && !is_linked_op(node, "Transpose"))
        binding_free_packed(binding, &binding->steps.items[binding->steps.count - 1]);
    return rc <= 0 ? rc : bind_other(binding, node);
}
