/* SPDX-License-Identifier: Apache-2.0 */
/* How busy each lane was: threads, streams, queues. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/lane_use.h"
#include "analyze/reports/report.h"

struct lane_line {
    const struct lane_row *lane;
    const struct lane_use *use;
    uint64_t span_count, op_count, gap_count;
    int64_t busy_ns, longest_gap_ns;
};

#define CELL(name, value) LINE_CELL(name, struct lane_line, value)

CELL(name_of, out_text(line->lane->name))
CELL(kind_of, out_text(line->lane->kind))
CELL(device_of, out_text(line->lane->device))
CELL(spans_of, out_integer(OUT_INT, (int64_t)line->span_count))
CELL(ops_of, out_integer(OUT_INT, (int64_t)line->op_count))
CELL(busy_of, out_number(OUT_NS, (double)line->busy_ns))
CELL(wall_of, out_number(OUT_NS, (double)(line->use->wall_end_ns - line->use->wall_start_ns)))
CELL(gaps_of, out_integer(OUT_INT, (int64_t)line->gap_count))
CELL(longest_of, out_number(OUT_NS, (double)line->longest_gap_ns))
CELL(first_of, out_number(OUT_NS, (double)(line->use->start_ns - line->use->wall_start_ns)))
CELL(last_of, out_number(OUT_NS, (double)(line->use->end_ns - line->use->wall_start_ns)))
CELL(session_of, out_integer(OUT_INT, line->lane->session_id))

static struct out_value share_of(const void *item, const void *context)
{
    const struct lane_line *line = item;
    double wall_ns = (double)(line->use->wall_end_ns - line->use->wall_start_ns);

    (void)context;
    return out_number(OUT_SHARE, wall_ns > 0 ? (double)line->busy_ns / wall_ns : NAN);
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

/* Which lane an op was last seen on, to count ops of a lane. */
static void measure(const struct spans_answer *spans, uint32_t lane, uint32_t *last_lane,
                    struct lane_line *line)
{
    const struct span_range *range = &spans->ranges[lane];
    int64_t busy_until = INT64_MIN;

    for (size_t i = range->first; i < range->first + range->count; i++) {
        const struct span *span = &spans->spans.items[i];
        int64_t end_ns = span_end_ns(span), from_ns = span->start_ns;

        if (!span_is_op(spans, span) || !span->is_shown)
            continue;
        line->span_count++;
        line->op_count += last_lane[span->op] != lane;
        last_lane[span->op] = lane;
        if (busy_until != INT64_MIN && from_ns > busy_until) {
            line->gap_count++;
            if (from_ns - busy_until > line->longest_gap_ns)
                line->longest_gap_ns = from_ns - busy_until;
        }
        from_ns = from_ns < busy_until ? busy_until : from_ns;
        line->busy_ns += end_ns > from_ns ? end_ns - from_ns : 0;
        busy_until = end_ns > busy_until ? end_ns : busy_until;
    }
}

static int emit(const struct report *report, struct spans_answer *spans, struct diag *diag)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "lane", .values = {"busy_ns"}};
    static const struct out_section section = {
        .name = "threads",
        .keep = "lane busy_ns share span_count device longest_gap_ns kind",
        .chart = &chart};
    struct lane_line *lines = calloc(spans->lanes.count + 1, sizeof(*lines));
    uint32_t *last_lane = malloc((spans->ops.count + 1) * sizeof(*last_lane));
    struct lane_use *uses = NULL;
    size_t count = 0;
    int rc = lines && last_lane ? lane_use_make(spans, &uses) : -ENOMEM;

    if (last_lane)
        memset(last_lane, 0xff, (spans->ops.count + 1) * sizeof(*last_lane));
    for (uint32_t i = 0; i < spans->lanes.count && rc == 0; i++) {
        struct lane_line *line = &lines[count];

        *line = (struct lane_line){.lane = &spans->lanes.items[i], .use = &uses[i]};
        measure(spans, i, last_lane, line);
        count += line->span_count > 0;
    }
    if (rc < 0)
        rc = diag_set(diag, rc, "no memory for the table");
    else
        rc = report_emit_lines(report, &section, lines, count, sizeof(*lines), NULL, diag);
    if (rc == 0)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Shares are of the time from the first operator of a session to the end of its "
                 "last, on any lane; nested and overlapping operators count once. Labels and "
                 "phases are no operators.");
    free(lines);
    free(last_lane);
    free(uses);
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    return report_on_spans(report, emit, diag);
}

static double time_ns(const void *item)
{
    return (double)((const struct lane_line *)item)->busy_ns;
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
