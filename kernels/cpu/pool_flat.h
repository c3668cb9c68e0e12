/* SPDX-License-Identifier: Apache-2.0 */
/* Maxima of wide windows that step by one. Some rows of a plane lie between their pads as one line, so that all
 * loops are long; a maximum of 2 n elements is one of two maxima of n. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_POOL_FLAT_H
#define OPTRACE_KERNELS_CPU_POOL_FLAT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/pool_rows.h"
#include "kernels/window.h"

enum {
    FLAT_MOST = 1 << 13,
    FLAT_TAPS = 32
}; /* elements between their pads, a window's along an axis */

static inline bool pool_is_flat(const struct kernel_window *w)
{
    for (int axis = 1; axis < KERNEL_SPATIAL; axis++)
        if (w->stride[axis] != 1 || w->dilation[axis] != 1 || w->kernel[axis] > FLAT_TAPS ||
            w->pad_begin[axis] < 0)
            return false;
    return w->kernel[0] == 1 && w->in[0] == 1 && w->out[0] == 1 && w->pad_begin[0] == 0 &&
           w->out[2] > 0 && (w->out[2] + w->kernel[2] - 1) * 2 * w->kernel[1] <= FLAT_MOST;
}

/** So many rows of outputs at a time. */
static inline int64_t pool_flat_rows(const struct kernel_window *w)
{
    return FLAT_MOST / (w->out[2] + w->kernel[2] - 1) - (w->kernel[1] - 1);
}

/** name_flat(): rows of outputs [oh, oh + rows); all of `line` is overwritten. */
#define POOL_FLAT(name, type, op, lowest)                                                          \
    ISA_BODY int64_t name##_halves(type *line, int64_t count, int64_t by, int64_t taps)            \
    {                                                                                              \
        for (int64_t have = 1; have < taps;) {                                                     \
            int64_t more = have < taps - have ? have : taps - have;                                \
                                                                                                   \
            count -= more * by;                                                                    \
            _Pragma("omp simd") for (int64_t i = 0; i < count; i++) line[i] =                      \
                op(line[i], line[i + more * by]);                                                  \
            have += more;                                                                          \
        }                                                                                          \
        return count;                                                                              \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void name##_flat(type *restrict y, const type *restrict plane, type *restrict line,   \
                              const struct kernel_window *w, int64_t oh, int64_t rows)             \
    {                                                                                              \
        int64_t wide = w->out[2] + w->kernel[2] - 1, high = rows + w->kernel[1] - 1;               \
        int64_t front = w->pad_begin[2] < wide ? w->pad_begin[2] : wide;                           \
        int64_t inside = w->in[2] < wide - front ? w->in[2] : wide - front;                        \
        int64_t count = high * wide;                                                               \
                                                                                                   \
        for (int64_t r = 0; r < high; r++) {                                                       \
            int64_t ih = oh - w->pad_begin[1] + r;                                                 \
            int64_t taken = ih >= 0 && ih < w->in[1] ? inside : 0;                                 \
            type *to = line + r * wide;                                                            \
                                                                                                   \
            for (int64_t i = 0; i < front; i++)                                                    \
                to[i] = lowest;                                                                    \
            if (taken > 0)                                                                         \
                memcpy(to + front, plane + ih * w->in[2], (size_t)taken * sizeof(*to));            \
            for (int64_t i = front + taken; i < wide; i++)                                         \
                to[i] = lowest;                                                                    \
        }                                                                                          \
        count = name##_halves(line, count, wide, w->kernel[1]);                                    \
        name##_halves(line, count, 1, w->kernel[2]);                                               \
        for (int64_t r = 0; r < rows; r++)                                                         \
            memcpy(y + r * w->out[2], line + r * wide, (size_t)w->out[2] * sizeof(*y));            \
    }

#endif
