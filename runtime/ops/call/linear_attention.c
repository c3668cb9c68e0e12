/* SPDX-License-Identifier: Apache-2.0 */
/* LinearAttention. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <math.h>

enum { Q, K, V, STATE, DECAY, BETA, INPUTS };

struct linear_params {
    linear_attention_fn *fn;
    bool has[INPUTS];
    bool has_present;
    struct kernel_linear_attention shape;
};

static int run_linear_attention(const struct call *call)
{
    const struct linear_params *p = call->params;
    struct kernel_linear_attention_data data = {
        .y = call->outputs[0],
        .present = p->has_present ? call->outputs[1] : NULL,
        .q = call->inputs[Q],
        .k = call->inputs[K],
        .v = call->inputs[V],
        .past = p->has[STATE] ? call->inputs[STATE] : NULL,
        .decay = p->has[DECAY] ? call->inputs[DECAY] : NULL,
        .beta = p->has[BETA] ? call->inputs[BETA] : NULL,
        .workspace = call->workspace,
    };

    p->fn(&data, &p->shape);
    return 0;
}

static int linear_shape(const struct call_request *request, struct kernel_linear_attention *s)
{
    const struct tensor_view *q = call_input(request, Q), *v = call_input(request, V);
    const struct tensor_view *state = call_input(request, STATE);
    const struct tensor_view *decay = call_input(request, DECAY), *beta = call_input(request, BETA);
    float scale = node_float(request->node, "scale", 0.0f);

    if (!call_dtype(q->dtype, &s->dtype) ||
        !call_dtype(state ? state->dtype : q->dtype, &s->state_type))
        return call_refuse(request, -ENOTSUP, "no kernel for such types");
    s->heads = node_int(request->node, "q_num_heads", 0);
    s->kv_heads = node_int(request->node, "kv_num_heads", 0);
    if (s->heads < 1 || s->kv_heads < 1)
        return call_refuse(request, -EINVAL, "it does not say how many heads it has");
    s->batch = q->shape.dims[0];
    s->steps = q->shape.dims[1];
    s->channels = q->shape.dims[2] / s->heads;
    s->v_channels = v->shape.dims[2] / s->kv_heads;
    s->decay_channels = decay ? decay->shape.dims[2] / s->kv_heads : 1;
    s->is_beta_shared = beta && beta->shape.dims[2] == 1;
    s->scale = scale != 0.0f ? (double)scale : 1.0 / sqrt((double)s->channels);
    return 0;
}

int call_bind_linear_attention(const struct call_request *request, struct call *call)
{
    struct linear_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    if (!request->node->outputs[0])
        return call_refuse(request, -ENOTSUP, "no kernel without its first output");
    rc = linear_shape(request, &p->shape);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < INPUTS; i++)
        p->has[i] = call_input(request, i) != NULL;
    p->has_present = node_output(request->node, 1) != NULL;
    p->fn = request->kernels->linear_attention.fn;
    call->workspace_bytes = kernel_linear_attention_room(&p->shape);
    call->version = request->kernels->linear_attention.version;
    call->run = run_linear_attention;
    return 0;
}
