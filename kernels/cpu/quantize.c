/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisation of f32 to 8 bits and back: one scale for all, one for each place of an axis. What is
 * blocked and other types are the reference's. */
#include <string.h>

#include "kernels/cpu/extreme.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum { GRAIN = 1 << 15 }; /* elements that are worth a second thread */

struct quantisation {
    void *y;
    const void *x;
    const float *scale;
    const void *zero;
    const struct kernel_quantize *shape;
};

static bool is_byte(enum kernel_dtype dtype)
{
    return dtype == KERNEL_U8 || dtype == KERNEL_I8;
}

static bool fits(const struct kernel_quantize *s)
{
    return s->real_type == KERNEL_F32 && s->scale_type == KERNEL_F32 && is_byte(s->integer_type) &&
           s->block == 1 && s->scale_stride[0] == 0 && s->scale_stride[2] == 0;
}

/* Whether scales follow each other with the elements. */
static bool is_along(const struct kernel_quantize *s)
{
    return s->inner == 1 && s->scale_stride[1] == 1;
}

static float zero_at(const struct quantisation *q, int64_t at)
{
    if (!q->zero)
        return 0.0f;
    return q->shape->integer_type == KERNEL_U8 ? (float)((const uint8_t *)q->zero)[at]
                                               : (float)((const int8_t *)q->zero)[at];
}

/* The nearest, ties to even; NaN is 0. Adding a large number rounds, in the lowest bits: numbers are
 * within 383 of 0 by then. */
ISA_BODY int32_t to_integer(float x, float scale, float zero, float low, float high)
{
    const float magic = 0x1.8p23f;
    float number = x / scale, inside;
    int32_t bits, none;

    inside = number > low - zero ? number : low - zero;
    inside = (inside < high - zero ? inside : high - zero) + magic;
    memcpy(&bits, &inside, sizeof(bits));
    memcpy(&none, &magic, sizeof(none));
    return number == number ? bits - none + (int32_t)zero : 0;
}

#define TO_BYTES(name, type, low, high)                                                            \
    ISA_BODY void name##_one(type *restrict y, const float *restrict x, int64_t count,             \
                             float scale, float zero)                                              \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++)                                                        \
            y[i] = (type)to_integer(x[i], scale, zero, low, high);                                 \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void name##_each(type *restrict y, const float *restrict x, int64_t count,            \
                              const float *restrict scale, const type *restrict zero)              \
    {                                                                                              \
        if (zero)                                                                                  \
            for (int64_t i = 0; i < count; i++)                                                    \
                y[i] = (type)to_integer(x[i], scale[i], (float)zero[i], low, high);                \
        else                                                                                       \
            for (int64_t i = 0; i < count; i++)                                                    \
                y[i] = (type)to_integer(x[i], scale[i], 0.0f, low, high);                          \
    }

TO_BYTES(to_u8, uint8_t, 0.0f, 255.0f)
TO_BYTES(to_i8, int8_t, -128.0f, 127.0f)

#define FROM_BYTES(name, type)                                                                     \
    ISA_BODY void name##_one(float *restrict y, const type *restrict x, int64_t count,             \
                             float scale, float zero)                                              \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++)                                                        \
            y[i] = ((float)x[i] - zero) * scale;                                                   \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void name##_each(float *restrict y, const type *restrict x, int64_t count,            \
                              const float *restrict scale, const type *restrict zero)              \
    {                                                                                              \
        if (zero)                                                                                  \
            for (int64_t i = 0; i < count; i++)                                                    \
                y[i] = (float)((int32_t)x[i] - (int32_t)zero[i]) * scale[i];                       \
        else                                                                                       \
            for (int64_t i = 0; i < count; i++)                                                    \
                y[i] = (float)x[i] * scale[i];                                                     \
    }

FROM_BYTES(from_u8, uint8_t)
FROM_BYTES(from_i8, int8_t)

/* `count` elements from `at` on with the scale at `line`, or with scales from there on. */
ISA_BODY void quantize_run(const struct quantisation *q, int64_t at, int64_t count, int64_t line)
{
    const float *x = (const float *)q->x + at, *scale = q->scale + line;
    bool is_u8 = q->shape->integer_type == KERNEL_U8;
    const uint8_t *u8 = q->zero ? (const uint8_t *)q->zero + line : NULL;
    const int8_t *i8 = q->zero ? (const int8_t *)q->zero + line : NULL;

    if (is_along(q->shape) && is_u8)
        to_u8_each((uint8_t *)q->y + at, x, count, scale, u8);
    else if (is_along(q->shape))
        to_i8_each((int8_t *)q->y + at, x, count, scale, i8);
    else if (is_u8)
        to_u8_one((uint8_t *)q->y + at, x, count, *scale, zero_at(q, line));
    else
        to_i8_one((int8_t *)q->y + at, x, count, *scale, zero_at(q, line));
}

