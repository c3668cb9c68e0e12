/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of time: joined, compared, measured. */
#include "schema/store/cover.h"

#include <stdlib.h>

static int compare_starts(const void *a, const void *b)
{
    const struct cover_piece *left = a, *right = b;

    return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

void store_cover_join(struct cover_pieces *pieces, bool is_sorted)
{
    size_t kept = 0;

    if (!is_sorted && pieces->count)
        qsort(pieces->items, pieces->count, sizeof(*pieces->items), compare_starts);
    for (size_t i = 0; i < pieces->count; i++) {
        const struct cover_piece piece = pieces->items[i];
        struct cover_piece *last = kept ? &pieces->items[kept - 1] : NULL;

        if (piece.end_ns <= piece.start_ns)
            continue;
        if (!last || piece.start_ns > last->end_ns)
            pieces->items[kept++] = piece;
        else if (piece.end_ns > last->end_ns)
            last->end_ns = piece.end_ns;
    }
    pieces->count = kept;
}

int64_t store_cover_length(const struct cover_pieces *pieces)
{
    int64_t sum = 0;

    for (size_t i = 0; i < pieces->count; i++)
        sum += pieces->items[i].end_ns - pieces->items[i].start_ns;
    return sum;
}

int64_t store_cover_common(const struct cover_pieces *a, const struct cover_pieces *b)
{
    int64_t sum = 0;
    size_t i = 0, k = 0;

    while (i < a->count && k < b->count) {
        const struct cover_piece left = a->items[i], right = b->items[k];
        const int64_t from_ns = left.start_ns > right.start_ns ? left.start_ns : right.start_ns;
        const int64_t until_ns = left.end_ns < right.end_ns ? left.end_ns : right.end_ns;

        sum += until_ns > from_ns ? until_ns - from_ns : 0;
        i += left.end_ns <= right.end_ns;
        k += right.end_ns <= left.end_ns;
    }
    return sum;
}

/* From the last piece to the first, so that both lists fit in one. */
int store_cover_unite(struct cover_pieces *into, const struct cover_pieces *from)
{
    size_t left = into->count, right = from->count, at = left + right;

    if (!right)
        return 0;
    if (array_reserve(into, at) < 0)
        return -ENOMEM;
    into->count = at;
    while (right > 0) {
        if (left > 0 && into->items[left - 1].start_ns > from->items[right - 1].start_ns)
            into->items[--at] = into->items[--left];
        else
            into->items[--at] = from->items[--right];
    }
    store_cover_join(into, true);
    return 0;
}

int store_cover_move(struct cover_pieces *into, struct cover_pieces *from)
{
    struct cover_pieces empty = *into;

    if (into->count)
        return store_cover_unite(into, from);
    *into = *from;
    *from = empty;
    return 0;
}

void store_cover_empty(struct cover_lists *lists, size_t kept_max)
{
    for (int part = 0; part < COVER_PARTS; part++) {
        lists->of[part].count = 0;
        if (lists->of[part].capacity > kept_max)
            array_deinit(&lists->of[part]);
    }
}
