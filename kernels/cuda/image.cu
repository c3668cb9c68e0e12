/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels over images: convolution, pooling, response normalisation. A thread per output. */
#include "kernels/cuda/device.cuh"

/* Strides of images in either layout, in elements. */
struct image {
    int64_t image, channel, spatial[KERNEL_SPATIAL];
};

static __device__ struct image image_of(int64_t channels, const int64_t *spatial,
                                        bool channels_last)
{
    int64_t plane = spatial[0] * spatial[1] * spatial[2];
    int64_t step = channels_last ? channels : 1;

    return {channels * plane,
            channels_last ? 1 : plane,
            {spatial[1] * spatial[2] * step, spatial[2] * step, step}};
}

/* Output number i as its image, its channel and its place, and where it lies. */
struct place {
    int64_t n, c, o[KERNEL_SPATIAL], at;
};

static __device__ struct place place_of(int64_t i, int64_t channels, const int64_t *out,
                                        const struct image *strides)
{
    struct place place;

    place.o[2] = i % out[2];
    i /= out[2];
    place.o[1] = i % out[1];
    i /= out[1];
    place.o[0] = i % out[0];
    i /= out[0];
    place.c = i % channels;
    place.n = i / channels;
    place.at = place.n * strides->image + place.c * strides->channel;
    for (int axis = 0; axis < KERNEL_SPATIAL; axis++)
        place.at += place.o[axis] * strides->spatial[axis];
    return place;
}

/* One element of the window, over the channels of a group. */
static __device__ float conv_tap(const float *x, const float *w, int64_t channels, int64_t x_step,
                                 int64_t w_step)
{
    float sum = 0.0f;

    for (int64_t c = 0; c < channels; c++)
        sum = fmaf(x[c * x_step], w[c * w_step], sum);
    return sum;
}

/* The products of an element are summed in float, the elements in double. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    conv_f32(float *y, const float *x, const float *w, const float *bias, const float *residual,
             int64_t count, struct kernel_conv shape)
{
    const struct kernel_window *window = &shape.window;
    const int64_t *kernel = window->kernel;
    int64_t channels = shape.channels / shape.groups, filters = shape.filters / shape.groups;
    int64_t volume = kernel[0] * kernel[1] * kernel[2];
    struct image in = image_of(shape.channels, window->in, shape.channels_last);
    struct image out = image_of(shape.filters, window->out, shape.channels_last);
    int64_t w_channel = shape.w_channels_last ? 1 : volume;
    int64_t w_step = shape.w_channels_last && BUG != 34 ? channels : 1;

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        struct place y_at = place_of(i, shape.filters, window->out, &out);
        const float *from = x + y_at.n * in.image + y_at.c / filters * channels * in.channel;
        const float *weights = w + y_at.c * channels * volume;
        double total = 0.0;

        for (int64_t k = 0; k < volume; k++) {
            int64_t d = window_at(window, 0, y_at.o[0], k / kernel[2] / kernel[1]);
            int64_t h = window_at(window, 1, y_at.o[1], k / kernel[2] % kernel[1]);
            int64_t v = window_at(window, 2, y_at.o[2], k % kernel[2]);

            if (d >= 0 && h >= 0 && v >= 0)
                total += (double)conv_tap(from + d * in.spatial[0] + h * in.spatial[1] +
                                              v * in.spatial[2],
                                          weights + k * w_step, channels, in.channel, w_channel);
        }
        total += bias && BUG != 10 ? (double)bias[y_at.c] : 0.0;
        total += residual ? (double)residual[y_at.at] : 0.0;
        y[y_at.at] = activated((float)total, &shape.activation);
    }
}
KERNEL_EXPORT(conv_f32)

/* What comes behind a convolution that another kernel has computed into y. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    conv_end_f32(float *y, const float *bias, const float *residual, int64_t count,
                 int64_t channels, int64_t plane, struct kernel_activation activation)
{
    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        double total = (double)y[i];

        total += bias ? (double)bias[i / plane % channels] : 0.0;
        total += residual ? (double)residual[i] : 0.0;
        y[i] = activated((float)total, &activation);
    }
}
KERNEL_EXPORT(conv_end_f32)

/* In half precision, also transposed, then of row-major images: a thread per result. */

