/* SPDX-License-Identifier: Apache-2.0 */
/* Maximum and average pooling over f32, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/ref.h"

#include <float.h>
#include <math.h>

struct window_result {
    float maximum;
    double sum;
    int64_t inside; /* elements of the input */
    int64_t padded; /* elements of the input and its pads */
};

/* Whether window element k of output o lies in the input or its pads. */
static bool is_padded(const struct kernel_window *window, int axis, int64_t o, int64_t k)
{
    int64_t at = o * window->stride[axis] - window->pad_begin[axis] + k * window->dilation[axis];

    return at < window->in[axis] + window->pad_end[axis];
}

/* x points to the channel's element at position 0. */
static struct window_result window_reduce(const float *x, const struct ref_strides *strides,
                                          const int64_t o[3], const struct kernel_window *window)
{
    struct window_result result = {.maximum = -FLT_MAX};
    int64_t k[3];

    for (k[0] = 0; k[0] < window->kernel[0]; k[0]++) {
        for (k[1] = 0; k[1] < window->kernel[1]; k[1]++) {
            for (k[2] = 0; k[2] < window->kernel[2]; k[2]++) {
                bool inside = true, padded = true;
                int64_t offset = 0;

                for (int axis = 0; axis < 3; axis++) {
                    int64_t at = ref_window_at(window, axis, o[axis], k[axis]);

                    inside = inside && at >= 0;
                    padded = padded && is_padded(window, axis, o[axis], k[axis]);
                    offset += at * strides->spatial[axis];
                }
                result.padded += padded;
                if (!inside)
                    continue;
                result.inside++;
                result.sum += x[offset];
                if (x[offset] > result.maximum || isnan(x[offset]))
                    result.maximum = x[offset];
            }
        }
    }
    return result;
}

static void pool(float *y, const float *x, const struct kernel_pool *shape, bool maximum)
{
    const struct kernel_window *window = &shape->window;
    struct ref_strides in = ref_image_strides(shape->channels, window->in, shape->channels_last);
    struct ref_strides out = ref_image_strides(shape->channels, window->out, shape->channels_last);
    int64_t o[3];

    for (int64_t p = 0; p < shape->batch * shape->channels; p++) {
        int64_t n = p / shape->channels, c = p % shape->channels;
        const float *channel_x = x + n * in.image + c * in.channel;
        float *channel_y = y + n * out.image + c * out.channel;

        for (o[0] = 0; o[0] < window->out[0]; o[0]++) {
            for (o[1] = 0; o[1] < window->out[1]; o[1]++) {
                for (o[2] = 0; o[2] < window->out[2]; o[2]++) {
                    struct window_result result = window_reduce(channel_x, &in, o, window);
                    int64_t count = shape->count_pads ? result.padded : result.inside;
                    float average = count ? (float)(result.sum / (double)count) : 0.0f;

                    channel_y[o[0] * out.spatial[0] + o[1] * out.spatial[1] +
                              o[2] * out.spatial[2]] = maximum ? result.maximum : average;
                }
            }
        }
    }
}

void max_pool_f32_ref(float *y, const float *x, const struct kernel_pool *shape)
{
    pool(y, x, shape, true);
}

void average_pool_f32_ref(float *y, const float *x, const struct kernel_pool *shape)
{
    pool(y, x, shape, false);
}
