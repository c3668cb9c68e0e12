/* SPDX-License-Identifier: Apache-2.0 */
/* Which spans a report shows. */
#ifndef OPTRACE_ANALYZE_SPAN_FILTER_H
#define OPTRACE_ANALYZE_SPAN_FILTER_H

#include "analyze/filter.h"
#include "analyze/spans.h"

/**
 * Sets is_shown of every span: its op passes (filter_passes_op()), its lane and device pass, and,
 * where a label is asked for, it is or lies in a span of such a label; a device span also when its
 * launch does. Bounds on time are the report's business, as they are about its lines. Returns 0 or
 * -ENOMEM.
 */
int span_filter(struct spans_answer *answer, struct filter *filter);

#endif
