/* SPDX-License-Identifier: Apache-2.0 */
/* Contracts of quantisation: reals as 8-bit integers and back. What is common to all contracts
 * stands in kernels.h, which includes this. Computed in f64; exact, but for rounding to the type.
 */
#ifndef OPTRACE_KERNELS_QUANTIZE_H
#define OPTRACE_KERNELS_QUANTIZE_H

#include "kernels/broadcast.h"
#include "kernels/dtype.h"

/** x and y are [outer, axis, inner]; scale and zero point have one entry per `block` places of the
 *  axis, for each inner place where they are blocked, else one per place of the axis, or one. */
struct kernel_quantize {
    enum kernel_dtype real_type;  /* of the real side */
    enum kernel_dtype scale_type; /* a real one */
    enum kernel_dtype precision;  /* a real one: of x / scale */
    /* Of the integer side and of the zero point; also a small one. */
    enum kernel_dtype integer_type;
    int64_t outer, axis, inner;
    int64_t scale_stride[3]; /* of scale and zero point, by outer, axis / block and inner */
    int64_t block;           /* >= 1 */
    bool is_unlimited;       /* to floats of 8 bits: see struct kernel_cast_small, saturates */
};

/** y = saturate(round(x / scale) + zero), of a float the nearest to x / scale + zero; halves to even, the quotient being rounded to `precision`
 *  first. zero may be NULL: 0. */
typedef void quantize_fn(void *y, const void *x, const void *scale, const void *zero,
                         const struct kernel_quantize *shape);

/** y = (x - zero) * scale. zero may be NULL: 0. */
typedef void dequantize_fn(void *y, const void *x, const void *scale, const void *zero,
                           const struct kernel_quantize *shape);

/** Choose scale and zero point so that u8 covers 0 and all of x, and quantise. Of no or only zero
 *  elements the scale is 0 and everything else too. */
typedef void quantize_dynamic_fn(uint8_t *y, float *scale, uint8_t *zero, const float *x,
                                 size_t count);

/** y[i] = table[x[i]], of 256 bytes; y may be x. */
typedef void lookup_fn(uint8_t *y, const uint8_t *x, const uint8_t *table, size_t count);

/** What bytes stand for: (byte - zero) * scale. scale > 0. */
struct kernel_quanta {
    float scale;
    int32_t zero;
    bool is_signed;
};

struct kernel_zip_quanta {
    struct kernel_quanta y, a, b;
    bool is_product;               /* or a sum */
    struct kernel_broadcast shape; /* strides of the innermost axis are 0 or 1 */
};

/** y = saturate(round((a + b) / y's scale) + y's zero), of bytes that stand for a and b, or of their product;
 *  halves to even. y may be a or b when that operand is not broadcast. Versions multiply by
 *  the quotients of scales; what is nearer to a half than 1e-6 of the largest sum or product that bytes can have, in
 *  y's quanta, may become the one beside it. That largest one is below 2^31. */
typedef void zip_quanta_fn(void *y, const void *a, const void *b,
                           const struct kernel_zip_quanta *args);

/** x is [outer, count, inner], y [outer, inner]; count > 0. */
struct kernel_mean_quanta {
    struct kernel_quanta y, x;
    int64_t outer, count, inner;
};

/** y = saturate(round(mean of x along the middle axis / y's scale) + y's zero), exact; the mean is rounded to f32
 *  and so is the quotient. */
typedef void mean_quanta_fn(void *y, const void *x, const struct kernel_mean_quanta *args);

/* See KERNEL_DECLARE(). */
#define QUANTIZE_KERNELS(KERNEL)                                                                   \
    KERNEL(quantize, EACH);                                                                        \
    KERNEL(dequantize, EACH);                                                                      \
    KERNEL(quantize_dynamic, EACH);                                                                \
    KERNEL(lookup, EACH);                                                                          \
    KERNEL(mean_quanta, EACH);                                                                     \
    KERNEL(zip_quanta, EACH)
QUANTIZE_KERNELS(KERNEL_DECLARE);

#endif
