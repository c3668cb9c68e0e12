/* SPDX-License-Identifier: Apache-2.0 */
/* Gaps of lanes by their cause. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/metrics/idle.h"
#include "analyze/reports/report.h"
#include "analyze/stats/groups.h"

struct idle_line {
    const struct lane_row *lane;
    const struct lane_use *use;
    enum idle_cause cause;
    const char *during; /* op of the host that most of the time fell into; of its own line */
    struct idle_gap longest;
    struct group_summary gaps;
};

struct idle_lines {
    ARRAY_OF(struct idle_line) lines;
    struct groups groups;
    const struct spans_answer *spans;
};

#define CELL(name, value) LINE_CELL(name, struct idle_line, value)
#define ALL               ((const struct idle_lines *)context)

static const char *name_at(const struct idle_lines *all, uint32_t place)
{
    return place == SPAN_NONE ? NULL : span_op(all->spans, &all->spans->spans.items[place])->name;
}

static double share(const struct idle_line *line)
{
    double active_ns = (double)(line->use->end_ns - line->use->start_ns);

    return active_ns > 0 ? line->gaps.sum / active_ns : NAN;
}

CELL(lane_of, out_text(line->lane->name))
CELL(device_of, out_text(line->lane->device))
CELL(cause_of, out_text(idle_cause_names[line->cause]))
CELL(during_of, out_text(line->during))
CELL(total_of, out_number(OUT_NS, line->gaps.sum))
CELL(share_of, out_number(OUT_SHARE, share(line)))
CELL(count_of, out_integer(OUT_INT, (int64_t)line->gaps.count))
CELL(mean_of, out_number(OUT_NS, line->gaps.mean))
CELL(p50_of, out_number(OUT_NS, line->gaps.p50))
CELL(longest_of, out_number(OUT_NS, line->gaps.max))
CELL(before_of, out_text(name_at(ALL, line->longest.before)))
CELL(after_of, out_text(name_at(ALL, line->longest.after)))
CELL(at_of, out_number(OUT_NS, (double)(line->longest.start_ns - line->use->wall_start_ns)))
CELL(active_of, out_number(OUT_NS, (double)(line->use->end_ns - line->use->start_ns)))
CELL(session_of, out_integer(OUT_INT, line->lane->session_id))

static const struct line_column columns[] = {
    {LINE_TEXT("lane", "Lane", 30), {"name"}, "thread, stream or queue", lane_of},
    {LINE_COMPACT("device", "Device"), {NULL}, "nothing for the host", device_of},
    {LINE_COMPACT("cause", "Cause"), {NULL}, "why nothing ran", cause_of},
    {LINE_TEXT("during", "During", 32),
     {NULL},
     "the operator or call that the launching thread was in; of an event what ran until then",
     during_of},
    {LINE_COMPACT("total_ns", "Total"), {"time"}, "sum of the gaps", total_of},
    {LINE_COMPACT("share", "Share"), {NULL}, "of active_ns", share_of},
    {LINE_COMPACT("gap_count", "Gaps"), {"gaps", "count"}, "gaps", count_of},
    {LINE_COMPACT("mean_ns", "Mean"), {NULL}, "mean gap", mean_of},
    {LINE_COMPACT("p50_ns", "P50"), {NULL}, "percentile, nearest rank", p50_of},
    {LINE_COMPACT("longest_ns", "Longest"), {"max"}, "the longest gap", longest_of},
    {LINE_COMPACT("longest_at_ns", "at"),
     {NULL},
     "its start, after the first operator of the session",
     at_of},
    {LINE_TEXT("longest_before", "after", 28), {"before"}, "what ran before it", before_of},
    {LINE_TEXT("longest_after", "and before", 28), {"after"}, "what ended it", after_of},
    {{.name = "active_ns", .data_only = true},
     {NULL},
     "from the first operator of the lane to the end of its last",
     active_of},
    {LINE_COMPACT("session_id", "Session"), {NULL}, "its session", session_of},
};

static int add_gap(struct idle_lines *all, const struct idle_gap *gap, const struct lane_use *uses)
{
    struct idle_line made = {.lane = &all->spans->lanes.items[gap->lane],
                             .use = &uses[gap->lane],
                             .cause = gap->cause,
                             .during = name_at(all, gap->during),
                             .longest = *gap};
    struct place_key key = {.low = (uint64_t)gap->lane << 8 | gap->cause};
    struct idle_gap *longest;
    uint32_t group;
    int rc;

    groups_add_text(&key, made.during);
    rc = groups_find(&all->groups, key, &group);
    if (rc == 1)
        rc = array_push(&all->lines, made);
    if (rc < 0)
        return rc;
    longest = &all->lines.items[group].longest;
    if (gap->end_ns - gap->start_ns > longest->end_ns - longest->start_ns)
        *longest = *gap;
    return groups_add(&all->groups, group, (double)(gap->end_ns - gap->start_ns));
}

