/* SPDX-License-Identifier: Apache-2.0 */
/* What binders ask of a request. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool call_is_read(const struct node *node, uint32_t output)
{
    const struct value *value = node_output(node, output);

    return value && (value->consumer_count || value->is_output);
}

int call_refuse(const struct call_request *request, int error, const char *format, ...)
{
    const struct node *node = request->node;
    char text[300];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return diag_set(request->diag, error, "node \"%s\" (%s%s%s, opset %" PRId64 "): %s", node->name,
                    node->domain, node->domain[0] ? "." : "", node->op_type,
                    graph_opset(request->graph, node->domain), text);
}

struct kernel_activation call_activation(const struct node *node)
{
    static const enum kernel_unary kinds[] = {
        [ACTIVATION_NONE] = KERNEL_IDENTITY,         [ACTIVATION_RELU] = KERNEL_RELU,
        [ACTIVATION_LEAKY_RELU] = KERNEL_LEAKY_RELU, [ACTIVATION_CLIP] = KERNEL_CLIP,
        [ACTIVATION_SIGMOID] = KERNEL_SIGMOID,       [ACTIVATION_TANH] = KERNEL_TANH,
        [ACTIVATION_GELU_TANH] = KERNEL_GELU_TANH,
    };

    return (struct kernel_activation){kinds[node->fused.activation], node->fused.alpha,
                                      node->fused.beta};
}

const void *call_weights(const struct call *call, size_t *out_bytes)
{
    if (call->plan) {
        *out_bytes = kernel_conv_plan_info(call->plan).weights_bytes;
        return kernel_conv_plan_info(call->plan).weights;
    }
    if (call->gemm) {
        *out_bytes = kernel_gemm_plan_info(call->gemm).weights_bytes;
        return kernel_gemm_plan_info(call->gemm).weights;
    }
    return NULL;
}

const struct tensor_view *call_plan_weights(const struct call_request *request,
                                            struct kernel_plan_types *out_types)
{
    const struct tensor_view *inputs =
        request->stored_inputs ? request->stored_inputs : request->inputs;
    const struct tensor_view *outputs =
        request->stored_outputs ? request->stored_outputs : request->outputs;
    const struct value *x = node_input(request->node, 0);

    *out_types = (struct kernel_plan_types){0};
    if (request->node->input_count < 2 || !call_is_half(inputs[1].dtype))
        return call_input(request, 1);
    call_dtype(inputs[1].dtype, &out_types->weights);
    if (inputs[1].dtype == DTYPE_BF16 && inputs[0].dtype == DTYPE_BF16)
        out_types->x = KERNEL_BF16;
    else
        out_types->keeps_x =
            inputs[0].dtype != DTYPE_F32 || !x || x->stays_wide || x->decides_sizes;
    if (inputs[1].dtype == DTYPE_BF16 && outputs[0].dtype == DTYPE_BF16)
        out_types->y = KERNEL_BF16;
    return &inputs[1];
}

struct kernel_plan_types call_plan_types(const struct call *call)
{
    struct kernel_plan_types types = {0};

    if (call->plan) {
        types.x = kernel_conv_plan_info(call->plan).x;
        types.y = kernel_conv_plan_info(call->plan).y;
    } else if (call->gemm) {
        types.x = kernel_gemm_plan_info(call->gemm).a;
        types.y = kernel_gemm_plan_info(call->gemm).y;
    }
    return types;
}

const struct tensor_view *call_input(const struct call_request *request, uint32_t index)
{
    if (index >= request->node->input_count || request->inputs[index].dtype == DTYPE_NONE)
        return NULL;
    return &request->inputs[index];
}

int call_params(const struct call_request *request, struct call *call, size_t bytes)
{
    call->params = calloc(1, bytes);
    return call->params ? 0 : call_refuse(request, -ENOMEM, "out of memory");
}

bool call_dtype(enum dtype dtype, enum kernel_dtype *out_dtype)
{
    static const struct {
        enum dtype dtype;
        enum kernel_dtype kernel;
    } types[] = {
        {DTYPE_F32, KERNEL_F32}, {DTYPE_F64, KERNEL_F64},   {DTYPE_F16, KERNEL_F16},
        {DTYPE_I8, KERNEL_I8},   {DTYPE_I16, KERNEL_I16},   {DTYPE_I32, KERNEL_I32},
        {DTYPE_I64, KERNEL_I64}, {DTYPE_U8, KERNEL_U8},     {DTYPE_U16, KERNEL_U16},
        {DTYPE_U32, KERNEL_U32}, {DTYPE_BOOL, KERNEL_BOOL}, {DTYPE_BF16, KERNEL_BF16},
        {DTYPE_U64, KERNEL_U64},
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (types[i].dtype == dtype) {
            *out_dtype = types[i].kernel;
            return true;
        }
    }
    return false;
}

bool call_stored_dtype(enum dtype dtype, enum kernel_dtype *out_dtype)
{
    static const enum kernel_dtype types[] = {
        [DTYPE_F8E4M3FN] = KERNEL_F8E4M3FN,
        [DTYPE_F8E4M3FNUZ] = KERNEL_F8E4M3FNUZ,
        [DTYPE_F8E5M2] = KERNEL_F8E5M2,
        [DTYPE_F8E5M2FNUZ] = KERNEL_F8E5M2FNUZ,
        [DTYPE_U4] = KERNEL_U4,
        [DTYPE_I4] = KERNEL_I4,
        [DTYPE_F4E2M1] = KERNEL_F4E2M1,
        [DTYPE_F8E8M0] = KERNEL_F8E8M0,
        [DTYPE_U2] = KERNEL_U2,
        [DTYPE_I2] = KERNEL_I2,
    };

    if (dtype < DTYPE_F8E4M3FN || dtype >= DTYPE_END)
        return call_dtype(dtype, out_dtype);
    *out_dtype = types[dtype];
    return true;
}

bool call_moved_dtype(enum dtype dtype, enum kernel_dtype *out_dtype)
{
    return call_dtype(dtype == DTYPE_STRING ? DTYPE_I64 : dtype, out_dtype);
}

int call_require_f32(const struct call_request *request, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i <= last; i++) {
        const struct tensor_view *input = call_input(request, i);

        if (input && input->dtype != DTYPE_F32)
            return call_refuse(request, -ENOTSUP, "no kernel for %s in input %" PRIu32,
                               dtype_name(input->dtype), i);
    }
    if (request->outputs[0].dtype != DTYPE_F32)
        return call_refuse(request, -ENOTSUP, "no kernel for a result of %s",
                           dtype_name(request->outputs[0].dtype));
    return 0;
}

static int ints_of_input(const struct call_request *request, uint32_t index, int64_t *out_ints)
{
    const struct tensor_view *input = &request->inputs[index];
    int64_t count = shape_elements(&input->shape);

    if ((input->dtype != DTYPE_I64 && input->dtype != DTYPE_I32) || input->shape.rank > 1 ||
        count > CALL_MAX_INTS)
        return call_refuse(request, -EINVAL, "input %" PRIu32 " is not a short list of integers",
                           index);
    if (!input->data && count > 0)
        return call_refuse(request, -ENOTSUP, "input %" PRIu32 " is not known before the run",
                           index);
    for (int64_t i = 0; i < count; i++)
        out_ints[i] = input->dtype == DTYPE_I64 ? ((const int64_t *)input->data)[i]
                                                : ((const int32_t *)input->data)[i];
    return (int)count;
}

int call_ints(const struct call_request *request, uint32_t input, const char *attribute,
              int64_t out_ints[CALL_MAX_INTS], bool *out_given)
{
    const int64_t *ints = NULL;
    size_t count = 0;

    *out_given = true;
    if (call_input(request, input))
        return ints_of_input(request, input, out_ints);
    if (attribute && node_attribute(request->node, attribute)) {
        ints = node_ints(request->node, attribute, &count);
        if (count > CALL_MAX_INTS)
            return call_refuse(request, -EINVAL, "attribute %s is too long", attribute);
        if (count)
            memcpy(out_ints, ints, count * sizeof(*ints));
        return (int)count;
    }
    *out_given = false;
    return 0;
}

int call_axis(const struct call_request *request, int64_t axis, int limit)
{
    if (axis < -limit || axis >= limit)
        return call_refuse(request, -EINVAL, "axis %" PRId64 " is not within %d axes", axis, limit);
    return (int)(axis < 0 ? axis + limit : axis);
}

static void strides_of(const struct layout *layout, const struct shape *shape, int64_t *out_strides)
{
    struct layout row_major = layout_row_major(shape->rank);

    layout_strides(layout ? layout : &row_major, shape, out_strides);
}

void call_input_strides(const struct call_request *request, uint32_t index, int64_t *out_strides)
{
    strides_of(request->input_layouts ? &request->input_layouts[index] : NULL,
               &request->inputs[index].shape, out_strides);
}

void call_output_strides(const struct call_request *request, int64_t *out_strides)
{
    strides_of(request->output_layouts, &request->outputs[0].shape, out_strides);
}

struct layout call_output_layout(const struct call_request *request)
{
    return request->output_layouts ? request->output_layouts[0]
                                   : layout_row_major(request->outputs[0].shape.rank);
}

bool call_is_channels_last(const struct call_request *request)
{
    const struct shape *x = &request->inputs[0].shape;

    return request->input_layouts && !layout_is_row_major(&request->input_layouts[0], x) &&
           layout_is_channels_last(&request->input_layouts[0], x);
}

int call_broadcast_strides(const struct call_request *request, const struct shape *operand,
                           const int64_t *own_strides, int first,
                           int64_t out_strides[KERNEL_MAX_RANK])
{
    const struct shape *y = &request->outputs[0].shape;

    if (first < 0 || first + operand->rank > y->rank)
        return call_refuse(request, -EINVAL, "an operand has more axes than the result");
    memset(out_strides, 0, KERNEL_MAX_RANK * sizeof(*out_strides));
    for (int i = 0; i < operand->rank; i++) {
        if (operand->dims[i] == y->dims[first + i])
            out_strides[first + i] = operand->dims[i] == 1 ? 0 : own_strides[i];
        else if (operand->dims[i] != 1)
            return call_refuse(request, -EINVAL, "the operands cannot be broadcast to the result");
    }
    return 0;
}
