/* SPDX-License-Identifier: Apache-2.0 */
/* Padding (and cutting off) on every axis, the truth. */
#include "kernels/kernels.h"

#include <string.h>

/* The coordinate of x that output coordinate o shows on an axis, or -1 for the constant. What is
 * cut off is gone: the other modes repeat, mirror and extend what is left. */
static int64_t pad_source(const struct kernel_pad *shape, int axis, int64_t o)
{
    int64_t begin = shape->begin[axis], dim = shape->x_dims[axis];
    int64_t end = shape->y_dims[axis] - dim - begin;
    int64_t first = begin < 0 ? -begin : 0;
    int64_t left = dim - first + (end < 0 ? end : 0);
    int64_t at = o - (begin > 0 ? begin : 0);

    if (at >= 0 && at < left)
        return first + at;
    switch (shape->mode) {
    case KERNEL_PAD_EDGE:
        return first + (at < 0 ? 0 : left - 1);
    case KERNEL_PAD_REFLECT:
        /* There and back is one period. */
        at = left > 1 ? (at < 0 ? -at : at) % (2 * (left - 1)) : 0;
        return first + (at < left ? at : 2 * (left - 1) - at);
    case KERNEL_PAD_WRAP:
        return first + (at % left + left) % left;
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
            int64_t at = pad_source(shape, i, rest % shape->y_dims[i]);

            outside = outside || at < 0;
            x_at += at * x_stride;
            x_stride *= shape->x_dims[i];
            rest /= shape->y_dims[i];
        }
        memcpy((char *)y + (size_t)index * bytes,
               outside ? value : (const char *)x + (size_t)x_at * bytes, bytes);
    }
}
