/* SPDX-License-Identifier: Apache-2.0 */
/* From the call on the host that launches something to its start on the device. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/lane_use.h"
#include "analyze/reports/launch.h"
#include "analyze/stats/groups.h"

struct launch_line {
    const char *name;
    uint64_t count, queued_count;
    double call_ns, since_ns, device_ns, total_ns; /* sums over those with a launch */
    struct group_summary delay;                    /* of those with a launch */
};

struct launch_lines {
    ARRAY_OF(struct launch_line) lines;
    struct groups groups;
    uint32_t *group_of; /* beside ops: of its name, or PLACE_NONE while it is not known */
    struct launch_queue_parts queues;
};

#define CELL(name, value) LINE_CELL(name, struct launch_line, value)
#define MEAN(sum)         out_number(OUT_NS, (sum) / (double)line->delay.count)

CELL(name_of, out_text(line->name))
CELL(count_of, out_integer(OUT_INT, (int64_t)line->count))
CELL(without, out_integer(OUT_INT, (int64_t)(line->count - line->delay.count)))
CELL(queued, out_integer(OUT_INT, (int64_t)line->queued_count))
CELL(delay, out_number(OUT_NS, line->delay.sum))
CELL(delay_mean, out_number(OUT_NS, line->delay.mean))
CELL(delay_p50, out_number(OUT_NS, line->delay.p50))
CELL(delay_p90, out_number(OUT_NS, line->delay.p90))
CELL(delay_p99, out_number(OUT_NS, line->delay.p99))
CELL(delay_max, out_number(OUT_NS, line->delay.max))
CELL(call_mean, MEAN(line->call_ns))
CELL(since_mean, MEAN(line->since_ns))
CELL(device_mean, MEAN(line->device_ns))
CELL(total_mean, MEAN(line->total_ns))

static const struct line_column columns[] = {
    {LINE_TEXT("name", "Name", 55), {NULL}, "kernel, copy or fill", name_of},
    {LINE_COMPACT("calls", "Count"), {"count"}, "executions", count_of},
    {LINE_COMPACT("unlaunched", "No launch"),
     {NULL},
     "those whose launch was not recorded",
     without},
    {LINE_COMPACT("queued", "Queued"), {"qcount"}, "those that waited", queued},
    {LINE_COMPACT("delay_ns", "Delay"),
     {"time"},
     "sum of delays: from the end of the launching call to the start on the device, 0 when it "
     "started before",
     delay},
    {LINE_COMPACT("delay_mean_ns", "Avg"), {"q"}, "mean delay of those with a launch", delay_mean},
    {LINE_COMPACT("delay_p50_ns", "P50"), {NULL}, "percentile, nearest rank", delay_p50},
    {LINE_COMPACT("delay_p90_ns", "P90"), {NULL}, "the same", delay_p90},
    {LINE_COMPACT("delay_p99_ns", "P99"), {NULL}, "the same", delay_p99},
    {LINE_COMPACT("delay_max_ns", "Max"), {NULL}, "the longest delay", delay_max},
    {LINE_COMPACT("call_mean_ns", "Call avg"),
     {"a"},
     "mean duration of the launching call",
     call_mean},
    {LINE_COMPACT("since_call_mean_ns", "Since call"),
     {NULL},
     "mean from the start of the call to the start on the device",
     since_mean},
    {LINE_COMPACT("device_mean_ns", "Device avg"),
     {"k"},
     "mean duration on the device",
     device_mean},
    {LINE_COMPACT("total_mean_ns", "Total avg"),
     {"t"},
     "mean from the start of the call to the end of both",
     total_mean},
};

static void add_span(const struct spans_answer *spans, const struct span *span,
                     struct launch_line *line, double *out_delay_ns)
{
    const struct span *launch;
    int64_t delay_ns, call_end_ns, end_ns = span_end_ns(span);

    line->count++;
    *out_delay_ns = NAN;
    if (span->launch == SPAN_NONE)
        return;
    launch = &spans->spans.items[span->launch];
    call_end_ns = span_end_ns(launch);
    delay_ns = span->start_ns - call_end_ns;
    line->queued_count += delay_ns > 0;
    line->call_ns += (double)launch->dur_ns;
    line->since_ns += (double)(span->start_ns - launch->start_ns);
    line->device_ns += (double)span->dur_ns;
    line->total_ns += (double)((end_ns > call_end_ns ? end_ns : call_end_ns) - launch->start_ns);
    *out_delay_ns = delay_ns > 0 ? (double)delay_ns : 0;
}

/* --- Part by part. --- */

