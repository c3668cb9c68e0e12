/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with constant weights that lie in panels of columns, where oneDNN would pack them at each run: it
 * has a product of packed weights for AVX-512 only, and makes code for all its others at the first, which takes
 * it 25 ms. Inside kernels/cpu only.
 */
#ifndef OPTRACE_KERNELS_CPU_GEMM_PANELS_H
#define OPTRACE_KERNELS_CPU_GEMM_PANELS_H

#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

struct gemm_panels {
    int64_t m, n, k;
    int64_t
        a_line; /* from a row of a to the next: k, until the caller says otherwise; rows may overlap */
    int64_t width; /* columns of a panel */
    enum kernel_dtype dtype;
    struct kernel_activation activation;
    unary_f32_fn *activate; /* or NULL */
    cast_fn *cast;
    team_fn *part;
    const char *version;
};

/** Of the shape m, n, k and the type of weights count. Returns whether this is what to take on this processor. */
bool gemm_panels_init(struct gemm_panels *panels, const struct kernel_gemm *shape,
                      const struct kernel_activation *activation);

/** The same with AVX-512, too, for products that are made often and are small, or of which oneDNN has nothing. */
bool gemm_panels_init_widest(struct gemm_panels *panels, const struct kernel_gemm *shape,
                             const struct kernel_activation *activation);

/** What the weights take in their type, and a bias of f32 behind them; multiples of 64. */
size_t gemm_panels_weights_bytes(const struct gemm_panels *panels);
size_t gemm_panels_bias_bytes(const struct gemm_panels *panels);

/** weights, 64-byte aligned, from b as it lies; bias from as much as it says, n of b's or NULL for zeros. */
void gemm_panels_pack(const struct gemm_panels *panels, void *weights, const void *b, bool trans_b);
void gemm_panels_pack_bias(const struct gemm_panels *panels, float *to, const float *bias);

void gemm_panels_run(const struct gemm_panels *panels, float *y, const float *a,
                     const void *weights, const float *bias);

#endif
