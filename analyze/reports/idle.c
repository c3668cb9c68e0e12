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
    struct idle_parts *parts;
    struct idle_gap_array gaps; /* of the part at hand */
    struct lane_use *uses;      /* beside lanes */
    const struct spans_answer *spans;
};

#define CELL(name, value) LINE_CELL(name, struct idle_line, value)
#define ALL               ((const struct idle_lines *)context)

static const char *name_of_op(const struct idle_lines *all, uint32_t op)
{
    return op == SPAN_NONE ? NULL : all->spans->ops.items[op].name;
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
CELL(before_of, out_text(name_of_op(ALL, line->longest.before_op)))
CELL(after_of, out_text(name_of_op(ALL, line->longest.after_op)))
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

static int add_gap(struct idle_lines *all, const struct idle_gap *gap)
{
    struct idle_line made = {.lane = &all->spans->lanes.items[gap->lane],
                             .use = &all->uses[gap->lane],
                             .cause = gap->cause,
                             .during = name_of_op(all, gap->during_op),
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

static void forget_lines(struct idle_lines *all)
{
    array_deinit(&all->lines);
    groups_deinit(&all->groups);
    array_deinit(&all->gaps);
    free(all->uses);
    *all = (struct idle_lines){.parts = all->parts};
}

static int begin(void *user, const struct spans_answer *spans)
{
    struct idle_lines *all = user;

    forget_lines(all);
    all->spans = spans;
    all->uses = calloc(spans->lanes.count + 1, sizeof(*all->uses));
    return all->uses ? idle_begin(spans, &all->parts) : -ENOMEM;
}

static int take(void *user, struct spans_answer *spans)
{
    struct idle_lines *all = user;
    int rc;

    lane_use_add(all->uses, spans);
    all->gaps.count = 0;
    rc = idle_add(all->parts, spans, &all->gaps);
    for (size_t i = 0; i < all->gaps.count && rc == 0; i++)
        rc = add_gap(all, &all->gaps.items[i]);
    return rc;
}

/* Lines of lanes on which a span is shown. */
static int summarize(struct idle_lines *all)
{
    struct group_summary *summaries;
    size_t kept = 0;
    int rc = groups_summarize(&all->groups, &summaries);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < all->lines.count; i++) {
        struct idle_line line = all->lines.items[i];

        line.gaps = summaries[i];
        if (idle_is_shown(all->parts, line.longest.lane))
            all->lines.items[kept++] = line;
    }
    all->lines.count = kept;
    free(summaries);
    return 0;
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

static int emit(const struct report *report, void *user, struct spans_answer *spans,
                struct diag *diag)
{
    struct idle_lines *all = user;

    lane_use_find_walls(all->uses, spans);
    if (summarize(all) < 0)
        return diag_set(diag, -ENOMEM, "no memory for the table");
    return emit_gaps(report, all, diag);
}

static int run(const struct report *report, struct diag *diag)
{
    struct idle_lines all = {0};
    const struct report_parts parts = {&all, begin, take, SPAN_FRAMES_LEAVES, SPAN_CUT_WAITS};
    int rc = report_on_span_parts(report, &parts, emit, diag);

    forget_lines(&all);
    idle_parts_destroy(&all.parts);
    return rc;
}

static double time_ns(const void *item)
{
    return ((const struct idle_line *)item)->gaps.sum;
}

const struct report_kind report_idle = {
    .name = "idle",
    .about = "When nothing ran on a lane, and why: not launched as the host was busy or waited, "
             "events of other streams, copies, other streams.",
    .values = REPORT_TOTALS,
    .run = run,
    .tables = (const char *const[]){"gaps", NULL},
    .lines = {.columns = columns,
              .column_count = sizeof(columns) / sizeof(columns[0]),
              .top = 30,
              .order_by = "total_ns",
              .time_ns = time_ns},
    .explain = {.time = "total_ns"},
};
