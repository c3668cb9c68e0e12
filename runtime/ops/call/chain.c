/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that pass_fuse_chains() and pass_preprocess() made one. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <string.h>

struct chain_params {
    chain_fn *fn;
    chain_half_fn *half_fn; /* where a tensor is of half precision, on a device */
    struct kernel_chain_half half;
};

static int run_chain(const struct call *call)
{
    const struct chain_params *p = call->params;

    p->fn(call->outputs[0], call->inputs, &p->half.chain);
    return 0;
}

static int run_chain_half(const struct call *call)
{
    const struct chain_params *p = call->params;

    p->half_fn(call->outputs[0], call->inputs, &p->half);
    return 0;
}

static bool is_half_or_f32(enum kernel_dtype dtype)
{
    return dtype == KERNEL_F32 || dtype == KERNEL_F16 || dtype == KERNEL_BF16;
}

/* The types of all but the inputs before first_f32, which the source of an image has. */
static int take_types(const struct call_request *request, uint32_t first_f32, struct call *call)
{
    const struct node *node = request->node;
    struct chain_params *p = call->params;
    const struct value *y = node->outputs[0];

    for (uint32_t i = 0; i < node->input_count; i++)
        if (!call_input(request, i) || !call_dtype(request->inputs[i].dtype, &p->half.types[i]) ||
            (i >= first_f32 && !is_half_or_f32(p->half.types[i])))
            return call_refuse(request, -ENOTSUP, "no kernel for %s in input %u",
                               dtype_name(request->inputs[i].dtype), i);
    if (!call_dtype(request->outputs[0].dtype, &p->half.y_type) || !is_half_or_f32(p->half.y_type))
        return call_refuse(request, -ENOTSUP, "no kernel for a result of %s",
                           dtype_name(request->outputs[0].dtype));
    p->half.saturates = y && y->is_narrowed;
    p->half_fn = request->kernels->chain_half.fn;
    call->version = request->kernels->chain_half.version;
    call->run = run_chain_half;
    return 0;
}

/* The strides of an input under the axes of y's memory. */
static int bind_input(const struct call_request *request, uint32_t index, int64_t *out_strides)
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
        out_strides[i] = strides[layout.order[i]];
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

/* What is the same for both: the result's geometry and the steps. */
static int begin(const struct call_request *request, struct call *call, uint32_t first_f32,
                 struct chain_params **out_params)
{
    const struct node *node = request->node;
    const struct attribute *steps = node_attribute(node, "steps");
    const struct attribute *parameters = node_attribute(node, "parameters");
    struct layout layout = call_output_layout(request);
    int step_count = steps ? (int)steps->count : 0;
    struct kernel_chain *chain;
    size_t count;
    const int64_t *operands = node_ints(node, "operands", &count);
    const bool is_half = request->on_device && call_has_half(request);
    int rc = is_half ? 0 : call_require_f32(request, first_f32, node->input_count - 1);

    if (rc < 0)
        return rc;
    if (step_count > KERNEL_CHAIN_STEPS || count != 2 * (size_t)step_count ||
        (parameters && parameters->count != count) || node->input_count > KERNEL_CHAIN_INPUTS)
        return call_refuse(request, -EINVAL, "its steps, operands and parameters do not fit");
    rc = call_params(request, call, sizeof(**out_params));
    if (rc < 0)
        return rc;
    *out_params = call->params;
    (*out_params)->fn = request->kernels->chain.fn;
    chain = &(*out_params)->half.chain;
    chain->rank = layout.rank;
    chain->inputs = (int)node->input_count;
    for (int i = 0; i < layout.rank; i++)
        chain->dims[i] = request->outputs[0].shape.dims[layout.order[i]];
    for (int s = 0; rc == 0 && s < step_count; s++) {
        rc = bind_step(request, chain, s, steps->strings[s], operands + (ptrdiff_t)2 * s);
        chain->step[s].a = parameters ? (double)parameters->floats[2 * s] : 0.0;
        chain->step[s].b = parameters ? (double)parameters->floats[2 * s + 1] : 0.0;
    }
    chain->steps = step_count;
    call->version = request->kernels->chain.version;
    call->run = run_chain;
    return rc == 0 && is_half ? take_types(request, first_f32, call) : rc;
}

int call_bind_chain(const struct call_request *request, struct call *call)
{
    struct chain_params *p;
    int rc = begin(request, call, 0, &p);

    for (uint32_t i = 0; rc == 0 && i < request->node->input_count; i++)
        rc = bind_input(request, i, p->half.chain.strides[i]);
    return rc;
}

