/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CPU counters counted in each span, from the readings that liboptrace records at the times of
 * its start and end (schema/store/store.md, counters called "perf...."). Pure: no SQL, no printing.
 *
 * A span's total is the reading at its end less that at its start. Its own count is the total
 * without those of the ops nearest inside of it, labels and phases between them aside, as self
 * times are (span_own_ns()). A label has its whole total.
 */
#ifndef OPTRACE_ANALYZE_METRICS_SPAN_COUNTERS_H
#define OPTRACE_ANALYZE_METRICS_SPAN_COUNTERS_H

#include "analyze/query/spans.h"

enum span_counter {
    SPAN_INSTRUCTIONS,
    SPAN_CYCLES,
    SPAN_CACHE_MISSES,
    SPAN_BRANCH_MISSES,
    SPAN_PAGE_FAULTS,
    SPAN_CONTEXT_SWITCHES,
    SPAN_CPU_MIGRATIONS,
    SPAN_TASK_CLOCK,  /* ns */
    SPAN_UNSCHEDULED, /* ns for which the processor's counters were in other hands */
    SPAN_COUNTERS,
};

struct span_counters {
    double *totals[SPAN_COUNTERS]; /* beside spans; NaN: no reading at its start or its end; NULL:
                                      there is no such counter */
    double *owns[SPAN_COUNTERS];
    bool *is_read;     /* beside lanes: some counter was read on it */
    bool is_user_only; /* the processor's leave out what the kernel does: "perf.cycles:u" */
};

/** What the op of a counter is called: "perf.instructions". */
const char *span_counter_name(enum span_counter counter);

/** rows  by time, as query_counters() gives them. Returns 0 or -ENOMEM; give *out_counters to
 *  span_counters_deinit() after either. */
int span_counters_make(const struct spans_answer *spans, const struct counter_row_array *rows,
                       struct span_counters *out_counters);
void span_counters_deinit(struct span_counters *counters);

/** Of a counter of what a device counted in a kernel, "KERNEL METRIC" with params.metric, the
 * length of the kernel's name; 0: it is another counter. */
size_t kernel_counter_length(const struct op_row *op);

/** Whether any counter was read. */
bool span_counters_are_there(const struct span_counters *counters);

#endif
