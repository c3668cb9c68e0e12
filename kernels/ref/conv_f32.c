/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution over f32, the truth: one output at a time, summed in f64. */
#include "kernels/kernels.h"
#include "kernels/ref/ref.h"

/* The products of one output at position o, over the channels of one group. x points to the first
 * of them at position 0. */
static double conv_at(const float *x, const float *w, const struct kernel_conv *shape,
                      const int64_t o[3])
{
    const struct kernel_window *window = &shape->window;
    const int64_t *kernel = window->kernel;
    struct ref_strides strides =
        ref_image_strides(shape->channels, window->in, shape->channels_last);
    const int64_t channels = shape->channels / shape->groups;
    const int64_t w_step = shape->w_channels_last ? channels : 1;
    const int64_t w_channel = shape->w_channels_last ? 1 : kernel[0] * kernel[1] * kernel[2];
    double sum = 0.0;

    for (int64_t c = 0; c < channels; c++) {
        const float *at = w + c * w_channel;

        for (int64_t kd = 0; kd < kernel[0]; kd++) {
            int64_t d = ref_window_at(window, 0, o[0], kd);

            for (int64_t kh = 0; kh < kernel[1]; kh++) {
                int64_t h = ref_window_at(window, 1, o[1], kh);

                for (int64_t kw = 0; kw < kernel[2]; kw++, at += w_step) {
                    int64_t v = ref_window_at(window, 2, o[2], kw);

                    if (d >= 0 && h >= 0 && v >= 0)
                        sum += (double)x[c * strides.channel + d * strides.spatial[0] +
                                         h * strides.spatial[1] + v * strides.spatial[2]] *
                               *at;
                }
            }
        }
    }
    return sum;
}

void conv_f32_ref(float *y, const float *x, const float *w, const float *bias,
                  const float *residual, const struct kernel_conv *shape)
{
    const struct kernel_window *window = &shape->window;
    int64_t group_channels = shape->channels / shape->groups;
    int64_t group_filters = shape->filters / shape->groups;
    int64_t w_filter = group_channels * window->kernel[0] * window->kernel[1] * window->kernel[2];
    struct ref_strides in = ref_image_strides(shape->channels, window->in, shape->channels_last);
    struct ref_strides out = ref_image_strides(shape->filters, window->out, shape->channels_last);
    int64_t o[3];

    for (int64_t n = 0; n < shape->batch; n++) {
        for (int64_t f = 0; f < shape->filters; f++) {
            int64_t c = f / group_filters * group_channels;
            const float *group_x = x + n * in.image + c * in.channel;

            for (o[0] = 0; o[0] < window->out[0]; o[0]++) {
                for (o[1] = 0; o[1] < window->out[1]; o[1]++) {
                    for (o[2] = 0; o[2] < window->out[2]; o[2]++) {
                        int64_t at = n * out.image + f * out.channel + o[0] * out.spatial[0] +
                                     o[1] * out.spatial[1] + o[2] * out.spatial[2];
                        double sum = conv_at(group_x, w + f * w_filter, shape, o);

                        sum += bias ? bias[f] : 0.0f;
                        sum += residual ? residual[at] : 0.0f;
                        y[at] = ref_activate((float)sum, &shape->activation);
                    }
                }
            }
        }
    }
}
