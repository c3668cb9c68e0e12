/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of each channel with what came before, the truth. */
#include <math.h>

#include "kernels/kernels.h"
#include "kernels/ref/number.h"

/* Element t of the past and this call's, one behind the other. */
static double element(const struct kernel_causal_conv_data *d, const struct kernel_causal_conv *s,
                      int64_t row, int64_t t)
{
    if (t >= s->taps - 1)
        return ref_get_f64(d->x, s->dtype, row * s->steps + t - (s->taps - 1));
    return d->past ? ref_get_f64(d->past, s->dtype, row * (s->taps - 1) + t) : 0.0;
}

void causal_conv_ref(const struct kernel_causal_conv_data *data,
                     const struct kernel_causal_conv *shape)
{
    int64_t kept = shape->taps - 1;

    for (int64_t row = 0; row < shape->batch * shape->channels; row++) {
        int64_t c = row % shape->channels;

        for (int64_t t = 0; t < shape->steps; t++) {
            double sum = data->bias ? ref_get_f64(data->bias, shape->dtype, c) : 0.0;

            for (int64_t j = 0; j < shape->taps; j++)
                sum += ref_get_f64(data->w, shape->dtype, c * shape->taps + j) *
                       element(data, shape, row, t + j);
            ref_set_f64(data->y, shape->dtype, row * shape->steps + t,
                        shape->is_swish ? sum / (1.0 + exp(-sum)) : sum);
        }
        for (int64_t t = 0; data->present && t < kept; t++)
            ref_set_f64(data->present, shape->dtype, row * kept + t,
                        element(data, shape, row, shape->steps + t));
    }
}
