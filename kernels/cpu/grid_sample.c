/* SPDX-License-Identifier: Apache-2.0 */
/* GridSample of f32. */
#include "kernels/cpu/grid_sample_f64.h"

#define REAL                  float
#define REAL_TYPE             KERNEL_F32
#define GRID_SAMPLE_NAME      grid_sample_
#define GRID_SAMPLE_REST(isa) grid_sample_f64_##isa
#include "kernels/cpu/grid_sample_steps.h"
