/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions of single elements. */
#include "kernels/ref/number.h"

#include <math.h>
#include <string.h>

double ref_half_to_f64(uint16_t half)
{
    int exponent = half >> 10 & 0x1f;
    int fraction = half & 0x3ff;
    double sign = half & 0x8000 ? -1.0 : 1.0;

    if (exponent == 0x1f)
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, -24);
    return sign * ldexp(fraction + 1024, exponent - 25);
}

/* Rounds to nearest, ties to even. */
static uint16_t f64_to_half(double number)
{
    uint16_t sign = signbit(number) ? 0x8000 : 0;
    double size = fabs(number);
    int exponent;

    if (isnan(number))
        return 0x7e00;
    if (size >= 65520.0)
        return sign | 0x7c00;
    if (size < 0x1p-14)
        return sign | (uint16_t)nearbyint(ldexp(size, 24));
    /* A carry out of the fraction runs into the exponent, as it should. */
    exponent = ilogb(size);
    return sign | (uint16_t)(((exponent + 14) << 10) + (int)nearbyint(ldexp(size, 10 - exponent)));
}

double ref_brain_to_f64(uint16_t brain)
{
    uint32_t bits = (uint32_t)brain << 16;
    float number;

    memcpy(&number, &bits, sizeof(number));
    return (double)number;
}

/* Rounds to nearest, ties to even. */
static uint16_t f64_to_brain(double number)
{
    float narrow = (float)number;
    uint32_t bits;

    if (isnan(number))
        return 0x7fc0;
    if (isfinite(number) && number != 0.0) {
        /* Eight bits, fewer for a subnormal; rounded once, from the double. */
        int exponent = ilogb(number) < -126 ? -126 : ilogb(number);

        narrow = (float)ldexp(nearbyint(ldexp(number, 7 - exponent)), exponent - 7);
    }
    memcpy(&bits, &narrow, sizeof(bits));
    return (uint16_t)(bits >> 16);
}

int64_t ref_lowest(enum kernel_dtype dtype)
{
    switch (dtype) {
    case KERNEL_I8:
        return INT8_MIN;
    case KERNEL_I16:
        return INT16_MIN;
    case KERNEL_I32:
        return INT32_MIN;
    case KERNEL_I64:
        return INT64_MIN;
    case KERNEL_I4:
        return -8;
    case KERNEL_I2:
        return -2;
    default:
        return 0;
    }
}

int64_t ref_highest(enum kernel_dtype dtype)
{
    switch (dtype) {
    case KERNEL_I8:
        return INT8_MAX;
    case KERNEL_I16:
        return INT16_MAX;
    case KERNEL_I32:
        return INT32_MAX;
    case KERNEL_I64:
        return INT64_MAX;
    case KERNEL_U16:
        return UINT16_MAX;
    case KERNEL_U32:
        return UINT32_MAX;
    case KERNEL_BOOL:
    case KERNEL_I2:
        return 1;
    case KERNEL_I4:
        return 7;
    case KERNEL_U4:
        return 15;
    case KERNEL_U2:
        return 3;
    case KERNEL_U64:
        return -1;
    default:
        return UINT8_MAX;
    }
}

static int64_t saturate(enum kernel_dtype dtype, double number)
{
    if (isnan(number))
        return 0;
    if (number <= (double)ref_lowest(dtype))
        return ref_lowest(dtype);
    /* 2^63 as a double is one above the largest int64. */
    if (number >= (double)ref_highest(dtype))
        return ref_highest(dtype);
    return (int64_t)number;
}

void ref_set_f64(void *y, enum kernel_dtype dtype, int64_t i, double number)
{
    switch (dtype) {
    case KERNEL_F32:
        ((float *)y)[i] = (float)number;
        break;
    case KERNEL_F64:
        ((double *)y)[i] = number;
        break;
    case KERNEL_F16:
        ((uint16_t *)y)[i] = f64_to_half(number);
        break;
    case KERNEL_BF16:
        ((uint16_t *)y)[i] = f64_to_brain(number);
        break;
    case KERNEL_BOOL:
        ((uint8_t *)y)[i] = number != 0.0;
        break;
    case KERNEL_U64:
        ((uint64_t *)y)[i] = !(number > 0.0) ? 0 : number >= 0x1p64 ? UINT64_MAX : (uint64_t)number;
        break;
    default:
        ref_set_i64(y, dtype, i, saturate(dtype, number));
        break;
    }
}
