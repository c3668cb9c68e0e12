/* SPDX-License-Identifier: Apache-2.0 */
/* Percentiles, tests and verdicts of many pairs of samples. */
#include "analyze/stats/significance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats/describe.h"
#include "analyze/stats/distance_interval.h"
#include "analyze/stats/permutation_test.h"
#include "analyze/stats/rank_test.h"

const char *const compare_verdict_names[COMPARE_VERDICTS] = {
    "not tested", "cannot tell", "no change", "below threshold", "slower", "faster",
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

/* Whether there are enough sessions for their P90 to be another one than the last. */
static bool has_tails(const struct compare_case *one)
{
    enum { ENOUGH = 10 };

    return one->base_count >= ENOUGH && one->new_count >= ENOUGH && !one->base_is_one &&
           !one->new_is_one;
}

static int find_percentiles(struct compare_case *one, struct places places[2], uint64_t seed)
{
    struct compare_result *result = &one->result;
    struct compare_percentile *const out[PERCENTILES] = {&result->p50, &result->p90, &result->p99};
    const struct bootstrap_interval unknown = {NAN, NAN};

    if (has_tails(one) &&
        (fit_places(&places[0], one->base_count) < 0 || fit_places(&places[1], one->new_count) < 0))
        return -ENOMEM;
    for (int i = 0; i < PERCENTILES; i++) {
        struct bootstrap_change change = {unknown, unknown};

        if (has_tails(one) && i != P50) {
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
    }
    return 0;
}

/* The interval is of all distances, what is shown one of two medians: it has to be within. */
static struct bootstrap_interval widened(struct bootstrap_interval interval, double shown)
{
    if (isnan(interval.low))
        return interval;
    return (struct bootstrap_interval){fmin(interval.low, shown), fmax(interval.high, shown)};
}

static const double *judged_base(const struct compare_case *one)
{
    return one->judged_base ? one->judged_base : one->base;
}

static const double *judged_new(const struct compare_case *one)
{
    return one->judged_new ? one->judged_new : one->new;
}

static int median_of(const double *values, size_t count, double *out_median)
{
    double *copy = malloc((count ? count : 1) * sizeof(*copy));

    if (!copy)
        return -ENOMEM;
    memcpy(copy, values, count * sizeof(*copy));
    stats_sort(copy, count);
    *out_median = percentile_of(copy, count, percents[P50]);
    free(copy);
    return 0;
}

/* How sure the change of the median is. Of one session a side its only value is the median run. */
static int find_interval(struct compare_case *one)
{
    struct compare_result *result = &one->result;
    struct distance_interval found;
    double base_ns, new_ns;
    int rc;

    result->change = (struct bootstrap_interval){NAN, NAN};
    if (!one->base_count || !one->new_count || (one->base_is_one && one->new_is_one))
        return 0;
    if (median_of(judged_base(one), one->base_count, &base_ns) < 0 ||
        median_of(judged_new(one), one->new_count, &new_ns) < 0)
        return -ENOMEM;
    rc = distance_interval(one->base_is_one ? &base_ns : judged_base(one),
                           one->base_is_one ? 1 : one->base_count,
                           one->new_is_one ? &new_ns : judged_new(one),
                           one->new_is_one ? 1 : one->new_count, CONFIDENCE, &found);
    if (rc == 0) {
        result->p50.difference_ns =
            widened(found.difference, result->p50.new_ns - result->p50.base_ns);
        result->change = (struct bootstrap_interval){found.ratio.low - 1, found.ratio.high - 1};
        result->change = widened(result->change, result->ratio);
    }
    return rc;
}

static double ratio_of(double base_ns, double new_ns)
{
    if (base_ns == new_ns)
        return 0; /* also when both are 0 */
    if (base_ns < 0 || new_ns < 0)
        return NAN; /* ops overlap in time: of a negative rest nothing is a share */
    return new_ns / base_ns - 1;
}

static int measure(struct compare_case *one, struct places places[2], uint64_t seed)
{
    struct compare_result *result = &one->result;
    struct rank_result test;
    int rc;

    *result = (struct compare_result){.p = NAN, .p_corrected = NAN, .superiority = NAN};
    stats_sort(one->base, one->base_count);
    stats_sort(one->new, one->new_count);
    rc = find_percentiles(one, places, seed);
    result->ratio = ratio_of(result->p50.base_ns, result->p50.new_ns);
    if (rc == 0)
        rc = find_interval(one);
    if (rc < 0 || one->base_count < 2 || one->new_count < 2)
        return rc;
    rc = rank_test(one->base, one->base_count, one->new, one->new_count, &test);
    if (rc == 0)
        result->superiority = test.superiority;
    return rc;
}

/* --- Testing. --- */

/* All cases that have both sides, and what is known of them before their samples are sorted. */
struct judging {
    struct compare_case *cases;
    size_t count;
    struct permutation_line *lines; /* of the tested ones */
    size_t *case_of;                /* beside lines */
    size_t line_count;
    double *values; /* of lines, by session; what they point to */
    struct distances {
        double all_ns, named_ns; /* to all of the base, and to its sessions that were asked for */
    } * distances;               /* middles, beside cases */
};

static size_t sessions_of(size_t count, bool is_one)
{
    return count && is_one ? 1 : count;
}

/* Samples by session behind each other; returns how many, or -ENOMEM. */
static int64_t put_sessions(const double *samples, size_t count, bool is_one, double *out_values)
{
    if (!is_one) {
        memcpy(out_values, samples, count * sizeof(*out_values));
        return (int64_t)count;
    }
    return median_of(samples, count, out_values) < 0 ? -ENOMEM : 1;
}

/* `values`: a line's sessions, those of the base first. */
static int find_distances(const struct compare_case *one, const double *values, size_t base,
                          size_t new, struct distances *out_distances)
{
    const bool *is_named = one->base_is_one ? NULL : one->base_is_named;
    double *named = malloc((base ? base : 1) * sizeof(*named));
    size_t count = 0;
    int rc;

    if (!named)
        return -ENOMEM;
    for (size_t i = 0; i < base; i++) {
        if (!is_named || is_named[i])
            named[count++] = values[i];
    }
    rc = distance_middle(values, base, values + base, new, &out_distances->all_ns);
    if (rc == 0)
        rc = distance_middle(named, count, values + base, new, &out_distances->named_ns);
    free(named);
    return rc;
}

static int add_line(struct judging *judging, size_t place, double *values)
{
    const struct compare_case *one = &judging->cases[place];
    const struct compare_case *whole = one->gate_of ? one->gate_of : one;
    size_t base = sessions_of(one->base_count, one->base_is_one);
    size_t new = sessions_of(one->new_count, one->new_is_one);
    double scale = 0, whole_ns[2];

    if (put_sessions(judged_base(one), one->base_count, one->base_is_one, values) < 0 ||
        put_sessions(judged_new(one), one->new_count, one->new_is_one, values + base) < 0 ||
        median_of(whole->base, whole->base_count, &whole_ns[0]) < 0 ||
        median_of(whole->new, whole->new_count, &whole_ns[1]) < 0 ||
        find_distances(one, values, base, new, &judging->distances[place]) < 0)
        return -ENOMEM;
    scale = (whole_ns[0] * (double)base + whole_ns[1] * (double)new) / (double)(base + new);
    judging->case_of[judging->line_count] = place;
    judging->lines[judging->line_count++] = (struct permutation_line){
        .base = values,
        .new = values + base,
        .scale = scale > 0 ? scale : 1,
        .is_op = one->is_op,
    };
    return 0;
}

static int gather(struct judging *judging, size_t base, size_t new)
{
    size_t count = judging->count ? judging->count : 1;
    int rc;

    judging->lines = calloc(count, sizeof(*judging->lines));
    judging->case_of = calloc(count, sizeof(*judging->case_of));
    judging->values = calloc(count * (base + new), sizeof(*judging->values));
    judging->distances = calloc(count, sizeof(*judging->distances));
    rc = judging->lines && judging->case_of && judging->values && judging->distances ? 0 : -ENOMEM;
    for (size_t i = 0; i < judging->count && rc == 0; i++) {
        const struct compare_case *one = &judging->cases[i];

        if (one->base_count && one->new_count)
            rc = add_line(judging, i, judging->values + judging->line_count * (base + new));
    }
    return rc;
}

/* The median's change or the middle distance, which has less noise, is as large as it has to be. To
 * those of the base that were asked for it is, too: earlier sessions may lie elsewhere. */
static bool is_large(const struct compare_case *one, const struct distances *distances,
                     double gate_ns)
{
    double median_ns = one->result.p50.new_ns - one->result.p50.base_ns;

    if ((median_ns > 0) != (distances->all_ns > 0) ||
        !(fmax(fabs(median_ns), fabs(distances->all_ns)) > gate_ns))
        return false;
    return !one->base_is_named ||
           ((median_ns > 0) == (distances->named_ns > 0) && fabs(distances->named_ns) > gate_ns);
}

static enum compare_verdict verdict_of(const struct compare_case *one,
                                       const struct distances *distances,
                                       const struct compare_gates *gates)
{
    const struct compare_result *result = &one->result;
    const struct compare_case *whole = one->gate_of ? one->gate_of : one;
    const struct bootstrap_interval *sure = &result->p50.difference_ns;
    double difference_ns = result->p50.new_ns - result->p50.base_ns;
    double gate_ns = gates->threshold * fabs(whole->result.p50.base_ns);

    if (!(result->p_corrected <= gates->alpha) || (sure->low <= 0 && sure->high >= 0))
        return COMPARE_NO_CHANGE;
    if (!is_large(one, distances, gate_ns))
        return COMPARE_SMALL;
    return difference_ns > 0 ? COMPARE_SLOWER : COMPARE_FASTER;
}

static void judge_all(struct judging *judging, bool can_tell, const struct compare_gates *gates)
{
    for (size_t i = 0; i < judging->count; i++) {
        const struct compare_case *one = &judging->cases[i];

        judging->cases[i].result.verdict =
            one->base_count && one->new_count ? COMPARE_CANNOT_TELL : COMPARE_UNTESTED;
    }
    for (size_t i = 0; i < judging->line_count && can_tell; i++) {
        size_t place = judging->case_of[i];
        struct compare_case *one = &judging->cases[place];

        one->result.p = judging->lines[i].p;
        one->result.p_corrected = judging->lines[i].p_corrected;
        one->result.verdict = verdict_of(one, &judging->distances[place], gates);
    }
}

int compare_judge(struct compare_case *cases, size_t count, const struct compare_gates *gates)
{
    struct judging judging = {.cases = cases, .count = count};
    struct places places[2] = {{0}};
    size_t base = 0, new = 0;
    const size_t *in_time = NULL;
    bool can_tell;
    int rc;

    for (size_t i = 0; i < count; i++) {
        if (cases[i].base_count && cases[i].new_count) {
            base = sessions_of(cases[i].base_count, cases[i].base_is_one);
            new = sessions_of(cases[i].new_count, cases[i].new_is_one);
            in_time = cases[i].in_time;
        }
    }
    can_tell = in_time ? compare_can_tell_along(base, new, in_time, gates->alpha)
                       : compare_can_tell(base, new, gates->alpha);
    rc = can_tell ? gather(&judging, base, new) : 0;
    if (rc == 0 && can_tell)
        rc = permutation_test(judging.lines, judging.line_count, base, new, in_time);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = measure(&cases[i], places, PERCENTILES * i);
    if (rc == 0)
        judge_all(&judging, can_tell, gates);
    free_places(&places[0]);
    free_places(&places[1]);
    free(judging.lines);
    free(judging.case_of);
    free(judging.values);
    free(judging.distances);
    return rc;
}

bool compare_can_tell(size_t base_sessions, size_t new_sessions, double alpha)
{
    enum { IN_TURN_MIN = 3 };

    return base_sessions >= IN_TURN_MIN && new_sessions >= IN_TURN_MIN &&
           permutation_p_floor(base_sessions, new_sessions) <= alpha;
}

bool compare_can_tell_along(size_t base_sessions, size_t new_sessions, const size_t *in_time,
                            double alpha)
{
    size_t places = base_sessions && new_sessions
                        ? permutation_places(base_sessions, new_sessions, in_time)
                        : 0;

    return places > 1 && 1 <= alpha * (double)places;
}

size_t compare_sessions_needed(size_t base_sessions, double alpha)
{
    enum { MANY = 1000 };
    size_t count = 1;

    while (count < MANY &&
           !compare_can_tell(base_sessions > count ? base_sessions : count, count, alpha))
        count++;
    return count;
}
