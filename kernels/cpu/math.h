/* SPDX-License-Identifier: Apache-2.0 */
/* Functions in plain arithmetic, so that a loop around them can be vectorised. Inside kernels/cpu
 * only. */
#ifndef OPTRACE_KERNELS_CPU_MATH_H
#define OPTRACE_KERNELS_CPU_MATH_H

#include <stdint.h>
#include <string.h>

#include "kernels/cpu/isa.h"

/** e^x to 2 units in the last place for x in [-87, 88]; saturates outside, to no less than 1e-38
 * and no more than 3e38. NaN stays NaN. */
ISA_BODY float math_exp(float x)
{
    const float magic = 0x1.8p23f; /* adding it rounds to an integer, in the lowest bits */
    float z, n, r, p;
    uint32_t bits, scale;

    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    z = x * 0x1.715476p+0f + magic; /* log2(e) */
    n = z - magic;
    r = x - n * 0x1.62e4p-1f; /* ln(2), in two parts */
    r = r - n * 0x1.7f7d1cp-20f;
    /* e^r on [-ln(2)/2, ln(2)/2]: 1 + r + r^2 * p, p fitted for the least relative error */
    p = 0x1.6a2432p-10f;
    p = p * r + 0x1.1239e2p-7f;
    p = p * r + 0x1.5558f2p-5f;
    p = p * r + 0x1.555492p-3f;
    p = p * r + 0x1.fffffcp-2f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    memcpy(&scale, &z, sizeof(scale));
    memcpy(&bits, &p, sizeof(bits));
    bits += scale << 23; /* p * 2^n */
    memcpy(&p, &bits, sizeof(p));
    return p;
}

ISA_BODY float math_sigmoid(float x)
{
    return 1.0f / (1.0f + math_exp(-x));
}

ISA_BODY float math_tanh(float x)
{
    return 1.0f - 2.0f / (1.0f + math_exp(2.0f * x));
}

/** 1 - erf(x) for x >= 1, to 3e-7 relative up to 4: e^(-x^2) times a polynomial in 1 / (1 + x / 2),
 *  fitted for the least relative error. */
ISA_BODY float math_erfc_above_1(float x)
{
    float t = 1.0f / (1.0f + 0.5f * x);
    float p = -0x1.0d7d2ap-4f;

    p = p * t - 0x1.53efc0p-6f;
    p = p * t + 0x1.6f6b0ep-2f;
    p = p * t + 0x1.0b3fa2p-3f;
    p = p * t + 0x1.47fb72p-2f;
    p = p * t + 0x1.1a3d32p-2f;
    p = p * t + 0x1.d71d3ap-12f;
    return math_exp(-x * x) * p;
}

/** erf(x) for |x| < 1: its Taylor series, which ends below 2e-8 of it. */
ISA_BODY float math_erf_below_1(float x)
{
    float s = x * x, p = -0x1.5f742ep-23f;

    p = p * s + 0x1.b9e6cap-20f;
    p = p * s - 0x1.f4d25cp-17f;
    p = p * s + 0x1.f9a326p-14f;
    p = p * s - 0x1.c02db4p-11f;
    p = p * s + 0x1.565bcep-8f;
    p = p * s - 0x1.b82ce4p-6f;
    p = p * s + 0x1.ce2f22p-4f;
    p = p * s - 0x1.812746p-2f;
    p = p * s + 0x1.20dd76p+0f;
    return x * p;
}

/** To 1e-6 relative. NaN stays NaN. */
ISA_BODY float math_erf(float x)
{
    float size = x < 0.0f ? -x : x, below = math_erf_below_1(x);
    float above = 1.0f - math_erfc_above_1(size < 1.0f ? 1.0f : size > 9.0f ? 9.0f : size);

    above = x < 0.0f ? -above : above;
    return size >= 1.0f ? above : below;
}

/** x / 2 * (1 + erf(x / sqrt(2))), to 1e-6 of |x|. */
ISA_BODY float math_gelu(float x)
{
    return 0.5f * x * (1.0f + math_erf(x * 0x1.6a09e6p-1f));
}

#endif
