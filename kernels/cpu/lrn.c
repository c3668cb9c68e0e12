/* SPDX-License-Identifier: Apache-2.0 */
/* Local response normalisation of channels-last images. */
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

#include <math.h>

/* Channels at a time: their squares, and those of the window's reach, stay in the first cache. */
enum { BLOCK = 256, REACH_MAX = 32, GRAIN = 1 << 15 };

struct lrn {
    float *y;
    const float *x;
    const struct kernel_lrn *shape;
};

/* One block of one pixel's channels [first, first + count). */
ISA_BODY void lrn_block(float *restrict y, const float *restrict x, const struct kernel_lrn *shape,
                        int64_t first, int64_t count)
{
    int64_t before = (shape->size - 1) / 2;
    float squares[BLOCK + 2 * REACH_MAX], sums[BLOCK];
    float factor = shape->alpha / (float)shape->size, bias = shape->bias, beta = shape->beta;

    for (int64_t i = 0; i < count + shape->size - 1; i++) {
        int64_t c = first - before + i;

        squares[i] = c >= 0 && c < shape->channels ? x[c] * x[c] : 0.0f;
    }
    for (int64_t i = 0; i < count; i++)
        sums[i] = squares[i];
    for (int64_t k = 1; k < shape->size; k++)
        for (int64_t i = 0; i < count; i++)
            sums[i] += squares[i + k];
    if (beta == 0.75f) { /* what networks use: two square roots for a power */
        for (int64_t i = 0; i < count; i++) {
            float root = sqrtf(bias + factor * sums[i]);

            y[first + i] = x[first + i] / (root * sqrtf(root));
        }
    } else {
        for (int64_t i = 0; i < count; i++)
            y[first + i] = x[first + i] / powf(bias + factor * sums[i], beta);
    }
}

ISA_BODY void lrn_part(const struct lrn *p, int64_t begin, int64_t end)
{
    int64_t channels = p->shape->channels;

    for (int64_t pixel = begin; pixel < end; pixel++)
        for (int64_t c = 0; c < channels; c += BLOCK)
            lrn_block(p->y + pixel * channels, p->x + pixel * channels, p->shape, c,
                      channels - c < BLOCK ? channels - c : BLOCK);
}

#define LRN(isa)                                                                                   \
    ISA_TARGET_##isa static void lrn_part_##isa(void *argument, int64_t begin, int64_t end)        \
    {                                                                                              \
        lrn_part(argument, begin, end);                                                            \
    }                                                                                              \
                                                                                                   \
    void lrn_f32_##isa(float *y, const float *x, const struct kernel_lrn *shape)                   \
    {                                                                                              \
        struct lrn p = {y, x, shape};                                                              \
                                                                                                   \
        if (!shape->channels_last || shape->size > REACH_MAX) {                                    \
            lrn_f32_ref(y, x, shape);                                                              \
            return;                                                                                \
        }                                                                                          \
        team_for(shape->batch * shape->plane, GRAIN / (shape->channels + 1) + 1, lrn_part_##isa,   \
                 &p);                                                                              \
    }

ISA_VERSIONS(LRN)
