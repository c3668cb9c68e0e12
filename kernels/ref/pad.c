/* SPDX-License-Identifier: Apache-2.0 */
/* Padding (and cutting off) on every axis, the truth. */
#include "kernels/kernels.h"

#include <string.h>

/* The coordinate of x that output coordinate o shows on an axis, or -1 for the constant. */
static int64_t pad_source(int64_t o, int64_t begin, int64_t dim, enum kernel_pad_mode mode)
{
    int64_t at = o - begin;

    if (at >= 0 && at < dim)
        return at;
    switch (mode) {
    case KERNEL_PAD_EDGE:
        return at < 0 ? 0 : dim - 1;
    case KERNEL_PAD_REFLECT:
        /* There and back is one period. */
        at = dim > 1 ? (at < 0 ? -at : at) % (2 * (dim - 1)) : 0;
        return at < dim ? at : 2 * (dim - 1) - at;
    case KERNEL_PAD_WRAP:
        return (at % dim + dim) % dim;
    case KERNEL_PAD_CONSTANT:
        break;
    }
    return -1;
}

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
            int64_t at =
                pad_source(rest % shape->y_dims[i], shape->begin[i], shape->x_dims[i], shape->mode);

            outside = outside || at < 0;
            x_at += at * x_stride;
            x_stride *= shape->x_dims[i];
            rest /= shape->y_dims[i];
        }
        memcpy((char *)y + (size_t)index * bytes,
               outside ? value : (const char *)x + (size_t)x_at * bytes, bytes);
    }
}
