/* SPDX-License-Identifier: Apache-2.0 */
/* Variation, drift and autocorrelation of a sample, and MAD z-scores. */
#include "analyze/spread.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/rank_test.h"
#include "analyze/stats.h"

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

int spread_of(const double *values, size_t count, struct spread *out)
{
    double mean = 0, squares = 0, neighbours = 0;

    *out = (struct spread){NAN, NAN, NAN, NAN};
    if (count < 2)
        return 0;
    for (size_t i = 0; i < count; i++)
        mean += values[i] / (double)count;
    for (size_t i = 0; i < count; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
        if (i + 1 < count)
            neighbours += (values[i] - mean) * (values[i + 1] - mean);
    }
    if (mean > 0)
        out->variation = sqrt(squares / (double)(count - 1)) / mean;
    if (count < SERIES_MIN)
        return 0;
    out->autocorrelation = squares > 0 ? neighbours / squares : 0;
    return find_drift(values, count, out);
}

bool spread_drifts(const struct spread *spread, double threshold)
{
    return fabs(spread->drift) > threshold && spread->drift_p < 0.01;
}

bool spread_is_correlated(const struct spread *spread, size_t count)
{
    return spread->autocorrelation > 0.3 && spread->autocorrelation > 2 / sqrt((double)count);
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
