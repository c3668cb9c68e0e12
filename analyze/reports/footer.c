/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a report on events: what the numbers stand for, and what is missing in them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/import/importer.h"
#include "analyze/reports/dropped.h"
#include "analyze/stats/describe.h"
#include "base/amount.h"
#include "base/text_buffer.h"

const struct session_row *report_session(const struct report *report, int64_t session_id)
{
    for (size_t i = 0; i < report->sessions->rows.count; i++) {
        if (report->sessions->rows.items[i].session_id == session_id)
            return &report->sessions->rows.items[i];
    }
    return NULL;
}

static const char *or_unknown(const char *text)
{
    return text ? text : "unknown";
}

/* "10 runs (1 warm-up and 1 that did not end left out)" */
static void describe_runs(char *text, size_t bytes, const struct basis *basis)
{
    uint64_t warmups = basis->warmups_skipped, unended = basis->unended_skipped;
    char warmups_text[48] = "", unended_text[48] = "";

    if (warmups)
        snprintf(warmups_text, sizeof(warmups_text), "%" PRIu64 " warm-up%s", warmups,
                 warmups == 1 ? "" : "s");
    if (unended)
        snprintf(unended_text, sizeof(unended_text), "%" PRIu64 " that did not end", unended);
    if (!basis->runs && !warmups && !unended)
        snprintf(text, bytes, "no runs");
    else
        snprintf(text, bytes, "%" PRIu64 " run%s%s%s%s%s%s", basis->runs,
                 basis->runs == 1 ? "" : "s", warmups || unended ? " (" : "", warmups_text,
                 warmups && unended ? " and " : "", unended_text,
                 warmups || unended ? " left out)" : "");
}

static void emit_selection(const struct report *report, const struct basis *basis)
{
    static const struct out_section section = {.name = "selection", .data_only = true};
    static const char *const times[] = {"end", "kern", "exec"};
    struct text_buffer ids = {0};

    for (size_t i = 0; i < report->session_count; i++)
        text_buffer_print(&ids, "%s%" PRId64, i ? "," : "[", report->session_ids[i]);
    text_buffer_add(&ids, "]", 1);
    out_facts(report->out, &section,
              (struct out_fact[]){
                  {"source", NULL, out_text(report->source->name)},
                  {"source_kind", NULL,
                   out_text(report->source->format ? report->source->format->name : "store")},
                  {"session_ids", NULL, out_json_text(ids.text)},
                  {"values", NULL, out_text(basis->is_per_run ? "mean of one run" : "total")},
                  {"time", NULL, out_text(times[report->options->top_end_key])},
              },
              5);
    text_buffer_deinit(&ids);
}

static void note_selection(const struct report *report, const struct basis *basis)
{
    const char *meaning = basis->is_per_run
                              ? "times, computation and memory are those of one run on average"
                              : "times, computation and memory are totals";
    char runs[128];

    describe_runs(runs, sizeof(runs), basis);
    if (source_is_one_run(report->source)) {
        out_note(report->out, OUT_NOTE_BASIS,
                 "MegEngine's profile %s holds one run, its last; host and device times count from "
                 "different zeros.",
                 report->source->name);
    } else if (report->session_count == 1) {
        const struct session_row *session = report_session(report, report->session_ids[0]);

        out_note(report->out, OUT_NOTE_BASIS, "Session %" PRId64 " of %s%s%s%s, %s; %s.",
                 session->session_id, or_unknown(session->program), session->models ? " " : "",
                 session->models ? session->models : "",
                 session->is_abandoned ? ", which did not end"
                 : session->is_running ? ", which is still running"
                                       : "",
                 runs, meaning);
    } else {
        out_note(report->out, OUT_NOTE_BASIS, "%zu sessions, %s; %s.", report->session_count, runs,
                 meaning);
    }
}

