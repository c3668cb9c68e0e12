/* SPDX-License-Identifier: Apache-2.0 */
/* From the command line to a question and a filter, and what all reports do with their lines. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/ops_of_spans.h"
#include "analyze/query/span_filter.h"
#include "analyze/reports/dropped.h"

bool report_filters_by(const struct analyze_options *options, enum filter_subject subject)
{
    for (enum filter_id id = 0; id < FILTERS; id++) {
        if (filter_kinds[id].subject == subject && report_filter_words(options, id))
            return true;
    }
    return false;
}

bool report_filters(const struct analyze_options *options)
{
    return report_filters_by(options, FILTER_OF_OPS) ||
           report_filters_by(options, FILTER_OF_LABELS) ||
           report_filters_by(options, FILTER_OF_LANES);
}

bool report_shows_labels(const struct analyze_options *options)
{
    const struct option_list *types = &options->filters[FILTER_TYPE];

    for (size_t i = 0; i < types->count; i++) {
        if (strcmp(types->items[i], "label") == 0)
            return true;
    }
    return false;
}

static int make_filter(const struct analyze_options *options, struct filter *out_filter,
                       struct diag *diag)
{
    int rc = 0;

    *out_filter = (struct filter){
        .min_ns = analyze_bound_ns(options->min_time_s),
        .max_ns = analyze_bound_ns(options->max_time_s),
        .has_min = !isnan(options->min_time_s),
        .has_max = !isnan(options->max_time_s),
    };
    for (enum filter_id id = 0; id < FILTERS && rc == 0; id++)
        rc = filter_set(out_filter, id, options->filters[id].items,
                        report_filter_words(options, id), diag);
    return rc;
}

/* Of reports whose lines take no time of their own: only operators whose time is within the bounds,
 * on a device where they ran on one. */
static int bound_ops(const struct report *report, struct report_selection *selection,
                     struct diag *diag)
{
    struct filter *filter = &selection->filter;
    ARRAY_OF(int64_t) ids = {0};
    struct ops_answer ops = {0};
    int rc = query_ops(report->source->store, &selection->question, &ops, diag);
    bool failed = false;

    for (size_t i = 0; i < ops.rows.count && rc == 0; i++) {
        const struct op_row *op = &ops.rows.items[i];
        const struct op_cost *cost = &op->cost[op->cost[OP_DEVICE].calls ? OP_DEVICE : OP_HOST];

        if (cost->calls && filter_is_within(filter, cost->end_ns))
            failed |= array_push(&ids, op->op_id) < 0;
    }
    if (rc == 0 && (failed || filter_set_ops(filter, ids.items, ids.count) < 0))
        rc = diag_set(diag, -ENOMEM, "no memory for the operators");
    array_deinit(&ids);
    ops_answer_deinit(&ops);
    return rc;
}

int report_select(const struct report *report, struct report_selection *selection,
                  struct diag *diag)
{
    const struct analyze_options *options = report->options;
    struct ops_question *question = &selection->question;
    int rc;

    *selection = (struct report_selection){0};
    *question = (struct ops_question){
        .session_ids = report->session_ids,
        .session_count = report->session_count,
        .warmups = options->warmup,
        .progress = report->progress,
        .labels = report_shows_labels(options),
        .totals = report->kind->values != REPORT_VALUES_OF_RUNS &&
                  (report->kind->values == REPORT_TOTALS || options->total || options->time ||
                   report->session_count > 1),
    };
    rc = make_filter(options, &selection->filter, diag);
    if (rc == 0 && options->time) {
        rc = selection_parse_window(options->time, &selection->window, diag);
        question->window = &selection->window;
    }
    if (rc == 0 && options->runs)
        rc = selection_parse_runs(options->runs, &question->first_run, &question->last_run, diag);
    if (rc == 0 && report_bounds_ops(report->kind, options))
        rc = bound_ops(report, selection, diag);
    return rc;
}

bool report_bounds_ops(const struct report_kind *kind, const struct analyze_options *options)
{
    return !kind->lines.time_ns && !kind->lines.bounds_itself && report_takes_events(kind) &&
           (!isnan(options->min_time_s) || !isnan(options->max_time_s));
}

void report_selection_deinit(struct report_selection *selection)
{
    filter_deinit(&selection->filter);
}

int report_check_selection(const struct report *report, struct diag *diag)
{
    struct report_selection selection;
    int rc = report_select(report, &selection, diag);

    report_selection_deinit(&selection);
    return rc;
}

