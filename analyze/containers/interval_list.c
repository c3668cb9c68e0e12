/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted lists of disjoint intervals. */
#include "analyze/containers/interval_list.h"
#include "base/sorted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_starts(const void *a, const void *b)
{
    const struct interval *left = a, *right = b;

    return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

/* Where those from `first` on that are in order end. */
static size_t find_stretch(const struct interval *items, size_t first, size_t count)
{
    size_t end = first + 1;

    while (end < count && items[end].start_ns >= items[end - 1].start_ns)
        end++;
    return end < count ? end : count;
}

/* Merges each two stretches that are in order. Returns how many there were at most. */
static size_t merge_stretches(const struct interval *from, size_t count, struct interval *into)
{
    size_t stretches = 0, at = 0;

    for (size_t first = 0; first < count; stretches += 2) {
        const size_t middle = find_stretch(from, first, count);
        const size_t end = middle < count ? find_stretch(from, middle, count) : count;
        size_t left = first, right = middle;

        while (left < middle && right < end)
            into[at++] = from[right].start_ns < from[left].start_ns ? from[right++] : from[left++];
        memcpy(into + at, from + left, (middle - left) * sizeof(*into));
        at += middle - left;
        memcpy(into + at, from + right, (end - right) * sizeof(*into));
        at += end - right;
        first = end;
    }
    return stretches;
}

/* Lanes are in order, one behind the other: there is little to merge, if anything. */
static void sort(struct interval_array *list)
{
    const size_t count = list->count;
    struct interval *items = list->items, *other;

    if (!count || find_stretch(items, 0, count) == count)
        return;
    other = malloc(count * sizeof(*other));
    if (!other) {
        qsort(items, count, sizeof(*items), compare_starts);
        return;
    }
    for (size_t stretches = 3; stretches > 2;) {
        struct interval *merged = other;

        stretches = merge_stretches(items, count, merged);
        other = items;
        items = merged;
    }
    if (items != list->items) {
        memcpy(list->items, items, count * sizeof(*items));
        other = items;
    }
    free(other);
}

/* The next one in order of starts, behind `count` that are joined; returns how many there are. */
static size_t append(struct interval *joined, size_t count, struct interval next)
{
    struct interval *last = count ? &joined[count - 1] : NULL;

    if (next.end_ns <= next.start_ns)
        return count;
    if (!last || next.start_ns > last->end_ns) {
        joined[count] = next;
        return count + 1;
    }
    if (next.end_ns > last->end_ns)
        last->end_ns = next.end_ns;
    return count;
}

void interval_list_join(struct interval_array *list)
{
    size_t kept = 0;

    sort(list);
    for (size_t i = 0; i < list->count; i++)
        kept = append(list->items, kept, list->items[i]);
    list->count = kept;
}

double interval_list_length(const struct interval_array *list)
{
    double length = 0;

    for (size_t i = 0; i < list->count; i++)
        length += (double)(list->items[i].end_ns - list->items[i].start_ns);
    return length;
}

double interval_list_common(const struct interval_array *a, const struct interval_array *b)
{
    double length = 0;

    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        const struct interval *left = &a->items[i], *right = &b->items[k];
        int64_t start = left->start_ns > right->start_ns ? left->start_ns : right->start_ns;
        int64_t end = left->end_ns < right->end_ns ? left->end_ns : right->end_ns;

        length += end > start ? (double)(end - start) : 0;
        if (left->end_ns < right->end_ns)
            i++;
        else
            k++;
    }
    return length;
}

bool interval_list_has(const struct interval_array *list, int64_t time_ns)
{
    size_t low = 0, high = list->count; /* the first that ends later */

    low = search_past(low, high, middle, list->items[middle].end_ns <= time_ns);
    return low < list->count && list->items[low].start_ns <= time_ns;
}

int interval_list_unite(struct interval_array *into, const struct interval_array *from)
{
    struct interval_array both = {0};
    size_t i = 0, k = 0;

    if (!from->count)
        return 0;
    if (array_reserve(&both, into->count + from->count) < 0)
        return -ENOMEM;
    if (!into->count) {
        memcpy(both.items, from->items, from->count * sizeof(*from->items));
        both.count = k = from->count;
    }
    while (i < into->count || k < from->count) {
        bool takes_from = i == into->count ||
                          (k < from->count && from->items[k].start_ns < into->items[i].start_ns);

        both.count = append(both.items, both.count, takes_from ? from->items[k] : into->items[i]);
        k += takes_from;
        i += !takes_from;
    }
    array_deinit(into);
    *into = both;
    return 0;
}
