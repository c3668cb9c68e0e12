/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisation of f32 to 8 and 16 bits, and from these and int32 back: one scale for all, one for each place of
 * an axis; and from 4 and 8 bits, a byte each, with a scale for each block, as weights have them. Other types and
 * what becomes blocked are the reference's. */
#include <string.h>

#include "kernels/cpu/extreme.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    GRAIN = 1 << 15,    /* elements that are worth a second thread */
    NEAR_RUN = 1 << 10, /* elements of int32 that are looked at before they are converted */
    QUICK_RUN =
        1 << 8, /* elements that are multiplied by the inverse of their scale, and then looked at */
};

struct quantisation {
    void *y;
    const void *x;
    const float *scale;
    const void *zero;
    const struct kernel_quantize *shape;
};

static bool fits(const struct kernel_quantize *s)
{
    return s->real_type == KERNEL_F32 && s->scale_type == KERNEL_F32 && s->block == 1 &&
           s->scale_stride[0] == 0 && s->scale_stride[2] == 0;
}

/* Whether scales follow each other with the elements. */
static bool is_along(const struct kernel_quantize *s)
{
    return s->inner == 1 && s->scale_stride[1] == 1;
}

/* The nearest, ties to even; NaN is 0. Adding a large number rounds, in the lowest bits: numbers are
 * within 2^17 of 0 by then. */
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

/* The same of a whole run by the inverse, which is off by less than 0.5e-4 there, and so may be wrong where a number lies
 * nearer than that to the middle of two integers: then it is false. Also where one is none. */
#define QUICKLY(name, type, low, high)                                                             \
    ISA_BODY bool to_##name##_quickly(type *restrict y, const float *restrict x, int64_t count,    \
                                      float inverse, float zero)                                   \
    {                                                                                              \
        const float magic = 0x1.8p23f, safe = 0.4999f, least = (low)-zero, most = (high)-zero;     \
        int32_t none, most_bits, furthest = 0;                                                     \
                                                                                                   \
        memcpy(&none, &magic, sizeof(none));                                                       \
        memcpy(&most_bits, &safe, sizeof(most_bits));                                              \
        for (int64_t i = 0; i < count; i++) {                                                      \
            float number = x[i] * inverse, rounded, distance;                                      \
            int32_t bits;                                                                          \
                                                                                                   \
            number = number < least ? least : number; /* NaN stays, and is no distance */          \
            number = number > most ? most : number;                                                \
            rounded = number + magic;                                                              \
            memcpy(&bits, &rounded, sizeof(bits));                                                 \
            y[i] = (type)(bits - none + (int32_t)zero);                                            \
            distance = __builtin_fabsf(number - (rounded - magic));                                \
            memcpy(&bits, &distance, sizeof(bits)); /* ordered as distances are, NaN beyond all */ \
            furthest = bits > furthest ? bits : furthest;                                          \
        }                                                                                          \
        return furthest <= most_bits;                                                              \
    }

#define EXACTLY(name, type, low, high)                                                             \
    ISA_BODY void to_##name##_exactly(type *restrict y, const float *restrict x, int64_t count,    \
                                      float scale, float zero)                                     \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++)                                                        \
            y[i] = (type)to_integer(x[i], scale, zero, low, high);                                 \
    }

/* Scales whose inverses are as near as those of any others. */
static bool has_inverse(float scale)
{
    return scale > 1e-30f && scale < 1e30f;
}

#define BYTES(name, type)                                                                          \
    ISA_BODY void to_##name##_one(type *restrict y, const float *restrict x, int64_t count,        \
                                  float scale, float zero)                                         \
    {                                                                                              \
        const float inverse = 1.0f / scale;                                                        \
                                                                                                   \
        for (int64_t at = 0; at < count; at += QUICK_RUN) {                                        \
            int64_t run = count - at < QUICK_RUN ? count - at : QUICK_RUN;                         \
                                                                                                   \
            if (!has_inverse(scale) || !to_##name##_quickly(y + at, x + at, run, inverse, zero))   \
                to_##name##_exactly(y + at, x + at, run, scale, zero);                             \
        }                                                                                          \
    }

#define WORDS(name, type)                                                                          \
    ISA_BODY void to_##name##_one(type *restrict y, const float *restrict x, int64_t count,        \
                                  float scale, float zero)                                         \
    {                                                                                              \
        to_##name##_exactly(y, x, count, scale, zero);                                             \
    }

#define EACH(name, type, low, high)                                                                \
    ISA_BODY void to_##name##_each(type *restrict y, const float *restrict x, int64_t count,       \
                                   const float *restrict scale, const type *restrict zero)         \
    {                                                                                              \
        if (zero)                                                                                  \
            for (int64_t i = 0; i < count; i++)                                                    \
                y[i] = (type)to_integer(x[i], scale[i], (float)zero[i], low, high);                \
        else                                                                                       \
            for (int64_t i = 0; i < count; i++)                                                    \
                y[i] = (type)to_integer(x[i], scale[i], 0.0f, low, high);                          \
    }

