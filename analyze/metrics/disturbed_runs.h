/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs in which something else had the CPU: told by the share of their time in which they were off
 * it (analyze/query/off_cpu.h), where it was recorded. A run is disturbed when this share lies more than DISTURBED_SHARE above the session's lower quartile:
 * what a program waits for in every run is its own and stays; at least a quarter of the runs does.
 */
#ifndef OPTRACE_ANALYZE_METRICS_DISTURBED_RUNS_H
#define OPTRACE_ANALYZE_METRICS_DISTURBED_RUNS_H

#include "analyze/metrics/run_samples.h"
#include "analyze/query/off_cpu.h"

#define DISTURBED_SHARE 0.02

struct disturbed_runs {
    bool *is_disturbed; /* beside samples->runs */
    size_t read_count;  /* runs whose CPU time is known */
    size_t count;       /* disturbed ones */
};

/** Returns 0 or -ENOMEM; free out_runs->is_disturbed after either.
 *
 *  shares  of the sessions of `samples`, those of one behind each other */
int disturbed_runs_find(const struct run_samples *samples, const struct off_cpu_shares *shares,
                        struct disturbed_runs *out_runs);

#endif
