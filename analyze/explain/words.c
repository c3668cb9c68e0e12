/* SPDX-License-Identifier: Apache-2.0 */
/* What the words in the SQL of --explain stand for. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/explain/private.h"
#include "analyze/reports/compare/sides.h"

static void add_sessions(struct explanation *explanation)
{
    for (size_t i = 0; i < explanation->report->session_count; i++)
        text_buffer_print(&explanation->text, "%s%" PRId64, i ? ", " : "",
                          explanation->report->session_ids[i]);
}

static bool is_by_number(const struct explanation *explanation)
{
    const struct ops_question *question = &explanation->selection.question;

    return question->first_run || question->last_run;
}

void explain_add_counted(const struct explanation *explanation, struct text_buffer *text)
{
    const struct ops_question *question = &explanation->selection.question;

    if (!is_by_number(explanation))
        text_buffer_print(text, "%s", explanation->counted);
    else if (question->last_run == INT64_MAX)
        text_buffer_print(text, "run >= %" PRId64, question->first_run);
    else
        text_buffer_print(text, "run BETWEEN %" PRId64 " AND %" PRId64, question->first_run,
                          question->last_run);
    if (explanation->only_with_ops)
        text_buffer_print(text, " AND without_ops = 0");
}

static void add_counted(struct explanation *explanation)
{
    explain_add_counted(explanation, &explanation->text);
    if (explanation->only_whole)
        text_buffer_print(&explanation->text, "%s", EXPLAIN_IS_WHOLE);
}

bool explain_is_per_run(const struct explanation *explanation)
{
    return explanation->has_runs && !explanation->selection.question.totals &&
           !explanation->lacks_whole;
}

static void add_in_runs(struct explanation *explanation)
{
    if (!explanation->has_runs)
        return;
    text_buffer_print(&explanation->text,
                      explain_is_per_run(explanation) || is_by_number(explanation)
                          ? "\n       AND (l.session_id, e.run) IN"
                            " (SELECT session_id, run FROM counted_run)"
                          : "\n       AND (e.run IS NULL OR (l.session_id, e.run) IN"
                            " (SELECT session_id, run FROM counted_run))");
}

/* Conditions on the start of rows, whose columns are named with `prefix`es. */
static void add_window(struct explanation *explanation, const char *before,
                       const char *session_prefix, const char *start_prefix)
{
    const struct report *report = explanation->report;

    if (!explanation->selection.question.window)
        return;
    for (size_t i = 0; i < report->sessions->rows.count; i++) {
        const struct session_row *session = &report->sessions->rows.items[i];
        int64_t from_ns, until_ns;

        selection_resolve_window(&explanation->selection.window, session->start_ns, session->end_ns,
                                 &from_ns, &until_ns);
        text_buffer_print(&explanation->text,
                          "%s%ssession_id = %" PRId64 " AND %sstart_ns >= %" PRId64
                          " AND %sstart_ns < %" PRId64,
                          before, session_prefix, session->session_id, start_prefix, from_ns,
                          start_prefix, until_ns);
        before = "\n         OR ";
    }
    text_buffer_add(&explanation->text, ")", 1);
}

/* A row for each session: from when until when memory is asked about, with --time and --runs. */
static void add_bounds_of_sessions(struct explanation *explanation)
{
    const struct report *report = explanation->report;
    const char *before = "";

    if (!explanation->selection.question.window) {
        text_buffer_print(&explanation->text, "%s",
                          report->options->runs
                              ? "SELECT * FROM of_runs"
                              : "SELECT session_id, 0 AS from_ns, 9223372036854775807 AS until_ns\n"
                                "      FROM session");
        return;
    }
    for (size_t i = 0; i < report->sessions->rows.count; i++) {
        const struct session_row *session = &report->sessions->rows.items[i];
        int64_t from_ns, until_ns;

        selection_resolve_window(&explanation->selection.window, session->start_ns, session->end_ns,
                                 &from_ns, &until_ns);
        text_buffer_print(&explanation->text,
                          "%sSELECT %" PRId64 " AS session_id, %" PRId64 " AS from_ns, %" PRId64
                          " AS until_ns",
                          before, session->session_id, from_ns, until_ns);
        before = "\n    UNION ALL ";
    }
}

static void add_in_time(struct explanation *explanation)
{
    add_window(explanation, "\n       AND (", "l.", "e.");
}

static void add_runs_in_time(struct explanation *explanation)
{
    add_window(explanation, "\n WHERE (", "", "");
}

