/* SPDX-License-Identifier: Apache-2.0 */
/* Percentiles, tests and verdicts of many pairs of samples. */
#include "analyze/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/false_discovery.h"
#include "analyze/rank_test.h"
#include "analyze/stats.h"

const char *const compare_verdict_names[COMPARE_VERDICTS] = {
    "not tested", "no change", "below threshold", "slower", "faster",
};

#define CONFIDENCE 0.95

static double percentile_of(const double *sorted, size_t count, double percent)
{
    return count ? stats_percentile(sorted, count, percent) : NAN;
}

static int find_percentile(const struct compare_case *one, double percent, uint64_t seed,
                           struct compare_percentile *out, struct bootstrap_interval *out_ratio)
{
    struct bootstrap_change change;
    int rc;

    *out = (struct compare_percentile){
        .base_ns = percentile_of(one->base, one->base_count, percent),
        .new_ns = percentile_of(one->new, one->new_count, percent),
        .difference_ns = {NAN, NAN},
    };
    if (out_ratio)
        *out_ratio = (struct bootstrap_interval){NAN, NAN};
    if (!one->base_count || !one->new_count)
        return 0;
    rc = bootstrap_change(one->base, one->base_count, one->new, one->new_count, percent, CONFIDENCE,
                          seed, &change);
    if (rc < 0)
        return rc;
    out->difference_ns = change.difference;
    if (out_ratio)
        *out_ratio = (struct bootstrap_interval){change.ratio.low - 1, change.ratio.high - 1};
    return 0;
}

static double ratio_of(double base_ns, double new_ns)
{
    if (base_ns == new_ns)
        return 0; /* also when both are 0 */
    return new_ns / base_ns - 1;
}

static int measure(struct compare_case *one, uint64_t seed)
{
    struct compare_result *result = &one->result;
    struct rank_result test;
    int rc;

    *result = (struct compare_result){.p = NAN, .p_corrected = NAN, .superiority = NAN};
    stats_sort(one->base, one->base_count);
    stats_sort(one->new, one->new_count);
    rc = find_percentile(one, 50, seed, &result->p50, &result->change);
    if (rc == 0)
        rc = find_percentile(one, 90, seed + 1, &result->p90, NULL);
    if (rc == 0)
        rc = find_percentile(one, 99, seed + 2, &result->p99, NULL);
    result->ratio = ratio_of(result->p50.base_ns, result->p50.new_ns);
    if (rc < 0 || one->base_count < 2 || one->new_count < 2)
        return rc;
    rc = rank_test(one->base, one->base_count, one->new, one->new_count, &test);
    if (rc == 0) {
        result->p = test.p;
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
    int rc = p && corrected ? 0 : -ENOMEM;

    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = measure(&cases[i], 16 * i);
        p[i] = cases[i].result.p;
    }
    if (rc == 0)
        rc = false_discovery_correct(p, count, corrected);
    for (size_t i = 0; i < count && rc == 0; i++) {
        cases[i].result.p_corrected = corrected[i];
        cases[i].result.verdict = verdict_of(&cases[i], gates);
    }
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
