/* SPDX-License-Identifier: Apache-2.0 */
/* RoiAlign of f64. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_ROI_ALIGN_F64_H
#define OPTRACE_KERNELS_CPU_ROI_ALIGN_F64_H

#include "kernels/kernels.h"

/** As roi_align(), which it is the rest of; what it has no loops for the reference computes. */
roi_align_fn roi_align_f64;

#endif
