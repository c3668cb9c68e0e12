/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path through one run: by operator, and in the order of time. */
#include "analyze/reports/critical.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/stats/groups.h"

struct path_line {
    const char *name;
    const char *type;
    enum path_step_kind kind;
    int64_t count, time_ns, longest_ns;
};

struct path_report {
    const struct spans_answer *spans;
    struct critical_window window;
    struct critical_parts *parts;
    const struct option_list *patterns; /* of --what-if */
    struct critical_what_if what_if;
    ARRAY_OF(struct path_line) lines;
    struct groups groups;   /* only names of lines */
    uint32_t *lines_of_ops; /* by op and kind; NO_LINE: none yet */
    size_t op_count;
    struct packed_steps shown;      /* the first steps of what is asked for */
    size_t shown_most, shown_count; /* so many are kept; so many there are */
    double wall_ns;
};

#define NO_LINE UINT32_MAX

static const char skipped[] = "(left out by what is asked for)";
static const char not_recorded[] = "(nothing recorded)";

/* --- By operator. --- */

#define CELL(name, value) LINE_CELL(name, struct path_line, value)
#define ALL               ((const struct path_report *)context)

CELL(name_of, out_text(line->name))
CELL(type_of, out_text(line->type))
CELL(kind_of, out_text(path_step_names[line->kind]))
CELL(time_of, out_number(OUT_NS, (double)line->time_ns))
CELL(share_of, out_number(OUT_SHARE, (double)line->time_ns / ALL->wall_ns))
CELL(count_of, out_integer(OUT_INT, line->count))
CELL(mean_of, out_number(OUT_NS, (double)line->time_ns / (double)line->count))
CELL(longest_of, out_number(OUT_NS, (double)line->longest_ns))

static const struct line_column columns[] = {
    {LINE_TEXT("name", "Name", 50), {NULL}, "operator", name_of},
    {LINE_COMPACT("type", "Type"), {NULL}, "its type", type_of},
    {LINE_COMPACT("kind", "What"),
     {NULL},
     "host, device: it ran there; launch: it was launched and had not started; between: it waited "
     "behind what ran before on its lane, or for an event; not recorded",
     kind_of},
    {LINE_COMPACT("time_ns", "On the path"), {"time"}, "sum of its parts of the path", time_of},
    {LINE_COMPACT("share", "Share"), {NULL}, "of the wall time of the run", share_of},
    {LINE_COMPACT("count", "Count"), {"calls"}, "its parts of the path", count_of},
    {LINE_COMPACT("mean_ns", "Mean"), {NULL}, "mean part", mean_of},
    {LINE_COMPACT("longest_ns", "Longest"), {"max"}, "the longest part", longest_of},
};

static int make_line(struct path_report *all, const struct critical_step *step, uint32_t *out_place)
{
    struct path_line line = {.name = not_recorded, .kind = step->kind};
    struct place_key key = {.low = step->kind};
    int rc;

    if (!step->is_shown) {
        line.name = skipped;
    } else if (step->op != SPAN_NONE) {
        line.name = all->spans->ops.items[step->op].name;
        line.type = all->spans->ops.items[step->op].type;
    }
    groups_add_text(&key, line.name);
    groups_add_text(&key, line.type);
    rc = groups_find(&all->groups, key, out_place);
    return rc == 1 ? array_push(&all->lines, line) : rc;
}

static int add_step(void *user, const struct critical_step *step)
{
    struct path_report *all = user;
    size_t op = step->is_shown ? step->op : all->op_count + 1;
    uint32_t *place;
    struct path_line *line;
    int64_t time_ns = step->end_ns - step->start_ns;
    int rc = 0;

    if (op == SPAN_NONE)
        op = all->op_count;
    place = &all->lines_of_ops[op * PATH_STEP_KINDS + step->kind];
    if (*place == NO_LINE)
        rc = make_line(all, step, place);
    if (rc == 0 && step->is_shown && all->shown_count++ < all->shown_most)
        rc = packed_steps_add(&all->shown, step);
    if (rc < 0)
        return rc;
    line = &all->lines.items[*place];
    line->count++;
    line->time_ns += time_ns;
    if (time_ns > line->longest_ns)
        line->longest_ns = time_ns;
    if (all->patterns->count)
        critical_what_if_step(&all->what_if, step);
    return 0;
}

