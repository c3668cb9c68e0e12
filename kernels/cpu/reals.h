/* SPDX-License-Identifier: Apache-2.0 */
/* Single elements that are float32 or float64, for kernels that compute in float64. */
#ifndef OPTRACE_KERNELS_CPU_REALS_H
#define OPTRACE_KERNELS_CPU_REALS_H

#include "kernels/dtype.h"

/** dtype: KERNEL_F32 or KERNEL_F64. */
static inline double real_at(const void *x, enum kernel_dtype dtype, int64_t i)
{
    return dtype == KERNEL_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static inline void real_put(void *y, enum kernel_dtype dtype, int64_t i, double number)
{
    if (dtype == KERNEL_F64)
        ((double *)y)[i] = number;
    else
        ((float *)y)[i] = (float)number;
}

#endif
