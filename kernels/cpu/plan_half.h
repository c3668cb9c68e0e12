/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that a plan has packed as f32, and keeps in half precision. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_PLAN_HALF_H
#define OPTRACE_KERNELS_CPU_PLAN_HALF_H

#include "kernels/kernels.h"

struct plan_half {
    enum kernel_dtype dtype; /* f32: nothing is kept so */
    size_t count;            /* of the weights; a bias of f32 stands behind them, as it did */
    size_t offset;           /* of their f32 form in the workspace */
    size_t bias_offset;      /* of the bias from where the weights are kept */
    cast_fn *cast;
};

/**
 * Memory for a plan's weights in their order, with a bias behind them.
 *
 * stored           f32: the weights stay as the kernel takes them, and of `half` nothing is set; else they are
 *                  stored so, their end, which a kernel may leave out, is 0, and their f32 form comes behind
 *                  the plan's workspace
 * w_bytes          what they take as the kernel takes them, a multiple of 64
 *
 * Returns where the bias goes, or NULL without memory.
 */
char *plan_half_place(struct plan_half *half, enum kernel_dtype stored, size_t w_bytes,
                      size_t bias_bytes, size_t *workspace_bytes, void **out_weights,
                      size_t *out_bytes);

/**
 * The f32 weights in a plan's memory, and the bias behind them, are stored as dtype.
 *
 * memory, bytes    of weights and bias; replaced
 * w_bytes          those of the weights, a multiple of 64
 * workspace_bytes  of the plan; the f32 form comes behind that
 *
 * Returns 0 or -ENOMEM, which leaves all as it was.
 */
int plan_half_store(struct plan_half *half, enum kernel_dtype dtype, void **memory, size_t *bytes,
                    size_t w_bytes, size_t *workspace_bytes);

/** The weights of one run, in its workspace. */
float *plan_half_widen(const struct plan_half *half, const void *memory, void *workspace);

/** f16 or bf16 as f32, from aligned_alloc(); NULL: no memory. */
float *plan_half_copy(const void *w, enum kernel_dtype dtype, size_t count);

/** The function of this processor. */
narrow_fn *plan_half_narrow(void);

#endif
