/* SPDX-License-Identifier: Apache-2.0 */
/* RoiAlign of f32. */
#include "kernels/cpu/roi_align_f64.h"

#define REAL           float
#define REAL_TYPE      KERNEL_F32
#define ROI_ALIGN_NAME roi_align_portable
#define ROI_ALIGN_REST roi_align_f64
#include "kernels/cpu/roi_align_steps.h"
