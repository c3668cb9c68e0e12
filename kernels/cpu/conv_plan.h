/* SPDX-License-Identifier: Apache-2.0 */
/* What every convolution plan has, whatever computes it. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_CONV_PLAN_H
#define OPTRACE_KERNELS_CPU_CONV_PLAN_H

#include "kernels/conv_f32.h"
#include "kernels/cpu/plan_half.h"

struct conv_request {
    const struct kernel_conv *shape;
    const float *w, *bias; /* bias may be NULL; w is NULL where the plan is to keep stored_w */
    const void *stored_w;  /* as it came, of the type in shape->types */
    bool has_residual;
};

struct conv_plan_type {
    /** Frees the plan, weights included. */
    void (*destroy)(struct kernel_conv_plan *plan);
    int (*run)(struct kernel_conv_plan *plan, void *y, const void *x, void *workspace);
    /** Where weights and bias are from now on, as the plan itself laid them out. */
    void (*place)(struct kernel_conv_plan *plan, float *weights, float *bias);
};

/* The first member of each type's own struct. */
struct kernel_conv_plan {
    const struct conv_plan_type *type;
    char version[KERNEL_CONV_VERSION_BYTES];
    void *weights; /* and the bias behind them; owned */
    size_t weights_bytes;
    size_t w_bytes; /* of the weights alone, rounded up */
    size_t workspace_bytes;
    struct plan_half half; /* where weights are f32 for the kernel, and kept in another type */
    struct kernel_plan_types computes; /* in these types; x and y: as they come */
};

/** What a plan around another one takes out of it: a caller may keep the weights in another type. */
static inline void conv_plan_take_weights(struct kernel_conv_plan *plan,
                                          struct kernel_conv_plan *inner)
{
    plan->weights = inner->weights;
    plan->weights_bytes = inner->weights_bytes;
    plan->w_bytes = inner->w_bytes;
    inner->weights = NULL;
}

/** The next of a list that has room for it, whose name is there already: sums of ours are in one order. */
static inline void conv_versions_add_own(struct kernel_conv_versions *versions)
{
    struct kernel_conv_version *version = &versions->items[versions->count++];

    version->is_reference = false;
    version->is_reproducible = true;
}

static inline size_t conv_round_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/** Add what oneDNN has, its own preference first. */
void conv_dnnl_list(const struct kernel_conv *shape, bool has_bias, bool has_residual,
                    bool with_slow, struct kernel_conv_versions *versions);

/** Which of them is expected to be faster than its first; NULL: none. */
const char *conv_dnnl_prefer(const struct kernel_conv *shape);

/** The first of its list; an empty name: none. */
struct kernel_conv_version conv_dnnl_first(const struct kernel_conv *shape, bool has_bias,
                                           bool has_residual);

/** Whether that is a product of unrolled images. */
bool conv_dnnl_unrolls(const char *version);

/** Where it multiplies unrolled images for `shape` and has a direct kernel for AVX2 for `inner`: that kernel, called by
 *  `prefix` in place of its library's. false: there is nothing to gain by the other. To ask takes a while. */
bool conv_dnnl_find_direct(const struct kernel_conv *shape, const struct kernel_conv *inner,
                           bool has_bias, bool has_residual, const char *prefix,
                           struct kernel_conv_version *out_version);

/** What conv_dnnl_create() calls a kernel that is called so; false: it is none. */
bool conv_dnnl_direct_name(const char *version, const char *prefix,
                           char out_name[KERNEL_CONV_VERSION_BYTES]);

/** Errors as kernel_conv_plan_create(). */
int conv_dnnl_create(const struct conv_request *request, const char *version,
                     struct kernel_conv_plan **out_plan);

/** The same by kernels of f32 from stored weights of half precision, which are stored as they are.
 *  -ENOTSUP also where they cannot be put into the kernel's order so. */
int conv_dnnl_create_half(const struct conv_request *request, const char *version,
                          struct kernel_conv_plan **out_plan);

/** By the processor's products of bf16; -ENOTSUP where weights are none, or it has no such. */
int conv_dnnl_create_bf16(const struct conv_request *request, const char *version,
                          struct kernel_conv_plan **out_plan);

/** Our own Winograd convolutions, which can keep weights of half precision. A name that is none of theirs: -ENOTSUP. */
void conv_winograd_list(const struct kernel_conv *shape, struct kernel_conv_versions *versions);
int conv_winograd_create(const struct conv_request *request, const char *version,
                         struct kernel_conv_plan **out_plan);

/** Whether one of them, and then which, is expected to beat a direct convolution; NULL: none. */
const char *conv_winograd_prefer(const struct kernel_conv *shape,
                                 char out_name[KERNEL_CONV_VERSION_BYTES]);

/** Transposed ones whose windows lie side by side, without a residual; the same. */
void conv_spread_list(const struct kernel_conv *shape, struct kernel_conv_versions *versions);
int conv_spread_create(const struct conv_request *request, const char *version,
                       struct kernel_conv_plan **out_plan);
const char *conv_spread_prefer(const struct kernel_conv *shape,
                               char out_name[KERNEL_CONV_VERSION_BYTES]);

/** Transposed ones whose windows overlap, without a residual, as products that are added to y; the same. */
void conv_added_list(const struct kernel_conv *shape, struct kernel_conv_versions *versions);
int conv_added_create(const struct conv_request *request, const char *version,
                      struct kernel_conv_plan **out_plan);
const char *conv_added_prefer(const struct kernel_conv *shape,
                              char out_name[KERNEL_CONV_VERSION_BYTES]);

/** Those whose pads keep oneDNN from its direct kernels, on images that hold them; the same. */
void conv_padded_list(const struct kernel_conv *shape, bool has_bias, bool has_residual,
                      struct kernel_conv_versions *versions);
int conv_padded_create(const struct conv_request *request, const char *version,
                       struct kernel_conv_plan **out_plan);
const char *conv_padded_prefer(const struct kernel_conv *shape, bool has_bias, bool has_residual,
                               char out_name[KERNEL_CONV_VERSION_BYTES]);

/** Row-major images, by a plan for channels last. false: there is none. */
bool conv_turned_inner(const struct kernel_conv *shape, struct kernel_conv *out_inner);

/** What a plan is called that turns images around one, and the other way; NULL: it does not. */
void conv_turned_name(const char *inner, char out_name[KERNEL_CONV_VERSION_BYTES]);
const char *conv_turned_inner_name(const char *version);

/** Makes it of that for channels last, which it owns then, also where it fails. */
int conv_turned_wrap(const struct conv_request *request, struct kernel_conv_plan *inner,
                     struct kernel_conv_plan **out_plan);

/** Groups of few channels, several as one; the same. */
void conv_merged_list(const struct kernel_conv *shape, bool has_bias, bool has_residual,
                      struct kernel_conv_versions *versions);
int conv_merged_create(const struct conv_request *request, const char *version,
                       struct kernel_conv_plan **out_plan);
const char *conv_merged_prefer(const struct kernel_conv *shape, bool has_bias, bool has_residual,
                               char out_name[KERNEL_CONV_VERSION_BYTES]);

/** By a product, of weights of half precision on images of few places, and along lines; the same. Weights stay as they
 *  are stored. */
void conv_panels_list(const struct kernel_conv *shape, struct kernel_conv_versions *versions);
int conv_panels_create(const struct conv_request *request, const char *version,
                       struct kernel_conv_plan **out_plan);
const char *conv_panels_prefer(const struct kernel_conv *shape,
                               char out_name[KERNEL_CONV_VERSION_BYTES]);

#endif
