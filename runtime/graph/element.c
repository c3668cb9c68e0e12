/* SPDX-License-Identifier: Apache-2.0 */
/* Single elements of a tensor as numbers, whatever their type. */
#include <math.h>
#include <string.h>

#include "runtime/graph/element.h"

static long double half_get(uint16_t bits)
{
    int exponent = bits >> 10 & 0x1f;
    int fraction = bits & 0x3ff;
    long double sign = bits & 0x8000 ? -1 : 1;

    if (exponent == 0x1f)
        return fraction != 0 ? (long double)NAN : sign * (long double)INFINITY;
    if (exponent == 0)
        return sign * ldexpl(fraction, -24);
    return sign * ldexpl(fraction + 1024, exponent - 25);
}

/* Rounds to nearest, ties to even; a carry out of the fraction runs into the exponent as it should.
 */
static uint16_t half_bits(long double number)
{
    uint16_t sign = signbit(number) ? 0x8000 : 0;
    long double size = fabsl(number);
    int exponent;

    if (isnan(number))
        return 0x7e00;
    if (size >= 65520)
        return sign | 0x7c00;
    if (size < ldexpl(1, -14))
        return sign | (uint16_t)nearbyintl(ldexpl(size, 24));
    exponent = ilogbl(size);
    return sign |
           (uint16_t)(((exponent + 14) << 10) + (int)nearbyintl(ldexpl(size, 10 - exponent)));
}

/* Exponents and fractions of the small floats. */
struct small_form {
    int fraction, bias;
    uint8_t sign, largest; /* codes */
    bool has_infinity, has_one_zero;
};

static const struct small_form *small_form_of(enum dtype dtype)
{
    static const struct small_form forms[] = {
        [DTYPE_F8E4M3FN] = {3, 7, 0x80, 0x7e, false, false},
        [DTYPE_F8E4M3FNUZ] = {3, 8, 0x80, 0x7f, false, true},
        [DTYPE_F8E5M2] = {2, 15, 0x80, 0x7b, true, false},
        [DTYPE_F8E5M2FNUZ] = {2, 16, 0x80, 0x7f, false, true},
        [DTYPE_F4E2M1] = {1, 1, 8, 7, false, false},
        [DTYPE_F8E8M0] = {0, 127, 0, 0xfe, false, false},
    };

    return &forms[dtype];
}

static long double small_get(uint8_t code, enum dtype dtype)
{
    const struct small_form *form = small_form_of(dtype);
    uint8_t size = form->sign ? code & (uint8_t)(form->sign - 1) : code;
    int exponent = size >> form->fraction, fraction = size & ((1 << form->fraction) - 1);
    long double number;

    if (size > form->largest || (form->has_one_zero && code == form->sign))
        number = form->has_infinity && size == form->largest + 1 ? (long double)INFINITY
                                                                 : (long double)NAN;
    else if (exponent || dtype == DTYPE_F8E8M0)
        number = ldexpl(fraction + (1 << form->fraction), exponent - form->bias - form->fraction);
    else
        number = ldexpl(fraction, 1 - form->bias - form->fraction);
    return code & form->sign ? -number : number;
}

/* The nearest of all. */
static uint8_t small_bits(long double number, enum dtype dtype)
{
    uint8_t best = 0;
    long double least = fabsl(small_get(0, dtype) - number);

    for (int code = 1; code < (dtype == DTYPE_F4E2M1 ? 16 : 256); code++) {
        long double distance = fabsl(small_get((uint8_t)code, dtype) - number);

        if (distance < least || (distance == least && code % 2 == 0 && best % 2 == 1)) {
            best = (uint8_t)code;
            least = distance;
        }
    }
    return best;
}

/* The upper half of a float. */
static long double brain_get(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float number;

    memcpy(&number, &wide, sizeof(number));
    return (long double)number;
}

/* To the nearest of the two that it lies between, ties to even. */
static uint16_t brain_bits(long double number)
{
    float narrow = (float)number;
    uint32_t bits;
    int exponent;

    if (isnan(number))
        return 0x7fc0;
    if (isfinite(number) && number != 0) {
        /* Eight bits, fewer for a subnormal. */
        exponent = ilogbl(number) < -126 ? -126 : ilogbl(number);
        narrow = (float)ldexpl(nearbyintl(ldexpl(number, 7 - exponent)), exponent - 7);
    }
    memcpy(&bits, &narrow, sizeof(bits));
    return (uint16_t)(bits >> 16);
}

