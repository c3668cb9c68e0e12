/* SPDX-License-Identifier: Apache-2.0 */
/* Percentile intervals from the distribution of a resample's order statistic. */
#include "analyze/stats/bootstrap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/stats/describe.h"
#include "analyze/stats/random.h"
#include "base/sorted.h"

/* The continued fraction of DLMF 8.17.22 by the algorithm of Lentz. Converges fast for
 * x < (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
    enum { STEPS_MAX = 1000 };
    const double tiny = 1e-300, close_enough = 1e-14;
    double c = 1, d = 1 - (a + b) * x / (a + 1), value;

    d = 1 / (fabs(d) < tiny ? tiny : d);
    value = d;
    for (int m = 1; m < STEPS_MAX; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        const double terms[] = {even, odd};
        double step = 1;

        for (int i = 0; i < 2; i++) {
            d = 1 + terms[i] * d;
            c = 1 + terms[i] / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            step = c * d;
            value *= step;
        }
        if (fabs(step - 1) < close_enough)
            break;
    }
    return value;
}

double bootstrap_beta(double x, double a, double b)
{
    double scale;

    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    scale = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return scale * beta_fraction(x, a, b) / a;
    return 1 - scale * beta_fraction(1 - x, b, a) / b;
}

void bootstrap_places(size_t count, double percent, double *out_cumulative)
{
    double rank = ceil(percent / 100 * (double)count - 1e-9); /* as stats_percentile() does */

    rank = rank < 1 ? 1 : rank > (double)count ? (double)count : rank;
    for (size_t j = 0; j < count; j++)
        out_cumulative[j] =
            bootstrap_beta((double)(j + 1) / (double)count, rank, (double)count - rank + 1);
}

static double draw_percentile(const struct bootstrap_sample *sample, uint64_t *state)
{
    double wanted = random_unit(state);
    size_t place = search_past(0, sample->count - 1, i, sample->places[i] <= wanted);

    return sample->values[place];
}

static struct bootstrap_interval interval_of(double *values, double confidence)
{
    double tail = (1 - confidence) / 2 * 100;

    stats_sort(values, BOOTSTRAP_RESAMPLES);
    return (struct bootstrap_interval){
        .low = stats_percentile(values, BOOTSTRAP_RESAMPLES, tail),
        .high = stats_percentile(values, BOOTSTRAP_RESAMPLES, 100 - tail),
    };
}

int bootstrap_change(const struct bootstrap_sample *a, const struct bootstrap_sample *b,
                     double confidence, uint64_t seed, struct bootstrap_change *out_change)
{
    const struct bootstrap_interval unknown = {NAN, NAN};
    double *drawn;

    *out_change = (struct bootstrap_change){unknown, unknown};
    if (a->count < 2 || b->count < 2)
        return 0;
    drawn = malloc(2 * BOOTSTRAP_RESAMPLES * sizeof(*drawn));
    if (!drawn)
        return -ENOMEM;
    for (size_t i = 0; i < BOOTSTRAP_RESAMPLES; i++) {
        double from = draw_percentile(a, &seed), to = draw_percentile(b, &seed);

        drawn[i] = to - from;
        drawn[BOOTSTRAP_RESAMPLES + i] = to / from;
    }
    out_change->difference = interval_of(drawn, confidence);
    if (a->values[0] > 0)
        out_change->ratio = interval_of(drawn + BOOTSTRAP_RESAMPLES, confidence);
    free(drawn);
    return 0;
}
