/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution at places that move, the truth. */
#include <math.h>

#include "kernels/kernels.h"
#include "kernels/ref/number.h"

/* An element of the window at a place of the output. */
struct spot {
    int64_t n, place, element;
    const int64_t *o, *k;
};

/* Where it reads along an axis of the tensor, moved. */
static double moved_to(const struct kernel_deform_conv_data *d, const struct kernel_deform_conv *s,
                       const struct spot *spot, int64_t offset_group, int axis)
{
    const struct kernel_window *w = &s->window;
    int64_t area = ref_product(w->kernel, KERNEL_SPATIAL);
    int64_t places = ref_product(w->out, KERNEL_SPATIAL);
    int64_t base =
        spot->o[axis] * w->stride[axis] - w->pad_begin[axis] + spot->k[axis] * w->dilation[axis];
    int64_t line = (spot->n * s->offset_groups + offset_group) * area + spot->element;

    if (axis < KERNEL_SPATIAL - s->rank)
        return 0.0;
    line = line * s->rank + axis - (KERNEL_SPATIAL - s->rank);
    return (double)base + ref_get_f64(d->offset, s->dtype, line * places + spot->place);
}

/* What channel c holds there: of the pixels around, those outside are 0. */
static double sample(const struct kernel_deform_conv_data *d, const struct kernel_deform_conv *s,
                     const struct spot *spot, int64_t c)
{
    const int64_t *in = s->window.in;
    int64_t offset_group = c / (s->channels / s->offset_groups), first[KERNEL_SPATIAL];
    int64_t area = ref_product(s->window.kernel, KERNEL_SPATIAL);
    int64_t places = ref_product(s->window.out, KERNEL_SPATIAL);
    int64_t plane = (spot->n * s->channels + c) * ref_product(in, KERNEL_SPATIAL);
    int64_t line = (spot->n * s->offset_groups + offset_group) * area + spot->element;
    double share[KERNEL_SPATIAL], sum = 0.0;

    for (int axis = 0; axis < KERNEL_SPATIAL; axis++) {
        double at = moved_to(d, s, spot, offset_group, axis);

        if (!(at > -1.0 && at < (double)in[axis]))
            return 0.0;
        first[axis] = (int64_t)floor(at);
        share[axis] = at - floor(at);
    }
    for (int corner = 0; corner < 1 << KERNEL_SPATIAL; corner++) {
        double weight = d->mask ? ref_get_f64(d->mask, s->dtype, line * places + spot->place) : 1.0;
        int64_t pixel = 0;

        for (int axis = 0; axis < KERNEL_SPATIAL; axis++) {
            int next = corner >> axis & 1;
            int64_t at = first[axis] + next;

            weight *= at < 0 || at >= in[axis] ? 0.0 : next ? share[axis] : 1.0 - share[axis];
            pixel = pixel * in[axis] + at;
        }
        if (weight != 0.0)
            sum += weight * ref_get_f64(d->x, s->dtype, plane + pixel);
    }
    return sum;
}

static double convolve_at(const struct kernel_deform_conv_data *d,
                          const struct kernel_deform_conv *s, int64_t n, int64_t f, int64_t place,
                          const int64_t *o)
{
    int64_t area = ref_product(s->window.kernel, KERNEL_SPATIAL), k[KERNEL_SPATIAL] = {0};
    int64_t channels = s->channels / s->groups, first = f / (s->filters / s->groups) * channels;
    double sum = d->bias ? ref_get_f64(d->bias, s->dtype, f) : 0.0;

    for (int64_t e = 0; e < area; e++) {
        struct spot spot = {n, place, e, o, k};

        for (int64_t c = 0; c < channels; c++)
            sum += ref_get_f64(d->w, s->dtype, (f * channels + c) * area + e) *
                   sample(d, s, &spot, first + c);
        ref_step(k, s->window.kernel, KERNEL_SPATIAL);
    }
    return sum;
}

void deform_conv_ref(const struct kernel_deform_conv_data *data,
                     const struct kernel_deform_conv *shape)
{
    int64_t places = ref_product(shape->window.out, KERNEL_SPATIAL);

    for (int64_t i = 0; i < shape->batch * shape->filters; i++) {
        int64_t o[KERNEL_SPATIAL] = {0};

        for (int64_t p = 0; p < places; p++) {
            ref_set_f64(data->y, shape->dtype, i * places + p,
                        convolve_at(data, shape, i / shape->filters, i % shape->filters, p, o));
            ref_step(o, shape->window.out, KERNEL_SPATIAL);
        }
    }
}