static int gather(struct idle_lines *all, const struct lane_use *uses)
{
    struct idle_gap_array gaps = {0};
    struct group_summary *summaries = NULL;
    int rc = idle_find(all->spans, &gaps);

    for (size_t i = 0; i < gaps.count && rc == 0; i++)
        rc = add_gap(all, &gaps.items[i], uses);
    if (rc == 0)
        rc = groups_summarize(&all->groups, &summaries);
    for (size_t i = 0; i < all->lines.count && rc == 0; i++)
        all->lines.items[i].gaps = summaries[i];
    free(summaries);
    array_deinit(&gaps);
    return rc;
}

static int emit_gaps(const struct report *report, const struct idle_lines *all, struct diag *diag)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "lane", .values = {"total_ns"}, .color = "cause"};
    static const struct out_section section = {
        .name = "gaps",
        .keep = "lane total_ns share cause during device gap_count longest_ns",
        .chart = &chart};
    int rc;

    if (!all->lines.count) {
        diag_set(diag, 0, "no lane that is asked for has a gap between two operators");
        return REPORT_NOTHING;
    }
    rc = report_emit_lines(report, &section, all->lines.items, all->lines.count,
                           sizeof(*all->lines.items), all, diag);
    if (rc == 0)
        out_note(
            report->out, OUT_NOTE_PLAIN,
            "Shares are of the time from the first operator of a lane to the end of its last; "
            "before and after these no gap counts. What the host was in is looked up at the "
            "middle of a gap, on the thread that launched what ended it; of a gap that an event "
            "ended it is what the stream waited for.");
    return rc;
}

static int emit(const struct report *report, struct spans_answer *spans, struct diag *diag)
{
    struct idle_lines all = {.spans = spans};
    struct lane_use *uses = NULL;
    int rc = lane_use_make(spans, &uses);

    if (rc == 0)
        rc = gather(&all, uses);
    rc = rc < 0 ? diag_set(diag, rc, "no memory for the table") : emit_gaps(report, &all, diag);
    free(uses);
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
    return ((const struct idle_line *)item)->gaps.sum;
}