/* With one run in twenty recorded op by op, the numbers are of these. */
static void note_without_ops(const struct report *report, const struct basis *basis)
{
    const uint64_t with = basis->runs_with_ops, without = basis->runs_without_ops;

    if (!without)
        return;
    if (!with)
        out_note(report->out, OUT_NOTE_BASIS,
                 "Ops were recorded of none of the %" PRIu64 " runs, on purpose.", without);
    else
        out_note(report->out, OUT_NOTE_BASIS,
                 "Ops were recorded of %" PRIu64 " of %" PRIu64 " runs, on purpose%s.", with,
                 with + without,
                 report->kind->runs == REPORT_RUNS_ALL ? "" : "; what they take is that of these");
}

static void note_runs(const struct report *report, const struct basis *basis)
{
    static const struct out_section section = {.name = "runs", .data_only = true};
    const double percents[] = {50, 90, 99};
    const double *ns = basis->run_ns;
    size_t count = basis->run_ns_count;
    double values[3] = {NAN, NAN, NAN}, sum = 0;
    char text[6][32];

    for (size_t i = 0; i < count; i++)
        sum += ns[i];
    for (size_t i = 0; i < 3 && count; i++)
        values[i] = stats_percentile(ns, count, percents[i]);
    out_facts(report->out, &section,
              (struct out_fact[]){
                  {"count", NULL, out_integer(OUT_INT, (int64_t)basis->runs)},
                  {"warmups_left_out", NULL, out_integer(OUT_INT, (int64_t)basis->warmups_skipped)},
                  {"unended_left_out", NULL, out_integer(OUT_INT, (int64_t)basis->unended_skipped)},
                  {"without_ops", NULL, out_integer(OUT_INT, (int64_t)basis->runs_without_ops)},
                  {"mean_ns", NULL, out_number(OUT_NS, count ? sum / (double)count : NAN)},
                  {"min_ns", NULL, out_number(OUT_NS, count ? ns[0] : NAN)},
                  {"p50_ns", NULL, out_number(OUT_NS, values[0])},
                  {"p90_ns", NULL, out_number(OUT_NS, values[1])},
                  {"p99_ns", NULL, out_number(OUT_NS, values[2])},
                  {"max_ns", NULL, out_number(OUT_NS, count ? ns[count - 1] : NAN)},
              },
              10);
    if (count < 2 || report->session_count > 1 || source_is_one_run(report->source))
        return;
    out_note(report->out, OUT_NOTE_PLAIN,
             "A run took %s on average, P50 %s, P90 %s, P99 %s (nearest rank), from %s to %s.",
             amount_format_duration(text[0], sizeof(text[0]), sum / (double)count),
             amount_format_duration(text[1], sizeof(text[1]), values[0]),
             amount_format_duration(text[2], sizeof(text[2]), values[1]),
             amount_format_duration(text[3], sizeof(text[3]), values[2]),
             amount_format_duration(text[4], sizeof(text[4]), ns[0]),
             amount_format_duration(text[5], sizeof(text[5]), ns[count - 1]));
}

static void note_backward(const struct report *report, const struct basis *basis)
{
    char text[32];

    if (basis->backward_elsewhere_ns)
        out_note(report->out, OUT_NOTE_BASIS,
                 "Autograd ran for %s outside of what --label chose; what of it is for operators "
                 "inside is not told apart, and in no number above. A label around backward() has "
                 "it.",
                 amount_format_duration(text, sizeof(text), (double)basis->backward_elsewhere_ns));
}

static double coverage_of(const struct basis *basis, enum op_side side)
{
    if (isnan(basis->total_ns[side]) || !(basis->wall_ns[side] > 0))
        return NAN;
    return basis->covered_ns[side] / basis->wall_ns[side];
}

