/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators that pass_fuse_chains() made one. */
#include "runtime/call.h"

#include <errno.h>
#include <string.h>

struct chain_params {
    chain_fn *fn;
    struct kernel_chain chain;
};

static int run_chain(const struct call *call)
{
    const struct chain_params *p = call->params;

    p->fn(call->outputs[0], call->inputs, &p->chain);
    return 0;
}

/* The strides of an input under the axes of y's memory. */
static int bind_input(const struct call_request *request, uint32_t index, int64_t *out)
{
    struct layout layout = call_output_layout(request);
    const struct tensor_view *x = call_input(request, index);
    int64_t own[SHAPE_MAX_RANK], strides[KERNEL_MAX_RANK];
    int rc;

    if (!x)
        return call_refuse(request, -EINVAL, "input %u is left out", index);
    call_input_strides(request, index, own);
    rc = call_broadcast_strides(request, &x->shape, own, layout.rank - x->shape.rank, strides);
    for (int i = 0; rc == 0 && i < layout.rank; i++)
        out[i] = strides[layout.order[i]];
    return rc;
}

static int bind_step(const struct call_request *request, struct kernel_chain *chain, int s,
                     const char *name, const int64_t *operands)
{
    struct kernel_chain_step *step = &chain->step[s];

    step->has_two = operands[1] >= 0;
    if (!(step->has_two ? call_zip_of(name, &step->zip) : call_map_by_name(name, &step->map)))
        return call_refuse(request, -ENOTSUP, "no kernel has a step '%.40s'", name);
    for (int k = 0; k < 1 + step->has_two; k++) {
        int64_t operand = operands[k];

        if (operand < 0 || operand >= chain->inputs + s)
            return call_refuse(request, -EINVAL, "step %d reads what is not there yet", s);
        step->operands[k] =
            (int)(operand < chain->inputs ? operand
                                          : KERNEL_CHAIN_RESULT + operand - chain->inputs);
    }
    return 0;
}

int call_bind_chain(const struct call_request *request, struct call *call)
{
    const struct node *node = request->node;
    const struct attribute *steps = node_attribute(node, "steps");
    const struct attribute *parameters = node_attribute(node, "parameters");
    struct layout layout = call_output_layout(request);
    struct chain_params *p;
    size_t count;
    const int64_t *operands = node_ints(node, "operands", &count);
    int rc = call_require_f32(request, 0, node->input_count - 1);

    if (rc < 0)
        return rc;
    if (!steps || steps->count == 0 || steps->count > KERNEL_CHAIN_STEPS ||
        count != 2 * steps->count || (parameters && parameters->count != count) ||
        node->input_count > KERNEL_CHAIN_INPUTS)
        return call_refuse(request, -EINVAL, "its steps, operands and parameters do not fit");
    rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->chain.fn;
    p->chain.rank = layout.rank;
    p->chain.inputs = (int)node->input_count;
    for (int i = 0; i < layout.rank; i++)
        p->chain.dims[i] = request->outputs[0].shape.dims[layout.order[i]];
    for (uint32_t i = 0; rc == 0 && i < node->input_count; i++)
        rc = bind_input(request, i, p->chain.strides[i]);
    for (int s = 0; rc == 0 && s < (int)steps->count; s++) {
        rc = bind_step(request, &p->chain, s, steps->strings[s], operands + (ptrdiff_t)2 * s);
        p->chain.step[s].a = parameters ? (double)parameters->floats[2 * s] : 0.0;
        p->chain.step[s].b = parameters ? (double)parameters->floats[2 * s + 1] : 0.0;
    }
    p->chain.steps = (int)steps->count;
    call->version = request->kernels->chain.version;
    call->run = run_chain;
    return rc;
}
