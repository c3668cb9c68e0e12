/* SPDX-License-Identifier: Apache-2.0 */
/* How well devices were used: busy time, computation beside copies and collectives, streams at
 * once. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/device_use.h"
#include "analyze/reports/report.h"

#define CELL(name, value) LINE_CELL(name, struct device_use, value)

/* Nothing is said of communication where there is none at all. */
#define TALK(ns) (*(const bool *)context ? out_number(OUT_NS, ns) : out_unknown(OUT_NS))

CELL(device_of, out_text(line->device))
CELL(stream_of, out_text(line->lane ? line->lane->name : "all"))
CELL(spans_of, out_integer(OUT_INT, (int64_t)line->span_count))
CELL(busy_of, out_number(OUT_NS, (double)line->busy_ns))
CELL(idle_of, out_number(OUT_NS, (double)(line->wall_ns - line->busy_ns)))
CELL(wall_of, out_number(OUT_NS, (double)line->wall_ns))
CELL(active_of, out_number(OUT_NS, (double)line->active_ns))
CELL(compute_of, out_number(OUT_NS, (double)line->compute_ns))
CELL(copy_of, out_number(OUT_NS, (double)line->copy_ns))
CELL(copy_hidden_of, out_number(OUT_NS, (double)line->copy_hidden_ns))
CELL(comm_of, TALK((double)line->comm_ns))
CELL(comm_hidden_of, TALK((double)line->comm_hidden_ns))
CELL(comm_exposed_of, TALK((double)(line->comm_ns - line->comm_hidden_ns)))
CELL(transfer_of, out_number(OUT_NS, (double)line->transfer_ns))
CELL(overlap_of, out_number(OUT_NS, (double)line->overlap_ns))
CELL(most_of, out_integer(OUT_INT, (int64_t)line->most_at_once))
CELL(session_of, out_integer(OUT_INT, line->session_id))

static double share_of(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : NAN;
}

CELL(share_of_wall, out_number(OUT_SHARE, share_of(line->busy_ns, line->wall_ns)))
CELL(share_of_active, out_number(OUT_SHARE, share_of(line->busy_ns, line->active_ns)))
CELL(copy_hidden, out_number(OUT_SHARE, share_of(line->copy_hidden_ns, line->copy_ns)))
CELL(comm_hidden, out_number(OUT_SHARE, share_of(line->comm_hidden_ns, line->comm_ns)))
CELL(hidden, out_number(OUT_SHARE, share_of(line->overlap_ns, line->transfer_ns)))
CELL(at_once, out_number(OUT_REAL, share_of(line->sum_ns, line->busy_ns)))

