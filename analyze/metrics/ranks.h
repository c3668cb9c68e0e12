/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks: processes that do the same job side by side, one session each. Their runs that belong
 * together are a step; who holds up the others, and by which op? Pure: no SQL.
 *
 * How late a run is: its duration less that of the fastest run, or of the median, of its step.
 * Durations alone are compared: only steps by time need clocks that agree.
 */
#ifndef OPTRACE_ANALYZE_METRICS_RANKS_H
#define OPTRACE_ANALYZE_METRICS_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

struct rank_run {
    uint32_t rank;     /* from 0 */
    int64_t run;       /* its number, once in a rank */
    int64_t start_ns;  /* ns since 1970 */
    double dur_ns;     /* >= 0 */
    double unshown_ns; /* of it, ops that were not asked for */
};

struct ranks_question {
    const struct rank_run *runs;
    size_t run_count;
    uint32_t rank_count;
    const double *op_ns; /* op_ns[op * op_stride + run]: self time */
    size_t op_count, op_stride;

    /* false: runs of the same number are a step. true: the runs of the first rank that has any mark
     * the steps; each run of another rank belongs to the one that it overlaps longest, and of
     * several runs of a rank only the one that overlaps it longest. */
    bool by_time;
};

/* What a run's time went to is counted by parts: the ops, then these two. The parts of a run add up
 * to its duration; where ops overlap, the time between them is negative. */
static inline size_t rank_part_unshown(size_t op_count)
{
    return op_count;
}
static inline size_t rank_part_between(size_t op_count)
{
    return op_count + 1;
}
static inline size_t rank_part_count(size_t op_count)
{
    return op_count + 2;
}

/* Runs of two ranks or more. */
struct rank_step {
    int64_t number; /* of the runs; by time that of the first rank's */
    size_t first, count;
    uint32_t slowest, fastest; /* places in the question's runs; of equal ones the first rank's */
    double fastest_ns, median_ns, slowest_ns;
    bool has_parts; /* each of its runs has some op: else nobody knows what took longer */
    size_t part;    /* that the slowest took most longer for than the median of the others in the
                       step; SIZE_MAX: all took equally long, or it
                       has no parts */
    double part_ns; /* how much longer; NaN */
};

struct rank {
    uint64_t step_count;    /* steps that it has a run in; with 0 all below is 0 or NaN */
    uint64_t slowest_count; /* steps in which it was the slowest, and not all took equally long */
    double p50_ns, p90_ns;  /* of its runs in steps, nearest rank */
    double behind_fastest_ns, behind_median_ns;       /* means; the latter may be negative */
    double behind_fastest_share, behind_median_share; /* of the fastest's, the median's mean */
    size_t part; /* as of a step, by the mean over its steps that have parts; SIZE_MAX: none
                    has, or on average it is not behind the median */
    double part_ns;
};

struct ranks {
    ARRAY_OF(struct rank_step) steps; /* by number */
    ARRAY_OF(uint32_t)
    members;            /* places of runs; a step's are [first, first + count), by
                           rank */
    struct rank *ranks; /* rank_count */
    size_t skipped;     /* runs that are in no step */
};

/** Returns 0 or -ENOMEM. Give *out_ranks to ranks_deinit() after either. */
int ranks_make(const struct ranks_question *question, struct ranks *out_ranks);
void ranks_deinit(struct ranks *ranks);

#endif