static int explain_no_span(const struct spans_answer *spans, size_t count, struct diag *diag)
{
    if (count == 0 && query_has_dropped_events(&spans->basis))
        diag_set(diag, 0, "%s", REPORT_ALL_DROPPED);
    else if (count == 0 && spans->basis.outside_count)
        diag_set(diag, 0, "no event belongs to the runs that are asked for");
    else if (count == 0)
        diag_set(diag, 0, "there is no event in what is asked for");
    else
        diag_set(diag, 0, "none of the %zu events matches", count);
    return REPORT_NOTHING;
}

/* As report_query_span_parts(), all of them in *out_answer. */
static int all_spans(const struct report *report, struct report_selection *selection,
                     struct spans_answer *out_answer, struct diag *diag)
{
    int rc = query_spans(report->source->store, &selection->question, out_answer, diag);

    if (rc == 0 && span_filter(out_answer, &selection->filter) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the events");
    if (rc == 0 && selection->filter.gave_up)
        rc = filter_complain(&selection->filter, diag);
    for (size_t i = 0; i < out_answer->spans.count && rc == 0; i++) {
        if (out_answer->spans.items[i].is_shown)
            return 0;
    }
    return rc ? rc : explain_no_span(out_answer, out_answer->spans.count, diag);
}

/* Between the query and a report: filters. */
struct filtering {
    const struct report_parts *parts;
    struct filter *filter;
    struct span_filter_parts filtered;
    size_t count;
    bool is_any_shown;
};

static int begin_filtering(void *user, const struct spans_answer *spans)
{
    struct filtering *filtering = user;
    int rc = span_filter_begin(&filtering->filtered, spans, filtering->filter);

    filtering->count = 0;
    filtering->is_any_shown = false;
    return rc ? rc : filtering->parts->begin(filtering->parts->user, spans);
}

static int take_filtered(void *user, struct spans_answer *spans)
{
    struct filtering *filtering = user;
    int rc = span_filter_add(&filtering->filtered, spans);

    for (size_t i = 0; i < spans->spans.count; i++)
        filtering->count += spans->spans.items[i].frame != SPAN_FRAME_AGAIN;
    for (size_t i = 0; i < spans->spans.count && !filtering->is_any_shown && rc == 0; i++)
        filtering->is_any_shown = spans->spans.items[i].is_shown;
    return rc ? rc : filtering->parts->take(filtering->parts->user, spans);
}

int report_query_span_parts(const struct report *report, struct report_selection *selection,
                            const struct report_parts *parts, struct spans_answer *out_answer,
                            struct diag *diag)
{
    struct filtering filtering = {.parts = parts, .filter = &selection->filter};
    const struct span_parts to = {.user = &filtering,
                                  .begin = begin_filtering,
                                  .take = take_filtered,
                                  .frames = parts->frames,
                                  .cuts = parts->cuts};
    int rc = query_span_parts(report->source->store, &selection->question, &to, out_answer, diag);

    if (rc == 0)
        span_filter_finish(&filtering.filtered, out_answer);
    span_filter_deinit(&filtering.filtered);
    if (rc == 0 && selection->filter.gave_up)
        rc = filter_complain(&selection->filter, diag);
    if (rc == 0 && !filtering.is_any_shown)
        rc = explain_no_span(out_answer, filtering.count, diag);
    return rc;
}

int report_on_span_parts(const struct report *report, const struct report_parts *parts,
                         int (*emit)(const struct report *report, void *user,
                                     struct spans_answer *spans, struct diag *diag),
                         struct diag *diag)
{
    struct report_selection selection;
    struct spans_answer spans = {0};
    int rc = report_select(report, &selection, diag);

    if (rc == 0)
        rc = report_query_span_parts(report, &selection, parts, &spans, diag);
    if (rc == 0)
        rc = emit(report, parts->user, &spans, diag);
    if (rc == 0)
        report_footer(report, &spans.basis);
    spans_answer_deinit(&spans);
    report_selection_deinit(&selection);
    return rc;
}

int report_on_spans(const struct report *report,
                    int (*emit)(const struct report *report, struct spans_answer *spans,
                                struct diag *diag),
                    struct diag *diag)
{
    struct report_selection selection;
    struct spans_answer spans = {0};
    int rc = report_select(report, &selection, diag);

