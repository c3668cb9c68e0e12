/* SPDX-License-Identifier: Apache-2.0 */
/* DeformConv. */
#include "runtime/ops/call/call.h"

#include <errno.h>

enum { X, W, OFFSET, BIAS, MASK };

struct deform_params {
    deform_conv_fn *fn;
    bool has_bias, has_mask;
    struct kernel_deform_conv shape;
};

static int run_deform_conv(const struct call *call)
{
    const struct deform_params *p = call->params;
    struct kernel_deform_conv_data data = {
        .y = call->outputs[0],
        .x = call->inputs[X],
        .w = call->inputs[W],
        .offset = call->inputs[OFFSET],
        .bias = p->has_bias ? call->inputs[BIAS] : NULL,
        .mask = p->has_mask ? call->inputs[MASK] : NULL,
        .workspace = call->workspace,
    };

    p->fn(&data, &p->shape);
    return 0;
}

int call_bind_deform_conv(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, X), *w = call_input(request, W);
    struct kernel_deform_conv *s;
    struct deform_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    s = &p->shape;
    if (!call_dtype(x->dtype, &s->dtype) || !kernel_dtype_is_real(s->dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s", dtype_name(x->dtype));
    s->rank = x->shape.rank - 2;
    s->batch = x->shape.dims[0];
    s->channels = x->shape.dims[1];
    s->filters = w->shape.dims[0];
    s->groups = node_int(request->node, "group", 1);
    s->offset_groups = node_int(request->node, "offset_group", 1);
    rc = call_window(request, X, w->shape.dims + 2, &s->window);
    if (rc < 0)
        return rc;
    p->has_bias = call_input(request, BIAS) != NULL;
    p->has_mask = call_input(request, MASK) != NULL;
    p->fn = request->kernels->deform_conv.fn;
    call->workspace_bytes = kernel_deform_conv_room(s);
    call->version = request->kernels->deform_conv.version;
    call->run = run_deform_conv;
    return 0;
}
