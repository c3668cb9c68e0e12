/* SPDX-License-Identifier: Apache-2.0 */
/* Products of rows by matrices that each row chooses. */
#include "kernels/experts.h"

#include <errno.h>

#include "runtime/ops/call/call.h"

enum { X, CHOSEN, W, BIAS };

struct experts_params {
    experts_fn *fn;
    gemm_f32_fn *gemm;
    struct kernel_experts shape;
    bool has_bias;
};

static int run_experts(const struct call *call)
{
    const struct experts_params *p = call->params;
    struct kernel_experts_data data = {
        .y = call->outputs[0],
        .x = call->inputs[X],
        .chosen = call->inputs[CHOSEN],
        .w = call->inputs[W],
        .bias = p->has_bias ? call->inputs[BIAS] : NULL,
        .workspace = call->workspace,
    };

    return p->fn(&data, &p->shape, p->gemm) < 0 ? -EINVAL : 0;
}

int call_bind_experts(const struct call_request *request, struct call *call)
{
    const struct shape *w = &request->inputs[W].shape;
    const struct shape *chosen = &request->inputs[CHOSEN].shape;
    struct experts_params *p;
    int rc;

    if (request->on_device)
        return call_refuse(request, -ENOTSUP, "no kernel of this device");
    rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    if (!call_dtype(request->inputs[X].dtype, &p->shape.dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s",
                           dtype_name(request->inputs[X].dtype));
    p->shape.experts = w->dims[0];
    p->shape.k = w->dims[1];
    p->shape.n = w->dims[2];
    p->shape.rows = chosen->dims[0] * chosen->dims[1];
    p->shape.each = request->inputs[X].shape.rank == 2 ? chosen->dims[1] : 1;
    p->has_bias = call_input(request, BIAS) != NULL;
    p->gemm = request->kernels->gemm_f32.fn;
    p->fn = request->kernels->level == KERNEL_LEVEL_REF ? experts_ref : experts_grouped;
    call->version = request->kernels->gemm_f32.version;
    call->workspace_bytes = kernel_experts_room(&p->shape);
    call->run = run_experts;
    return 0;
}
