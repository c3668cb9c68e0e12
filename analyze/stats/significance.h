/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether new samples differ from those of a base, how much, and whether that counts: pure.
 *
 * What counts as one observation is a session, with the median of its runs: two processes of one
 * program differ by more than chance among their runs explains, so that runs of one session a side
 * test nothing, however many there are.
 *
 * Three gates: a difference counts when the permutation test's p among all differences
 * (permutation_test.h) is at most `alpha`, when the median, or the middle of all distances between
 * sessions of both sides, changed by more than `threshold`, and when the difference's own 95 %
 * interval (distance_interval.h) has no 0 in it. Each alone
 * misleads: with many sessions a tenth of a percent is significant, and with few of them chance
 * makes ten percent.
 */
#ifndef OPTRACE_ANALYZE_STATS_SIGNIFICANCE_H
#define OPTRACE_ANALYZE_STATS_SIGNIFICANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/stats/bootstrap.h"

enum compare_verdict {
    COMPARE_UNTESTED,    /* only one side is there */
    COMPARE_CANNOT_TELL, /* too few sessions for any verdict */
    COMPARE_NO_CHANGE,   /* no difference that chance does not explain */
    COMPARE_SMALL,       /* there is one, but it is not larger than the threshold */
    COMPARE_SLOWER,
    COMPARE_FASTER,
    COMPARE_VERDICTS
};
extern const char *const compare_verdict_names[COMPARE_VERDICTS];

struct compare_gates {
    double alpha;     /* 0.01 */
    double threshold; /* of the median's change: 0.03 is 3 % */
};

/* NaN: not known. */
struct compare_percentile {
    double base_ns, new_ns;                  /* nearest rank */
    struct bootstrap_interval difference_ns; /* 95 %; NaN where a side has too few
                                                sessions, of P90 and P99 fewer than 10 */
};

struct compare_result {
    struct compare_percentile p50, p90, p99;
    double ratio;                     /* new median / base median - 1; infinite from 0, NaN of a
                                         negative one */
    struct bootstrap_interval change; /* of the ratio, 95 %, from -1 */
    double p, p_corrected;            /* permutation test, two-sided; NaN: not tested */
    double superiority;               /* chance that a new sample is slower than one of the base */
    enum compare_verdict verdict;
};

/* One difference to judge. The samples of all cases that have both sides are of the same sessions,
 * in the same order; they are sorted. */
struct compare_case {
    double *base, *new; /* NULL or no samples: not there */
    /* What is tested in their place, of the same sessions: without what disturbed them. Both, or
     * NULL: the samples. They stay as they are. */
    double *judged_base, *judged_new;
    size_t base_count, new_count;
    bool base_is_one, new_is_one; /* the samples are runs of one session, not sessions */
    bool is_op;
    const bool
        *base_is_named;    /* beside `base`: false of earlier sessions that help it; NULL: all */
    const size_t *in_time; /* all sessions in the order in which they began, those of the base
                              counted first; NULL: they were recorded in turn. Of all cases alike */
    /* The threshold is a share of this one's base median; NULL: of its own. */
    const struct compare_case *gate_of;
    struct compare_result result;
};

/** Judge all cases together, as one family for the correction. The same samples give the same
 *  answer. Returns 0 or -ENOMEM. */
int compare_judge(struct compare_case *cases, size_t count, const struct compare_gates *gates);

/** Whether so many sessions, recorded in turn, can lead to any verdict. Fewer than 3 of a side are
 *  in turn with nothing: what disturbed the machine meanwhile has both. */
bool compare_can_tell(size_t base_sessions, size_t new_sessions, double alpha);

/** The same of new sessions beside a row of others: whether there are places enough along it.
 *  in_time: see compare_case. */
bool compare_can_tell_along(size_t base_sessions, size_t new_sessions, const size_t *in_time,
                            double alpha);

/** How many sessions, in turn, the new side needs in all so that there can be a verdict; the base
 *  needs as many where it has fewer. */
size_t compare_sessions_needed(size_t base_sessions, double alpha);

#endif