    if (rc == 0)
        rc = all_spans(report, &selection, &spans, diag);
    if (rc == 0)
        rc = emit(report, &spans, diag);
    if (rc == 0)
        report_footer(report, &spans.basis);
    spans_answer_deinit(&spans);
    report_selection_deinit(&selection);
    return rc;
}

static int begin_sums(void *user, const struct spans_answer *spans)
{
    return ops_sums_begin(spans, user);
}

static int add_sums(void *user, struct spans_answer *spans)
{
    return ops_sums_add(user, spans);
}

int report_query_ops(const struct report *report, struct report_selection *selection,
                     struct ops_answer *out_answer, struct diag *diag)
{
    const struct ops_question *question = &selection->question;
    struct ops_sums sums = {0};
    const struct report_parts parts = {&sums, begin_sums, add_sums, SPAN_FRAMES_LEAVES,
                                       SPAN_CUT_WAITS};
    struct spans_answer spans;
    int rc;

    if (!filter_needs_spans(&selection->filter))
        return query_ops(report->source->store, question, out_answer, diag);
    *out_answer = (struct ops_answer){0};
    rc = report_query_span_parts(report, selection, &parts, &spans, diag);
    if (rc == 0)
        rc = ops_sums_finish(&sums, &spans, question->labels, question->merge, out_answer);
    if (rc == -ENOMEM)
        diag_set(diag, rc, "no memory for the ops of this source");
    ops_sums_deinit(&sums);
    spans_answer_deinit(&spans);
    return rc;
}

bool report_is_for_programs(const struct report *report)
{
    return report->options->format == OUT_FORMAT_JSON || report->options->format == OUT_FORMAT_CSV;
}

const char *report_order_by(const struct report *report)
{
    const struct analyze_options *options = report->options;

    if (options->sort_by)
        return options->sort_by;
    return options->order_by ? options->order_by : report->kind->lines.order_by;
}

int64_t report_top(const struct report *report)
{
    const struct analyze_options *options = report->options;

    if (options->row_limit != TOP_OF_REPORT)
        return options->row_limit < 0 ? 0 : options->row_limit;
    return options->top == TOP_OF_REPORT ? report->kind->lines.top : options->top;
}

/* Copies the lines within --min-time and --max-time; returns how many. */
static size_t bound_lines(const struct report *report, const char *items, size_t count,
                          size_t item_bytes, char *kept)
{
    const struct analyze_options *options = report->options;
    size_t kept_count = 0;

    for (size_t i = 0; i < count; i++) {
        const char *line = items + i * item_bytes;
        double time_ns = report->kind->lines.time_ns ? report->kind->lines.time_ns(line) : NAN;

        if (!report_bounds_ops(report->kind, options) &&
            ((!isnan(options->min_time_s) && !(time_ns >= analyze_bound_ns(options->min_time_s))) ||
             (!isnan(options->max_time_s) && !(time_ns <= analyze_bound_ns(options->max_time_s)))))
            continue;
        memcpy(kept + kept_count++ * item_bytes, line, item_bytes);
    }
    return kept_count;
}

/* The columns of a report. People see the session when there are several. */
static struct line_column *copy_columns(const struct report *report)
{
    size_t count = report->kind->lines.column_count;
    struct line_column *columns = malloc(count * sizeof(*columns));

    for (size_t i = 0; i < count && columns; i++) {
        columns[i] = report->kind->lines.columns[i];
        if (strcmp(columns[i].out.name, "session_id") == 0)
            columns[i].out.data_only = report->session_count < 2;
    }
    return columns;
}

int report_emit_lines(const struct report *report, const struct out_section *section,
                      const void *items, size_t count, size_t item_bytes, const void *context,
                      struct diag *diag)
{
    char *kept = malloc(count ? count * item_bytes : 1);
    struct line_column *columns = copy_columns(report);
    struct lines lines = {
        .columns = columns,
        .column_count = report->kind->lines.column_count,
        .items = kept,
        .item_bytes = item_bytes,
        .context = context,
        .order_by = report_order_by(report),
        .top = report_top(report),
        .keeps_order = report->options->order_by || report->options->sort_by,
    };
    size_t shown;
    int rc;

    if (!kept || !columns) {
        free(kept);
        free(columns);
        return diag_set(diag, -ENOMEM, "no memory for the table");
    }
    lines.count = bound_lines(report, items, count, item_bytes, kept);
    if (lines.count) {
        rc = lines_emit(report->out, section, &lines, &shown, diag);
    } else {
        diag_set(diag, 0, "nothing matches what is asked for");
        rc = REPORT_NOTHING;
    }
    if (rc == 0 && shown < lines.count)
        out_note(report->out, OUT_NOTE_PLAIN, "%zu of %zu lines are shown; -t 0 shows all.", shown,
                 lines.count);
    free(kept);
    free(columns);
    return rc;
}
