/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of row-major images: a row of outputs at a time, tap by tap. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_POOL_ROWS_H
#define OPTRACE_KERNELS_CPU_POOL_ROWS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/isa.h"
#include "kernels/window.h"

/** a / b; b is mostly 1, and processors take their time to find out. */
static inline int64_t pool_quotient(int64_t a, int64_t b)
{
    return b == 1 ? a : a / b;
}

/** The part of the window that lies inside, on one axis: elements [first, end). */
struct pool_span {
    int64_t first, end;
};

static inline struct pool_span pool_inside(const struct kernel_window *window, int axis, int64_t o)
{
    int64_t at = o * window->stride[axis] - window->pad_begin[axis];
    int64_t step = window->dilation[axis], count = window->kernel[axis];
    struct pool_span span = {at < 0 ? pool_quotient(-at + step - 1, step) : 0, count};

    if (at + (count - 1) * step >= window->in[axis])
        span.end = window->in[axis] > at ? pool_quotient(window->in[axis] - 1 - at, step) + 1 : 0;
    if (span.first > span.end)
        span.first = span.end;
    return span;
}

/** Outputs [first, end) of a row whose element at `offset` from their place is inside. */
static inline struct pool_span pool_outputs(const struct kernel_window *w, int64_t offset)
{
    int64_t stride = w->stride[2];
    struct pool_span span = {offset < 0 ? pool_quotient(-offset + stride - 1, stride) : 0,
                             w->out[2]};

    if ((w->out[2] - 1) * stride + offset >= w->in[2])
        span.end = offset < w->in[2] ? pool_quotient(w->in[2] - 1 - offset, stride) + 1 : 0;
    if (span.first > span.end)
        span.first = span.end;
    return span;
}

/** Whether there is one output, of all that a plane holds. */
static inline bool pool_is_whole(const struct kernel_window *w)
{
    for (int axis = 0; axis < KERNEL_SPATIAL; axis++)
        if (w->out[axis] != 1 || w->kernel[axis] != w->in[axis] || w->pad_begin[axis] != 0 ||
            w->dilation[axis] != 1)
            return false;
    return true;
}

#define POOL_MAXIMUM(a, b) ((a) > (b) ? (a) : (b))
#define POOL_SUM(a, b)     ((a) + (b))

enum { POOL_WIDE = 2048 }; /* elements of a row that is gathered first */

/** name_taps(): y[out] = op over the window of each output along a row x of the image. */
#define POOL_TAPS(name, type, op)                                                                  \
    ISA_BODY void name##_tap(type *restrict y, const type *restrict x, int64_t stride,             \
                             int64_t first, int64_t end)                                           \
    {                                                                                              \
        if (stride == 1)                                                                           \
            for (int64_t o = first; o < end; o++)                                                  \
                y[o] = op(y[o], x[o]);                                                             \
        else if (stride == 2)                                                                      \
            for (int64_t o = first; o < end; o++)                                                  \
                y[o] = op(y[o], x[2 * o]);                                                         \
        else                                                                                       \
            for (int64_t o = first; o < end; o++)                                                  \
                y[o] = op(y[o], x[o * stride]);                                                    \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void name##_taps(type *restrict y, const type *restrict x,                            \
                              const struct kernel_window *w)                                       \
    {                                                                                              \
        for (int64_t k = 0; k < w->kernel[2]; k++) {                                               \
            int64_t offset = k * w->dilation[2] - w->pad_begin[2];                                 \
            struct pool_span outputs = pool_outputs(w, offset);                                    \
                                                                                                   \
            name##_tap(y, x + offset, w->stride[2], outputs.first, outputs.end);                   \
        }                                                                                          \
    }

/** name_row(): y[out] = op over the window of each output of the row (od, oh) of a plane. Rows that
 *  are not too long go down first, whole: what is along them is then done once. */
#define POOL_ROW(name, type, op, lowest)                                                           \
    POOL_TAPS(name, type, op)                                                                      \
                                                                                                   \
    ISA_BODY void name##_row(type *restrict y, const type *restrict plane,                         \
                             const struct kernel_window *w, int64_t od, int64_t oh)                \
    {                                                                                              \
        struct pool_span deep = pool_inside(w, 0, od), high = pool_inside(w, 1, oh);               \
        int64_t at_d = od * w->stride[0] - w->pad_begin[0];                                        \
        int64_t at_h = oh * w->stride[1] - w->pad_begin[1];                                        \
        bool is_first = true, is_wide = w->in[2] > POOL_WIDE;                                      \
        type line[POOL_WIDE];                                                                      \
                                                                                                   \
        for (int64_t o = 0; o < w->out[2]; o++)                                                    \
            y[o] = lowest;                                                                         \
        for (int64_t d = deep.first; d < deep.end; d++) {                                          \
            for (int64_t h = high.first; h < high.end; h++) {                                      \
                const type *x =                                                                    \
                    plane + ((at_d + d * w->dilation[0]) * w->in[1] + at_h + h * w->dilation[1]) * \
                                w->in[2];                                                          \
                                                                                                   \
                if (is_wide)                                                                       \
                    name##_taps(y, x, w);                                                          \
                else if (is_first)                                                                 \
                    memcpy(line, x, (size_t)w->in[2] * sizeof(*line));                             \
                else                                                                               \
                    name##_tap(line, x, 1, 0, w->in[2]);                                           \
                is_first = false;                                                                  \
            }                                                                                      \
        }                                                                                          \
        if (!is_first && !is_wide)                                                                 \
            name##_taps(y, line, w);                                                               \
    }

