/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path through one run: by operator, and in the order of time. */
#include "analyze/reports/critical.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/query/lane_use.h"
#include "analyze/stats/groups.h"

struct path_line {
    const char *name;
    const char *type;
    enum path_step_kind kind;
    struct group_summary steps;
};

struct path_report {
    const struct spans_answer *spans;
    struct critical_path path;
    ARRAY_OF(struct path_line) lines;
    ARRAY_OF(struct path_step) shown; /* steps of what is asked for */
    struct groups groups;
    double wall_ns;
};

static const char skipped[] = "(left out by what is asked for)";
static const char not_recorded[] = "(nothing recorded)";

/* --- By operator. --- */

#define CELL(name, value) LINE_CELL(name, struct path_line, value)
#define ALL               ((const struct path_report *)context)

CELL(name_of, out_text(line->name))
CELL(type_of, out_text(line->type))
CELL(kind_of, out_text(path_step_names[line->kind]))
CELL(time_of, out_number(OUT_NS, line->steps.sum))
CELL(share_of, out_number(OUT_SHARE, line->steps.sum / ALL->wall_ns))
CELL(count_of, out_integer(OUT_INT, (int64_t)line->steps.count))
CELL(mean_of, out_number(OUT_NS, line->steps.mean))
CELL(longest_of, out_number(OUT_NS, line->steps.max))

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

static int add_step(struct path_report *all, const struct path_step *step)
{
    struct path_line line = {.name = not_recorded, .kind = step->kind};
    struct place_key key = {.low = step->kind};
    uint32_t group;
    int rc = 0;

    if (step->span != SPAN_NONE && !all->spans->spans.items[step->span].is_shown) {
        line.name = skipped;
    } else {
        rc = array_push(&all->shown, *step);
        if (step->span != SPAN_NONE) {
            line.name = span_op(all->spans, &all->spans->spans.items[step->span])->name;
            line.type = span_op(all->spans, &all->spans->spans.items[step->span])->type;
        }
    }
    groups_add_text(&key, line.name);
    groups_add_text(&key, line.type);
    if (rc == 0)
        rc = groups_find(&all->groups, key, &group);
    if (rc == 1)
        rc = array_push(&all->lines, line);
    return rc < 0 ? rc : groups_add(&all->groups, group, (double)(step->end_ns - step->start_ns));
}

static int gather(struct path_report *all)
{
    struct group_summary *summaries = NULL;
    int rc = 0;

    for (size_t i = 0; i < all->path.steps.count && rc == 0; i++)
        rc = add_step(all, &all->path.steps.items[i]);
    if (rc == 0)
        rc = groups_summarize(&all->groups, &summaries);
    for (size_t i = 0; i < all->lines.count && rc == 0; i++)
        all->lines.items[i].steps = summaries[i];
    free(summaries);
    return rc;
}

/* --- In the order of time. --- */

#define STEP(name, value) LINE_CELL(name, struct path_step, value)

static const struct span *step_span(const struct path_report *all, const struct path_step *step)
{
    return step->span == SPAN_NONE ? NULL : &all->spans->spans.items[step->span];
}

static const char *step_name(const struct path_report *all, const struct path_step *step)
{
    const struct span *span = step_span(all, step);

    return span ? span_op(all->spans, span)->name : not_recorded;
}

static const char *step_lane(const struct path_report *all, const struct path_step *step)
{
    const struct span *span = step_span(all, step);

    return span ? all->spans->lanes.items[span->lane].name : NULL;
}

STEP(step_at, out_number(OUT_NS, (double)(line->start_ns - ALL->path.start_ns)))
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

static int emit_steps(const struct report *report, const struct path_report *all, struct diag *diag)
{
    static const struct out_section section = {.name = "path",
                                               .keep = "name at_ns time_ns kind",
                                               .title = "The path in the order of time"};
    const struct lines lines = {
        .columns = step_columns,
        .column_count = sizeof(step_columns) / sizeof(step_columns[0]),
        .items = all->shown.items,
        .count = all->shown.count,
        .item_bytes = sizeof(*all->shown.items),
        .context = all,
        .order_by = "+at_ns",
        .top = report_top(report),
    };
    size_t shown;
    int rc = lines_emit(report->out, &section, &lines, &shown, diag);

    if (rc == 0 && shown < lines.count)
        out_note(report->out, OUT_NOTE_PLAIN, "%zu of %zu parts of the path are shown.", shown,
                 lines.count);
    return rc;
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
    const struct spans_answer *spans = all->spans;
    int rc = critical_path_make(spans, ended ? run->start_ns : spans->start_ns,
                                ended ? run->end_ns : spans->end_ns, &all->path);

    all->wall_ns = (double)(all->path.end_ns - all->path.start_ns);
    if (rc == 0)
        rc = gather(all);
    if (rc < 0)
        return diag_set(diag, rc, "no memory for the path");
    rc = report_emit_lines(report, &section, all->lines.items, all->lines.count,
                           sizeof(*all->lines.items), all, diag);
    if (rc == 0)
        rc = emit_steps(report, all, diag);
    if (rc == 0)
        note_path(report, all, run, ended);
    if (rc == 0 && report->options->what_if.count)
        rc = critical_emit_what_if(report, &all->path, diag);
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
    }
    if (rc == 0)
        rc = report_query_spans(report, selection, spans, diag);
    if (rc == 0 && spans->basis.is_flat) {
        diag_set(diag, 0, "host and device times of this profile count from different zeros");
        rc = REPORT_NOTHING;
    }
    if (rc == 0)
        rc = emit_path(report, all, &chosen, ended, diag);
    if (rc == 0)
        report_footer(report, &spans->basis);
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    struct report_selection selection;
    struct spans_answer spans = {0};
    struct path_report all = {.spans = &spans};
    int rc = report_select(report, &selection, diag);

    if (rc == 0)
        rc = query_run(report, &selection, &all, &spans, diag);
    critical_path_deinit(&all.path);
    array_deinit(&all.lines);
    array_deinit(&all.shown);
    groups_deinit(&all.groups);
    spans_answer_deinit(&spans);
    report_selection_deinit(&selection);
    return rc;
}

static double time_ns(const void *item)
{
    return ((const struct path_line *)item)->steps.sum;
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
    .explain = {.time = "time_ns"},
};
