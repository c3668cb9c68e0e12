/* SPDX-License-Identifier: Apache-2.0 */
/* Small products of f32. oneDNN makes code for all of its products at the first one, which takes it 40 ms.
 * Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_GEMM_SMALL_H
#define OPTRACE_KERNELS_CPU_GEMM_SMALL_H

#include "kernels/gemm_f32.h"

/** Whether products of this size are not slower here than by oneDNN. */
bool gemm_small_fits(const struct kernel_gemm *shape);

/** All products of a batch, by the calling thread's team. c: NULL where beta is 0. */
typedef void gemm_small_fn(float *y, const float *a, const float *b, const float *c,
                           const struct kernel_gemm *shape);
gemm_small_fn gemm_small_portable;
#if defined(__x86_64__)
gemm_small_fn gemm_small_avx2, gemm_small_avx512;
#endif

#endif
