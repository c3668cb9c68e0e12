/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether new samples differ from those of a base, how much, and whether that counts: pure.
 *
 * Two gates: a difference counts when the rank test's p, corrected for all differences that are
 * tested together, is at most `alpha`, and when the median changed by more than `threshold`. Either
 * alone misleads: with many runs a tenth of a percent is significant, and with few runs chance
 * makes ten percent.
 */
#ifndef OPTRACE_ANALYZE_COMPARE_H
#define OPTRACE_ANALYZE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/bootstrap.h"

enum compare_verdict {
    COMPARE_UNTESTED,  /* only one side is there, or a side has one sample */
    COMPARE_NO_CHANGE, /* no difference that chance does not explain */
    COMPARE_SMALL,     /* there is one, but it is not larger than the threshold */
    COMPARE_SLOWER,
    COMPARE_FASTER,
    COMPARE_VERDICTS
};
extern const char *const compare_verdict_names[COMPARE_VERDICTS];

struct compare_gates {
    double alpha;     /* 0.05 */
    double threshold; /* of the median's change: 0.03 is 3 % */
};

/* NaN: not known. */
struct compare_percentile {
    double base_ns, new_ns;                  /* nearest rank */
    struct bootstrap_interval difference_ns; /* 95 % */
};

struct compare_result {
    struct compare_percentile p50, p90, p99;
    double ratio;                     /* new median / base median - 1; infinite from 0 */
    struct bootstrap_interval change; /* of the ratio, 95 %, from -1 */
    double p, p_corrected;            /* rank test, two-sided */
    double superiority;               /* chance that a new sample is slower than one of the base */
    enum compare_verdict verdict;
};

/* One difference to judge. The samples come in the order in which they were measured, and are
 * sorted. */
struct compare_case {
    double *base, *new; /* NULL or no samples: not there */
    size_t base_count, new_count;
    bool are_series; /* they follow each other in one process: the more one resembles the one before
                        it, the less they tell; p takes that into account */
    /* The threshold is a share of this one's base median; NULL: of its own. */
    const struct compare_case *gate_of;
    struct compare_result result;
};

/** Judge all cases together, as one family for the correction. The same samples give the same
 *  answer. Returns 0 or -ENOMEM. */
int compare_judge(struct compare_case *cases, size_t count, const struct compare_gates *gates);

/** How many samples a side needs, with as many on the other one, so that one difference among
 *  `tested` can be significant at all. */
size_t compare_samples_needed(size_t tested, double alpha);

#endif
