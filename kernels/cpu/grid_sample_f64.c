/* SPDX-License-Identifier: Apache-2.0 */
/* GridSample of f64. */
#include "kernels/cpu/grid_sample_f64.h"

#define REAL                  double
#define REAL_TYPE             KERNEL_F64
#define GRID_SAMPLE_NAME      grid_sample_f64_
#define GRID_SAMPLE_REST(isa) grid_sample_ref
#include "kernels/cpu/grid_sample_steps.h"