/* Forgets what there is. */
static int begin_lines(struct path_report *all, const struct spans_answer *spans)
{
    size_t count = (spans->ops.count + 2) * PATH_STEP_KINDS;

    free(all->lines_of_ops);
    all->lines_of_ops = malloc(count * sizeof(*all->lines_of_ops));
    all->op_count = spans->ops.count;
    all->spans = spans;
    all->lines.count = 0;
    packed_steps_deinit(&all->shown);
    all->shown_count = 0;
    groups_deinit(&all->groups);
    all->groups = (struct groups){0};
    for (size_t i = 0; i < count && all->lines_of_ops; i++)
        all->lines_of_ops[i] = NO_LINE;
    return all->lines_of_ops ? 0 : -ENOMEM;
}

/* --- In the order of time. --- */

#define STEP(name, value) LINE_CELL(name, struct critical_step, value)

static const char *step_name(const struct path_report *all, const struct critical_step *step)
{
    return step->op == SPAN_NONE ? not_recorded : all->spans->ops.items[step->op].name;
}

static const char *step_lane(const struct path_report *all, const struct critical_step *step)
{
    return step->op == SPAN_NONE ? NULL : all->spans->lanes.items[step->lane].name;
}

STEP(step_at, out_number(OUT_NS, (double)(line->start_ns - ALL->window.start_ns)))
STEP(step_time, out_number(OUT_NS, (double)(line->end_ns - line->start_ns)))
STEP(step_kind, out_text(path_step_names[line->kind]))
STEP(step_name_of, out_text(step_name(ALL, line)))
STEP(step_lane_of, out_text(step_lane(ALL, line)))

static const struct line_column step_columns[] = {
    {LINE_COMPACT("at_ns", "At"), {NULL}, "its start, after that of the run", step_at},
    {LINE_COMPACT("time_ns", "Time"), {NULL}, "its length", step_time},
    {LINE_COMPACT("kind", "What"), {NULL}, "as above", step_kind},
    {LINE_TEXT("name", "Name", 50), {NULL}, "operator", step_name_of},
    {LINE_TEXT("lane", "Lane", 30), {NULL}, "where", step_lane_of},
};

/* A line for each, as they come: they need neither be sorted nor be there together. */
static void emit_steps(const struct report *report, const struct path_report *all)
{
    enum { COLUMNS = sizeof(step_columns) / sizeof(step_columns[0]) };
    static const struct out_section section = {.name = "path",
                                               .keep = "name at_ns time_ns kind",
                                               .title = "The path in the order of time"};
    struct out_column columns_out[COLUMNS];
    struct out_value values[COLUMNS];
    struct packed_steps_place place = {0};
    struct critical_step step;
    const size_t shown = lines_kept(all->shown.count, report_top(report));

    for (size_t i = 0; i < COLUMNS; i++)
        columns_out[i] = step_columns[i].out;
    out_table_begin(report->out, &section, columns_out, COLUMNS);
    while (place.step < shown && packed_steps_next(&all->shown, &place, &step)) {
        for (size_t i = 0; i < COLUMNS; i++)
            values[i] = step_columns[i].value(&step, all);
        out_row(report->out, values);
    }
    out_table_end(report->out);
    if (shown < all->shown_count)
        out_note(report->out, OUT_NOTE_PLAIN, "%zu of %zu parts of the path are shown.", shown,
                 all->shown_count);
}

/* --- Which run. --- */

