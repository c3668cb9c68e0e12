/* SPDX-License-Identifier: Apache-2.0 */
/* How busy each lane was: threads, streams, queues. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/metrics/lane_busy.h"
#include "analyze/reports/report.h"

struct lane_line {
    const struct lane_row *lane;
    const struct lane_use *use;
    const struct lane_busy *busy;
};

#define CELL(name, value) LINE_CELL(name, struct lane_line, value)

CELL(name_of, out_text(line->lane->name))
CELL(kind_of, out_text(line->lane->kind))
CELL(device_of, out_text(line->lane->device))
CELL(spans_of, out_integer(OUT_INT, (int64_t)line->busy->span_count))
CELL(ops_of, out_integer(OUT_INT, (int64_t)line->busy->op_count))
CELL(busy_of, out_number(OUT_NS, (double)line->busy->busy_ns))
CELL(wall_of, out_number(OUT_NS, (double)(line->use->wall_end_ns - line->use->wall_start_ns)))
CELL(gaps_of, out_integer(OUT_INT, (int64_t)line->busy->gap_count))
CELL(longest_of, out_number(OUT_NS, (double)line->busy->longest_gap_ns))
CELL(first_of, out_number(OUT_NS, (double)(line->use->start_ns - line->use->wall_start_ns)))
CELL(last_of, out_number(OUT_NS, (double)(line->use->end_ns - line->use->wall_start_ns)))
CELL(session_of, out_integer(OUT_INT, line->lane->session_id))

static struct out_value share_of(const void *item, const void *context)
{
    const struct lane_line *line = item;
    double wall_ns = (double)(line->use->wall_end_ns - line->use->wall_start_ns);

    (void)context;
    return out_number(OUT_SHARE, wall_ns > 0 ? (double)line->busy->busy_ns / wall_ns : NAN);
}

static const struct line_column columns[] = {
    {LINE_TEXT("lane", "Lane", 40), {"name"}, "thread, stream or queue", name_of},
    {LINE_COMPACT("kind", "Kind"), {NULL}, "thread, stream or queue", kind_of},
    {LINE_COMPACT("device", "Device"), {NULL}, "nothing for the host", device_of},
    {LINE_COMPACT("busy_ns", "Busy"), {"time"}, "time with an operator, overlaps once", busy_of},
    {LINE_COMPACT("share", "Share"), {NULL}, "busy_ns, of wall_ns", share_of},
    {LINE_COMPACT("span_count", "Spans"), {"spans", "count"}, "calls of operators", spans_of},
    {LINE_COMPACT("op_count", "Ops"), {"ops"}, "operators that were called", ops_of},
    {LINE_COMPACT("gap_count", "Gaps"), {"gaps"}, "times without an operator between two", gaps_of},
    {LINE_COMPACT("longest_gap_ns", "Longest gap"), {NULL}, "the longest of these", longest_of},
    {LINE_COMPACT("first_ns", "From"),
     {NULL},
     "its first operator, after that of the session",
     first_of},
    {LINE_COMPACT("last_ns", "Until"), {NULL}, "the end of its last operator", last_of},
    {{.name = "wall_ns", .data_only = true},
     {NULL},
     "from the first operator of its session to the end of the last",
     wall_of},
    {LINE_COMPACT("session_id", "Session"), {NULL}, "its session", session_of},
};

static int begin(void *user, const struct spans_answer *spans)
{
    return lane_busy_begin(spans, user);
}

static int take(void *user, struct spans_answer *spans)
{
    struct lane_busy_parts **busy = user;

    return lane_busy_add(*busy, spans);
}

static int emit(const struct report *report, void *user, struct spans_answer *spans,
                struct diag *diag)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "lane", .values = {"busy_ns"}};
    static const struct out_section section = {
        .name = "threads",
        .keep = "lane busy_ns share span_count device longest_gap_ns kind",
        .chart = &chart};
    struct lane_busy_parts **parts = user;
    const struct lane_busy *busy = lane_busy_finish(*parts, spans);
    struct lane_line *lines = malloc((spans->lanes.count + 1) * sizeof(*lines));
    size_t count = 0;
    int rc;

    if (!lines)
        return diag_set(diag, -ENOMEM, "no memory for the lanes");
    for (size_t i = 0; i < spans->lanes.count; i++) {
        if (busy[i].span_count)
            lines[count++] = (struct lane_line){&spans->lanes.items[i], &busy[i].use, &busy[i]};
    }
    rc = report_emit_lines(report, &section, lines, count, sizeof(*lines), NULL, diag);
    free(lines);
    if (rc == 0)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Shares are of the time from the first operator of a session to the end of its "
                 "last, on any lane; nested and overlapping operators count once. Labels and "
                 "phases are no operators.");
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    struct lane_busy_parts *busy = NULL;
    const struct report_parts parts = {&busy, begin, take, SPAN_FRAMES_LEAVES, SPAN_CUT_WAITS};
    int rc = report_on_span_parts(report, &parts, emit, diag);

    lane_busy_drop(&busy);
    return rc;
}

static double time_ns(const void *item)
{
    return (double)((const struct lane_line *)item)->busy->busy_ns;
}

const struct report_kind report_threads = {
    .name = "threads",
    .about = "How busy each thread, stream and queue was, and its longest gap.",
    .values = REPORT_TOTALS,
    .run = run,
    .tables = (const char *const[]){"threads", NULL},
    .lines = {.columns = columns,
              .column_count = sizeof(columns) / sizeof(columns[0]),
              .order_by = "busy_ns",
              .time_ns = time_ns},
    .explain = {.time = "busy_ns"},
};
