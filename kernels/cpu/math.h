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

#endif
