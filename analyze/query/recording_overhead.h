/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording cost the recorded program, from what liboptrace measured when it started
 * (schema/store/store.md, counters called "recording...."): of spans on threads and queues, which
 * the program's threads record; streams of devices are written by the device. Pure but for the
 * query, which is in recording_overhead.c.
 *
 * Nothing here is ever subtracted from other numbers.
 */
#ifndef OPTRACE_ANALYZE_QUERY_OVERHEAD_SUMS_H
#define OPTRACE_ANALYZE_QUERY_OVERHEAD_SUMS_H

#include "analyze/query/cover.h"

/* Of a span, begin and end, and what of that is within its self time. NaN: not known. */
struct recording_overhead_rate {
    double span_ns, empty_ns;
};

struct recording_overhead {
    /* Beside lanes; `counted` are those of spans with CPU counters, NaN without. */
    struct recording_overhead_rate *plain, *counted;
};

/** Give *out_overhead to recording_overhead_deinit() after any result. Errors as in query.h. */
int query_recording_overhead(struct store *store, const struct spans_answer *spans,
                             struct recording_overhead *out_overhead, struct diag *diag);
void recording_overhead_deinit(struct recording_overhead *costs);

/** The rate of a span; NaN on streams too. */
struct recording_overhead_rate recording_overhead_of(const struct recording_overhead *costs,
                                                     const struct spans_answer *spans,
                                                     const struct span *span);

/** Outside of its file, for tests. */
struct recording_overhead_sum {
    uint64_t span_count;    /* whose cost is known */
    uint64_t unknown_count; /* of threads and queues, where it is not */
    double cost_ns;
    double rate_ns; /* of the last ones, which are multiplied: so the order is of no matter */
    uint64_t rate_count;
    double before_ns;   /* of those before them */
    double recorded_ns; /* of the lanes of those whose cost is known: time in any span */
};

/** Over all spans, also those not shown. */
struct recording_overhead_sum recording_overhead_sum(const struct recording_overhead *costs,
                                                     const struct spans_answer *spans);

/** Over all spans of a part, also those not shown. */
void recording_overhead_add(const struct recording_overhead *costs,
                            const struct spans_answer *spans, struct recording_overhead_sum *sum);

/** The same of a whole session. Returns false where its totals do not tell. */
bool recording_overhead_of_cover(const struct recording_overhead *costs,
                                 const struct spans_answer *spans, const struct query_cover *cover,
                                 struct recording_overhead_sum *out_sum);

#endif