void explain_add_quoted(struct explanation *explanation, const char *text)
{
    text_buffer_add(&explanation->text, "'", 1);
    for (; *text; text++)
        text_buffer_print(&explanation->text, *text == '\'' ? "''" : "%c", *text);
    text_buffer_add(&explanation->text, "'", 1);
}

/* --- What is chosen of the spans. --- */

/* Begins a condition. */
static void add_condition(struct explanation *explanation, const char **joint)
{
    text_buffer_print(&explanation->text, "%s", *joint);
    *joint = "\n       AND ";
}

/* Ids in a list, of the rows of `ids`, a condition on `column`. */
static void add_ids(struct explanation *explanation, const struct id_array *ids)
{
    for (size_t i = 0; i < ids->count; i++)
        text_buffer_print(&explanation->text, "%s%" PRId64, i ? ", " : "", ids->items[i]);
}

/* The condition of a filter (query/filters.def). */
static void add_filter_sql(struct explanation *explanation, const struct filter_value *value,
                           const char *sql)
{
    while (*sql) {
        size_t plain = strcspn(sql, "{");

        text_buffer_add(&explanation->text, sql, plain);
        sql += plain;
        if (strncmp(sql, "{words}", 7) == 0) {
            for (size_t i = 0; i < value->count; i++) {
                text_buffer_print(&explanation->text, "%s", i ? ", " : "");
                explain_add_quoted(explanation, value->words[i]);
            }
        } else if (strncmp(sql, "{length}", 8) == 0) {
            text_buffer_print(&explanation->text, "%zu", strlen(value->words[0]) + 1);
        }
        sql += *sql ? strcspn(sql, "}") + 1 : 0;
    }
}

static void add_chosen(struct explanation *explanation)
{
    const struct filter *filter = &explanation->selection.filter;
    const char *joint = " WHERE ";

    for (int i = 0; i < FILTERS; i++) {
        if (filter->given[i].count && filter_kinds[i].sql) {
            add_condition(explanation, &joint);
            add_filter_sql(explanation, &filter->given[i], filter_kinds[i].sql);
        }
    }
    if (filter_wants_ids(filter, FILTER_OF_OPS)) {
        add_condition(explanation, &joint);
        text_buffer_print(&explanation->text, "op_id IN (");
        add_ids(explanation, &explanation->op_ids);
        text_buffer_print(&explanation->text, ")");
    }
    if (filter_wants_ids(filter, FILTER_OF_LANES)) {
        add_condition(explanation, &joint);
        text_buffer_print(&explanation->text, "lane_id IN (");
        add_ids(explanation, &explanation->lane_ids);
        text_buffer_print(&explanation->text, ")");
    }
    if (filter_is_of(filter, FILTER_OF_LABELS)) {
        add_condition(explanation, &joint);
        text_buffer_print(&explanation->text, "event_id IN (SELECT event_id FROM labelled)");
    }
}

static void add_labels(struct explanation *explanation)
{
    add_ids(explanation, &explanation->label_ids);
}

/* Ops of one session are what they are; those of several meet by what describes them. */
static void add_op_key(struct explanation *explanation)
{
    text_buffer_print(&explanation->text,
                      explanation->report->session_count < 2
                          ? "op_id"
                          : "name, type, node_id, op_device, input_shapes, input_dtypes");
}

/* The lines of the report ops: kernels with other launch parameters are one, unless --group-by
 * params tells them apart. */
static void add_line_key(struct explanation *explanation)
{
    const char *group_by = explanation->report->options->group_by;
    bool by_params = group_by && strcmp(group_by, "params") == 0;
    bool is_of_one = explanation->report->session_count < 2;

    if (is_of_one && !by_params)
        text_buffer_print(&explanation->text,
                          "CASE WHEN type IN ('kernel', 'copy', 'memset') THEN 0 ELSE op_id END, "
                          "name, type, node_id, op_device, input_shapes, input_dtypes");
    else
        add_op_key(explanation);
    if (by_params && !is_of_one)
        text_buffer_print(&explanation->text, ", params");
}

/* What is asked for, else the devices' where `rows` (a table and conditions) have any. */
static void add_side_of(struct explanation *explanation, const char *rows)
{
    int only = explanation->report->options->print_only;

    if (only == PRINT_HOST || only == PRINT_DEVICE)
        text_buffer_print(&explanation->text, "'%s'", only == PRINT_HOST ? "host" : "device");
    else
        text_buffer_print(&explanation->text,
                          "iif(EXISTS (SELECT 1 FROM %s side = 'device'), 'device', 'host')", rows);
}

