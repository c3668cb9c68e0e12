/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of channels-last images: every channel of one output at a time. */
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

#include <float.h>

struct pool {
    float *y;
    const float *x;
    const struct kernel_pool *shape;
};

/* Elements read that are worth a second thread. */
enum { GRAIN = 1 << 17 };

/* The part of the window that lies inside, on one axis: elements [first, end). */
struct span {
    int64_t first, end;
};

static struct span inside(const struct kernel_window *window, int axis, int64_t o)
{
    int64_t at = o * window->stride[axis] - window->pad_begin[axis];
    int64_t step = window->dilation[axis], count = window->kernel[axis];
    struct span span = {at < 0 ? (-at + step - 1) / step : 0, count};

    if (at + (count - 1) * step >= window->in[axis])
        span.end = window->in[axis] > at ? (window->in[axis] - 1 - at) / step + 1 : 0;
    if (span.first > span.end)
        span.first = span.end;
    return span;
}

/* What an average divides by. */
static int64_t count_elements(const struct kernel_pool *shape, const int64_t o[3],
                              const struct span spans[3])
{
    const struct kernel_window *window = &shape->window;
    int64_t count = 1;

    for (int axis = 0; axis < KERNEL_SPATIAL; axis++) {
        int64_t at = o[axis] * window->stride[axis] - window->pad_begin[axis];
        int64_t room = window->in[axis] + window->pad_end[axis] - at;
        int64_t padded = (room + window->dilation[axis] - 1) / window->dilation[axis];

        if (padded > window->kernel[axis])
            padded = window->kernel[axis];
        count *=
            shape->count_pads ? (padded > 0 ? padded : 0) : spans[axis].end - spans[axis].first;
    }
    return count;
}

#define MAXIMUM(a, b) ((a) > (b) ? (a) : (b))
#define SUM(a, b)     ((a) + (b))

/* y = op(y, x) for each of `count` channels; the window's row holds `width` pixels, `step` elements
 * apart. Four pixels at a time, so that y is loaded and stored less often. */
#define ROW(name, op)                                                                              \
    ISA_BODY void name##_row(float *restrict y, const float *restrict x, int64_t count,            \
                             int64_t width, int64_t step)                                          \
    {                                                                                              \
        int64_t v = 0;                                                                             \
                                                                                                   \
        for (; v + 4 <= width; v += 4, x += 4 * step) {                                            \
            for (int64_t c = 0; c < count; c++)                                                    \
                y[c] = op(op(y[c], op(x[c], x[c + step])), op(x[c + 2 * step], x[c + 3 * step]));  \
        }                                                                                          \
        if (v + 3 <= width) {                                                                      \
            for (int64_t c = 0; c < count; c++)                                                    \
                y[c] = op(op(y[c], x[c]), op(x[c + step], x[c + 2 * step]));                       \
            v += 3, x += 3 * step;                                                                 \
        }                                                                                          \
        for (; v < width; v++, x += step) {                                                        \
            for (int64_t c = 0; c < count; c++)                                                    \
                y[c] = op(y[c], x[c]);                                                             \
        }                                                                                          \
    }

ROW(max, MAXIMUM)
ROW(sum, SUM)

ISA_BODY void pool_one(float *restrict y, const float *image, const struct kernel_pool *shape,
                       const int64_t o[3], bool is_max)
{
    const struct kernel_window *window = &shape->window;
    int64_t channels = shape->channels, at[3];
    struct span spans[3];
    float scale;

    for (int axis = 0; axis < KERNEL_SPATIAL; axis++) {
        spans[axis] = inside(window, axis, o[axis]);
        at[axis] = o[axis] * window->stride[axis] - window->pad_begin[axis];
    }
    for (int64_t c = 0; c < channels; c++)
        y[c] = is_max ? -FLT_MAX : 0.0f;
    for (int64_t d = spans[0].first; d < spans[0].end; d++) {
        for (int64_t h = spans[1].first; h < spans[1].end; h++) {
            int64_t row =
                (at[0] + d * window->dilation[0]) * window->in[1] + at[1] + h * window->dilation[1];
            int64_t first = at[2] + spans[2].first * window->dilation[2];
            const float *x = image + (row * window->in[2] + first) * channels;
            int64_t width = spans[2].end - spans[2].first, step = window->dilation[2] * channels;

            if (is_max)
                max_row(y, x, channels, width, step);
            else
                sum_row(y, x, channels, width, step);
        }
    }
    if (is_max)
        return;
    scale = 1.0f / (float)MAXIMUM(count_elements(shape, o, spans), 1);
    for (int64_t c = 0; c < channels; c++)
        y[c] *= scale;
}

/* Outputs [begin, end), counted over images and positions. */
ISA_BODY void pool_part(const struct pool *p, int64_t begin, int64_t end, bool is_max)
{
    const struct kernel_window *window = &p->shape->window;
    int64_t channels = p->shape->channels;
    int64_t in = window->in[0] * window->in[1] * window->in[2];

    for (int64_t i = begin; i < end; i++) {
        int64_t o[3], rest = i;

        for (int axis = KERNEL_SPATIAL - 1; axis >= 0; axis--) {
            o[axis] = rest % window->out[axis];
            rest /= window->out[axis];
        }
        pool_one(p->y + i * channels, p->x + rest * in * channels, p->shape, o, is_max);
    }
}

#define POOL(name, is_max, isa)                                                                    \
    ISA_TARGET_##isa static void name##_part_##isa(void *argument, int64_t begin, int64_t end)     \
    {                                                                                              \
        pool_part(argument, begin, end, is_max);                                                   \
    }                                                                                              \
                                                                                                   \
    void name##_##isa(float *y, const float *x, const struct kernel_pool *shape)                   \
    {                                                                                              \
        const struct kernel_window *window = &shape->window;                                       \
        int64_t reads = shape->channels * window->kernel[0] * window->kernel[1];                   \
        struct pool p = {y, x, shape};                                                             \
                                                                                                   \
        if (!shape->channels_last) {                                                               \
            name##_ref(y, x, shape);                                                               \
            return;                                                                                \
        }                                                                                          \
        team_for(shape->batch * window->out[0] * window->out[1] * window->out[2],                  \
                 GRAIN / (reads * window->kernel[2] + 1) + 1, name##_part_##isa, &p);              \
    }

#define ALL(isa) POOL(max_pool_f32, true, isa) POOL(average_pool_f32, false, isa)

ISA_VERSIONS(ALL)
