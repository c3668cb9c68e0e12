/* SPDX-License-Identifier: Apache-2.0 */
/* CausalConvWithState. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <string.h>

enum { X, W, BIAS, PAST };

struct causal_params {
    causal_conv_fn *fn;
    bool has_bias, has_past, has_present;
    struct kernel_causal_conv shape;
};

static int run_causal_conv(const struct call *call)
{
    const struct causal_params *p = call->params;
    struct kernel_causal_conv_data data = {
        .y = call->outputs[0],
        .present = p->has_present ? call->outputs[1] : NULL,
        .x = call->inputs[X],
        .w = call->inputs[W],
        .bias = p->has_bias ? call->inputs[BIAS] : NULL,
        .past = p->has_past ? call->inputs[PAST] : NULL,
    };

    p->fn(&data, &p->shape);
    return 0;
}

int call_bind_causal_conv(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, X), *w = call_input(request, W);
    struct causal_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    if (!call_dtype(x->dtype, &p->shape.dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s", dtype_name(x->dtype));
    if (!request->node->outputs[0])
        return call_refuse(request, -ENOTSUP, "no kernel without its first output");
    p->shape.batch = x->shape.dims[0];
    p->shape.channels = x->shape.dims[1];
    p->shape.steps = x->shape.dims[2];
    p->shape.taps = w->shape.dims[2];
    p->shape.is_swish = strcmp(node_string(request->node, "activation", "none"), "none") != 0;
    p->has_bias = call_input(request, BIAS) != NULL;
    p->has_past = call_input(request, PAST) != NULL;
    p->has_present = node_output(request->node, 1) != NULL;
    p->fn = request->kernels->causal_conv.fn;
    call->version = request->kernels->causal_conv.version;
    call->run = run_causal_conv;
    return 0;
}
