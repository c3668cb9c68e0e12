/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by the matrices that they choose: rows of the same choice are brought together, multiplied at once, and put where
 * they belong. */
#include <string.h>

#include "kernels/experts.h"

enum {
    CHUNK = 512, /* rows that are multiplied at once, which room is made for */
    ALIGN = 64,
};

struct room {
    int64_t *order; /* rows of y by choice */
    int64_t *ends;  /* by choice: behind the last of its rows */
    float *x, *y;   /* of a chunk */
    size_t bytes;
};

static void *take(char *from, size_t *at, int64_t count, size_t bytes)
{
    void *taken = from ? from + *at : NULL;

    *at += ((size_t)count * bytes + ALIGN - 1) / ALIGN * ALIGN;
    return taken;
}

/* workspace: NULL where only the size is asked for. */
static struct room make_room(const struct kernel_experts *s, char *workspace)
{
    int64_t chunk = s->rows < CHUNK ? s->rows : CHUNK;
    struct room room = {.bytes = 0};

    room.order = take(workspace, &room.bytes, s->rows, sizeof(*room.order));
    room.ends = take(workspace, &room.bytes, s->experts + 1, sizeof(*room.ends));
    room.x = take(workspace, &room.bytes, chunk * s->k, sizeof(*room.x));
    room.y = take(workspace, &room.bytes, chunk * s->n, sizeof(*room.y));
    return room;
}

size_t kernel_experts_room(const struct kernel_experts *shape)
{
    return make_room(shape, NULL).bytes;
}

/* Sort rows by choice, in their order. */
static int order_rows(const struct room *room, const int64_t *chosen,
                      const struct kernel_experts *s)
{
    int64_t *ends = room->ends;

    memset(ends, 0, (size_t)(s->experts + 1) * sizeof(*ends));
    for (int64_t row = 0; row < s->rows; row++) {
        if (chosen[row] < 0 || chosen[row] >= s->experts)
            return -1;
        ends[chosen[row] + 1]++;
    }
    for (int64_t e = 0; e < s->experts; e++)
        ends[e + 1] += ends[e];
    for (int64_t row = 0; row < s->rows; row++)
        room->order[ends[chosen[row]]++] = row; /* where it begins becomes where it ends */
    return 0;
}

/* Rows [first, last) of those in order, all of the same choice. */
static void multiply(const struct kernel_experts_data *d, const struct kernel_experts *s,
                     const struct room *room, int64_t expert, int64_t first, int64_t last,
                     gemm_f32_fn *gemm)
{
    const float *w = (const float *)d->w + expert * s->k * s->n;
    const float *bias = d->bias ? (const float *)d->bias + expert * s->n : NULL;
    const float *x = (const float *)d->x + room->order[first] / s->each * s->k;
    float *y = (float *)d->y + room->order[first] * s->n;
    size_t x_bytes = (size_t)s->k * sizeof(*x), y_bytes = (size_t)s->n * sizeof(*y);
    struct kernel_gemm shape = {.m = last - first,
                                .n = s->n,
                                .k = s->k,
                                .alpha = 1.0f,
                                .beta = bias ? 1.0f : 0.0f,
                                .c_col_stride = 1};

    if (last - first == 1) {
        gemm(y, x, w, bias, &shape);
        return;
    }
    for (int64_t i = first; i < last; i++)
        memcpy(room->x + (i - first) * s->k, (const float *)d->x + room->order[i] / s->each * s->k,
               x_bytes);
    gemm(room->y, room->x, w, bias, &shape);
    for (int64_t i = first; i < last; i++)
        memcpy((float *)d->y + room->order[i] * s->n, room->y + (i - first) * s->n, y_bytes);
}

int experts_grouped(const struct kernel_experts_data *data, const struct kernel_experts *shape,
                    gemm_f32_fn *gemm)
{
    struct room room = make_room(shape, data->workspace);
    int64_t first = 0;

    if (shape->dtype != KERNEL_F32)
        return experts_ref(data, shape, gemm);
    if (order_rows(&room, data->chosen, shape) < 0)
        return -1;
    for (int64_t expert = 0; expert < shape->experts; expert++)
        for (int64_t last; first < room.ends[expert]; first = last) {
            last = room.ends[expert] - first < CHUNK ? room.ends[expert] : first + CHUNK;
            multiply(data, shape, &room, expert, first, last, gemm);
        }
    return 0;
}
