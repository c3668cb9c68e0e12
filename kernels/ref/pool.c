/* SPDX-License-Identifier: Apache-2.0 */
/* Maximum and average pooling, the truth. */
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

static struct window_result window_reduce(const float *x, const int64_t o[3],
                                          const struct kernel_window *window)
{
    struct window_result result = {.maximum = -FLT_MAX};
    int64_t k[3];

    for (k[0] = 0; k[0] < window->kernel[0]; k[0]++) {
        for (k[1] = 0; k[1] < window->kernel[1]; k[1]++) {
            for (k[2] = 0; k[2] < window->kernel[2]; k[2]++) {
                int64_t at[3];
                bool inside = true, padded = true;
                float value;

                for (int axis = 0; axis < 3; axis++) {
                    at[axis] = ref_window_at(window, axis, o[axis], k[axis]);
                    inside = inside && at[axis] >= 0;
                    padded = padded && is_padded(window, axis, o[axis], k[axis]);
                }
                result.padded += padded;
                if (!inside)
                    continue;
                value = x[(at[0] * window->in[1] + at[1]) * window->in[2] + at[2]];
                result.inside++;
                result.sum += value;
                if (value > result.maximum || isnan(value))
                    result.maximum = value;
            }
        }
    }
    return result;
}

static void pool(float *y, const float *x, const struct kernel_pool *shape, bool maximum)
{
    const struct kernel_window *window = &shape->window;
    int64_t plane = window->in[0] * window->in[1] * window->in[2];
    int64_t o[3];

    for (int64_t p = 0; p < shape->batch * shape->channels; p++, x += plane) {
        for (o[0] = 0; o[0] < window->out[0]; o[0]++) {
            for (o[1] = 0; o[1] < window->out[1]; o[1]++) {
                for (o[2] = 0; o[2] < window->out[2]; o[2]++) {
                    struct window_result result = window_reduce(x, o, window);
                    int64_t count = shape->count_pads ? result.padded : result.inside;

                    if (maximum)
                        *y++ = result.maximum;
                    else
                        *y++ = count ? (float)(result.sum / (double)count) : 0.0f;
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
