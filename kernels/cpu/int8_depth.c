/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of 8-bit integers with filters of one channel each. A band of rows is widened first,
 * its columns sorted by what they leave when divided by the stride: then neighbouring outputs read
 * neighbouring numbers, and a vector of them is summed over the whole window. In f32, which is exact. */
#include "kernels/cpu/int8_depth.h"

#include <string.h>

#include "kernels/cpu/isa.h"

enum {
    LINES = 16 * 1024, /* numbers of a band */
    ACC = 2048,        /* outputs that are summed before they are stored */
    STEP = 64,         /* outputs that are summed together */
    AREA = 256,        /* of a filter: sums of so many products are exact in f32 */
};

struct filter {
    int64_t area, offsets[AREA];
    float weights[AREA];
};

/* How a row lies in a band. */
struct band {
    int64_t phase; /* numbers of columns that leave the same rest */
    int64_t row;   /* numbers of a row */
    int64_t rows;  /* outputs of which all rows fit */
};

static bool plan_band(const struct kernel_window *w, struct band *out_band)
{
    int64_t reach = (w->out[2] - 1) * w->stride[2] + (w->kernel[2] - 1) * w->dilation[2] + 1;
    int64_t high = (w->kernel[1] - 1) * w->dilation[1] + 1, room;

    if (w->out[2] < 1 || w->out[2] > ACC || reach > LINES || w->stride[2] > LINES || high > LINES ||
        w->kernel[1] * w->kernel[2] > AREA)
        return false;
    out_band->phase = (reach - 1) / w->stride[2] + 1 + STEP;
    out_band->row = out_band->phase * w->stride[2];
    room = LINES / out_band->row - high;
    out_band->rows = room < 0 ? 0 : room / w->stride[1] + 1;
    if (out_band->rows > ACC / w->out[2])
        out_band->rows = ACC / w->out[2];
    return out_band->rows > 0;
}

bool int8_depth_fits(const struct kernel_convolve *s)
{
    const struct kernel_window *w = &s->window;
    struct band band;

    return s->channels == s->groups && w->in[0] == 1 && w->kernel[0] == 1 && w->out[0] == 1 &&
           w->pad_begin[0] == 0 && plan_band(w, &band);
}

/* The columns of a row that leave `rest`, without the zero point; pads are 0. */
ISA_BODY void widen_phase(float *restrict line, const uint8_t *restrict x,
                          const struct kernel_window *w, int64_t rest, int64_t count, int32_t zero,
                          bool is_signed)
{
    int64_t stride = w->stride[2], skipped = w->pad_begin[2] - rest;
    int64_t first = skipped > 0 ? (skipped + stride - 1) / stride : 0;
    int64_t end = w->in[2] + skipped > 0 ? (w->in[2] + skipped - 1) / stride + 1 : 0;

    first = first < count ? first : count;
    end = end < count ? end : count;
    end = end > first ? end : first;
    memset(line, 0, (size_t)first * sizeof(*line));
    x -= skipped;
    if (is_signed)
        for (int64_t i = first; i < end; i++)
            line[i] = (float)((int8_t)x[i * stride] - zero);
    else if (stride == 1)
        for (int64_t i = first; i < end; i++)
            line[i] = (float)(x[i] - zero);
    else
        for (int64_t i = first; i < end; i++)
            line[i] = (float)(x[i * stride] - zero);
    memset(line + end, 0, (size_t)(count - end) * sizeof(*line));
}

/* Rows of a plane from `at` on. */
ISA_BODY void widen_band(float *restrict lines, const struct int8_depth *d, const uint8_t *plane,
                         const struct band *band, int64_t at, int64_t rows)
{
    const struct kernel_window *w = &d->shape->window;

    for (int64_t row = at; row < at + rows; row++, lines += band->row) {
        if (row < 0 || row >= w->in[1]) {
            memset(lines, 0, (size_t)band->row * sizeof(*lines));
            continue;
        }
        for (int64_t rest = 0; rest < w->stride[2]; rest++)
            widen_phase(lines + rest * band->phase, plane + row * w->in[2], w, rest, band->phase,
                        d->x_zero, d->shape->x_type == KERNEL_I8);
    }
}

/* As many outputs as eight registers hold, which is what the latency of a sum asks for, or as four or
 * one. Written out, not loops: what a compiler unrolls
 * late stays an array in memory. */
