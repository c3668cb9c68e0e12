/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of each channel with what came before, in f32: tap by tap over all steps but the first,
 * which still see the past. Other types are the reference's. */

#include "kernels/cpu/isa.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    STEPS = 1 << 10, /* at a time */
    GRAIN = 1 << 14, /* products that are worth a second thread */
};

struct causal {
    const struct kernel_causal_conv_data *data;
    const struct kernel_causal_conv *shape;
};

/* The last of the past and this call's, one behind the other. */
static void keep(float *present, const float *past, const float *x, int64_t kept, int64_t steps)
{
    for (int64_t t = 0; t < kept; t++) {
        int64_t at = steps + t;

        present[t] = at >= kept ? x[at - kept] : past ? past[at] : 0.0f;
    }
}

/* Steps [begin, end): those that see the past read it through `past`, which may be NULL. */
ISA_BODY void convolve(float *restrict y, const float *x, const float *past, const float *w,
                       float bias, int64_t taps, int64_t begin, int64_t end)
{
    for (int64_t t = begin; t < end; t++)
        y[t] = bias;
    for (int64_t j = 0; j < taps; j++) {
        int64_t back = taps - 1 - j, first = begin < back ? back : begin;
        float weight = w[j];

        for (int64_t t = begin; past && t < end && t < back; t++)
            y[t] += weight * past[t + j];
#pragma omp simd
        for (int64_t t = first; t < end; t++)
            y[t] += weight * x[t - back];
    }
}

ISA_BODY void do_rows(const struct causal *a, int64_t begin_row, int64_t end_row)
{
    const struct kernel_causal_conv *s = a->shape;
    const struct kernel_causal_conv_data *d = a->data;
    int64_t kept = s->taps - 1;

    for (int64_t row = begin_row; row < end_row; row++) {
        const float *x = (const float *)d->x + row * s->steps, *bias = d->bias;
        const float *past = d->past ? (const float *)d->past + row * kept : NULL;
        const float *w = (const float *)d->w + row % s->channels * s->taps;
        float *y = (float *)d->y + row * s->steps;

        for (int64_t begin = 0; begin < s->steps; begin += STEPS) {
            int64_t end = s->steps - begin < STEPS ? s->steps : begin + STEPS;

            convolve(y, x, past, w, bias ? bias[row % s->channels] : 0.0f, s->taps, begin, end);
#pragma omp simd
            for (int64_t t = begin; t < (s->is_swish ? end : begin); t++)
                y[t] *= math_sigmoid(y[t]);
        }
        if (d->present)
            keep((float *)d->present + row * kept, past, x, kept, s->steps);
    }
}

#define CAUSAL_CONV(isa)                                                                           \
    ISA_TARGET_##isa static void rows_##isa(void *argument, int64_t begin, int64_t end)            \
    {                                                                                              \
        do_rows(argument, begin, end);                                                             \
    }                                                                                              \
                                                                                                   \
    void causal_conv_##isa(const struct kernel_causal_conv_data *data,                             \
                           const struct kernel_causal_conv *shape)                                 \
    {                                                                                              \
        struct causal a = {data, shape};                                                           \
                                                                                                   \
        if (shape->dtype == KERNEL_F32)                                                            \
            team_for(shape->batch * shape->channels, GRAIN / (shape->steps * shape->taps + 1) + 1, \
                     rows_##isa, &a);                                                              \
        else                                                                                       \
            causal_conv_ref(data, shape);                                                          \
    }

ISA_VERSIONS(CAUSAL_CONV)
