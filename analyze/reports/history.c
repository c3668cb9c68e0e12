/* SPDX-License-Identifier: Apache-2.0 */
/* All sessions of a model: what each of its ops took in them, and when that changed. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/history.h"
#include "analyze/query/environment.h"
#include "analyze/reports/report.h"
#include "analyze/stats/spread.h"
#include "base/text_buffer.h"

#define HISTORY_ALPHA 0.05

enum { Z_SESSIONS_MIN = 5 }; /* of fewer the median distance says little */

/* A session of the model. */
struct past_session {
    const struct session_row *row;
    struct environment environment;
    double run_count;
};

struct past {
    const struct report *report;
    ARRAY_OF(struct past_session) sessions; /* by start */
    size_t without_runs;                    /* sessions of the model with nothing to show */
    enum op_side side;                      /* of all: that of the last one */
    const char *model;                      /* what is asked for, or that of the last session */
    bool is_filtered;
    size_t dropped_sessions; /* of which events were dropped */
    struct history history;
};

static double alpha_of(const struct analyze_options *options)
{
    return isnan(options->alpha) ? HISTORY_ALPHA : options->alpha;
}

/* --- Which sessions. --- */

static bool is_model(const struct environment *environment, const char *wanted)
{
    const char *name = environment->facts[ENVIRONMENT_MODEL];
    const char *digest = environment->facts[ENVIRONMENT_DIGEST];

    return (name && strcmp(name, wanted) == 0) || (digest && strcmp(digest, wanted) == 0);
}

static const struct session_row *find_row(const struct report *report, int64_t session_id)
{
    for (size_t i = 0; i < report->sessions->rows.count; i++) {
        if (report->sessions->rows.items[i].session_id == session_id)
            return &report->sessions->rows.items[i];
    }
    return NULL;
}

/* Keeps those of the model: the one asked for, else that of the last session. A digest, where there
 * is one, tells models of one name apart. */
static int choose_model(struct past *past, struct diag *diag)
{
    size_t count = past->sessions.count, kept = 0;
    const struct environment *last = &past->sessions.items[count - 1].environment;

    past->model = past->report->options->model;
    if (!past->model)
        past->model = query_keep(&past->history.texts, last->facts[ENVIRONMENT_DIGEST]
                                                           ? last->facts[ENVIRONMENT_DIGEST]
                                                           : last->facts[ENVIRONMENT_MODEL]);
    if (past->history.texts.failed)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct past_session *session = &past->sessions.items[i];
        bool is_nameless = !past->model && !session->environment.facts[ENVIRONMENT_MODEL];

        if (is_nameless || (past->model && is_model(&session->environment, past->model)))
            past->sessions.items[kept++] = *session;
        else
            environment_deinit(&session->environment);
    }
    past->sessions.count = kept;
    if (kept)
        return 0;
    diag_set(diag, 0, "no session ran a model of the name or digest \"%s\"", past->model);
    return REPORT_NOTHING;
}

static int gather_sessions(struct past *past, struct diag *diag)
{
    const struct report *report = past->report;
    int rc = 0;

    for (size_t i = 0; i < report->session_count && rc == 0; i++) {
        struct past_session session = {.row = find_row(report, report->session_ids[i])};

        rc = query_environment(report->source->store, &report->session_ids[i], 1,
                               &session.environment, diag);
        if (rc < 0 || array_push(&past->sessions, session) < 0) {
            environment_deinit(&session.environment);
            rc = rc < 0 ? rc : -ENOMEM;
        }
    }
    return rc ? rc : choose_model(past, diag);
}

/* --- What they took. --- */

/* Runs are still known where retention took their events, or most of them. */
static int finish(const struct past *past, struct run_sampling *sampling,
                  struct spans_answer *spans, struct run_samples *out_samples, struct diag *diag)
{
    if (spans->basis.lacks_whole_runs && !past->is_filtered &&
        run_sampling_begin(sampling, spans) < 0)
        return diag_set(diag, -ENOMEM, "no memory for the runs");
    return run_samples_finish(&sampling->parts, spans, out_samples, diag);
}

/* Returns 1 when the session has no run to show. */
static int read_session(const struct past *past, const struct past_session *session,
                        enum op_side side, struct run_samples *out_samples, struct diag *diag)
{
    struct report of_session = *past->report;
    struct run_sampling sampling = {.side = side};
    const struct report_parts parts = {&sampling, run_sampling_begin, run_sampling_take,
                                       SPAN_FRAMES_LEAVES, SPAN_CUT_WAITS};
    struct report_selection selection;
    struct spans_answer spans = {0};
    struct diag nothing = {0};
    int rc;

