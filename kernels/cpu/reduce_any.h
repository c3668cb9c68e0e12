/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of other types than f32. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_REDUCE_ANY_H
#define OPTRACE_KERNELS_CPU_REDUCE_ANY_H

#include "kernels/kernels.h"

/** As reduce(), which they are the rest of; what they have no loops for the reference computes. */
KERNEL_VERSIONS(reduce_fn, reduce_any);

#endif
