/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution at places that move, of f64. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_DEFORM_CONV_F64_H
#define OPTRACE_KERNELS_CPU_DEFORM_CONV_F64_H

#include "kernels/kernels.h"

/** As deform_conv(), which they are the rest of; what they have no loops for the reference computes. */
KERNEL_VERSIONS(deform_conv_fn, deform_conv_f64);

/** Bytes of the workspace, of f64. */
size_t kernel_deform_conv_f64_room(const struct kernel_deform_conv *shape);

#endif
