/* SPDX-License-Identifier: Apache-2.0 */
/* The report that is shown when none is asked for: brief.h. */
#include <errno.h>
#include <math.h>

#include "analyze/reports/brief/brief.h"
#include "analyze/reports/dropped.h"

enum { PLAIN_COLUMNS = 80, LEAST_COLUMNS = 40, MOST_COLUMNS = 200 };

static size_t choose_width(const struct report *report)
{
    size_t width = report->width;

    if (width == 0)
        return report->options->width == 0 ? MOST_COLUMNS : PLAIN_COLUMNS;
    return width < LEAST_COLUMNS ? LEAST_COLUMNS : width < MOST_COLUMNS ? width : MOST_COLUMNS;
}

/* --- For programs. --- */

#define ROW(name, value) LINE_CELL(name, struct brief_row, value)

static double some(double value)
{
    return value > 0 ? value : NAN;
}

ROW(row_name, out_text(line->name))
ROW(row_type, out_text(line->type))
ROW(row_device, out_number(OUT_NS, some(line->own_ns[OP_DEVICE])))
ROW(row_host, out_number(OUT_NS, some(line->own_ns[OP_HOST])))
ROW(row_calls, out_number(OUT_REAL, line->calls[line->calls[OP_DEVICE] > 0 ? OP_DEVICE : OP_HOST]))
ROW(row_rate, out_number(OUT_FLOP_RATE, line->flop_ns > 0 ? line->flop / line->flop_ns * 1e9 : NAN))

static const struct line_column row_columns[] = {
    {LINE_TEXT("name", "op", 40), .value = row_name},
    {LINE_COMPACT("type", "type"), .value = row_type},
    {LINE_COMPACT("device_ns", "device"), .value = row_device},
    {LINE_COMPACT("host_ns", "host"), .value = row_host},
    {LINE_COMPACT("calls", "calls"), .value = row_calls},
    {LINE_COMPACT("flop_per_s", "FLOP/s"), .value = row_rate},
};

static void emit_rows(const struct report *report, const char *name, const struct brief_rows *rows,
                      size_t skipped)
{
    enum { COLUMNS = sizeof(row_columns) / sizeof(row_columns[0]), SHOWN = 20 };
    const struct out_section section = {.name = name};
    struct out_column heads[COLUMNS];

    for (size_t i = skipped; i < COLUMNS; i++)
        heads[i] = row_columns[i].out;
    out_table_begin(report->out, &section, heads + skipped, COLUMNS - skipped);
    for (size_t i = 0; i < rows->count && i < SHOWN; i++) {
        struct out_value values[COLUMNS];

        for (size_t k = skipped; k < COLUMNS; k++)
            values[k] = row_columns[k].value(&rows->items[i], NULL);
        out_row(report->out, values + skipped);
    }
    out_table_end(report->out);
}

static void emit_tables(const struct brief *brief)
{
    const struct report *report = brief->report;
    const struct brief_slowest *slowest = &brief->slowest;
    static const struct out_section subject = {.name = "subject"};
    static const struct out_section finding_section = {.name = "findings"};
    static const struct out_column heads[] = {
        {.name = "rule", .title = "rule", .wiki = "rule"},
        {.name = "finding", .title = "finding", .wiki = "finding"},
        {.name = "command", .title = "what shows it", .wiki = "what shows it"},
    };

    out_facts(
        report->out, &subject,
        (struct out_fact[]){
            {"program", "program", out_text(brief->environment.facts[ENVIRONMENT_PROGRAM])},
            {"model", "model", out_text(brief->environment.facts[ENVIRONMENT_MODEL])},
            {"cpu", "CPU", out_text(brief->environment.facts[ENVIRONMENT_CPU])},
            {"gpus", "GPUs", out_text(brief->environment.facts[ENVIRONMENT_GPUS])},
            {"lanes", "lanes", out_text(brief->environment.facts[ENVIRONMENT_LANES])},
            {"slowest_run", "slowest run",
             slowest->is_known ? out_integer(OUT_INT, slowest->run.run) : out_unknown(OUT_INT)},
            {"slowest_run_ns", "it took (s)",
             out_number(OUT_NS, slowest->is_known ? slowest->ns : NAN)},
        },
        7);
    emit_rows(report, "types", &brief->types, 1);
    emit_rows(report, "ops", &brief->names, 0);
    out_table_begin(report->out, &finding_section, heads, 3);
    for (size_t i = 0; i < brief->advice.findings.count; i++) {
        const struct advice_finding *finding = &brief->advice.findings.items[i];
        struct text_buffer command = {0};

        report_advice_command(report, finding, REPORT_COMMAND, &command);
        out_row(report->out, (struct out_value[]){out_text(finding->rule), out_text(finding->text),
                                                  out_text(text_buffer_text(&command))});
        text_buffer_deinit(&command);
    }
    out_table_end(report->out);
    report_footer(report, &brief->ops.basis);
}

/* --- The report. --- */

static int emit(const struct brief *brief, struct diag *diag)
{
    const struct report *report = brief->report;
    struct text_buffer text = {0};
    int rc = 0;

    if (report->options->wiki || (report->options->format != OUT_FORMAT_TABLE &&
                                  report->options->format != OUT_FORMAT_MARKDOWN)) {
        emit_tables(brief);
        return 0;
    }
    brief_print(brief, choose_width(report), report->options->ascii, &text);
    if (text.failed)
        rc = diag_set(diag, -ENOMEM, "no memory for the report");
    else
        out_block(report->out, text_buffer_text(&text));
    report_judge(report, &brief->ops.basis);
    text_buffer_deinit(&text);
    return rc;
}

static bool is_empty(const struct brief *brief)
{
    return !brief->has_events && !brief->counted.count && !brief->has_memory;
}

static int explain_nothing(const struct brief *brief, struct diag *diag)
{
    const struct report *report = brief->report;
    const struct session_row *session = report_session(report, report->session_ids[0]);

    if (query_has_dropped_events(&brief->ops.basis))
        diag_set(diag, 0, "%s", REPORT_ALL_DROPPED);
    else if (session->is_running && !session->is_abandoned)
        diag_set(diag, 0,
                 "session %lld has no event yet: it is still running; profile_analyze --list shows "
                 "others",
                 (long long)session->session_id);
    else if (brief->ops.basis.outside_count)
        diag_set(diag, 0, "no event belongs to the runs that are asked for");
    else
        diag_set(diag, 0, "there is no event in what is asked for%s",
                 report->sessions->rows.count > 1 ? "; --list shows the sessions there are" : "");
    return REPORT_NOTHING;
}

static int run(const struct report *report, struct diag *diag)
{
    struct brief brief = {0};
    int rc = brief_gather(&brief, report, diag);

    if (rc == 0 && is_empty(&brief))
        rc = explain_nothing(&brief, diag);
    else if (rc == 0)
        rc = emit(&brief, diag);
    brief_deinit(&brief);
    return rc;
}

static const char *const tables[] = {"types", "ops", "findings", NULL};

const struct report_kind report_brief = {
    .name = "brief",
    .about = "The first answer, in 40 lines: what ran, how long a run takes and how evenly, time "
             "by type, the dearest operators, what holds memory, the slowest run, and findings.",
    .subject = REPORT_OF_RUNS,
    .run = run,
    .tables = tables,
    .takes = (const char *const[]){"exact", NULL},
};
