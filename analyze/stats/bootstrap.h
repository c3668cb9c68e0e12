/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How sure a difference of two medians, or of two other percentiles, is: percentile intervals by
 * the bootstrap (Efron, Tibshirani, "An introduction to the bootstrap", 1993, section 13.3).
 *
 * A resample draws as many values as the sample has, with replacement; its percentile by nearest
 * rank, the k-th smallest of n, is one of the sample's own values. It is at most the j-th smallest
 * one with the probability that at least k of n draws are, I(j / n; k, n - k + 1), the regularised
 * incomplete beta function (Maritz, Jarrett, "A note on estimating the variance of the sample
 * median", 1978). So a resample is one draw from this distribution, and no values are copied.
 */
#ifndef OPTRACE_ANALYZE_STATS_BOOTSTRAP_H
#define OPTRACE_ANALYZE_STATS_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

enum { BOOTSTRAP_RESAMPLES = 1000 };

/* NaN where the samples are too small to say: fewer than two values on a side. */
struct bootstrap_interval {
    double low, high;
};

struct bootstrap_change {
    struct bootstrap_interval difference; /* of b's percentile to a's */
    struct bootstrap_interval ratio;      /* b's percentile / a's; NaN when a has values <= 0 */
};

/**
 * The distribution of a resample's percentile over the places of a sample: it depends on how many
 * values there are, and not on them.
 *
 * percent  which percentile, in (0, 100]
 *
 * out_cumulative[j], j < count, becomes the chance that the percentile is at most the j-th smallest
 * value, from 0. count >= 1.
 */
void bootstrap_places(size_t count, double percent, double *out_cumulative);

/* One side: ascending values, and what bootstrap_places() says for their number. */
struct bootstrap_sample {
    const double *values, *places;
    size_t count;
};

/**
 * a, b        of the same percentile
 * confidence  such as 0.95
 * seed        the same seed gives the same interval
 *
 * Returns 0 or -ENOMEM.
 */
int bootstrap_change(const struct bootstrap_sample *a, const struct bootstrap_sample *b,
                     double confidence, uint64_t seed, struct bootstrap_change *out_change);

/** The regularised incomplete beta function I(x; a, b): x in [0, 1], a and b > 0. Outside of its
 *  file, for tests. */
double bootstrap_beta(double x, double a, double b);

#endif
