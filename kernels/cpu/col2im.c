/* SPDX-License-Identifier: Apache-2.0 */
/* Columns back to images, in f32. Where places of the window lie side by side each row of the image is added up in
 * registers; else rows of the window's places are added to rows of the image. */
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

/* --- Places side by side. --- */

enum { ROWS = 32 }; /* elements of a window: of more, as many parts of x are far from each other */

static bool is_dense(const struct kernel_window *w)
{
    return w->stride[2] == 1 && product(w->kernel) > 1 && product(w->kernel) <= ROWS;
}

/* The place of which element `k` of the window is at a pixel, along an axis; below 0 where there is none. */
static int64_t place_at(const struct kernel_window *w, int axis, int64_t pixel, int64_t k)
{
    int64_t at = pixel + w->pad_begin[axis] - k * w->dilation[axis];

    if (w->stride[axis] != 1) /* a division takes longer than the rest */
        at = at % w->stride[axis] == 0 ? at / w->stride[axis] : -1;
    return at < w->out[axis] ? at : -1;
}

/* The rows of x that a row of the image is made of, of the first element along a row; how many. */
static int64_t find_rows(const struct kernel_window *w, const float *x, int64_t d, int64_t h,
                         const float *rows[ROWS])
{
    int64_t out = product(w->out), count = 0;

    for (int64_t i = 0; i < w->kernel[0]; i++)
        for (int64_t j = 0; j < w->kernel[1]; j++, x += w->kernel[2] * out) {
            int64_t od = place_at(w, 0, d, i), oh = place_at(w, 1, h, j);

            if (od >= 0 && oh >= 0)
                rows[count++] = x + (od * w->out[1] + oh) * w->out[2];
        }
    return count;
}

/* Pixels [begin, end) of a row, of which some elements of the window may have no place. */
static void sum_pixels(float *y, const float *const *rows, int64_t count,
                       const struct kernel_window *w, int64_t begin, int64_t end)
{
    int64_t out = product(w->out);

    for (int64_t i = begin; i < end; i++) {
        float sum = 0.0f;

        for (int64_t k = 0; k < w->kernel[2]; k++) {
            int64_t o = place_at(w, 2, i, k);

            for (int64_t r = 0; o >= 0 && r < count; r++)
                sum += rows[r][k * out + o];
        }
        y[i] = sum;
    }
}

/* The last pixels that all elements have a place of are added up with some before them. */
#define SUM_IMAGES(isa)                                                                            \
    enum { each_##isa = ISA_BYTES_##isa >= 32 ? 8 : 4 };                                           \
    typedef float some_##isa __attribute__((vector_size(4 * each_##isa), aligned(4), may_alias));  \
                                                                                                   \
    ISA_TARGET_##isa static void sum_row_##isa(float *y, const float *const *rows, int64_t count,  \
                                               const struct kernel_window *w)                      \
    {                                                                                              \
        int64_t pad = w->pad_begin[2], reach = (w->kernel[2] - 1) * w->dilation[2] - pad;          \
        int64_t low = reach > 0 ? reach : 0, last = w->out[2] - pad;                               \
        int64_t high = last < w->in[2] ? last : w->in[2];                                          \
        int64_t step = product(w->out) - w->dilation[2];                                           \
                                                                                                   \
        if (high - low < each_##isa)                                                               \
            low = high = w->in[2];                                                                 \
        for (int64_t i = low; i < high; i += each_##isa) {                                         \
            int64_t at = i + each_##isa <= high ? i : high - each_##isa;                           \
            some_##isa sum = {0};                                                                  \
                                                                                                   \
            for (int64_t r = 0; r < count; r++)                                                    \
                for (int64_t k = 0; k < w->kernel[2]; k++)                                         \
                    sum += *(const some_##isa *)(rows[r] + pad + at + k * step);                   \
            *(some_##isa *)(y + at) = sum;                                                         \
        }                                                                                          \
        sum_pixels(y, rows, count, w, 0, low);                                                     \
        sum_pixels(y, rows, count, w, high, w->in[2]);                                             \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void sum_images_##isa(void *argument, int64_t begin, int64_t end)      \
    {                                                                                              \
        const struct adding *a = argument;                                                         \
        const struct kernel_window *w = a->window;                                                 \
        int64_t each = product(w->kernel) * product(w->out);                                       \
        const float *x = a->x + begin * each, *rows[ROWS];                                         \
        float *y = a->y + begin * product(w->in);                                                  \
                                                                                                   \
        for (; begin < end; begin++, x += each)                                                    \
            for (int64_t d = 0; d < w->in[0]; d++)                                                 \
                for (int64_t h = 0; h < w->in[1]; h++, y += w->in[2])                              \
                    sum_row_##isa(y, rows, find_rows(w, x, d, h, rows), w);                        \
    }

#define COL2IM(isa)                                                                                \
    SUM_IMAGES(isa)                                                                                \
                                                                                                   \
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
            team_for(shape->images, 1, is_dense(a.window) ? sum_images_##isa : add_images_##isa,   \
                     &a);                                                                          \
        else                                                                                       \
            col2im_ref(y, x, shape);                                                               \
    }

ISA_VERSIONS(COL2IM)
