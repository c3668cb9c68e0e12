/* SPDX-License-Identifier: Apache-2.0 */
/* Columns back to images, in f32: row by row of the window's places, added to rows of the image. */
#include <string.h>

#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

struct adding {
    float *y;
    const float *x;
    const struct kernel_window *window;
};

static int64_t product(const int64_t *dims)
{
    return dims[0] * dims[1] * dims[2];
}

/* One row of places: their numbers for one element of the window. */
static void add_row(float *row, const float *x, int64_t offset, const struct kernel_window *w)
{
    int64_t stride = w->stride[2], begin = offset < 0 ? (-offset + stride - 1) / stride : 0;
    int64_t room = w->in[2] - offset, end = room > 0 ? (room + stride - 1) / stride : 0;

    end = end < w->out[2] ? end : w->out[2];
    if (stride == 1) {
        for (int64_t o = begin; o < end; o++)
            row[offset + o] += x[o];
    } else {
        for (int64_t o = begin; o < end; o++)
            row[offset + o * stride] += x[o];
    }
}

static void add_image(float *y, const float *x, const struct kernel_window *w)
{
    memset(y, 0, (size_t)product(w->in) * sizeof(*y));
    for (int64_t e = 0; e < product(w->kernel); e++) {
        int64_t k[] = {e / (w->kernel[1] * w->kernel[2]), e / w->kernel[2] % w->kernel[1],
                       e % w->kernel[2]};
        int64_t offset = k[2] * w->dilation[2] - w->pad_begin[2];

        for (int64_t row = 0; row < w->out[0] * w->out[1]; row++, x += w->out[2]) {
            int64_t d = row / w->out[1] * w->stride[0] + k[0] * w->dilation[0] - w->pad_begin[0];
            int64_t h = row % w->out[1] * w->stride[1] + k[1] * w->dilation[1] - w->pad_begin[1];

            if (d >= 0 && d < w->in[0] && h >= 0 && h < w->in[1])
                add_row(y + (d * w->in[1] + h) * w->in[2], x, offset, w);
        }
    }
}

static void add_images(void *argument, int64_t begin, int64_t end)
{
    const struct adding *a = argument;
    const struct kernel_window *w = a->window;

    for (int64_t i = begin; i < end; i++)
        add_image(a->y + i * product(w->in), a->x + i * product(w->kernel) * product(w->out), w);
}

void col2im_portable(void *y, const void *x, const struct kernel_col2im *shape)
{
    struct adding a = {y, x, &shape->window};

    if (shape->dtype == KERNEL_F32)
        team_for(shape->images, 1, add_images, &a);
    else
        col2im_ref(y, x, shape);
}
