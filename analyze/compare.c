/* SPDX-License-Identifier: Apache-2.0 */
/* Percentiles, tests and verdicts of many pairs of samples. */
#include "analyze/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/false_discovery.h"
#include "analyze/rank_test.h"
#include "analyze/spread.h"
#include "analyze/stats.h"

const char *const compare_verdict_names[COMPARE_VERDICTS] = {
    "not tested", "no change", "below threshold", "slower", "faster",
};

#define CONFIDENCE 0.95

static double percentile_of(const double *sorted, size_t count, double percent)
{
    return count ? stats_percentile(sorted, count, percent) : NAN;
}

/* The percentiles that are looked at. */
enum { P50, P90, P99, PERCENTILES };

static const double percents[PERCENTILES] = {50, 90, 99};

/* What bootstrap_places() says for samples of one size: one side's samples are mostly of one. */
struct places {
    size_t count;
    double *of[PERCENTILES];
};

static void free_places(struct places *places)
{
    for (int i = 0; i < PERCENTILES; i++)
        free(places->of[i]);
    *places = (struct places){0};
}

static int fit_places(struct places *places, size_t count)
{
    if (places->count == count)
        return 0;
    free_places(places);
    for (int i = 0; i < PERCENTILES; i++) {
        places->of[i] = malloc(count * sizeof(double));
        if (!places->of[i])
            return -ENOMEM;
        bootstrap_places(count, percents[i], places->of[i]);
    }
    places->count = count;
    return 0;
}

static int find_percentiles(struct compare_case *one, struct places places[2], uint64_t seed)
{
    struct compare_result *result = &one->result;
    struct compare_percentile *const out[PERCENTILES] = {&result->p50, &result->p90, &result->p99};
    const struct bootstrap_interval unknown = {NAN, NAN};
    bool has_both = one->base_count && one->new_count;

    result->change = unknown;
    if (has_both &&
        (fit_places(&places[0], one->base_count) < 0 || fit_places(&places[1], one->new_count) < 0))
        return -ENOMEM;
    for (int i = 0; i < PERCENTILES; i++) {
        struct bootstrap_change change = {unknown, unknown};

        if (has_both) {
            const struct bootstrap_sample base = {one->base, places[0].of[i], one->base_count};
            const struct bootstrap_sample new = {one->new, places[1].of[i], one->new_count};

            if (bootstrap_change(&base, &new, CONFIDENCE, seed + (uint64_t)i, &change) < 0)
                return -ENOMEM;
        }
        *out[i] = (struct compare_percentile){
            .base_ns = percentile_of(one->base, one->base_count, percents[i]),
            .new_ns = percentile_of(one->new, one->new_count, percents[i]),
            .difference_ns = change.difference,
        };
        if (i == P50)
            result->change =
                (struct bootstrap_interval){change.ratio.low - 1, change.ratio.high - 1};
    }
    return 0;
}

static double ratio_of(double base_ns, double new_ns)
{
    if (base_ns == new_ns)
        return 0; /* also when both are 0 */
    return new_ns / base_ns - 1;
}

/* How much a sample resembles the one before it, on the side where that is more; at least 0. */
static double correlation_of(const struct compare_case *one)
{
    double base = spread_autocorrelation(one->base, one->base_count);
    double new = spread_autocorrelation(one->new, one->new_count);

    return one->are_series ? fmin(fmax(0, fmax(base, new)), 0.99) : 0;
}

static int measure(struct compare_case *one, struct places places[2], uint64_t seed)
{
    struct compare_result *result = &one->result;
    double correlation = correlation_of(one);
    struct rank_result test;
    int rc;

    *result = (struct compare_result){.p = NAN, .p_corrected = NAN, .superiority = NAN};
    stats_sort(one->base, one->base_count);
    stats_sort(one->new, one->new_count);
    rc = find_percentiles(one, places, seed);
    result->ratio = ratio_of(result->p50.base_ns, result->p50.new_ns);
    if (rc < 0 || one->base_count < 2 || one->new_count < 2)
        return rc;
    rc = rank_test(one->base, one->base_count, one->new, one->new_count, &test);
    if (rc == 0) {
        result->p = correlation > 0 ? rank_p_of_series(test.p, correlation) : test.p;
        result->superiority = test.superiority;
    }
    return rc;
}

static enum compare_verdict verdict_of(const struct compare_case *one,
                                       const struct compare_gates *gates)
{
    const struct compare_result *result = &one->result;
    const struct compare_case *whole = one->gate_of ? one->gate_of : one;
    double difference_ns = result->p50.new_ns - result->p50.base_ns;

    if (isnan(result->p))
        return COMPARE_UNTESTED;
    if (!(result->p_corrected <= gates->alpha))
        return COMPARE_NO_CHANGE;
    if (!(fabs(difference_ns) > gates->threshold * whole->result.p50.base_ns))
        return COMPARE_SMALL;
    return difference_ns > 0 ? COMPARE_SLOWER : COMPARE_FASTER;
}

int compare_judge(struct compare_case *cases, size_t count, const struct compare_gates *gates)
{
    double *p = calloc(count ? count : 1, sizeof(*p));
    double *corrected = calloc(count ? count : 1, sizeof(*corrected));
    struct places places[2] = {{0}};
    int rc = p && corrected ? 0 : -ENOMEM;

    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = measure(&cases[i], places, PERCENTILES * i);
        p[i] = cases[i].result.p;
    }
    if (rc == 0)
        rc = false_discovery_correct(p, count, corrected);
    for (size_t i = 0; i < count && rc == 0; i++) {
        cases[i].result.p_corrected = corrected[i];
        cases[i].result.verdict = verdict_of(&cases[i], gates);
    }
    free_places(&places[0]);
    free_places(&places[1]);
    free(p);
    free(corrected);
    return rc;
}

size_t compare_samples_needed(size_t tested, double alpha)
{
    size_t count = 2;

    while (count < 1000 && rank_p_floor(count, count) * (double)tested > alpha)
        count++;
    return count;
}
