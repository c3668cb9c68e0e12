/* SPDX-License-Identifier: Apache-2.0 */
/* Stragglers: which of several sessions that do the same job side by side holds up the others. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/metrics/ranks.h"
#include "analyze/metrics/run_samples.h"
#include "analyze/reports/collectives.h"
#include "base/text_buffer.h"

struct rank_line {
    int64_t session_id;
    const struct session_row *session;
    struct rank rank;
};

struct ranks_state {
    const struct report *report;
    struct run_samples_parts *parts;
    struct report_collectives collectives;
    struct run_samples samples;
    ARRAY_OF(struct rank_run) runs;
    int64_t *session_ids; /* of each rank: sessions that have runs */
    uint32_t rank_count;
    struct ranks ranks;
};

static struct out_value part_name(const struct ranks_state *state, size_t part)
{
    size_t ops = state->samples.ops.count;

    if (part == SIZE_MAX)
        return out_unknown(OUT_TEXT);
    if (part == rank_part_between(ops))
        return out_text("between ops");
    if (part == rank_part_unshown(ops))
        return out_text("ops left out by the filter");
    return out_text(state->samples.ops.items[part].row->name);
}

/* --- Columns. --- */

#define CELL(name, value) LINE_CELL(name, struct rank_line, value)

CELL(session_of, out_integer(OUT_INT, line->session_id))
CELL(host_of, out_text(line->session->host))
CELL(pid_of, line->session->pid == STORE_NULL ? out_unknown(OUT_INT)
                                              : out_integer(OUT_INT, line->session->pid))
CELL(steps_of, out_integer(OUT_INT, (int64_t)line->rank.step_count))
CELL(p50_of, out_number(OUT_NS, line->rank.p50_ns))
CELL(p90_of, out_number(OUT_NS, line->rank.p90_ns))
CELL(slowest_of, out_integer(OUT_INT, (int64_t)line->rank.slowest_count))
CELL(slowest_share,
     out_number(OUT_SHARE, (double)line->rank.slowest_count / (double)line->rank.step_count))
CELL(behind_fastest, out_number(OUT_NS, line->rank.behind_fastest_ns))
CELL(behind_fastest_share, out_number(OUT_SHARE, line->rank.behind_fastest_share))
CELL(behind_median, out_number(OUT_NS, line->rank.behind_median_ns))
CELL(behind_median_share, out_number(OUT_SHARE, line->rank.behind_median_share))
CELL(cause_of, part_name(context, line->rank.part))
CELL(cause_ns, out_number(OUT_NS, line->rank.part_ns))

static const struct line_column columns[] = {
    {LINE_COMPACT("session_id", "Session"), {"session"}, "the rank", session_of},
    {{.name = "host", .data_only = true}, {NULL}, "where it ran", host_of},
    {{.name = "pid", .data_only = true}, {NULL}, "its process", pid_of},
    {LINE_COMPACT("step_count", "Runs"),
     {"runs", "count"},
     "its runs that are compared, one in each step",
     steps_of},
    {LINE_COMPACT("dur_p50_ns", "P50"),
     {"p50", "time"},
     "median duration of these, nearest rank",
     p50_of},
    {LINE_COMPACT("dur_p90_ns", "P90"), {"p90"}, "the same", p90_of},
    {LINE_COMPACT("slowest_count", "Slowest"),
     {"slowest"},
     "steps in which it was the slowest",
     slowest_of},
    {{.name = "slowest_share", .data_only = true}, {NULL}, "these, of step_count", slowest_share},
    {LINE_COMPACT("behind_fastest_ns", "Late by"),
     {"late"},
     "mean of its duration less that of the fastest in the step",
     behind_fastest},
    {LINE_COMPACT("behind_fastest_share", "of it"),
     {NULL},
     "that, of the mean duration of the fastest",
     behind_fastest_share},
    {LINE_COMPACT("behind_median_ns", "To median"),
     {NULL},
     "mean of its duration less the median of all in the step",
     behind_median},
    {LINE_COMPACT("behind_median_share", "of it"),
     {NULL},
     "that, of the mean of these medians",
     behind_median_share},
    {LINE_TEXT("cause", "Why", 40),
     {NULL},
     "op whose self time exceeds the median of the others most, on average over the steps; of "
     "sessions behind the median",
     cause_of},
    {LINE_COMPACT("cause_ns", "By"), {NULL}, "how much longer that took", cause_ns},
};