static void note_coverage(const struct report *report, const struct basis *basis)
{
    static const struct out_section section = {.name = "coverage", .data_only = true};
    const char *whole = basis->wall_is_runs ? "of the runs' wall time"
                                            : "of the time from the first operator to the last";
    const char *stored = query_has_dropped_events(basis) ? ", as far as events are stored" : "";
    double device = coverage_of(basis, OP_DEVICE), host = coverage_of(basis, OP_HOST);
    char parts[128] = "";

    out_facts(report->out, &section,
              (struct out_fact[]){
                  {"of", NULL, out_text(basis->wall_is_runs ? "runs" : "first to last op")},
                  {"device_wall_ns", NULL, out_number(OUT_NS, basis->wall_ns[OP_DEVICE])},
                  {"device_share", NULL, out_number(OUT_SHARE, device)},
                  {"host_wall_ns", NULL, out_number(OUT_NS, basis->wall_ns[OP_HOST])},
                  {"host_share", NULL, out_number(OUT_SHARE, host)},
                  {"is_exact", NULL, out_integer(OUT_BOOL, basis->covered_is_exact)},
              },
              6);
    if (!isnan(device))
        snprintf(parts, sizeof(parts), "%.1f%% on the device", device * 100);
    if (!isnan(host))
        snprintf(parts + strlen(parts), sizeof(parts) - strlen(parts), "%s%.1f%% on the host",
                 parts[0] ? " and " : "", host * 100);
    if (basis->is_of_totals)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "These are the session's totals; how much of the time operators cover is told by "
                 "its events: --exact reads them.");
    if (parts[0])
        out_note(report->out, OUT_NOTE_PLAIN, "Operators cover %s%s %s%s.",
                 basis->covered_is_exact ? "" : "at least ", parts, whole, stored);
}

static void say_sum(const struct report *report, const struct basis *basis)
{
    struct loss_sum sum = query_sum_losses(basis);
    char since[48];

    if (sum.unknown) {
        report_describe_time(since, sizeof(since), sum.unknown_since_ns);
        out_note(report->out, OUT_NOTE_WARNING,
                 "An unknown number of events was lost since %s: no daemon was there for %s.",
                 since, sum.unknown == 1 ? "the rest of the session" : "the rest of some sessions");
    }
    if (sum.count)
        out_note(report->out, OUT_NOTE_WARNING,
                 "%" PRIu64 " event%s lost, which no number above contains:", sum.count,
                 sum.count == 1 ? " was" : "s were");
    if (!sum.unknown && !sum.count)
        out_note(report->out, OUT_NOTE_PLAIN, "No event was lost.");
}

static void note_losses(const struct report *report, const struct basis *basis)
{
    static const struct out_section section = {.name = "losses", .data_only = true};
    static const struct out_column columns[] = {
        {.name = "session_id"}, {.name = "lane"},     {.name = "reason"},
        {.name = "lost_count"}, {.name = "start_ns"}, {.name = "end_ns"},
    };

    out_table_begin(report->out, &section, columns, 6);
    for (size_t i = 0; i < basis->losses.count; i++) {
        const struct loss_row *loss = &basis->losses.items[i];
        bool has_start = loss->start_ns != STORE_NULL, has_end = loss->end_ns != STORE_NULL;

        out_row(report->out,
                (struct out_value[]){
                    out_integer(OUT_INT, loss->session_id),
                    out_text(loss->lane),
                    out_text(loss->reason),
                    loss->lost_count == STORE_NULL ? out_unknown(OUT_INT)
                                                   : out_integer(OUT_INT, loss->lost_count),
                    has_start ? out_integer(OUT_WHEN, loss->start_ns) : out_unknown(OUT_WHEN),
                    has_end ? out_integer(OUT_WHEN, loss->end_ns) : out_unknown(OUT_WHEN),
                });
    }
    out_table_end(report->out);
    if (source_is_one_run(report->source))
        return; /* the format does not say */
    say_sum(report, basis);
}

