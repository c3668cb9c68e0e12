/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices and sequences that are made of a few numbers: each type in a loop of its own, and zeros as memory. */
#include "kernels/cpu/reals.h"
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

void eye_portable(void *y, enum kernel_dtype dtype, int64_t rows, int64_t cols, int64_t k)
{
    const float one = 1.0f;
    size_t bytes = kernel_dtype_bytes(dtype);
    int64_t first = k < 0 ? -k : 0;
    char element[8];

    if (rows <= 0 || cols <= 0)
        return;
    memset(y, 0, (size_t)(rows * cols) * bytes);
    cast_ref(element, dtype, &one, KERNEL_F32, 1);
    for (int64_t row = first; row < rows && row + k < cols; row++)
        memcpy((char *)y + (size_t)(row * cols + row + k) * bytes, element, bytes);
}

#define RANGE_REAL(type)                                                                           \
    do {                                                                                           \
        double from = (double)*(const type *)start, by = (double)*(const type *)step;              \
        type *to = y;                                                                              \
                                                                                                   \
        for (int64_t i = 0; i < count; i++)                                                        \
            to[i] = (type)(from + (double)(int32_t)i * by);                                        \
    } while (0)

#define RANGE_WHOLE(type, wide)                                                                    \
    do {                                                                                           \
        wide from = (wide) * (const type *)start, by = (wide) * (const type *)step;                \
        type *to = y;                                                                              \
                                                                                                   \
        for (int64_t i = 0; i < count; i++)                                                        \
            to[i] = (type)(from + (wide)i * by);                                                   \
    } while (0)

void range_portable(void *y, const void *start, const void *step, enum kernel_dtype dtype,
                    int64_t count)
{
    if (count > INT32_MAX)
        range_ref(y, start, step, dtype, count);
    else if (dtype == KERNEL_F32)
        RANGE_REAL(float);
    else if (dtype == KERNEL_F64)
        RANGE_REAL(double);
    else if (dtype == KERNEL_I32)
        RANGE_WHOLE(int32_t, uint32_t);
    else if (dtype == KERNEL_I64)
        RANGE_WHOLE(int64_t, uint64_t);
    else
        range_ref(y, start, step, dtype, count);
}

/* The place of a pixel along an axis. */
static double place_of(int64_t pixel, int64_t size, bool align_corners)
{
    double n = (double)size, at = (double)pixel;

    if (align_corners)
        return size > 1 ? 2.0 * at / (n - 1.0) - 1.0 : 0.0;
    return (2.0 * at + 1.0) / n - 1.0;
}

/* A row of pixels: what the outer axes give, and a number times the place along the row. */
static void grid_row(void *y, enum kernel_dtype dtype, int64_t pixels, int64_t rank,
                     const double *along, const double *rest, bool align_corners)
{
    for (int64_t i = 0; i < pixels; i++) {
        double at = place_of(i, pixels, align_corners);

        for (int64_t k = 0; k < rank; k++)
            real_put(y, dtype, i * rank + k, along[k] * at + rest[k]);
    }
}

void affine_grid_portable(void *y, const void *theta, const struct kernel_affine_grid *s)
{
    int64_t rank = s->rank, rows = 1, pixels = rank > 0 ? s->out[rank - 1] : 0;

    if ((s->dtype != KERNEL_F32 && s->dtype != KERNEL_F64) || pixels <= 0) {
        affine_grid_ref(y, theta, s);
        return;
    }
    for (int i = 0; i < rank - 1; i++)
        rows *= s->out[i];
    for (int64_t i = 0; i < s->batch * rows; i++) {
        double along[KERNEL_SPATIAL], rest[KERNEL_SPATIAL];
        size_t at = (size_t)(i * pixels * rank) * kernel_dtype_bytes(s->dtype);

        for (int64_t k = 0; k < rank; k++) {
            int64_t line = (i / rows * rank + k) * (rank + 1), row = i % rows;

            along[k] = real_at(theta, s->dtype, line);
            rest[k] = real_at(theta, s->dtype, line + rank);
            for (int64_t axis = rank - 2; axis >= 0; row /= s->out[axis--])
                rest[k] += real_at(theta, s->dtype, line + rank - 1 - axis) *
                           place_of(row % s->out[axis], s->out[axis], s->align_corners);
        }
        grid_row((char *)y + at, s->dtype, pixels, rank, along, rest, s->align_corners);
    }
}
