/* SPDX-License-Identifier: Apache-2.0 */
/* What is alive over time, in equal parts of the recorded time: all of it, and by who took it. */
#ifndef OPTRACE_ANALYZE_REPORTS_MEMORY_CURVE_H
#define OPTRACE_ANALYZE_REPORTS_MEMORY_CURVE_H

#include "analyze/reports/memory_view.h"

/** The highest sum of a pool in each of `count` equal parts of the time from the first memory event
 *  to the last. */
void memory_curve_fill(const struct memory_view *view, uint32_t pool, int64_t *bins, size_t count);

/* The names that a curve tells apart, and what all others hold. */
enum { MEMORY_GROUPS_MAX = 8 };

struct memory_groups {
    const char *names[MEMORY_GROUPS_MAX]; /* of lines, borrowed from the view, those that hold most
                                             first; NULL: not known */
    size_t count;                         /* of names */
    bool has_others;                      /* group `count` is all other lines together */
    size_t bin_count;
    int64_t *bytes; /* bin_count * (count + has_others): the groups of a bin side by side */
};

/**
 * The same curve by name: of each part of the time what the lines of a name hold at the moment of
 * the highest sum (the first one), so that the groups of a part add up to memory_curve_fill()'s.
 * Told apart are the names that hold most over all parts.
 *
 * Returns 0 or -ENOMEM; for memory_groups_deinit() after either.
 */
int memory_groups_init(struct memory_groups *out_groups, const struct memory_view *view,
                       uint32_t pool, size_t bin_count);
void memory_groups_deinit(struct memory_groups *groups);

#endif
