/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of each operation that the runtime can compute.
 *
 * An operation has one function type. All its versions are declared through that type and agree
 * within the tolerance that stands here; the first is NAME_ref, plain C and the truth. A version
 * that needs CPU features is only in a table that kernel_table_init() made for a CPU that has them.
 *
 * Common to all: tensors are dense and row-major unless a stride says otherwise; the caller owns
 * everything; nothing is allocated and nothing is kept. dst and sources do not overlap, except
 * where "may be" says so. Sizes of zero are allowed and compute nothing. Any thread; a version may
 * use the calling thread's team (kernel_set_threads()).
 *
 * Images have two memory layouts. Row-major is [batch, channels, spatial...]. Channels-last is
 * [batch, spatial..., channels]: the one that vector units like, kept between layers where it can
 * be. Where a shape has `channels_last`, it holds for all the images of the call.
 */
#ifndef OPTRACE_KERNELS_KERNELS_H
#define OPTRACE_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/activation.h"
#include "kernels/attention.h"
#include "kernels/broadcast.h"
#include "kernels/chain.h"
#include "kernels/conv_f32.h"
#include "kernels/convolve.h"
#include "kernels/dtype.h"
#include "kernels/elementwise.h"
#include "kernels/gemm_f32.h"
#include "kernels/half.h"
#include "kernels/index.h"
#include "kernels/int8.h"
#include "kernels/learning.h"
#include "kernels/product.h"
#include "kernels/quantize.h"
#include "kernels/recurrent.h"
#include "kernels/reduce.h"
#include "kernels/resample.h"
#include "kernels/small.h"
#include "kernels/spectrum.h"
#include "kernels/vision.h"
#include "kernels/window.h"

/* Element-wise, one operand. */

/** y[i] = f(x[i]); a and b as kernel_unary says. y may be x. NaN stays NaN. Sigmoid and tanh agree
 *  with ref to 2e-6 absolute, the others exactly. */
typedef void unary_f32_fn(float *y, const float *x, size_t count, float a, float b);
unary_f32_fn relu_f32_ref, leaky_relu_f32_ref, clip_f32_ref, sigmoid_f32_ref, tanh_f32_ref,
    gelu_tanh_f32_ref;
KERNEL_VERSIONS(unary_f32_fn, relu_f32);
KERNEL_VERSIONS(unary_f32_fn, leaky_relu_f32);
KERNEL_VERSIONS(unary_f32_fn, clip_f32);
KERNEL_VERSIONS(unary_f32_fn, sigmoid_f32);
KERNEL_VERSIONS(unary_f32_fn, tanh_f32);

/* Element-wise, two operands. */

enum kernel_binary {
    KERNEL_ADD,
    KERNEL_SUB,
    KERNEL_MUL,
    KERNEL_DIV,
    KERNEL_BINARY_COUNT,
};

/** y = a op b. y may be a or b when that operand is not broadcast. Exact. Integers wrap around;
 *  x / 0 is 0. */
typedef void binary_fn(void *y, const void *a, const void *b, const struct kernel_broadcast *shape);
binary_fn add_f32_ref, sub_f32_ref, mul_f32_ref, div_f32_ref;
binary_fn add_f64_ref, sub_f64_ref, mul_f64_ref, div_f64_ref;
binary_fn add_i32_ref, sub_i32_ref, mul_i32_ref, div_i32_ref;
binary_fn add_i64_ref, sub_i64_ref, mul_i64_ref, div_i64_ref;
KERNEL_VERSIONS(binary_fn, add_f32);
KERNEL_VERSIONS(binary_fn, sub_f32);
KERNEL_VERSIONS(binary_fn, mul_f32);
KERNEL_VERSIONS(binary_fn, div_f32);
KERNEL_VERSIONS(binary_fn, add_f64);
KERNEL_VERSIONS(binary_fn, sub_f64);
KERNEL_VERSIONS(binary_fn, mul_f64);
KERNEL_VERSIONS(binary_fn, div_f64);
KERNEL_VERSIONS(binary_fn, add_i32);
KERNEL_VERSIONS(binary_fn, sub_i32);
KERNEL_VERSIONS(binary_fn, mul_i32);
KERNEL_VERSIONS(binary_fn, div_i32);
KERNEL_VERSIONS(binary_fn, add_i64);
KERNEL_VERSIONS(binary_fn, sub_i64);
KERNEL_VERSIONS(binary_fn, mul_i64);
KERNEL_VERSIONS(binary_fn, div_i64);

/* Pooling */

struct kernel_pool {
    int64_t batch, channels;
    int rank; /* spatial axes of the tensors, 1 to KERNEL_SPATIAL */
    bool channels_last;
    struct kernel_window window;
    bool count_pads; /* average: pads inside of [-pad_begin, in + pad_end) count as zeros */
};

/** y [batch, channels, out...], x [batch, channels, in...]. An output whose window holds no element
 *  is the lowest float (max) or 0 (average). Max is exact; with a NaN in the window it is that NaN
 *  or the maximum of the rest. Average agrees to 2e-6 * mean of |x|. */