static void add_op_side(struct explanation *explanation)
{
    add_side_of(explanation, explanation->selection.question.labels
                                 ? "counted_span WHERE type NOT IN ('phase', 'mark', 'counter') AND"
                                 : "counted_span WHERE type NOT IN ('phase', 'mark', 'counter', "
                                   "'label') AND");
}

/* Nobody asks for self times on hosts where the lines are devices'. */
static void add_own_wanted(struct explanation *explanation)
{
    if (!explanation->is_of_one_side)
        return;
    text_buffer_print(&explanation->text, "\n               AND 'host' = ");
    add_op_side(explanation);
}

/* --aggregate and --aggregate-by. */
static void add_reduced(struct explanation *explanation)
{
    static const char *const reductions[] = {"max", "min", "sum", "avg"};

    text_buffer_print(&explanation->text, "%s",
                      reductions[explanation->report->options->aggregate]);
}

static void add_reduced_type(struct explanation *explanation)
{
    text_buffer_print(&explanation->text, "%s",
                      explanation->report->options->aggregate_by == CHOICE_NONE ? "'all'" : "type");
}

/* --min-time and --max-time. */
static void add_bounds_on(struct explanation *explanation, const char *time, const char *joint)
{
    const struct analyze_options *options = explanation->report->options;

    if (!isnan(options->min_time_s)) {
        text_buffer_print(&explanation->text, "%s%s >= %.17g", joint, time,
                          analyze_bound_ns(options->min_time_s));
        joint = " AND ";
    }
    if (!isnan(options->max_time_s))
        text_buffer_print(&explanation->text, "%s%s <= %.17g", joint, time,
                          analyze_bound_ns(options->max_time_s));
}

static void add_bounds(struct explanation *explanation)
{
    add_bounds_on(explanation, explanation->report->kind->explain.time, "\n WHERE ");
}

/* The same in a SELECT that groups, whose columns do not have the time. */
static void add_having(struct explanation *explanation)
{
    add_bounds_on(explanation, explanation->report->kind->explain.time, "\nHAVING ");
}

/* For a line that takes no time. */
static void add_zero_is_within(struct explanation *explanation)
{
    add_bounds_on(explanation, "0", "\n   AND ");
}

/* --group-by, word by word: what the report says of each; N of stack:N. */
static void add_groups(struct explanation *explanation, bool is_key)
{
    const char *at = explanation->report->options->group_by;

    if (!at)
        at = explanation->report->kind->explain.groups->word;
    while (*at) {
        const struct explain_group *group = explanation->report->kind->explain.groups;
        size_t length = strcspn(at, ",:");

        while (group->word &&
               (strlen(group->word) != length || strncmp(group->word, at, length) != 0))
            group++;
        if (group->word && is_key)
            text_buffer_print(&explanation->text, "%s", group->key);
        else if (group->word)
            text_buffer_print(&explanation->text, group->columns,
                              at[length] == ':' ? strtol(at + length + 1, NULL, 10) : 0);
        at += strcspn(at, ",");
        at += *at == ',';
    }
}

static void add_grouped(struct explanation *explanation)
{
    add_groups(explanation, false);
}

static void add_group_key(struct explanation *explanation)
{
    add_groups(explanation, true);
}

/* Behind an event_id. */
static void add_is_chosen(struct explanation *explanation)
{
    text_buffer_print(&explanation->text, "%s",
                      report_filters(explanation->report->options)
                          ? "IN (SELECT event_id FROM counted_span)"
                          : "IS NOT NULL");
}

static void add_filtered(struct explanation *explanation)
{
    text_buffer_print(&explanation->text, "%d", report_filters(explanation->report->options));
}

static void add_model(struct explanation *explanation)
{
    if (explanation->report->options->model)
        explain_add_quoted(explanation, explanation->report->options->model);
    else
        text_buffer_print(&explanation->text, "NULL");
}

static void add_side(struct explanation *explanation, int side)
{
    text_buffer_print(&explanation->text, "%s", explanation->sides[side].text.text);
}

static void add_base(struct explanation *explanation)
{
    add_side(explanation, ALIGN_BASE);
}

static void add_new(struct explanation *explanation)
{
    add_side(explanation, ALIGN_NEW);
}

static void add_no_labels(struct explanation *explanation)
{
    if (!explanation->selection.question.labels)
        text_buffer_print(&explanation->text, ", 'label'");
}

