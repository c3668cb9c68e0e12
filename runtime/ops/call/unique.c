/* SPDX-License-Identifier: Apache-2.0 */
/* Unique. */
#include "runtime/ops/call/call.h"

#include <errno.h>

struct unique_params {
    unique_fn *fn;
    uint32_t outputs; /* of the node */
    int64_t count;
    struct kernel_unique shape;
};

static void *output(const struct call *call, uint32_t i)
{
    const struct unique_params *p = call->params;

    return i < p->outputs ? call->outputs[i] : NULL;
}

static int run_unique(const struct call *call)
{
    const struct unique_params *p = call->params;
    struct kernel_unique_outputs outputs = {output(call, 0), output(call, 1), output(call, 2),
                                            output(call, 3), p->count};

    return p->fn(&outputs, call->inputs[0], call->workspace, &p->shape) == p->count ? 0 : -EINVAL;
}

int call_bind_unique(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0), *y = &request->outputs[0];
    bool has_axis = node_attribute(request->node, "axis") != NULL;
    struct unique_params *p;
    int axis = 0, rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    if (has_axis)
        axis = rc = call_axis(request, node_int(request->node, "axis", 0), x->shape.rank);
    if (rc < 0)
        return rc;
    if (!call_dtype(x->dtype, &p->shape.dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s", dtype_name(x->dtype));
    p->shape.is_sorted = node_int(request->node, "sorted", 1) != 0;
    p->shape.outer = p->shape.inner = 1;
    p->shape.axis = has_axis ? x->shape.dims[axis] : shape_elements(&x->shape);
    for (int i = 0; has_axis && i < x->shape.rank; i++)
        *(i < axis ? &p->shape.outer : &p->shape.inner) *= i == axis ? 1 : x->shape.dims[i];
    p->outputs = request->node->output_count;
    p->count = y->shape.dims[axis];
    p->fn = request->kernels->unique.fn;
    call->workspace_bytes = kernel_unique_room(&p->shape);
    call->version = request->kernels->unique.version;
    call->run = run_unique;
    return 0;
}
