/* SPDX-License-Identifier: Apache-2.0 */
/* QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, and what is computed of bytes between them. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "runtime/graph/fused_ops.h"

struct quantize_params {
    quantize_fn *fn; /* or the other direction, which has the same type */
    bool has_zero;
    struct kernel_quantize shape;
};

static int run_quantize(const struct call *call)
{
    const struct quantize_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], call->inputs[1], p->has_zero ? call->inputs[2] : NULL,
          &p->shape);
    return 0;
}

/* A zero point for each scale; where there is one, quantisers write one of them as a scalar. */
static bool is_zero_of(const struct shape *zero, const struct shape *scale)
{
    return shape_equal(zero, scale) || (zero->rank <= 1 && scale->rank <= 1 &&
                                        shape_elements(zero) == 1 && shape_elements(scale) == 1);
}

/* One scale, one for each place of the axis, or one for each block of places. */
static int scale_strides(const struct call_request *request, struct kernel_quantize *s)
{
    const struct shape *x = &request->inputs[0].shape, *scale = &request->inputs[1].shape;
    int64_t block = node_int(request->node, "block_size", 0);
    int axis, rank = x->rank;

    s->outer = s->axis = s->block = 1;
    s->inner = shape_elements(x);
    if (shape_elements(scale) == 1 && block == 0)
        return 0;
    axis = call_axis(request, node_int(request->node, "axis", 1), rank);
    if (axis < 0)
        return axis;
    s->inner = 1;
    for (int i = 0; i < rank; i++)
        *(i < axis ? &s->outer : i == axis ? &s->axis : &s->inner) *= x->dims[i];
    if (block == 0) {
        s->scale_stride[1] = 1;
        return scale->rank == 1 && scale->dims[0] == s->axis
                   ? 0
                   : call_refuse(request, -EINVAL, "it has not one scale for each place of axis %d",
                                 axis);
    }
    if (block < 1 || scale->rank != rank || scale->dims[axis] != (s->axis + block - 1) / block ||
        shape_elements(scale) != s->outer * scale->dims[axis] * s->inner)
        return call_refuse(request, -EINVAL, "it has not one scale for each block of %" PRId64,
                           block);
    s->block = block;
    s->scale_stride[0] = scale->dims[axis] * s->inner;
    s->scale_stride[1] = s->inner;
    s->scale_stride[2] = 1;
    return 0;
}

int call_bind_quantize(const struct call_request *request, struct call *call)
{
    bool is_back = strcmp(request->node->op_type, "DequantizeLinear") == 0;
    const struct tensor_view *x = call_input(request, 0), *scale = call_input(request, 1);
    const struct tensor_view *zero = call_input(request, 2), *y = &request->outputs[0];
    const struct tensor_view *real = is_back ? y : x, *integer = is_back ? x : y;
    struct quantize_params *p;
    int64_t precision;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    if (!call_dtype(real->dtype, &p->shape.real_type) ||
        !call_stored_dtype(integer->dtype, &p->shape.integer_type) ||
        !call_stored_dtype(scale->dtype, &p->shape.scale_type) ||
        kernel_dtype_is_real(p->shape.integer_type) || integer->dtype == DTYPE_F8E8M0 ||
        (!kernel_dtype_is_real(p->shape.scale_type) && scale->dtype != DTYPE_F8E8M0))
        return call_refuse(request, -ENOTSUP, "no kernel between %s and %s",
                           dtype_name(real->dtype), dtype_name(integer->dtype));
    /* A scale that has no fraction divides exactly. */
    precision = node_int(request->node, "precision", 0);
    if (precision == 0)
        precision = scale->dtype == DTYPE_F8E8M0 ? DTYPE_F32 : scale->dtype;
    if (!call_dtype((enum dtype)precision, &p->shape.precision) ||
        !kernel_dtype_is_real(p->shape.precision))
        return call_refuse(request, -ENOTSUP, "no kernel divides with the precision of type %lld",
                           (long long)precision);
    if (zero && (zero->dtype != integer->dtype || !is_zero_of(&zero->shape, &scale->shape)))
        return call_refuse(request, -EINVAL, "scale and zero point do not fit together");
    rc = scale_strides(request, &p->shape);
    if (rc < 0)
        return rc;
    p->shape.is_unlimited = node_int(request->node, "saturate", 1) == 0;
    p->has_zero = zero != NULL;
    p->fn = is_back ? request->kernels->dequantize.fn : request->kernels->quantize.fn;
    call->version =
        is_back ? request->kernels->dequantize.version : request->kernels->quantize.version;
    call->run = run_quantize;
    return 0;
}

struct dynamic_params {
    quantize_dynamic_fn *fn;
    uint32_t outputs; /* of the node */
    size_t count;
};

static int run_dynamic(const struct call *call)
{
    const struct dynamic_params *p = call->params;
    float scale;
    uint8_t zero;

    p->fn(call->outputs[0], p->outputs > 1 && call->outputs[1] ? call->outputs[1] : &scale,
          p->outputs > 2 && call->outputs[2] ? call->outputs[2] : &zero, call->inputs[0], p->count);
    return 0;
}

