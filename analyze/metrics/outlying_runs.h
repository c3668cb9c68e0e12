/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that stand out of their session: something else had the machine meanwhile, or memory was
 * short, or a clock went down. Times and percentiles count them; what a session is judged by does
 * not, as the median of a few runs moves with them by more than what is looked for.
 *
 * A run stands out when it lies above q1 (1 + max(0.02, 4 s)): q1 is its session's lower quartile,
 * which runs that are slow by accident do not reach before three quarters are, and s the median of
 * all sessions' (q1 - p10) / (0.607 q1), which of normal runs is their standard deviation. So a
 * session is judged by its own runs and by what all sessions of both sides have in common: sessions
 * that could have come in another order still could (permutation_test.h). Of each session a quarter
 * stays at least.
 */
#ifndef OPTRACE_ANALYZE_METRICS_OUTLYING_RUNS_H
#define OPTRACE_ANALYZE_METRICS_OUTLYING_RUNS_H

#include "analyze/metrics/align_ops.h"
#include "analyze/metrics/run_samples.h"

struct outlying_runs {
    bool *is_outlying; /* beside samples->runs */
    size_t count;
};

/** Returns 0 or -ENOMEM; free out_runs[]->is_outlying after either. Sessions of fewer than 8 runs
 *  have none. A single session is judged as those of the other side are; of two there is no other.
 */
int outlying_runs_find(const struct run_samples *const samples[ALIGN_SIDES],
                       struct outlying_runs out_runs[ALIGN_SIDES]);

/** Whether the sides' shares of such runs differ by so much that they are a matter of the programs:
 *  they count then. */
bool outlying_runs_are_apart(const struct run_samples *const samples[ALIGN_SIDES],
                             const struct outlying_runs runs[ALIGN_SIDES]);

#endif
