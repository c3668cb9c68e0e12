/* SPDX-License-Identifier: Apache-2.0 */
/* All kernels as one module: what the program carries, and loads by one call. */
#include "kernels/cuda/elementwise.cu"
#include "kernels/cuda/image.cu"
#include "kernels/cuda/move.cu"
#include "kernels/cuda/product.cu"
#include "kernels/cuda/reduce.cu"
