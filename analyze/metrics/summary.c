/* SPDX-License-Identifier: Apache-2.0 */
/* Times of ops by run, their means, and the sums by type. */
#include "analyze/metrics/summary.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/place_map.h"
#include "analyze/query/op_class.h"
#include "analyze/stats/describe.h"
#include "base/text_buffer.h"

/* What an op takes in a run. */
struct sample {
    uint32_t run;
    double ns;
};

struct samples ARRAY_FIELDS(struct sample);

static int compare_samples(const void *a, const void *b)
{
    const struct sample *left = a, *right = b;

    return (left->run > right->run) - (left->run < right->run);
}

/* They often are: run by run. */
static void sort_samples(struct samples *samples)
{
    for (size_t i = 1; i < samples->count; i++) {
        if (compare_samples(&samples->items[i - 1], &samples->items[i]) > 0) {
            qsort(samples->items, samples->count, sizeof(*samples->items), compare_samples);
            return;
        }
    }
}

/* Adds to the last one where that is of the same run. */
static int add_sample(struct samples *samples, uint32_t run, double ns)
{
    struct sample *last = samples->count ? &samples->items[samples->count - 1] : NULL;

    if (!last || last->run != run)
        return array_push(samples, ((struct sample){run, ns}));
    last->ns += ns;
    return 0;
}

/* What each run took, in order of that: *out_sums is the caller's. Returns 0 or -ENOMEM. */
static int sum_by_run(struct samples *samples, double **out_sums, size_t *out_count)
{
    double *sums = malloc((samples->count + 1) * sizeof(*sums));
    size_t count = 0;

    if (!sums)
        return -ENOMEM;
    sort_samples(samples);
    for (size_t i = 0; i < samples->count; i++) {
        if (i && samples->items[i].run == samples->items[i - 1].run)
            sums[count - 1] += samples->items[i].ns;
        else
            sums[count++] = samples->items[i].ns;
    }
    stats_sort(sums, count);
    *out_sums = sums;
    *out_count = count;
    return 0;
}

/* --- Ops. --- */

static void add_text(struct place_key *key, const char *text)
{
    place_key_add(key, text ? text : "", text ? strlen(text) + 1 : 0);
}

/* Ops of one session are what they are, but for what is launched in several ways; those of several
 * sessions meet by what describes them. */
static struct place_key key_of(const struct spans_answer *spans, uint32_t op)
{
    const struct op_row *row = &spans->ops.items[op];
    struct place_key key = {.low = op};

    if (spans->windows.count < 2 && !op_is_launched(row))
        return key;
    key = (struct place_key){0};
    add_text(&key, row->name);
    add_text(&key, row->type);
    add_text(&key, row->node_id);
    add_text(&key, row->device);
    add_text(&key, row->input_shapes);
    add_text(&key, row->input_dtypes);
    return key;
}

/* Lines of ops: for each op of the spans its place in `ops`, or PLACE_NONE; and all that is added up
 * by line and run until it is known which side counts. */
struct summary_side {
    ARRAY_OF(struct summary_op) ops;
    ARRAY_OF(struct samples) samples; /* beside ops */
    struct place_map map;
    uint32_t *line_of;
};

struct summary_parts {
    struct summary_side sides[OP_SIDES];
    struct samples launches;
    bool *seen; /* by op */
    bool has_device;
};

static int find_line(const struct spans_answer *spans, struct summary_side *lines,
                     const struct span *span, uint32_t *out_line)
{
    struct place_key key;
    int rc = 0;

    *out_line = lines->line_of[span->op];
    if (*out_line != PLACE_NONE)
        return 0;
    key = key_of(spans, span->op);
    *out_line = place_map_find(&lines->map, key);
    if (*out_line == PLACE_NONE) {
        struct summary_op line = {.op = &spans->ops.items[span->op], .start_ns = span->start_ns};

        *out_line = (uint32_t)lines->ops.count;
        rc = array_push(&lines->ops, line);
        if (rc == 0)
            rc = array_push(&lines->samples, (struct samples){0});
        if (rc == 0)
            rc = place_map_set(&lines->map, key, *out_line);
    }
    lines->line_of[span->op] = *out_line;
    return rc;
}