/* Pixels of many channels: a window reaches over none of these. */

enum {
    PIXEL_LEAST = 8,       /* channels */
    PIXELS_MOST = 1 << 14, /* elements of a row of pixels */
};

static inline bool pool_has_pixels(const struct kernel_window *w)
{
    return w->kernel[2] == 1 && w->stride[2] == 1 && w->pad_begin[2] == 0 &&
           w->out[2] == w->in[2] && w->in[2] >= PIXEL_LEAST && w->in[1] <= PIXELS_MOST / w->in[2];
}

/** name_pixels(): pixels [begin, end) of row od of y. Rows of the image go down first, whole, then pixels along what
 *  came of them. After POOL_ROW(). */
#define POOL_PIXELS(name, type, op, lowest)                                                        \
    ISA_BODY void name##_pixel(type *restrict y, const type *restrict x, int64_t channels,         \
                               int64_t step, int64_t count)                                        \
    {                                                                                              \
        if (count == 0)                                                                            \
            for (int64_t c = 0; c < channels; c++)                                                 \
                y[c] = lowest;                                                                     \
        else if (count == 3)                                                                       \
            for (int64_t c = 0; c < channels; c++)                                                 \
                y[c] = op(op(x[c], x[c + step]), x[c + 2 * step]);                                 \
        else                                                                                       \
            memcpy(y, x, (size_t)channels * sizeof(*y));                                           \
        for (int64_t k = 1; k < count && count != 3; k++)                                          \
            name##_tap(y, x + k * step, 1, 0, channels);                                           \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void name##_pixels(type *restrict y, const type *restrict plane,                      \
                                const struct kernel_window *w, int64_t od, int64_t begin,          \
                                int64_t end)                                                       \
    {                                                                                              \
        struct pool_span deep = pool_inside(w, 0, od);                                             \
        int64_t channels = w->in[2], count = w->in[1] * channels;                                  \
        int64_t first = od * w->stride[0] - w->pad_begin[0] + deep.first * w->dilation[0];         \
        type line[PIXELS_MOST];                                                                    \
                                                                                                   \
        if (deep.first < deep.end)                                                                 \
            name##_pixel(line, plane + first * count, count, w->dilation[0] * count,               \
                         deep.end - deep.first);                                                   \
        for (int64_t o = begin; o < end; o++) {                                                    \
            struct pool_span across = pool_inside(w, 1, o);                                        \
            int64_t at = o * w->stride[1] - w->pad_begin[1] + across.first * w->dilation[1];       \
            int64_t taps = deep.first < deep.end ? across.end - across.first : 0;                  \
                                                                                                   \
            name##_pixel(y + o * channels, line + (taps > 0 ? at * channels : 0), channels,        \
                         w->dilation[1] * channels, taps);                                         \
        }                                                                                          \
    }

/* Small windows, as most are: up to three rows of up to three pixels, which may lie apart. */

enum {
    POOL_LANES = 16,
    POOL_SMALL = 3,  /* of a window, at most */
    POOL_APART = 8,  /* pixels from one of its elements to the next, and of its pad, at most */
    POOL_LINE = 512, /* pixels of a row, at most */
    POOL_BAND = 8,   /* rows of outputs at a time */
};

static inline bool pool_is_small(const struct kernel_window *w)
{
    return w->kernel[0] == 1 && w->in[0] == 1 && w->out[0] == 1 && w->pad_begin[0] == 0 &&
           w->pad_end[0] == 0 && w->kernel[1] <= POOL_SMALL && w->kernel[2] <= POOL_SMALL &&
           w->dilation[2] <= POOL_APART && w->stride[2] <= 2 && w->pad_begin[2] >= 0 &&
           w->pad_begin[2] <= POOL_APART && w->in[2] >= POOL_LANES && w->in[2] <= POOL_LINE &&
           w->out[2] <= POOL_LINE &&
           (w->out[2] - 1) * w->stride[2] + (w->kernel[2] - 1) * w->dilation[2] <
               w->pad_begin[2] + w->in[2] + POOL_LANES;
}

