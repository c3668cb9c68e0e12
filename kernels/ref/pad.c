/* SPDX-License-Identifier: Apache-2.0 */
/* Padding (and cutting off) on every axis, the truth. */
#include "kernels/kernels.h"

#include <string.h>

void pad_ref(void *y, const void *x, const void *value, const struct kernel_pad *shape)
{
    size_t bytes = shape->element_bytes;
    int64_t count = 1;

    for (int i = 0; i < shape->rank; i++)
        count *= shape->y_dims[i];
    for (int64_t index = 0; index < count; index++) {
        int64_t rest = index, x_at = 0, x_stride = 1;
        bool outside = false;

        for (int i = shape->rank - 1; i >= 0; i--) {
            int64_t at = kernel_pad_source(shape, i, rest % shape->y_dims[i]);

            outside = outside || at < 0;
            x_at += at * x_stride;
            x_stride *= shape->x_dims[i];
            rest /= shape->y_dims[i];
        }
        memcpy((char *)y + (size_t)index * bytes,
               outside ? value : (const char *)x + (size_t)x_at * bytes, bytes);
    }
}