static int compare_durations(const void *a, const void *b)
{
    const struct counted_run *left = a, *right = b;
    int64_t left_ns = left->end_ns - left->start_ns, right_ns = right->end_ns - right->start_ns;

    return (left_ns > right_ns) - (left_ns < right_ns);
}

/* Those whose events are all there. Returns how many they are. */
static size_t keep_whole(struct counted_run *runs, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (!runs[i].lacks_events)
            runs[kept++] = runs[i];
    }
    return kept;
}

/* The run in the middle of those that ended. *out_ended is how many did; 0: there are no runs. */
static int choose_run(const struct report *report, const struct ops_question *question,
                      struct counted_run *out_run, size_t *out_ended, struct diag *diag)
{
    struct counted_runs runs = {0};
    size_t whole = 0;
    int rc = query_runs(report->source->store, question, &runs, diag);

    *out_ended = 0;
    for (size_t i = 0; i < runs.count; i++) {
        if (runs.items[i].end_ns != STORE_NULL)
            runs.items[(*out_ended)++] = runs.items[i];
    }
    for (size_t i = 0; i < *out_ended; i++)
        whole += !runs.items[i].lacks_events;
    if (whole && whole < *out_ended)
        *out_ended = keep_whole(runs.items, *out_ended);
    if (rc == 0 && *out_ended) {
        qsort(runs.items, *out_ended, sizeof(*runs.items), compare_durations);
        *out_run = runs.items[(*out_ended - 1) / 2];
    } else if (rc == 0 && runs.count) {
        diag_set(diag, 0, "no run that is asked for has ended");
        rc = REPORT_NOTHING;
    }
    array_deinit(&runs);
    return rc;
}

static void note_path(const struct report *report, const struct path_report *all,
                      const struct counted_run *run, size_t ended)
{
    char wall[32];

    out_duration_text(wall, sizeof(wall), all->wall_ns);
    if (ended == 1)
        out_note(report->out, OUT_NOTE_PLAIN, "Shares are of the wall time of run %" PRId64 ", %s.",
                 run->run, wall);
    else if (ended)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Shares are of the wall time of run %" PRId64
                 ", %s: the median of %zu; --runs chooses another.",
                 run->run, wall, ended);
    else
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Shares are of the time from the first event to the end of the last, %s.", wall);
    out_note(report->out, OUT_NOTE_PLAIN,
             "The path leads back from the end to what was waited for last: what ran before on the "
             "lane, the launch, an event of another stream, or the device where a call waits for "
             "it.");
}

static int emit_path(const struct report *report, struct path_report *all,
                     const struct counted_run *run, size_t ended, struct diag *diag)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "name", .values = {"time_ns"}, .color = "kind"};
    static const struct out_section section = {
        .name = "critical", .keep = "name time_ns share kind count type", .chart = &chart};
    int rc;

    all->wall_ns = (double)(all->window.end_ns - all->window.start_ns);
    rc = report_emit_lines(report, &section, all->lines.items, all->lines.count,
                           sizeof(*all->lines.items), all, diag);
    if (rc == 0)
        emit_steps(report, all);
    if (rc == 0)
        note_path(report, all, run, ended);
    return rc;
}

static int refuse_flat(const struct spans_answer *spans, struct diag *diag)
{
    if (!spans->basis.is_flat)
        return 0;
    diag_set(diag, 0, "host and device times of this profile count from different zeros");
    return REPORT_NOTHING;
}

/* --- Part by part. --- */

static int begin(void *user, const struct spans_answer *spans)
{
    struct path_report *all = user;
    const struct critical_sink sink = {all, add_step};
    int rc = begin_lines(all, spans);

    if (rc == 0 && all->patterns->count)
        rc = critical_what_if_begin(&all->what_if, all->patterns, spans);
    if (rc == 0)
        rc =
            critical_parts_begin(spans, &all->window, &sink,
                                 all->patterns->count ? &all->what_if.schedule : NULL, &all->parts);
    return rc;
}