long double element_get(const void *data, enum dtype dtype, int64_t i)
{
    switch (dtype) {
    case DTYPE_F32:
        return (long double)((const float *)data)[i];
    case DTYPE_F64:
        return (long double)((const double *)data)[i];
    case DTYPE_F16:
        return half_get(((const uint16_t *)data)[i]);
    case DTYPE_BF16:
        return brain_get(((const uint16_t *)data)[i]);
    case DTYPE_F8E4M3FN:
    case DTYPE_F8E4M3FNUZ:
    case DTYPE_F8E5M2:
    case DTYPE_F8E5M2FNUZ:
    case DTYPE_F4E2M1:
    case DTYPE_F8E8M0:
        return small_get(((const uint8_t *)data)[i], dtype);
    case DTYPE_I8:
    case DTYPE_I4:
    case DTYPE_I2:
        return ((const int8_t *)data)[i];
    case DTYPE_U8:
    case DTYPE_BOOL:
    case DTYPE_U4:
    case DTYPE_U2:
        return ((const uint8_t *)data)[i];
    case DTYPE_I16:
        return ((const int16_t *)data)[i];
    case DTYPE_U16:
        return ((const uint16_t *)data)[i];
    case DTYPE_I32:
        return ((const int32_t *)data)[i];
    case DTYPE_U32:
        return ((const uint32_t *)data)[i];
    case DTYPE_I64:
    case DTYPE_STRING:
        return ((const int64_t *)data)[i];
    case DTYPE_U64:
        return ((const uint64_t *)data)[i];
    case DTYPE_NONE:
    case DTYPE_END:
        break;
    }
    return 0;
}

bool element_is_float(enum dtype dtype)
{
    return dtype == DTYPE_F32 || dtype == DTYPE_F64 || dtype == DTYPE_F16 || dtype == DTYPE_BF16;
}

/* With which nothing computes. */
static bool is_small_float(enum dtype dtype)
{
    return dtype >= DTYPE_F8E4M3FN && dtype < DTYPE_END && dtype != DTYPE_U4 && dtype != DTYPE_I4 &&
           dtype != DTYPE_U2 && dtype != DTYPE_I2;
}

static bool set_float(void *data, enum dtype dtype, int64_t i, long double number)
{
    long double largest = dtype == DTYPE_F32 ? 0x1.fffffep127L : 0x1.fffffffffffffp1023L;

    if (dtype == DTYPE_F16 || dtype == DTYPE_BF16) {
        uint16_t bits = dtype == DTYPE_F16 ? half_bits(number) : brain_bits(number);

        if (isfinite(number) && (bits & 0x7fff) == (dtype == DTYPE_F16 ? 0x7c00 : 0x7f80))
            return false;
        ((uint16_t *)data)[i] = bits;
        return true;
    }
    if (isfinite(number) && fabsl(number) > largest)
        return false;
    if (dtype == DTYPE_F32)
        ((float *)data)[i] = (float)number;
    else
        ((double *)data)[i] = (double)number;
    return true;
}

/* The range of an integer type; bool is 0 and 1. */
static void integer_range(enum dtype dtype, long double *out_low, long double *out_high)
{
    int bits = (int)dtype_file_bits(dtype);
    bool is_signed = dtype == DTYPE_I2 || dtype == DTYPE_I4 || dtype == DTYPE_I8 ||
                     dtype == DTYPE_I16 || dtype == DTYPE_I32 || dtype == DTYPE_I64;

    *out_low = is_signed ? -ldexpl(1, bits - 1) : 0;
    *out_high = dtype == DTYPE_BOOL ? 1 : ldexpl(1, is_signed ? bits - 1 : bits) - 1;
}

bool element_set(void *data, enum dtype dtype, int64_t i, long double number)
{
    long double low, high;

    if (element_is_float(dtype))
        return set_float(data, dtype, i, number);
    if (dtype_bytes(dtype) == 0 || dtype == DTYPE_STRING)
        return false;
    if (is_small_float(dtype)) {
        ((uint8_t *)data)[i] = small_bits(number, dtype);
        return number == number;
    }
    integer_range(dtype, &low, &high);
    /* Written so that NaN is refused. */
    if (!(number >= low && number <= high) || number != floorl(number))
        return false;
    switch (dtype_bytes(dtype)) {
    case 1:
        ((uint8_t *)data)[i] = number < 0 ? (uint8_t)(int8_t)number : (uint8_t)number;
        break;
    case 2:
        ((uint16_t *)data)[i] = number < 0 ? (uint16_t)(int16_t)number : (uint16_t)number;
        break;
    case 4:
        ((uint32_t *)data)[i] = number < 0 ? (uint32_t)(int32_t)number : (uint32_t)number;
        break;
    default:
        ((uint64_t *)data)[i] = number < 0 ? (uint64_t)(int64_t)number : (uint64_t)number;
    }
    return true;
}