static const struct line_column columns[] = {
    {LINE_COMPACT("device", "Device"), {NULL}, "where", device_of},
    {LINE_TEXT("stream", "Stream", 30), {"lane", "name"}, "one of its streams, or all", stream_of},
    {LINE_COMPACT("busy_ns", "Busy"),
     {"time"},
     "time with something running, overlaps once",
     busy_of},
    {LINE_COMPACT("share", "Of wall"), {"utilization"}, "busy_ns, of wall_ns", share_of_wall},
    {LINE_COMPACT("active_share", "Of active"), {NULL}, "busy_ns, of active_ns", share_of_active},
    {LINE_COMPACT("idle_ns", "Idle"), {NULL}, "wall_ns without busy_ns", idle_of},
    {LINE_COMPACT("compute_ns", "Compute"),
     {NULL},
     "time with a kernel running, collectives aside",
     compute_of},
    {LINE_COMPACT("copy_ns", "Copies"), {NULL}, "time with a copy or a fill", copy_of},
    {{.name = "copy_hidden_ns", .data_only = true},
     {NULL},
     "of it beside computation",
     copy_hidden_of},
    {LINE_COMPACT("copy_hidden_share", "hidden"),
     {NULL},
     "copy_hidden_ns, of copy_ns",
     copy_hidden},
    {LINE_COMPACT("communication_ns", "Comm."),
     {"communication"},
     "time with a collective: NCCL's kernels and the like",
     comm_of},
    {{.name = "communication_hidden_ns", .data_only = true},
     {NULL},
     "of it beside computation",
     comm_hidden_of},
    {LINE_COMPACT("communication_exposed_ns", "exposed"),
     {"exposed"},
     "communication_ns without communication_hidden_ns",
     comm_exposed_of},
    {LINE_COMPACT("communication_hidden_share", "hidden"),
     {"overlap"},
     "communication_hidden_ns, of communication_ns",
     comm_hidden},
    {{.name = "transfer_ns", .data_only = true},
     {NULL},
     "time with a copy, a fill or a collective",
     transfer_of},
    {{.name = "overlap_ns", .data_only = true}, {NULL}, "of it beside computation", overlap_of},
    {{.name = "hidden_share", .data_only = true}, {NULL}, "overlap_ns, of transfer_ns", hidden},
    {LINE_COMPACT("concurrency", "At once"), {NULL}, "sum of durations, of busy_ns", at_once},
    {LINE_COMPACT("most_at_once", "Most"), {NULL}, "the most that ran at once", most_of},
    {LINE_COMPACT("span_count", "Spans"), {"spans", "count"}, "executions", spans_of},
    {{.name = "wall_ns", .data_only = true},
     {NULL},
     "from the first operator of its session, on any lane, to the end of the last",
     wall_of},
    {{.name = "active_ns", .data_only = true},
     {NULL},
     "from the first to the last on that device or stream",
     active_of},
    {LINE_COMPACT("session_id", "Session"), {NULL}, "its session", session_of},
};

static int begin(void *user, const struct spans_answer *spans)
{
    return device_parts_begin(spans, user);
}

static int take(void *user, struct spans_answer *spans)
{
    struct device_parts **parts = user;

    return device_parts_add(*parts, spans);
}

static int emit(const struct report *report, void *user, struct spans_answer *spans,
                struct diag *diag)
{
    struct device_parts **parts = user;
    static const struct out_section section = {
        .name = "devices",
        .keep = "device stream busy_ns share idle_ns copy_hidden_share communication_exposed_ns"};
    struct device_use_array uses = {0};
    bool talks = false;
    int rc = device_parts_finish(*parts, spans, &uses);

    if (rc < 0) {
        diag_set(diag, rc, "no memory for the table");
    } else if (!uses.count) {
        diag_set(diag, 0, "nothing that ran on a device is in what is asked for");
        rc = REPORT_NOTHING;
    } else {
        for (size_t i = 0; i < uses.count; i++)
            talks |= uses.items[i].comm_ns > 0;
        rc = report_emit_lines(report, &section, uses.items, uses.count, sizeof(*uses.items),
                               &talks, diag);
    }
    if (rc == 0)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Wall is from the first operator of the session, on any lane, to the end of the "
                 "last; active from the first to the last on that device or stream. Hidden is how "
                 "much of copies and fills, and of communication, ran beside computation; what is "
                 "not hidden is exposed.");
    array_deinit(&uses);
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    struct device_parts *all = NULL;
    const struct report_parts parts = {&all, begin, take, SPAN_FRAMES_LEAVES, SPAN_CUT_WAITS};
    int rc = report_on_span_parts(report, &parts, emit, diag);

    device_parts_destroy(&all);
    return rc;
}

static double time_ns(const void *item)
{
    return (double)((const struct device_use *)item)->busy_ns;
}

const struct report_kind report_device = {
    .name = "device",
    .about = "How well devices and their streams were used: busy, idle, computation beside copies "
             "and beside communication, streams at once.",
    .values = REPORT_TOTALS,
    .run = run,
    .tables = (const char *const[]){"devices", NULL},
    .lines = {.columns = columns,
              .column_count = sizeof(columns) / sizeof(columns[0]),
              .order_by = "busy_ns",
              .time_ns = time_ns},
    .explain = {.time = "busy_ns"},
};
