/* SPDX-License-Identifier: Apache-2.0 */
/* Which spans a report shows. */
#ifndef OPTRACE_ANALYZE_QUERY_SPAN_FILTER_H
#define OPTRACE_ANALYZE_QUERY_SPAN_FILTER_H

#include "analyze/query/filter.h"
#include "analyze/query/spans.h"

/**
 * Sets is_shown of every span: its op passes (filter_passes_op()), its lane and device pass, and,
 * where a label is asked for, it is or lies in a span of such a label; a device span also when its
 * launch does, and what autograd runs on a thread of its own when it runs while the label is open
 * on a thread that is in no op: the one that called backward() and waits. Bounds on time are the
 * report's business, as they are about its lines. Returns 0 or -ENOMEM.
 */
int span_filter(struct spans_answer *answer, struct filter *filter);

/* The same of spans in parts (query_span_parts()): {0}, span_filter_begin(), span_filter_add() with
 * each part, span_filter_finish(); span_filter_deinit() after any of them. */
struct span_filter_lane {
    bool has_scope;      /* a label that was asked for is on it */
    int64_t backward_ns; /* of what autograd ran there outside of such labels */
};

struct span_filter_parts {
    struct filter *filter;
    /* By op: names are matched once, not for every span. */
    bool *op_passes;
    bool *is_label; /* it is one of the labels asked for */
    bool *is_backward;
    bool looks_at_lanes, by_labels;
    struct span_filter_lane *lanes;
    size_t lane_count;
    bool has_forward; /* operators are shown that are not autograd's */
};

/** Returns 0 or -ENOMEM; what was added before is forgotten. */
int span_filter_begin(struct span_filter_parts *parts, const struct spans_answer *spans,
                      struct filter *filter);
/** Likewise; sets is_shown of this part's spans. */
int span_filter_add(struct span_filter_parts *parts, struct spans_answer *part);
/** Sets is_shown of those that never ended, and what the basis says of labels. */
void span_filter_finish(struct span_filter_parts *parts, struct spans_answer *answer);
void span_filter_deinit(struct span_filter_parts *parts);

#endif
