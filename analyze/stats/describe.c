/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and percentiles. */
#include "analyze/stats/describe.h"

#include <math.h>
#include <stdlib.h>

void stats_add(struct stats_reducer *reducer, double value)
{
    if (isnan(value))
        return;
    if (!reducer->known_count || value < reducer->min)
        reducer->min = value;
    if (!reducer->known_count || value > reducer->max)
        reducer->max = value;
    reducer->sum += value;
    reducer->known_count++;
}

double stats_reduced(const struct stats_reducer *reducer, enum stats_reduction reduction)
{
    if (!reducer->known_count)
        return NAN;
    switch (reduction) {
    case STATS_MAX:
        return reducer->max;
    case STATS_MIN:
        return reducer->min;
    case STATS_SUM:
        return reducer->sum;
    case STATS_MEAN:
        break;
    }
    return reducer->sum / (double)reducer->known_count;
}

static int compare_values(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

void stats_sort(double *values, size_t count)
{
    if (count > 1)
        qsort(values, count, sizeof(*values), compare_values);
}

double stats_median_distance(const double *sorted, size_t count)
{
    double median = stats_percentile(sorted, count, 50);
    size_t low, high = 0, left = (count + 1) / 2;
    double distance = 0;

    while (high < count && sorted[high] < median)
        high++;
    low = high;
    /* Outwards from the median, the nearer side first, until half of the values are passed. */
    while (left--) {
        double below = low ? median - sorted[low - 1] : INFINITY;
        double above = high < count ? sorted[high] - median : INFINITY;

        distance = below < above ? below : above;
        if (below < above)
            low--;
        else
            high++;
    }
    return distance;
}

double stats_percentile(const double *sorted, size_t count, double percent)
{
    /* The small step back keeps 99.9 % of 1000 at 999: the product is not exact in binary. */
    double rank = ceil(percent / 100 * (double)count - 1e-9);
    size_t place = rank < 1 ? 1 : rank > (double)count ? count : (size_t)rank;

    return sorted[place - 1];
}

double stats_trimmed_mean(const double *sorted, size_t count)
{
    size_t dropped = count / 4;
    double sum = 0;

    for (size_t i = dropped; i < count - dropped; i++)
        sum += sorted[i];
    return count ? sum / (double)(count - 2 * dropped) : NAN;
}

double stats_median(const double *sorted, size_t count)
{
    if (!count)
        return NAN;
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}
