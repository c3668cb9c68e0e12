/* SPDX-License-Identifier: Apache-2.0 */
/* The element-wise functions that are worth a vector: float32, one operand, parameters a and b as
 * enum kernel_map says. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_FUNCTIONS_H
#define OPTRACE_KERNELS_CPU_FUNCTIONS_H

#include <math.h>

#include "kernels/cpu/math.h"

/** X(kind, name, isa): the function of MAP_kind is map_name(). */
#define MAP_FUNCTIONS(X, isa)                                                                      \
    X(ABS, abs, isa)                                                                               \
    X(ACOS, acos, isa)                                                                             \
    X(ASIN, asin, isa)                                                                             \
    X(ATAN, atan, isa)                                                                             \
    X(CELU, celu, isa)                                                                             \
    X(ELU, elu, isa)                                                                               \
    X(CEIL, ceil, isa)                                                                             \
    X(CLIP, clip, isa)                                                                             \
    X(ERF, erf, isa)                                                                               \
    X(EXP, exp, isa)                                                                               \
    X(FLOOR, floor, isa)                                                                           \
    X(GELU, gelu, isa)                                                                             \
    X(GELU_TANH, gelu_tanh, isa)                                                                   \
    X(HARD_SIGMOID, hard_sigmoid, isa)                                                             \
    X(HARD_SWISH, hard_swish, isa)                                                                 \
    X(LEAKY_RELU, leaky_relu, isa)                                                                 \
    X(LOG, log, isa)                                                                               \
    X(MISH, mish, isa)                                                                             \
    X(NEG, neg, isa)                                                                               \
    X(RECIPROCAL, reciprocal, isa)                                                                 \
    X(RELU, relu, isa)                                                                             \
    X(ROUND, round, isa)                                                                           \
    X(SELU, selu, isa)                                                                             \
    X(SIGMOID, sigmoid, isa)                                                                       \
    X(SIGN, sign, isa)                                                                             \
    X(SOFTPLUS, softplus, isa)                                                                     \
    X(SOFTSIGN, softsign, isa)                                                                     \
    X(SQRT, sqrt, isa)                                                                             \
    X(SWISH, swish, isa)                                                                           \
    X(TANH, tanh, isa)                                                                             \
    X(THRESHOLDED_RELU, thresholded_relu, isa)

ISA_BODY float map_abs(float x, float a, float b)
{
    return fabsf(x);
}

ISA_BODY float map_elu(float x, float a, float b)
{
    return x < 0.0f ? a * (math_exp(x) - 1.0f) : x;
}

ISA_BODY float map_ceil(float x, float a, float b)
{
    return ceilf(x);
}

ISA_BODY float map_clip(float x, float a, float b)
{
    x = x < a ? a : x;
    return x > b ? b : x;
}

ISA_BODY float map_floor(float x, float a, float b)
{
    return floorf(x);
}

ISA_BODY float map_round(float x, float a, float b)
{
    return nearbyintf(x);
}

ISA_BODY float map_erf(float x, float a, float b)
{
    return math_erf(x);
}

/* The square of e^(x/2), so that what overflows does and what is next to nothing becomes it. As math_exp(), whose numbers
 * are made for x/2 here. */
ISA_BODY float map_exp(float x, float a, float b)
{
    const float magic = 0x1.8p23f;
    float inside = math_limit(x, 174.0f), z = inside * 0x1.715476p-1f + magic, n = z - magic, r, p;
    uint32_t bits, scale;

    r = inside - n * 0x1.62e4p+0f;
    r = r - n * 0x1.7f7d1cp-19f;
    p = 0x1.6a2432p-16f;
    p = p * r + 0x1.1239e2p-12f;
    p = p * r + 0x1.5558f2p-9f;
    p = p * r + 0x1.555492p-6f;
    p = p * r + 0x1.fffffcp-4f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    memcpy(&scale, &z, sizeof(scale));
    memcpy(&bits, &p, sizeof(bits));
    bits += scale << 23;
    memcpy(&p, &bits, sizeof(p));
    p = x == x ? p : x;
    return p * p;
}

/* asin(x) or, where of_cosine, acos(x), to 4e-7; NaN beyond 1. Above 1/2 by the half of the angle
 *  from 1: asin(x) = pi / 2 - 2 asin(sqrt((1 - x) / 2)). */
ISA_BODY float arc_of(float x, int of_cosine)
{
    float size = __builtin_fabsf(x), half = 0.5f - 0.5f * size, s, p, y, arc;
    int is_far = size > 0.5f;

    s = is_far ? half : size * size;
    y = __builtin_sqrtf(half);
    y = is_far ? y : size;
    p = 4.2163199048e-2f; /* Cephes' polynomial */
    p = p * s + 2.4181311049e-2f;
    p = p * s + 4.5470025998e-2f;
    p = p * s + 7.4953002686e-2f;
    p = p * s + 1.6666752422e-1f;
    p = p * s * y + y;
    if (!of_cosine) {
        arc = is_far ? 0x1.921fb6p+0f - 2.0f * p : p;
        return __builtin_copysignf(arc, x);
    }
    arc = x < 0.0f ? 0x1.921fb6p+1f - 2.0f * p : 2.0f * p;
    return is_far ? arc : 0x1.921fb6p+0f - __builtin_copysignf(p, x);
}

