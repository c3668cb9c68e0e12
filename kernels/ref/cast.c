/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion between element types, the truth. */
#include "kernels/kernels.h"

#include <math.h>

/* Every value of every type here is exact either as a double or as an int64. */
struct number {
    bool is_real;
    double real;
    int64_t integer;
};

static struct number load(const void *x, enum kernel_dtype from, size_t i)
{
    switch (from) {
    case KERNEL_F32:
        return (struct number){.is_real = true, .real = ((const float *)x)[i]};
    case KERNEL_F64:
        return (struct number){.is_real = true, .real = ((const double *)x)[i]};
    case KERNEL_I32:
        return (struct number){.integer = ((const int32_t *)x)[i]};
    case KERNEL_I64:
        return (struct number){.integer = ((const int64_t *)x)[i]};
    default:
        return (struct number){.integer = ((const uint8_t *)x)[i]};
    }
}

/* As an integer between low and high: reals saturate, integers wrap when they are narrowed. */
static int64_t to_integer(struct number n, double low, double high)
{
    if (!n.is_real)
        return n.integer;
    if (isnan(n.real))
        return 0;
    if (n.real <= low)
        return (int64_t)low;
    if (n.real >= high) /* 2^63 as a double is one above the largest int64 */
        return high >= 0x1p63 ? INT64_MAX : (int64_t)high;
    return (int64_t)n.real;
}

static void store(void *y, enum kernel_dtype to, size_t i, struct number n)
{
    switch (to) {
    case KERNEL_F32:
        ((float *)y)[i] = n.is_real ? (float)n.real : (float)n.integer;
        break;
    case KERNEL_F64:
        ((double *)y)[i] = n.is_real ? n.real : (double)n.integer;
        break;
    case KERNEL_I32:
        ((int32_t *)y)[i] = (int32_t)(uint32_t)to_integer(n, INT32_MIN, INT32_MAX);
        break;
    case KERNEL_I64:
        ((int64_t *)y)[i] = to_integer(n, -0x1p63, 0x1p63);
        break;
    case KERNEL_BOOL:
        ((uint8_t *)y)[i] = n.is_real ? n.real != 0.0 : n.integer != 0;
        break;
    default:
        ((uint8_t *)y)[i] = (uint8_t)to_integer(n, 0, UINT8_MAX);
        break;
    }
}

void cast_ref(void *y, enum kernel_dtype to, const void *x, enum kernel_dtype from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        store(y, to, i, load(x, from, i));
}
