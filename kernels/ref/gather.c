/* SPDX-License-Identifier: Apache-2.0 */
/* Picking slices by index, the truth. */
#include "kernels/kernels.h"

#include <string.h>

int gather_ref(void *y, const void *x, const int64_t *indices, const struct kernel_gather *shape)
{
    char *out = y;
    int64_t axis = (int64_t)shape->axis;

    for (size_t o = 0; o < shape->outer; o++) {
        const char *slices = (const char *)x + o * shape->axis * shape->inner_bytes;

        for (size_t i = 0; i < shape->index_count; i++, out += shape->inner_bytes) {
            int64_t index = indices[i];

            if (index < -axis || index >= axis)
                return -1;
            if (index < 0)
                index += axis;
            memcpy(out, slices + (size_t)index * shape->inner_bytes, shape->inner_bytes);
        }
    }
    return 0;
}
