/* SPDX-License-Identifier: Apache-2.0 */
/* Time by type of operator, with percentiles of single calls. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/lane_use.h"
#include "analyze/reports/report.h"
#include "analyze/stats/groups.h"

struct type_line {
    const char *type;
    enum op_side side;
    uint64_t op_count;
    double self_ns;
    struct group_summary calls;
};

struct type_lines {
    ARRAY_OF(struct type_line) lines;
    struct groups groups;
    double self_ns[OP_SIDES]; /* of all ops, also of those not shown: what shares are of */
};

/* Its self time is no operator's. */
static bool is_label(const struct type_line *line)
{
    return strcmp(line->type, "label") == 0;
}

#define CELL(name, value) LINE_CELL(name, struct type_line, value)
#define ALL               ((const struct type_lines *)context)

CELL(type_of, out_text(line->type))
CELL(side_of, out_text(line->side == OP_DEVICE ? "device" : "host"))
CELL(calls, out_integer(OUT_INT, (int64_t)line->calls.count))
CELL(op_count, out_integer(OUT_INT, (int64_t)line->op_count))
CELL(total, out_number(OUT_NS, line->calls.sum))
CELL(self, out_number(OUT_NS, is_label(line) ? NAN : line->self_ns))
CELL(mean, out_number(OUT_NS, line->calls.mean))
CELL(min, out_number(OUT_NS, line->calls.min))
CELL(p50, out_number(OUT_NS, line->calls.p50))
CELL(p90, out_number(OUT_NS, line->calls.p90))
CELL(p99, out_number(OUT_NS, line->calls.p99))
CELL(max, out_number(OUT_NS, line->calls.max))

static struct out_value share(const void *item, const void *context)
{
    const struct type_line *line = item;
    double all_ns = is_label(line) ? 0 : ALL->self_ns[line->side];

    return out_number(OUT_SHARE, all_ns > 0 ? line->self_ns / all_ns : NAN);
}

static const struct line_column columns[] = {
    {LINE_TEXT("type", "Type", 40), {NULL}, "type of the operators", type_of},
    {LINE_COMPACT("side", "On"), {NULL}, "host or device", side_of},
    {LINE_COMPACT("share", "Share"),
     {NULL},
     "of the self time of all operators of that side",
     share},
    {LINE_COMPACT("self_ns", "Self"), {"time"}, "time without operators inside", self},
    {LINE_COMPACT("total_ns", "Total"), {NULL}, "from start to end", total},
    {LINE_COMPACT("calls", "Calls"), {NULL}, "calls", calls},
    {LINE_COMPACT("op_count", "Ops"), {"ops", "count"}, "operators that were called", op_count},
    {LINE_COMPACT("mean_ns", "Mean"), {NULL}, "total_ns of a call", mean},
    {LINE_COMPACT("min_ns", "Min"), {NULL}, "the shortest call", min},
    {LINE_COMPACT("p50_ns", "P50"), {NULL}, "percentile of calls, nearest rank", p50},
    {LINE_COMPACT("p90_ns", "P90"), {NULL}, "the same", p90},
    {LINE_COMPACT("p99_ns", "P99"), {NULL}, "the same", p99},
    {LINE_COMPACT("max_ns", "Max"), {NULL}, "the longest call", max},
};

/* The line of an op on a side. */
static int find_line(struct type_lines *all, const struct op_row *op, enum op_side side,
                     uint32_t *out)
{
    struct place_key key = {.low = side};
    struct type_line line = {.type = op->type, .side = side};
    int rc;

    groups_add_text(&key, op->type);
    rc = groups_find(&all->groups, key, out);
    return rc == 1 ? array_push(&all->lines, line) : rc;
}

static int gather(const struct spans_answer *spans, struct type_lines *all)
{
    uint8_t *seen = calloc(spans->ops.count + 1, 1); /* a bit for each side */
    int rc = seen ? 0 : -ENOMEM;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        enum op_side side = spans->lanes.items[span->lane].side;
        enum span_kind kind = (enum span_kind)spans->op_kinds[span->op];
        uint32_t group;

        if (kind == SPAN_OP)
            all->self_ns[side] += (double)span_own_ns(spans, span);
        if (!span->is_shown || kind == SPAN_MARK || kind == SPAN_PHASE)
            continue;
        rc = find_line(all, span_op(spans, span), side, &group);
        if (rc == 0)
            rc = groups_add(&all->groups, group, (double)span->dur_ns);
        if (rc < 0)
            break;
        all->lines.items[group].self_ns += (double)span_own_ns(spans, span);
        all->lines.items[group].op_count += !(seen[span->op] & 1 << side);
        seen[span->op] |= (uint8_t)(1 << side);
    }
    free(seen);
    return rc;
}

static int emit(const struct report *report, struct spans_answer *spans, struct diag *diag)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "type", .values = {"self_ns"}, .color = "type"};
    static const struct out_section section = {
        .name = "types",
        .keep = "type self_ns share calls mean_ns p99_ns side total_ns",
        .chart = &chart};
    struct type_lines all = {0};
    struct group_summary *summaries = NULL;
    int rc = gather(spans, &all);

    if (rc == 0)
        rc = groups_summarize(&all.groups, &summaries);
    for (size_t i = 0; i < all.lines.count && rc == 0; i++)
        all.lines.items[i].calls = summaries[i];
    if (rc < 0)
        rc = diag_set(diag, rc, "no memory for the table");
    else
        rc = report_emit_lines(report, &section, all.lines.items, all.lines.count,
                               sizeof(*all.lines.items), &all, diag);
    if (rc == 0)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Shares are of the self time of all operators on the host or the device; labels "
                 "are in no such sum. Percentiles are of single calls, by nearest rank.");
    free(summaries);
    array_deinit(&all.lines);
    groups_deinit(&all.groups);
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    return report_on_spans(report, emit, diag);
}

static double time_ns(const void *item)
{
    const struct type_line *line = item;

    return is_label(line) ? line->calls.sum : line->self_ns;
}

const struct report_kind report_types = {
    .name = "types",
    .about = "Time by type of operator, with percentiles of single calls.",
    .run = run,
    .tables = (const char *const[]){"types", NULL},
    .explain =
        "SELECT type, side, count(*) AS calls, count(DISTINCT op_id) AS op_count,\n"
        "       CASE WHEN type <> 'label' THEN sum(CASE WHEN side = 'device' OR session_id IN (\n"
        "            SELECT session_id FROM session WHERE source = 'megengine') THEN dur_ns\n"
        "            ELSE coalesce(own_ns, 0) END) END AS self_ns, sum(dur_ns) AS total_ns,\n"
        "       avg(dur_ns) AS mean_ns, min(dur_ns) AS min_ns, max(dur_ns) AS max_ns\n"
        "  FROM counted_span LEFT JOIN own_host USING (event_id)\n"
        " WHERE type NOT IN ('phase', 'mark', 'counter') GROUP BY type, side ORDER BY self_ns DESC",
    .explain_time = "CASE type WHEN 'label' THEN total_ns ELSE self_ns END",
    .has_totals = true,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .order_by = "self_ns",
    .time_ns = time_ns,
};
