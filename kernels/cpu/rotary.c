/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary embedding of f32, line by line of channels, and of half precision, widened some lines at a time. Other types are
 * the reference's. */
#include <string.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    GRAIN = 1 << 14, /* channels that are worth a second thread */
    LINES = 2048,    /* channels of lines that are widened together, at most */
    ANGLES = 1024,
};

struct rotary {
    void *y;
    const void *x, *cosines, *sines;
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

/* Whether heads of a step, or steps of a head, are one run of memory, and lines fit. */
static bool is_widened(const struct kernel_rotary *s)
{
    return (s->dtype == KERNEL_F16 || s->dtype == KERNEL_BF16) && s->channels > 0 &&
           s->channels <= LINES && s->rotated / 2 <= ANGLES &&
           (s->x.head_stride == s->channels || s->x.step_stride == s->channels);
}

/* Steps that share what is widened of the caches. */
static int64_t steps_together(const struct kernel_rotary *s)
{
    return s->rotated < 2 ? s->steps + 1 : ANGLES / (s->rotated / 2);
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
    if (y != x && s->channels > s->rotated)
        memcpy(y + s->rotated, x + s->rotated, (size_t)(s->channels - s->rotated) * sizeof(*y));
}

/* Lines of half precision from `x` on, one behind the other, of which each has the angles behind those of the one before
 * it, or all the same. */
#define TURN_HALVES(isa)                                                                           \
    ISA_TARGET_##isa static void turn_halves_##isa(const struct rotary *r, int64_t at,             \
                                                   int64_t lines, const float *cosines,            \
                                                   const float *sines, int64_t angle_step)         \
    {                                                                                              \
        const struct kernel_rotary *s = r->shape;                                                  \
        const uint16_t *x = (const uint16_t *)r->x + at;                                           \
        uint16_t *y = (uint16_t *)r->y + at;                                                       \
        float from[LINES], to[LINES];                                                              \
        int64_t most = LINES / s->channels;                                                        \
                                                                                                   \
        for (int64_t i = 0; i < lines; i += most) {                                                \
            int64_t count = lines - i < most ? lines - i : most, first = i * s->channels;          \
            size_t elements = (size_t)(count * s->channels);                                       \
                                                                                                   \
            cast_##isa(from, KERNEL_F32, x + first, s->dtype, elements);                           \
            for (int64_t j = 0; j < count; j++)                                                    \
                turn_line(to + j * s->channels, from + j * s->channels,                            \
                          cosines + (i + j) * angle_step, sines + (i + j) * angle_step, s);        \
            cast_##isa(y + first, s->dtype, to, KERNEL_F32, elements);                             \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Blocks of steps [begin, end), counted over the batch. */                                    \
    static void halves_part_##isa(void *argument, int64_t begin, int64_t end)                      \
    {                                                                                              \
        const struct rotary *r = argument;                                                         \
        const struct kernel_rotary *s = r->shape;                                                  \
        int64_t half = s->rotated / 2, together = steps_together(s);                               \
        int64_t blocks = (s->steps + together - 1) / together;                                     \
        float cosines[ANGLES], sines[ANGLES];                                                      \
                                                                                                   \
        for (; begin < end; begin++) {                                                             \
            int64_t b = begin / blocks, first = begin % blocks * together;                         \
            int64_t steps = s->steps - first < together ? s->steps - first : together;             \
            int64_t at = b * s->x.batch_stride + first * s->x.step_stride;                         \
                                                                                                   \
            for (int64_t i = 0; i < steps; i++) {                                                  \
                size_t angle = (size_t)(angle_of(r, b, first + i) * half);                         \
                                                                                                   \
                cast_##isa(cosines + i * half, KERNEL_F32, (const uint16_t *)r->cosines + angle,   \
                           s->dtype, (size_t)half);                                                \
                cast_##isa(sines + i * half, KERNEL_F32, (const uint16_t *)r->sines + angle,       \
                           s->dtype, (size_t)half);                                                \
            }                                                                                      \
            for (int64_t h = 0; s->x.step_stride == s->channels && h < s->heads; h++)              \
                turn_halves_##isa(r, at + h * s->x.head_stride, steps, cosines, sines, half);      \
            for (int64_t i = 0; s->x.step_stride != s->channels && i < steps; i++)                 \
                turn_halves_##isa(r, at + i * s->x.step_stride, s->heads, cosines + i * half,      \
                                  sines + i * half, 0);                                            \
        }                                                                                          \
    }

#define ROTARY(isa)                                                                                \
    TURN_HALVES(isa)                                                                               \
                                                                                                   \
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
            turn_line((float *)r->y + at, (const float *)r->x + at,                                \
                      (const float *)r->cosines + angle, (const float *)r->sines + angle, s);      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    int rotary_##isa(void *y, const void *x, const void *cosines, const void *sines,               \
                     const int64_t *places, const struct kernel_rotary *shape)                     \
    {                                                                                              \
        struct rotary r = {y, x, cosines, sines, places, shape};                                   \
        int64_t together = steps_together(shape);                                                  \
                                                                                                   \
        if (shape->dtype != KERNEL_F32 && !is_widened(shape))                                      \
            return rotary_ref(y, x, cosines, sines, places, shape);                                \
        if (!is_inside(&r))                                                                        \
            return -1;                                                                             \
        if (shape->dtype != KERNEL_F32) {                                                          \
            team_for(shape->batch *((shape->steps + together - 1) / together),                     \
                     GRAIN / (together * shape->heads * shape->channels + 1) + 1,                  \
                     halves_part_##isa, &r);                                                       \
            return 0;                                                                              \
        }                                                                                          \
        team_for(shape->batch * shape->heads * shape->steps, GRAIN / (shape->channels + 1) + 1,    \
                 part_##isa, &r);                                                                  \
        return 0;                                                                                  \
    }

ISA_VERSIONS(ROTARY)
