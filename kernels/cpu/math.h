/* SPDX-License-Identifier: Apache-2.0 */
/* Functions in plain arithmetic, so that a loop around them can be vectorised. Inside kernels/cpu
 * only. */
#ifndef OPTRACE_KERNELS_CPU_MATH_H
#define OPTRACE_KERNELS_CPU_MATH_H

#include <stdint.h>
#include <string.h>

#include "kernels/cpu/isa.h"

/** x, but no further from 0 than limit, which is above 0. NaN becomes the limit. In integers: of
 * two comparisons of floats in a row GCC makes a net of masks, of these it makes a minimum. */
ISA_BODY float math_limit(float x, float limit)
{
    int32_t bits, size, most;

    memcpy(&bits, &x, sizeof(bits));
    memcpy(&most, &limit, sizeof(most));
    size = bits & INT32_MAX;
    size = size < most ? size : most;
    size |= bits & INT32_MIN;
    memcpy(&x, &size, sizeof(x));
    return x;
}

/** e^x / 2^n, where n is the integer next to x / ln(2). */
ISA_BODY float math_exp_rest(float x, float n)
{
    float r = x - n * 0x1.62e4p-1f, p; /* ln(2), in two parts */

    r = r - n * 0x1.7f7d1cp-20f;
    /* e^r on [-ln(2)/2, ln(2)/2]: 1 + r + r^2 * p, p fitted for the least relative error */
    p = 0x1.6a2432p-10f;
    p = p * r + 0x1.1239e2p-7f;
    p = p * r + 0x1.5558f2p-5f;
    p = p * r + 0x1.555492p-3f;
    p = p * r + 0x1.fffffcp-2f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return p;
}

/** As math_exp_rest(), to 2e-7 of it where n is within 16 of 0, and up to 4e-7 at 116, as ln(2) is one number here: 4e-6 where a
 *  product is rounded before it is subtracted. For sums, to which little comes of where n is large. */
ISA_BODY float math_exp_near(float x, float n)
{
    float r = x - n * 0x1.62e430p-1f, p;

    p = 0x1.106252p-7f; /* as there, but to 1e-7 */
    p = p * r + 0x1.572a66p-5f;
    p = p * r + 0x1.5557b0p-3f;
    p = p * r + 0x1.fffdfcp-2f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return p;
}

/** e^x to 2 units in the last place for x in [-87, 87]; as at the ends outside. NaN stays NaN. */
ISA_BODY float math_exp(float x)
{
    const float magic = 0x1.8p23f; /* adding it rounds to an integer, in the lowest bits */
    float inside = math_limit(x, 87.0f), z, n, p;
    uint32_t bits, scale;

    z = inside * 0x1.715476p+0f + magic; /* log2(e) */
    n = z - magic;
    p = math_exp_rest(inside, n);
    memcpy(&scale, &z, sizeof(scale));
    memcpy(&bits, &p, sizeof(bits));
    bits += scale << 23; /* p * 2^n */
    memcpy(&p, &bits, sizeof(p));
    return x == x ? p : x;
}

/** The least number that math_exp_below() knows. Compilers must not see that nothing comes of it:
 *  they would make a mask of the comparison. */
ISA_BODY float math_least(void)
{
    float least = -80.4f;

    __asm__("" : "+m"(least));
    return least;
}

/** e^x / 2^11 for x <= 0, as exactly as math_exp_near(), but exactly 0 below -80.06, so that hardly a
 *  number comes of it that is too small for a float's exponent, which processors are slow with. NaN
 *  stays NaN. least is math_least(), taken before the loop. For sums that are divided by, where the
 *  factor does not matter: it is much less work than math_exp(). */
ISA_BODY float math_exp_below(float x, float least)
{
    const float magic = 0x1.8p23f + 116.0f; /* the least exponent becomes 0 in the lowest bits */
    float inside = least > x ? least : x, z, p, scale;
    uint32_t bits;

    z = inside * 0x1.715476p+0f + magic;
    p = math_exp_near(inside, z - magic);
    memcpy(&bits, &z, sizeof(bits));
    bits <<= 23;
    memcpy(&scale, &bits, sizeof(scale));
    return p * scale;
}

enum { MATH_BELOW = 2048 }; /* what math_exp_below() divides by */

