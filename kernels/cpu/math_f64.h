/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of f64 in plain arithmetic, so that a loop around them can be vectorised: without integers of 64
 * bits that become numbers, or are shifted with their sign, which AVX2 does not have. NaN stays NaN. Inside
 * kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_MATH_F64_H
#define OPTRACE_KERNELS_CPU_MATH_F64_H

#include <stdint.h>
#include <string.h>

#include "kernels/cpu/isa.h"

/** e^x = (1 + rest) * scale, where scale is a power of 2. */
struct math_f64_power {
    double rest, scale;
};

/** Of x in [-708, 709]. */
ISA_BODY struct math_f64_power math_f64_split(double x)
{
    const double magic = 0x1.8p52 + 1023.0; /* adding it rounds, to the exponent of a double */
    double z = x * 0x1.71547652b82fep+0 + magic, n = z - magic, r, p; /* log2(e) */
    struct math_f64_power power;
    uint64_t bits;

    r = x - n * 0x1.62e42fefp-1; /* ln(2), in two parts */
    r = r - n * 0x1.473de6af278edp-34;
    /* e^r - 1 on [-ln(2)/2, ln(2)/2]: r + r^2 * p, p by its values at Chebyshev's nodes */
    p = 0x1.af390ba7e6f47p-26;
    p = p * r + 0x1.2891d4ffbb0f9p-22;
    p = p * r + 0x1.71de0d85293b8p-19;
    p = p * r + 0x1.a019b8ca26fcfp-16;
    p = p * r + 0x1.a01a01a7cebcdp-13;
    p = p * r + 0x1.6c16c1789d1d7p-10;
    p = p * r + 0x1.11111111109a6p-7;
    p = p * r + 0x1.5555555553d37p-5;
    p = p * r + 0x1.5555555555556p-3;
    p = p * r + 0.5;
    power.rest = p * (r * r) + r;
    memcpy(&bits, &z, sizeof(bits));
    bits <<= 52;
    memcpy(&power.scale, &bits, sizeof(bits));
    return power;
}

/** e^x to 2 units in the last place for x <= 0; below -708 as there. */
ISA_BODY double math_f64_exp_below(double x)
{
    struct math_f64_power power = math_f64_split(-708.0 > x ? -708.0 : x);

    return power.rest * power.scale + power.scale;
}

/** e^x to 4 units in the last place. From half of x, so that what overflows does, and what is next to nothing
 *  becomes it. */
ISA_BODY double math_f64_exp(double x)
{
    double half = 0.5 * x, root;
    struct math_f64_power power;

    half = 400.0 < half ? 400.0 : half;
    half = half < -400.0 ? -400.0 : half;
    power = math_f64_split(half);
    root = power.rest * power.scale + power.scale;
    return root * root;
}

/** To 4 units in the last place, of what is not below -708. */
ISA_BODY double math_f64_sigmoid(double x)
{
    double power = math_f64_exp_below(-__builtin_fabs(x));

    return (x < 0.0 ? power : 1.0) / (1.0 + power);
}

/** To 4 units in the last place: (e^2x - 1) / (e^2x + 1), the first as it is before 1 is added. */
ISA_BODY double math_f64_tanh(double x)
{
    double size = __builtin_fabs(x), below;
    struct math_f64_power power = math_f64_split(40.0 < 2.0 * size ? 40.0 : 2.0 * size);

    below = power.rest * power.scale + (power.scale - 1.0);
    return __builtin_copysign(below / (below + 2.0), x);
}

/** Beyond it math_f64_turn() is none. */
#define MATH_F64_TURN_MAX 0x1p20

/** Sine and cosine of what is left of x, within pi / 4 of 0, when quarters of pi / 2 are taken off. */
struct math_f64_turn {
    double sine, cosine;
    uint64_t quarters; /* in the lowest two bits */
};

