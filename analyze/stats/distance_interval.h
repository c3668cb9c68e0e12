/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far apart two samples lie: the interval that comes of asking, for each distance, whether the
 * rank test would still tell the samples apart when one is moved by it (Moses; Hollander, Wolfe,
 * "Nonparametric statistical methods", section 4.3). Its ends are among the distances of all pairs
 * of a value of each sample: the k-th smallest and the k-th largest, k the number of values of U
 * whose tail has at most half of 1 - confidence. Right for samples of any size and distribution, up
 * to 30 values exactly; the median of one less that of the other always lies within.
 */
#ifndef OPTRACE_ANALYZE_STATS_DISTANCE_INTERVAL_H
#define OPTRACE_ANALYZE_STATS_DISTANCE_INTERVAL_H

#include <stddef.h>

#include "analyze/stats/bootstrap.h"

struct distance_interval {
    struct bootstrap_interval difference; /* of b to a */
    struct bootstrap_interval ratio;      /* b / a; NaN when a has values <= 0 */
};

/** The middle of the distances of all pairs (Hodges, Lehmann, 1963): how far b lies from a, with
 *  half the noise of the distance of two medians. NaN without values. Returns 0 or -ENOMEM. */
int distance_middle(const double *a, size_t a_count, const double *b, size_t b_count,
                    double *out_distance);

/** NaN where the samples are too small for this confidence: 3 and 3 values are for 95 %. Returns 0
 *  or -ENOMEM. */
int distance_interval(const double *a, size_t a_count, const double *b, size_t b_count,
                      double confidence, struct distance_interval *out_interval);

#endif