/** The largest number of those that are no NaN; -infinity where there is none. */
ISA_BODY float math_largest(const float *x, int64_t count)
{
    float most = -__builtin_inff(), second = most, third = most, fourth = most;
    int64_t quarter = count / 64 * 16; /* whole registers */

    /* Side by side, so that none waits for the one before. */
    if (quarter > 16) {
#pragma omp simd reduction(max : most, second, third, fourth)
        for (int64_t i = 0; i < quarter; i++) {
            most = x[i] > most ? x[i] : most;
            second = x[quarter + i] > second ? x[quarter + i] : second;
            third = x[2 * quarter + i] > third ? x[2 * quarter + i] : third;
            fourth = x[3 * quarter + i] > fourth ? x[3 * quarter + i] : fourth;
        }
        most = second > most ? second : most;
        most = third > most ? third : most;
        most = fourth > most ? fourth : most;
        x += 4 * quarter;
        count -= 4 * quarter;
    }
#pragma omp simd reduction(max : most)
    for (int64_t i = 0; i < count / 16 * 16; i++)
        most = x[i] > most ? x[i] : most;
    for (int64_t i = count / 16 * 16; i < count; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

/** As math_largest(), of a row of few registers, at least one of 16 numbers: the last ones are seen twice, and lanes
 *  are compared once. */
ISA_BODY float math_largest_few(const float *x, int64_t count)
{
    float lanes[16], most = -__builtin_inff();

#pragma omp simd
    for (int64_t j = 0; j < 16; j++)
        lanes[j] = x[count - 16 + j] > most ? x[count - 16 + j] : most;
    for (int64_t i = 0; i + 16 < count; i += 16)
#pragma omp simd
        for (int64_t j = 0; j < 16; j++)
            lanes[j] = x[i + j] > lanes[j] ? x[i + j] : lanes[j];
#pragma omp simd reduction(max : most)
    for (int64_t j = 0; j < 16; j++)
        most = lanes[j] > most ? lanes[j] : most;
    return most;
}

/** 1 / (1 + e^-x) to 5e-7 of it for x >= -80, below that as there. NaN stays NaN. By the power of a
 *  number that is not above 0, which needs a limit on one side only. */
ISA_BODY float math_sigmoid(float x)
{
    const float magic = 0x1.8p23f + 127.0f; /* the exponent becomes that of a float */
    float size = -__builtin_fabsf(x), inside = -80.0f > size ? -80.0f : size, z, p, scale;
    uint32_t bits;

    z = inside * 0x1.715476p+0f + magic; /* log2(e) */
    p = math_exp_near(inside, z - magic);
    memcpy(&bits, &z, sizeof(bits));
    bits <<= 23;
    memcpy(&scale, &bits, sizeof(scale));
    p *= scale;
    return (x < 0.0f ? p : 1.0f) / (1.0f + p);
}

/** To 4e-7 of it; at most 1. x times a quotient of polynomials in x^2, fitted for the least relative
 *  error up to 9, where it rounds to 1. NaN stays NaN. */
ISA_BODY float math_tanh(float x)
{
    float size = __builtin_fabsf(x), inside = 9.0f < size ? 9.0f : size, s, p, q, y;

    s = inside * inside;
    p = 0x1.cadd08p-27f;
    p = p * s + 0x1.59c368p-16f;
    p = p * s + 0x1.ca2c84p-9f;
    p = p * s + 0x1.120b1ep-3f;
    p = p * s + 1.0f;
    q = 0x1.a18056p-21f;
    q = q * s + 0x1.588624p-12f;
    q = q * s + 0x1.a7f7f2p-6f;
    q = q * s + 0x1.de5ad8p-2f;
    q = q * s + 1.0f;
    y = inside * p / q;
    y = 1.0f < y ? 1.0f : y;
    return __builtin_copysignf(y, x);
}

/** The natural logarithm to 2e-7 of it, or absolute where it is small. 0 gives -infinity, below
 *  that NaN. */
ISA_BODY float math_log(float x)
{
    float scaled = x < 0x1p-126f ? x * 0x1p23f : x, n = x < 0x1p-126f ? -23.0f : 0.0f, f, p, s, y;
    uint32_t bits;
    int32_t exponent;

    memcpy(&bits, &scaled, sizeof(bits));
    exponent = (int32_t)(bits - 0x3f3504f3) >> 23; /* so that sqrt(1/2) <= 1 + f < sqrt(2) */
    bits -= (uint32_t)exponent << 23;
    memcpy(&f, &bits, sizeof(f));
    f -= 1.0f;
    n += (float)exponent;
    s = f * f;
    p = 7.0376836292e-2f; /* log(1 + f) = f - f^2 / 2 + f^3 * p, Cephes' polynomial */
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    y = n * 0x1.7f7d1cp-20f + p * f * s; /* ln(2), in two parts */
    y = y - 0.5f * s + f + n * 0x1.62e4p-1f;
    y = x > 0x1.fffffep+127f ? x : y;
    y = x == 0.0f ? -__builtin_inff() : y;
    return x >= 0.0f ? y : __builtin_nanf("");
}

/** To 4e-7 relative: x times a quotient of polynomials in x^2, fitted for the least relative error
 * up to 3.95, where erf rounds to 1. NaN stays NaN. */
ISA_BODY float math_erf(float x)
{
    float inside = math_limit(x, 3.95f), s, p, q, y;

    s = inside * inside;
    p = 0x1.0fe9e8p-19f;
    p = p * s + 0x1.2a841cp-12f;
    p = p * s + 0x1.f323a0p-9f;
    p = p * s + 0x1.b127a4p-5f;
    p = p * s + 0x1.884b22p-3f;
    p = p * s + 0x1.20dd74p+0f;
    q = 0x1.3d5b40p-15f;
    q = q * s + 0x1.32e590p-10f;
    q = q * s + 0x1.ed52b6p-7f;
    q = q * s + 0x1.d53c26p-4f;
    q = q * s + 0x1.0194e4p-1f;
    q = q * s + 1.0f;
    y = math_limit(inside * p / q, 1.0f);
    return x == x ? y : x;
}

/** Beyond it math_sine() is no sine. */
#define MATH_SINE_MAX 12000.0f

/** sin(x + quarter * pi / 2) to 1e-7 absolute, quarter being 0 or 1, |x| at most MATH_SINE_MAX. */
ISA_BODY float math_sine(float x, int32_t quarter)
{
    const float magic = 0x1.8p23f; /* adding it rounds to an integer, in the lowest bits */
    float z = x * 0x1.45f306p-1f + magic, n = z - magic, r, s, sine, cosine, y;
    int32_t bits;

    memcpy(&bits, &z, sizeof(bits));
    bits += quarter;
    /* pi / 2 in three parts, of which the first two times n are exact */
    r = x - n * 1.5703125f;
    r = r - n * 4.837512969970703125e-4f;
    r = r - n * 7.54978995489188216e-8f;
    s = r * r;
    sine = -1.9515295891e-4f; /* Cephes' polynomials */
    sine = sine * s + 8.3321608736e-3f;
    sine = sine * s - 1.6666654611e-1f;
    sine = sine * s * r + r;
    cosine = 2.443315711809948e-5f;
    cosine = cosine * s - 1.388731625493765e-3f;
    cosine = cosine * s + 4.166664568298827e-2f;
    cosine = cosine * s * s - 0.5f * s + 1.0f;
    y = bits & 1 ? cosine : sine;
    return bits & 2 ? -y : y;
}

/** x / 2 * (1 + erf(x / sqrt(2))), to 1e-6 of |x|. */
ISA_BODY float math_gelu(float x)
{
    return 0.5f * x * (1.0f + math_erf(x * 0x1.6a09e6p-1f));
}

/** Behind 16 zeros: the weights of the last 16 numbers of a row of which so many are still to be counted are
 *  math_last + that number. */
static const float math_last[32] = {[16] = 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/** The sum of e^(x - largest), over MATH_BELOW, of a row of few registers, at least one of 16 numbers. least is
 *  math_least(). */
ISA_BODY float math_sum_few(const float *x, int64_t count, float largest, float least)
{
    const float *weights = math_last + ((count - 1) % 16 + 1);
    float lanes[16], sum = 0.0f;

#pragma omp simd
    for (int64_t j = 0; j < 16; j++)
        lanes[j] = weights[j] * math_exp_below(x[count - 16 + j] - largest, least);
    for (int64_t i = 0; i + 16 < count; i += 16)
#pragma omp simd
        for (int64_t j = 0; j < 16; j++)
            lanes[j] += math_exp_below(x[i + j] - largest, least);
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < 16; j++)
        sum += lanes[j];
    return sum;
}

/** The sum of e^(x - largest), over MATH_BELOW. */
ISA_BODY double math_sum_below(const float *x, int64_t count, float largest)
{
    float least = math_least();
    double sum = 0.0;
    int64_t whole = count < 16 ? 0 : count / 16 * 16;

    for (int64_t first = 0; first < whole; first += 4096) {
        int64_t last = first + 4096 < whole ? first + 4096 : whole, half = (last - first) / 32 * 16;
        float part = 0.0f, other = 0.0f;

        /* Side by side, so that none waits for the one before. */
#pragma omp simd reduction(+ : part, other)
        for (int64_t i = first; i < first + half; i++) {
            part += math_exp_below(x[i] - largest, least);
            other += math_exp_below(x[half + i] - largest, least);
        }
#pragma omp simd reduction(+ : part)
        for (int64_t i = first + 2 * half; i < last; i++)
            part += math_exp_below(x[i] - largest, least);
        sum += (double)(part +
                        other); /* in float: what is too small beside 1 leaves a logarithm of 0 */
    }
    if (whole < count) {
        const float *weights = math_last + (count - whole);
        float part = 0.0f;

        if (count >= 16) /* a whole register again */
#pragma omp simd reduction(+ : part)
            for (int64_t i = 0; i < 16; i++)
                part += weights[i] * math_exp_below(x[count - 16 + i] - largest, least);
        else
            for (int64_t i = 0; i < count; i++)
                part += math_exp_below(x[i] - largest, least);
        sum += (double)part;
    }
    return sum;
}

#endif
