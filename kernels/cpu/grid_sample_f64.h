/* SPDX-License-Identifier: Apache-2.0 */
/* GridSample of f64. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_GRID_SAMPLE_F64_H
#define OPTRACE_KERNELS_CPU_GRID_SAMPLE_F64_H

#include "kernels/kernels.h"

/** As grid_sample(), which they are the rest of; what they have no loops for the reference computes. */
KERNEL_VERSIONS(grid_sample_fn, grid_sample_f64);

#endif
