/* SPDX-License-Identifier: Apache-2.0 */
/* Moving elements of any type from one set of strides to another, and filling: the truth. */
#include "kernels/kernels.h"

#include <string.h>

/* The innermost axis: a run of `length` elements. */
static void copy_run(char *y, const char *x, size_t bytes, int64_t length, int64_t y_stride,
                     int64_t x_stride)
{
    if (y_stride == 1 && x_stride == 1) {
        memcpy(y, x, (size_t)length * bytes);
        return;
    }
    for (int64_t i = 0; i < length; i++)
        memcpy(y + i * y_stride * (int64_t)bytes, x + i * x_stride * (int64_t)bytes, bytes);
}

void copy_ref(void *y, const void *x, const struct kernel_copy *shape)
{
    int64_t bytes = (int64_t)shape->element_bytes;
    int64_t at[KERNEL_MAX_AXES] = {0}, y_at = 0, x_at = 0;
    int inner = shape->rank - 1, axis = 0;

    for (int i = 0; i < shape->rank; i++)
        if (shape->dims[i] == 0)
            return;
    /* The coordinates outside of the last axis count up like an odometer. */
    while (axis >= 0) {
        if (inner < 0)
            memcpy(y, x, shape->element_bytes);
        else
            copy_run((char *)y + y_at * bytes, (const char *)x + x_at * bytes, shape->element_bytes,
                     shape->dims[inner], shape->y_stride[inner], shape->x_stride[inner]);
        for (axis = inner - 1; axis >= 0; axis--) {
            y_at += shape->y_stride[axis];
            x_at += shape->x_stride[axis];
            if (++at[axis] < shape->dims[axis])
                break;
            y_at -= shape->y_stride[axis] * shape->dims[axis];
            x_at -= shape->x_stride[axis] * shape->dims[axis];
            at[axis] = 0;
        }
    }
}

void fill_ref(void *y, const void *value, size_t element_bytes, size_t count)
{
    size_t bytes = element_bytes * count, done = element_bytes;

    if (count == 0)
        return;
    memcpy(y, value, element_bytes);
    while (done < bytes) { /* what is filled already fills the rest, in growing pieces */
        size_t piece = done < bytes - done ? done : bytes - done;

        memcpy((char *)y + done, y, piece);
        done += piece;
    }
}
