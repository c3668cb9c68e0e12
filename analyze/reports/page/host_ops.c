/* SPDX-License-Identifier: Apache-2.0 */
/* The page's operators of the host, beside what devices computed: what each took there itself, and what
 * a device took for what was launched in it. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyze/reports/page/page.h"

/* Of all launches in ops of a name; NaN: none. */
static double device_time(const struct averages *averages, const char *name)
{
    for (size_t i = 0; i < averages->lines.count; i++) {
        const struct average_line *line = &averages->lines.items[i];

        if (line->side == OP_HOST && !line->is_label && strcmp(line->name, name) == 0)
            return line->device_ns;
    }
    return NAN;
}

/* The runs that the spans are of, where values are means of a run. */
static double divisor_of(const struct page *page)
{
    const struct spans_answer *spans = &page->advice.spans;
    double runs = 0;

    if (!page->answer->basis.is_per_run)
        return 1;
    for (size_t i = 0; i < spans->runs.count; i++)
        runs += spans->runs.items[i].selected && !spans->runs.items[i].warmup;
    return page->advice.is_of_last_runs ? runs : page->answer->basis.divisor;
}

static void emit(const struct page *page, const struct ops_lines *lines)
{
    static const struct out_chart chart = {.kind = OUT_CHART_DATA};
    static const struct out_section section = {.name = "host_ops",
                                               .title = "Operators on the host",
                                               .chart = &chart,
                                               .keep = "name time_ns device_ns share"};
    static const struct out_column columns[] = {
        {.name = "name", .title = "name", .wiki = "name", .compact = true, .wrap = 60},
        {.name = "type", .title = "type", .wiki = "type", .compact = true, .wrap = 60},
        {.name = "time_ns", .title = "self time", .wiki = "self time", .compact = true},
        {.name = "share", .title = "share", .wiki = "share", .compact = true},
        {.name = "device_ns", .title = "device time", .wiki = "device time", .compact = true},
        {.name = "calls", .title = "calls", .wiki = "calls", .compact = true},
        {.name = "call_min_ns", .title = "shortest", .wiki = "shortest", .compact = true},
        {.name = "call_max_ns", .title = "longest", .wiki = "longest", .compact = true},
    };
    double total_ns = page->answer->basis.total_ns[OP_HOST], divisor = divisor_of(page);
    struct out *out = page->report->out;

    out_table_begin(out, &section, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < lines->lines.count; i++) {
        const struct ops_line *line = &lines->lines.items[i];

        out_row(out, (struct out_value[]){
                         out_text(line->op->name),
                         out_text(line->type),
                         out_number(OUT_NS, line->time_ns),
                         out_number(OUT_SHARE, total_ns > 0 ? line->time_ns / total_ns : NAN),
                         out_number(OUT_NS,
                                    device_time(&page->advice.averages, line->op->name) / divisor),
                         out_integer(OUT_INT, (int64_t)line->calls),
                         out_number(OUT_NS, line->min_ns),
                         out_number(OUT_NS, line->max_ns),
                     });
    }
    out_table_end(out);
}

int page_host_ops(const struct page *page, struct diag *diag)
{
    const struct ops_view_options options = {.side = OP_HOST,
                                             .time = OPS_TIME_END,
                                             .reduction = STATS_SUM,
                                             .top = report_top(page->report)};
    struct ops_lines lines;
    int rc;

    if (page->side != OP_DEVICE)
        return 0;
    rc = ops_view(page->answer, &page->selection->filter, &options, &lines);
    if (rc < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the table");
    else if (lines.lines.count)
        emit(page, &lines);
    if (rc == 0 && lines.lines.count < lines.line_count)
        out_note(page->report->out, OUT_NOTE_PLAIN,
                 "%zu of %zu operators on the host are shown; -t 0 shows all.", lines.lines.count,
                 lines.line_count);
    ops_lines_deinit(&lines);
    return rc;
}
