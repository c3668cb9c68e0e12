/* SPDX-License-Identifier: Apache-2.0 */
/* There are few frames at a time, and what is asked for is of the last ones, mostly. */
#include "analyze/query/frame_times.h"

#include <errno.h>

static size_t find(const struct frame_times *times, const struct span *span)
{
    size_t place = times->count;

    while (place > 0 &&
           !span_is_at(&times->items[place - 1].span, span->lane, span->start_ns, span->dur_ns))
        place--;
    return place ? place - 1 : times->count;
}

int frame_times_add(struct frame_times *times, const struct span *span, int64_t ns,
                    size_t *out_place)
{
    const size_t place = find(times, span);

    if (place == times->count && array_push(times, ((struct frame_time){.span = *span})) < 0)
        return -ENOMEM;
    times->items[place].ns += ns;
    *out_place = place;
    return 0;
}

const struct frame_time *frame_times_find(const struct frame_times *times, const struct span *span)
{
    const size_t place = find(times, span);

    return place == times->count ? NULL : &times->items[place];
}
