/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two recordings set against each other, line by line: one run as a whole, each op or group of ops
 * that belong together, and the time between ops. The lines behind the first add up to it: their
 * mean_ns on both sides, and so their deltas, exactly.
 */
#ifndef OPTRACE_ANALYZE_METRICS_COMPARISON_H
#define OPTRACE_ANALYZE_METRICS_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/metrics/align_ops.h"
#include "analyze/metrics/run_samples.h"
#include "analyze/stats/significance.h"

enum comparison_part {
    COMPARISON_RUN,     /* one run, end to end: always lines.items[0] */
    COMPARISON_OPS,     /* a group of ops */
    COMPARISON_BETWEEN, /* time of a run in which no op was running; always there */
    COMPARISON_OTHER,   /* ops that nobody asked for: not tested; not there when they took none */
};

struct comparison_line {
    enum comparison_part part;
    enum align_kind kind;                 /* of ops */
    const struct op_row *op[ALIGN_SIDES]; /* the first op of each side, or NULL */
    size_t op_count[ALIGN_SIDES];
    double calls[ALIGN_SIDES];   /* in one run */
    double mean_ns[ALIGN_SIDES]; /* of one run; 0 where there is none */
    double delta_ns;             /* of the means */
    double share;                /* of the run's delta; NaN when the run did not change */
    char *name;                  /* "conv1", "conv1 + relu1" */
    char *detail;                /* what changed besides the time, or NULL */
    struct compare_result result;
};

struct comparison_options {
    struct compare_gates gates;
    double min_ns, max_ns;     /* ops out of these bounds on both sides are not asked for; or NaN */
    const bool *base_is_named; /* beside the base's units: compare_case; NULL: all are */
    const size_t *in_time;     /* all units by when they began: compare_case; NULL: in turn */
};

struct comparison {
    ARRAY_OF(struct comparison_line) lines;
    size_t tested;                      /* lines with a test */
    size_t outlying_count[ALIGN_SIDES]; /* runs: outlying_runs.h */
    bool judges_outlying;               /* they are a matter of the programs */
};

/** samples: of the base and of the new side; they must outlive the comparison. Returns 0 or
 *  -ENOMEM; comparison_deinit() after either. */
int comparison_make(const struct run_samples *const samples[ALIGN_SIDES],
                    const struct comparison_options *options, struct comparison *out_comparison);
void comparison_deinit(struct comparison *comparison);

#endif