/* `real` holds differences exactly. */
#define FROM(name, type, real)                                                                     \
    ISA_BODY void from_##name##_one(float *restrict y, const type *restrict x, int64_t count,      \
                                    float scale, real zero)                                        \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++)                                                        \
            y[i] = (float)(((real)x[i] - zero) * (real)scale);                                     \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void from_##name##_each(float *restrict y, const type *restrict x, int64_t count,     \
                                     const float *restrict scale, const type *restrict zero)       \
    {                                                                                              \
        if (zero)                                                                                  \
            for (int64_t i = 0; i < count; i++)                                                    \
                y[i] = (float)(((real)x[i] - (real)zero[i]) * (real)scale[i]);                     \
        else                                                                                       \
            for (int64_t i = 0; i < count; i++)                                                    \
                y[i] = (float)((real)x[i] * (real)scale[i]);                                       \
    }

#define TO_BYTES(name, type, low, high)                                                            \
    QUICKLY(name, type, low, high)                                                                 \
    EXACTLY(name, type, low, high)                                                                 \
    BYTES(name, type)                                                                              \
    EACH(name, type, low, high)

#define TO_WORDS(name, type, low, high)                                                            \
    EXACTLY(name, type, low, high)                                                                 \
    WORDS(name, type)                                                                              \
    EACH(name, type, low, high)

TO_BYTES(u8, uint8_t, 0.0f, 255.0f)
TO_BYTES(i8, int8_t, -128.0f, 127.0f)
TO_WORDS(u16, uint16_t, 0.0f, 65535.0f)
TO_WORDS(i16, int16_t, -32768.0f, 32767.0f)
FROM(u8, uint8_t, float)
FROM(i8, int8_t, float)
FROM(u16, uint16_t, float)
FROM(i16, int16_t, float)
FROM(i32_wide, int32_t, double)
FROM(i32_near, int32_t, float)

/* Whether all lie within 2^24 of 0, which float holds, so that a product is rounded once in it, too. */
ISA_BODY bool are_near(const int32_t *x, int64_t count)
{
    int32_t bits = 0;

    for (int64_t i = 0; i < count; i++)
        bits |= x[i] ^ (x[i] >> 31);
    return bits >> 24 == 0;
}

/* Biases, and sums of products, are hardly ever far: their runs take half the time without double. */
ISA_BODY void from_i32_one(float *restrict y, const int32_t *restrict x, int64_t count, float scale,
                           double zero)
{
    for (int64_t at = 0; at < count; at += NEAR_RUN) {
        int64_t run = count - at < NEAR_RUN ? count - at : NEAR_RUN;

        if (zero == 0.0 && are_near(x + at, run))
            from_i32_near_one(y + at, x + at, run, scale, 0.0f);
        else
            from_i32_wide_one(y + at, x + at, run, scale, zero);
    }
}

ISA_BODY void from_i32_each(float *restrict y, const int32_t *restrict x, int64_t count,
                            const float *restrict scale, const int32_t *restrict zero)
{
    if (!zero && are_near(x, count))
        from_i32_near_each(y, x, count, scale, NULL);
    else
        from_i32_wide_each(y, x, count, scale, zero);
}

static bool quantize_takes(enum kernel_dtype dtype)
{
    return dtype == KERNEL_U8 || dtype == KERNEL_I8 || dtype == KERNEL_U16 || dtype == KERNEL_I16;
}

static bool dequantize_takes(enum kernel_dtype dtype)
{
    return quantize_takes(dtype) || dtype == KERNEL_I32;
}

#define QUANTIZE(dtype, name, type)                                                                \
    case dtype:                                                                                    \
        if (is_along(q->shape))                                                                    \
            to_##name##_each((type *)q->y + at, x, count, scale,                                   \
                             q->zero ? (const type *)q->zero + line : NULL);                       \
        else                                                                                       \
            to_##name##_one((type *)q->y + at, x, count, *scale,                                   \
                            q->zero ? (float)((const type *)q->zero)[line] : 0.0f);                \
        break;

#define DEQUANTIZE(dtype, name, type, real)                                                        \
    case dtype:                                                                                    \
        if (is_along(q->shape))                                                                    \
            from_##name##_each(y, (const type *)q->x + at, count, scale,                           \
                               q->zero ? (const type *)q->zero + line : NULL);                     \
        else                                                                                       \
            from_##name##_one(y, (const type *)q->x + at, count, *scale,                           \
                              q->zero ? (real)((const type *)q->zero)[line] : 0);                  \
        break;

/* `count` elements from `at` on with the scale at `line`, or with scales from there on. */
ISA_BODY void quantize_run(const struct quantisation *q, int64_t at, int64_t count, int64_t line)
{
    const float *x = (const float *)q->x + at, *scale = q->scale + line;

    switch (q->shape->integer_type) {
        QUANTIZE(KERNEL_U8, u8, uint8_t)
        QUANTIZE(KERNEL_I8, i8, int8_t)
        QUANTIZE(KERNEL_U16, u16, uint16_t)
        QUANTIZE(KERNEL_I16, i16, int16_t)
    default:
        break;
    }
}

