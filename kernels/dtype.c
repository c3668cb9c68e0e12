/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the element types. */
#include "kernels/dtype.h"

size_t kernel_dtype_bytes(enum kernel_dtype dtype)
{
    static const size_t bytes[KERNEL_DTYPES] = {
        [KERNEL_F32] = 4,  [KERNEL_F64] = 8,  [KERNEL_F16] = 2, [KERNEL_I8] = 1,  [KERNEL_I16] = 2,
        [KERNEL_I32] = 4,  [KERNEL_I64] = 8,  [KERNEL_U8] = 1,  [KERNEL_U16] = 2, [KERNEL_U32] = 4,
        [KERNEL_BOOL] = 1, [KERNEL_BF16] = 2, [KERNEL_U64] = 8,
    };

    return dtype < KERNEL_DTYPES ? bytes[dtype] : 1;
}

bool kernel_dtype_is_real(enum kernel_dtype dtype)
{
    return dtype == KERNEL_F32 || dtype == KERNEL_F64 || dtype == KERNEL_F16 ||
           dtype == KERNEL_BF16;
}
