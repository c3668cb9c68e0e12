/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices and sequences that are made of a few numbers: each type in a loop of its own, and zeros as memory. */
#include "kernels/kernels.h"

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
