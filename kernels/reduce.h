/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of what sums up along axes, over every element type: reductions, the place of the
 * largest, normalisations, softmax and its kin, running sums. What is common to all contracts
 * stands in kernels.h, which includes this.
 *
 * Reals are summed in f64 and rounded once; integers in int64, and wrap around.
 */
#ifndef OPTRACE_KERNELS_REDUCE_H
#define OPTRACE_KERNELS_REDUCE_H

#include "kernels/dtype.h"

enum kernel_reduce_op {
    REDUCE_L1,
    REDUCE_L2,
    REDUCE_LOG_SUM,
    REDUCE_LOG_SUM_EXP, /* without overflow */
    REDUCE_MAX,         /* NaN where there is one; of nothing: -infinity, or the lowest integer */
    REDUCE_MEAN,        /* of nothing: NaN, or 0 */
    REDUCE_MIN,
    REDUCE_PROD,
    REDUCE_SUM,
    REDUCE_SUM_SQUARE,
};

struct kernel_reduce {
    enum kernel_reduce_op op;
    enum kernel_dtype dtype;
    int rank;
    int64_t dims[KERNEL_MAX_RANK];
    bool is_reduced[KERNEL_MAX_RANK];
};

/** y has x's axes without the reduced ones (or with 1 in their place). Versions of REDUCE_LOG_SUM_EXP agree with
 *  ref to 2e-6 of the largest of |y| and 1. */
typedef void reduce_fn(void *y, const void *x, const struct kernel_reduce *shape);

struct kernel_arg_reduce {
    enum kernel_dtype dtype;
    int64_t outer, axis, inner; /* axis >= 1 */
    bool is_min, takes_last;    /* of several that are equal */
};

/** y [outer, inner]: the place along the axis of the largest (or smallest) element. */
typedef void arg_reduce_fn(int64_t *y, const void *x, const struct kernel_arg_reduce *shape);

/** Where scale and bias lie under x's axes: strides in elements, 0 where they are broadcast. */
struct kernel_normalize {
    enum kernel_dtype dtype;      /* of x, y, scale and bias */
    enum kernel_dtype stat_dtype; /* of mean and inverse */
    int rank;
    int64_t dims[KERNEL_MAX_RANK];
    bool is_reduced[KERNEL_MAX_RANK]; /* mean and variance are taken over these axes together */
    int64_t scale_stride[KERNEL_MAX_RANK];
    int64_t bias_stride[KERNEL_MAX_RANK];
    bool keeps_mean;   /* the mean is not subtracted, and the mean square divides */
    bool adds_to_root; /* epsilon is added to the root instead of to the variance */
    double epsilon;
};

/** The buffers of a normalisation; those said to be NULL may be. */
struct kernel_normalize_data {
    void *y;
    void *mean;    /* NULL: not wanted; one per group of reduced elements */
    void *inverse; /* NULL: not wanted; 1 / sqrt(variance + epsilon) */
    const void *x;
    const void *scale; /* NULL: 1 */
    const void *bias;  /* NULL: 0 */
};

/** y = (x - mean) / sqrt(variance + epsilon) * scale + bias. y may be x. The mean of no element is
 *  NaN. */
typedef void normalize_fn(const struct kernel_normalize_data *data,
                          const struct kernel_normalize *shape);

enum kernel_along_op {
    ALONG_SOFTMAX,
    ALONG_LOG_SOFTMAX,
    ALONG_HARDMAX, /* 1 at the first of the largest elements */
    ALONG_L1_NORM, /* x / (sum of |x|); 0 when that is 0 */
    ALONG_L2_NORM, /* x / sqrt(sum of x^2); 0 when that is 0 */
    ALONG_SUM,     /* the running sum */
    ALONG_PRODUCT, /* the running product */
};

struct kernel_along {
    enum kernel_along_op op;
    enum kernel_dtype dtype;
    int64_t outer, axis, inner;
    bool is_exclusive, is_reverse; /* of what runs: without the element; from the end */
};

/** y, x: [outer, axis, inner], along the middle axis. Softmax and norms are for reals.
 *  Versions of ALONG_LOG_SOFTMAX and of the norms agree with ref to 2e-6 of the largest of |x| and |y|, of
 *  ALONG_SOFTMAX of f64 to 4e-15. */
typedef void along_fn(void *y, const void *x, const struct kernel_along *shape);

enum kernel_loss { LOSS_EACH, LOSS_SUM, LOSS_MEAN };

/** Of samples [batch, inner], each with a number per class. */
struct kernel_class_loss {
    enum kernel_dtype dtype;      /* real, of all but the labels */
    enum kernel_dtype label_type; /* i32 or i64 */
    enum kernel_loss reduction;
    bool takes_scores; /* x holds scores, of which the log of their softmax is taken first */
    bool has_ignored;
    int64_t ignored; /* a label that counts 0, and is not counted where the sum is divided */
    int64_t batch, classes, inner;
};

/** The loss of x [batch, classes, inner], logarithms of probabilities: -x[label] * weights[label] for each
 *  label of [batch, inner], their sum, or that by the sum of the weights. weights [classes] may be NULL,
 *  which are 1; log_prob, which may be NULL, gets what was taken of scores. Returns 0, or -1 when a
 *  label is no class. The sum is taken in f64. Versions agree with ref to 2e-6 (f64: 1e-14) of the largest of |x|,
 *  the logarithm of the number of classes and 1, times the weight. */
typedef int class_loss_fn(void *y, void *log_prob, const void *x, const void *labels,
                          const void *weights, const struct kernel_class_loss *shape);

/* See KERNEL_DECLARE(). */
#define REDUCE_KERNELS(KERNEL)                                                                     \
    KERNEL(reduce, EACH);                                                                          \
    KERNEL(arg_reduce, EACH);                                                                      \
    KERNEL(normalize, EACH);                                                                       \
    KERNEL(along, EACH);                                                                           \
    KERNEL(class_loss, EACH)
REDUCE_KERNELS(KERNEL_DECLARE);

#endif
