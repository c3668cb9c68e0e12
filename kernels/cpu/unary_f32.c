/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of one operand over f32. */
#include "kernels/cpu/isa.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

struct unary {
    float *y;
    const float *x;
    float a, b;
};

/* Elements that are worth a second thread. */
enum { GRAIN = 1 << 16 };

ISA_BODY float relu(float x, float a, float b)
{
    return x < 0.0f ? 0.0f : x;
}

ISA_BODY float leaky_relu(float x, float a, float b)
{
    return x < 0.0f ? a * x : x;
}

ISA_BODY float clip(float x, float a, float b)
{
    x = x < a ? a : x;
    return x > b ? b : x;
}

ISA_BODY float sigmoid(float x, float a, float b)
{
    return math_sigmoid(x);
}

ISA_BODY float tanh_fast(float x, float a, float b)
{
    return math_tanh(x);
}

#define UNARY(name, function, isa)                                                                 \
    ISA_TARGET_##isa static void name##_part_##isa(void *argument, int64_t begin, int64_t end)     \
    {                                                                                              \
        const struct unary *u = argument;                                                          \
        float *y = u->y;                                                                           \
        const float *x = u->x;                                                                     \
        float a = u->a, b = u->b;                                                                  \
                                                                                                   \
        for (int64_t i = begin; i < end; i++)                                                      \
            y[i] = function(x[i], a, b);                                                           \
    }                                                                                              \
                                                                                                   \
    void name##_f32_##isa(float *y, const float *x, size_t count, float a, float b)                \
    {                                                                                              \
        struct unary u = {y, x, a, b};                                                             \
                                                                                                   \
        team_for((int64_t)count, GRAIN, name##_part_##isa, &u);                                    \
    }

#define ALL(isa)                                                                                   \
    UNARY(relu, relu, isa)                                                                         \
    UNARY(leaky_relu, leaky_relu, isa)                                                             \
    UNARY(clip, clip, isa)                                                                         \
    UNARY(sigmoid, sigmoid, isa)                                                                   \
    UNARY(tanh, tanh_fast, isa)

ISA_VERSIONS(ALL)