ISA_BODY void dequantize_run(const struct quantisation *q, int64_t at, int64_t count, int64_t line)
{
    float *y = (float *)q->y + at;
    const float *scale = q->scale + line;
    bool is_u8 = q->shape->integer_type == KERNEL_U8;
    const uint8_t *u8 = q->zero ? (const uint8_t *)q->zero + line : NULL;
    const int8_t *i8 = q->zero ? (const int8_t *)q->zero + line : NULL;

    if (is_along(q->shape) && is_u8)
        from_u8_each(y, (const uint8_t *)q->x + at, count, scale, u8);
    else if (is_along(q->shape))
        from_i8_each(y, (const int8_t *)q->x + at, count, scale, i8);
    else if (is_u8)
        from_u8_one(y, (const uint8_t *)q->x + at, count, *scale, zero_at(q, line));
    else
        from_i8_one(y, (const int8_t *)q->x + at, count, *scale, zero_at(q, line));
}

/* Elements [begin, end), whatever lines they are of. */
#define PART(name, isa)                                                                            \
    ISA_TARGET_##isa static void name##_part_##isa(void *argument, int64_t begin, int64_t end)     \
    {                                                                                              \
        const struct quantisation *q = argument;                                                   \
        const struct kernel_quantize *s = q->shape;                                                \
        int64_t line = is_along(s) ? s->axis : s->scale_stride[1] ? s->inner : end - begin;        \
                                                                                                   \
        while (begin < end) {                                                                      \
            int64_t count = s->scale_stride[1] ? line - begin % line : line;                       \
            int64_t at = is_along(s)          ? begin % line                                       \
                         : s->scale_stride[1] ? begin / line % s->axis * s->scale_stride[1]        \
                                              : 0;                                                 \
                                                                                                   \
            count = count < end - begin ? count : end - begin;                                     \
            name##_run(q, begin, count, at);                                                       \
            begin += count;                                                                        \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    void name##_##isa(void *y, const void *x, const void *scale, const void *zero,                 \
                      const struct kernel_quantize *shape)                                         \
    {                                                                                              \
        struct quantisation q = {y, x, scale, zero, shape};                                        \
                                                                                                   \
        if (fits(shape) && shape->precision == KERNEL_F32)                                         \
            team_for(shape->outer * shape->axis * shape->inner, GRAIN, name##_part_##isa, &q);     \
        else                                                                                       \
            name##_ref(y, x, scale, zero, shape);                                                  \
    }

/* Dynamic */

struct range {
    float low, high;
};

/* NaN is skipped. */
ISA_BODY struct range range_of(const float *x, size_t count)
{
    float low = 0.0f, high = 0.0f;

    if (count > 0) {
        struct extremes found = extremes_of(x, (int64_t)count);

        if (!found.has_nan)
            return (struct range){found.low < 0.0f ? found.low : 0.0f,
                                  found.high > 0.0f ? found.high : 0.0f};
    }
    for (size_t i = 0; i < count; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    return (struct range){low, high};
}

#define DYNAMIC(isa)                                                                               \
    ISA_TARGET_##isa static struct range range_##isa(const float *x, size_t count)                 \
    {                                                                                              \
        return range_of(x, count);                                                                 \
    }                                                                                              \
                                                                                                   \
    void quantize_dynamic_##isa(uint8_t *y, float *scale, uint8_t *zero, const float *x,           \
                                size_t count)                                                      \
    {                                                                                              \
        struct range range = range_##isa(x, count);                                                \
        struct kernel_quantize shape = {.real_type = KERNEL_F32,                                   \
                                        .scale_type = KERNEL_F32,                                  \
                                        .precision = KERNEL_F32,                                   \
                                        .integer_type = KERNEL_U8,                                 \
                                        .outer = 1,                                                \
                                        .axis = 1,                                                 \
                                        .inner = (int64_t)count,                                   \
                                        .block = 1};                                               \
                                                                                                   \
        *scale = (range.high - range.low) / 255.0f;                                                \
        if (!(*scale > 0.0f)) {                                                                    \
            quantize_dynamic_ref(y, scale, zero, x, count);                                        \
            return;                                                                                \
        }                                                                                          \
        *zero = (uint8_t)to_integer(-range.low, *scale, 0.0f, 0.0f, 255.0f);                       \
        quantize_##isa(y, x, scale, zero, &shape);                                                 \
    }

#define ALL(isa) PART(quantize, isa) PART(dequantize, isa) DYNAMIC(isa)

ISA_VERSIONS(ALL)
