/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax over f32 along one axis: along the innermost one, or over the inner axes. */
#include "kernels/cpu/isa.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

#include <stdint.h>
#include <string.h>

enum {
    BLOCK = 256, /* inner elements at a time */
    AHEAD = 256, /* elements of the next row that are fetched together */
    LINE = 16,   /* of a cache */
    GRAIN = 1 << 13,
};

struct softmax {
    float *y;
    const float *x;
    int64_t axis, inner;
};

/* In a loop of its own: a sum ends in a chain of as many steps as a register has numbers, which the
 * blocks below would take each for itself. */
ISA_BODY float total(const float *x, int64_t count)
{
    float sum = 0.0f, second = 0.0f, third = 0.0f, fourth = 0.0f;
    int64_t quarter = count / 4;

#pragma omp simd reduction(+ : sum, second, third, fourth)
    for (int64_t i = 0; i < quarter; i++) {
        sum += x[i];
        second += x[quarter + i];
        third += x[2 * quarter + i];
        fourth += x[3 * quarter + i];
    }
    for (int64_t i = 4 * quarter; i < count; i++)
        sum += x[i];
    return (sum + second) + (third + fourth);
}

/* x may be y. */
ISA_BODY void softmax_row(float *y, const float *x, int64_t count)
{
    float maximum = math_largest(x, count), least = math_least(), scale;
    int64_t i = 0;

    for (; i + AHEAD <= count; i += AHEAD) {
        for (int64_t j = i; j < i + AHEAD; j += LINE) { /* the next row */
            __builtin_prefetch(x + count + j);
            __builtin_prefetch(y + count + j, 1);
        }
        for (int64_t j = i; j < i + AHEAD; j++)
            y[j] = math_exp_below(x[j] - maximum, least);
    }
    for (int64_t j = i; j < count; j++)
        y[j] = math_exp_below(x[j] - maximum, least);
    scale = 1.0f / total(y, count);
    for (int64_t j = 0; j < count; j++)
        y[j] *= scale;
}

/* `count` neighbours on the inner axes, at most BLOCK. */
ISA_BODY void softmax_columns(float *y, const float *x, int64_t axis, int64_t inner, int64_t count)
{
    float maxima[BLOCK], sums[BLOCK], least = math_least();

    for (int64_t j = 0; j < count; j++) {
        maxima[j] = x[j];
        sums[j] = 0.0f;
    }
    for (int64_t i = 1; i < axis; i++)
        for (int64_t j = 0; j < count; j++)
            maxima[j] = x[i * inner + j] > maxima[j] ? x[i * inner + j] : maxima[j];
    for (int64_t i = 0; i < axis; i++) {
        for (int64_t j = 0; j < count; j++) {
            float e = math_exp_below(x[i * inner + j] - maxima[j], least);

            sums[j] += e;
            y[i * inner + j] = e;
        }
    }
    for (int64_t j = 0; j < count; j++)
        sums[j] = 1.0f / sums[j];
    for (int64_t i = 0; i < axis; i++)
        for (int64_t j = 0; j < count; j++)
            y[i * inner + j] *= sums[j];
}

ISA_BODY void softmax_part(const struct softmax *p, int64_t begin, int64_t end)
{
    for (int64_t o = begin; o < end; o++) {
        float *y = p->y + o * p->axis * p->inner;
        const float *x = p->x + o * p->axis * p->inner;

        if (p->inner == 1)
            softmax_row(y, x, p->axis);
        else
            for (int64_t j = 0; j < p->inner; j += BLOCK)
                softmax_columns(y + j, x + j, p->axis, p->inner,
                                p->inner - j < BLOCK ? p->inner - j : BLOCK);
    }
}

#define SOFTMAX(isa)                                                                               \
    ISA_TARGET_##isa static void softmax_part_##isa(void *argument, int64_t begin, int64_t end)    \
    {                                                                                              \
        softmax_part(argument, begin, end);                                                        \
    }                                                                                              \
                                                                                                   \
    void softmax_f32_##isa(float *y, const float *x, size_t outer, size_t axis, size_t inner)      \
    {                                                                                              \
        struct softmax p = {y, x, (int64_t)axis, (int64_t)inner};                                  \
                                                                                                   \
        if (axis > 0 && inner > 0)                                                                 \
            team_for((int64_t)outer, GRAIN / (p.axis * p.inner) + 1, softmax_part_##isa, &p);      \
    }

ISA_VERSIONS(SOFTMAX)
