/* SPDX-License-Identifier: Apache-2.0 */
/* Small floats as numbers. Inside of kernels/ref only. */
#ifndef OPTRACE_KERNELS_REF_SMALL_H
#define OPTRACE_KERNELS_REF_SMALL_H

#include "kernels/small.h"

/** The code of the number that is nearest to one, as struct kernel_cast_small says. */
uint8_t ref_small_code(double number, const struct kernel_cast_small *how);

#endif
