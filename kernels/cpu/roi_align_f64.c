/* SPDX-License-Identifier: Apache-2.0 */
/* RoiAlign of f64. */
#include "kernels/cpu/roi_align_f64.h"

#define REAL           double
#define REAL_TYPE      KERNEL_F64
#define ROI_ALIGN_NAME roi_align_f64
#define ROI_ALIGN_REST roi_align_ref
#include "kernels/cpu/roi_align_steps.h"
