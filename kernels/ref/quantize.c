/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisation, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"
#include "kernels/ref/small.h"

#include <math.h>

/* Where the scale of element i stands. */
static int64_t scale_at(int64_t i, const struct kernel_quantize *s)
{
    int64_t inner = i % s->inner, axis = i / s->inner % s->axis, outer = i / s->inner / s->axis;

    return outer * s->scale_stride[0] + axis / s->block * s->scale_stride[1] +
           inner * s->scale_stride[2];
}

static bool is_float(enum kernel_dtype dtype)
{
    return dtype >= KERNEL_F8E4M3FN && dtype <= KERNEL_F4E2M1;
}

static double saturate(double number, enum kernel_dtype dtype)
{
    double low = (double)ref_lowest(dtype), high = (double)ref_highest(dtype);

    return number < low ? low : number > high ? high : number;
}

void quantize_ref(void *y, const void *x, const void *scale, const void *zero,
                  const struct kernel_quantize *shape)
{
    for (int64_t i = 0; i < shape->outer * shape->axis * shape->inner; i++) {
        int64_t at = scale_at(i, shape);
        double number =
            ref_get_f64(x, shape->real_type, i) / ref_get_f64(scale, shape->scale_type, at);
        double rounded;

        ref_set_f64(&rounded, shape->precision, 0, number);
        number = ref_get_f64(&rounded, shape->precision, 0);
        if (is_float(shape->integer_type)) {
            const struct kernel_cast_small how = {.to = shape->integer_type,
                                                  .saturates = !shape->is_unlimited};

            number += zero ? ref_get_f64(zero, shape->integer_type, at) : 0.0;
            ((uint8_t *)y)[i] = ref_small_code(number, &how);
            continue;
        }
        number = nearbyint(number);
        number += zero ? (double)ref_get_i64(zero, shape->integer_type, at) : 0.0;
        ref_set_f64(y, shape->integer_type, i, saturate(number, shape->integer_type));
    }
}

void dequantize_ref(void *y, const void *x, const void *scale, const void *zero,
                    const struct kernel_quantize *shape)
{
    for (int64_t i = 0; i < shape->outer * shape->axis * shape->inner; i++) {
        int64_t at = scale_at(i, shape);
        double number = ref_get_f64(x, shape->integer_type, i);

        number -= zero ? ref_get_f64(zero, shape->integer_type, at) : 0.0;
        ref_set_f64(y, shape->real_type, i, number * ref_get_f64(scale, shape->scale_type, at));
    }
}

void quantize_dynamic_ref(uint8_t *y, float *scale, uint8_t *zero, const float *x, size_t count)
{
    float low = 0.0f, high = 0.0f;

    for (size_t i = 0; i < count; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    *scale = (high - low) / 255.0f;
    *zero = *scale > 0.0f ? (uint8_t)saturate(nearbyint((double)(-low / *scale)), KERNEL_U8) : 0;
    for (size_t i = 0; i < count; i++) {
        double number = *scale > 0.0f ? nearbyint((double)(x[i] / *scale)) + *zero : 0.0;

        y[i] = (uint8_t)saturate(number, KERNEL_U8);
    }
}

void lookup_ref(uint8_t *y, const uint8_t *x, const uint8_t *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] = table[x[i]];
}

static int32_t byte_of(const void *x, int64_t i, const struct kernel_quanta *q)
{
    int32_t byte = q->is_signed ? ((const int8_t *)x)[i] : ((const uint8_t *)x)[i];

    return byte - q->zero;
}

static void put_byte(void *y, int64_t i, float number, const struct kernel_quanta *q)
{
    double byte = nearbyint((double)(number / q->scale)) + (double)q->zero;

    byte = saturate(byte, q->is_signed ? KERNEL_I8 : KERNEL_U8);
    ((uint8_t *)y)[i] = (uint8_t)(int)byte;
}

void zip_quanta_ref(void *y, const void *a, const void *b, const struct kernel_zip_quanta *args)
{
    const struct kernel_broadcast *s = &args->shape;
    int64_t count = 1;

    for (int i = 0; i < s->rank; i++)
        count *= s->dims[i];
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, a_at = 0, b_at = 0;
        float first, second;

        for (int axis = s->rank - 1; axis >= 0; rest /= s->dims[axis--]) {
            a_at += rest % s->dims[axis] * s->a_stride[axis];
            b_at += rest % s->dims[axis] * s->b_stride[axis];
        }
        first = (float)byte_of(a, a_at, &args->a) * args->a.scale;
        second = (float)byte_of(b, b_at, &args->b) * args->b.scale;
        put_byte(y, i, args->is_product ? first * second : first + second, &args->y);
    }
}

void mean_quanta_ref(void *y, const void *x, const struct kernel_mean_quanta *args)
{
    for (int64_t i = 0; i < args->outer * args->inner; i++) {
        int64_t first = i / args->inner * args->count * args->inner + i % args->inner, sum = 0;

        for (int64_t j = 0; j < args->count; j++)
            sum += byte_of(x, first + j * args->inner, &args->x);
        put_byte(y, i, (float)((double)sum * (double)args->x.scale / (double)args->count),
                 &args->y);
    }
}
