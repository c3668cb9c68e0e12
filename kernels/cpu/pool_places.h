/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of row-major images tap by tap, many outputs of a row side by side: maxima with the places where
 * they stand, and norms. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_POOL_PLACES_H
#define OPTRACE_KERNELS_CPU_POOL_PLACES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/pool_rows.h"
#include "kernels/kernels.h"

enum { POOL_BLOCK = 256, POOL_ROOM = 512 }; /* outputs side by side, and elements that they see */

/** Places are counted in 32 bits. */
static inline bool pool_counts_places(const struct kernel_window *w)
{
    return w->in[0] * w->in[1] * w->in[2] <= INT32_MAX - POOL_BLOCK * w->stride[2];
}

/** Calls tap(state, place, stride, first, end) for each element of the windows of the outputs
 *  [begin, begin + count) of the row (od, oh): of output begin + i, where first <= i < end, it is
 *  at place + i * stride of the plane. */
#define POOL_EACH_TAP(tap, state, w, od, oh, begin, count)                                         \
    do {                                                                                           \
        struct pool_span deep = pool_inside(w, 0, od), high = pool_inside(w, 1, oh);               \
        int64_t at_d = (od) * (w)->stride[0] - (w)->pad_begin[0], stride = (w)->stride[2];         \
        int64_t at_h = (oh) * (w)->stride[1] - (w)->pad_begin[1];                                  \
                                                                                                   \
        for (int64_t d = deep.first; d < deep.end; d++)                                            \
            for (int64_t h = high.first; h < high.end; h++)                                        \
                for (int64_t k = 0; k < (w)->kernel[2]; k++) {                                     \
                    int64_t offset = k * (w)->dilation[2] - (w)->pad_begin[2];                     \
                    int64_t row =                                                                  \
                        (at_d + d * (w)->dilation[0]) * (w)->in[1] + at_h + h * (w)->dilation[1];  \
                    struct pool_span span = pool_outputs(w, offset);                               \
                    int64_t first = span.first > (begin) ? span.first - (begin) : 0;               \
                    int64_t end = span.end - (begin) < (count) ? span.end - (begin) : (count);     \
                    int64_t place = row * (w)->in[2] + offset + (begin)*stride;                    \
                                                                                                   \
                    if (stride == 1)                                                               \
                        tap(state, place, 1, first, end);                                          \
                    else if (stride == 2)                                                          \
                        tap(state, place, 2, first, end);                                          \
                    else                                                                           \
                        tap(state, place, stride, first, end);                                     \
                }                                                                                  \
    } while (0)

/* Outputs [first, end) of a tap, the first of which sees x[0]. */
#define POOL_TAKE(name, function, type, wide)                                                      \
    ISA_BODY void function(struct name##_places *p, const type *restrict x, int64_t place,         \
                           int64_t stride, int64_t first, int64_t end)                             \
    {                                                                                              \
        wide *restrict best = p->best + first;                                                     \
        int32_t *restrict at = p->at + first, step = (int32_t)stride;                              \
        int32_t from = (int32_t)(place + first * stride), count = (int32_t)(end - first);          \
                                                                                                   \
        _Pragma("omp simd") for (int32_t i = 0; i < count; i++)                                    \
        {                                                                                          \
            wide number = (wide)x[i * stride];                                                     \
            bool is_taken = !(number <= best[i]) | (at[i] < 0);                                    \
                                                                                                   \
            best[i] = is_taken ? number : best[i];                                                 \
            at[i] = is_taken ? from + i * step : at[i];                                            \
        }                                                                                          \
    }

/** name_row(): the maxima of the row (od, oh) of a plane that begins at `start` of the tensor, and
 *  their places. What compares with nothing takes the place of what was, as of any other. */
#define POOL_PLACES(name, type, wide, lowest)                                                      \
    struct name##_places {                                                                         \
        const type *plane;                                                                         \
        wide best[POOL_BLOCK];                                                                     \
        int32_t at[POOL_BLOCK]; /* -1: none yet */                                                 \
    };                                                                                             \
                                                                                                   \
    POOL_TAKE(name, name##_take, type, wide)                                                       \
    POOL_TAKE(name, name##_take_wide, wide, wide)                                                  \
                                                                                                   \
    /* Bytes that lie apart are widened with what lies between: compilers load them one by one. */ \
    ISA_BODY void name##_tap(struct name##_places *p, int64_t place, int64_t stride,               \
                             int64_t first, int64_t end)                                           \
    {                                                                                              \
        const type *x = p->plane + place;                                                          \
        int64_t count = (end - first - 1) * stride + 1;                                            \
        wide room[POOL_ROOM];                                                                      \
                                                                                                   \
        if (sizeof(type) == sizeof(wide) || stride == 1 || end <= first || count > POOL_ROOM) {    \
            name##_take(p, x + first * stride, place, stride, first, end);                         \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < count; i++)                                                        \
            room[i] = (wide)x[first * stride + i];                                                 \
        name##_take_wide(p, room, place, stride, first, end);                                      \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void name##_row(type *restrict y, int64_t *restrict indices, const type *plane,       \
                             int64_t start, const struct kernel_window *w, int64_t od, int64_t oh) \
    {                                                                                              \
        struct name##_places p;                                                                    \
                                                                                                   \
        p.plane = plane;                                                                           \
        for (int64_t begin = 0; begin < w->out[2]; begin += POOL_BLOCK) {                          \
            int64_t left = w->out[2] - begin, count = left < POOL_BLOCK ? left : POOL_BLOCK;       \
                                                                                                   \
            for (int64_t i = 0; i < count; i++) {                                                  \
                p.best[i] = lowest;                                                                \
                p.at[i] = -1;                                                                      \
            }                                                                                      \
            POOL_EACH_TAP(name##_tap, &p, w, od, oh, begin, count);                                \
            for (int64_t i = 0; i < count; i++) {                                                  \
                y[begin + i] = (type)p.best[i];                                                    \
                indices[begin + i] = p.at[i] < 0 ? -1 : start + p.at[i];                           \
            }                                                                                      \
        }                                                                                          \
    }

/* Sums of |x| or x^2, which f64 holds exactly, in the reference's order. */
struct pool_norms {
    const float *plane;
    double sums[POOL_BLOCK];
    bool is_square;
};

ISA_BODY void pool_norm_tap(struct pool_norms *p, int64_t place, int64_t stride, int64_t first,
                            int64_t end)
{
    const float *restrict x = p->plane + place;
    double *restrict sums = p->sums;

    if (p->is_square)
        for (int64_t i = first; i < end; i++)
            sums[i] += (double)x[i * stride] * (double)x[i * stride];
    else
        for (int64_t i = first; i < end; i++)
            sums[i] += fabs((double)x[i * stride]);
}

/** Of the row (od, oh) of a plane. */
ISA_BODY void pool_norm_row(float *restrict y, const float *plane, bool is_square,
                            const struct kernel_window *w, int64_t od, int64_t oh)
{
    struct pool_norms p;

    p.plane = plane;
    p.is_square = is_square;
    for (int64_t begin = 0; begin < w->out[2]; begin += POOL_BLOCK) {
        int64_t left = w->out[2] - begin, count = left < POOL_BLOCK ? left : POOL_BLOCK;

        for (int64_t i = 0; i < count; i++)
            p.sums[i] = 0.0;
        POOL_EACH_TAP(pool_norm_tap, &p, w, od, oh, begin, count);
        for (int64_t i = 0; i < count; i++)
            y[begin + i] = (float)(is_square ? sqrt(p.sums[i]) : p.sums[i]);
    }
}

#endif
