/* SPDX-License-Identifier: Apache-2.0 */
/* Types that are stored only: there are few numbers of each, which are worked out once. */
#include <string.h>

#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum { CODES = 256, GRAIN = 1 << 14 };

struct widening {
    char *y;
    const uint8_t *x;
    size_t bytes;
    char table[CODES * sizeof(double)];
};

static void widen(void *argument, int64_t begin, int64_t end)
{
    const struct widening *w = argument;

    for (int64_t i = begin; i < end; i++)
        memcpy(w->y + (size_t)i * w->bytes, w->table + w->x[i] * w->bytes, w->bytes);
}

void cast_small_portable(void *y, const void *x, size_t count,
                         const struct kernel_cast_small *shape)
{
    struct widening w = {.y = y, .x = x, .bytes = kernel_dtype_bytes(shape->to)};
    uint8_t codes[CODES];

    if (shape->from < KERNEL_DTYPES || count < 2 * CODES) {
        cast_small_ref(y, x, count, shape);
        return;
    }
    for (int i = 0; i < CODES; i++)
        codes[i] = (uint8_t)i;
    cast_small_ref(w.table, codes, CODES, shape);
    team_for((int64_t)count, GRAIN, widen, &w);
}
