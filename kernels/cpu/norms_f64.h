/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations of f64. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_NORMS_F64_H
#define OPTRACE_KERNELS_CPU_NORMS_F64_H

#include "kernels/kernels.h"

/** As normalize(), which they are the rest of; what they have no loops for the reference computes. */
KERNEL_VERSIONS(normalize_fn, normalize_f64);

#endif