/* Runs that never ended are in no mean, unless there is no other. */
static bool is_counted(const struct spans_answer *spans, const struct span *span)
{
    if (!span->is_shown || spans->op_kinds[span->op] != SPAN_OP)
        return false;
    return !spans->basis.is_per_run || !spans->basis.run_ns_count || span->run == SPAN_NONE ||
           spans->runs.items[span->run].end_ns != STORE_NULL;
}

/* Calls of earlier parts for which something of this one waits are launches, too. */
static int add_earlier(struct summary_parts *parts, const struct spans_answer *spans)
{
    int rc = 0;

    for (size_t i = 0; i < spans->earlier_count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[spans->spans.count + i];

        if (span->launch == SPAN_NONE && is_counted(spans, span))
            rc = add_sample(&parts->launches, spans->basis.is_per_run ? span->run : 0,
                            (double)span->self_ns);
    }
    return rc;
}

static int add_spans(struct summary_parts *parts, const struct spans_answer *spans)
{
    int rc = add_earlier(parts, spans);

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        bool is_device = span_is_device(spans, span);
        struct summary_side *side = &parts->sides[is_device ? OP_DEVICE : OP_HOST];
        uint32_t run = spans->basis.is_per_run ? span->run : 0, line = 0;
        double own_ns = (double)span_own_ns(spans, span);

        parts->seen[span->op] = true;
        if (!is_counted(spans, span))
            continue;
        parts->has_device |= is_device;
        if (!is_device && span->launch != SPAN_NONE)
            rc = add_sample(&parts->launches, run, own_ns);
        if (parts->has_device && !is_device)
            continue; /* the host does not count */
        if (rc == 0)
            rc = find_line(spans, side, span, &line);
        if (rc == 0) {
            struct summary_op *op = &side->ops.items[line];

            op->calls += span->frame != SPAN_FRAME_AGAIN;
            op->start_ns = span->start_ns < op->start_ns ? span->start_ns : op->start_ns;
            rc = add_sample(&side->samples.items[line], run, own_ns);
        }
    }
    return rc;
}

static int measure_ops(struct samples *samples, struct summary *summary)
{
    double *ns;
    size_t count;
    int rc = 0;

    for (size_t i = 0; i < summary->ops.count && rc == 0; i++) {
        struct summary_op *op = &summary->ops.items[i];

        rc = sum_by_run(&samples[i], &ns, &count);
        array_deinit(&samples[i]);
        if (rc == 0) {
            double share = fmin(1, (double)count / (double)summary->run_count);
            struct stats_reducer all = {0};

            for (size_t k = 0; k < count; k++)
                stats_add(&all, ns[k]);
            op->run_count = count;
            op->mean_ns = stats_trimmed_mean(ns, count);
            op->plain_mean_ns = stats_reduced(&all, STATS_MEAN);
            op->median_ns = stats_median(ns, count);
            op->min_ns = ns[0];
            op->max_ns = ns[count - 1];
            op->part_ns = op->mean_ns * share;
            summary->instructions_ns += op->part_ns;
            free(ns);
        }
    }
    return rc;
}

static int compare_starts(const void *a, const void *b)
{
    const struct summary_op *left = a, *right = b;

    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return (left->op > right->op) - (left->op < right->op);
}

/* --- Types. --- */

static int compare_types(const void *a, const void *b)
{
    const struct summary_type *left = a, *right = b;

    if (left->total_ns != right->total_ns)
        return left->total_ns > right->total_ns ? -1 : 1;
    if (left->op_count != right->op_count)
        return left->op_count > right->op_count ? -1 : 1;
    return strcmp(left->type, right->type);
}

/* The first of a JSON list of texts. */
static void add_first(struct text_buffer *text, const char *json)
{
    cJSON *list = json ? cJSON_Parse(json) : NULL;
    const char *first = cJSON_GetStringValue(cJSON_GetArrayItem(list, 0));

    text_buffer_print(text, "%s", first ? first : "");
    cJSON_Delete(list);
}