/* Where element k of the kernel reads for `place`, in the input's plane; -1: nowhere. */
static __device__ int64_t conv_source(const struct kernel_conv *s, const int64_t *place, int64_t k)
{
    const struct kernel_window *window = &s->window;
    const int64_t *size = s->is_transposed ? window->out : window->in;
    int64_t volume = window->kernel[0] * window->kernel[1] * window->kernel[2], from = 0;

    for (int axis = 0; axis < KERNEL_SPATIAL; axis++) {
        int64_t tap, at;

        volume /= window->kernel[axis];
        tap = k / volume % window->kernel[axis];
        at = s->is_transposed ? place[axis] + window->pad_begin[axis] - tap * window->dilation[axis]
                              : place[axis] * window->stride[axis] - window->pad_begin[axis] +
                                    tap * window->dilation[axis];
        if (at < 0 || (s->is_transposed && at % window->stride[axis] != 0))
            return -1;
        at = s->is_transposed ? at / window->stride[axis] : at;
        if (at >= size[axis])
            return -1;
        from = from * size[axis] + at;
    }
    return from;
}

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    conv_half(void *y, const void *x, const void *w, const void *bias, const void *residual,
              int64_t count, struct kernel_conv_half shape)
{
    const struct kernel_conv *s = &shape.conv;
    const struct kernel_window *window = &s->window;
    const int64_t *in = s->is_transposed ? window->out : window->in;
    const int64_t *out = s->is_transposed ? window->in : window->out;
    int64_t channels = s->channels / s->groups, filters = s->filters / s->groups;
    int64_t volume = window->kernel[0] * window->kernel[1] * window->kernel[2];
    int64_t w_step = s->is_transposed ? filters * volume : s->w_channels_last ? 1 : volume;
    int64_t w_element = s->w_channels_last ? channels : 1;
    struct image strides = image_of(s->filters, out, s->channels_last);
    struct image from = image_of(s->channels, in, s->channels_last);

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        struct place at = place_of(i, s->filters, out, &strides);
        int64_t first = at.c / filters * channels;
        int64_t start = at.n * from.image + first * from.channel;
        int64_t weights = s->is_transposed ? (first * filters + at.c % filters) * volume
                                           : at.c * channels * volume;
        double total = 0.0;

        for (int64_t k = 0; k < volume; k++) {
            int64_t source = conv_source(s, at.o, k);
            float sum = 0.0f;

            for (int64_t c = 0; source >= 0 && c < channels; c++)
                sum = fmaf(
                    get_f32(x, shape.dtype, start + source * from.spatial[2] + c * from.channel),
                    get_f32(w, shape.dtype, weights + k * w_element + c * w_step), sum);
            total += (double)sum;
        }
        total += bias && BUG != 24 ? (double)get_f32(bias, shape.bias_type, at.c) : 0.0;
        total += residual ? (double)get_f32(residual, shape.residual_type, at.at) : 0.0;
        set_f32(y, shape.dtype, at.at, activated((float)total, &s->activation), shape.saturates);
    }
}
KERNEL_EXPORT(conv_half)

/* What comes behind a convolution that another kernel has computed into y. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    conv_end_half(void *y, const void *bias, const void *residual, int64_t count, int64_t channels,
                  int64_t plane, struct kernel_activation activation, int dtype, int bias_type,
                  int residual_type, bool saturates)
{
    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        double total = (double)get_sum(y, dtype, i, saturates);

        total += bias ? (double)get_f32(bias, bias_type, i / plane % channels) : 0.0;
        total += residual ? (double)get_f32(residual, residual_type, i) : 0.0;
        set_f32(y, dtype, i, activated((float)total, &activation), saturates);
    }
}
KERNEL_EXPORT(conv_end_half)

/* Pooling */

struct pooled {
    float maximum;
    double sum;
    int64_t inside, padded; /* elements of the input; of the input and its pads */
};

static __device__ void pool_one(struct pooled *pooled, const float *x, const int64_t *stride,
                                const struct kernel_window *window, const int64_t *o,
                                const int64_t *k)
{
    bool inside = true, padded = true;
    int64_t offset = 0;

    for (int axis = 0; axis < KERNEL_SPATIAL; axis++) {
        int64_t at = window_at(window, axis, o[axis], k[axis]);

        inside = inside && at >= 0;
        padded = padded && o[axis] * window->stride[axis] - window->pad_begin[axis] +
                                   k[axis] * window->dilation[axis] <
                               window->in[axis] + window->pad_end[axis];
        offset += at * stride[axis];
    }
    pooled->padded += padded;
    if (!inside)
        return;
    pooled->inside++;
    pooled->sum += (double)x[offset];
    if (x[offset] > pooled->maximum || x[offset] != x[offset])
        pooled->maximum = x[offset];
}

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    pool_f32(float *y, const float *x, bool is_max, int64_t count, struct kernel_pool shape)
{
    const struct kernel_window *window = &shape.window;
    struct image in = image_of(shape.channels, window->in, shape.channels_last);
    struct image out = image_of(shape.channels, window->out, shape.channels_last);

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        struct place at = place_of(i, shape.channels, window->out, &out);
        struct pooled pooled = {-3.402823466e38f, 0.0, 0, 0};
        int64_t k[KERNEL_SPATIAL], number;

        for (k[0] = 0; k[0] < window->kernel[0]; k[0]++)
            for (k[1] = 0; k[1] < window->kernel[1]; k[1]++)
                for (k[2] = 0; k[2] < window->kernel[2]; k[2]++)
                    pool_one(&pooled, x + at.n * in.image + at.c * in.channel, in.spatial, window,
                             at.o, k);
        number = shape.count_pads || BUG == 11 ? pooled.padded : pooled.inside;
        y[at.at] = is_max ? pooled.maximum : number ? (float)(pooled.sum / (double)number) : 0.0f;
    }
}
KERNEL_EXPORT(pool_f32)

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    lrn_f32(float *y, const float *x, int64_t count, struct kernel_lrn shape)
{
    int64_t before = (shape.size - 1) / 2, after = shape.size / 2;
    int64_t channel = shape.channels_last ? 1 : shape.plane;
    int64_t pixel = shape.channels_last ? shape.channels : 1;

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t p = i % shape.plane, c = i / shape.plane % shape.channels;
        int64_t n = i / shape.plane / shape.channels;
        int64_t first = c > before ? c - before : 0;
        int64_t last = after < shape.channels - c ? c + after : shape.channels - 1;
        const float *from = x + n * shape.channels * shape.plane + p * pixel;
        double sum = 0.0;

        for (int64_t k = first; k <= last; k++)
            sum += (double)from[k * channel] * (double)from[k * channel];
        sum = (double)shape.bias + (double)shape.alpha / (double)shape.size * sum;
        y[from + c * channel - x] =
            (float)((double)from[c * channel] / pow(sum, (double)shape.beta));
    }
}
KERNEL_EXPORT(lrn_f32)