ISA_BODY void dequantize_run(const struct quantisation *q, int64_t at, int64_t count, int64_t line)
{
    float *y = (float *)q->y + at;
    const float *scale = q->scale + line;

    switch (q->shape->integer_type) {
        DEQUANTIZE(KERNEL_U8, u8, uint8_t, float)
        DEQUANTIZE(KERNEL_I8, i8, int8_t, float)
        DEQUANTIZE(KERNEL_U16, u16, uint16_t, float)
        DEQUANTIZE(KERNEL_I16, i16, int16_t, float)
        DEQUANTIZE(KERNEL_I32, i32, int32_t, double)
    default:
        break;
    }
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
    }

/* Real and scale as above, whatever the strides of the scale. */
static bool has_blocks(const struct kernel_quantize *s)
{
    enum kernel_dtype type = s->integer_type;

    return s->real_type == KERNEL_F32 && s->scale_type == KERNEL_F32 && s->axis > 0 &&
           s->inner > 0 && (s->scale_stride[2] == 0 || s->scale_stride[2] == 1) &&
           (type == KERNEL_I4 || type == KERNEL_U4 || type == KERNEL_I8 || type == KERNEL_U8);
}

/* What has one scale, or follows its scales: a block of the last axis, or a place of another. */
static int64_t lines_of(const struct kernel_quantize *s)
{
    return s->outer * (s->inner == 1 ? (s->axis + s->block - 1) / s->block : s->axis);
}

#define FROM_LINE(name, type)                                                                      \
    if (s->inner > 1 && s->scale_stride[2] == 1)                                                   \
        from_##name##_each(y, (const type *)q->x + from, count, q->scale + at,                     \
                           q->zero ? (const type *)q->zero + at : NULL);                           \
    else                                                                                           \
        from_##name##_one(y, (const type *)q->x + from, count, q->scale[at],                       \
                          q->zero ? (float)((const type *)q->zero)[at] : 0.0f);

ISA_BODY void dequantize_line(const struct quantisation *q, int64_t line)
{
    const struct kernel_quantize *s = q->shape;
    int64_t per_outer = lines_of(s) / s->outer, outer = line / per_outer, i = line % per_outer;
    int64_t block = s->inner == 1 ? i : i / s->block;
    int64_t first = s->inner == 1 ? i * s->block : i, left = s->axis - first;
    int64_t count = s->inner > 1 ? s->inner : left < s->block ? left : s->block;
    int64_t from = (outer * s->axis + first) * s->inner;
    int64_t at = outer * s->scale_stride[0] + block * s->scale_stride[1];
    float *y = (float *)q->y + from;

    if (s->integer_type == KERNEL_U4 || s->integer_type == KERNEL_U8) {
        FROM_LINE(u8, uint8_t)
    } else {
        FROM_LINE(i8, int8_t)
    }
}

#define BLOCKS(isa)                                                                                \
    ISA_TARGET_##isa static void blocks_##isa(void *argument, int64_t begin, int64_t end)          \
    {                                                                                              \
        for (; begin < end; begin++)                                                               \
            dequantize_line(argument, begin);                                                      \
    }

#define ENTRIES(isa)                                                                               \
    void quantize_##isa(void *y, const void *x, const void *scale, const void *zero,               \
                        const struct kernel_quantize *shape)                                       \
    {                                                                                              \
        struct quantisation q = {y, x, scale, zero, shape};                                        \
                                                                                                   \
        if (fits(shape) && quantize_takes(shape->integer_type) && shape->precision == KERNEL_F32)  \
            team_for(shape->outer * shape->axis * shape->inner, GRAIN, quantize_part_##isa, &q);   \
        else                                                                                       \
            quantize_ref(y, x, scale, zero, shape);                                                \
    }                                                                                              \
                                                                                                   \
    void dequantize_##isa(void *y, const void *x, const void *scale, const void *zero,             \
                          const struct kernel_quantize *shape)                                     \
    {                                                                                              \
        int64_t count = shape->outer * shape->axis * shape->inner;                                 \
        struct quantisation q = {y, x, scale, zero, shape};                                        \
                                                                                                   \
        if (fits(shape) && dequantize_takes(shape->integer_type) &&                                \
            shape->precision == KERNEL_F32)                                                        \
            team_for(count, GRAIN, dequantize_part_##isa, &q);                                     \
        else if (has_blocks(shape) && count > 0)                                                   \
            team_for(lines_of(shape), GRAIN / (count / lines_of(shape) + 1) + 1, blocks_##isa,     \
                     &q);                                                                          \
        else                                                                                       \
            dequantize_ref(y, x, scale, zero, shape);                                              \
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
    ISA_TARGET_##isa static struct range limits_##isa(const float *x, size_t count)                \
    {                                                                                              \
        return range_of(x, count);                                                                 \
    }                                                                                              \
                                                                                                   \
    void quantize_dynamic_##isa(uint8_t *y, float *scale, uint8_t *zero, const float *x,           \
                                size_t count)                                                      \
    {                                                                                              \
        struct range range = limits_##isa(x, count);                                               \
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

#define ALL(isa) PART(quantize, isa) PART(dequantize, isa) BLOCKS(isa) ENTRIES(isa) DYNAMIC(isa)

ISA_VERSIONS(ALL)
