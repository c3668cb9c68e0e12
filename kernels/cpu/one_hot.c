/* SPDX-License-Identifier: Apache-2.0 */
/* OneHot: a slice is filled with the one value, then the other is put where the indices say. */
#include <stdbool.h>

#include "kernels/cpu/fill.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

/* Bytes that are worth a second thread. */
enum { GRAIN_BYTES = 1 << 18 };

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

#define PUT(type)                                                                                  \
    do {                                                                                           \
        type *y = (type *)(void *)h->y + o * s->depth * s->inner;                                  \
        type on = ((const type *)(const void *)h->values)[1];                                      \
        int64_t depth;                                                                             \
                                                                                                   \
        for (int64_t i = 0; i < s->inner; i++)                                                     \
            if (find_depth(h, o * s->inner + i, &depth))                                           \
                y[depth * s->inner + i] = on;                                                      \
    } while (0)

static void one_hot_part(void *argument, int64_t begin, int64_t end)
{
    const struct one_hot *h = argument;
    const struct kernel_one_hot *s = h->shape;
    size_t slice = (size_t)(s->depth * s->inner) * s->element_bytes;

    for (int64_t o = begin; o < end; o++) {
        fill_run(h->y + (size_t)o * slice, h->values, s->element_bytes, slice);
        switch (s->element_bytes) {
        case 1:
            PUT(uint8_t);
            break;
        case 2:
            PUT(uint16_t);
            break;
        case 4:
            PUT(uint32_t);
            break;
        default:
            PUT(uint64_t);
            break;
        }
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