/* [[1,3],[4]] as 1x3, 4; what is not known as ?. */
static void add_sizes(struct text_buffer *text, const char *json)
{
    cJSON *list = json ? cJSON_Parse(json) : NULL;
    const cJSON *shape, *size;

    cJSON_ArrayForEach(shape, list)
    {
        text_buffer_print(text, "%s%s", shape == list->child ? "" : ", ",
                          cJSON_IsArray(shape) ? "" : "?");
        cJSON_ArrayForEach(size, shape)
        {
            text_buffer_print(text, "%s", size == shape->child ? "" : "x");
            if (cJSON_IsNumber(size))
                text_buffer_print(text, "%.0f", size->valuedouble);
            else
                text_buffer_print(text, "?");
        }
    }
    cJSON_Delete(list);
}

/* NULL without memory. */
static const char *type_of(struct summary *summary, const struct op_row *op, bool is_detailed)
{
    struct text_buffer text = {0};
    const char *kept;

    if (!is_detailed)
        return op_group_name(op);
    text_buffer_print(&text, "%s<", op_group_name(op));
    add_first(&text, op->output_dtypes);
    text_buffer_print(&text, "(");
    add_sizes(&text, op->input_shapes);
    text_buffer_print(&text, ")>");
    kept = text.failed ? NULL : query_keep(&summary->texts, text_buffer_text(&text));
    text_buffer_deinit(&text);
    return kept;
}

static int sum_types(struct summary *summary, bool is_detailed)
{
    struct place_map map = {0};
    int rc = 0;

    for (size_t i = 0; i < summary->ops.count && rc == 0; i++) {
        const struct summary_op *op = &summary->ops.items[i];
        const char *name = type_of(summary, op->op, is_detailed);
        struct place_key key = {0};
        uint32_t place;

        if (!name) {
            rc = -ENOMEM;
            break;
        }
        add_text(&key, name);
        place = place_map_find(&map, key);
        if (place == PLACE_NONE) {
            struct summary_type type = {.type = name};

            place = (uint32_t)summary->types.count;
            rc = array_push(&summary->types, type);
            if (rc == 0)
                rc = place_map_set(&map, key, place);
        }
        if (rc == 0) {
            summary->types.items[place].op_count++;
            summary->types.items[place].calls += op->calls;
            summary->types.items[place].total_ns += op->part_ns;
        }
    }
    if (rc == 0 && summary->types.count)
        qsort(summary->types.items, summary->types.count, sizeof(*summary->types.items),
              compare_types);
    place_map_deinit(&map);
    return rc;
}

/* --- Whole runs. --- */

static int measure_launches(struct samples *samples, struct summary *summary)
{
    double *ns;
    size_t count;
    int rc;

    summary->launch_ns = NAN;
    if (!samples->count)
        return 0;
    rc = sum_by_run(samples, &ns, &count);
    if (rc < 0)
        return rc;
    summary->launch_ns = stats_trimmed_mean(ns, count);
    free(ns);
    return 0;
}

struct summary_runs summary_of_runs(const double *run_ns, size_t count)
{
    struct summary_runs runs = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    double sum = 0;

    if (!count)
        return runs;
    for (size_t i = 0; i < count; i++)
        sum += run_ns[i];
    return (struct summary_runs){
        .total_ns = stats_trimmed_mean(run_ns, count),
        .min_ns = run_ns[0],
        .max_ns = run_ns[count - 1],
        .mean_ns = sum / (double)count,
        .median_ns = stats_median(run_ns, count),
        .p90_ns = stats_percentile(run_ns, count, 90),
        .p95_ns = stats_percentile(run_ns, count, 95),
        .p99_ns = stats_percentile(run_ns, count, 99),
    };
}

int64_t summary_batch_of(const struct op_row *op)
{
    cJSON *params, *shapes;
    const cJSON *input, *shape, *size;
    int64_t batch = STORE_NULL;

    if (!op->params || !op->input_shapes || !strstr(op->params, "\"model_inputs\""))
        return STORE_NULL;
    params = cJSON_Parse(op->params);
    shapes = cJSON_Parse(op->input_shapes);
    input = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(params, "model_inputs"), 0);
    if (cJSON_IsNumber(input)) {
        shape = cJSON_GetArrayItem(shapes, input->valueint);
        size = cJSON_IsArray(shape) ? cJSON_GetArrayItem(shape, 0) : NULL;
        if (cJSON_IsNumber(size) && size->valuedouble >= 1 && size->valuedouble < 1e15)
            batch = (int64_t)size->valuedouble;
    }
    cJSON_Delete(params);
    cJSON_Delete(shapes);
    return batch;
}

