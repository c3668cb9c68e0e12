/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of what works on images of every element type: convolutions, quantised ones included,
 * their transposes, pools, normalisations across and along channels. What is common to all
 * contracts stands in kernels.h, which includes this, and so do faster ones for f32.
 *
 * Images are row-major: [batch, channels, spatial...], unless a shape says otherwise. Reals are summed in f64 and rounded once.
 * Integers are summed in int64 and wrap around when they are stored.
 */
#ifndef OPTRACE_KERNELS_CONVOLVE_H
#define OPTRACE_KERNELS_CONVOLVE_H

#include "kernels/dtype.h"
#include "kernels/window.h"

struct kernel_convolve {
    enum kernel_dtype x_type, w_type, y_type;
    enum kernel_dtype bias_type;
    enum kernel_dtype scale_type; /* of all scales */
    int64_t batch;
    int64_t channels; /* of x; a multiple of groups */
    int64_t filters;  /* channels of y; a multiple of groups */
    int64_t groups;   /* >= 1 */
    struct kernel_window window;
    bool has_filter_zeros, has_filter_scales; /* w has one for each filter */
    bool channels_last; /* x and y; else they are row-major, as all other images here */
};

/** Those said to be NULL may be. Zero points have the type of what they belong to. */
struct kernel_convolve_data {
    void *y;
    const void *x;
    const void *w;                        /* [filters, channels / groups, kernel...] */
    const void *bias;                     /* NULL: 0; [filters] */
    const void *x_zero, *w_zero, *y_zero; /* NULL: 0 */
    const void *x_scale, *w_scale;        /* not NULL where y_scale is not */
    const void *y_scale;                  /* NULL: y is not quantised */
};

/** y = conv(x - x_zero, w - w_zero) + bias. Where y is quantised it is
 *  saturate(round(y * x_scale * w_scale / y_scale) + y_zero), halves to even. Pads count as 0. */
typedef void convolve_fn(const struct kernel_convolve_data *data,
                         const struct kernel_convolve *shape);

struct kernel_conv_transpose {
    enum kernel_dtype dtype; /* a real one */
    int64_t batch, channels, filters, groups;
    /** The window of the convolution that this transposes: its `out` are x's sizes, its `in` are
     *  y's. Element k of x's place o goes to y's place o * stride - pad_begin + k * dilation, or
     *  nowhere when that is outside. */
    struct kernel_window window;
};

/** y = each x spread by w [channels, filters / groups, kernel...], + bias [filters] (may be NULL).
 */
typedef void conv_transpose_fn(void *y, const void *x, const void *w, const void *bias,
                               const struct kernel_conv_transpose *shape);

struct kernel_causal_conv {
    enum kernel_dtype dtype; /* of all tensors, a real one */
    int64_t batch, channels, steps;
    int64_t taps;  /* >= 1; a step sees itself and taps - 1 before it */
    bool is_swish; /* y * sigmoid(y) in the end */
};

/** Those said to be NULL may be. */
struct kernel_causal_conv_data {
    void *y;           /* [batch, channels, steps] */
    void *present;     /* NULL; [batch, channels, taps - 1]: what the next call has for its past */
    const void *x, *w; /* like y; [channels, taps], the last for the step itself */
    const void *bias;  /* NULL: 0; [channels] */
    const void *past;  /* NULL: 0; like present */
};

/** Each channel's convolution with its own weights. In f32 agrees with ref as products of gemm_f32_fn do. */
typedef void causal_conv_fn(const struct kernel_causal_conv_data *data,
                            const struct kernel_causal_conv *shape);

enum kernel_pool_op {
    POOL_MAX,     /* integers too; NaN is skipped unless it comes last or alone */
    POOL_AVERAGE, /* of no element: 0 */
    POOL_LP,      /* (sum of |x|^p)^(1/p) */
};

struct kernel_pool_any {
    enum kernel_pool_op op;
    enum kernel_dtype dtype;
    int64_t batch, channels;
    struct kernel_window window;
    bool count_pads;      /* average: pads inside of [-pad_begin, in + pad_end) count as zeros */
    bool is_column_major; /* indices: the first spatial axis is the fastest */
    double p;             /* of POOL_LP, > 0 */
};

/** indices may be NULL; else of a maximum: where in x it stands, or -1 where the window holds no
 *  element, and y the lowest number of its type. */
typedef void pool_fn(void *y, int64_t *indices, const void *x, const struct kernel_pool_any *shape);

struct kernel_lrn_any {
    enum kernel_dtype dtype;
    int64_t batch, channels, plane, size;
    double alpha, beta, bias;
};

/** As lrn_f32_fn. */
typedef void lrn_fn(void *y, const void *x, const struct kernel_lrn_any *shape);

struct kernel_batch_norm {
    enum kernel_dtype dtype;       /* of x and y */
    enum kernel_dtype scale_dtype; /* of scale and bias */
    enum kernel_dtype stat_dtype;  /* of mean and variance, given and made */
    int64_t batch, channels, plane;
    int64_t plane_stats; /* statistics, scale and bias have one entry per: 1 channel, or `plane`
                            place of it */
    double epsilon;
    double momentum; /* of training */
};

/** With new_mean and new_variance (both or neither) the statistics are those of x itself, and the
 *  new ones are given * momentum + x's * (1 - momentum). */
struct kernel_batch_norm_data {
    void *y;
    void *new_mean, *new_variance; /* NULL: not training */
    const void *x, *scale, *bias, *mean, *variance;
};

/** y = (x - mean) / sqrt(variance + epsilon) * scale + bias. Versions of f64 agree with ref to 1e-13 of the largest of
 *  |y| and |bias|. y may be x. */
typedef void batch_norm_fn(const struct kernel_batch_norm_data *data,
                           const struct kernel_batch_norm *shape);

/* See KERNEL_DECLARE(). */
#define CONVOLVE_KERNELS(KERNEL)                                                                   \
    KERNEL(causal_conv, EACH);                                                                     \
    KERNEL(convolve, REF);                                                                         \
    KERNEL(conv_transpose, REF);                                                                   \
    KERNEL(pool, EACH);                                                                            \
    KERNEL(lrn, REF);                                                                              \
    KERNEL(batch_norm, EACH)
CONVOLVE_KERNELS(KERNEL_DECLARE);

#endif
