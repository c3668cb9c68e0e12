/* SPDX-License-Identifier: Apache-2.0 */
/* The largest and the smallest of floats and doubles, as integers that are ordered as they are: compilers
 * vectorise the maximum of those, not of floats. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_EXTREME_H
#define OPTRACE_KERNELS_CPU_EXTREME_H

#include <stdint.h>
#include <string.h>

#include "kernels/cpu/isa.h"

/** A float's bits as such an integer, and back. A NaN lies beyond the infinity of its sign. */
ISA_BODY int32_t extreme_key(int32_t bits)
{
    return bits ^ (bits >> 31 & INT32_MAX);
}

ISA_BODY float extreme_float(int32_t key)
{
    int32_t bits = extreme_key(key);
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

struct extremes {
    float low, high;
    int has_nan; /* low or high may be one then */
};

/** Of `count` numbers, at least one. Of zeros of both signs, -0 is the smaller one. */
ISA_BODY struct extremes extremes_of(const float *x, int64_t count)
{
    const int32_t infinity = 0x7f800000;
    int32_t low = INT32_MAX, high = INT32_MIN;

    for (int64_t i = 0; i < count; i++) {
        int32_t bits, key;

        memcpy(&bits, &x[i], sizeof(bits));
        key = extreme_key(bits);
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    return (struct extremes){extreme_float(low), extreme_float(high),
                             (high > infinity) | (low < ~infinity)};
}

/** The largest of doubles, or the smallest; NaN where there is one. is_max is a constant. */
ISA_BODY double extreme_f64(const double *x, int64_t count, int is_max)
{
    int64_t best = is_max ? INT64_MIN : INT64_MAX, odd = 0;
    double found;

    for (int64_t i = 0; i < count; i++) {
        int64_t bits, key;

        memcpy(&bits, &x[i], sizeof(bits));
        key = bits ^ (bits >> 63 & INT64_MAX);
        odd |= x[i] != x[i];
        if (is_max)
            best = key > best ? key : best;
        else
            best = key < best ? key : best;
    }
    best ^= best >> 63 & INT64_MAX;
    memcpy(&found, &best, sizeof(found));
    return odd ? __builtin_nan("") : found;
}

/** The first place where the element is `value`, or where it is NaN; the last one where it is nowhere. is_nan is a
 *  constant: a choice within the loop keeps gcc 12 from vectorising it. */
ISA_BODY int64_t extreme_first(const float *x, int64_t count, float value, int is_nan)
{
    enum { BLOCK = 64 };
    int64_t i = 0;

    for (; i + BLOCK <= count; i += BLOCK) {
        int any = 0;

#pragma omp simd reduction(| : any)
        for (int64_t j = 0; j < BLOCK; j++)
            any |= is_nan ? x[i + j] != x[i + j] : x[i + j] == value;
        if (any)
            break;
    }
    while (i < count - 1 && !(is_nan ? x[i] != x[i] : x[i] == value))
        i++;
    return i;
}

#endif