/* --- The worst steps. --- */

struct step_line {
    const struct rank_step *step;
    int64_t session_id; /* the slowest */
};

#define STEP_CELL(name, value) LINE_CELL(name, struct step_line, value)

STEP_CELL(step_number, out_integer(OUT_INT, line->step->number))
STEP_CELL(step_ranks, out_integer(OUT_INT, (int64_t)line->step->count))
STEP_CELL(step_fastest, out_number(OUT_NS, line->step->fastest_ns))
STEP_CELL(step_slowest, out_number(OUT_NS, line->step->slowest_ns))
STEP_CELL(step_spread, out_number(OUT_NS, line->step->slowest_ns - line->step->fastest_ns))
STEP_CELL(step_share,
          out_number(OUT_SHARE, line->step->fastest_ns > 0
                                    ? line->step->slowest_ns / line->step->fastest_ns - 1
                                    : NAN))
STEP_CELL(step_session, out_integer(OUT_INT, line->session_id))
STEP_CELL(step_cause, part_name(context, line->step->part))
STEP_CELL(step_cause_ns, out_number(OUT_NS, line->step->part_ns))

static const struct line_column step_columns[] = {
    {LINE_COMPACT("run", "Run"), {NULL}, "number of its runs", step_number},
    {LINE_COMPACT("session_count", "Sessions"), {NULL}, "that have a run in it", step_ranks},
    {LINE_COMPACT("fastest_ns", "Fastest"), {NULL}, "its shortest run", step_fastest},
    {LINE_COMPACT("slowest_ns", "Slowest"), {NULL}, "its longest run", step_slowest},
    {LINE_COMPACT("spread_ns", "Spread"), {NULL}, "slowest_ns - fastest_ns", step_spread},
    {LINE_COMPACT("spread_share", "of fastest"), {NULL}, "that, of fastest_ns", step_share},
    {LINE_COMPACT("slowest_session_id", "Slowest is"), {NULL}, "its session", step_session},
    {LINE_TEXT("cause", "Why", 40), {NULL}, "as in the table of sessions", step_cause},
    {LINE_COMPACT("cause_ns", "By"), {NULL}, "how much longer", step_cause_ns},
};

static int emit_steps(const struct ranks_state *state, struct diag *diag)
{
    static const struct out_section section = {
        .name = "steps",
        .keep = "run spread_ns spread_share slowest_session_id cause cause_ns",
        .title = "The worst steps"};
    size_t count = state->ranks.steps.count, shown;
    struct step_line *items = malloc((count + 1) * sizeof(*items));
    struct lines lines = {
        .columns = step_columns,
        .column_count = sizeof(step_columns) / sizeof(step_columns[0]),
        .items = items,
        .count = count,
        .item_bytes = sizeof(*items),
        .context = state,
        .order_by = "spread_ns",
        .top = report_top(state->report),
    };
    int rc;

    if (!items)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct rank_step *step = &state->ranks.steps.items[i];

        items[i] =
            (struct step_line){step, state->session_ids[state->runs.items[step->slowest].rank]};
    }
    rc = lines_emit(state->report->out, &section, &lines, &shown, diag);
    if (rc == 0 && shown < count)
        out_note(state->report->out, OUT_NOTE_PLAIN,
                 "%zu of %zu steps are shown, those of the widest spread; -t 0 shows all.", shown,
                 count);
    free(items);
    return rc;
}

/* --- The sessions. --- */

static int emit_sessions(const struct ranks_state *state, struct diag *diag)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "session_id", .values = {"behind_fastest_ns"}};
    static const struct out_section section = {
        .name = "sessions",
        .keep = "session_id dur_p50_ns behind_fastest_ns behind_fastest_share cause cause_ns",
        .chart = &chart};
    struct rank_line *lines = calloc(state->rank_count + 1, sizeof(*lines));
    size_t count = 0;
    int rc;

    if (!lines)
        return -ENOMEM;
    for (uint32_t i = 0; i < state->rank_count; i++) {
        if (state->ranks.ranks[i].step_count)
            lines[count++] = (struct rank_line){
                state->session_ids[i], report_session(state->report, state->session_ids[i]),
                state->ranks.ranks[i]};
    }
    rc = report_emit_lines(state->report, &section, lines, count, sizeof(*lines), state, diag);
    free(lines);
    return rc;
}