typedef void pool_f32_fn(float *y, const float *x, const struct kernel_pool *shape);
pool_f32_fn max_pool_f32_ref, average_pool_f32_ref;
KERNEL_VERSIONS(pool_f32_fn, max_pool_f32);
KERNEL_VERSIONS(pool_f32_fn, average_pool_f32);

/* Normalisation */

struct kernel_lrn {
    int64_t batch, channels, plane; /* plane: elements of one channel */
    int64_t size;                   /* channels in the window */
    bool channels_last;
    float alpha, beta, bias;
};

/** y = x / (bias + alpha / size * (sum of x^2 over the window))^beta; the window holds the channels
 *  from c - floor((size - 1) / 2) to c + ceil((size - 1) / 2). Agrees to 1e-5 relative. */
typedef void lrn_f32_fn(float *y, const float *x, const struct kernel_lrn *shape);

/** Softmax along the middle axis of [outer, axis, inner]. y may be x. Agrees to 2e-6 absolute. */
typedef void softmax_f32_fn(float *y, const float *x, size_t outer, size_t axis, size_t inner);

/** y = (x - mean) / sqrt(variance + epsilon) * scale + bias, per channel of [batch, channels,
 *  plane]; channels-last images have batch * plane for batch and 1 for plane. y may be x. Agrees to
 * 1e-5 * (|x * s| + |mean * s| + |bias|), s = scale / sqrt(...). */
typedef void batch_norm_f32_fn(float *y, const float *x, const float *scale, const float *bias,
                               const float *mean, const float *variance, float epsilon,
                               size_t batch, size_t channels, size_t plane);

/* Moving elements of any type: exact. */

/** Axes from outermost to innermost; strides in elements, any sign, 0 repeats. */
struct kernel_copy {
    size_t element_bytes; /* 1, 2, 4 or 8 */
    int rank;
    int64_t dims[KERNEL_MAX_AXES];
    int64_t y_stride[KERNEL_MAX_AXES];
    int64_t x_stride[KERNEL_MAX_AXES];
};

/** Transpose, Slice, Tile, Expand, a part of Concat or Pad: y at its strides = x at its strides.
 *  y and x point to the element of index 0 on all axes. */
typedef void copy_fn(void *y, const void *x, const struct kernel_copy *shape);

/** count times the element at value. */
typedef void fill_fn(void *y, const void *value, size_t element_bytes, size_t count);

enum kernel_pad_mode { KERNEL_PAD_CONSTANT, KERNEL_PAD_REFLECT, KERNEL_PAD_EDGE, KERNEL_PAD_WRAP };

/** begin[i] elements before and the rest of y_dims[i] after x on axis i; what is negative cuts off,
 *  first of all: edge, reflect and wrap show what is left, at least one element where y_dims[i]
 * >= 1. Reflect goes to and fro as often as need be. */
struct kernel_pad {
    size_t element_bytes;
    enum kernel_pad_mode mode;
    int rank;
    int64_t x_dims[KERNEL_MAX_RANK];
    int64_t y_dims[KERNEL_MAX_RANK];
    int64_t begin[KERNEL_MAX_RANK];
};

/** The coordinate of x that output coordinate o shows on an axis, or -1 for the constant. What is
 *  cut off is gone: the other modes repeat, mirror and extend what is left. */
static inline int64_t kernel_pad_source(const struct kernel_pad *shape, int axis, int64_t o)
{
    int64_t begin = shape->begin[axis], dim = shape->x_dims[axis];
    int64_t end = shape->y_dims[axis] - dim - begin;
    int64_t first = begin < 0 ? -begin : 0;
    int64_t left = dim - first + (end < 0 ? end : 0);
    int64_t at = o - (begin > 0 ? begin : 0);

    if (at >= 0 && at < left)
        return first + at;
    switch (shape->mode) {
    case KERNEL_PAD_EDGE:
        return first + (at < 0 ? 0 : left - 1);
    case KERNEL_PAD_REFLECT:
        /* There and back is one period. */
        at = left > 1 ? (at < 0 ? -at : at) % (2 * (left - 1)) : 0;
        return first + (at < left ? at : 2 * (left - 1) - at);
    case KERNEL_PAD_WRAP:
        return first + (at % left + left) % left;
    case KERNEL_PAD_CONSTANT:
        break;
    }
    return -1;
}

/** value: one element; read in constant mode only. */
typedef void pad_fn(void *y, const void *x, const void *value, const struct kernel_pad *shape);

struct kernel_gather {
    size_t outer, axis, inner_bytes; /* x: [outer, axis, inner_bytes] */
    size_t index_count;              /* y: [outer, index_count, inner_bytes] */
};

/** y[o, i] = x[o, indices[i]]; a negative index counts from the end. Returns 0, or -1 when an index
 *  is out of range; what y then holds is not defined. */
typedef int gather_fn(void *y, const void *x, const int64_t *indices,
                      const struct kernel_gather *shape);