int call_bind_quantize_dynamic(const struct call_request *request, struct call *call)
{
    struct dynamic_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    if (!request->node->outputs[0])
        return call_refuse(request, -ENOTSUP, "no kernel without its first output");
    if (request->on_device && (request->node->output_count < 3 || !call_is_read(request->node, 1) ||
                               !call_is_read(request->node, 2)))
        return call_refuse(request, -ENOTSUP, "no kernel without all of its outputs");
    p = call->params;
    p->outputs = request->node->output_count;
    p->fn = request->kernels->quantize_dynamic.fn;
    p->count = (size_t)shape_elements(&request->inputs[0].shape);
    call->version = request->kernels->quantize_dynamic.version;
    call->run = run_dynamic;
    return 0;
}

struct lookup_params {
    lookup_fn *fn;
    size_t count;
};

static int run_lookup(const struct call *call)
{
    const struct lookup_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], call->inputs[1], p->count);
    return 0;
}

int call_bind_lookup(const struct call_request *request, struct call *call)
{
    struct lookup_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->lookup.fn;
    p->count = (size_t)shape_elements(&request->inputs[0].shape);
    call->version = request->kernels->lookup.version;
    call->run = run_lookup;
    return 0;
}

/* The scale and zero point at inputs i and i + 1. */
static struct kernel_quanta quanta_of(const struct call *call, uint32_t i, bool is_signed)
{
    const void *zero = call->inputs[i + 1];

    return (struct kernel_quanta){.scale = *(const float *)call->inputs[i],
                                  .zero =
                                      is_signed ? *(const int8_t *)zero : *(const uint8_t *)zero,
                                  .is_signed = is_signed};
}

struct quanta_zip_params {
    zip_quanta_fn *fn;
    struct kernel_zip_quanta args;
};

static int run_quanta_zip(const struct call *call)
{
    const struct quanta_zip_params *p = call->params;
    struct kernel_zip_quanta args = p->args;

    args.a = quanta_of(call, 1, args.a.is_signed);
    args.b = quanta_of(call, 4, args.b.is_signed);
    args.y = quanta_of(call, 6, args.y.is_signed);
    p->fn(call->outputs[0], call->inputs[0], call->inputs[3], &args);
    return 0;
}

/* Under the axes of y's memory. */
static int operand_strides(const struct call_request *request, uint32_t i, int64_t *out_strides)
{
    const struct shape *x = &request->inputs[i].shape;
    int64_t own[SHAPE_MAX_RANK];

    int64_t strides[KERNEL_MAX_RANK];
    struct layout layout = call_output_layout(request);
    int rc;

    call_input_strides(request, i, own);
    rc = call_broadcast_strides(request, x, own, request->outputs[0].shape.rank - x->rank, strides);
    for (int axis = 0; rc == 0 && axis < layout.rank; axis++)
        out_strides[axis] = strides[layout.order[axis]];
    return rc;
}

int call_bind_quanta_zip(const struct call_request *request, struct call *call)
{
    const struct shape *y = &request->outputs[0].shape;
    struct layout layout = call_output_layout(request);
    struct quanta_zip_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    p->args.is_product = strcmp(request->node->op_type, QUANTA_MUL_OP_TYPE) == 0;
    p->args.a.is_signed = request->inputs[0].dtype == DTYPE_I8;
    p->args.b.is_signed = request->inputs[3].dtype == DTYPE_I8;
    p->args.y.is_signed = request->outputs[0].dtype == DTYPE_I8;
    p->args.shape.rank = y->rank;
    for (int i = 0; i < y->rank; i++)
        p->args.shape.dims[i] = y->dims[layout.order[i]];
    rc = operand_strides(request, 0, p->args.shape.a_stride);
    if (rc == 0)
        rc = operand_strides(request, 3, p->args.shape.b_stride);
    p->fn = request->kernels->zip_quanta.fn;
    call->version = request->kernels->zip_quanta.version;
    call->run = run_quanta_zip;
    return rc;
}

struct quanta_mean_params {
    mean_quanta_fn *fn;
    struct kernel_mean_quanta args;
};

static int run_quanta_mean(const struct call *call)
{
    const struct quanta_mean_params *p = call->params;
    struct kernel_mean_quanta args = p->args;

    args.x = quanta_of(call, 1, args.x.is_signed);
    args.y = quanta_of(call, 3, args.y.is_signed);
    p->fn(call->outputs[0], call->inputs[0], &args);
    return 0;
}

int call_bind_quanta_mean(const struct call_request *request, struct call *call)
{
    const struct shape *x = &request->inputs[0].shape;
    struct quanta_mean_params *p;
    size_t count;
    const int64_t *axes = node_ints(request->node, "axes", &count);
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    p->args.outer = p->args.count = p->args.inner = 1;
    for (int i = 0; i < x->rank; i++)
        *(i < axes[0]   ? &p->args.outer
          : i < axes[1] ? &p->args.count
                        : &p->args.inner) *= x->dims[i];
    if (p->args.count == 0)
        return call_refuse(request, -ENOTSUP, "no kernel for a mean of nothing");
    if (call_is_channels_last(request)) { /* means of all places: channels lie behind these */
        p->args.outer = x->dims[0];
        p->args.inner = x->dims[1];
    }
    p->args.x.is_signed = request->inputs[0].dtype == DTYPE_I8;
    p->args.y.is_signed = request->outputs[0].dtype == DTYPE_I8;
    p->fn = request->kernels->mean_quanta.fn;
    call->version = request->kernels->mean_quanta.version;
    call->run = run_quanta_mean;
    return 0;
}
