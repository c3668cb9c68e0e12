/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of 8-bit integers with filters of one channel each and few outputs in a plane: channels lie
 * side by side, and each vector of them is summed over the window of one output. */
#include "kernels/cpu/int8_depth.h"

#include <string.h>

#include "kernels/cpu/isa.h"

enum {
    BLOCK = INT8_LINE, /* channels */
    OUTPUTS = 16,
    PIXELS = 256,
    TAPS = 49,
};

bool int8_depth_few_fits(const struct kernel_convolve *s)
{
    const struct kernel_window *w = &s->window;

    return s->filters == s->groups && w->in[1] <= PIXELS && w->in[2] <= PIXELS &&
           w->in[1] * w->in[2] <= PIXELS && w->out[1] <= OUTPUTS && w->out[2] <= OUTPUTS &&
           w->out[1] * w->out[2] <= OUTPUTS && w->kernel[1] <= TAPS && w->kernel[2] <= TAPS &&
           w->kernel[1] * w->kernel[2] <= TAPS;
}

struct block {
    const struct int8_depth *d;
    int64_t first, count;      /* channels */
    int16_t x[PIXELS * BLOCK]; /* without zero points */
    int16_t w[TAPS * BLOCK];
    int32_t sums[OUTPUTS * BLOCK];
    int32_t y[OUTPUTS * BLOCK]; /* or bytes */
};

/* Numbers of each channel become columns; zero: of each, or one for all. */
ISA_BODY void turn(int16_t *restrict out, const uint8_t *from, int64_t numbers, int64_t channels,
                   bool is_signed, const int32_t *zero, int64_t zero_step)
{
    for (int64_t c = 0; c < channels; c++, from += numbers) {
        int32_t minus = zero[c * zero_step];

        if (is_signed)
            for (int64_t i = 0; i < numbers; i++)
                out[i * BLOCK + c] = (int16_t)((int8_t)from[i] - minus);
        else
            for (int64_t i = 0; i < numbers; i++)
                out[i * BLOCK + c] = (int16_t)(from[i] - minus);
    }
}

ISA_BODY void add_tap(int32_t *restrict sums, const int16_t *restrict x, const int16_t *restrict w)
{
    for (int c = 0; c < BLOCK; c++)
        sums[c] += (int32_t)x[c] * (int32_t)w[c];
}

/* Pads are the zero point, and count nothing. */
ISA_BODY void sum_output(struct block *b, int64_t row, int64_t column, int32_t *sums)
{
    const struct kernel_window *w = &b->d->shape->window;

    memset(sums, 0, BLOCK * sizeof(*sums));
    for (int64_t i = 0; i < w->kernel[1]; i++) {
        int64_t y = row * w->stride[1] + i * w->dilation[1] - w->pad_begin[1];

        for (int64_t j = 0; y >= 0 && y < w->in[1] && j < w->kernel[2]; j++) {
            int64_t x = column * w->stride[2] + j * w->dilation[2] - w->pad_begin[2];

            if (x >= 0 && x < w->in[2])
                add_tap(sums, b->x + (y * w->in[2] + x) * BLOCK,
                        b->w + (i * w->kernel[2] + j) * BLOCK);
        }
    }
}

static void turn_back(const struct block *b, char *y, int64_t outputs, size_t bytes)
{
    for (int64_t c = 0; c < b->count; c++)
        for (int64_t o = 0; o < outputs; o++, y += bytes)
            memcpy(y, (const char *)b->y + (size_t)(o * BLOCK + c) * bytes, bytes);
}

/* The planes of these channels of an image. */
ISA_BODY void do_block(struct block *b, int64_t image, int8_finish_rows_fn *finish)
{
    const struct int8_depth *d = b->d;
    const struct kernel_convolve *s = d->shape;
    const struct kernel_window *w = &s->window;
    int64_t outputs = w->out[1] * w->out[2], pixels = w->in[1] * w->in[2];
    int64_t taps = w->kernel[1] * w->kernel[2], plane = image * s->filters + b->first;
    size_t bytes = kernel_dtype_bytes(s->y_type);
    struct int8_product p = d->product;

    if (b->count < BLOCK) { /* whole vectors are summed */
        memset(b->x, 0, (size_t)(pixels * BLOCK) * sizeof(*b->x));
        memset(b->w, 0, (size_t)(taps * BLOCK) * sizeof(*b->w));
    }
    p.column_bias = p.bias ? p.bias + b->first : NULL;
    p.bias = NULL;
    p.column_scale = d->product.row_scale + b->first;
    p.column_scale_step = 1;
    p.row_scale = &(const double){1.0};
    p.row_scale_step = 0;
    p.y = b->y;
    p.y_line = BLOCK;
    turn(b->x, d->x + plane * pixels, pixels, b->count, s->x_type == KERNEL_I8, &d->x_zero, 0);
    turn(b->w, d->w + b->first * taps, taps, b->count, s->w_type == KERNEL_I8, d->w_zero + b->first,
         1);
    for (int64_t o = 0; o < outputs; o++)
        sum_output(b, o / w->out[2], o % w->out[2], b->sums + o * BLOCK);
    finish(&p, 0, outputs, 0, b->count, b->sums);
    turn_back(b, (char *)d->product.y + (size_t)(plane * outputs) * bytes, outputs, bytes);
}

ISA_BODY void do_planes(const struct int8_depth *d, int64_t begin, int64_t end,
                        int8_finish_rows_fn *finish)
{
    int64_t filters = d->shape->filters;
    struct block b;

    b.d = d;
    for (; begin < end; begin += b.count) {
        int64_t left = filters - begin % filters;

        left = left < end - begin ? left : end - begin;
        b.first = begin % filters;
        b.count = left < BLOCK ? left : BLOCK;
        do_block(&b, begin / filters, finish);
    }
}

#define FEW(isa)                                                                                   \
    ISA_TARGET_##isa void int8_depth_few_##isa(const struct int8_depth *d, int64_t begin,          \
                                               int64_t end)                                        \
    {                                                                                              \
        do_planes(d, begin, end, int8_finish_rows_##isa);                                          \
    }

ISA_VERSIONS(FEW)
