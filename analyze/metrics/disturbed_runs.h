/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs in which something else had the CPU: told by the thread's CPU time, where it was recorded
 * (the counter "perf.task-clock_ns", OPTRACE_COUNTERS=task-clock, load_and_run --counters).
 *
 * From a run's first reading to its last it was off the CPU for a share 1 - CPU time / time. A run
 * is disturbed when this share lies more than DISTURBED_SHARE above the session's lower quartile:
 * what a program waits for in every run is its own and stays; at least a quarter of the runs does.
 */
#ifndef OPTRACE_ANALYZE_METRICS_DISTURBED_RUNS_H
#define OPTRACE_ANALYZE_METRICS_DISTURBED_RUNS_H

#include "analyze/metrics/run_samples.h"

#define DISTURBED_SHARE 0.02

struct disturbed_runs {
    bool *is_disturbed; /* beside samples->runs */
    size_t read_count;  /* runs whose CPU time is known */
    size_t count;       /* disturbed ones */
};

/** Returns 0 or a negative errno with a sentence; free out_runs->is_disturbed after either. */
int disturbed_runs_find(struct store *store, const struct run_samples *samples,
                        struct disturbed_runs *out_runs, struct diag *diag);

#endif
