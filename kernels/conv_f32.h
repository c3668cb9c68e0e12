/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of f32 convolutions: one that takes its weights as they are, and plans, which bring
 * them into the order that their kernel wants, once. What is common to all contracts stands in
 * kernels.h, which includes this.
 */
#ifndef OPTRACE_KERNELS_CONV_F32_H
#define OPTRACE_KERNELS_CONV_F32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/activation.h"
#include "kernels/window.h"

struct kernel_conv {
    int64_t batch;
    int64_t channels; /* of x; a multiple of groups */
    int64_t filters;  /* channels of y; a multiple of groups */
    int64_t groups;   /* >= 1 */
    int rank;         /* spatial axes of the tensors, 1 to KERNEL_SPATIAL */
    bool channels_last;
    bool w_channels_last; /* of w, where kernels take it as it is, and not transposed */
    bool is_transposed;   /* of plans only: ConvTranspose, see conv_transpose_fn */
    /* Where transposed that of the convolution which this transposes: its `out` are the sizes of x,
     * its `in` those of y. */
    struct kernel_window window;
    struct kernel_activation activation;
    struct kernel_plan_types types; /* of plans only */
};

/**
 * y = activation(conv(x, w) + bias + residual).
 *
 * y, residual  [batch, filters, out...]; residual may be NULL (none), or y
 * x            [batch, channels, in...]
 * w            [filters, channels / groups, kernel...], in either layout of the images; where
 *              w_channels_last is set [filters, kernel..., channels / groups]
 * bias         [filters], or NULL
 *
 * ref sums in f64. Agrees to (1e-6 + 2e-7 * sqrt(K)) * (sum of |x * w| + |bias| + |residual|), K
 * being the number of products.
 */
typedef void conv_f32_fn(float *y, const float *x, const float *w, const float *bias,
                         const float *residual, const struct kernel_conv *shape);

/**
 * A convolution whose weights were brought into the order that one kernel wants.
 *
 * Winograd's, and most others, are for channels_last images only; row-major ones are turned before and
 * after ("turned:"). Made and run by threads whose kernel_threads() are
 * the same, run by one thread at a time. Tolerance as above; of Winograd's twice that with the
 * largest sum of the images, because an output is made of neighbours' products that cancel out.
 * What is not finite is in neighbours' results, too; of merged groups and places ("merged:") in those that are
 * computed with it.
 *
 * Where weights are f16 or bf16 the plan keeps them so and widens those of one run into its workspace,
 * Winograd's by panels of filters, which it then transforms, and those of images of few places, and along lines
 * ("panels:", channels_last), by parts of a panel; or, where the processor multiplies bf16, x is rounded to that and products are
 * summed in f32: then it agrees to what conv_half_fn allows.
 */
struct kernel_conv_plan;

enum { KERNEL_CONV_VERSIONS_MAX = 16, KERNEL_CONV_VERSION_BYTES = 48 };

/** A kernel that can make a plan, and what it declares about itself. */
struct kernel_conv_version {
    char name[KERNEL_CONV_VERSION_BYTES]; /* "dnnl:brgconv:avx512_core", "winograd4:avx512", ... */
    bool is_reference;                    /* plain loops: never the fastest */
    bool is_reproducible; /* the same team computes the same bits each time: no output's sum is
                             shared out among threads */
};

/** Those for one convolution. */
struct kernel_conv_versions {
    int count;
    struct kernel_conv_version items[KERNEL_CONV_VERSIONS_MAX];
};

/**
 * The one that is expected to be fastest, by a model of its arithmetic and memory traffic, comes
 * first: what kernel_conv_plan_create() takes unless it is told another.
 *
 * with_slow  also references
 *
 * Returns 0, or -ENOTSUP when there is none.
 */
int kernel_conv_plan_list(const struct kernel_conv *shape, bool has_bias, bool has_residual,
                          bool with_slow, struct kernel_conv_versions *out_versions);

/**
 * w, bias       as for conv_f32_fn, w_channels_last not being set, or conv_transpose_fn, w of the type
 *               in shape->types; read during this call only
 * has_residual  y then holds the residual when the plan is run
 * version       one of kernel_conv_plan_list(); NULL: the first of them
 *
 * Returns 0, -ENOMEM, or -ENOTSUP when no kernel (of that name) does this.
 */
int kernel_conv_plan_create(const struct kernel_conv *shape, const void *w, const float *bias,
                            bool has_residual, const char *version,
                            struct kernel_conv_plan **out_plan);

/** Accepts NULL; sets *plan to NULL. */
void kernel_conv_plan_destroy(struct kernel_conv_plan **plan);

/** workspace: 64-byte aligned scratch of the bytes that the plan asks for. Returns 0 or -EIO when
 *  the library under it failed. */
int kernel_conv_plan_run(struct kernel_conv_plan *plan, void *y, const void *x, void *workspace);

struct kernel_conv_plan_info {
    const char *version; /* lives as long as the plan */
    size_t workspace_bytes;
    const void *weights; /* the plan's own copy */
    size_t weights_bytes;
    enum kernel_dtype x, y; /* what it reads and writes: f32, or what it was allowed */
};

struct kernel_conv_plan_info kernel_conv_plan_info(const struct kernel_conv_plan *plan);

/* See KERNEL_DECLARE(). */
#define CONV_F32_KERNELS(KERNEL) KERNEL(conv_f32, REF)
CONV_F32_KERNELS(KERNEL_DECLARE);

#endif
