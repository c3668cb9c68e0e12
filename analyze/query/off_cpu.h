/* SPDX-License-Identifier: Apache-2.0 */
/* For which share of a run its threads were off the CPU, where their CPU time was recorded (the counter
 * "perf.task-clock_ns", OPTRACE_COUNTERS=task-clock, load_and_run --counters). */
#ifndef OPTRACE_ANALYZE_QUERY_OFF_CPU_H
#define OPTRACE_ANALYZE_QUERY_OFF_CPU_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/diag.h"
#include "schema/store/store.h"

struct off_cpu_share {
    int64_t session_id, run; /* the number counts from 1 */
    double share;            /* 1 - CPU time / time, from its first reading to its last; >= 0 */
};
struct off_cpu_shares ARRAY_FIELDS(struct off_cpu_share);

/** Adds those of sessions by session id and run, in one pass over the store; give the array to
 *  array_deinit() after failures, too. */
int query_off_cpu(struct store *store, const int64_t *session_ids, size_t session_count,
                  struct off_cpu_shares *shares, struct diag *diag);

#endif
