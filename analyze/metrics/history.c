/* SPDX-License-Identifier: Apache-2.0 */
/* Values of ops by session, sorted into series and searched for change points. */
#include "analyze/metrics/history.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/text_order.h"
#include "analyze/stats/describe.h"
#include "analyze/stats/false_discovery.h"

/* The whole, which has no name, comes first. */
static int compare_identity(const struct history_value *a, const struct history_value *b)
{
    int order = compare_texts(a->name, b->name);

    order = order ? order : compare_texts(a->type, b->type);
    order = order ? order : compare_texts(a->shapes, b->shapes);
    order = order ? order : compare_texts(a->dtypes, b->dtypes);
    return order ? order : (a->nth > b->nth) - (a->nth < b->nth);
}

static int compare_values(const void *a, const void *b)
{
    const struct history_value *left = a, *right = b;
    int order = compare_identity(left, right);

    return order ? order : (left->session > right->session) - (left->session < right->session);
}

/* --- Sessions. --- */

/* The median of a sum over runs. `out_units` has room for them. */
static int median_of(const struct run_samples *samples, enum sampled_part part, const uint32_t *ops,
                     size_t op_count, double *out_units, double *out_ns)
{
    const struct sampled_sum sum = {.part = part, .ops = ops, .op_count = op_count};
    double mean;
    int rc = run_samples_sum(samples, &sum, out_units, &mean);

    if (rc < 0)
        return rc;
    stats_sort(out_units, samples->unit_count);
    *out_ns = stats_percentile(out_units, samples->unit_count, 50);
    return 0;
}

static int add_whole(struct history *history, const struct run_samples *samples, bool is_filtered,
                     double *out_units)
{
    struct history_value value = {.session = (uint32_t)history->session_count};
    uint32_t *all = malloc((samples->ops.count ? samples->ops.count : 1) * sizeof(*all));
    int rc = all ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < samples->ops.count && rc == 0; i++)
        all[i] = i;
    if (rc == 0)
        rc = median_of(samples, is_filtered ? SAMPLED_OPS : SAMPLED_RUN, all, samples->ops.count,
                       out_units, &value.median_ns);
    if (rc == 0)
        rc = array_push(&history->values, value);
    free(all);
    return rc;
}

/* How many ops before this one of the same session look the same. */
static uint32_t count_same(const struct history *history, size_t first,
                           const struct history_value *value)
{
    uint32_t count = 0;

    for (size_t i = first; i < history->values.count; i++) {
        struct history_value other = history->values.items[i];

        other.nth = value->nth;
        count += compare_identity(&other, value) == 0;
    }
    return count;
}

int history_add(struct history *history, const struct run_samples *samples, bool is_filtered)
{
    double *units = malloc((samples->unit_count ? samples->unit_count : 1) * sizeof(*units));
    int rc = units ? add_whole(history, samples, is_filtered, units) : -ENOMEM;
    size_t first = history->values.count;

    for (uint32_t i = 0; i < samples->ops.count && rc == 0; i++) {
        const struct op_row *row = samples->ops.items[i].row;
        struct history_value value = {
            .name = query_keep(&history->texts, row->name),
            .type = query_keep(&history->texts, row->type),
            .shapes = query_keep(&history->texts, row->input_shapes),
            .dtypes = query_keep(&history->texts, row->input_dtypes),
            .session = (uint32_t)history->session_count,
        };

        rc = history->texts.failed
                 ? -ENOMEM
                 : median_of(samples, SAMPLED_OPS, &i, 1, units, &value.median_ns);
        value.nth = count_same(history, first, &value);
        if (rc == 0)
            rc = array_push(&history->values, value);
    }
    history->session_count++;
    free(units);
    return rc;
}

/* --- Changes. --- */

static int make_series(struct history *history)
{
    const struct history_value *values = history->values.items;
    size_t count = history->values.count;

    if (count)
        qsort(history->values.items, count, sizeof(*values), compare_values);
    for (size_t first = 0, end; first < count; first = end) {
        struct history_series series = {
            .name = values[first].name,
            .type = values[first].type,
            .shapes = values[first].shapes,
            .first = first,
            .p = NAN,
            .p_corrected = NAN,
        };

        for (end = first + 1; end < count && !compare_identity(&values[first], &values[end]);)
            end++;
        series.count = end - first;
        if (array_push(&history->series, series) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int search_series(struct history *history, uint32_t place, const struct compare_gates *gates)
{
    struct history_series *series = &history->series.items[place];
    const struct history_value *values = &history->values.items[series->first];
    double *numbers = malloc(series->count * sizeof(*numbers));
    struct change_point_array points = {0};
    int rc = numbers ? 0 : -ENOMEM;

    for (size_t i = 0; i < series->count && rc == 0; i++)
        numbers[i] = values[i].median_ns;
    if (rc == 0)
        rc = change_points_find(numbers, series->count, gates->alpha, place, &points, &series->p);
    if (series->count < CHANGE_SERIES_MIN)
        series->p = NAN;
    for (size_t i = 0; i < points.count && rc == 0; i++) {
        const struct change_point *point = &points.items[i];
        const struct history_change change = {
            .series = place,
            .session = values[point->place].session,
            .previous = values[point->place - 1].session,
            .before_ns = point->before,
            .after_ns = point->after,
            .p = point->p,
            .share = NAN,
        };

        if (fabs(point->after - point->before) > gates->threshold * point->before)
            rc = array_push(&history->changes, change);
    }
    array_deinit(&points);
    free(numbers);
    return rc;
}

/* The whole stands alone; ops are many. */
static int correct(struct history *history)
{
    size_t count = history->series.count;
    double *p = calloc(count + 1, sizeof(*p)), *corrected = calloc(count + 1, sizeof(*corrected));
    int rc = p && corrected ? 0 : -ENOMEM;

    for (size_t i = 1; i < count && rc == 0; i++)
        p[i] = history->series.items[i].p;
    if (rc == 0 && count > 1)
        rc = false_discovery_correct(p + 1, count - 1, corrected + 1);
    for (size_t i = 0; i < count && rc == 0; i++)
        history->series.items[i].p_corrected = i ? corrected[i] : history->series.items[0].p;
    free(p);
    free(corrected);
    return rc;
}

/* Leaves out the changes of series that do not stand after the correction; says what the others
 * have to do with those of the whole. */
static void keep_changes(struct history *history, double alpha)
{
    struct history_change *changes = history->changes.items;
    size_t kept = 0;

    for (size_t i = 0; i < history->changes.count; i++) {
        if (!(history->series.items[changes[i].series].p_corrected <= alpha))
            continue;
        changes[kept] = changes[i];
        for (size_t k = 0; k < kept && changes[k].series == 0; k++) {
            if (changes[k].session == changes[kept].session)
                changes[kept].share = (changes[kept].after_ns - changes[kept].before_ns) /
                                      (changes[k].after_ns - changes[k].before_ns);
        }
        kept++;
    }
    history->changes.count = kept;
}

int history_find_changes(struct history *history, const struct compare_gates *gates)
{
    int rc = make_series(history);

    for (uint32_t i = 0; i < history->series.count && rc == 0; i++)
        rc = search_series(history, i, gates);
    if (rc == 0)
        rc = correct(history);
    if (rc == 0)
        keep_changes(history, gates->alpha);
    return rc;
}

void history_deinit(struct history *history)
{
    array_deinit(&history->values);
    array_deinit(&history->series);
    array_deinit(&history->changes);
    query_texts_deinit(&history->texts);
}
