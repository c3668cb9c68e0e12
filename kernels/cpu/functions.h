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
    X(CELU, celu, isa)                                                                             \
    X(ELU, elu, isa)                                                                               \
    X(CEIL, ceil, isa)                                                                             \
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

/* From half of x, so that what overflows does and what is next to nothing becomes it. */
ISA_BODY float map_exp(float x, float a, float b)
{
    float root = math_exp(0.5f * x);

    return root * root;
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
