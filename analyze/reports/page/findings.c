/* SPDX-License-Identifier: Apache-2.0 */
/* The page's verdict: what the rules of metrics/advice.h find, the gravest first, each with what it is
 * about, so that a page can lead there. */
#include <errno.h>

#include "analyze/reports/page/page.h"

static const struct out_column columns[] = {
    {.name = "rule", .data_only = true},
    {.name = "share", .title = "of wall", .wiki = "of wall", .compact = true},
    {.name = "finding", .title = "finding, what to do, what shows it", .wiki = "finding"},
    {.name = "action", .wiki = "what to do"},
    {.name = "command", .wiki = "what shows it"},
    {.name = "op", .data_only = true},
    {.name = "op_type", .data_only = true},
    {.name = "device", .data_only = true},
};

static int emit_finding(const struct report *report, const struct advice_finding *finding)
{
    struct text_buffer command = {0};
    int rc;

    report_advice_command(report, finding, REPORT_COMMAND, &command);
    out_row(report->out, (struct out_value[]){
                             out_text(finding->rule),
                             out_number(OUT_SHARE, finding->share),
                             out_text(finding->text),
                             out_text(finding->action),
                             out_text(text_buffer_text(&command)),
                             out_text(finding->op),
                             out_text(finding->type),
                             out_text(finding->device),
                         });
    rc = command.failed ? -ENOMEM : 0;
    text_buffer_deinit(&command);
    return rc;
}

static int emit(const struct report *report, const struct advice_findings *findings)
{
    static const struct out_chart chart = {.kind = OUT_CHART_DATA};
    const struct out_section section = {.name = "findings",
                                        .title = "Verdict",
                                        .data_only = !findings->count,
                                        .chart = findings->count ? &chart : NULL};
    int rc = 0;

    out_table_begin(report->out, &section, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < findings->count && rc == 0; i++)
        rc = emit_finding(report, &findings->items[i]);
    out_table_end(report->out);
    return rc;
}

/* For people, where there is nothing else to say. */
static void emit_nothing(const struct report *report)
{
    static const struct out_section section = {.name = "verdict", .title = "Verdict"};
    struct text_buffer text = {0};

    text_buffer_print(&text, "None of the %zu rules found anything to advise.", advice_rule_count);
    out_facts(report->out, &section,
              (struct out_fact[]){{"verdict", "advice", out_text(text_buffer_text(&text))}}, 1);
    text_buffer_deinit(&text);
}

int page_findings(struct page *page, struct diag *diag)
{
    struct report_advice *advice = &page->advice;
    int rc;

    advice->wants_averages = page->side == OP_DEVICE;
    rc = report_advice_find_last(page->report, page->selection, &page->runs,
                                 page->answer->basis.event_count, advice, diag);
    if (rc != 0)
        return rc < 0 ? rc : 0; /* no event is no fault */
    if (!advice->findings.count)
        emit_nothing(page->report);
    if (emit(page->report, &advice->findings) < 0)
        return diag_set(diag, -ENOMEM, "no memory for the findings");
    if (advice->is_of_last_runs)
        out_note(page->report->out, OUT_NOTE_PLAIN,
                 "The verdict, who holds memory and device time of host operators are of the last "
                 "runs, of about %d events.",
                 REPORT_ADVICE_EVENTS_MAX);
    return 0;
}
