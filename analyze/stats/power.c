/* SPDX-License-Identifier: Apache-2.0 */
/* The formula, and quantiles of the normal distribution. */
#include "analyze/stats/power.h"

#include <math.h>

/* By halving: what lies beyond +-40 is below the least double. */
static double normal_quantile(double share)
{
    enum { HALVINGS = 60 };
    double low = -40, high = 40;

    for (int i = 0; i < HALVINGS; i++) {
        const double middle = (low + high) / 2;

        if (0.5 * erfc(-middle / sqrt(2)) < share)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

size_t power_sessions(double variation, double change, size_t lines, double alpha)
{
    /* The upper tail by its mirror image: 1 - alpha has no digits where alpha is tiny. */
    const double a = -normal_quantile(alpha / 2 / (double)lines);
    const double z = a + normal_quantile(POWER_SHARE);
    const double count = ceil(2 * M_PI / 3 * pow(variation / change * z, 2) + a * a / 4);

    if (!(count >= 1))
        return 1;
    return count < POWER_SESSIONS_MAX ? (size_t)count : POWER_SESSIONS_MAX;
}