static int take(void *user, struct spans_answer *part)
{
    struct path_report *all = user;
    const bool predicts = all->patterns->count > 0;
    const int64_t until_ns = all->window.is_run ? all->window.end_ns : INT64_MAX;
    uint32_t *classes;
    int rc = -ENOMEM;

    if (part->basis.is_flat)
        return 0;
    classes = predicts ? critical_what_if_classes(&all->what_if, part, until_ns) : NULL;
    if (classes || !predicts)
        rc = critical_parts_add(all->parts, part, classes);
    free(classes);
    return rc;
}

static int query_parts(const struct report *report, struct report_selection *selection,
                       struct path_report *all, struct spans_answer *spans, struct diag *diag)
{
    const struct report_parts parts = {all, begin, take, SPAN_FRAMES_OPS, SPAN_CUT_WAITS};
    int rc = report_query_span_parts(report, selection, &parts, spans, diag);

    if (rc == 0)
        rc = refuse_flat(spans, diag);
    if (rc == 0 && critical_parts_finish(all->parts, spans) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the path");
    if (!all->window.is_run) {
        all->window.start_ns = spans->start_ns;
        all->window.end_ns = spans->end_ns;
    }
    return rc;
}

static int query_run(const struct report *report, struct report_selection *selection,
                     struct path_report *all, struct spans_answer *spans, struct diag *diag)
{
    struct counted_run chosen = {0};
    struct run_key key;
    size_t ended;
    int rc = choose_run(report, &selection->question, &chosen, &ended, diag);

    if (rc == 0 && !ended && report->session_count > 1)
        rc = diag_set(diag, -EINVAL,
                      "the critical path is that of one run, and these sessions have none: choose "
                      "one of them with --session");
    if (rc == 0 && ended) {
        key = (struct run_key){chosen.session_id, chosen.run};
        selection->question.chosen_runs = &key;
        selection->question.chosen_run_count = 1;
        all->window = (struct critical_window){true, chosen.start_ns, chosen.end_ns};
    }
    if (rc == 0)
        rc = query_parts(report, selection, all, spans, diag);
    if (rc == 0)
        rc = emit_path(report, all, &chosen, ended, diag);
    if (rc == 0 && all->patterns->count)
        rc = critical_what_if_emit(&all->what_if, report, diag);
    if (rc == 0)
        report_footer(report, &spans->basis);
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    const int64_t top = report_top(report);
    struct report_selection selection;
    struct spans_answer spans = {0};
    struct path_report all = {.spans = &spans,
                              .patterns = &report->options->what_if,
                              .shown_most = top > 0 ? (size_t)top : SIZE_MAX};
    int rc = report_select(report, &selection, diag);

    if (rc == 0)
        rc = query_run(report, &selection, &all, &spans, diag);
    critical_parts_destroy(&all.parts);
    critical_what_if_deinit(&all.what_if);
    array_deinit(&all.lines);
    packed_steps_deinit(&all.shown);
    groups_deinit(&all.groups);
    free(all.lines_of_ops);
    spans_answer_deinit(&spans);
    report_selection_deinit(&selection);
    return rc;
}

static double time_ns(const void *item)
{
    return (double)((const struct path_line *)item)->time_ns;
}

static const char *const takes[] = {"what-if", NULL};

const struct report_kind report_critical = {
    .name = "critical",
    .about = "The critical path through one run, the median one unless --runs names another: what "
             "its end waited for, moment by moment; --what-if says what would be won.",
    .values = REPORT_TOTALS,
    .runs = REPORT_RUNS_WHOLE,
    .run = run,
    .tables = (const char *const[]){"critical", "path", NULL},
    .takes = takes,
    .lines = {.columns = columns,
              .column_count = sizeof(columns) / sizeof(columns[0]),
              .top = 20,
              .order_by = "time_ns",
              .time_ns = time_ns},
    .explain = {.time = "time_ns",
                .lacks = "not in it: that what waits for a device waits for each of its streams"},
};
