/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of every type and their transposes, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"
#include "kernels/ref/ref.h"

#include <math.h>

/* A window element that lies inside of the input. */
struct tap {
    int64_t x, w; /* from the first element of the image and of the kernel */
};

/* Element k of the window at output o. Returns false outside. */
static bool find_tap(const struct kernel_window *window, const int64_t o[3], const int64_t k[3],
                     struct tap *out_tap)
{
    out_tap->x = out_tap->w = 0;
    for (int axis = 0; axis < KERNEL_SPATIAL; axis++) {
        int64_t at = ref_window_at(window, axis, o[axis], k[axis]);

        if (at < 0)
            return false;
        out_tap->x = out_tap->x * window->in[axis] + at;
        out_tap->w = out_tap->w * window->kernel[axis] + k[axis];
    }
    return true;
}

static int64_t zero_of(const void *zero, enum kernel_dtype dtype, int64_t i)
{
    return zero && !kernel_dtype_is_real(dtype) ? ref_get_i64(zero, dtype, i) : 0;
}

/* Both sums of one output; the one that the type needs is right. */
struct sums {
    double real;
    uint64_t integer;
};

static struct sums convolve_at(const struct kernel_convolve_data *d,
                               const struct kernel_convolve *s, int64_t n, int64_t f,
                               const int64_t o[3])
{
    int64_t group_channels = s->channels / s->groups;
    int64_t plane = ref_product(s->window.in, KERNEL_SPATIAL);
    int64_t area = ref_product(s->window.kernel, KERNEL_SPATIAL);
    int64_t first = n * s->channels + f / (s->filters / s->groups) * group_channels;
    int64_t x_zero = zero_of(d->x_zero, s->x_type, 0);
    int64_t w_zero = zero_of(d->w_zero, s->w_type, s->has_filter_zeros ? f : 0);
    bool is_real = kernel_dtype_is_real(s->x_type);
    int64_t k[KERNEL_SPATIAL] = {0};
    struct sums sums = {0.0, 0};

    do {
        struct tap tap;

        if (!find_tap(&s->window, o, k, &tap))
            continue;
        for (int64_t c = 0; c < group_channels; c++) {
            int64_t x = (first + c) * plane + tap.x, w = (f * group_channels + c) * area + tap.w;

            if (s->channels_last)
                x = (n * plane + tap.x) * s->channels + first + c - n * s->channels;

            if (is_real)
                sums.real += ref_get_f64(d->x, s->x_type, x) * ref_get_f64(d->w, s->w_type, w);
            else
                sums.integer += (uint64_t)(ref_get_i64(d->x, s->x_type, x) - x_zero) *
                                (uint64_t)(ref_get_i64(d->w, s->w_type, w) - w_zero);
        }
    } while (ref_step(k, s->window.kernel, KERNEL_SPATIAL));
    return sums;
}

static void store(const struct kernel_convolve_data *d, const struct kernel_convolve *s, int64_t at,
                  int64_t f, struct sums sums)
{
    if (kernel_dtype_is_real(s->x_type)) {
        sums.real += d->bias ? ref_get_f64(d->bias, s->bias_type, f) : 0.0;
        ref_set_f64(d->y, s->y_type, at, sums.real);
        return;
    }
    sums.integer += d->bias ? (uint64_t)ref_get_i64(d->bias, s->bias_type, f) : 0;
    if (!d->y_scale) {
        ref_set_i64(d->y, s->y_type, at, (int64_t)sums.integer);
        return;
    }
    sums.real = (double)(int64_t)sums.integer * ref_get_f64(d->x_scale, s->scale_type, 0) *
                ref_get_f64(d->w_scale, s->scale_type, s->has_filter_scales ? f : 0) /
                ref_get_f64(d->y_scale, s->scale_type, 0);
    ref_set_f64(d->y, s->y_type, at,
                nearbyint(sums.real) + (double)zero_of(d->y_zero, s->y_type, 0));
}

void convolve_ref(const struct kernel_convolve_data *data, const struct kernel_convolve *shape)
{
    int64_t plane = ref_product(shape->window.out, KERNEL_SPATIAL);

    for (int64_t i = 0; i < shape->batch * shape->filters; i++) {
        int64_t n = i / shape->filters, f = i % shape->filters;
        int64_t o[KERNEL_SPATIAL] = {0};

        for (int64_t p = 0; p < plane; p++) {
            int64_t at =
                shape->channels_last ? (n * plane + p) * shape->filters + f : i * plane + p;

            store(data, shape, at, f, convolve_at(data, shape, n, f, o));
            ref_step(o, shape->window.out, KERNEL_SPATIAL);
        }
    }
}

/* The output of the convolution, the transpose's input, whose element k reads y's place; -1: none.
 */
static int64_t source(const struct kernel_window *window, int axis, int64_t place, int64_t k)
{
    int64_t from = place + window->pad_begin[axis] - k * window->dilation[axis];

    if (from < 0 || from % window->stride[axis] != 0)
        return -1;
    from /= window->stride[axis];
    return from < window->out[axis] ? from : -1;
}

static double transpose_at(const void *x, const void *w, const struct kernel_conv_transpose *s,
                           int64_t n, int64_t f, const int64_t place[3])
{
    const struct kernel_window *window = &s->window;
    int64_t group_filters = s->filters / s->groups, group_channels = s->channels / s->groups;
    int64_t plane = ref_product(window->out, KERNEL_SPATIAL);
    int64_t area = ref_product(window->kernel, KERNEL_SPATIAL);
    int64_t first = f / group_filters * group_channels;
    int64_t k[KERNEL_SPATIAL] = {0};
    double sum = 0.0;

    do {
        int64_t x_at = 0, w_at = 0;
        bool is_inside = true;

        for (int axis = 0; axis < KERNEL_SPATIAL; axis++) {
            int64_t from = source(window, axis, place[axis], k[axis]);

            is_inside = is_inside && from >= 0;
            x_at = x_at * window->out[axis] + from;
            w_at = w_at * window->kernel[axis] + k[axis];
        }
        for (int64_t c = first; is_inside && c < first + group_channels; c++)
            sum += ref_get_f64(x, s->dtype, (n * s->channels + c) * plane + x_at) *
                   ref_get_f64(w, s->dtype, (c * group_filters + f % group_filters) * area + w_at);
    } while (ref_step(k, window->kernel, KERNEL_SPATIAL));
    return sum;
}

void conv_transpose_ref(void *y, const void *x, const void *w, const void *bias,
                        const struct kernel_conv_transpose *shape)
{
    int64_t plane = ref_product(shape->window.in, KERNEL_SPATIAL);

    for (int64_t i = 0; i < shape->batch * shape->filters; i++) {
        int64_t n = i / shape->filters, f = i % shape->filters;
        int64_t place[KERNEL_SPATIAL] = {0};

        for (int64_t p = 0; p < plane; p++) {
            double sum = transpose_at(x, w, shape, n, f, place);

            sum += bias ? ref_get_f64(bias, shape->dtype, f) : 0.0;
            ref_set_f64(y, shape->dtype, i * plane + p, sum);
            ref_step(place, shape->window.in, KERNEL_SPATIAL);
        }
    }
}
