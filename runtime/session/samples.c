/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of repeated times. */
#include "runtime/session/samples.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void samples_sort(struct samples *samples)
{
    if (samples->count > 1)
        qsort(samples->values, samples->count, sizeof(*samples->values), compare);
}

static double mean_of(const struct samples *samples, size_t dropped)
{
    double sum = 0;

    for (size_t i = dropped; i < samples->count - dropped; i++)
        sum += samples->values[i];
    return samples->count > 0 ? sum / (double)(samples->count - 2 * dropped) : NAN;
}

double samples_interquartile_mean(const struct samples *samples)
{
    return mean_of(samples, samples->count / 4);
}

double samples_mean(const struct samples *samples)
{
    return mean_of(samples, 0);
}

double samples_deviation(const struct samples *samples)
{
    double mean = samples_mean(samples), squares = 0;

    if (samples->count < 2)
        return samples->count == 1 ? 0 : NAN;
    for (size_t i = 0; i < samples->count; i++)
        squares += (samples->values[i] - mean) * (samples->values[i] - mean);
    return sqrt(squares / (double)(samples->count - 1));
}

double samples_percentile(const struct samples *samples, double percent)
{
    /* The small step back keeps 99.9 % of 1000 at 999: the product is not exact in binary. */
    double rank = ceil(percent / 100 * (double)samples->count - 1e-9);

    if (samples->count == 0)
        return NAN;
    return samples->values[rank < 1 ? 0 : (size_t)rank - 1];
}
