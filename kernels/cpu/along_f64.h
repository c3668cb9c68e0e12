/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, its logarithm and norms along an axis, of f64. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_ALONG_F64_H
#define OPTRACE_KERNELS_CPU_ALONG_F64_H

#include "kernels/kernels.h"

/** As along(), of f64 and these operations only; axis and inner are not 0. */
KERNEL_VERSIONS(along_fn, along_f64);

#endif
