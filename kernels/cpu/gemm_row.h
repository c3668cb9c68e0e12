/* SPDX-License-Identifier: Apache-2.0 */
/* One row, or a few, times weights that are stored in half precision. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_GEMM_ROW_H
#define OPTRACE_KERNELS_CPU_GEMM_ROW_H

#include "kernels/kernels.h"

/** The functions that it takes, and how much of b it widens at a time. */
struct gemm_row {
    struct kernel_gemm shape;
    struct kernel_activation activation;
    unary_f32_fn *activate;
    gemm_f32_fn *multiply;
    binary_fn *add;
    cast_fn *cast;
    const char *version;
    bool is_direct; /* gemm_row_half() does it: there is no workspace */
    int64_t lines;  /* of b as it lies */
    size_t tile_bytes, workspace_bytes;
};

/** Whether it is one row; or few rows by float16, not transposed, where the processor widens 16 of these at once. */
bool gemm_row_takes(const struct kernel_gemm *shape);

/** Of a shape that it takes m, n, k, trans_b and the type of weights count. */
void gemm_row_init(struct gemm_row *row, const struct kernel_gemm *shape,
                   const struct kernel_activation *activation);

/** b as it lies, in its type; bias: NULL, none. */
void gemm_row_run(const struct gemm_row *row, float *y, const float *a, const void *b,
                  const float *bias, void *workspace);

/** y = a * b + bias, where the processor widens halves (KERNEL_LEVEL_AVX2). */
void gemm_row_half(const struct gemm_row *row, float *y, const float *a, const void *b,
                   const float *bias);

#endif
