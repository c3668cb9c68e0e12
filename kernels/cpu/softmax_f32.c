/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax over f32 along one axis: along the innermost one, or over the inner axes. */
#include "kernels/cpu/isa.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

#include <stdint.h>
#include <string.h>

enum {
    BLOCK = 256,  /* inner elements at a time */
    AHEAD = 256,  /* elements of the next row that are fetched together */
    LINE = 16,    /* of a cache */
    SHORT = 32,   /* elements of a row, at most, of which many are computed side by side */
    MIDDLE = 128, /* of which a row has few registers */
    ROWS = 64,
    FEW = 8, /* rows that are not worth it */
    TOGETHER = 16,
    SOME = 1 << 13, /* elements of rows that are computed together, at most */
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
    int64_t quarter = count / (4 * LINE) * LINE;

#pragma omp simd reduction(+ : sum, second, third, fourth)
    for (int64_t i = 0; i < quarter; i++) {
        sum += x[i];
        second += x[quarter + i];
        third += x[2 * quarter + i];
        fourth += x[3 * quarter + i];
    }
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 4 * quarter; i < count; i++)
        sum += x[i];
    return (sum + second) + (third + fourth);
}

/* The powers of a row of whole registers; their sum. x may be y. */
ISA_BODY float powers(float *y, const float *x, int64_t count, float maximum, float least)
{
    float sum = 0.0f;
    int64_t i = 0;

    if (count < 2 * AHEAD) {
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < count; j++) {
            float e = math_exp_below(x[j] - maximum, least);

            sum += e;
            y[j] = e;
        }
        return sum;
    }
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
    return total(y, count);
}

/* The powers of a row of LINE elements at least; one over their sum. What is left when its registers are done is
 * a register, too, of which some were counted. x may be y. */
ISA_BODY float raise_row(float *y, const float *x, int64_t count, float maximum, float least)
{
    int64_t whole = count / LINE * LINE;
    const float *weights = math_last + (count - whole);
    float sum = 0.0f, last[LINE];

    if (whole == count)
        return 1.0f / powers(y, x, whole, maximum, least);
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < LINE; j++) {
        float e = math_exp_below(x[count - LINE + j] - maximum, least);

        last[j] = e;
        sum += weights[j] * e;
    }
    sum += powers(y, x, whole, maximum, least);
    for (int64_t j = 0; j < LINE; j++)
        y[count - LINE + j] = last[j];
    return 1.0f / sum;
}

ISA_BODY void scale_row(float *y, int64_t count, float scale)
{
    int64_t whole = count / LINE * LINE;
    float last[LINE];

    for (int64_t j = 0; j < LINE; j++)
        last[j] = y[count - LINE + j] * scale;
#pragma omp simd
    for (int64_t j = 0; j < whole; j++)
        y[j] *= scale;
    for (int64_t j = 0; whole < count && j < LINE; j++)
        y[count - LINE + j] = last[j];
}

/* As raise_row(), for few registers: sums of their lanes, which are added up once. */
ISA_BODY float raise_few(float *y, const float *x, int64_t count, float maximum, float least)
{
    const float *weights = math_last + ((count - 1) % LINE + 1);
    float lanes[LINE], last[LINE], sum = 0.0f;

#pragma omp simd
    for (int64_t j = 0; j < LINE; j++) {
        last[j] = math_exp_below(x[count - LINE + j] - maximum, least);
        lanes[j] = weights[j] * last[j];
    }
    for (int64_t i = 0; i + LINE < count; i += LINE)
#pragma omp simd
        for (int64_t j = 0; j < LINE; j++) {
            float e = math_exp_below(x[i + j] - maximum, least);

            lanes[j] += e;
            y[i + j] = e;
        }
#pragma omp simd
    for (int64_t j = 0; j < LINE; j++)
        y[count - LINE + j] = last[j];
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < LINE; j++)
        sum += lanes[j];
    return 1.0f / sum;
}

ISA_BODY void scale_few(float *y, int64_t count, float scale)
{
    float last[LINE];

#pragma omp simd
    for (int64_t j = 0; j < LINE; j++)
        last[j] = y[count - LINE + j] * scale;
    for (int64_t i = 0; i + LINE < count; i += LINE)
#pragma omp simd
        for (int64_t j = 0; j < LINE; j++)
            y[i + j] *= scale;
#pragma omp simd
    for (int64_t j = 0; j < LINE; j++)
        y[count - LINE + j] = last[j];
}

/* Step by step for some rows, so that none waits for the sum of one before; is_few, a constant: of LINE to MIDDLE
 * elements. */
ISA_BODY void softmax_rows(float *y, const float *x, int64_t rows, int64_t count, bool is_few)
{
    float maxima[TOGETHER], scales[TOGETHER], least = math_least();

    for (int64_t r = 0; r < rows; r++)
        maxima[r] =
            is_few ? math_largest_few(x + r * count, count) : math_largest(x + r * count, count);
    for (int64_t r = 0; r < rows; r++) {
        float *to = y + r * count;
        const float *from = x + r * count;

        scales[r] = is_few ? raise_few(to, from, count, maxima[r], least)
                           : raise_row(to, from, count, maxima[r], least);
    }
    for (int64_t r = 0; r < rows; r++)
        if (is_few)
            scale_few(y + r * count, count, scales[r]);
        else
            scale_row(y + r * count, count, scales[r]);
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

/* Rows that hardly fill a register, as columns of a block of them. */
ISA_BODY void softmax_short(const struct softmax *p, int64_t begin, int64_t end)
{
    float block[SHORT * ROWS];
    int64_t axis = p->axis;

    for (; begin < end; begin += ROWS) {
        int64_t rows = end - begin < ROWS ? end - begin : ROWS;
        const float *x = p->x + begin * axis;
        float *y = p->y + begin * axis;

        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = 0; i < axis; i++)
                block[i * ROWS + r] = x[r * axis + i];
        softmax_columns(block, block, axis, ROWS, rows);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = 0; i < axis; i++)
                y[r * axis + i] = block[i * ROWS + r];
    }
}

ISA_BODY void softmax_part(const struct softmax *p, int64_t begin, int64_t end)
{
    if (p->inner == 1 && p->axis <= SHORT && (end - begin >= FEW || p->axis < LINE)) {
        softmax_short(p, begin, end);
        return;
    }
    for (int64_t o = begin, rows = 1; o < end; o += rows) {
        float *y = p->y + o * p->axis * p->inner;
        const float *x = p->x + o * p->axis * p->inner;

        if (p->inner == 1) {
            rows = SOME / p->axis < TOGETHER ? SOME / p->axis + 1 : TOGETHER;
            rows = rows < end - o ? rows : end - o;
            if (p->axis >= LINE && p->axis <= MIDDLE)
                softmax_rows(y, x, rows, p->axis, true);
            else
                softmax_rows(y, x, rows, p->axis, false);
            continue;
        }
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