/** y[i] = x[i] as C converts; float to integer cuts off, and saturates where C says nothing (NaN
 *  becomes 0); to bool: x != 0. Exact, but for the bits of a NaN. */
typedef void cast_fn(void *y, enum kernel_dtype to, const void *x, enum kernel_dtype from,
                     size_t count);

/** y, of f16 or bf16, as cast_fn makes it, but what is finite stays so: beyond the largest number it
 *  becomes that. */
typedef void narrow_fn(void *y, enum kernel_dtype to, const float *x, size_t count);

/* The table */

/* Of this header; see KERNEL_DECLARE(). */
#define COMMON_KERNELS(KERNEL)                                                                     \
    KERNEL(lrn_f32, EACH);                                                                         \
    KERNEL(softmax_f32, EACH);                                                                     \
    KERNEL(batch_norm_f32, EACH);                                                                  \
    KERNEL(copy, EACH);                                                                            \
    KERNEL(fill, REF);                                                                             \
    KERNEL(pad, PORTABLE);                                                                         \
    KERNEL(gather, PORTABLE);                                                                      \
    KERNEL(cast, EACH);                                                                            \
    KERNEL(narrow, EACH)
COMMON_KERNELS(KERNEL_DECLARE);

#define ALL_KERNELS(KERNEL)                                                                        \
    ATTENTION_KERNELS(KERNEL);                                                                     \
    CHAIN_KERNELS(KERNEL);                                                                         \
    COMMON_KERNELS(KERNEL);                                                                        \
    CONV_F32_KERNELS(KERNEL);                                                                      \
    CONVOLVE_KERNELS(KERNEL);                                                                      \
    ELEMENTWISE_KERNELS(KERNEL);                                                                   \
    GEMM_F32_KERNELS(KERNEL);                                                                      \
    HALF_KERNELS(KERNEL);                                                                          \
    INDEX_KERNELS(KERNEL);                                                                         \
    INT8_KERNELS(KERNEL);                                                                          \
    LEARNING_KERNELS(KERNEL);                                                                      \
    PRODUCT_KERNELS(KERNEL);                                                                       \
    QUANTIZE_KERNELS(KERNEL);                                                                      \
    RECURRENT_KERNELS(KERNEL);                                                                     \
    REDUCE_KERNELS(KERNEL);                                                                        \
    RESAMPLE_KERNELS(KERNEL);                                                                      \
    SMALL_KERNELS(KERNEL);                                                                         \
    SPECTRUM_KERNELS(KERNEL);                                                                      \
    VISION_KERNELS(KERNEL)

#define KERNEL_ENTRY(type, name)                                                                   \
    struct {                                                                                       \
        type *fn;                                                                                  \
        const char *version; /* "ref", "avx2", ... */                                              \
    } name
#define KERNEL_ENTRY_OF(name, versions) KERNEL_ENTRY(name##_fn, name)

/** How much of this CPU a table may use. Each level holds the ones before it. */
enum kernel_level {
    KERNEL_LEVEL_REF,
    KERNEL_LEVEL_PORTABLE, /* faster, but no more than this build's base instruction set */
    KERNEL_LEVEL_AVX2,     /* and FMA, F16C */
    KERNEL_LEVEL_AVX512,   /* F, BW, DQ, VL */
    KERNEL_LEVELS,
};

struct kernel_table {
    enum kernel_level level; /* of which no entry is above */
    KERNEL_ENTRY(unary_f32_fn, unary_f32[KERNEL_UNARY_COUNT]);
    KERNEL_ENTRY(binary_fn, binary[KERNEL_BINARY_COUNT][KERNEL_DTYPES]); /* fn NULL: no such */
    KERNEL_ENTRY(pool_f32_fn, max_pool_f32);
    KERNEL_ENTRY(pool_f32_fn, average_pool_f32);
    ALL_KERNELS(KERNEL_ENTRY_OF);
};

/** The best level that this CPU has. */
enum kernel_level kernel_best_level(void);

/** Whether this CPU multiplies bf16, with sums in f32, and plans make use of it. */
bool kernel_multiplies_bf16(void);

enum { KERNEL_IDENTITY_BYTES = 160 };

/** What the speed of kernels depends on, besides the team: processor, instruction sets, libraries
 *  with their versions. Printable, no newline. */
void kernel_identity(char out[KERNEL_IDENTITY_BYTES]);

/** Fill every entry with the best version at or below level, which must not be above
 *  kernel_best_level(). */
void kernel_table_init(struct kernel_table *table, enum kernel_level level);

/** How many threads the kernels that the calling thread runs, or prepares, may use: the thread
 *  itself and threads - 1 helpers that belong to it. At least 1. */
void kernel_set_threads(uint32_t threads);

/** Keep thread i of the calling thread's team on core `cores[i]`, the calling thread on the first;
 *  count is the size of the team. Returns 0, or -EINVAL when there is no such core for us. */
int kernel_pin_threads(const uint32_t *cores, uint32_t count);
uint32_t kernel_threads(void);

#endif
