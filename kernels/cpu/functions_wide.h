/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of f32 that are computed in f64, where a vector does them in a few steps. NaN stays NaN. Inside
 * kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_FUNCTIONS_WIDE_H
#define OPTRACE_KERNELS_CPU_FUNCTIONS_WIDE_H

#include <float.h>

#include "kernels/cpu/math_f64.h"

/* Next to 0 a series, as little is left of what two functions differ by. */
#define WIDE_NEAR 0.05

ISA_BODY double wide_cosh(double x)
{
    double power = math_f64_exp(__builtin_fabs(x));

    return 0.5 * (power + 1.0 / power);
}

ISA_BODY double wide_sinh(double x)
{
    double size = __builtin_fabs(x), power = math_f64_exp(size), z = x * x;
    double near = size + size * z * (1.0 / 6.0 + z * (1.0 / 120.0));

    return __builtin_copysign(size < WIDE_NEAR ? near : 0.5 * (power - 1.0 / power), x);
}

ISA_BODY double wide_tan(double x)
{
    struct math_f64_turn turn = math_f64_turn(x);

    return turn.quarters & 1 ? -turn.cosine / turn.sine : turn.sine / turn.cosine;
}

ISA_BODY double wide_acosh(double x)
{
    double y = math_f64_log(x + __builtin_sqrt(x * x - 1.0));

    y = x >= 1.0 ? y : __builtin_nan("");
    return x > (double)FLT_MAX ? x : y;
}

ISA_BODY double wide_asinh(double x)
{
    double size = __builtin_fabs(x), z = x * x;
    double near = size + size * z * (-1.0 / 6.0 + z * (3.0 / 40.0));
    double y = math_f64_log(size + __builtin_sqrt(z + 1.0));

    y = size < WIDE_NEAR ? near : y;
    return size <= (double)FLT_MAX ? __builtin_copysign(y, x) : x;
}

ISA_BODY double wide_atanh(double x)
{
    double size = __builtin_fabs(x), z = x * x, beyond;
    double near = size + size * z * (1.0 / 3.0 + z * (1.0 / 5.0 + z * (1.0 / 7.0)));
    double y = 0.5 * math_f64_log((1.0 + size) / (1.0 - size));

    y = size < WIDE_NEAR ? near : y;
    beyond = size == 1.0 ? __builtin_inf() : __builtin_nan("");
    return __builtin_copysign(size < 1.0 ? y : beyond, x);
}

#endif
