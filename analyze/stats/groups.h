/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that fall into groups, and what can be said of each group: {0}, groups_find() and
 * groups_add() in any order, groups_summarize(), groups_deinit(). One thread.
 */
#ifndef OPTRACE_ANALYZE_STATS_GROUPS_H
#define OPTRACE_ANALYZE_STATS_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/containers/place_map.h"
#include "base/array.h"

enum { GROUP_BLOCK = 1 << 14 };

/* Values as they came: twelve bytes each, which never move. */
struct group_block {
    double values[GROUP_BLOCK];
    uint32_t groups[GROUP_BLOCK];
};

struct groups {
    struct place_map map;
    ARRAY_OF(struct group_block *) blocks; /* the last of them may have room */
    size_t value_count;
    uint32_t count; /* groups are 0 .. count - 1, in the order of their first groups_find() */
};

/* Of all values of a group; NaN where there is none. */
struct group_summary {
    uint64_t count;
    double sum, mean, min, max;
    double median;        /* the middle value, or the mean of the two in the middle */
    double stddev;        /* of a sample, over count - 1; NaN for a single value */
    double p50, p90, p99; /* nearest rank */
};

/** The group of a key, made when it is new. Returns 1 when it was made, 0 when it was there, or
 *  -ENOMEM. */
int groups_find(struct groups *groups, struct place_key key, uint32_t *out_group);

/** NaN does not count. Returns 0 or -ENOMEM. */
int groups_add(struct groups *groups, uint32_t group, double value);

/** One summary for each group; the caller frees *out_summaries. The values are gone then. Returns 0
 *  or -ENOMEM. */
int groups_summarize(struct groups *groups, struct group_summary **out_summaries);

void groups_deinit(struct groups *groups);

/** Adds a text to a key; NULL is another one than "". */
void groups_add_text(struct place_key *key, const char *text);

#endif
