/* SPDX-License-Identifier: Apache-2.0 */
/* From an operator's row to its call, and what the binders share. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "runtime/ops/body_calls.h"
#include "runtime/ops/table.h"

static call_bind_fn *binder_of(const struct op_row *row)
{
    return row && row->kernels ? row->kernels->bind : NULL;
}

call_bind_fn *call_binder(const char *full_type)
{
    return binder_of(op_row_find(full_type));
}

bool call_is_view(const struct node *node)
{
    call_bind_fn *bind = binder_of(op_row_of(node));

    return bind == call_bind_view ||
           (bind == call_bind_dropout && node_output(node, 0) && !call_is_read(node, 1));
}

uint32_t call_wide_inputs(const struct node *node)
{
    const struct op_row *row = op_row_of(node);

    return row ? row->wide_inputs : 0;
}

bool call_moves(const struct node *node)
{
    const struct op_row *row = op_row_of(node);

    return row && row->moves;
}

enum layout_need call_layout_need(const struct node *node)
{
    const struct op_row *row = op_row_of(node);

    /* The kernels for places of maxima, for training, and for statistics of each place know row-major
     * images only. */
    if (!row || (row->layout == LAYOUT_IMAGE &&
                 (call_is_read(node, 1) || node_int(node, "training_mode", 0) != 0 ||
                  node_int(node, "spatial", 1) == 0)))
        return LAYOUT_ROW_MAJOR;
    return row->layout;
}

int call_in_place_input(const struct node *node)
{
    const struct op_row *row = op_row_of(node);
    enum op_in_place in_place = row && row->kernels ? row->kernels->in_place : IN_PLACE_NONE;
    const struct value *y = node_output(node, 0);

    if (!y || !node_input(node, 0) || node->inputs[0]->dtype != y->dtype ||
        in_place == IN_PLACE_NONE)
        return -1;
    if (in_place == IN_PLACE_FIRST)
        return 0;
    for (uint32_t i = 0; i < (in_place == IN_PLACE_ANY ? node->input_count : 2); i++) {
        const struct value *x = node_input(node, i);

        if (x && !x->data && x->dtype == y->dtype && shape_equal(&x->shape, &y->shape))
            return (int)i;
    }
    return -1;
}

/* Conv applies what is fused itself, and so does what says so; for the others the activation is a second pass. */
static int bind_fused(const struct call_request *request, call_bind_fn *binder, struct call *call)
{
    const struct node *node = request->node;

    if (binder == call_bind_conv || call->has_fused)
        return 0;
    if (node->fused.residual_input >= 0)
        return call_refuse(request, -ENOTSUP, "no kernel adds a residual to this operator");
    if (node->fused.activation == ACTIVATION_NONE)
        return 0;
    if (request->outputs[0].dtype != DTYPE_F32)
        return call_refuse(request, -ENOTSUP, "no kernel applies an activation to %s",
                           dtype_name(request->outputs[0].dtype));
    call->activation = call_activation(node);
    /* Of a product that no kernel of a device takes after all. */
    call->activate = call->activation.kind == KERNEL_GELU_TANH
                         ? gelu_tanh_f32_ref
                         : request->kernels->unary_f32[call->activation.kind].fn;
    call->activate_count = (size_t)shape_elements(&request->outputs[0].shape);
    return 0;
}

int call_bind(const struct call_request *request, struct call *out_call)
{
    const struct node *node = request->node;
    const struct op_row *row = op_row_of(node);
    call_bind_fn *bind = binder_of(row), *half = call_half_binder(request, bind);
    struct call call = {0};
    int rc;

    if (!bind)
        return call_refuse(request, -ENOTSUP, "no kernel for this operator");
    if (node->output_count == 0 || (!node->outputs[0] && row->computed <= 1))
        return call_refuse(request, -EINVAL, "it has no output");
    for (uint32_t i = row->computed; i < node->output_count; i++)
        if (node->outputs[i] && (node->outputs[i]->consumer_count || node->outputs[i]->is_output))
            return call_refuse(request, -ENOTSUP, "no kernel computes its output %" PRIu32, i);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (request->inputs[i].dtype != DTYPE_NONE && !shape_is_known(&request->inputs[i].shape))
            return call_refuse(request, -EINVAL, "the shape of its input %" PRIu32 " is not known",
                               i);
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] &&
            shape_bytes(&request->outputs[i].shape, request->outputs[i].dtype) < 0)
            return call_refuse(request, -EINVAL, "the shape or dtype of its output is not known");

    rc = half ? half(request, &call) : bind(request, &call);
    if (rc == 0)
        rc = bind_fused(request, bind, &call);
    if (rc == 0)
        *out_call = call;
    else
        call_deinit(&call);
    return rc;
}

const char *call_problem(const struct call *call, int error)
{
    if (call->problem)
        return call->problem->text;
    if (error == -ESTALE)
        return "it does not find as much as before the run, when sizes were inferred";
    return error == -EINVAL ? "an index in its input is out of range"
                            : "the library under its kernel failed";
}

void call_deinit(struct call *call)
{
    kernel_conv_plan_destroy(&call->plan);
    kernel_gemm_plan_destroy(&call->gemm);
    call_half_destroy(&call->half);
    body_calls_destroy(&call->bodies);
    free(call->params);
    *call = (struct call){0};
}
