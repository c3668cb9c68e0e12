/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion between element types, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"

void cast_ref(void *y, enum kernel_dtype to, const void *x, enum kernel_dtype from, size_t count)
{
    bool is_real = kernel_dtype_is_real(from) || kernel_dtype_is_real(to);

    /* Every value of every type here is exact either as a double or as an int64 (of a uint64, its bits); one that
     * becomes a float is rounded once by converting it directly. */
    for (int64_t i = 0; i < (int64_t)count; i++) {
        if (from == KERNEL_I64 && to == KERNEL_F32)
            ((float *)y)[i] = (float)((const int64_t *)x)[i];
        else if (from == KERNEL_U64 && to == KERNEL_F32)
            ((float *)y)[i] = (float)((const uint64_t *)x)[i];
        else if (is_real)
            ref_set_f64(y, to, i, ref_get_f64(x, from, i));
        else if (to == KERNEL_BOOL)
            ((uint8_t *)y)[i] = ref_get_i64(x, from, i) != 0;
        else
            ref_set_i64(y, to, i, ref_get_i64(x, from, i));
    }
}
