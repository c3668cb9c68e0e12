/* SPDX-License-Identifier: Apache-2.0 */
/* Costs per op of spans that are all there. */
#ifndef OPTRACE_TESTS_SUPPORT_SUM_SPANS_H
#define OPTRACE_TESTS_SUPPORT_SUM_SPANS_H

#include "analyze/query/ops_of_spans.h"

/** As ops_sums_finish(). */
static inline int sum_spans(struct spans_answer *spans, struct ops_answer *out_answer)
{
    struct ops_sums sums = {0};
    int rc = ops_sums_begin(spans, &sums);

    *out_answer = (struct ops_answer){0};
    if (rc == 0)
        rc = ops_sums_add(&sums, spans);
    if (rc == 0)
        rc = ops_sums_finish(&sums, spans, false, QUERY_MERGE_SESSIONS, out_answer);
    ops_sums_deinit(&sums);
    return rc;
}

#endif