static void forget(struct launch_lines *all)
{
    array_deinit(&all->lines);
    groups_deinit(&all->groups);
    free(all->group_of);
    launch_queue_parts_deinit(&all->queues);
    *all = (struct launch_lines){0};
}

static int begin(void *user, const struct spans_answer *spans)
{
    struct launch_lines *all = user;
    size_t bytes = (spans->ops.count + 1) * sizeof(*all->group_of);

    forget(all);
    all->group_of = malloc(bytes);
    if (!all->group_of)
        return -ENOMEM;
    memset(all->group_of, 0xff, bytes);
    return launch_queues_begin(spans, &all->queues);
}

/* Ops of one name are one line. */
static int find_group(const struct spans_answer *spans, const struct span *span,
                      struct launch_lines *all)
{
    struct launch_line line = {.name = span_op(spans, span)->name};
    struct place_key key = {0};
    int rc;

    groups_add_text(&key, line.name);
    rc = groups_find(&all->groups, key, &all->group_of[span->op]);
    return rc == 1 ? array_push(&all->lines, line) : rc;
}

static int take(void *user, struct spans_answer *spans)
{
    struct launch_lines *all = user;
    int rc = launch_queues_add(&all->queues, spans);

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        double delay_ns;

        if (!span_is_device(spans, span) || !span_is_op(spans, span) || !span->is_shown)
            continue;
        if (all->group_of[span->op] == PLACE_NONE)
            rc = find_group(spans, span, all);
        if (rc < 0)
            break;
        add_span(spans, span, &all->lines.items[all->group_of[span->op]], &delay_ns);
        rc = groups_add(&all->groups, all->group_of[span->op], delay_ns);
    }
    return rc;
}

/* --- The report. --- */

static void note(const struct report *report, const struct launch_lines *all)
{
    uint64_t count = 0, launched = 0;

    for (size_t i = 0; i < all->lines.count; i++) {
        count += all->lines.items[i].count;
        launched += all->lines.items[i].delay.count;
    }
    out_note(report->out, OUT_NOTE_PLAIN,
             "%" PRIu64 " of %" PRIu64 " executions on a device have a launch on the host, by the "
             "same correlation; times are of these alone.",
             launched, count);
    out_note(report->out, OUT_NOTE_PLAIN,
             "A delay runs from the end of the launching call to the start on the device, and is 0 "
             "where that started first; the mean and percentiles (nearest rank) count those too.");
}

static int emit(const struct report *report, void *user, struct spans_answer *spans,
                struct diag *diag)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "name", .values = {"delay_ns"}};
    static const struct out_section section = {
        .name = "launches",
        .keep = "name calls delay_ns delay_mean_ns delay_p99_ns queued",
        .chart = &chart};
    struct launch_lines *all = user;
    struct group_summary *summaries = NULL;
    int rc;

    if (spans->basis.is_flat) {
        diag_set(diag, 0, "host and device times of this profile count from different zeros");
        return REPORT_NOTHING;
    }
    rc = groups_summarize(&all->groups, &summaries);
    for (size_t i = 0; i < all->lines.count && rc == 0; i++)
        all->lines.items[i].delay = summaries[i];
    if (rc < 0) {
        diag_set(diag, rc, "no memory for the table");
    } else if (!all->lines.count) {
        diag_set(diag, 0, "nothing that ran on a device is in what is asked for");
        rc = REPORT_NOTHING;
    } else {
        rc = report_emit_lines(report, &section, all->lines.items, all->lines.count,
                               sizeof(*all->lines.items), NULL, diag);
    }
    if (rc == 0)
        rc = report_launch_queues(report, &all->queues, spans, diag);
    if (rc == 0)
        note(report, all);
    free(summaries);
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    struct launch_lines all = {0};
    const struct report_parts parts = {&all, begin, take, SPAN_FRAMES_LEAVES, SPAN_CUT_WAITS};
    int rc = report_on_span_parts(report, &parts, emit, diag);

    forget(&all);
    return rc;
}

static double time_ns(const void *item)
{
    return ((const struct launch_line *)item)->delay.sum;
}

const struct report_kind report_launch = {
    .name = "launch",
    .about = "How long kernels and copies waited between their launch on the host and their start "
             "on the device; how long the queues of streams were, and when they were full.",
    .values = REPORT_TOTALS,
    .run = run,
    .tables = (const char *const[]){"launches", "queues", "queue_over_time", NULL},
    .lines = {.columns = columns,
              .column_count = sizeof(columns) / sizeof(columns[0]),
              .top = 50,
              .order_by = "delay_ns",
              .time_ns = time_ns},
    .explain = {.time = "delay_ns"},
};