    *out_samples = (struct run_samples){0};
    of_session.session_ids = &session->row->session_id;
    of_session.session_count = 1;
    rc = report_select(&of_session, &selection, diag);
    if (rc == 0) {
        rc = report_query_span_parts(&of_session, &selection, &parts, &spans, &nothing);
        if (rc == 0 || (rc == REPORT_NOTHING && !past->is_filtered))
            rc = finish(past, &sampling, &spans, out_samples, &nothing);
        if (rc < 0)
            diag_set(diag, rc, "%s", nothing.text);
    }
    run_samples_drop(&sampling.parts);
    report_selection_deinit(&selection);
    spans_answer_deinit(&spans);
    return rc == 0 && !out_samples->has_runs ? 1 : rc;
}

static void count_losses(struct past *past, const struct basis *basis)
{
    past->dropped_sessions += query_has_dropped_events(basis);
    report_judge_losses(past->report->verdict, basis);
    past->report->verdict->unfinished += basis->unfinished_count;
    past->report->verdict->damaged += basis->bad_count;
}

/* The side of the last session that has ops in its runs. */
static int find_side(struct past *past, struct diag *diag)
{
    past->side = OP_SIDES;
    for (size_t i = past->sessions.count; i-- > 0 && past->side == OP_SIDES;) {
        struct run_samples samples;
        int rc = read_session(past, &past->sessions.items[i], OP_SIDES, &samples, diag);

        if (rc == 0 && samples.ops.count)
            past->side = samples.side;
        run_samples_deinit(&samples);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int read_sessions(struct past *past, struct diag *diag)
{
    size_t count = past->sessions.count, kept = 0;
    int rc;

    past->is_filtered = report_filters(past->report->options);
    rc = find_side(past, diag);
    past->sessions.count = 0;
    for (size_t i = 0; i < count; i++) {
        struct past_session session = past->sessions.items[i];
        struct run_samples samples = {0};
        int read = rc ? rc : read_session(past, &session, past->side, &samples, diag);

        if (read == 0 && (rc = history_add(&past->history, &samples, past->is_filtered)) == 0) {
            count_losses(past, &samples.spans.basis);
            session.run_count = (double)samples.runs.count;
            past->sessions.items[kept++] = session;
        } else {
            environment_deinit(&session.environment);
            past->without_runs += read == 1;
            rc = read < 0 ? read : rc;
        }
        run_samples_deinit(&samples);
    }
    past->sessions.count = kept;
    if (rc == 0 && !kept) {
        diag_set(diag, 0, "no session of %s has runs in which anything asked for took time",
                 past->model ? past->model : "this program");
        return REPORT_NOTHING;
    }
    return rc;
}

/* --- The sessions. --- */

static double value_of(const struct past *past, size_t session)
{
    return past->history.values.items[past->history.series.items[0].first + session].median_ns;
}

static const struct history_change *change_at(const struct past *past, size_t session)
{
    for (size_t i = 0; i < past->history.changes.count; i++) {
        const struct history_change *change = &past->history.changes.items[i];

        if (change->series == 0 && change->session == session)
            return change;
    }
    return NULL;
}

/* MAD z-score of a session among those of its level before it, of which there must be some. */
static double z_of(const struct past *past, size_t session)
{
    size_t first = session, count;
    double *before, z;

    while (first > 0 && !change_at(past, first))
        first--;
    count = session - first;
    if (count < Z_SESSIONS_MIN || !(before = malloc(count * sizeof(*before))))
        return NAN;
    for (size_t i = 0; i < count; i++)
        before[i] = value_of(past, first + i);
    z = spread_mad_z(before, count, value_of(past, session));
    free(before);
    return isfinite(z) ? z : NAN;
}

/* What differs between the surroundings of two sessions: "client library 0.1 -> 0.2; host a -> b".
 */
static void describe_surroundings(const struct past *past, size_t before, size_t after,
                                  struct text_buffer *text)
{
    const char *const *was = past->sessions.items[before].environment.facts;
    const char *const *is = past->sessions.items[after].environment.facts;

    for (int fact = 0; fact < ENVIRONMENT_FACTS; fact++) {
        const char *left = was[fact] ? was[fact] : "unknown";
        const char *right = is[fact] ? is[fact] : "unknown";

        if (strcmp(left, right) != 0)
            text_buffer_print(text, "%s%s %s -> %s", text->length ? "; " : "",
                              environment_names[fact].title, left, right);
    }
}

static void emit_sessions(const struct past *past)
{
    const char *what = past->is_filtered ? "ops asked for" : "one run";
    const struct out_section section = {.name = "sessions",
                                        .keep = "session_id start_ns median_ns change differs host",
                                        .title = "Sessions:"};
    const struct out_column columns[] = {
        {.name = "session_id", .title = "session", .wiki = "session", .compact = true},
        {.name = "start_ns", .title = "start", .wiki = "start", .compact = true},
        {.name = "host", .title = "host", .wiki = "host", .compact = true, .wrap = 16},
        {.name = "run_count", .title = "runs", .wiki = "runs", .compact = true},
        {.name = "median_ns", .title = what, .wiki = what, .compact = true},
        {.name = "change", .title = "to previous", .wiki = "to previous", .compact = true},
        {.name = "z_score", .title = "z", .wiki = "z", .compact = true},
        {.name = "level", .title = "level", .wiki = "level", .compact = true},
        {.name = "differs",
         .title = "differs from previous",
         .wiki = "differs from previous",
         .compact = true,
         .wrap = 72},
    };

    out_table_begin(past->report->out, &section, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < past->sessions.count; i++) {
        const struct past_session *session = &past->sessions.items[i];
        const struct history_change *change = change_at(past, i);
        double change_share = i ? value_of(past, i) / value_of(past, i - 1) - 1 : NAN;
        struct text_buffer differs = {0};

        if (i)
            describe_surroundings(past, i - 1, i, &differs);
        out_row(past->report->out,
                (struct out_value[]){
                    out_integer(OUT_INT, session->row->session_id),
                    out_integer(OUT_WHEN, session->row->start_ns),
                    out_text(session->row->host),
                    out_integer(OUT_INT, (int64_t)session->run_count),
                    out_number(OUT_NS, value_of(past, i)),
                    out_number(OUT_SHARE, change_share),
                    out_number(OUT_REAL, z_of(past, i)),
                    out_text(!change                                ? NULL
                             : change->after_ns > change->before_ns ? "slower from here"
                                                                    : "faster from here"),
                    out_text(differs.length ? differs.text : NULL),
                });
        text_buffer_deinit(&differs);
    }
    out_table_end(past->report->out);
}

/* --- The changes. --- */

struct change_row {
    const struct history_change *change;
    char *differs;
};

struct change_context {
    const struct past *past;
};

#define COLUMN(name_, expression)                                                                  \
    static struct out_value get_##name_(const void *item, const void *context)                     \
    {                                                                                              \
        const struct history_change *change = ((const struct change_row *)item)->change;           \
        const struct past *past = ((const struct change_context *)context)->past;                  \
        const struct history_series *series = &past->history.series.items[change->series];         \
                                                                                                   \
        (void)series;                                                                              \
        return expression;                                                                         \
    }

static struct out_value get_differs(const void *item, const void *context)
{
    (void)context;
    return out_text(((const struct change_row *)item)->differs);
}

static const char *series_name(const struct past *past, const struct history_series *series)
{
    if (series->name)
        return series->name;
    return past->is_filtered ? "ops asked for" : "one run";
}

COLUMN(name, out_text(series_name(past, series)))
COLUMN(type, out_text(series->type))
COLUMN(session, out_integer(OUT_INT, past->sessions.items[change->session].row->session_id))
COLUMN(start, out_integer(OUT_WHEN, past->sessions.items[change->session].row->start_ns))
COLUMN(before, out_number(OUT_NS, change->before_ns))
COLUMN(after, out_number(OUT_NS, change->after_ns))
COLUMN(delta, out_number(OUT_NS, change->after_ns - change->before_ns))
COLUMN(ratio, out_number(OUT_SHARE,
                         change->before_ns > 0 ? change->after_ns / change->before_ns - 1 : NAN))
COLUMN(share, out_number(OUT_SHARE, change->share))
COLUMN(p, out_number(OUT_REAL, change->p))
COLUMN(p_corrected, out_number(OUT_REAL, series->p_corrected))
COLUMN(shapes, out_shapes(series->shapes, NULL))

#define SHOWN(name_, title_, get_, about_, ...)                                                    \
    {                                                                                              \
        {.name = name_, .title = title_, .wiki = title_, .compact = true, __VA_ARGS__},            \
            .about = about_, .value = get_                                                         \
    }

static const struct line_column columns[] = {
    SHOWN("session_id", "session", get_session, "the first one of the new level"),
    SHOWN("start_ns", "start", get_start, "when it began"),
    SHOWN("name", "operator", get_name, "what changed", .wrap = 40),
    SHOWN("type", "type", get_type, "its type", .wrap = 20),
    SHOWN("before_ns", "before", get_before, "median of the level before"),
    SHOWN("after_ns", "after", get_after, "median of the level after"),
    SHOWN("change", "change", get_ratio, "as a share of before"),
    SHOWN("delta_ns", "delta", get_delta, "after - before"),
    SHOWN("share", "of run's", get_share, "delta as a share of the run's in the same session"),
    SHOWN("p", "p", get_p, "of this change alone"),
    {{.name = "p_corrected", .data_only = true},
     .about = "that the op ever changed, corrected for all ops",
     .value = get_p_corrected},
    {{.name = "in_shapes", .data_only = true},
     .about = "shapes of its inputs",
     .value = get_shapes},
    SHOWN("differs", "differs from before", get_differs,
          "what else changed between the two sessions", .wrap = 72),
};
enum { COLUMN_COUNT = sizeof(columns) / sizeof(columns[0]) };

static int emit_changes(const struct past *past, struct diag *diag)
{
    static const struct out_section section = {
        .name = "changes",
        .keep = "name before_ns after_ns change session_id start_ns",
        .title = "Changes:"};
    static const struct out_section none = {.name = "changes", .data_only = true};
    const struct change_context context = {past};
    size_t count = past->history.changes.count;
    struct change_row *rows = calloc(count + 1, sizeof(*rows));
    int rc = rows ? 0 : diag_set(diag, -ENOMEM, "no memory for the changes");

    for (size_t i = 0; i < count && rc == 0; i++) {
        struct text_buffer differs = {0};

        rows[i].change = &past->history.changes.items[i];
        describe_surroundings(past, rows[i].change->previous, rows[i].change->session, &differs);
        rows[i].differs = differs.text;
    }
    if (rc == 0 && count) {
        rc = report_emit_lines(past->report, &section, rows, count, sizeof(*rows), &context, diag);
    } else if (rc == 0) {
        static const struct out_column name = {.name = "name"};

        out_table_begin(past->report->out, &none, &name, 1);
        out_table_end(past->report->out);
    }
    for (size_t i = 0; i < count && rows; i++)
        free(rows[i].differs);
    free(rows);
    return rc;
}

/* --- The report. --- */

/* "slower by 7.8 % since session 13; conv2 explains 101 % of it" */
static void describe_latest(const struct past *past, struct text_buffer *text)
{
    const struct history *history = &past->history;
    const struct history_change *latest = NULL, *most = NULL;

    for (size_t i = 0; i < history->changes.count; i++) {
        const struct history_change *change = &history->changes.items[i];

        if (change->series == 0)
            latest = change;
        else if (latest && change->session == latest->session &&
                 (!most || change->share > most->share))
            most = change;
    }
    if (!latest) {
        text_buffer_print(text, "%s",
                          past->sessions.count < CHANGE_SERIES_MIN ? "too few sessions to say"
                                                                   : "none");
        return;
    }
    text_buffer_print(text, "%s by %.1f %% since session %" PRId64,
                      latest->after_ns > latest->before_ns ? "slower" : "faster",
                      fabs(latest->after_ns / latest->before_ns - 1) * 100,
                      past->sessions.items[latest->session].row->session_id);
    if (most)
        text_buffer_print(text, "; %s explains %.0f %% of it",
                          history->series.items[most->series].name, most->share * 100);
}

static void emit_summary(const struct past *past)
{
    static const struct out_section section = {.name = "history"};
    const struct history *history = &past->history;
    size_t last = past->sessions.count - 1, whole = 0;
    const char *model = past->sessions.items[last].environment.facts[ENVIRONMENT_MODEL];
    struct text_buffer latest = {0};
    char now[48];

    while (whole < history->changes.count && history->changes.items[whole].series == 0)
        whole++;
    describe_latest(past, &latest);
    out_duration_text(now, sizeof(now), value_of(past, last));
    out_facts(
        past->report->out, &section,
        (struct out_fact[]){
            {"model", "model", out_text(model ? model : past->model)},
            {"session_count", "sessions", out_integer(OUT_INT, (int64_t)last + 1)},
            {"side", "times", out_text(past->side == OP_DEVICE ? "device" : "host")},
            {NULL, past->is_filtered ? "ops asked for, last session" : "one run, last session",
             out_text(now)},
            {"last_ns", NULL, out_number(OUT_NS, value_of(past, last))},
            {"last_z_score", NULL, out_number(OUT_REAL, z_of(past, last))},
            {"latest_change", "latest change", out_text(text_buffer_text(&latest))},
            {"run_change_count", past->is_filtered ? "changes of their sum" : "changes of a run",
             out_integer(OUT_INT, (int64_t)whole)},
            {"op_change_count", "changes of ops",
             out_integer(OUT_INT, (int64_t)(history->changes.count - whole))},
        },
        9);
    text_buffer_deinit(&latest);
}

static void emit_notes(const struct past *past)
{
    const struct analyze_options *options = past->report->options;
    struct out *out = past->report->out;
    size_t count = past->sessions.count;
    double z = z_of(past, count - 1);

    if (count < CHANGE_SERIES_MIN)
        out_note(out, OUT_NOTE_WARNING,
                 "%zu session%s %s too few to tell a change from chance: it takes %d.", count,
                 count == 1 ? "" : "s", count == 1 ? "is" : "are", CHANGE_SERIES_MIN);
    else
        out_note(out, OUT_NOTE_PLAIN,
                 "A session counts by its median. A change is one of level, of more than %g %% and "
                 "with p of at most %g, for ops after correction for their number "
                 "(--threshold, --alpha); a level lasts at least %d sessions.",
                 options->threshold_percent, alpha_of(options), CHANGE_SEGMENT_MIN);
    if (fabs(z) > SPREAD_OUTLIER_Z)
        out_note(out, OUT_NOTE_WARNING,
                 "The last session is unlike those before it (z %.1f, of the median distance): "
                 "whether the level has changed only more sessions can tell.",
                 z);
    if (past->without_runs)
        out_note(out, OUT_NOTE_PLAIN,
                 "%zu session%s of the model ha%s no finished run that shows what is asked for.",
                 past->without_runs, past->without_runs == 1 ? "" : "s",
                 past->without_runs == 1 ? "s" : "ve");
    if (past->dropped_sessions)
        out_note(out, OUT_NOTE_PLAIN,
                 "Of %zu session%s old events were dropped: they count with the runs whose events "
                 "are all there, or, where no run has them, with the time of all runs alone.",
                 past->dropped_sessions, past->dropped_sessions == 1 ? "" : "s");
    if (past->report->verdict->lost)
        out_note(out, OUT_NOTE_WARNING, "%" PRIu64 " events were lost, which no number contains.",
                 past->report->verdict->lost);
}

static int run(const struct report *report, struct diag *diag)
{
    const struct compare_gates gates = {.alpha = alpha_of(report->options),
                                        .threshold = report->options->threshold_percent / 100};
    struct past past = {.report = report};
    int rc = gather_sessions(&past, diag);

    if (rc == 0)
        rc = read_sessions(&past, diag);
    if (rc == 0)
        rc = history_find_changes(&past.history, &gates);
    if (rc == 0) {
        emit_summary(&past);
        emit_sessions(&past);
        rc = emit_changes(&past, diag);
    }
    if (rc == 0)
        emit_notes(&past);
    if (rc == -ENOMEM)
        diag_set(diag, rc, "no memory for the history");
    for (size_t i = 0; i < past.sessions.count; i++)
        environment_deinit(&past.sessions.items[i].environment);
    array_deinit(&past.sessions);
    history_deinit(&past.history);
    return rc;
}

static const char *const takes[] = {
    "runs", "time", "warmup", "strict", "threshold", "alpha", "model", NULL,
};

const struct report_kind report_history = {
    .name = "history",
    .about = "When a model's ops changed over all of its sessions.",
    .mode = "history",
    .subject = REPORT_OF_HISTORY,
    .values = REPORT_VALUES_OF_RUNS,
    .run = run,
    .tables = (const char *const[]){"sessions", "changes", "history", NULL},
    .takes = takes,
    .lines = {.columns = columns, .column_count = COLUMN_COUNT, .top = 30, .order_by = "+start_ns"},
    .explain =
        {.lacks =
             "not in it: z_score, level, differs, and the table of changes: those are searched for in\n"
             " * these medians, of which before_ns and after_ns are medians"},
};