/* When a loss happened, from the start of its session on. */
static void describe_period(char *text, size_t bytes, const struct report *report,
                            const struct loss_row *loss)
{
    const struct session_row *session = report_session(report, loss->session_id);
    char from[32], until[32];

    text[0] = '\0';
    if (loss->start_ns == STORE_NULL || loss->end_ns == STORE_NULL)
        return;
    snprintf(
        text, bytes, ", between %s and %s after the session's start",
        amount_format_duration(from, sizeof(from), (double)(loss->start_ns - session->start_ns)),
        amount_format_duration(until, sizeof(until), (double)(loss->end_ns - session->start_ns)));
}

static void note_each_loss(const struct report *report, const struct basis *basis)
{
    enum { SHOWN_MAX = 8 };
    char period[128];

    for (size_t i = 0; i < basis->losses.count && i < SHOWN_MAX; i++) {
        const struct loss_row *loss = &basis->losses.items[i];

        if (!loss->lost_count || loss->lost_count == STORE_NULL)
            continue;
        describe_period(period, sizeof(period), report, loss);
        out_note(report->out, OUT_NOTE_WARNING, "  %" PRId64 " on %s (%s)%s", loss->lost_count,
                 loss->lane ? loss->lane : "a lane that is not known", or_unknown(loss->reason),
                 period);
    }
    if (basis->losses.count > SHOWN_MAX)
        out_note(report->out, OUT_NOTE_WARNING, "  and on %zu more lanes: see v_loss with --sql",
                 basis->losses.count - SHOWN_MAX);
}

/* Not so of traces, which end where somebody cut them, nor of what runs still. */
static bool has_died(const struct report *report, int64_t session_id)
{
    const struct session_row *session = report_session(report, session_id);

    return session && session->end_reason && strcmp(session->end_reason, "died") == 0;
}

static void note_unfinished(const struct report *report, const struct basis *basis)
{
    enum { SHOWN_MAX = 8 };
    static const struct out_section section = {.name = "unfinished", .data_only = true};
    static const struct out_column columns[] = {
        {.name = "session_id"}, {.name = "lane"},     {.name = "op"},
        {.name = "type"},       {.name = "start_ns"},
    };

    out_table_begin(report->out, &section, columns, 5);
    for (size_t i = 0; i < basis->unfinished.count; i++) {
        const struct unfinished_row *span = &basis->unfinished.items[i];

        out_row(report->out, (struct out_value[]){
                                 out_integer(OUT_INT, span->session_id),
                                 out_text(span->lane),
                                 out_text(span->op),
                                 out_text(span->type),
                                 out_integer(OUT_WHEN, span->start_ns),
                             });
    }
    out_table_end(report->out);
    for (size_t i = 0; i < basis->unfinished.count && i < SHOWN_MAX; i++) {
        const struct unfinished_row *span = &basis->unfinished.items[i];

        out_note(report->out, OUT_NOTE_WARNING,
                 "%s (%s) on %s never ended%s; it is in no number above.", or_unknown(span->op),
                 or_unknown(span->type), or_unknown(span->lane),
                 has_died(report, span->session_id) ? ": the program died in it" : "");
    }
    if (basis->unfinished_count > SHOWN_MAX)
        out_note(report->out, OUT_NOTE_WARNING, "%" PRIu64 " spans in all never ended.",
                 basis->unfinished_count);
}

/* What is recorded from outside has runs where its source knows of some. Those have a label for the
 * loading of a model, which is no reason to speak of it. */
static void note_no_runs(const struct report *report, const struct basis *basis)
{
    enum { FEW = 4 };
    bool is_from_outside = false;

    for (size_t i = 0; i < report->session_count && !is_from_outside; i++)
        is_from_outside = report_session(report, report->session_ids[i])->is_from_outside;
    if (is_from_outside && (basis->outside_count > FEW || (!basis->runs && basis->event_count)))
        out_note(report->out, OUT_NOTE_BASIS,
                 "What ran outside of any run is in none: `optrace run --runs-by REGEX` begins one "
                 "with each op or label of that name.");
}

