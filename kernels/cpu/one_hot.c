/* SPDX-License-Identifier: Apache-2.0 */
/* OneHot: slices are filled with the one value, then the other is put where the indices say. */
#include <stdbool.h>

#include "kernels/cpu/fill.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    GRAIN_BYTES = 1 << 18, /* that are worth a second thread */
    FILLED = 1 << 13,      /* bytes that are filled before something is put among them */
};

struct one_hot {
    char *y;
    const char *indices, *values;
    const struct kernel_one_hot *shape;
};

/* Where index i of the type points to; false: nowhere. */
static inline bool find_depth(const struct one_hot *h, int64_t i, int64_t *out_depth)
{
    int64_t depth = h->shape->depth, index;

    if (h->shape->index_type == KERNEL_I64) {
        index = ((const int64_t *)(const void *)h->indices)[i];
    } else if (h->shape->index_type == KERNEL_I32) {
        index = ((const int32_t *)(const void *)h->indices)[i];
    } else {
        float real = ((const float *)(const void *)h->indices)[i];

        /* Beyond what int64 has, and NaN, is nowhere; no depth is near that. */
        if (!(real > -0x1p62f && real < 0x1p62f))
            return false;
        index = (int64_t)real;
    }
    if (index < -depth || index >= depth)
        return false;
    *out_depth = index < 0 ? index + depth : index;
    return true;
}

/* Slices [begin, end). */
#define PUT(type)                                                                                  \
    for (int64_t o = begin; o < end; o++) {                                                        \
        type *y = (type *)(void *)h->y + o * s->depth * s->inner;                                  \
        type on = ((const type *)(const void *)h->values)[1];                                      \
        int64_t depth;                                                                             \
                                                                                                   \
        for (int64_t i = 0; i < s->inner; i++)                                                     \
            if (find_depth(h, o * s->inner + i, &depth))                                           \
                y[depth * s->inner + i] = on;                                                      \
    }

static void put(const struct one_hot *h, int64_t begin, int64_t end)
{
    const struct kernel_one_hot *s = h->shape;

    switch (s->element_bytes) {
    case 1:
        PUT(uint8_t)
        break;
    case 2:
        PUT(uint16_t)
        break;
    case 4:
        PUT(uint32_t)
        break;
    default:
        PUT(uint64_t)
        break;
    }
}

/* Some slices are filled at once, as many as stay in a cache. */
static void one_hot_part(void *argument, int64_t begin, int64_t end)
{
    const struct one_hot *h = argument;
    const struct kernel_one_hot *s = h->shape;
    int64_t slice = s->depth * s->inner * (int64_t)s->element_bytes;
    int64_t some = slice < FILLED ? FILLED / slice : 1;

    for (; begin < end; begin += some) {
        int64_t last = end - begin < some ? end : begin + some;

        fill_run(h->y + begin * slice, h->values, s->element_bytes,
                 (size_t)((last - begin) * slice));
        put(h, begin, last);
    }
}

void one_hot_portable(void *y, const void *indices, const void *values,
                      const struct kernel_one_hot *shape)
{
    struct one_hot h = {y, indices, values, shape};
    int64_t slice = shape->depth * shape->inner * (int64_t)shape->element_bytes;

    if (slice == 0)
        return;
    if (shape->index_type != KERNEL_I64 && shape->index_type != KERNEL_I32 &&
        shape->index_type != KERNEL_F32)
        one_hot_ref(y, indices, values, shape);
    else
        team_for(shape->outer, GRAIN_BYTES / slice + 1, one_hot_part, &h);
}
