/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax over f32 along one axis, the truth. */
#include "kernels/kernels.h"

#include <math.h>

static void softmax_one(float *y, const float *x, size_t axis, size_t stride)
{
    float maximum = x[0];
    double sum = 0.0;

    for (size_t i = 1; i < axis; i++)
        maximum = fmaxf(maximum, x[i * stride]);
    for (size_t i = 0; i < axis; i++)
        sum += exp((double)x[i * stride] - maximum);
    for (size_t i = 0; i < axis; i++)
        y[i * stride] = (float)(exp((double)x[i * stride] - maximum) / sum);
}

void softmax_f32_ref(float *y, const float *x, size_t outer, size_t axis, size_t inner)
{
    if (axis == 0)
        return;
    for (size_t o = 0; o < outer; o++)
        for (size_t i = 0; i < inner; i++)
            softmax_one(y + o * axis * inner + i, x + o * axis * inner + i, axis, inner);
}
