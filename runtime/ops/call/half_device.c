/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that a device's kernels compute in half precision: what lies in memory is read and written
 * as it is. What else there is of float16 and bfloat16 is converted around kernels of float32
 * (half.c). */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <string.h>

enum { ALIGNMENT = 256 }; /* of what a product reads: libraries have kernels that ask for that */

static size_t round_up(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* --- What is asked of requests --- */

bool call_has_half(const struct call_request *request)
{
    const struct node *node = request->node;

    for (uint32_t i = 0; i < node->input_count; i++)
        if (call_is_half(request->inputs[i].dtype))
            return true;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (call_is_half(request->outputs[i].dtype))
            return true;
    return false;
}

bool call_is_half_product(const struct call_request *request)
{
    return request->on_device &&
           (call_is_half(request->inputs[0].dtype) || call_is_half(request->inputs[1].dtype));
}

static bool saturates(const struct call_request *request)
{
    const struct value *y = request->node->outputs[0];

    return y && y->is_narrowed;
}

/* --- Tensors that are converted before a kernel reads them, or after it has written them --- */

void call_plan_conversion(struct call_conversion *conversion, struct call *call,
                          const struct tensor_view *view, enum kernel_dtype own,
                          enum kernel_dtype kernel)
{
    conversion->is_needed = own != kernel;
    conversion->own = own;
    conversion->kernel = kernel;
    conversion->count = (size_t)shape_elements(&view->shape);
    conversion->offset = call->workspace_bytes;
    if (conversion->is_needed)
        call->workspace_bytes += round_up(conversion->count * kernel_dtype_bytes(kernel));
}

int call_plan_narrowed(const struct call_request *request, uint32_t index, enum kernel_dtype kernel,
                       struct call_conversion *conversion, struct call *call)
{
    const struct tensor_view *view = call_input(request, index);
    const struct value *value = request->node->inputs[index];
    enum kernel_dtype own;

    if (!call_dtype(view->dtype, &own) || (own != kernel && own != KERNEL_F32))
        return call_refuse(request, -ENOTSUP, "no kernel for %s beside another half precision",
                           dtype_name(view->dtype));
    if (own != kernel && (view->data || value->stays_wide || value->decides_sizes))
        return call_refuse(request, -ENOTSUP, "its input %u has to stay in float32", index);
    call_plan_conversion(conversion, call, view, own, kernel);
    return 0;
}

static void convert(chain_half_fn *fn, void *y, enum kernel_dtype to, const void *x,
                    enum kernel_dtype from, size_t count)
{
    struct kernel_chain_half shape = {.chain = {.rank = 1, .inputs = 1}, .saturates = true};

    shape.chain.dims[0] = (int64_t)count;
    shape.chain.strides[0][0] = 1;
    shape.types[0] = from;
    shape.y_type = to;
    fn(y, &x, &shape);
}

static void *workspace_at(const struct call *call, const struct call_conversion *conversion)
{
    return (char *)call->workspace + conversion->offset;
}

const void *call_read_narrowed(const struct call *call, uint32_t index, chain_half_fn *fn,
                               const struct call_conversion *conversion)
{
    if (!conversion->is_needed)
        return call->inputs[index];
    convert(fn, workspace_at(call, conversion), conversion->kernel, call->inputs[index],
            conversion->own, conversion->count);
    return workspace_at(call, conversion);
}

void *call_written(const struct call *call, const struct call_conversion *conversion)
{
    return conversion->is_needed ? workspace_at(call, conversion) : call->outputs[0];
}

void call_widen_written(const struct call *call, chain_half_fn *fn,
                        const struct call_conversion *conversion)
{
    if (conversion->is_needed)
        convert(fn, call->outputs[0], conversion->own, workspace_at(call, conversion),
                conversion->kernel, conversion->count);
}

/* --- Convolutions, there and back --- */

struct conv_params {
    conv_half_fn *fn;
    chain_half_fn *convert;
    int residual_input;
    bool has_bias;
    struct call_conversion x, y;
    struct kernel_conv_half shape;
};

static int run_conv(const struct call *call)
{
    const struct conv_params *p = call->params;
    const void *x = call_read_narrowed(call, 0, p->convert, &p->x);

    p->fn(call_written(call, &p->y), x, call->inputs[1], p->has_bias ? call->inputs[2] : NULL,
          p->residual_input >= 0 ? call->inputs[p->residual_input] : NULL, &p->shape);
    call_widen_written(call, p->convert, &p->y);
    return 0;
}

/* What is added: of the kernel's type, or float32. */
static int take_added(const struct call_request *request, uint32_t index, enum kernel_dtype dtype,
                      enum kernel_dtype *out_dtype)
{
    if (!call_dtype(request->inputs[index].dtype, out_dtype) ||
        (*out_dtype != dtype && *out_dtype != KERNEL_F32))
        return call_refuse(request, -ENOTSUP, "no kernel adds %s to %s",
                           dtype_name(request->inputs[index].dtype),
                           dtype_name(request->inputs[1].dtype));
    return 0;
}

int call_bind_conv_half(const struct call_request *request, struct call *call,
                        const struct kernel_conv *shape)
{
    const struct tensor_view *y = &request->outputs[0];
    struct conv_params *p;
    struct kernel_conv_half *s;
    enum kernel_dtype y_type = KERNEL_F32;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    s = &p->shape;
    s->conv = *shape;
    s->conv.activation = call_activation(request->node);
    s->saturates = saturates(request);
    p->residual_input = request->node->fused.residual_input;
    p->has_bias = call_input(request, 2) && p->residual_input != 2;
    call_dtype(request->inputs[1].dtype, &s->dtype);
    if (!call_dtype(y->dtype, &y_type) || (y_type != s->dtype && y_type != KERNEL_F32))
        return call_refuse(request, -ENOTSUP, "no kernel for a result of %s", dtype_name(y->dtype));
    rc = call_plan_narrowed(request, 0, s->dtype, &p->x, call);
    if (rc == 0 && p->has_bias)
        rc = take_added(request, 2, s->dtype, &s->bias_type);
    if (rc == 0 && p->residual_input >= 0)
        rc = take_added(request, (uint32_t)p->residual_input, s->dtype, &s->residual_type);
    call_plan_conversion(&p->y, call, y, y_type, s->dtype);
    s->saturates = s->saturates || p->y.is_needed;
    p->fn = request->kernels->conv_half.fn;
    p->convert = request->kernels->chain_half.fn;
    call->version = request->kernels->conv_half.version;
    call->run = run_conv;
    call->has_fused = true;
    return rc;
}

/* --- Products, also of float32 with an activation --- */

struct gemm_params {
    gemm_half_fn *fn;
    chain_half_fn *convert;
    bool has_c;
    struct call_conversion a, b;
    struct kernel_gemm_half shape;
};

static int run_gemm(const struct call *call)
{
    const struct gemm_params *p = call->params;
    const void *a = call_read_narrowed(call, 0, p->convert, &p->a);
    const void *b = call_read_narrowed(call, 1, p->convert, &p->b);

    p->fn(call->outputs[0], a, b, p->has_c ? call->inputs[2] : NULL, &p->shape);
    return 0;
}

int call_bind_gemm_half(const struct call_request *request, struct call *call,
                        const struct kernel_gemm *shape, bool has_c)
{
    enum dtype type = call_is_half(request->inputs[1].dtype) ? request->inputs[1].dtype
                                                             : request->inputs[0].dtype;
    struct gemm_params *p;
    struct kernel_gemm_half *s;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    s = &p->shape;
    s->gemm = *shape;
    s->activation = call_activation(request->node);
    s->saturates = saturates(request);
    p->has_c = has_c;
    call_dtype(type, &s->dtype);
    if (!call_dtype(request->outputs[0].dtype, &s->y_type) ||
        (s->y_type != s->dtype && s->y_type != KERNEL_F32))
        return call_refuse(request, -ENOTSUP, "no kernel for a result of %s",
                           dtype_name(request->outputs[0].dtype));
    rc = call_plan_narrowed(request, 0, s->dtype, &p->a, call);
    if (rc == 0)
        rc = call_plan_narrowed(request, 1, s->dtype, &p->b, call);
    if (rc == 0 && has_c)
        rc = take_added(request, 2, s->dtype, &s->c_type);
    p->fn = request->kernels->gemm_half.fn;
    p->convert = request->kernels->chain_half.fn;
    call->version = request->kernels->gemm_half.version;
    call->run = run_gemm;
    call->has_fused = true;
    return rc;
}
