/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the level of a series changed: binary segmentation with a rank statistic.
 *
 * For every place that leaves at least CHANGE_SEGMENT_MIN values on both sides, the Wilcoxon sum of
 * the ranks before it is standardised,
 *
 *     z = |W - k (n + 1) / 2| / sqrt(k (n - k) / 12 * ((n + 1) - sum(t^3 - t) / (n (n - 1)))),
 *
 * and the largest z is the statistic (Pettitt, "A non-parametric approach to the change-point
 * problem", 1979, with each place standardised). Its p is the share of random orders of the same
 * values that reach it, (1 + reached) / (1 + orders); drawing ends early once CHANGE_REACHED_MAX
 * orders have (Besag, Clifford, "Sequential Monte Carlo p-values", 1991). When p is at most alpha
 * the series is parted and both parts are searched in the same way (Vostrikova, 1981).
 *
 * The place of the largest z may be one beside the change, also where all values before are smaller
 * than all behind, since z prefers the middle. So the series is parted where the absolute distances
 * from the medians of both sides are least in sum, which is repeated until the place stays. Where
 * that leaves fewer than CHANGE_SEGMENT_MIN values on a side these are no level yet: they are left
 * out, and the rest is searched.
 */
#ifndef OPTRACE_ANALYZE_STATS_CHANGE_POINTS_H
#define OPTRACE_ANALYZE_STATS_CHANGE_POINTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

enum {
    CHANGE_SEGMENT_MIN = 3,
    CHANGE_SERIES_MIN = 8, /* with fewer values no order is improbable enough */
    CHANGE_ORDERS_MAX = 9999,
    CHANGE_REACHED_MAX = 20,
};

struct change_point {
    size_t place;         /* the first value of the new level */
    double p;             /* of this change alone */
    double before, after; /* medians of the levels beside it, as far as the next change points */
};
struct change_point_array ARRAY_FIELDS(struct change_point);

/**
 * values  none NaN, in order
 * seed    the same one gives the same answer
 * out_points  by place; array_deinit() after success and failure
 * out_p   of the best place to part the whole series: whether there is any change at all
 *
 * Returns 0 or -ENOMEM.
 */
int change_points_find(const double *values, size_t count, double alpha, uint64_t seed,
                       struct change_point_array *out_points, double *out_p);

#endif
