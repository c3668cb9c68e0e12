/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The length of a union of time intervals that come one by one, roughly in order, possibly by the
 * million: {0}, interval_add() for each, interval_total(), interval_deinit(). One thread.
 *
 * Memory stays bounded: what lies more than INTERVAL_KEPT_MAX disjoint intervals back is folded
 * into a sum. An interval that comes later and reaches back behind that point is cut there and
 * counted in `late_count`; while that is 0 the total is exact.
 */
#ifndef OPTRACE_ANALYZE_CONTAINERS_INTERVAL_H
#define OPTRACE_ANALYZE_CONTAINERS_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

enum {
    INTERVAL_PENDING_MAX = 4096,
    INTERVAL_KEPT_MAX = 1 << 20,
};

struct interval {
    int64_t start_ns, end_ns;
};

struct interval_array ARRAY_FIELDS(struct interval);

struct interval_union {
    struct interval_array pending; /* in the order they came */
    struct interval_array kept;    /* disjoint, sorted */
    struct interval_array scratch;
    int64_t folded_ns;    /* length of what was folded */
    int64_t folded_until; /* all of it ends at or before this time */
    bool has_folded;
    uint64_t late_count;
};

/** Empty and inverted intervals add nothing. Returns 0 or -ENOMEM. */
int interval_add(struct interval_union *set, int64_t start_ns, int64_t end_ns);

/** Length of the union of all that was added, in ns. Returns 0 or -ENOMEM. */
int interval_total(struct interval_union *set, int64_t *out_ns);

void interval_deinit(struct interval_union *set);

#endif
