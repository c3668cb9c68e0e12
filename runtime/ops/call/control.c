/* SPDX-License-Identifier: Apache-2.0 */
/* If and Loop. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/body_calls.h"
#include "runtime/ops/control.h"

struct control_params {
    const struct node *node;
    struct kernel_table kernels;
    struct diag problem;
    uint32_t inputs, outputs;
    bool *is_fixed;             /* by inputs, behind the views */
    struct tensor_view views[]; /* of the inputs, then of the outputs: types, no data */
};

static int fail(struct control_params *p, int error)
{
    if (p->problem.text[0] == '\0')
        diag_set(&p->problem, error, "out of memory");
    return error;
}

/* Into the memory that was planned for what was inferred. */
static int hand_over(const struct call *call, struct control_params *p,
                     const struct tensor_view *made)
{
    const struct tensor_view *planned = p->views + p->inputs;
    char got[SHAPE_TEXT_BYTES], want[SHAPE_TEXT_BYTES];

    for (uint32_t i = 0; i < p->outputs; i++) {
        if (planned[i].dtype == DTYPE_NONE || !call->outputs[i])
            continue;
        if (made[i].dtype != planned[i].dtype || !shape_equal(&made[i].shape, &planned[i].shape))
            return diag_set(&p->problem, -ESTALE, "its output %u is %s %s this time, not %s %s", i,
                            dtype_name(made[i].dtype), shape_text(&made[i].shape, got),
                            dtype_name(planned[i].dtype), shape_text(&planned[i].shape, want));
        memcpy(call->outputs[i], made[i].data, (size_t)shape_bytes(&made[i].shape, made[i].dtype));
    }
    return 0;
}

static int run_control(const struct call *call)
{
    struct control_params *p = call->params;
    struct eval_options options = {&p->kernels,  call->watch,       call->first_inner,
                                   call->bodies, call->first_inner, p->is_fixed};
    struct tensor_view *inputs = calloc((size_t)p->inputs + p->outputs + 1, sizeof(*inputs));
    struct tensor_view *outputs = inputs + p->inputs;
    int rc;

    p->problem.text[0] = '\0';
    if (!inputs)
        return fail(p, -ENOMEM);
    for (uint32_t i = 0; i < p->inputs; i++) {
        inputs[i] = p->views[i];
        /* What is known of the content now may be different when it runs. */
        inputs[i].data = inputs[i].dtype == DTYPE_NONE ? NULL : (void *)call->inputs[i];
    }
    rc = control_run(p->node, inputs, outputs, &options, &p->problem);
    if (rc == 0)
        rc = hand_over(call, p, outputs);
    for (uint32_t i = 0; i < p->outputs; i++)
        free(outputs[i].data);
    free(inputs);
    return rc < 0 ? fail(p, rc) : 0;
}

int call_bind_control(const struct call_request *request, struct call *call)
{
    const struct node *node = request->node;
    size_t views = (size_t)node->input_count + node->output_count;
    struct control_params *p;
    int rc =
        call_params(request, call, sizeof(*p) + views * sizeof(p->views[0]) + node->input_count);

    if (rc == 0 && body_calls_create(control_inner_count(node), &call->bodies) < 0)
        rc = call_refuse(request, -ENOMEM, "out of memory");
    if (rc < 0)
        return rc;
    p = call->params;
    p->is_fixed = (bool *)(p->views + views);
    for (uint32_t i = 0; i < node->input_count; i++)
        p->is_fixed[i] = request->shows_fixed ? request->inputs[i].data != NULL
                                              : node->inputs[i] && node->inputs[i]->data;
    p->node = node;
    p->kernels = *request->kernels;
    p->inputs = node->input_count;
    p->outputs = node->output_count;
    memcpy(p->views, request->inputs, p->inputs * sizeof(p->views[0]));
    for (uint32_t i = 0; i < p->outputs; i++)
        if (node->outputs[i])
            p->views[p->inputs + i] = request->outputs[i];
    call->problem = &p->problem;
    call->version = "body";
    call->run = run_control;
    return 0;
}
