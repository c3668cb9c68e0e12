/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much the runs of a sample differ among themselves, and whether they may be taken for
 * independent ones: what to know before a difference of two samples is believed.
 *
 *   coefficient of variation  standard deviation (n - 1) / mean
 *   drift                     median of the later half / that of the earlier half - 1, with the
 *                             rank test's p for the two halves
 *   lag-1 autocorrelation     sum (x_i - mean)(x_i+1 - mean) / sum (x_i - mean)^2 (Box, Jenkins,
 *                             "Time series analysis", 1970, section 2.1.5)
 *   MAD z-score               0.6745 (x - median) / MAD, MAD the median of |x_i - median|; beyond
 *                             3.5 a value is no part of the rest (Iglewicz, Hoaglin, "How to detect
 *                             and handle outliers", 1993)
 */
#ifndef OPTRACE_ANALYZE_STATS_SPREAD_H
#define OPTRACE_ANALYZE_STATS_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

/* From here on a sample is called noisy, an outlier is called one. */
#define SPREAD_NOISY_VARIATION 0.025
#define SPREAD_OUTLIER_Z       3.5

/* NaN where there are too few values to say. */
struct spread {
    double variation;       /* 2 values */
    double drift, drift_p;  /* 8 values */
    double autocorrelation; /* 8 values */
};

/** values: in the order in which they were measured. Returns 0 or -ENOMEM. */
int spread_of(const double *values, size_t count, struct spread *out_spread);

/** Whether the level moved while it was measured: drift by more than `threshold` with p below 0.01.
 */
bool spread_drifts(const struct spread *spread, double threshold);

/** MAD z-score of `value` among `values`. NaN without a value; infinite, or 0 for the median
 *  itself, when more than half of them are equal. -1 memory: NaN too. */
double spread_mad_z(const double *values, size_t count, double value);

#endif