static void find_batch(struct summary *summary)
{
    summary->batch = STORE_NULL;
    for (size_t i = 0; i < summary->ops.count && summary->batch == STORE_NULL; i++) {
        summary->batch = summary_batch_of(summary->ops.items[i].op);
        summary->batch_op = summary->ops.items[i].op->name;
    }
}

/* --- All of it. --- */

static void count_not_run(const struct spans_answer *spans, const bool *seen,
                          struct summary *summary)
{
    for (size_t i = 0; i < spans->ops.count; i++)
        summary->not_run_count += !seen[i] && spans->ops.items[i].node_id;
}

static void deinit_side(struct summary_side *side)
{
    array_deinit(&side->ops);
    for (size_t i = 0; i < side->samples.count; i++)
        array_deinit(&side->samples.items[i]);
    array_deinit(&side->samples);
    place_map_deinit(&side->map);
    free(side->line_of);
}

void summary_parts_destroy(struct summary_parts **parts)
{
    if (!*parts)
        return;
    for (int side = 0; side < OP_SIDES; side++)
        deinit_side(&(*parts)->sides[side]);
    array_deinit(&(*parts)->launches);
    free((*parts)->seen);
    free(*parts);
    *parts = NULL;
}

int summary_begin(const struct spans_answer *spans, struct summary_parts **out_parts)
{
    size_t op_count = spans->ops.count ? spans->ops.count : 1;
    struct summary_parts *parts = calloc(1, sizeof(*parts));

    summary_parts_destroy(out_parts);
    *out_parts = parts;
    if (!parts)
        return -ENOMEM;
    parts->seen = calloc(op_count, sizeof(*parts->seen));
    for (int side = 0; side < OP_SIDES; side++) {
        uint32_t *line_of = malloc(op_count * sizeof(*line_of));

        parts->sides[side].line_of = line_of;
        if (!line_of || !parts->seen)
            return -ENOMEM;
        for (size_t i = 0; i < op_count; i++)
            line_of[i] = PLACE_NONE;
    }
    return 0;
}

int summary_add(struct summary_parts *parts, const struct spans_answer *spans)
{
    return add_spans(parts, spans);
}

int summary_finish(struct summary_parts *parts, const struct spans_answer *spans, bool is_detailed,
                   struct summary *out_summary)
{
    struct summary_side *side;
    int rc;

    *out_summary =
        (struct summary){.side = parts->has_device ? OP_DEVICE : OP_HOST, .run_count = 1};
    side = &parts->sides[out_summary->side];
    out_summary->ops.items = side->ops.items;
    out_summary->ops.count = side->ops.count;
    out_summary->ops.capacity = side->ops.capacity;
    side->ops.items = NULL;
    array_deinit(&side->ops);
    if (spans->basis.is_per_run)
        out_summary->run_count =
            spans->basis.run_ns_count ? spans->basis.run_ns_count : (size_t)spans->basis.runs;
    rc = measure_ops(side->samples.items, out_summary);
    if (rc == 0 && out_summary->ops.count)
        qsort(out_summary->ops.items, out_summary->ops.count, sizeof(*out_summary->ops.items),
              compare_starts);
    for (size_t i = 0; i < out_summary->ops.count && rc == 0; i++)
        out_summary->ops.items[i].position = i;
    if (rc == 0)
        rc = sum_types(out_summary, is_detailed);
    if (rc == 0)
        rc = measure_launches(&parts->launches, out_summary);
    if (rc == 0) {
        count_not_run(spans, parts->seen, out_summary);
        find_batch(out_summary);
    }
    return rc;
}

int summary_make(const struct spans_answer *spans, bool is_detailed, struct summary *out_summary)
{
    struct summary_parts *parts = NULL;
    int rc = summary_begin(spans, &parts);

    *out_summary = (struct summary){0};
    if (rc == 0)
        rc = summary_add(parts, spans);
    if (rc == 0)
        rc = summary_finish(parts, spans, is_detailed, out_summary);
    summary_parts_destroy(&parts);
    return rc;
}

void summary_deinit(struct summary *summary)
{
    array_deinit(&summary->ops);
    array_deinit(&summary->types);
    query_texts_deinit(&summary->texts);
}
