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
    do {                                                                                           \
        for (int64_t at = begin; at < end; at++) {                                                 \
            const size_t o = (size_t)at / s->index_count;                                          \
            int64_t index = p->indices[(size_t)at % s->index_count];                               \
                                                                                                   \
            if (index < 0)                                                                         \
                index += (int64_t)s->axis;                                                         \
            memcpy(p->y + (size_t)at * (bytes), p->x + (o * s->axis + (size_t)index) * (bytes),    \
                   bytes);                                                                         \
        }                                                                                          \
    } while (0)

static void pick(void *argument, int64_t begin, int64_t end)
{
    const struct picking *p = argument;
    const struct kernel_gather *s = p->shape;

    if (s->inner_bytes == 4)
        PICK(4);
    else if (s->inner_bytes == 8)
        PICK(8);
    else
        PICK(s->inner_bytes);
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
    if (shape->inner_bytes > 0)
        team_for((int64_t)(shape->outer * shape->index_count),
                 GRAIN / (int64_t)shape->inner_bytes + 1, pick, &p);
    return 0;
}
