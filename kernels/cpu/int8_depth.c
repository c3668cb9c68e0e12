/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of 8-bit integers with filters of one channel each: element by element of the window,
 * rows of outputs at a time. */
#include "kernels/cpu/int8_depth.h"

#include <string.h>

#include "kernels/cpu/isa.h"

enum {
    WIDE = 4096, /* pixels of a row with its pads */
    ACC = 2048,  /* outputs that are summed before they are stored */
};

static int64_t reach_of(const struct kernel_window *w)
{
    return (w->out[2] - 1) * w->stride[2] + (w->kernel[2] - 1) * w->dilation[2] + 1;
}

bool int8_depth_fits(const struct kernel_convolve *s)
{
    const struct kernel_window *w = &s->window;

    return s->channels == s->groups && w->in[0] == 1 && w->kernel[0] == 1 && w->out[0] == 1 &&
           w->pad_begin[0] == 0 && w->out[2] >= 1 && w->out[2] <= ACC && reach_of(w) <= WIDE;
}

/* A row of x without its zero point; pads are 0. */
ISA_BODY void widen_line(int16_t *restrict line, const uint8_t *restrict x, int64_t size,
                         int64_t pad, int64_t reach, int32_t zero, bool is_signed)
{
    int64_t first = pad < reach ? pad : reach, end = pad + size < reach ? pad + size : reach;

    first = first > 0 ? first : 0;
    end = end > first ? end : first;
    memset(line, 0, (size_t)first * sizeof(*line));
    if (is_signed)
        for (int64_t i = first; i < end; i++)
            line[i] = (int16_t)((int8_t)x[i - pad] - zero);
    else
        for (int64_t i = first; i < end; i++)
            line[i] = (int16_t)(x[i - pad] - zero);
    memset(line + end, 0, (size_t)(reach - end) * sizeof(*line));
}

ISA_BODY void add_tap(int32_t *restrict acc, const int16_t *restrict line, int64_t count,
                      int64_t stride, int32_t weight)
{
    if (stride == 1)
        for (int64_t o = 0; o < count; o++)
            acc[o] += weight * line[o];
    else if (stride == 2)
        for (int64_t o = 0; o < count; o++)
            acc[o] += weight * line[2 * o];
    else
        for (int64_t o = 0; o < count; o++)
            acc[o] += weight * line[o * stride];
}

static int32_t byte_of(const void *x, int64_t i, bool is_signed)
{
    return is_signed ? ((const int8_t *)x)[i] : ((const uint8_t *)x)[i];
}

/* Row `oh` of one filter's outputs. */
ISA_BODY void sum_row(const struct int8_depth *d, const uint8_t *plane, int64_t f, int64_t oh,
                      int32_t *restrict acc)
{
    const struct kernel_convolve *s = d->shape;
    const struct kernel_window *w = &s->window;
    int64_t reach = reach_of(w), area = w->kernel[1] * w->kernel[2];
    int16_t line[WIDE];

    memset(acc, 0, (size_t)w->out[2] * sizeof(*acc));
    for (int64_t i = 0; i < w->kernel[1]; i++) {
        int64_t row = oh * w->stride[1] - w->pad_begin[1] + i * w->dilation[1];

        if (row < 0 || row >= w->in[1])
            continue;
        widen_line(line, plane + row * w->in[2], w->in[2], w->pad_begin[2], reach, d->x_zero,
                   s->x_type == KERNEL_I8);
        for (int64_t j = 0; j < w->kernel[2]; j++) {
            int32_t weight = byte_of(d->w, f * area + i * w->kernel[2] + j, s->w_type == KERNEL_I8);

            add_tap(acc, line + j * w->dilation[2], w->out[2], w->stride[2], weight - d->w_zero[f]);
        }
    }
}

/* Planes [begin, end) of y. */
ISA_BODY void do_planes(const struct int8_depth *d, int64_t begin, int64_t end,
                        int8_finish_fn *finish)
{
    const struct kernel_convolve *s = d->shape;
    const struct kernel_window *w = &s->window;
    int64_t in = w->in[1] * w->in[2], rows = ACC / w->out[2], multiple = s->filters / s->groups;
    int32_t acc[ACC + INT8_LINE] = {0};

    for (int64_t i = begin; i < end; i++) {
        int64_t f = i % s->filters;
        const uint8_t *plane = d->x + (i / s->filters * s->channels + f / multiple) * in;

        for (int64_t first = 0; first < w->out[1]; first += rows) {
            int64_t count = w->out[1] - first < rows ? w->out[1] - first : rows;

            for (int64_t r = 0; r < count; r++)
                sum_row(d, plane, f, first + r, acc + r * w->out[2]);
            finish(&d->product, f, i * w->out[1] * w->out[2] + first * w->out[2], acc,
                   count * w->out[2]);
        }
    }
}

#define DEPTH(isa)                                                                                 \
    ISA_TARGET_##isa void int8_depth_##isa(void *argument, int64_t begin, int64_t end)             \
    {                                                                                              \
        do_planes(argument, begin, end, int8_finish_##isa);                                        \
    }

ISA_VERSIONS(DEPTH)
