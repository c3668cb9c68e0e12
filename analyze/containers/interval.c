/* SPDX-License-Identifier: Apache-2.0 */
/* Union of intervals: new ones are gathered, sorted and merged into the end of a sorted list. */
#include "analyze/containers/interval.h"
#include "base/sorted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_starts(const void *a, const void *b)
{
    const struct interval *left = a, *right = b;

    return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

/* Lanes are written in order, so that most often there is nothing to sort; where several are written
 * by turns, each that is late goes back by some places. */
static void sort_pending(struct interval_array *pending)
{
    enum { MOVES_PER_ITEM = 8 };
    size_t moves = pending->count * MOVES_PER_ITEM;

    for (size_t i = 1; i < pending->count; i++) {
        const struct interval late = pending->items[i];
        size_t to = i;

        for (; to > 0 && moves > 0 && late.start_ns < pending->items[to - 1].start_ns;
             to--, moves--)
            pending->items[to] = pending->items[to - 1];
        pending->items[to] = late;
        if (!moves) {
            qsort(pending->items, pending->count, sizeof(*pending->items), compare_starts);
            return;
        }
    }
}

/* Room was reserved; `next` does not start before the last one. */
static void append_merged(struct interval_array *list, struct interval next)
{
    struct interval *last = list->count ? &list->items[list->count - 1] : NULL;

    if (last && next.start_ns <= last->end_ns) {
        if (next.end_ns > last->end_ns)
            last->end_ns = next.end_ns;
    } else {
        list->items[list->count++] = next;
    }
}

/* The first kept interval that a new one from `start_ns` on could touch. */
static size_t first_touched(const struct interval_array *kept, int64_t start_ns)
{
    return search_past(0, kept->count, i, kept->items[i].end_ns < start_ns);
}

static void fold_older_half(struct interval_union *set)
{
    size_t folded = set->kept.count / 2;

    for (size_t i = 0; i < folded; i++)
        set->folded_ns += set->kept.items[i].end_ns - set->kept.items[i].start_ns;
    set->folded_until = set->kept.items[folded - 1].end_ns;
    set->has_folded = true;
    set->kept.count -= folded;
    memmove(set->kept.items, set->kept.items + folded, set->kept.count * sizeof(*set->kept.items));
}

static int merge_pending(struct interval_union *set)
{
    struct interval_array *kept = &set->kept, *pending = &set->pending, *tail = &set->scratch;
    size_t from, i = 0, k = 0;

    if (!pending->count)
        return 0;
    sort_pending(pending);
    from = first_touched(kept, pending->items[0].start_ns);
    tail->count = 0;
    if (array_reserve(tail, kept->count - from) < 0 ||
        array_reserve(kept, kept->count + pending->count) < 0)
        return -ENOMEM;
    tail->count = kept->count - from;
    if (tail->count)
        memcpy(tail->items, kept->items + from, tail->count * sizeof(*tail->items));
    kept->count = from;
    while (i < tail->count || k < pending->count) {
        if (k == pending->count ||
            (i < tail->count && tail->items[i].start_ns <= pending->items[k].start_ns))
            append_merged(kept, tail->items[i++]);
        else
            append_merged(kept, pending->items[k++]);
    }
    pending->count = 0;
    if (kept->count > INTERVAL_KEPT_MAX)
        fold_older_half(set);
    return 0;
}

int interval_add(struct interval_union *set, int64_t start_ns, int64_t end_ns)
{
    if (set->has_folded && start_ns < set->folded_until) {
        start_ns = set->folded_until;
        set->late_count++;
    }
    if (start_ns >= end_ns)
        return 0;
    if (set->pending.count == INTERVAL_PENDING_MAX) {
        int rc = merge_pending(set);

        if (rc < 0)
            return rc;
    }
    return array_push(&set->pending, ((struct interval){start_ns, end_ns}));
}

int interval_total(struct interval_union *set, int64_t *out_ns)
{
    int64_t total = 0;
    int rc = merge_pending(set);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < set->kept.count; i++)
        total += set->kept.items[i].end_ns - set->kept.items[i].start_ns;
    *out_ns = total + set->folded_ns;
    return 0;
}

void interval_deinit(struct interval_union *set)
{
    array_deinit(&set->pending);
    array_deinit(&set->kept);
    array_deinit(&set->scratch);
    *set = (struct interval_union){0};
}
