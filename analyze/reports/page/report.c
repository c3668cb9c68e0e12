/* SPDX-License-Identifier: Apache-2.0 */
/* All of a session at a glance: what --format html shows when no other report is asked for. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/reports/page/page.h"

/* A title for people only where the value is known. */
static struct out_fact fact(const char *name, const char *title, struct out_value value)
{
    return (struct out_fact){name, value.known ? title : NULL, value};
}

/* Files of other tools may count from the start of a machine, not from 1970. */
static struct out_value start_of(const struct session_row *session)
{
    const int64_t year_ns = INT64_C(31536000000000000);

    return session && session->start_ns > 10 * year_ns ? out_integer(OUT_WHEN, session->start_ns)
                                                       : out_unknown(OUT_WHEN);
}

static void emit_session(const struct page *page)
{
    static const struct out_section section = {.name = "session"};
    static const struct session_row nothing;
    const struct report *report = page->report;
    const struct basis *basis = &page->answer->basis;
    const struct session_row *session = &nothing;
    size_t count = basis->run_ns_count;

    for (size_t i = 0; i < report->sessions->rows.count && report->session_count == 1; i++) {
        if (report->sessions->rows.items[i].session_id == report->session_ids[0])
            session = &report->sessions->rows.items[i];
    }
    out_facts(
        report->out, &section,
        (struct out_fact[]){
            fact("program", "program", out_text(session->program)),
            fact("models", "model", out_text(session->models)),
            fact("host", "host", out_text(session->host)),
            fact("start_ns", "start", start_of(session)),
            fact("command", NULL, out_text(session->command)),
            fact("run_count", count ? "runs" : NULL, out_integer(OUT_INT, (int64_t)basis->runs)),
            fact("run_p50_ns", "median run (s)",
                 out_number(OUT_NS, count ? stats_percentile(basis->run_ns, count, 50) : NAN)),
            fact("run_max_ns", "slowest run (s)",
                 out_number(OUT_NS, count ? basis->run_ns[count - 1] : NAN)),
            fact("total_device_time_ns", "device time (s)",
                 out_number(OUT_NS, basis->total_ns[OP_DEVICE])),
            fact("total_host_time_ns", "host time (s)",
                 out_number(OUT_NS, basis->total_ns[OP_HOST])),
        },
        10);
}

/* --- Reading. --- */

/* By session and number, as a question wants them. */
static int compare_keys(const void *a, const void *b)
{
    const struct run_key *left = a, *right = b;

    if (left->session_id != right->session_id)
        return left->session_id < right->session_id ? -1 : 1;
    return (left->run > right->run) - (left->run < right->run);
}

struct reading {
    const struct page *page;
    struct page_longest *longest;
};

static int begin(void *user, const struct spans_answer *spans)
{
    struct reading *reading = user;

    return page_longest_begin(reading->page, spans, &reading->longest);
}

static int take(void *user, struct spans_answer *spans)
{
    struct reading *reading = user;

    return page_longest_take(reading->longest, spans);
}

/* Of the spans of the chosen runs, or of all where there is no run, the longest; `--type label` and the
 * like hold there, too. */
static int query_timeline(struct reading *reading, struct spans_answer *out_answer,
                          struct diag *diag)
{
    const struct page *page = reading->page;
    const struct report_parts parts = {reading, begin, take, SPAN_FRAMES_LEAVES, SPAN_CUT_WAITS};
    struct run_key keys[PAGE_RUNS_MAX];
    int rc;

    for (size_t i = 0; i < page->chosen_count; i++)
        keys[i] = (struct run_key){page->chosen[i].run.session_id, page->chosen[i].run.run};
    if (page->chosen_count) {
        qsort(keys, page->chosen_count, sizeof(keys[0]), compare_keys);
        page->selection->question.chosen_runs = keys;
        page->selection->question.chosen_run_count = page->chosen_count;
    }
    rc = report_query_span_parts(page->report, page->selection, &parts, out_answer, diag);
    if (rc == 0 && page_longest_finish(reading->longest, out_answer) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the timeline");
    page->selection->question.chosen_runs = NULL;
    page->selection->question.chosen_run_count = 0;
    return rc;
}

/* The parts that look at single spans; that none of the chosen runs' matches is no error. */
static int emit_spans(const struct page *page, struct diag *diag)
{
    struct reading reading = {.page = page};
    struct spans_answer spans;
    struct page_views views = {0};
    int rc = query_timeline(&reading, &spans, diag);

    if (rc == 0)
        rc = page_timeline(page, &spans, reading.longest, &views, diag);
    if (rc >= 0)
        rc = page_memory(page, &spans, &views, diag);
    if (rc >= 0)
        rc = page_counters(page, &spans, &views, diag);
    page_views_deinit(&views);
    page_longest_drop(&reading.longest);
    spans_answer_deinit(&spans);
    return rc;
}

static int emit_page(struct page *page, struct diag *diag)
{
    int rc;

    page->side = ops_side(page->answer, &page->selection->filter);
    rc = page_findings(page, diag);
    emit_session(page);
    if (rc == 0)
        rc = page_types(page, diag);
    if (rc == 0)
        rc = page_choose_runs(page, diag);
    if (rc == 0)
        rc = emit_spans(page, diag);
    if (rc == 0)
        rc = page_run_times(page, diag);
    if (rc == 0)
        rc = page_ops(page, diag);
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    struct report_selection selection;
    struct ops_answer answer = {0};
    struct page page = {.report = report, .selection = &selection, .answer = &answer};
    int rc = report_select(report, &selection, diag);

    selection.question.merge = QUERY_MERGE_LAUNCHES;
    if (rc == 0)
        rc = report_query_ops(report, &selection, &answer, diag);
    if (rc == 0)
        rc = query_runs(report->source->store, &selection.question, &page.runs, diag);
    if (rc == 0)
        rc = emit_page(&page, diag);
    if (rc == 0) {
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Shares are of the total %s time of all operators that ran; host time is without "
                 "the operators nested inside.",
                 page.side == OP_DEVICE ? "device" : "host");
        report_footer(report, &answer.basis);
    }
    report_advice_deinit(&page.advice);
    array_deinit(&page.runs);
    ops_answer_deinit(&answer);
    report_selection_deinit(&selection);
    return rc;
}

static const char *const takes[] = {"peak-flops", "peak-bandwidth", NULL};

const struct report_kind report_page = {
    .name = "page",
    .about = "All of a session at a glance: what to do, time by type, operators, chosen runs span "
             "by span, run times, memory, roofline. The default of --format html, where these are "
             "pictures.",
    .run = run,
    .tables = (const char *const[]){"findings", "types", "ops", "timeline", "timeline_ops",
                                    "run_times", "memory_curve", "roofline", "host_ops",
                                    "memory_owners", "timeline_memory", "timeline_counters", NULL},
    .takes = takes,
    .lines = {.columns = page_op_columns,
              .column_count = PAGE_OP_COLUMNS,
              .top = 200,
              .order_by = "time_ns",
              .time_ns = page_op_time_ns},
};
