/* SPDX-License-Identifier: Apache-2.0 */
/* All kernels as one module: what the program carries, and loads by one call. */
#include "kernels/cuda/any.cu"
#include "kernels/cuda/attention.cu"
#include "kernels/cuda/attention_tile.cu"
#include "kernels/cuda/elementwise.cu"
#include "kernels/cuda/image.cu"
#include "kernels/cuda/move.cu"
#include "kernels/cuda/order.cu"
#include "kernels/cuda/peak.cu"
#include "kernels/cuda/product.cu"
#include "kernels/cuda/recurrent.cu"
#include "kernels/cuda/reduce.cu"
#include "kernels/cuda/rows.cu"
