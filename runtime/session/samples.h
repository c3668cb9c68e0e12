/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of times that were measured again and again. */
#ifndef OPTRACE_RUNTIME_SESSION_SAMPLES_H
#define OPTRACE_RUNTIME_SESSION_SAMPLES_H

#include <stddef.h>

/* Times in ms; `values` is sorted by samples_sort(). */
struct samples {
    double *values;
    size_t count;
};

void samples_sort(struct samples *samples);

/* All of them need sorted samples; NaN where there are none. */

/** The mean without the lowest and the highest floor(count / 4). */
double samples_interquartile_mean(const struct samples *samples);
double samples_mean(const struct samples *samples);
/** Of the sample; 0 for one. */
double samples_deviation(const struct samples *samples);
/** Nearest rank: the smallest value that `percent` percent of all do not exceed. */
double samples_percentile(const struct samples *samples, double percent);

#endif