/** name_small(): rows of outputs [oh, oh + rows) of a small window. Rows are joined in vectors, the
 *  last of which begins early rather than end late, and the result is read beyond its end. */
#define POOL_ROW_SMALL(name, type, op, lowest)                                                     \
    ISA_BODY void name##_join(type *restrict line, const type *const rows[POOL_SMALL],             \
                              int64_t count, int64_t size)                                         \
    {                                                                                              \
        for (int64_t at = 0; at < size; at += POOL_LANES) {                                        \
            int64_t i = at + POOL_LANES <= size ? at : size - POOL_LANES;                          \
            const type *a = rows[0] + i, *b = rows[1] + i, *c = rows[2] + i;                       \
            type *to = line + i;                                                                   \
                                                                                                   \
            if (count == 3)                                                                        \
                _Pragma("omp simd") for (int j = 0; j < POOL_LANES; j++) to[j] =                   \
                    op(op(a[j], b[j]), c[j]);                                                      \
            else if (count == 2)                                                                   \
                _Pragma("omp simd") for (int j = 0; j < POOL_LANES; j++) to[j] = op(a[j], b[j]);   \
            else                                                                                   \
                _Pragma("omp simd") for (int j = 0; j < POOL_LANES; j++) to[j] = a[j];             \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void name##_across(type *restrict y, const type *restrict line, int64_t out,          \
                                int64_t stride, int64_t apart, int64_t width)                      \
    {                                                                                              \
        for (int64_t o = 0; o < out; o += POOL_LANES) {                                            \
            const type *x = line + o * stride;                                                     \
            type *to = y + o;                                                                      \
                                                                                                   \
            if (width == 3)                                                                        \
                _Pragma("omp simd") for (int j = 0; j < POOL_LANES; j++) to[j] =                   \
                    op(op(x[j * stride], x[j * stride + apart]), x[j * stride + 2 * apart]);       \
            else if (width == 2)                                                                   \
                _Pragma("omp simd") for (int j = 0; j < POOL_LANES; j++) to[j] =                   \
                    op(x[j * stride], x[j * stride + apart]);                                      \
            else                                                                                   \
                _Pragma("omp simd") for (int j = 0; j < POOL_LANES; j++) to[j] = x[j * stride];    \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void name##_down(type *restrict line, const type *restrict plane,                     \
                              const struct kernel_window *w, int64_t oh)                           \
    {                                                                                              \
        struct pool_span high = pool_inside(w, 1, oh);                                             \
        int64_t first = oh * w->stride[1] - w->pad_begin[1], count = high.end - high.first;        \
        int64_t front = w->pad_begin[2];                                                           \
        const type *rows[POOL_SMALL] = {plane, plane, plane};                                      \
                                                                                                   \
        for (int64_t i = 0; i < POOL_LANES; i++) /* `front` of them stay */                        \
            line[i] = lowest;                                                                      \
        for (int64_t i = 0; i < 4 * POOL_LANES; i++)                                               \
            line[front + w->in[2] + i] = lowest;                                                   \
        for (int64_t i = 0; i < count; i++)                                                        \
            rows[i] = plane + (first + (high.first + i) * w->dilation[1]) * w->in[2];              \
        if (count > 0)                                                                             \
            name##_join(line + front, rows, count, w->in[2]);                                      \
        else                                                                                       \
            for (int64_t i = 0; i < w->in[2]; i++)                                                 \
                line[front + i] = lowest;                                                          \
    }                                                                                              \
                                                                                                   \
    /* Rows are joined some ahead of being read again: what was just stored is slow to load. */    \
    ISA_BODY void name##_small(type(*out)[POOL_LINE + POOL_LANES], const type *plane,              \
                               const struct kernel_window *w, int64_t oh, int64_t rows)            \
    {                                                                                              \
        type lines[POOL_BAND][POOL_APART + POOL_LINE + 4 * POOL_LANES];                            \
                                                                                                   \
        for (int64_t r = 0; r < rows; r++)                                                         \
            name##_down(lines[r], plane, w, oh + r);                                               \
        for (int64_t r = 0; r < rows; r++)                                                         \
            if (w->stride[2] == 1 && w->dilation[2] == 1)                                          \
                name##_across(out[r], lines[r], w->out[2], 1, 1, w->kernel[2]);                    \
            else if (w->stride[2] == 1)                                                            \
                name##_across(out[r], lines[r], w->out[2], 1, w->dilation[2], w->kernel[2]);       \
            else if (w->dilation[2] == 1)                                                          \
                name##_across(out[r], lines[r], w->out[2], 2, 1, w->kernel[2]);                    \
            else                                                                                   \
                name##_across(out[r], lines[r], w->out[2], 2, w->dilation[2], w->kernel[2]);       \
    }

#endif
