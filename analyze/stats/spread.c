/* SPDX-License-Identifier: Apache-2.0 */
/* Variation, drift and autocorrelation of a sample, and MAD z-scores. */
#include "analyze/stats/spread.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats/describe.h"
#include "analyze/stats/rank_test.h"

enum { SERIES_MIN = 8 };

/* The mean of the two middle values when their number is even. Sorts. */
static double median_of(double *values, size_t count)
{
    stats_sort(values, count);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static int find_drift(const double *values, size_t count, struct spread *spread)
{
    size_t half = count / 2;
    double *copy = malloc(count * sizeof(*copy)), before, after;
    struct rank_result test;
    int rc = copy ? rank_test(values, half, values + count - half, half, &test) : -ENOMEM;

    if (rc == 0) {
        memcpy(copy, values, count * sizeof(*copy));
        before = median_of(copy, half);
        after = median_of(copy + count - half, half);
        spread->drift = before > 0 ? after / before - 1 : NAN;
        spread->drift_p = test.p;
    }
    free(copy);
    return rc;
}

static double mean_of(const double *values, size_t count)
{
    double mean = 0;

    for (size_t i = 0; i < count; i++)
        mean += values[i] / (double)count;
    return mean;
}

static double sum_of_squares(const double *values, size_t count, double mean)
{
    double squares = 0;

    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return squares;
}

/* Lag-1 autocorrelation; NaN for fewer than 8 values, 0 when all are equal. */
static double autocorrelation_of(const double *values, size_t count)
{
    double mean, squares, neighbours = 0;

    if (count < SERIES_MIN)
        return NAN;
    mean = mean_of(values, count);
    squares = sum_of_squares(values, count, mean);
    for (size_t i = 0; i + 1 < count; i++)
        neighbours += (values[i] - mean) * (values[i + 1] - mean);
    return squares > 0 ? neighbours / squares : 0;
}

int spread_of(const double *values, size_t count, struct spread *out_spread)
{
    double mean;

    *out_spread = (struct spread){NAN, NAN, NAN, NAN};
    if (count < 2)
        return 0;
    mean = mean_of(values, count);
    if (mean > 0)
        out_spread->variation =
            sqrt(sum_of_squares(values, count, mean) / (double)(count - 1)) / mean;
    out_spread->autocorrelation = autocorrelation_of(values, count);
    return count < SERIES_MIN ? 0 : find_drift(values, count, out_spread);
}

bool spread_drifts(const struct spread *spread, double threshold)
{
    return fabs(spread->drift) > threshold && spread->drift_p < 0.01;
}

double spread_mad_z(const double *values, size_t count, double value)
{
    double *copy = count ? malloc(count * sizeof(*copy)) : NULL, median, deviation;

    if (!copy)
        return NAN;
    memcpy(copy, values, count * sizeof(*copy));
    median = median_of(copy, count);
    for (size_t i = 0; i < count; i++)
        copy[i] = fabs(copy[i] - median);
    deviation = median_of(copy, count);
    free(copy);
    if (value == median)
        return 0;
    return 0.6745 * (value - median) / deviation;
}
