/* SPDX-License-Identifier: Apache-2.0 */
/* How busy each lane was: threads, streams, queues. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/place_map.h"
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

/* --- Measuring, part by part. --- */

struct measuring {
    struct lane_line *lines; /* beside lanes, as these are: */
    int64_t *busy_until;     /* INT64_MIN: no op so far */
    struct lane_use *uses;
    uint32_t *last_lane;  /* beside ops: the lane on which the part at hand had it last */
    struct place_map ops; /* of lanes */
};

static void forget(struct measuring *all)
{
    free(all->lines);
    free(all->busy_until);
    free(all->uses);
    free(all->last_lane);
    place_map_deinit(&all->ops);
    *all = (struct measuring){0};
}

static int begin(void *user, const struct spans_answer *spans)
{
    struct measuring *all = user;
    size_t count = spans->lanes.count + 1;

    forget(all);
    all->lines = calloc(count, sizeof(*all->lines));
    all->busy_until = malloc(count * sizeof(*all->busy_until));
    all->uses = calloc(count, sizeof(*all->uses));
    all->last_lane = malloc((spans->ops.count + 1) * sizeof(*all->last_lane));
    if (!all->lines || !all->busy_until || !all->uses || !all->last_lane)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        all->busy_until[i] = INT64_MIN;
    return 0;
}

/* Counts an op of a lane that the part did not have before. */
static int count_op(struct measuring *all, uint32_t lane, uint32_t op)
{
    const struct place_key key = {.low = op, .high = lane};

    all->last_lane[op] = lane;
    if (place_map_find(&all->ops, key) != PLACE_NONE)
        return 0;
    all->lines[lane].op_count++;
    return place_map_set(&all->ops, key, 0);
}

static int measure(const struct spans_answer *spans, uint32_t lane, struct measuring *all)
{
    const struct span_range *range = &spans->ranges[lane];
    int64_t busy_until = all->busy_until[lane];
    struct lane_line *line = &all->lines[lane];
    int rc = 0;

    for (size_t i = range->first; i < range->first + range->count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        int64_t end_ns = span_end_ns(span), from_ns = span->start_ns;

        if (!span_is_op(spans, span) || !span->is_shown)
            continue;
        line->span_count++;
        if (all->last_lane[span->op] != lane)
            rc = count_op(all, lane, span->op);
        if (busy_until != INT64_MIN && from_ns > busy_until) {
            line->gap_count++;
            if (from_ns - busy_until > line->longest_gap_ns)
                line->longest_gap_ns = from_ns - busy_until;
        }
        from_ns = from_ns < busy_until ? busy_until : from_ns;
        line->busy_ns += end_ns > from_ns ? end_ns - from_ns : 0;
        busy_until = end_ns > busy_until ? end_ns : busy_until;
    }
    all->busy_until[lane] = busy_until;
    return rc;
}

static int take(void *user, struct spans_answer *spans)
{
    struct measuring *all = user;
    int rc = 0;

    lane_use_add(all->uses, spans);
    memset(all->last_lane, 0xff, (spans->ops.count + 1) * sizeof(*all->last_lane));
    for (uint32_t i = 0; i < spans->lanes.count && rc == 0; i++)
        rc = measure(spans, i, all);
    return rc;
}

/* --- The report. --- */

static int emit(const struct report *report, void *user, struct spans_answer *spans,
                struct diag *diag)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "lane", .values = {"busy_ns"}};
    static const struct out_section section = {
        .name = "threads",
        .keep = "lane busy_ns share span_count device longest_gap_ns kind",
        .chart = &chart};
    struct measuring *all = user;
    size_t count = 0;
    int rc;

    lane_use_find_walls(all->uses, spans);
    for (size_t i = 0; i < spans->lanes.count; i++) {
        struct lane_line line = all->lines[i];

        line.lane = &spans->lanes.items[i];
        line.use = &all->uses[i];
        if (line.span_count)
            all->lines[count++] = line;
    }
    rc = report_emit_lines(report, &section, all->lines, count, sizeof(*all->lines), NULL, diag);
    if (rc == 0)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Shares are of the time from the first operator of a session to the end of its "
                 "last, on any lane; nested and overlapping operators count once. Labels and "
                 "phases are no operators.");
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    struct measuring all = {0};
    const struct report_parts parts = {&all, begin, take};
    int rc = report_on_span_parts(report, &parts, emit, diag);

    forget(&all);
    return rc;
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
