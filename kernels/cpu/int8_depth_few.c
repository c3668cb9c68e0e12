/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of 8-bit integers with filters of one channel each and few outputs in a plane: channels lie
 * side by side, and each vector of them is summed over the window of one output, in f32. */
#include "kernels/cpu/int8_depth.h"

#include <string.h>

#include "kernels/cpu/int8_few.h"
#include "kernels/cpu/isa.h"

enum {
    BLOCK = INT8_LINE, /* channels */
    OUTPUTS = 64,
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

/* What an output sees: places of pixels and taps, as vectors of channels. */
struct taps {
    int count;
    int32_t x[TAPS], w[TAPS];
};

struct block {
    const struct int8_depth *d;
    int64_t first, count; /* channels */
    struct taps taps[OUTPUTS];
    float x[PIXELS * BLOCK]; /* without zero points; sums of so few products are exact */
    float w[TAPS * BLOCK];
    int32_t sums[OUTPUTS * BLOCK];
    int32_t y[OUTPUTS * BLOCK]; /* or bytes */
};

/* Pads are the zero point, and count nothing. */
static void find_taps(struct taps *taps, const struct kernel_window *w, int64_t row, int64_t column)
{
    taps->count = 0;
    for (int64_t i = 0; i < w->kernel[1]; i++) {
        int64_t y = row * w->stride[1] + i * w->dilation[1] - w->pad_begin[1];

        for (int64_t j = 0; y >= 0 && y < w->in[1] && j < w->kernel[2]; j++) {
            int64_t x = column * w->stride[2] + j * w->dilation[2] - w->pad_begin[2];

            if (x < 0 || x >= w->in[2])
                continue;
            taps->x[taps->count] = (int32_t)(y * w->in[2] + x) * BLOCK;
            taps->w[taps->count++] = (int32_t)(i * w->kernel[2] + j) * BLOCK;
        }
    }
}

static int64_t taps_of(const struct kernel_convolve *s)
{
    return s->window.kernel[1] * s->window.kernel[2];
}

size_t int8_depth_few_packed(const struct kernel_convolve *s)
{
    return (size_t)((s->filters + BLOCK - 1) / BLOCK * taps_of(s) * BLOCK);
}

/* Filters of a block, those that fill it up being 0. */
static void turn_filters(uint8_t *out, const uint8_t *w, int64_t taps, int64_t count)
{
    memset(out, 0, (size_t)(taps * BLOCK));
    for (int64_t c = 0; c < count; c++)
        for (int64_t i = 0; i < taps; i++)
            out[i * BLOCK + c] = w[c * taps + i];
}

void int8_depth_few_pack(void *packed, const uint8_t *w, const struct kernel_convolve *s)
{
    int64_t taps = taps_of(s);
    uint8_t *out = packed;

    for (int64_t first = 0; first < s->filters; first += BLOCK, out += taps * BLOCK)
        turn_filters(out, w + first * taps, taps,
                     s->filters - first < BLOCK ? s->filters - first : BLOCK);
}

ISA_BODY void widen_filters(float *restrict out, const uint8_t *from, int64_t taps, bool is_signed,
                            const int32_t *zero, int64_t count)
{
    int32_t minus[BLOCK] = {0};

    memcpy(minus, zero, (size_t)count * sizeof(*minus));
    for (int64_t i = 0; i < taps; i++, out += BLOCK, from += BLOCK)
        if (is_signed)
            for (int c = 0; c < BLOCK; c++)
                out[c] = (float)((int8_t)from[c] - minus[c]);
        else
            for (int c = 0; c < BLOCK; c++)
                out[c] = (float)(from[c] - minus[c]);
}

ISA_BODY void widen_pixels(float *restrict out, const uint8_t *restrict from, int64_t pixels,
                           bool is_signed, int32_t zero)
{
    if (is_signed)
        for (int64_t i = 0; i < pixels * BLOCK; i++)
            out[i] = (float)((int8_t)from[i] - zero);
    else
        for (int64_t i = 0; i < pixels * BLOCK; i++)
            out[i] = (float)(from[i] - zero);
}

/* Four vectors of channels at a time. Written out, not loops: what a compiler unrolls late stays an array
 * in memory. */
#define SUMS(isa)                                                                                  \
    typedef float vector_##isa                                                                     \
        __attribute__((vector_size(ISA_BYTES_##isa), aligned(4), may_alias));                      \
    typedef int32_t integers_##isa                                                                 \
        __attribute__((vector_size(ISA_BYTES_##isa), aligned(4), may_alias));                      \
                                                                                                   \
    ISA_TARGET_##isa static void sum_output_##isa(int32_t *sums, const float *x, const float *w,   \
                                                  const struct taps *taps)                         \
    {                                                                                              \
        enum { LANES = ISA_BYTES_##isa / 4 };                                                      \
                                                                                                   \
        for (int64_t at = 0; at < BLOCK; at += 4 * LANES) {                                        \
            vector_##isa a = {0}, b = {0}, c = {0}, d = {0};                                       \
            integers_##isa *to = (integers_##isa *)(sums + at);                                    \
                                                                                                   \
            for (int i = 0; i < taps->count; i++) {                                                \
                const vector_##isa *pixel = (const vector_##isa *)(x + taps->x[i] + at);           \
                const vector_##isa *tap = (const vector_##isa *)(w + taps->w[i] + at);             \
                                                                                                   \
                a += pixel[0] * tap[0];                                                            \
                b += pixel[1] * tap[1];                                                            \
                c += pixel[2] * tap[2];                                                            \
                d += pixel[3] * tap[3];                                                            \
            }                                                                                      \
            to[0] = __builtin_convertvector(a, integers_##isa);                                    \
            to[1] = __builtin_convertvector(b, integers_##isa);                                    \
            to[2] = __builtin_convertvector(c, integers_##isa);                                    \
            to[3] = __builtin_convertvector(d, integers_##isa);                                    \
        }                                                                                          \
    }

ISA_VERSIONS(SUMS)

typedef void sum_output_fn(int32_t *sums, const float *x, const float *w, const struct taps *taps);

/* The planes of these channels of an image. */
ISA_BODY void do_block(struct block *b, int64_t image, int8_finish_rows_fn *finish,
                       sum_output_fn *sum_output)
{
    const struct int8_depth *d = b->d;
    const struct kernel_convolve *s = d->shape;
    const struct kernel_window *w = &s->window;
    int64_t outputs = w->out[1] * w->out[2], pixels = w->in[1] * w->in[2];
    int64_t taps = taps_of(s), plane = image * s->filters + b->first;
    size_t bytes = kernel_dtype_bytes(s->y_type);
    struct int8_product p = d->product;
    const uint8_t *turned = d->packed ? d->packed + b->first * taps : NULL;
    uint8_t room[(PIXELS > TAPS ? PIXELS : TAPS) * BLOCK];

    p.column_bias = p.bias ? p.bias + b->first : NULL;
    p.bias = NULL;
    p.column_scale = d->product.row_scale + b->first;
    p.column_scale_step = 1;
    p.row_scale = &(const double){1.0};
    p.row_scale_step = 0;
    p.y = b->y;
    p.y_line = BLOCK;
    if (!turned || b->first % BLOCK != 0) {
        turn_filters(room, d->w + b->first * taps, taps, b->count);
        turned = room;
    }
    widen_filters(b->w, turned, taps, s->w_type == KERNEL_I8, d->w_zero + b->first, b->count);
    if (b->count < BLOCK) /* whole vectors are summed */
        memset(room, 0, (size_t)(pixels * BLOCK));
    int8_turn_image(room, d->x + plane * pixels, pixels, b->count, BLOCK);
    widen_pixels(b->x, room, pixels, s->x_type == KERNEL_I8, d->x_zero);
    for (int64_t o = 0; o < outputs; o++)
        sum_output(b->sums + o * BLOCK, b->x, b->w, &b->taps[o]);
    finish(&p, 0, outputs, 0, b->count, b->sums);
    int8_turn_back((char *)d->product.y + (size_t)(plane * outputs) * bytes, b->y, outputs,
                   b->count, BLOCK, bytes == 1);
}

ISA_BODY void do_planes(const struct int8_depth *d, int64_t begin, int64_t end,
                        int8_finish_rows_fn *finish, sum_output_fn *sum_output)
{
    const struct kernel_window *w = &d->shape->window;
    int64_t filters = d->shape->filters;
    struct block b;

    b.d = d;
    for (int64_t o = 0; o < w->out[1] * w->out[2]; o++)
        find_taps(&b.taps[o], w, o / w->out[2], o % w->out[2]);
    for (; begin < end; begin += b.count) {
        int64_t left = filters - begin % filters, room = BLOCK - begin % filters % BLOCK;

        left = left < end - begin ? left : end - begin;
        b.first = begin % filters;
        b.count = left < room ? left : room;
        do_block(&b, begin / filters, finish, sum_output);
    }
}

#define FEW(isa)                                                                                   \
    ISA_TARGET_##isa void int8_depth_few_##isa(const struct int8_depth *d, int64_t begin,          \
                                               int64_t end)                                        \
    {                                                                                              \
        do_planes(d, begin, end, int8_finish_rows_##isa, sum_output_##isa);                        \
    }

ISA_VERSIONS(FEW)
