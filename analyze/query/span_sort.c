/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A span is large, and recorded spans are nearly in order: first each goes to its lane, then only
 * lanes out of order are sorted, by keys of theirs.
 */
#include "analyze/query/span_sort.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"

/* Moves the item at each place i to targets[i]; consumes targets. */
static void permute(struct span *items, uint32_t *targets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        while (targets[i] != i) {
            uint32_t target = targets[i];
            struct span moved = items[i];

            items[i] = items[target];
            items[target] = moved;
            targets[i] = targets[target];
            targets[target] = target;
        }
    }
}

/* Keeps the order within each lane; only where lanes are out of order. */
static int sort_by_lane(struct span *items, size_t count, size_t lane_count, uint32_t *targets)
{
    uint32_t *next;
    uint32_t sum = 0;

    next = calloc(lane_count, sizeof(*next));
    if (!next)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        next[items[i].lane]++;
    for (size_t i = 0; i < lane_count; i++) {
        uint32_t in_lane = next[i];

        next[i] = sum;
        sum += in_lane;
    }
    for (size_t i = 0; i < count; i++)
        targets[i] = next[items[i].lane]++;
    permute(items, targets, count);
    free(next);
    return 0;
}

/* --- Within a lane. --- */

struct key {
    int64_t start_ns, dur_ns;
    uint32_t order, place;
};

static int compare_keys(const void *a, const void *b)
{
    const struct key *left = a, *right = b;

    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    if (left->dur_ns != right->dur_ns)
        return left->dur_ns > right->dur_ns ? -1 : 1;
    return (left->order < right->order) - (left->order > right->order);
}

static struct key key_of(const struct span *span, size_t place)
{
    return (struct key){span->start_ns, span->dur_ns, span->order, (uint32_t)place};
}

static bool is_sorted(const struct span *items, size_t count, bool *out_is_by_lane)
{
    bool is_sorted = true;

    *out_is_by_lane = true;
    for (size_t i = 1; i < count; i++) {
        struct key before = key_of(&items[i - 1], 0), after = key_of(&items[i], 0);

        *out_is_by_lane &= items[i].lane >= items[i - 1].lane;
        if (items[i].lane == items[i - 1].lane)
            is_sorted &= compare_keys(&before, &after) <= 0;
    }
    return is_sorted && *out_is_by_lane;
}

/* A span comes behind those that lie in it, else in order: each that is late goes to its place. False
 * where that would move more than some times what there is; keys are in another order then. */
static bool insert_late(struct key *keys, size_t count)
{
    enum { MOVES_PER_KEY = 32 };
    size_t left = count * MOVES_PER_KEY;

    for (size_t i = 1; i < count; i++) {
        const struct key key = keys[i];
        size_t to;

        if (compare_keys(&keys[i - 1], &key) <= 0)
            continue;
        to = search_past(0, i, place, compare_keys(&keys[place], &key) <= 0);
        if (i - to > left)
            return false;
        left -= i - to;
        memmove(&keys[to + 1], &keys[to], (i - to) * sizeof(*keys));
        keys[to] = key;
    }
    return true;
}

static int sort_lane(struct span *items, size_t count, uint32_t *targets)
{
    struct key *keys;
    bool is_by_lane;

    if (is_sorted(items, count, &is_by_lane))
        return 0;
    keys = malloc(count * sizeof(*keys));
    if (!keys)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        keys[i] = key_of(&items[i], i);
    if (!insert_late(keys, count))
        qsort(keys, count, sizeof(*keys), compare_keys);
    for (size_t i = 0; i < count; i++)
        targets[keys[i].place] = (uint32_t)i;
    free(keys);
    permute(items, targets, count);
    return 0;
}

int span_sort(struct span *items, size_t count, size_t lane_count)
{
    uint32_t *targets;
    bool is_by_lane;
    int rc;

    if (is_sorted(items, count, &is_by_lane))
        return 0;
    targets = malloc(count * sizeof(*targets));
    if (!targets)
        return -ENOMEM;
    rc = is_by_lane ? 0 : sort_by_lane(items, count, lane_count, targets);
    for (size_t first = 0, end; first < count && rc == 0; first = end) {
        for (end = first + 1; end < count && items[end].lane == items[first].lane;)
            end++;
        rc = sort_lane(items + first, end - first, targets);
    }
    free(targets);
    return rc;
}
