/* SPDX-License-Identifier: Apache-2.0 */
/* How busy threads, streams and queues were with operators, and their gaps. Pure: no SQL. */
#ifndef OPTRACE_ANALYZE_METRICS_LANE_BUSY_H
#define OPTRACE_ANALYZE_METRICS_LANE_BUSY_H

#include "analyze/query/lane_use.h"

struct lane_busy {
    struct lane_use use; /* of all operators, also those not shown; the rest is of those shown */
    uint64_t span_count; /* calls */
    uint64_t op_count;   /* operators that were called */
    uint64_t gap_count;  /* times without one between two */
    int64_t busy_ns;     /* what nests or overlaps counts once */
    int64_t longest_gap_ns;
};

/* Spans in parts (query_span_parts()): NULL at first, lane_busy_begin(), lane_busy_add() with each
 * part, lane_busy_finish(); lane_busy_drop() after any of them. These return 0 or -ENOMEM. */
struct lane_busy_parts;
int lane_busy_begin(const struct spans_answer *spans, struct lane_busy_parts **out_parts);
int lane_busy_add(struct lane_busy_parts *parts, const struct spans_answer *spans);

/** Beside spans->lanes; the parts' own. */
const struct lane_busy *lane_busy_finish(struct lane_busy_parts *parts,
                                         const struct spans_answer *spans);
void lane_busy_drop(struct lane_busy_parts **parts);

#endif
