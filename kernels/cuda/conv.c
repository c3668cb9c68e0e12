/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers of convolutions: cuDNN where it is there and takes them, else image.cu and any.cu. */
#include "kernels/cuda/conv.h"

#include <string.h>

enum { ALIGNMENT_MAX = 16 }; /* that cuDNN's engines ask for */

static uint32_t alignment_of(const void *address)
{
    uint64_t bits = cuda_address_of(address) | ALIGNMENT_MAX;

    return address ? (uint32_t)(bits & -bits) : 0;
}

static void take_window(struct conv_shape *shape, const struct kernel_window *window)
{
    for (int i = 0; i < KERNEL_SPATIAL; i++) {
        shape->in[i] = window->in[i];
        shape->out[i] = window->out[i];
        shape->kernel[i] = window->kernel[i];
        shape->stride[i] = window->stride[i];
        shape->dilation[i] = window->dilation[i];
        shape->pad_begin[i] = window->pad_begin[i];
        shape->pad_end[i] = window->pad_end[i];
    }
}

/* cuDNN computes the sizes of results itself: they have to be those that we have memory for. */
static bool has_its_sizes(const struct conv_shape *s)
{
    for (int i = 0; i < KERNEL_SPATIAL; i++) {
        int64_t span = s->dilation[i] * (s->kernel[i] - 1) + 1;
        int64_t room = s->in[i] + s->pad_begin[i] + s->pad_end[i] - span;

        if (s->pad_begin[i] < 0 || s->pad_end[i] < 0 || s->in[i] < 1 || s->kernel[i] < 1 ||
            room < 0 || s->out[i] != room / s->stride[i] + 1)
            return false;
    }
    return s->batch > 0 && s->channels > 0 && s->filters > 0;
}

static void align(struct conv_run *run)
{
    run->shape.x_alignment = alignment_of(run->x);
    run->shape.w_alignment = alignment_of(run->w);
    run->shape.y_alignment = alignment_of(run->y);
    run->shape.bias_alignment = alignment_of(run->bias);
    if (run->residual == run->y)
        run->shape.residual = RESIDUAL_Y;
    else if (run->residual)
        run->shape.residual = RESIDUAL_OTHER;
    if (run->shape.residual == RESIDUAL_OTHER)
        run->shape.residual_alignment = alignment_of(run->residual);
}

static void end_by_own(const struct conv_run *run)
{
    const struct conv_shape *s = &run->shape;
    void *y = run->y;
    const void *bias = run->bias, *residual = s->residual == RESIDUAL_OTHER ? run->residual : NULL;
    int64_t channels = s->is_transposed ? s->channels : s->filters;
    int64_t pixels = cuda_product(s->is_transposed ? s->in : s->out, KERNEL_SPATIAL);
    int64_t count = s->batch * channels * pixels, plane = s->channels_last ? 1 : pixels;
    struct kernel_activation activation = {(enum kernel_unary)s->activation, s->a, s->b};

    cuda_launch_elements(CUDA_KERNEL_conv_end_f32, count,
                         (void *[]){&y, &bias, &residual, &count, &channels, &plane, &activation});
}

static void end_half_by_own(const struct conv_run *run)
{
    const struct conv_shape *s = &run->shape;
    void *y = run->y;
    const void *bias = run->bias, *residual = s->residual == RESIDUAL_OTHER ? run->residual : NULL;
    int64_t channels = s->is_transposed ? s->channels : s->filters;
    int64_t pixels = cuda_product(s->is_transposed ? s->in : s->out, KERNEL_SPATIAL);
    int64_t count = s->batch * channels * pixels, plane = s->channels_last ? 1 : pixels;
    struct kernel_activation activation = {(enum kernel_unary)s->activation, s->a, s->b};
    int dtype = s->dtype, bias_type = s->bias_type, residual_type = s->residual_type;
    bool saturates = run->saturates;

    cuda_launch_elements(CUDA_KERNEL_conv_end_half, count,
                         (void *[]){&y, &bias, &residual, &count, &channels, &plane, &activation,
                                    &dtype, &bias_type, &residual_type, &saturates});
}

static void saturate_by_own(const struct conv_run *run)
{
    const struct conv_shape *s = &run->shape;
    int64_t channels = s->is_transposed ? s->channels : s->filters;

    cuda_saturate_half(run->y, s->batch * channels *
                                   cuda_product(s->is_transposed ? s->in : s->out, KERNEL_SPATIAL));
}

static void compute(struct conv_call *call)
{
    struct kernel_cuda *cuda = cuda_current();

    align(&call->run);
    call->run.end = call->run.shape.dtype == KERNEL_F32 ? end_by_own : end_half_by_own;
    call->is_refused = call->is_refused || !has_its_sizes(&call->run.shape);
    if (conv_is_planned(cuda, call))
        conv_run(cuda, call);
    else
        call->own(call->call);
}