ISA_BODY float map_acos(float x, float a, float b)
{
    return arc_of(x, 1);
}

ISA_BODY float map_asin(float x, float a, float b)
{
    return arc_of(x, 0);
}

/* To 4e-7. NaN stays NaN. By the angle from 0, pi / 4 or pi / 2, the tangent of which is small. */
ISA_BODY float map_atan(float x, float a, float b)
{
    float size = __builtin_fabsf(x), over, under, t, s, p, base;

    over = size > 0x1.a8279ap-2f ? size - 1.0f : size; /* tan(pi / 8) */
    under = size > 0x1.a8279ap-2f ? size + 1.0f : 1.0f;
    base = size > 0x1.a8279ap-2f ? 0x1.921fb6p-1f : 0.0f;
    over = size > 0x1.3504f4p+1f ? -1.0f : over; /* tan(3 pi / 8) */
    under = size > 0x1.3504f4p+1f ? size : under;
    base = size > 0x1.3504f4p+1f ? 0x1.921fb6p+0f : base;
    t = over / under;
    s = t * t;
    p = 8.05374449538e-2f; /* Cephes' polynomial */
    p = p * s - 1.38776856032e-1f;
    p = p * s + 1.99777106478e-1f;
    p = p * s - 3.33329491539e-1f;
    p = p * s * t + t;
    return __builtin_copysignf(base + p, x);
}

/* By map_exp(), as x / a is anything where a is below 0. */
ISA_BODY float map_celu(float x, float a, float b)
{
    return x > 0.0f ? x : a * (map_exp(x / a, a, b) - 1.0f);
}

ISA_BODY float map_gelu(float x, float a, float b)
{
    return math_gelu(x);
}

ISA_BODY float map_gelu_tanh(float x, float a, float b)
{
    return x * math_sigmoid(0x1.988454p+0f * (x + 0.044715f * x * x * x));
}

ISA_BODY float map_hard_sigmoid(float x, float a, float b)
{
    x = a * x + b;
    x = x < 0.0f ? 0.0f : x;
    return x > 1.0f ? 1.0f : x;
}

ISA_BODY float map_hard_swish(float x, float a, float b)
{
    return x * map_hard_sigmoid(x, 1.0f / 6.0f, 0.5f);
}

ISA_BODY float map_leaky_relu(float x, float a, float b)
{
    return x < 0.0f ? a * x : x;
}

ISA_BODY float map_log(float x, float a, float b)
{
    return math_log(x);
}

/* tanh(log(1 + e)) is a quotient; beyond 20 it is 1. By map_exp(), which is 0 of minus infinity. */
ISA_BODY float map_mish(float x, float a, float b)
{
    float e = map_exp(x > 20.0f ? 20.0f : x, a, b), n = e * (e + 2.0f);

    return x * (n / (n + 2.0f));
}

ISA_BODY float map_neg(float x, float a, float b)
{
    return -x;
}

ISA_BODY float map_reciprocal(float x, float a, float b)
{
    return 1.0f / x;
}

ISA_BODY float map_relu(float x, float a, float b)
{
    return x < 0.0f ? 0.0f : x;
}

ISA_BODY float map_selu(float x, float a, float b)
{
    return b * (x < 0.0f ? a * (math_exp(x) - 1.0f) : x);
}

ISA_BODY float map_sigmoid(float x, float a, float b)
{
    return math_sigmoid(x);
}

ISA_BODY float map_sign(float x, float a, float b)
{
    float y = x > 0.0f ? 1.0f : x;

    return x < 0.0f ? -1.0f : y;
}

ISA_BODY float map_softplus(float x, float a, float b)
{
    return (x > 0.0f ? x : 0.0f) + math_log(1.0f + math_exp(-fabsf(x)));
}

ISA_BODY float map_softsign(float x, float a, float b)
{
    return x / (1.0f + fabsf(x));
}

ISA_BODY float map_sqrt(float x, float a, float b)
{
    return sqrtf(x);
}

ISA_BODY float map_swish(float x, float a, float b)
{
    return x * math_sigmoid(a * x);
}

ISA_BODY float map_tanh(float x, float a, float b)
{
    return math_tanh(x);
}

ISA_BODY float map_thresholded_relu(float x, float a, float b)
{
    return ((x > a) | (x != x)) ? x : 0.0f;
}

#endif
