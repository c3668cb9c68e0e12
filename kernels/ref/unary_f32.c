/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of one operand over f32, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/ref.h"

#include <math.h>

static float relu(float x, float a, float b)
{
    return x < 0.0f ? 0.0f : x;
}

static float leaky_relu(float x, float a, float b)
{
    return x < 0.0f ? a * x : x;
}

static float clip(float x, float a, float b)
{
    x = x < a ? a : x;
    return x > b ? b : x;
}

static float sigmoid(float x, float a, float b)
{
    return (float)(1.0 / (1.0 + exp(-(double)x)));
}

static float hyperbolic_tangent(float x, float a, float b)
{
    return (float)tanh(x);
}

static float gelu_tanh(float x, float a, float b)
{
    const double v = x;

    return (float)(0.5 * v * (1.0 + tanh(0.79788456080286535588 * (v + 0.044715 * v * v * v))));
}

static float identity(float x, float a, float b)
{
    return x;
}

float ref_activate(float x, const struct kernel_activation *activation)
{
    static float (*const functions[KERNEL_ACTIVATION_COUNT])(float, float, float) = {
        [KERNEL_IDENTITY] = identity,     [KERNEL_RELU] = relu,
        [KERNEL_LEAKY_RELU] = leaky_relu, [KERNEL_CLIP] = clip,
        [KERNEL_SIGMOID] = sigmoid,       [KERNEL_TANH] = hyperbolic_tangent,
        [KERNEL_GELU_TANH] = gelu_tanh,
    };

    return functions[activation->kind](x, activation->a, activation->b);
}

#define UNARY(name, function)                                                                      \
    void name##_f32_ref(float *y, const float *x, size_t count, float a, float b)                  \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            y[i] = function(x[i], a, b);                                                           \
    }

UNARY(relu, relu)
UNARY(leaky_relu, leaky_relu)
UNARY(clip, clip)
UNARY(sigmoid, sigmoid)
UNARY(tanh, hyperbolic_tangent)
UNARY(gelu_tanh, gelu_tanh)
