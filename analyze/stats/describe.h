/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics without side effects. NaN stands for "not known" and never counts. */
#ifndef OPTRACE_ANALYZE_STATS_DESCRIBE_H
#define OPTRACE_ANALYZE_STATS_DESCRIBE_H

#include <stddef.h>
#include <stdint.h>

enum stats_reduction { STATS_MAX, STATS_MIN, STATS_SUM, STATS_MEAN };

/* Values are added one by one to {0}. */
struct stats_reducer {
    size_t known_count; /* values that were not NaN */
    double sum, min, max;
};
void stats_add(struct stats_reducer *reducer, double value);

/** NaN when nothing known was added. */
double stats_reduced(const struct stats_reducer *reducer, enum stats_reduction reduction);

void stats_sort(double *values, size_t count);

/** Percentile by nearest rank: the value at place ceil(percent / 100 * count), counting from 1, of
 *  ascending values; percent in [0, 100], count >= 1. */
double stats_percentile(const double *sorted, size_t count, double percent);

/** Interquartile mean: that of what is left when floor(count / 4) values are dropped on each side;
 *  ascending values. NaN without any. */
double stats_trimmed_mean(const double *sorted, size_t count);

/** The middle one of ascending values, or the mean of the two in the middle. NaN without any. */
double stats_median(const double *sorted, size_t count);

/** The same of values in any order, none of them NaN; they are put into another one. */
double stats_find_median(double *values, size_t count);

/** The median distance of ascending values from their median (MAD), both by nearest rank; count >=
 *  1. */
double stats_median_distance(const double *sorted, size_t count);

#endif