/* Clip by bounds that are inputs, each of which may be left out. */
static int add_clip(const struct call_request *request, struct kernel_chain *chain)
{
    static const enum kernel_zip zips[] = {ZIP_MAX, ZIP_MIN};

    if (node_attribute(request->node, "min") || node_attribute(request->node, "max"))
        return call_refuse(request, -ENOTSUP, "no kernel has bounds that are attributes");
    for (int i = 1; i <= 2; i++) {
        struct kernel_chain_step *step = &chain->step[chain->steps];

        if (!call_input(request, (uint32_t)i))
            continue;
        if (shape_elements(&request->inputs[i].shape) != 1)
            return call_refuse(request, -EINVAL, "%s is not one number", i == 1 ? "min" : "max");
        step->has_two = true;
        step->zip = zips[i - 1];
        step->operands[0] = chain->steps > 0 ? KERNEL_CHAIN_RESULT + chain->steps - 1 : 0;
        step->operands[1] = i;
        chain->steps++;
    }
    return 0;
}

/* Sum, Max, Min and the operators of two operands. */
static int add_zips(const struct call_request *request, enum kernel_zip zip,
                    struct kernel_chain *chain)
{
    if (zip > ZIP_PRELU || zip == ZIP_MOD ||
        (graph_opset(request->graph, "") < 7 &&
         (node_attribute(request->node, "axis") || zip == ZIP_PRELU)))
        return call_refuse(request, -ENOTSUP, "no kernel has it as a step");
    for (int i = 1; i < chain->inputs; i++) {
        struct kernel_chain_step *step = &chain->step[chain->steps];

        step->has_two = true;
        step->zip = zip;
        step->operands[0] = i == 1 ? 0 : KERNEL_CHAIN_RESULT + chain->steps - 1;
        step->operands[1] = i;
        chain->steps++;
    }
    return 0;
}

static int add_steps(const struct call_request *request, struct kernel_chain *chain)
{
    const struct node *node = request->node;
    struct kernel_chain_step *step = &chain->step[0];
    struct kernel_map_args map;
    enum kernel_zip zip = ZIP_ADD;

    if (strcmp(node->op_type, "Clip") == 0)
        return add_clip(request, chain);
    if (strcmp(node->op_type, "Sum") == 0 || call_zip_of(node->op_type, &zip))
        return add_zips(request, zip, chain);
    if (!call_map_of(request->graph, node, &map) || !kernel_chain_has_map(map.op))
        return call_refuse(request, -ENOTSUP, "no kernel has it as a step");
    step->map = map.op;
    step->a = map.a;
    step->b = map.b;
    chain->steps = 1;
    return 0;
}

int call_bind_step(const struct call_request *request, struct call *call)
{
    const struct node *node = request->node;
    struct layout layout = call_output_layout(request);
    struct chain_params *p;
    struct kernel_chain *chain;
    int rc = 0;

    if (node->input_count < 1 || node->input_count > KERNEL_CHAIN_INPUTS)
        return call_refuse(request, -ENOTSUP, "no kernel for that many inputs");
    rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    chain = &p->half.chain;
    chain->rank = layout.rank;
    chain->inputs = (int)node->input_count;
    for (int i = 0; i < layout.rank; i++)
        chain->dims[i] = request->outputs[0].shape.dims[layout.order[i]];
    rc = add_steps(request, chain);
    if (rc == 0)
        rc = take_types(request, 0, call);
    for (uint32_t i = 0; rc == 0 && i < node->input_count; i++)
        rc = bind_input(request, i, chain->strides[i]);
    return rc;
}

/* Input 0 under the axes of y's memory: transposed, with pads around it. */
static int bind_source(const struct call_request *request, struct kernel_chain *chain)
{
    const struct shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    struct layout layout = call_output_layout(request);
    int64_t own[SHAPE_MAX_RANK];
    size_t perm_count, pad_count;
    const int64_t *perm = node_ints(request->node, "perm", &perm_count);
    const int64_t *pads = node_ints(request->node, "pads", &pad_count);

    if (!call_dtype(request->inputs[0].dtype, &chain->type))
        return call_refuse(request, -ENOTSUP, "no kernel for %s",
                           dtype_name(request->inputs[0].dtype));
    if (perm_count != (size_t)y->rank || x->rank != y->rank ||
        (pads && pad_count != 2 * perm_count))
        return call_refuse(request, -EINVAL, "its axes and pads do not fit");
    call_input_strides(request, 0, own);
    chain->is_padded = pads != NULL;
    chain->pad.value = node_float(request->node, "value", 0.0f);
    for (int i = 0; i < y->rank; i++) {
        int axis = layout.order[i];
        int64_t more = pads ? pads[axis] + pads[y->rank + axis] : 0;

        if (perm[axis] < 0 || perm[axis] >= x->rank || x->dims[perm[axis]] + more != y->dims[axis])
            return call_refuse(request, -EINVAL, "its input and result do not fit together");
        chain->strides[0][i] = own[perm[axis]];
        chain->pad.dims[i] = x->dims[perm[axis]];
        chain->pad.begin[i] = pads ? pads[axis] : 0;
    }
    return 0;
}

int call_bind_preprocess(const struct call_request *request, struct call *call)
{
    struct chain_params *p;
    int rc = begin(request, call, 1, &p);

    if (rc == 0)
        rc = bind_source(request, &p->half.chain);
    for (uint32_t i = 1; rc == 0 && i < request->node->input_count; i++)
        rc = bind_input(request, i, p->half.chain.strides[i]);
    return rc;
}