/** To 3e-16 absolute, of |x| at most MATH_F64_TURN_MAX. */
ISA_BODY struct math_f64_turn math_f64_turn(double x)
{
    const double magic = 0x1.8p52; /* adding it rounds to an integer, in the lowest bits */
    double at = x * 0x1.45f306dc9c883p-1 + magic, n = at - magic, r, z, s, c; /* 2 / pi */
    struct math_f64_turn turn;

    memcpy(&turn.quarters, &at, sizeof(turn.quarters));
    /* pi / 2 in three parts, of which the first two times n are exact */
    r = x - n * 0x1.921fb544p+0;
    r = r - n * 0x1.0b4611a6p-34;
    r = r - n * 0x1.3198a2e037073p-69;
    z = r * r;
    /* (sin(r) / r - 1) / z and (cos(r) - 1 + z / 2) / z^2 by their values at Chebyshev's nodes */
    s = 0x1.5e0af186af6e1p-33;
    s = s * z - 0x1.ae600a926c899p-26;
    s = s * z + 0x1.71de37961e4c6p-19;
    s = s * z - 0x1.a01a019e8357dp-13;
    s = s * z + 0x1.1111111110bb1p-7;
    s = s * z - 0x1.5555555555555p-3;
    c = -0x1.907d7aebc05d2p-37;
    c = c * z + 0x1.1eeb68b108f2bp-29;
    c = c * z - 0x1.27e4fa17a41b1p-22;
    c = c * z + 0x1.a01a019f4e867p-16;
    c = c * z - 0x1.6c16c16c16966p-10;
    c = c * z + 0x1.5555555555555p-5;
    turn.sine = r * z * s + r;
    turn.cosine = z * z * c + (1.0 - 0.5 * z);
    return turn;
}

/** sin(x + quarter * pi / 2), as math_f64_turn(). */
ISA_BODY double math_f64_sine(double x, uint64_t quarter)
{
    struct math_f64_turn turn = math_f64_turn(x);
    double y = (turn.quarters + quarter) & 1 ? turn.cosine : turn.sine;

    return (turn.quarters + quarter) & 2 ? -y : y;
}

/** x / 2 * (1 + tanh(u)), u = sqrt(2 / pi) * (x + 0.044715 x^3), to 2e-15 of |x|: by a sigmoid of 2 u. */
ISA_BODY double math_f64_gelu_tanh(double x)
{
    double u = 2.0 * 0.79788456080286535588 * (x + 0.044715 * x * x * x);

    return x * (u < -708.0 ? 0.0 : math_f64_sigmoid(u));
}

/** The logarithm of a normal number above 0, to 2 units in the last place, or absolute where it is small. */
ISA_BODY double math_f64_log(double x)
{
    const double magic = 0x1p52;
    uint64_t bits, exponent;
    double n, f, s, z, p, half;

    memcpy(&bits, &x, sizeof(bits));
    bits += 0x3ff0000000000000 - 0x3fe6a09e667f3bcd; /* so that sqrt(1/2) <= 1 + f < sqrt(2) */
    exponent = bits >> 52 | 0x4330000000000000;      /* in the lowest bits of magic */
    memcpy(&n, &exponent, sizeof(n));
    n -= magic + 1023.0;
    bits = (bits & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd;
    memcpy(&f, &bits, sizeof(f));
    f -= 1.0;
    s = f / (2.0 + f);
    z = s * s;
    /* log(1 + f) = 2 s + s z p, p by its values at Chebyshev's nodes */
    p = 0x1.2b584aae78a57p-3;
    p = p * z + 0x1.39fe606542ddep-3;
    p = p * z + 0x1.7462b4ab2ef6bp-3;
    p = p * z + 0x1.c71c62e5800a1p-3;
    p = p * z + 0x1.2492492df148dp-2;
    p = p * z + 0x1.99999999952e2p-2;
    p = p * z + 0x1.5555555555558p-1;
    half = 0.5 * f * f;
    /* 2 s = f - s f, and s f = half - s half: what is small is summed first. */
    p = s * (half + z * p) + n * 0x1.473de6af278edp-34;
    return n * 0x1.62e42fefp-1 + (f - (half - p));
}

#endif