/* For cuDNN the way back is a convolution's gradient: what it makes are that one's channels. */
static void take_conv(struct conv_shape *s, const struct kernel_conv *conv)
{
    memset(s, 0, sizeof(*s));
    s->batch = conv->batch;
    s->channels = conv->is_transposed ? conv->filters : conv->channels;
    s->filters = conv->is_transposed ? conv->channels : conv->filters;
    s->groups = conv->groups;
    take_window(s, &conv->window);
    s->activation = (int32_t)conv->activation.kind;
    s->a = conv->activation.a;
    s->b = conv->activation.b;
    s->is_transposed = conv->is_transposed;
    s->channels_last = conv->channels_last;
    s->w_channels_last = conv->w_channels_last;
}

/* --- Forward --- */

struct conv_f32_call {
    float *y;
    const float *x, *w, *bias, *residual;
    const struct kernel_conv *shape;
};

static void own_conv(const void *given)
{
    struct conv_f32_call call = *(const struct conv_f32_call *)given;
    struct kernel_conv shape = *call.shape;
    int64_t count = shape.batch * shape.filters * cuda_product(shape.window.out, KERNEL_SPATIAL);

    cuda_launch_elements(
        CUDA_KERNEL_conv_f32, count,
        (void *[]){&call.y, &call.x, &call.w, &call.bias, &call.residual, &count, &shape});
}

static void conv_f32_cuda(float *y, const float *x, const float *w, const float *bias,
                          const float *residual, const struct kernel_conv *shape)
{
    struct conv_f32_call given = {y, x, w, bias, residual, shape};
    struct conv_call call = {.own = own_conv, .call = &given};

    take_conv(&call.run.shape, shape);
    call.run.y = y;
    call.run.x = x;
    call.run.w = w;
    call.run.bias = bias;
    call.run.residual = residual;
    compute(&call);
}

/* --- Transposed: the way back from results to images --- */

struct transpose_call {
    void *y;
    const void *x, *w, *bias;
    const struct kernel_conv_transpose *shape;
};

static void own_transpose(const void *given)
{
    struct transpose_call call = *(const struct transpose_call *)given;
    struct kernel_conv_transpose shape = *call.shape;
    int64_t count = shape.batch * shape.filters * cuda_product(shape.window.in, KERNEL_SPATIAL);

    cuda_launch_elements(CUDA_KERNEL_conv_transpose_any, count,
                         (void *[]){&call.y, &call.x, &call.w, &call.bias, &shape, &count});
}

static void conv_transpose_cuda(void *y, const void *x, const void *w, const void *bias,
                                const struct kernel_conv_transpose *shape)
{
    struct transpose_call given = {y, x, w, bias, shape};
    struct conv_call call = {
        .own = own_transpose, .call = &given, .is_refused = shape->dtype == KERNEL_F64};
    struct conv_shape *s = &call.run.shape;

    memset(s, 0, sizeof(*s));
    s->dtype = s->y_type = s->bias_type = s->residual_type = (int32_t)shape->dtype;
    s->batch = shape->batch;
    s->channels = shape->filters;
    s->filters = shape->channels;
    s->groups = shape->groups;
    take_window(s, &shape->window);
    s->activation = KERNEL_IDENTITY;
    s->is_transposed = 1;
    call.run.y = y;
    call.run.x = x;
    call.run.w = w;
    call.run.bias = bias;
    compute(&call);
}

/* --- In half precision, there or back --- */

struct conv_half_call {
    void *y;
    const void *x, *w, *bias, *residual;
    const struct kernel_conv_half *shape;
};

static void own_half(const void *given)
{
    struct conv_half_call call = *(const struct conv_half_call *)given;
    struct kernel_conv_half shape = *call.shape;
    const struct kernel_window *window = &shape.conv.window;
    int64_t plane =
        cuda_product(shape.conv.is_transposed ? window->in : window->out, KERNEL_SPATIAL);
    int64_t count = shape.conv.batch * shape.conv.filters * plane;

    cuda_launch_elements(
        CUDA_KERNEL_conv_half, count,
        (void *[]){&call.y, &call.x, &call.w, &call.bias, &call.residual, &count, &shape});
}

static void conv_half_cuda(void *y, const void *x, const void *w, const void *bias,
                           const void *residual, const struct kernel_conv_half *shape)
{
    struct conv_half_call given = {y, x, w, bias, residual, shape};
    struct conv_call call = {.own = own_half, .call = &given};
    struct conv_shape *s = &call.run.shape;

    take_conv(s, &shape->conv);
    s->dtype = s->y_type = (int32_t)shape->dtype;
    s->bias_type = bias ? (int32_t)shape->bias_type : 0;
    s->residual_type = residual ? (int32_t)shape->residual_type : 0;
    call.run.y = y;
    call.run.x = x;
    call.run.w = w;
    call.run.bias = bias;
    call.run.residual = residual;
    call.run.saturates = shape->saturates;
    call.run.saturate = shape->saturates && shape->dtype == KERNEL_F16 ? saturate_by_own : NULL;
    compute(&call);
}

void cuda_table_conv(struct kernel_table *table)
{
    CUDA_USE(conv_f32, conv_f32_cuda);
    CUDA_USE(conv_half, conv_half_cuda);
    CUDA_USE(conv_transpose, conv_transpose_cuda);
}