static bool is_compared(const struct ranks_state *state, int64_t session_id)
{
    for (uint32_t i = 0; i < state->rank_count; i++) {
        if (state->session_ids[i] == session_id)
            return state->ranks.ranks[i].step_count > 0;
    }
    return false;
}

static bool has_runs(const struct ranks_state *state, int64_t session_id)
{
    for (uint32_t i = 0; i < state->rank_count; i++) {
        if (state->session_ids[i] == session_id)
            return true;
    }
    return false;
}

/* One sentence on the sessions that have no line, of those with runs or of those without. */
static void note_skipped(const struct ranks_state *state, bool with_runs)
{
    const struct report *report = state->report;
    struct text_buffer ids = {0};
    size_t count = 0;

    for (size_t i = 0; i < report->session_count; i++) {
        int64_t id = report->session_ids[i];

        if (is_compared(state, id) || has_runs(state, id) != with_runs)
            continue;
        text_buffer_print(&ids, "%s%" PRId64, count ? ", " : "", id);
        count++;
    }
    if (count)
        out_note(report->out, OUT_NOTE_PLAIN, "Session%s %.*s %s %s.", count == 1 ? "" : "s",
                 (int)ids.length, text_buffer_text(&ids), count == 1 ? "has" : "have",
                 with_runs ? "no run that belongs to one of another session"
                           : "no finished run in what is asked for");
    text_buffer_deinit(&ids);
}

static void note(const struct ranks_state *state)
{
    struct out *out = state->report->out;
    size_t steps = state->ranks.steps.count, skipped = state->ranks.skipped;
    size_t unknown = 0;

    for (size_t i = 0; i < steps; i++)
        unknown += !state->ranks.steps.items[i].has_parts;
    out_note(out, OUT_NOTE_PLAIN, "%zu step%s of runs %s; %zu run%s no counterpart.", steps,
             steps == 1 ? "" : "s",
             state->report->options->time ? "that overlap in time" : "with the same number",
             skipped, skipped == 1 ? " has" : "s have");
    note_skipped(state, false);
    note_skipped(state, true);
    out_note(
        out, OUT_NOTE_PLAIN,
        "A session is late by the duration of its run less that of the fastest in the step, and "
        "less the median of all; percentages beside are of these two.");
    if (unknown)
        out_note(out, OUT_NOTE_PLAIN,
                 "Of %zu step%s nobody knows what took longer: some run has no operators there.",
                 unknown, unknown == 1 ? "" : "s");
    if (unknown == steps)
        return;
    out_note(out, OUT_NOTE_PLAIN,
             "Why: the op whose self time on the %s exceeds the median of the other sessions most.",
             state->samples.side == OP_DEVICE ? "device" : "host");
}

/* --- The report. --- */

