/* SPDX-License-Identifier: Apache-2.0 */
/* Elements as integers of the same order: NaN is the largest, and the zeros are equal. */
#ifndef OPTRACE_KERNELS_CPU_ORDER_KEY_H
#define OPTRACE_KERNELS_CPU_ORDER_KEY_H

#include <stdint.h>
#include <string.h>

static inline int64_t order_key_f32(const void *x, int64_t at)
{
    float number = ((const float *)x)[at] + 0.0f; /* of -0 it makes 0 */
    int32_t bits;

    if (number != number)
        return INT64_MAX;
    memcpy(&bits, &number, sizeof(bits));
    return bits < 0 ? (int64_t)INT32_MIN - bits : bits;
}

static inline int64_t order_key_f64(const void *x, int64_t at)
{
    double number = ((const double *)x)[at] + 0.0;
    int64_t bits;

    if (number != number)
        return INT64_MAX;
    memcpy(&bits, &number, sizeof(bits));
    return bits < 0 ? INT64_MIN - bits : bits;
}

static inline int64_t order_key_i32(const void *x, int64_t at)
{
    return ((const int32_t *)x)[at];
}

static inline int64_t order_key_i64(const void *x, int64_t at)
{
    return ((const int64_t *)x)[at];
}

static inline int64_t order_key_u8(const void *x, int64_t at)
{
    return ((const uint8_t *)x)[at];
}

static inline int64_t order_key_i8(const void *x, int64_t at)
{
    return ((const int8_t *)x)[at];
}

#endif
