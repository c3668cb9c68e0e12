/* SPDX-License-Identifier: Apache-2.0 */
/* Places of pixels under a matrix, row by row: what the outer axes give is the same for a row, and where its pixels lie
 * for all rows. */
#include "kernels/cpu/isa.h"
#include "kernels/kernels.h"

enum { WIDE = 1024 }; /* pixels of a row */

/* The place of a pixel along an axis. */
ISA_BODY double place_of(int64_t pixel, int64_t size, bool align_corners)
{
    double n = (double)size, at = (double)pixel;

    if (align_corners)
        return size > 1 ? 2.0 * at / (n - 1.0) - 1.0 : 0.0;
    return (2.0 * at + 1.0) / n - 1.0;
}

/* name_grid(): of images of `rank` axes, where the pixels of a row lie at `at`. */
#define GRID(name, type)                                                                           \
    ISA_BODY void name##_row(type *restrict y, const double *restrict at, int64_t pixels,          \
                             int64_t rank, const double *along, const double *rest)                \
    {                                                                                              \
        if (rank == 2)                                                                             \
            _Pragma("omp simd") for (int64_t i = 0; i < pixels; i++)                               \
            {                                                                                      \
                y[2 * i] = (type)(along[0] * at[i] + rest[0]);                                     \
                y[2 * i + 1] = (type)(along[1] * at[i] + rest[1]);                                 \
            }                                                                                      \
        else                                                                                       \
            for (int64_t i = 0; i < pixels; i++)                                                   \
                for (int64_t k = 0; k < rank; k++)                                                 \
                    y[i * rank + k] = (type)(along[k] * at[i] + rest[k]);                          \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void name##_grid(type *y, const type *theta, const struct kernel_affine_grid *s)      \
    {                                                                                              \
        int64_t rank = s->rank, rows = 1, pixels = s->out[rank - 1];                               \
        double at[WIDE];                                                                           \
                                                                                                   \
        for (int64_t i = 0; i < pixels; i++)                                                       \
            at[i] = place_of(i, pixels, s->align_corners);                                         \
        for (int i = 0; i < rank - 1; i++)                                                         \
            rows *= s->out[i];                                                                     \
        for (int64_t i = 0; i < s->batch * rows; i++, y += pixels * rank) {                        \
            double along[KERNEL_SPATIAL], rest[KERNEL_SPATIAL];                                    \
                                                                                                   \
            for (int64_t k = 0; k < rank; k++) {                                                   \
                const type *line = theta + (i / rows * rank + k) * (rank + 1);                     \
                int64_t row = i % rows;                                                            \
                                                                                                   \
                along[k] = (double)line[0];                                                        \
                rest[k] = (double)line[rank];                                                      \
                for (int64_t axis = rank - 2; axis >= 0; row /= s->out[axis--])                    \
                    rest[k] += (double)line[rank - 1 - axis] *                                     \
                               place_of(row % s->out[axis], s->out[axis], s->align_corners);       \
            }                                                                                      \
            name##_row(y, at, pixels, rank, along, rest);                                          \
        }                                                                                          \
    }

GRID(f32, float)
GRID(f64, double)

#define AFFINE_GRID(isa)                                                                           \
    ISA_TARGET_##isa void affine_grid_##isa(void *y, const void *theta,                            \
                                            const struct kernel_affine_grid *s)                    \
    {                                                                                              \
        int64_t pixels = s->rank > 0 ? s->out[s->rank - 1] : 0;                                    \
        bool is_known = pixels > 0 && pixels <= WIDE;                                              \
                                                                                                   \
        if (is_known && s->dtype == KERNEL_F32)                                                    \
            f32_grid(y, theta, s);                                                                 \
        else if (is_known && s->dtype == KERNEL_F64)                                               \
            f64_grid(y, theta, s);                                                                 \
        else                                                                                       \
            affine_grid_ref(y, theta, s);                                                          \
    }

ISA_VERSIONS(AFFINE_GRID)
