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

#endif
