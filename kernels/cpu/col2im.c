/* SPDX-License-Identifier: Apache-2.0 */
/* Columns back to images, in f32: row by row of the window's places, added to rows of the image. */
#include <string.h>

#include "kernels/cpu/isa.h"
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

/* The places of one element of the window along a row: [begin, end) are inside, from `offset` of the image's row on. */
struct places {
    int64_t offset, begin, end;
};

static struct places places_of(const struct kernel_window *w, int64_t k)
{
    int64_t stride = w->stride[2], offset = k * w->dilation[2] - w->pad_begin[2];
    int64_t room = w->in[2] - offset, end = room > 0 ? (room + stride - 1) / stride : 0;
    struct places p = {offset, offset < 0 ? (-offset + stride - 1) / stride : 0, end};

    p.end = end < w->out[2] ? end : w->out[2];
    return p;
}

ISA_BODY void add_row(float *restrict row, const float *restrict x, struct places p, int64_t stride)
{
    if (stride == 1)
        for (int64_t o = p.begin; o < p.end; o++)
            row[p.offset + o] += x[o];
    else
        for (int64_t o = p.begin; o < p.end; o++)
            row[p.offset + o * stride] += x[o];
}

/* Of one element of the window. */
ISA_BODY void add_places(float *y, const float *x, const struct kernel_window *w,
                         const int64_t k[KERNEL_SPATIAL])
{
    struct places p = places_of(w, k[2]);

    for (int64_t od = 0; od < w->out[0]; od++) {
        int64_t d = od * w->stride[0] + k[0] * w->dilation[0] - w->pad_begin[0];

        for (int64_t oh = 0; oh < w->out[1]; oh++, x += w->out[2]) {
            int64_t h = oh * w->stride[1] + k[1] * w->dilation[1] - w->pad_begin[1];

            if (d >= 0 && d < w->in[0] && h >= 0 && h < w->in[1])
                add_row(y + (d * w->in[1] + h) * w->in[2], x, p, w->stride[2]);
        }
    }
}

ISA_BODY void add_images(const struct adding *a, int64_t begin, int64_t end)
{
    const struct kernel_window *w = a->window;
    int64_t in = product(w->in), out = product(w->out);

    for (int64_t i = begin; i < end; i++) {
        const float *x = a->x + i * product(w->kernel) * out;
        float *y = a->y + i * in;
        int64_t k[KERNEL_SPATIAL];

        memset(y, 0, (size_t)in * sizeof(*y));
        for (k[0] = 0; k[0] < w->kernel[0]; k[0]++)
            for (k[1] = 0; k[1] < w->kernel[1]; k[1]++)
                for (k[2] = 0; k[2] < w->kernel[2]; k[2]++, x += out)
                    add_places(y, x, w, k);
    }
}

#define COL2IM(isa)                                                                                \
    ISA_TARGET_##isa static void add_images_##isa(void *argument, int64_t begin, int64_t end)      \
    {                                                                                              \
        add_images(argument, begin, end);                                                          \
    }                                                                                              \
                                                                                                   \
    void col2im_##isa(void *y, const void *x, const struct kernel_col2im *shape)                   \
    {                                                                                              \
        struct adding a = {y, x, &shape->window};                                                  \
                                                                                                   \
        if (shape->dtype == KERNEL_F32)                                                            \
            team_for(shape->images, 1, add_images_##isa, &a);                                      \
        else                                                                                       \
            col2im_ref(y, x, shape);                                                               \
    }

ISA_VERSIONS(COL2IM)