static const char explain_sql[] =
    "WITH ran AS (\n"
    "    SELECT *, max(end_ns) OVER (PARTITION BY lane_id ORDER BY start_ns, end_ns DESC, event_id "
    "DESC\n"
    "                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS idle_from_ns,\n"
    "           max(end_ns) OVER (PARTITION BY lane_id) - min(start_ns) OVER (PARTITION BY "
    "lane_id)\n"
    "           AS active_ns,\n"
    "           min(start_ns) OVER (PARTITION BY session_id, CASE WHEN session_id IN (\n"
    "                   SELECT session_id FROM session WHERE source = 'megengine') THEN side END)\n"
    "           AS first_ns\n"
    "      FROM every_span WHERE type NOT IN ('label', 'phase', 'mark', 'counter')),\n"
    "gap AS MATERIALIZED (\n"
    "    SELECT a.event_id, a.name AS ended_by, a.lane_id, a.lane, a.device, a.session_id, "
    "a.side,\n"
    "           a.idle_from_ns AS from_ns, a.start_ns AS until_ns,\n"
    "           a.start_ns - a.idle_from_ns AS gap_ns, a.active_ns, a.first_ns,\n"
    "           l.lane_id AS host_id, l.start_ns AS launch_ns, w.awaited, w.awaited_ns,\n"
    "           a.idle_from_ns + (l.start_ns - a.idle_from_ns) / 2 AS middle_ns\n"
    "      FROM ran a LEFT JOIN launching l ON a.side = 'device' AND l.session_id = a.session_id\n"
    "           AND l.run IS a.run AND l.correlation = a.correlation AND a.session_id NOT IN (\n"
    "               SELECT session_id FROM session WHERE source = 'megengine')\n"
    "      LEFT JOIN event_awaited w ON w.event_id = a.event_id AND w.awaited_ns <= a.start_ns\n"
    "           AND w.awaited_ns - max(l.start_ns, a.idle_from_ns)\n"
    "               > (a.start_ns - a.idle_from_ns) / 2\n"
    "     WHERE a.start_ns > a.idle_from_ns AND a.lane_id IN (\n"
    "           SELECT lane_id FROM counted_span\n"
    "            WHERE type NOT IN ('label', 'phase', 'mark', 'counter'))),\n"
    "looked_up AS (\n"
    "    SELECT event_id, CAST(lane_id AS INTEGER) AS lane_id, CAST(max(place) OVER (\n"
    "               PARTITION BY lane_id ORDER BY time_ns, is_gap ROWS UNBOUNDED PRECEDING)\n"
    "           AS INTEGER) AS place\n"
    "      FROM (SELECT lane_id, time_ns, place, 0 AS is_gap, NULL AS event_id FROM own_piece\n"
    "            UNION ALL SELECT host_id, middle_ns, NULL, 1, event_id FROM gap\n"
    "             WHERE launch_ns > from_ns AND awaited_ns IS NULL)),\n"
    "host_span AS (\n"
    "    SELECT event_id, name, max(CASE WHEN name GLOB '*Synchronize*' THEN end_ns END) OVER (\n"
    "               PARTITION BY lane_id ORDER BY start_ns) >= end_ns AS waits\n"
    "      FROM every_span WHERE lane_id IN (SELECT host_id FROM gap)),\n"
    "host_in AS (\n"
    "    SELECT CAST(u.event_id AS INTEGER) AS gap_id, o.name, coalesce(o.waits, 0) AS waits\n"
    "      FROM looked_up u JOIN own_piece p USING (lane_id, place)\n"
    "      JOIN (SELECT CAST(event_id AS INTEGER) AS span_id, name, waits FROM host_span) o\n"
    "        ON o.span_id = p.event_id WHERE u.event_id IS NOT NULL),\n"
    "/* How much of a gap other lanes of the device were busy: up to any moment the sum of all "
    "lanes' busy\n"
    " * time grows by the number of spans that are open; what it grew by in the gap is theirs, as "
    "nothing\n"
    " * of the gap's own lane ran. */\n"
    "device_point AS (\n"
    "    SELECT session_id, device, event_id AS span_id, lower(type) = 'copy' AS is_copy, 1 AS "
    "opens,\n"
    "           start_ns AS time_ns, NULL AS gap_id, NULL AS is_end, 0 AS turn FROM every_span\n"
    "     WHERE side = 'device' AND dur_ns > 0 AND type NOT IN ('label', 'phase', 'mark', "
    "'counter')\n"
    "    UNION ALL\n"
    "    SELECT session_id, device, event_id, lower(type) = 'copy', -1, end_ns, NULL, NULL, 0\n"
    "      FROM every_span\n"
    "     WHERE side = 'device' AND dur_ns > 0 AND type NOT IN ('label', 'phase', 'mark', "
    "'counter')\n"
    "    UNION ALL /* one without a length may end a gap, but not at its end */\n"
    "    SELECT session_id, device, event_id, lower(type) = 'copy', 0, start_ns, NULL, NULL, 2\n"
    "      FROM every_span\n"
    "     WHERE side = 'device' AND dur_ns = 0 AND type NOT IN ('label', 'phase', 'mark', "
    "'counter')\n"
    "    UNION ALL\n"
    "    SELECT g.session_id, g.device, NULL, NULL, 0, i.time_ns, g.event_id, i.is_end, 1\n"
    "      FROM (SELECT event_id, 0 AS is_end, from_ns AS time_ns FROM gap\n"
    "             WHERE launch_ns <= from_ns AND device IS NOT NULL\n"
    "            UNION ALL SELECT event_id, 1, until_ns FROM gap\n"
    "             WHERE launch_ns <= from_ns AND device IS NOT NULL) i\n"
    "      JOIN gap g USING (event_id)),\n"
    "device_open AS (\n"
    "    SELECT *, lead(time_ns) OVER o - time_ns AS ns,\n"
    "           sum(opens * coalesce(is_copy, 0)) OVER (o ROWS UNBOUNDED PRECEDING) AS copies,\n"
    "           sum(opens * (1 - coalesce(is_copy, 0))) OVER (o ROWS UNBOUNDED PRECEDING) AS "
    "others,\n"
    "           max(CASE WHEN opens < 1 AND gap_id IS NULL THEN time_ns * 2 + is_copy END)\n"
    "               OVER (o ROWS UNBOUNDED PRECEDING) AS last_ended\n"
    "      FROM device_point\n"
    "    WINDOW o AS (PARTITION BY session_id, device ORDER BY time_ns, turn, opens, span_id, "
    "gap_id)),\n"
    "device_busy AS (\n"
    "    SELECT gap_id, is_end, last_ended, sum(copies * ns) OVER o AS copy_ns,\n"
    "           sum(others * ns) OVER o AS other_ns FROM device_open\n"
    "    WINDOW o AS (PARTITION BY session_id, device ORDER BY time_ns, turn, opens, span_id, "
    "gap_id\n"
    "                 ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),\n"
    "beside AS (\n"
    "    SELECT CAST(gap_id AS INTEGER) AS gap_id, max(copy_ns * is_end) - max(copy_ns * (1 - "
    "is_end)) AS "
    "copy_ns,\n"
    "           max(other_ns * is_end) - max(other_ns * (1 - is_end)) AS other_ns,\n"
    "           max(last_ended) FILTER (WHERE is_end) AS last_ended\n"
    "      FROM device_busy WHERE gap_id IS NOT NULL GROUP BY gap_id),\n"
    "judged AS (\n"
    "    SELECT g.*, coalesce(g.awaited, h.name) AS during,\n"
    "           CASE WHEN g.side = 'host' THEN 'nothing recorded'\n"
    "                WHEN g.awaited_ns IS NOT NULL THEN 'event'\n"
    "                WHEN g.launch_ns IS NULL THEN 'not known'\n"
    "                WHEN g.launch_ns > g.from_ns THEN CASE h.waits WHEN 1 THEN 'host waited'\n"
    "                     WHEN 0 THEN 'host busy' ELSE 'nothing queued' END\n"
    "                WHEN b.copy_ns > g.gap_ns / 2 THEN 'copy'\n"
    "                WHEN b.other_ns > g.gap_ns / 2 THEN 'other stream'\n"
    "                WHEN b.last_ended / 2 > g.until_ns - g.gap_ns / 10 THEN\n"
    "                     CASE b.last_ended % 2 WHEN 1 THEN 'copy' ELSE 'other stream' END\n"
    "                ELSE 'launched, not started' END AS cause\n"
    "      FROM gap g LEFT JOIN host_in h ON h.gap_id = g.event_id\n"
    "      LEFT JOIN beside b ON b.gap_id = g.event_id),\n"
    "ranked AS (\n"
    "    SELECT *, count(*) OVER line AS gaps,\n"
    "           row_number() OVER (line ORDER BY gap_ns) AS nth,\n"
    "           row_number() OVER (line ORDER BY gap_ns DESC, from_ns) AS down\n"
    "      FROM judged WINDOW line AS (PARTITION BY lane_id, cause, during)),\n"
    "ended AS (\n"
    "    SELECT CAST(lane_id AS INTEGER) AS ended_lane, CAST(end_ns AS INTEGER) AS ended_ns,\n"
    "           name AS ended_name, row_number() OVER (\n"
    "               PARTITION BY lane_id, end_ns ORDER BY start_ns DESC, event_id DESC) AS turn\n"
    "      FROM ran)\n"
    "SELECT lane, device, cause, during, sum(gap_ns) AS total_ns,\n"
    "       sum(gap_ns) * 1.0 / active_ns AS share, count(*) AS gap_count, avg(gap_ns) AS "
    "mean_ns,\n"
    "       max(gap_ns) FILTER (WHERE nth = (gaps + 1) / 2) AS p50_ns, max(gap_ns) AS longest_ns,\n"
    "       max(from_ns - first_ns) FILTER (WHERE down = 1) AS longest_at_ns,\n"
    "       max(ended_name) FILTER (WHERE down = 1) AS longest_before,\n"
    "       max(ended_by) FILTER (WHERE down = 1) AS longest_after, active_ns, session_id\n"
    "  FROM ranked r LEFT JOIN (SELECT * FROM ended WHERE turn = 1) e\n"
    "    ON e.ended_lane = r.lane_id AND e.ended_ns = r.from_ns AND r.down = 1\n"
    " GROUP BY lane_id, cause, during ORDER BY total_ns DESC";

const struct report_kind report_idle = {
    .name = "idle",
    .about = "When nothing ran on a lane, and why: not launched as the host was busy or waited, "
             "events of other streams, copies, other streams.",
    .run = run,
    .tables = (const char *const[]){"gaps", NULL},
    .explain_time = "total_ns",
    .explain = explain_sql,
    .has_totals = true,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .top = 30,
    .order_by = "total_ns",
    .time_ns = time_ns,
};
