/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A robust straight line: the median of the slopes between all pairs of points (Theil, "A
 * rank-invariant method of linear and polynomial regression analysis", 1950; Sen, "Estimates of the
 * regression coefficient based on Kendall's tau", 1968). A third of the points may be anywhere. How
 * sure it is comes from Kendall's statistic: the bounds of 95 %, by its normal approximation.
 */
#ifndef OPTRACE_ANALYZE_STATS_SLOPE_H
#define OPTRACE_ANALYZE_STATS_SLOPE_H

#include <stddef.h>

enum { SLOPE_POINTS_MIN = 8, SLOPE_POINTS_MAX = 500 };

struct slope {
    double slope;     /* per unit of x */
    double low, high; /* 95 % bounds */
};

/**
 * x   ascending, all different
 *
 * Returns 0 or -ENOMEM. All is NaN below SLOPE_POINTS_MIN points; count must not be above
 * SLOPE_POINTS_MAX, as the pairs are held in memory.
 */
int slope_fit(const double *x, const double *y, size_t count, struct slope *out_slope);

#endif
