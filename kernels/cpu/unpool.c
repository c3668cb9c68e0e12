/* SPDX-License-Identifier: Apache-2.0 */
/* Maxima back to their places, of elements of a size that is known where they are moved. */
#include <string.h>

#include "kernels/kernels.h"

#define PUT(bits)                                                                                  \
    static int put_##bits(void *out, const void *in, const int64_t *indices,                       \
                          const struct kernel_max_unpool *s)                                       \
    {                                                                                              \
        const uint##bits##_t *x = in;                                                              \
        uint64_t limit = (uint64_t)s->y_count;                                                     \
        uint##bits##_t *y = out;                                                                   \
                                                                                                   \
        for (int64_t i = 0; i < s->x_count; i++) {                                                 \
            if ((uint64_t)indices[i] >= limit)                                                     \
                return -1;                                                                         \
            y[indices[i]] = x[i];                                                                  \
        }                                                                                          \
        return 0;                                                                                  \
    }

PUT(8)
PUT(16)
PUT(32)
PUT(64)

int max_unpool_portable(void *y, const void *x, const int64_t *indices,
                        const struct kernel_max_unpool *shape)
{
    if (shape->y_count > 0)
        memset(y, 0, (size_t)shape->y_count * shape->element_bytes);
    switch (shape->element_bytes) {
    case 1:
        return put_8(y, x, indices, shape);
    case 2:
        return put_16(y, x, indices, shape);
    case 4:
        return put_32(y, x, indices, shape);
    default:
        return put_64(y, x, indices, shape);
    }
}