static void add_divisor(struct explanation *explanation)
{
    text_buffer_print(&explanation->text,
                      explain_is_per_run(explanation) ? "(SELECT count(*) FROM counted_run)" : "1");
}

static void add_per_run(struct explanation *explanation)
{
    text_buffer_print(&explanation->text, "%d", explain_is_per_run(explanation));
}

static void add_by_time(struct explanation *explanation)
{
    text_buffer_print(&explanation->text, "%d", explanation->report->options->time != NULL);
}

static void add_top_time(struct explanation *explanation)
{
    static const char *const times[] = {"own_ns", "kern_ns", "dur_ns - kern_ns"};

    text_buffer_print(&explanation->text, "%s", times[explanation->report->options->top_end_key]);
}

/* The same of roll-ups. */
static void add_rolled_time(struct explanation *explanation)
{
    static const char *const times[] = {"sum_ns", "kern_sum_ns", "sum_ns - kern_sum_ns"};

    text_buffer_print(&explanation->text, "%s", times[explanation->report->options->top_end_key]);
}

static void add_rolled_side(struct explanation *explanation)
{
    add_side_of(explanation, "rolled WHERE");
}

/* --detail, --per-thread and --state of events. */
static void add_detail(struct explanation *explanation)
{
    int detail = explanation->report->options->detail;

    text_buffer_print(&explanation->text, "%d", detail == CHOICE_NONE ? 0 : detail);
}

static void add_per_thread(struct explanation *explanation)
{
    text_buffer_print(&explanation->text, "%d", explanation->report->options->per_thread);
}

static void add_state(struct explanation *explanation)
{
    static const char *const states[] = {"cpu", "gpu", "all"};
    int state = explanation->report->options->state;

    text_buffer_print(&explanation->text, "'%s'", state == CHOICE_NONE ? "auto" : states[state]);
}

/* Of what has no group: nothing in these columns. */
static void add_no_group(struct explanation *explanation)
{
    const char *text = explanation->report->options->group_by;

    for (const struct explain_group *group = explanation->report->kind->explain.groups;
         text && group->word; group++) {
        if (group->key && *group->key && strstr(text, group->word))
            text_buffer_print(&explanation->text, ", NULL");
    }
}

static const struct {
    const char *word;
    void (*add)(struct explanation *explanation);
} words[] = {
    {"{sessions}", add_sessions},
    {"{counted}", add_counted},
    {"{in_runs}", add_in_runs},
    {"{in_time}", add_in_time},
    {"{runs_in_time}", add_runs_in_time},
    {"{bounds_of_sessions}", add_bounds_of_sessions},
    {"{chosen}", add_chosen},
    {"{labels}", add_labels},
    {"{line_key}", add_line_key},
    {"{op_side}", add_op_side},
    {"{own_wanted}", add_own_wanted},
    {"{reduced_type}", add_reduced_type},
    {"{reduced}", add_reduced},
    {"{bounds}", add_bounds},
    {"{having}", add_having},
    {"{zero_is_within}", add_zero_is_within},
    {"{grouped}", add_grouped},
    {"{group_key}", add_group_key},
    {"{no_group}", add_no_group},
    {"{no_labels}", add_no_labels},
    {"{rolled_side}", add_rolled_side},
    {"{rolled_time}", add_rolled_time},
    {"{runs}", add_divisor},
    {"{top_time}", add_top_time},
    {"{by_time}", add_by_time},
    {"{detail}", add_detail},
    {"{per_thread}", add_per_thread},
    {"{state}", add_state},
    {"{filtered}", add_filtered},
    {"{is_chosen}", add_is_chosen},
    {"{model}", add_model},
    {"{base}", add_base},
    {"{new}", add_new},
    {"{per_run}", add_per_run},
};

enum { WORDS = sizeof(words) / sizeof(words[0]) };

bool explain_is_place(const char *word)
{
    for (size_t i = 0; i < WORDS; i++) {
        if (strcmp(words[i].word, word) == 0)
            return true;
    }
    return false;
}

void explain_add_sql(struct explanation *explanation, const char *sql)
{
    while (*sql) {
        size_t plain = strcspn(sql, "{"), i = 0;

        text_buffer_add(&explanation->text, sql, plain);
        sql += plain;
        if (!*sql)
            break;
        while (i < WORDS && strncmp(sql, words[i].word, strlen(words[i].word)) != 0)
            i++;
        if (i == WORDS) { /* a brace of its own */
            text_buffer_add(&explanation->text, sql++, 1);
            continue;
        }
        words[i].add(explanation);
        sql += strlen(words[i].word);
    }
}