static void note_skipped(const struct report *report, const struct basis *basis)
{
    static const struct out_section section = {.name = "counted", .data_only = true};

    out_facts(
        report->out, &section,
        (struct out_fact[]){
            {"is_per_run", NULL, out_integer(OUT_BOOL, basis->is_per_run)},
            {"event_count", NULL, out_integer(OUT_INT, (int64_t)basis->event_count)},
            {"outside_count", NULL, out_integer(OUT_INT, (int64_t)basis->outside_count)},
            {"damaged_count", NULL, out_integer(OUT_INT, (int64_t)basis->bad_count)},
            {"clipped_count", NULL, out_integer(OUT_INT, (int64_t)basis->clipped_count)},
            {"unfinished_count", NULL, out_integer(OUT_INT, (int64_t)basis->unfinished_count)},
        },
        6);
    if (basis->outside_count)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "%" PRIu64 " event%s in no run that ended %s left out; --total counts them.",
                 basis->outside_count, basis->outside_count == 1 ? "" : "s",
                 basis->outside_count == 1 ? "is" : "are");
    if (basis->bad_count)
        out_note(report->out, OUT_NOTE_WARNING,
                 "%" PRIu64 " event%s left out whose op or times make no sense.", basis->bad_count,
                 basis->bad_count == 1 ? " is" : "s are");
    if (basis->clipped_count)
        out_note(report->out, OUT_NOTE_WARNING,
                 "%" PRIu64 " span%s shorter than what lies inside, by the clock or by damage: no "
                 "time of %s own is left.",
                 basis->clipped_count, basis->clipped_count == 1 ? " is" : "s are",
                 basis->clipped_count == 1 ? "its" : "their");
}

/* --- --strict. --- */

void report_judge_losses(struct report_verdict *verdict, const struct basis *basis)
{
    struct loss_sum sum = query_sum_losses(basis);

    verdict->lost += sum.count;
    verdict->unknown += sum.unknown;
}

void report_judge(const struct report *report, const struct basis *basis)
{
    struct report_verdict verdict = {
        .unfinished = basis->unfinished_count,
        .damaged = basis->bad_count,
        .clipped = basis->clipped_count,
        .is_of_rollups = basis->is_of_rollups,
    };

    report_judge_losses(&verdict, basis);
    for (size_t i = 0; i < report->session_count; i++) {
        const struct session_row *session = report_session(report, report->session_ids[i]);

        verdict.damaged += session->damage_count;
        verdict.damaged += session->end_reason && strcmp(session->end_reason, "cut off") == 0;
    }
    *report->verdict = verdict;
}

bool report_is_lacking(const struct report_verdict *verdict, struct diag *diag)
{
    const struct {
        uint64_t count;
        const char *one, *many;
    } parts[] = {
        {verdict->lost, "event was lost", "events were lost"},
        {verdict->unknown, "session lost an unknown number of events",
         "sessions lost an unknown number of events"},
        {verdict->unfinished, "span never ended", "spans never ended"},
        {verdict->damaged, "piece is damaged", "pieces are damaged"},
        {verdict->clipped, "span is shorter than what lies inside it",
         "spans are shorter than what lies inside them"},
    };
    char text[300] = "";

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t used = strlen(text);

        if (parts[i].count)
            snprintf(text + used, sizeof(text) - used, "%s%" PRIu64 " %s", used ? ", " : "",
                     parts[i].count, parts[i].count == 1 ? parts[i].one : parts[i].many);
    }
    if (text[0])
        diag_set(diag, 0, "something is missing in this report (--strict): %s", text);
    return text[0] != '\0';
}

void report_footer(const struct report *report, const struct basis *basis)
{
    report_judge(report, basis);
    emit_selection(report, basis);
    note_selection(report, basis);
    note_without_ops(report, basis);
    note_backward(report, basis);
    note_runs(report, basis);
    note_coverage(report, basis);
    report_note_dropped(report, basis);
    note_skipped(report, basis);
    note_no_runs(report, basis);
    note_losses(report, basis);
    note_each_loss(report, basis);
    note_unfinished(report, basis);
}
