/* SPDX-License-Identifier: Apache-2.0 */
/* Costs per op of chosen spans. */
#ifndef OPTRACE_ANALYZE_QUERY_OPS_OF_SPANS_H
#define OPTRACE_ANALYZE_QUERY_OPS_OF_SPANS_H

#include "analyze/query/spans.h"

/* Sums up the spans whose is_shown is set, of one part or of several (query_span_parts()), as query_ops()
 * does all of them; totals are those of these spans. Where only some calls of an op say when their
 * kernels began, kern and exec are of these calls.
 *
 *     {0}; ops_sums_begin(); ops_sums_add() with each part; ops_sums_finish() once; ops_sums_deinit()
 *     after any of them */
struct ops_sums {
    struct op_cost (*costs)[OP_SIDES]; /* by op */
    struct op_durations *durations;    /* by op */
    size_t op_count;
    bool without_percentiles; /* input: nobody asks for them, and they are NaN */
};

/** Return 0 or -ENOMEM. */
int ops_sums_begin(const struct spans_answer *spans, struct ops_sums *sums);
int ops_sums_add(struct ops_sums *sums, const struct spans_answer *spans);

/**
 * spans   gives its ops, basis and texts away, and is good for spans_answer_deinit() only then; has no
 *         spans where they came in parts
 * labels  rows for labels too
 *
 * Rows of several sessions that are the same op become one. Returns 0 or -ENOMEM; *out_answer is
 * for ops_answer_deinit() after either.
 */
int ops_sums_finish(struct ops_sums *sums, struct spans_answer *spans, bool labels,
                    enum query_merge merge, struct ops_answer *out_answer);
void ops_sums_deinit(struct ops_sums *sums);

#endif
