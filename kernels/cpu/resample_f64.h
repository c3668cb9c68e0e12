/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling of f64 and int32 by sums of f64. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_RESAMPLE_F64_H
#define OPTRACE_KERNELS_CPU_RESAMPLE_F64_H

#include "kernels/kernels.h"

/** As resample(), which they are the rest of; what they have no loops for the reference computes. int32 is what the
 *  reference stores, f64 agrees with it to 1e-14 of the sum of the magnitudes that are added. */
KERNEL_VERSIONS(resample_fn, resample_f64);

#endif
