/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets by size: the largest first. A tree finds what lives at the same time. */
#include "runtime/exec/plan_place.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* What is placed, by when it lives: a tree over the items in the order of their first steps. */
struct living {
    const struct item *items;
    const uint32_t *by_first;
    uint32_t count;
    uint32_t leaves;           /* a power of two */
    uint32_t *ends;            /* by node of the tree, 1 is the root: behind the latest last step of
                                  what is placed below it; 0: nothing is */
    const struct item **found; /* by a search */
    uint32_t found_count;
};

/* Items by their first or last step. */
struct orders {
    uint32_t *by_first, *by_last;
    uint64_t pairs; /* of items that live at the same time */
};

static int by_size(const void *left, const void *right)
{
    const struct item *a = *(const struct item *const *)left;
    const struct item *b = *(const struct item *const *)right;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a < b ? -1 : a > b;
}

static int by_offset(const void *left, const void *right)
{
    size_t a = *(*(const struct item *const *)left)->offset;
    size_t b = *(*(const struct item *const *)right)->offset;

    return a < b ? -1 : a > b;
}

static void sort_by_offset(const struct item **found, uint32_t count)
{
    if (count > 32) {
        qsort(found, count, sizeof(struct item *), by_offset);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        const struct item *moved = found[i];
        uint32_t at = i;

        for (; at > 0 && *found[at - 1]->offset > *moved->offset; at--)
            found[at] = found[at - 1];
        found[at] = moved;
    }
}

/* Sorted by counting. before: room for all steps and 1, zeros; afterwards by step how many items have
 * theirs before it. */
static void sort_by_step(const struct item *items, uint32_t count, bool is_last, uint32_t steps,
                         uint32_t *before, uint32_t *sorted)
{
    for (uint32_t i = 0; i < count; i++)
        before[(is_last ? items[i].life.last : items[i].life.first) + 1]++;
    for (uint32_t i = 1; i <= steps; i++)
        before[i] += before[i - 1];
    for (uint32_t i = 0; i < count; i++)
        sorted[before[is_last ? items[i].life.last : items[i].life.first]++] = i;
    /* Each step's number is now the next one's. */
    for (uint32_t i = steps; i > 0; i--)
        before[i] = before[i - 1];
    before[0] = 0;
}

static int find_orders(const struct item *items, uint32_t count, struct orders *orders)
{
    uint32_t steps = 0;
    uint32_t *firsts, *lasts;
    uint64_t pairs = 0;

    for (uint32_t i = 0; i < count; i++)
        if (items[i].life.last >= steps)
            steps = items[i].life.last + 1;
    orders->by_first = calloc(count, sizeof(*orders->by_first));
    orders->by_last = calloc(count, sizeof(*orders->by_last));
    firsts = calloc((size_t)steps + 1, sizeof(*firsts));
    lasts = calloc((size_t)steps + 1, sizeof(*lasts));
    if (orders->by_first && orders->by_last && firsts && lasts) {
        sort_by_step(items, count, false, steps, firsts, orders->by_first);
        sort_by_step(items, count, true, steps, lasts, orders->by_last);
        /* Those that begin before it ends, less those that end before it begins, and itself. */
        for (uint32_t i = 0; i < count; i++)
            pairs += firsts[items[i].life.last + 1] - lasts[items[i].life.first] - 1;
        orders->pairs = pairs / 2;
    }
    free(firsts);
    free(lasts);
    return firsts && lasts && orders->by_first && orders->by_last ? 0 : -ENOMEM;
}

/* Those of the node's items that live in some step of `life`: of them, the leaves from `at` on. */
static void find_below(struct living *living, struct lifetime life, uint32_t node, uint32_t at,
                       uint32_t leaves)
{
    const struct item *item;

    if (living->ends[node] <= life.first || at >= living->count ||
        living->items[living->by_first[at]].life.first > life.last)
        return;
    if (leaves == 1) {
        item = &living->items[living->by_first[at]];
        living->found[living->found_count++] = item;
        return;
    }
    find_below(living, life, node * 2, at, leaves / 2);
    find_below(living, life, node * 2 + 1, at + leaves / 2, leaves / 2);
}

/* place: of the item in the order of first steps. */
static void add_living(struct living *living, uint32_t place, uint32_t last)
{
    for (uint32_t node = living->leaves + place; node > 0; node /= 2)
        if (living->ends[node] <= last)
            living->ends[node] = last + 1;
}

/* The smallest gap between the placed items that live at the same time. Failing that, behind the
 * last of them. */
static size_t best_gap(struct living *living, const struct item *item)
{
    size_t end = 0, best = 0, best_bytes = SIZE_MAX;

    living->found_count = 0;
    find_below(living, item->life, 1, 0, living->leaves);
    sort_by_offset(living->found, living->found_count);
    for (uint32_t i = 0; i < living->found_count; i++) {
        const struct item *other = living->found[i];
        size_t begin = *other->offset;

        if (begin > end && begin - end >= item->bytes && begin - end < best_bytes) {
            best = end;
            best_bytes = begin - end;
        }
        if (begin + other->bytes > end)
            end = begin + other->bytes;
    }
    return best_bytes == SIZE_MAX ? end : best;
}

/* Largest first: the small ones then fill the gaps. */
static int place_by_size(const struct item *items, const uint32_t *by_first, uint32_t count,
                         size_t *out_bytes)
{
    struct living living = {items, by_first, count, 1, NULL, NULL, 0};
    const struct item **sorted = calloc(count, sizeof(*sorted));
    uint32_t *places = calloc(count, sizeof(*places));
    int rc = -ENOMEM;

    while (living.leaves < count)
        living.leaves *= 2;
    living.ends = calloc((size_t)living.leaves * 2, sizeof(*living.ends));
    living.found = calloc(count, sizeof(*living.found));
    if (sorted && places && living.ends && living.found) {
        for (uint32_t i = 0; i < count; i++) {
            sorted[i] = &items[i];
            places[by_first[i]] = i;
        }
        qsort(sorted, count, sizeof(*sorted), by_size);
        for (uint32_t i = 0; i < count; i++) {
            size_t offset = best_gap(&living, sorted[i]);

            *sorted[i]->offset = offset;
            if (offset + sorted[i]->bytes > *out_bytes)
                *out_bytes = offset + sorted[i]->bytes;
            add_living(&living, places[sorted[i] - items], sorted[i]->life.last);
        }
        rc = 0;
    }
    free(sorted);
    free(places);
    free(living.ends);
    free(living.found);
    return rc;
}

int plan_place(const struct item *items, uint32_t count, uint64_t pairs_max, size_t *out_bytes)
{
    struct orders orders = {0};
    int rc;

    *out_bytes = 0;
    if (count == 0)
        return 0;
    rc = find_orders(items, count, &orders);
    if (rc == 0)
        rc = orders.pairs > pairs_max
                 ? plan_place_by_time(items, orders.by_first, orders.by_last, count, out_bytes)
                 : place_by_size(items, orders.by_first, count, out_bytes);
    free(orders.by_first);
    free(orders.by_last);
    return rc;
}
