/* SPDX-License-Identifier: Apache-2.0 */
/* Picking slices by index: indices are looked at first, so that threads share the slices alone. */
#include <string.h>

#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum { GRAIN = 1 << 17 }; /* bytes that are worth a second thread */

struct picking {
    char *y;
    const char *x;
    const int64_t *indices;
    const struct kernel_gather *shape;
};

/* Slices [begin, end) of y. A copy of known size is a load and a store. */
#define PICK(bytes)                                                                                \
    for (int64_t at = begin; at < end; x += s->axis * (bytes)) {                                   \
        int64_t last = first + end - at < count ? first + end - at : count;                        \
                                                                                                   \
        for (int64_t i = first; i < last; i++, at++) {                                             \
            int64_t index = p->indices[i];                                                         \
                                                                                                   \
            index += index < 0 ? (int64_t)s->axis : 0;                                             \
            memcpy(p->y + (size_t)at * (bytes), x + (size_t)index * (bytes), bytes);               \
        }                                                                                          \
        first = 0;                                                                                 \
    }

static void pick(void *argument, int64_t begin, int64_t end)
{
    const struct picking *p = argument;
    const struct kernel_gather *s = p->shape;
    const int64_t count = (int64_t)s->index_count;
    const char *x = p->x + (size_t)(begin / count) * s->axis * s->inner_bytes;
    int64_t first = begin % count;

    switch (s->inner_bytes) {
    case 1:
        PICK(1)
        break;
    case 2:
        PICK(2)
        break;
    case 4:
        PICK(4)
        break;
    case 8:
        PICK(8)
        break;
    default:
        PICK(s->inner_bytes)
        break;
    }
}

int gather_portable(void *y, const void *x, const int64_t *indices,
                    const struct kernel_gather *shape)
{
    struct picking p = {y, x, indices, shape};
    const int64_t axis = (int64_t)shape->axis;
    int is_outside = 0;

    if (shape->outer == 0)
        return 0;
    for (size_t i = 0; i < shape->index_count; i++)
        is_outside |= indices[i] < -axis || indices[i] >= axis;
    if (is_outside)
        return -1;
    if (shape->inner_bytes > 0 && shape->index_count > 0)
        team_for((int64_t)(shape->outer * shape->index_count),
                 GRAIN / (int64_t)shape->inner_bytes + 1, pick, &p);
    return 0;
}
