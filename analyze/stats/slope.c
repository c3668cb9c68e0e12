/* SPDX-License-Identifier: Apache-2.0 */
/* The median of the slopes of all pairs. */
#include "analyze/stats/slope.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/stats/describe.h"

int slope_fit(const double *x, const double *y, size_t count, struct slope *out_slope)
{
    size_t pairs = count * (count - 1) / 2, used = 0;
    double n = (double)count, half, *slopes;

    *out_slope = (struct slope){NAN, NAN, NAN};
    if (count < SLOPE_POINTS_MIN)
        return 0;
    slopes = malloc(pairs * sizeof(*slopes));
    if (!slopes)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1; k < count; k++)
            slopes[used++] = (y[k] - y[i]) / (x[k] - x[i]);
    }
    stats_sort(slopes, pairs);
    /* Kendall's S has the variance n (n - 1) (2 n + 5) / 18. */
    half = 1.959964 * sqrt(n * (n - 1) * (2 * n + 5) / 18) / 2;
    out_slope->slope = stats_median(slopes, pairs);
    out_slope->low = slopes[(size_t)fmax(0, floor((double)pairs / 2 - half - 1))];
    out_slope->high = slopes[(size_t)fmin((double)pairs - 1, ceil((double)pairs / 2 + half))];
    free(slopes);
    return 0;
}