#define SUMS(isa)                                                                                  \
    typedef float vector_##isa                                                                     \
        __attribute__((vector_size(ISA_BYTES_##isa), aligned(4), may_alias));                      \
    typedef int32_t integers_##isa                                                                 \
        __attribute__((vector_size(ISA_BYTES_##isa), aligned(4), may_alias));                      \
                                                                                                   \
    ISA_BODY void store_##isa(int32_t *acc, const vector_##isa *sums)                              \
    {                                                                                              \
        *(integers_##isa *)acc = __builtin_convertvector(*sums, integers_##isa);                   \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void sum_four_##isa(int32_t *acc, const float *lines, const struct filter *filter)    \
    {                                                                                              \
        enum { LANES = ISA_BYTES_##isa / 4 };                                                      \
        vector_##isa a = {0}, b = {0}, c = {0}, d = {0};                                           \
                                                                                                   \
        for (int64_t i = 0; i < filter->area; i++) {                                               \
            const float *x = lines + filter->offsets[i];                                           \
                                                                                                   \
            a += *(const vector_##isa *)x * filter->weights[i];                                    \
            b += *(const vector_##isa *)(x + LANES) * filter->weights[i];                          \
            c += *(const vector_##isa *)(x + 2 * LANES) * filter->weights[i];                      \
            d += *(const vector_##isa *)(x + 3 * LANES) * filter->weights[i];                      \
        }                                                                                          \
        store_##isa(acc, &a);                                                                      \
        store_##isa(acc + LANES, &b);                                                              \
        store_##isa(acc + 2 * LANES, &c);                                                          \
        store_##isa(acc + 3 * LANES, &d);                                                          \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void sum_eight_##isa(int32_t *acc, const float *lines, const struct filter *filter)   \
    {                                                                                              \
        enum { LANES = ISA_BYTES_##isa / 4 };                                                      \
        vector_##isa a = {0}, b = {0}, c = {0}, d = {0}, e = {0}, f = {0}, g = {0}, h = {0};       \
                                                                                                   \
        for (int64_t i = 0; i < filter->area; i++) {                                               \
            const float *x = lines + filter->offsets[i];                                           \
                                                                                                   \
            a += *(const vector_##isa *)x * filter->weights[i];                                    \
            b += *(const vector_##isa *)(x + LANES) * filter->weights[i];                          \
            c += *(const vector_##isa *)(x + 2 * LANES) * filter->weights[i];                      \
            d += *(const vector_##isa *)(x + 3 * LANES) * filter->weights[i];                      \
            e += *(const vector_##isa *)(x + 4 * LANES) * filter->weights[i];                      \
            f += *(const vector_##isa *)(x + 5 * LANES) * filter->weights[i];                      \
            g += *(const vector_##isa *)(x + 6 * LANES) * filter->weights[i];                      \
            h += *(const vector_##isa *)(x + 7 * LANES) * filter->weights[i];                      \
        }                                                                                          \
        store_##isa(acc, &a);                                                                      \
        store_##isa(acc + LANES, &b);                                                              \
        store_##isa(acc + 2 * LANES, &c);                                                          \
        store_##isa(acc + 3 * LANES, &d);                                                          \
        store_##isa(acc + 4 * LANES, &e);                                                          \
        store_##isa(acc + 5 * LANES, &f);                                                          \
        store_##isa(acc + 6 * LANES, &g);                                                          \
        store_##isa(acc + 7 * LANES, &h);                                                          \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void sum_one_##isa(int32_t *acc, const float *lines, const struct filter *filter)     \
    {                                                                                              \
        vector_##isa a = {0};                                                                      \
                                                                                                   \
        for (int64_t i = 0; i < filter->area; i++)                                                 \
            a += *(const vector_##isa *)(lines + filter->offsets[i]) * filter->weights[i];         \
        store_##isa(acc, &a);                                                                      \
    }                                                                                              \
                                                                                                   \
    /* A row of outputs, and up to STEP - 1 beyond it. */                                          \
    ISA_TARGET_##isa static void sum_row_##isa(int32_t *acc, const float *lines,                   \
                                               const struct filter *filter, int64_t count)         \
    {                                                                                              \
        enum { LANES = ISA_BYTES_##isa / 4 };                                                      \
        int64_t o = 0;                                                                             \
                                                                                                   \
        for (; LANES <= 8 && count - o > 4 * LANES; o += 8 * LANES) /* within STEP */              \
            sum_eight_##isa(acc + o, lines + o, filter);                                           \
        for (; count - o > 2 * LANES; o += 4 * LANES)                                              \
            sum_four_##isa(acc + o, lines + o, filter);                                            \
        for (; o < count; o += LANES)                                                              \
            sum_one_##isa(acc + o, lines + o, filter);                                             \
    }

ISA_VERSIONS(SUMS)

typedef void sum_row_fn(int32_t *acc, const float *lines, const struct filter *filter,
                        int64_t count);

static int32_t byte_of(const void *x, int64_t i, bool is_signed)
{
    return is_signed ? ((const int8_t *)x)[i] : ((const uint8_t *)x)[i];
}

/* The filter without its zero point. */
static void widen_filter(struct filter *out_filter, const struct int8_depth *d, int64_t f)
{
    for (int64_t i = 0; i < out_filter->area; i++)
        out_filter->weights[i] =
            (float)(byte_of(d->w, f * out_filter->area + i, d->shape->w_type == KERNEL_I8) -
                    d->w_zero[f]);
}

/* Where an output's elements of the window lie. */
static void find_offsets(struct filter *out_filter, const struct kernel_window *w,
                         const struct band *band)
{
    out_filter->area = 0;
    for (int64_t i = 0; i < w->kernel[1]; i++) {
        for (int64_t j = 0; j < w->kernel[2]; j++) {
            int64_t at = j * w->dilation[2];

            out_filter->offsets[out_filter->area++] = i * w->dilation[1] * band->row +
                                                      at % w->stride[2] * band->phase +
                                                      at / w->stride[2];
        }
    }
}

/* Planes [begin, end) of y. */
ISA_BODY void do_planes(const struct int8_depth *d, int64_t begin, int64_t end,
                        int8_finish_fn *finish, sum_row_fn *sum_row)
{
    const struct kernel_convolve *s = d->shape;
    const struct kernel_window *w = &s->window;
    int64_t in = w->in[1] * w->in[2], multiple = s->filters / s->groups;
    int64_t high = (w->kernel[1] - 1) * w->dilation[1] + 1;
    int32_t acc[ACC + INT8_LINE + STEP] = {0};
    float lines[LINES];
    struct filter filter;
    struct band band;

    plan_band(w, &band);
    find_offsets(&filter, w, &band);
    for (int64_t i = begin; i < end; i++) {
        int64_t f = i % s->filters;
        const uint8_t *plane = d->x + (i / s->filters * s->channels + f / multiple) * in;

        widen_filter(&filter, d, f);
        for (int64_t first = 0; first < w->out[1]; first += band.rows) {
            int64_t count = w->out[1] - first < band.rows ? w->out[1] - first : band.rows;

            widen_band(lines, d, plane, &band, first * w->stride[1] - w->pad_begin[1],
                       (count - 1) * w->stride[1] + high);
            for (int64_t r = 0; r < count; r++)
                sum_row(acc + r * w->out[2], lines + r * w->stride[1] * band.row, &filter,
                        w->out[2]);
            finish(&d->product, f, i * w->out[1] * w->out[2] + first * w->out[2], acc,
                   count * w->out[2]);
        }
    }
}

#define DEPTH(isa)                                                                                 \
    ISA_TARGET_##isa static void depth_##isa(const struct int8_depth *d, int64_t begin,            \
                                             int64_t end)                                          \
    {                                                                                              \
        do_planes(d, begin, end, int8_finish_##isa, sum_row_##isa);                                \
    }

ISA_VERSIONS(DEPTH)

void int8_depth_portable(void *argument, int64_t begin, int64_t end)
{
    const struct int8_depth *d = argument;

    if (int8_depth_few_fits(d->shape))
        int8_depth_few_portable(d, begin, end);
    else
        depth_portable(d, begin, end);
}

#if defined(__x86_64__)

void int8_depth_avx2(void *argument, int64_t begin, int64_t end)
{
    const struct int8_depth *d = argument;

    if (int8_depth_few_fits(d->shape))
        int8_depth_few_avx2(d, begin, end);
    else if (int8_depth_pairs_fits(d->shape))
        int8_depth_pairs(d, begin, end);
    else
        depth_avx2(d, begin, end);
}

void int8_depth_avx512(void *argument, int64_t begin, int64_t end)
{
    const struct int8_depth *d = argument;

    if (int8_depth_few_fits(d->shape))
        int8_depth_few_avx512(d, begin, end);
    else if (int8_depth_takes_bytes(d->shape))
        int8_depth_planes(d, begin, end, depth_avx512);
    else
        depth_avx512(d, begin, end);
}

#endif
