/* SPDX-License-Identifier: Apache-2.0 */
/* Spans gathered lane by lane, in blocks: sorting them by lane afterwards would cost more than all
 * the rest. */
#ifndef OPTRACE_ANALYZE_QUERY_SPAN_BINS_H
#define OPTRACE_ANALYZE_QUERY_SPAN_BINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/query/spans.h"

struct span_block;

struct span_bin {
    struct span_block *first, *last;
};

struct span_bins {
    struct span_bin *bins; /* one for each lane */
    size_t lane_count;
    size_t count;             /* spans in all */
    struct span_block *spare; /* mapped, and used again */
};

/** Returns 0 or -ENOMEM; for span_bins_deinit() after either. */
int span_bins_init(struct span_bins *bins, size_t lane_count);
void span_bins_deinit(struct span_bins *bins);

/** A copy of the span goes to its lane. Returns 0 or -ENOMEM. */
int span_bins_add(struct span_bins *bins, const struct span *span);

/** Forgets all spans. */
void span_bins_clear(struct span_bins *bins);

/** Moves all spans behind those of answer->spans: by lane, those of a lane in the order they came
 *  in. There is never more than a block beside what is moved. Returns 0 or -ENOMEM. */
int span_bins_move(struct span_bins *bins, struct spans_answer *answer);

/**
 * The latest time until `limit_ns` that all spans are either before or behind, so that none lies in
 * another one of the other side, nor in one that comes later, which begins at limit_ns or after it.
 *
 * tries      how often to look at all spans, each time before what lies on both sides
 * out_count  how many begin before it
 *
 * Returns false where it was not found so soon.
 */
bool span_bins_find_cut(const struct span_bins *bins, int64_t limit_ns, int tries, int64_t *out_ns,
                        size_t *out_count);

/** As span_bins_move(), those that are before a cut, into answer->spans, which is empty. */
int span_bins_cut(struct span_bins *bins,
                  bool (*is_before)(const void *user, const struct span *span), const void *user,
                  struct spans_answer *answer);

/* The spans of a lane one after the other, as they came. */
struct span_cursor {
    const struct span_block *block;
    size_t next;
};
struct span_cursor span_bins_cursor(const struct span_bins *bins, size_t lane);
/** NULL behind the last. */
const struct span *span_cursor_next(struct span_cursor *cursor);

#endif
