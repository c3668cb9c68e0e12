/* SPDX-License-Identifier: Apache-2.0 */
/* Spans gathered lane by lane, in blocks: sorting them by lane afterwards would cost more than all
 * the rest. */
#ifndef OPTRACE_ANALYZE_QUERY_SPAN_BINS_H
#define OPTRACE_ANALYZE_QUERY_SPAN_BINS_H

#include "analyze/query/spans.h"

struct span_block;

struct span_bin {
    struct span_block *first, *last;
};

struct span_bins {
    struct span_bin *bins; /* one for each lane */
    size_t lane_count;
    size_t count; /* spans in all */
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

#endif
