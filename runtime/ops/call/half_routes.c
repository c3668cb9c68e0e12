/* SPDX-License-Identifier: Apache-2.0 */
/* Which operators kernels compute in half precision, and where they are bound for that: a device's, and of the CPU's those
 * that look at bits alone, and those that convert by themselves. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <string.h>

/* Without weights of half precision there is nothing that tensor cores could do. */
static int bind_by_weights(const struct call_request *request, struct call *call,
                           call_bind_fn *bind)
{
    const struct tensor_view *w = call_input(request, 1);

    if (!w || !call_is_half(w->dtype))
        return call_refuse(request, -ENOTSUP, "its weights have to stay in float32");
    return bind(request, call);
}

static int bind_conv(const struct call_request *request, struct call *call)
{
    return bind_by_weights(request, call, call_bind_conv);
}

static int bind_conv_transpose(const struct call_request *request, struct call *call)
{
    return bind_by_weights(request, call, call_bind_conv_transpose);
}

/* The first input of numbers that are of another type than the output's; -1: there is none. */
static int find_other_type(const struct call_request *request)
{
    enum dtype dtype = request->outputs[0].dtype;

    for (uint32_t i = 0; i < request->node->input_count; i++)
        if (call_input(request, i) && request->inputs[i].dtype != dtype &&
            (call_is_half(request->inputs[i].dtype) || request->inputs[i].dtype == DTYPE_F32))
            return (int)i;
    return -1;
}

/* Kernels over any type, where all numbers have the same one. What they compute is not so much larger than
 * what they read that it would have to saturate. */
static int bind_as_it_is(const struct call_request *request, struct call *call, call_bind_fn *bind)
{
    int other = find_other_type(request);

    if (other >= 0)
        return call_refuse(request, -ENOTSUP, "no kernel for %s beside %s",
                           dtype_name(request->inputs[other].dtype),
                           dtype_name(request->outputs[0].dtype));
    return bind(request, call);
}

static int bind_pool(const struct call_request *request, struct call *call)
{
    return bind_as_it_is(request, call, call_bind_pool);
}

static int bind_softmax(const struct call_request *request, struct call *call)
{
    return bind_as_it_is(request, call, call_bind_softmax);
}

static int bind_layer_norm(const struct call_request *request, struct call *call)
{
    return bind_as_it_is(request, call, call_bind_layer_norm);
}

static int bind_group_norm(const struct call_request *request, struct call *call)
{
    return bind_as_it_is(request, call, call_bind_group_norm);
}

/* A sum may have to saturate. */
static int bind_reduce(const struct call_request *request, struct call *call)
{
    static const char *const op_types[] = {"ReduceMax", "ReduceMean", "ReduceMin"};

    for (size_t i = 0; i < sizeof(op_types) / sizeof(op_types[0]); i++)
        if (strcmp(request->node->op_type, op_types[i]) == 0)
            return bind_as_it_is(request, call, call_bind_reduce);
    return call_refuse(request, -ENOTSUP, "no kernel keeps its sums finite");
}

/* What reads and writes float32 alone has nothing that would convert it where this refuses. */
static int bind_attention(const struct call_request *request, struct call *call)
{
    int rc = call_bind_attention_half(request, call);

    if (rc == 0 || rc == -ENOMEM || call_has_half(request))
        return rc;
    return call_bind_attention(request, call);
}

static const struct {
    call_bind_fn *bind, *half;
} routes[] = {
    {call_bind_conv, bind_conv},
    {call_bind_conv_transpose, bind_conv_transpose},
    {call_bind_matmul, call_bind_matmul},
    {call_bind_gemm, call_bind_gemm},
    {call_bind_fused_matmul, call_bind_fused_matmul},
    {call_bind_chain, call_bind_chain},
    {call_bind_preprocess, call_bind_preprocess},
    {call_bind_map, call_bind_step},
    {call_bind_unary, call_bind_step},
    {call_bind_binary, call_bind_step},
    {call_bind_sum, call_bind_step},
    {call_bind_zip_many, call_bind_step},
    {call_bind_pool, bind_pool},
    {call_bind_softmax, bind_softmax},
    {call_bind_layer_norm, bind_layer_norm},
    {call_bind_group_norm, bind_group_norm},
    {call_bind_reduce, bind_reduce},
    {call_bind_attention, bind_attention},
};

/* What the CPU's kernels take as it is: what tells what an element is, and not what it amounts to, and what
 * converts by itself. Their numbers are of one type. */
static bool is_taken_as_it_is(const struct call_request *request, call_bind_fn *bind)
{
    const char *op_type = request->node->op_type;

    if (bind == call_bind_map && (strcmp(op_type, "IsInf") == 0 || strcmp(op_type, "IsNaN") == 0))
        return true;
    return (bind == call_bind_rotary || (bind == call_bind_map && strcmp(op_type, "Sign") == 0)) &&
           find_other_type(request) < 0;
}

call_bind_fn *call_half_binder(const struct call_request *request, call_bind_fn *bind)
{
    bool is_marked = bind == call_bind_attention && node_attribute(request->node, CALL_COMPUTED_IN);

    if (!request->on_device && is_taken_as_it_is(request, bind))
        return bind;
    if (!request->on_device || (!is_marked && !call_has_half(request)))
        return NULL;
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
        if (routes[i].bind == bind)
            return routes[i].half;
    return NULL;
}
