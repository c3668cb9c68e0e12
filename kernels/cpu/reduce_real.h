/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions that go by reals where their elements are integers, and by powers of f64. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_REDUCE_REAL_H
#define OPTRACE_KERNELS_CPU_REDUCE_REAL_H

#include "kernels/kernels.h"

/** As reduce_any(), which they are the rest of; what they have no loops for the reference computes. */
KERNEL_VERSIONS(reduce_fn, reduce_real);

#endif
