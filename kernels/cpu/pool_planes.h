/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of small planes whose outputs are as many as their pixels, as within Inception's and PoolFormer's
 * blocks: rows shorter than a register leave most of it empty, so a plane is one line here. Inside
 * kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_POOL_PLANES_H
#define OPTRACE_KERNELS_CPU_POOL_PLANES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/isa.h"
#include "kernels/window.h"

enum {
    PLANE_MOST = 1024, /* pixels */
    PLANE_WIDE = 32,
    PLANE_TAPS = 5, /* of a window along each axis, at most */
    PLANE_EDGE = (PLANE_TAPS - 1) * PLANE_WIDE,
};

static inline bool pool_has_planes(const struct kernel_window *w)
{
    for (int axis = 0; axis < KERNEL_SPATIAL; axis++)
        if (w->stride[axis] != 1 || w->dilation[axis] != 1 || w->out[axis] != w->in[axis] ||
            w->kernel[axis] > PLANE_TAPS || w->pad_begin[axis] < 0 ||
            w->pad_begin[axis] >= w->kernel[axis])
            return false;
    return w->kernel[0] == 1 && w->in[0] == 1 && w->in[2] <= PLANE_WIDE && w->in[1] > 0 &&
           w->in[2] > 0 && w->in[1] * w->in[2] <= PLANE_MOST;
}

/** The column of each pixel. */
static inline void pool_plane_columns(uint32_t *columns, const struct kernel_window *w)
{
    for (int64_t i = 0; i < w->in[1]; i++)
        for (int64_t j = 0; j < w->in[2]; j++)
            *columns++ = (uint32_t)j;
}

/** name_plane(): y = op over the window of each pixel of a plane. Down first, then along, where what lies
 *  in another row counts as `lowest`. */
#define POOL_PLANE(name, op, lowest)                                                               \
    ISA_BODY void name##_plane(float *restrict y, const float *restrict x,                         \
                               const uint32_t *restrict columns, const struct kernel_window *w)    \
    {                                                                                              \
        float image[PLANE_MOST + PLANE_EDGE], lines[PLANE_MOST + 2 * PLANE_TAPS];                  \
        float *line = lines + PLANE_TAPS;                                                          \
        int64_t wide = w->in[2], count = w->in[1] * wide, above = w->pad_begin[1] * wide;          \
        uint32_t width = (uint32_t)wide;                                                           \
                                                                                                   \
        for (int64_t i = 0; i < PLANE_TAPS; i++) /* read and not used */                           \
            lines[i] = line[count + i] = 0.0f;                                                     \
        for (int64_t i = 0; i < above; i++)                                                        \
            image[i] = lowest;                                                                     \
        memcpy(image + above, x, (size_t)count * sizeof(*x));                                      \
        for (int64_t i = above + count; i < count + (w->kernel[1] - 1) * wide; i++)                \
            image[i] = lowest;                                                                     \
        if (w->kernel[1] == 3)                                                                     \
            for (int64_t i = 0; i < count; i++)                                                    \
                line[i] = op(op(image[i], image[i + wide]), image[i + 2 * wide]);                  \
        else                                                                                       \
            memcpy(line, image, (size_t)count * sizeof(*line));                                    \
        for (int64_t k = 1; w->kernel[1] != 3 && k < w->kernel[1]; k++)                            \
            for (int64_t i = 0; i < count; i++)                                                    \
                line[i] = op(line[i], image[i + k * wide]);                                        \
        if (w->kernel[2] == 3 && w->pad_begin[2] == 1) {                                           \
            for (int64_t i = 0; i < count; i++) {                                                  \
                float left = columns[i] > 0 ? line[i - 1] : lowest;                                \
                float right = columns[i] + 1 < width ? line[i + 1] : lowest;                       \
                                                                                                   \
                y[i] = op(op(left, line[i]), right);                                               \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < count; i++)                                                        \
            y[i] = lowest;                                                                         \
        for (int64_t k = 0; k < w->kernel[2]; k++) {                                               \
            int64_t to = k - w->pad_begin[2];                                                      \
                                                                                                   \
            for (int64_t i = 0; i < count; i++) {                                                  \
                float tap = columns[i] + (uint32_t)to < width ? line[i + to] : lowest;             \
                                                                                                   \
                y[i] = op(y[i], tap);                                                              \
            }                                                                                      \
        }                                                                                          \
    }

#endif
