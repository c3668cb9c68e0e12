/* SPDX-License-Identifier: Apache-2.0 */
/* Order, nesting and launches of spans that have been gathered in any order. Pure. */
#ifndef OPTRACE_ANALYZE_QUERY_SPAN_TREE_H
#define OPTRACE_ANALYZE_QUERY_SPAN_TREE_H

#include "analyze/query/spans.h"

/**
 * Sorts answer->spans as spans.h says and fills in ranges, parent, depth, self_ns, own_ns,
 * launch, next, start_ns, end_ns and clipped_count. Of each span start_ns, dur_ns, correlation, op,
 * lane, run and order are set before; ops, op_kinds and lanes are complete.
 *
 * is_flat  nothing nests
 *
 * Returns 0 or -ENOMEM.
 */
int span_tree_build(struct spans_answer *answer, bool is_flat);

/** Frees what span_tree_build() allocated: ranges and own_ns. */
void span_tree_deinit(struct spans_answer *answer);

/** The innermost span of a lane at a time, or SPAN_NONE. */
uint32_t span_at(const struct spans_answer *spans, uint32_t lane, int64_t time_ns);

#endif
