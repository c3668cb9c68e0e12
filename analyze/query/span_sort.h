/* SPDX-License-Identifier: Apache-2.0 */
/* The order of spans, made in place. */
#ifndef OPTRACE_ANALYZE_QUERY_SPAN_SORT_H
#define OPTRACE_ANALYZE_QUERY_SPAN_SORT_H

#include "analyze/query/spans.h"

/**
 * Sorts by lane, start, the longer first, and of equal ones the later stored first, as the outer of
 * two spans ends later. Looks at lane, start_ns, dur_ns and order; lanes are below lane_count, and
 * orders rise.
 *
 * Beside the spans it needs 4 bytes for each, and 24 more (twice that for a moment) for each of the
 * longest lane whose spans were not stored in order.
 *
 * Returns 0 or -ENOMEM; then they are in any order.
 */
int span_sort(struct span *items, size_t count, size_t lane_count);

#endif