/* Sessions with runs become ranks; a session without them, which counts as one run, does not. */
static int take_runs(struct ranks_state *state)
{
    const struct run_samples *samples = &state->samples;
    uint32_t last_session = SPAN_NONE;

    state->session_ids = malloc((samples->runs.count + 1) * sizeof(*state->session_ids));
    if (!state->session_ids)
        return -ENOMEM;
    for (size_t i = 0; i < samples->runs.count; i++) {
        const struct sampled_run *sampled = &samples->runs.items[i];
        const struct run_row *row;
        struct rank_run run;

        if (sampled->row == SPAN_NONE)
            break; /* these are the last */
        row = &samples->spans.runs.items[sampled->row];
        if (sampled->session != last_session)
            state->session_ids[state->rank_count++] = row->session_id;
        last_session = sampled->session;
        run = (struct rank_run){
            .rank = state->rank_count - 1,
            .run = row->run,
            .start_ns = row->start_ns,
            .dur_ns = sampled->run_ns,
            .unshown_ns = sampled->other_ns,
        };
        if (array_push(&state->runs, run) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int explain_no_step(const struct ranks_state *state, struct diag *diag)
{
    if (state->rank_count == 0)
        diag_set(diag, 0, "no run has ended in what is asked for");
    else if (state->rank_count == 1)
        diag_set(diag, 0,
                 "only session %" PRId64 " has a finished run in what is asked for: there is none "
                 "to compare it with",
                 state->session_ids[0]);
    else if (state->report->options->time)
        diag_set(diag, 0, "no runs of two sessions overlap in time");
    else
        diag_set(diag, 0,
                 "no runs of two sessions have the same number: --time .. compares those that "
                 "overlap in time");
    return REPORT_NOTHING;
}

static int compare_ranks(struct ranks_state *state, struct diag *diag)
{
    /* `samples` may end with sessions without runs, behind those that count. */
    const struct ranks_question question = {
        .runs = state->runs.items,
        .run_count = state->runs.count,
        .rank_count = state->rank_count,
        .op_ns = state->samples.op_ns,
        .op_stride = state->samples.runs.count,
        .op_count = state->samples.ops.count,
        .by_time = state->report->options->time != NULL,
    };
    int rc = ranks_make(&question, &state->ranks);

    if (rc == 0 && !state->ranks.steps.count)
        rc = explain_no_step(state, diag);
    if (rc == 0)
        rc = emit_sessions(state, diag);
    if (rc == 0)
        rc = emit_steps(state, diag);
    return rc ? rc : report_collectives_emit_stragglers(&state->collectives);
}

static int begin(void *user, const struct spans_answer *spans)
{
    struct ranks_state *state = user;
    int rc = run_samples_begin(spans, OP_SIDES, &state->parts);

    return rc ? rc : report_collectives_begin(&state->collectives, spans);
}

static int take(void *user, struct spans_answer *spans)
{
    struct ranks_state *state = user;
    int rc = run_samples_add(state->parts, spans);

    return rc ? rc : report_collectives_take(&state->collectives, spans);
}

/* Runs whose events are gone still have durations. */
static int query(struct ranks_state *state, struct report_selection *selection,
                 struct spans_answer *spans, struct diag *diag)
{
    const struct report_parts parts = {state, begin, take, SPAN_FRAMES_LEAVES, SPAN_CUT_WAITS};
    struct diag reason = {0};
    int rc = report_query_span_parts(state->report, selection, &parts, spans, &reason);

    if (rc == REPORT_NOTHING && !run_samples_saw_spans(state->parts))
        return 0; /* without runs either, run_samples_finish() says so */
    if (rc)
        diag_set(diag, rc, "%s", reason.text);
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    struct ranks_state state = {.report = report, .collectives = {.report = report, .diag = diag}};
    struct report_selection selection;
    struct spans_answer spans = {0};
    int rc = report_select(report, &selection, diag);

    if (rc == 0 && report->session_count < 2) {
        diag_set(diag, 0,
                 "ranks are compared among sessions: name several, as in --session all or "
                 "--session 1,4..6");
        rc = REPORT_NOTHING;
    }
    if (rc == 0)
        rc = query(&state, &selection, &spans, diag);
    if (rc == 0)
        rc = run_samples_finish(&state.parts, &spans, &state.samples, diag);
    if (rc == 0)
        rc = take_runs(&state);
    if (rc == 0)
        rc = compare_ranks(&state, diag);
    if (rc == 0) {
        note(&state);
        report_footer(report, &state.samples.spans.basis);
    }
    if (rc == -ENOMEM)
        diag_set(diag, rc, "no memory for the runs");
    spans_answer_deinit(&spans);
    ranks_deinit(&state.ranks);
    report_collectives_deinit(&state.collectives);
    run_samples_drop(&state.parts);
    run_samples_deinit(&state.samples);
    array_deinit(&state.runs);
    free(state.session_ids);
    report_selection_deinit(&selection);
    return rc;
}

const struct report_kind report_ranks = {
    .name = "ranks",
    .about = "Which of several sessions that do the same job side by side, such as the processes "
             "of a server, is late, in how many runs, and by which op.",
    .values = REPORT_VALUES_OF_RUNS, /* --total would take the runs apart */
    .run = run,
    .tables = (const char *const[]){"sessions", NULL},
    .lines = {.columns = columns,
              .column_count = sizeof(columns) / sizeof(columns[0]),
              .top = 10,
              .order_by = "behind_fastest_ns"},
};
