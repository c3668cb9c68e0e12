/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each op took in each run: the samples that comparisons stand on.
 *
 * An op's time in a run is its self time, without nested ops, on one side: the device where there
 * is any time of it, else the host. Together with the time of ops that were not asked for and that
 * between ops the times of a run add up to the run, exactly; where ops overlap in time, that
 * between them is negative.
 *
 * A unit is what counts as one observation. Of one session that is a run. Of several sessions it is
 * a session, of which the median run counts: runs of one process resemble each other more than
 * those of two. A session without runs is one run, from its first op to its last; of a profile with
 * one time per op (MegEngine's) the run is the sum of them.
 */
#ifndef OPTRACE_ANALYZE_METRICS_RUN_SAMPLES_H
#define OPTRACE_ANALYZE_METRICS_RUN_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/metrics/align_ops.h"
#include "analyze/query/spans.h"

/* Ops times runs. */
#define RUN_SAMPLES_MAX ((size_t)100000000)

struct sampled_op {
    const struct op_row *row; /* of the first session that has it */
    double calls;             /* in one run, on average */
};

struct sampled_run {
    double run_ns;
    double other_ns;  /* ops that were not asked for */
    uint32_t session; /* place in `spans.windows` */
    uint32_t row;     /* place in `spans.runs`; SPAN_NONE: of a session without runs */
};

struct run_samples {
    enum op_side side;                 /* which times these are */
    struct spans_answer spans;         /* what the texts of rows belong to; its spans are gone */
    ARRAY_OF(struct sampled_op) ops;   /* that have a time, in the order in which they first ran */
    ARRAY_OF(struct sampled_run) runs; /* by session and number; sessions without runs last */
    double *op_ns;                     /* op_ns[op * runs.count + run] */
    size_t unit_count;
    bool units_are_sessions;
    bool has_runs; /* false: no session has any, each counts as one */
};

/* Taking them from spans in parts (query_span_parts()), which may have frames: NULL at first,
 * run_samples_begin(), run_samples_add() with each part, run_samples_finish(); run_samples_drop()
 * after any of them. The first two return 0 or -ENOMEM. Eight bytes for each op and run of a
 * session are all that is kept of spans. */
struct run_samples_parts;

/** Forgets what was added before.
 *
 *  side  whose times; OP_SIDES: as said above */
int run_samples_begin(const struct spans_answer *spans, enum op_side side,
                      struct run_samples_parts **out_parts);

/** Spans with is_shown set: the ops asked for. */
int run_samples_add(struct run_samples_parts *parts, const struct spans_answer *spans);

/** Whether there was any span so far. */
bool run_samples_saw_spans(const struct run_samples_parts *parts);

/**
 * What they come to. `spans`, without spans, moves into the samples, also after a failure.
 *
 * Returns 0; 1 with a sentence when there is no finished run; -EFBIG; -ENOMEM. Give *out_samples to
 * run_samples_deinit() after any of them.
 */
int run_samples_finish(struct run_samples_parts **parts, struct spans_answer *spans,
                       struct run_samples *out_samples, struct diag *diag);
void run_samples_drop(struct run_samples_parts **parts);

/** For who is handed spans in parts: `user` of both functions; parts are NULL at first. */
struct run_sampling {
    enum op_side side;
    struct run_samples_parts *parts;
};
int run_sampling_begin(void *user, const struct spans_answer *spans);
int run_sampling_take(void *user, struct spans_answer *spans);

/** All of it with spans that are all there. For tests. */
int run_samples_take(struct spans_answer *spans, enum op_side side, struct run_samples *out_samples,
                     struct diag *diag);
void run_samples_deinit(struct run_samples *samples);

/** Forget runs. `is_skipped` is beside `runs`; of each session one has to stay. */
void run_samples_skip(struct run_samples *samples, const bool *is_skipped);

/* What a sum of samples is of. */
enum sampled_part { SAMPLED_RUN, SAMPLED_OPS, SAMPLED_OTHER, SAMPLED_BETWEEN };

struct sampled_sum {
    enum sampled_part part;
    const uint32_t *ops; /* with SAMPLED_OPS: places in `ops` */
    size_t op_count;
    const bool *is_skipped; /* beside `runs`: those that do not count, not all of a unit; or NULL */
};

/**
 * Sum up a part by unit.
 *
 * out_units  room for unit_count; of a session of several, the median run's sum
 * out_mean   mean of the units' means: these add up. NaN without runs
 *
 * Returns 0 or -ENOMEM.
 */
int run_samples_sum(const struct run_samples *samples, const struct sampled_sum *sum,
                    double *out_units, double *out_mean);

/** The ops as align_ops() wants them, or NULL when memory is short; the caller frees them. */
struct align_op *run_samples_align(const struct run_samples *samples);

#endif
