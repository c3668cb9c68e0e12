/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary embedding of f32, line by line of channels. Other types are the reference's. */
#include <string.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum { GRAIN = 1 << 14 }; /* channels that are worth a second thread */

struct rotary {
    float *y;
    const float *x, *cosines, *sines;
    const int64_t *places;
    const struct kernel_rotary *shape;
};

/* Row of the caches for a step of an image. */
static int64_t angle_of(const struct rotary *r, int64_t b, int64_t step)
{
    int64_t at = (r->shape->is_shared ? 0 : b * r->shape->steps) + step;

    return r->shape->positions ? r->places[at] : at;
}

static bool is_inside(const struct rotary *r)
{
    const struct kernel_rotary *s = r->shape;

    for (int64_t i = 0; s->positions && i < s->batch * s->steps; i++) {
        int64_t angle = angle_of(r, i / s->steps, i % s->steps);

        if (angle < 0 || angle >= s->positions)
            return false;
    }
    return true;
}

/* y may be x. */
ISA_BODY void turn_line(float *y, const float *x, const float *restrict cosines,
                        const float *restrict sines, const struct kernel_rotary *s)
{
    int64_t half = s->rotated / 2;

    for (int64_t i = 0; s->is_interleaved && i < half; i++) {
        float a = x[2 * i], b = x[2 * i + 1];

        y[2 * i] = cosines[i] * a - sines[i] * b;
        y[2 * i + 1] = sines[i] * a + cosines[i] * b;
    }
    for (int64_t i = 0; !s->is_interleaved && i < half; i++) {
        float a = x[i], b = x[half + i];

        y[i] = cosines[i] * a - sines[i] * b;
        y[half + i] = sines[i] * a + cosines[i] * b;
    }
    if (y != x)
        memcpy(y + s->rotated, x + s->rotated, (size_t)(s->channels - s->rotated) * sizeof(*y));
}

#define ROTARY(isa)                                                                                \
    ISA_TARGET_##isa static void part_##isa(void *argument, int64_t begin, int64_t end)            \
    {                                                                                              \
        const struct rotary *r = argument;                                                         \
        const struct kernel_rotary *s = r->shape;                                                  \
        const struct kernel_heads *x = &s->x;                                                      \
                                                                                                   \
        for (int64_t i = begin; i < end; i++) {                                                    \
            int64_t step = i % s->steps, head = i / s->steps % s->heads;                           \
            int64_t b = i / s->steps / s->heads;                                                   \
            int64_t angle = angle_of(r, b, step) * (s->rotated / 2);                               \
            int64_t at = b * x->batch_stride + head * x->head_stride + step * x->step_stride;      \
                                                                                                   \
            turn_line(r->y + at, r->x + at, r->cosines + angle, r->sines + angle, s);              \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    int rotary_##isa(void *y, const void *x, const void *cosines, const void *sines,               \
                     const int64_t *places, const struct kernel_rotary *shape)                     \
    {                                                                                              \
        struct rotary r = {y, x, cosines, sines, places, shape};                                   \
                                                                                                   \
        if (shape->dtype != KERNEL_F32)                                                            \
            return rotary_ref(y, x, cosines, sines, places, shape);                                \
        if (!is_inside(&r))                                                                        \
            return -1;                                                                             \
        team_for(shape->batch * shape->heads * shape->steps, GRAIN / (shape->channels + 1) + 1,    \
                 part_##isa, &r);                                                                  \
        return 0;                                                                                  \
    }

ISA_VERSIONS(ROTARY)
