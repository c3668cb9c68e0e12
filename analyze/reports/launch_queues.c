/* SPDX-License-Identifier: Apache-2.0 */
/* How long the queues of streams were, in all and over time. */
#include <errno.h>
#include <math.h>

#include "analyze/reports/launch.h"

enum { CURVE_PARTS = 32, TIMELINE_PARTS = 100 };

struct queue_line {
    const struct launch_queue *queue;
    char curve[CURVE_PARTS * 3 + 1];
};

#define CELL(name, value) LINE_CELL(name, struct queue_line, value)

CELL(lane_of, out_text(line->queue->lane->name))
CELL(device_of, out_text(line->queue->lane->device))
CELL(count_of, out_integer(OUT_INT, (int64_t)line->queue->launch_count))
CELL(mean_of, out_number(OUT_REAL, line->queue->length.mean))
CELL(max_of, out_integer(OUT_INT, (int64_t)line->queue->length.max))
CELL(full_of, out_number(OUT_NS, line->queue->length.at_least_ns))
CELL(full_share, out_number(OUT_SHARE, line->queue->wall_ns > 0 ? line->queue->length.at_least_ns /
                                                                      (double)line->queue->wall_ns
                                                                : NAN))
CELL(curve_of, out_text(line->curve))
CELL(session_of, out_integer(OUT_INT, line->queue->lane->session_id))

static const struct line_column columns[] = {
    {LINE_TEXT("lane", "Queue of", 30), .value = lane_of},
    {LINE_COMPACT("device", "Device"), .value = device_of},
    {LINE_COMPACT("launch_count", "Launches"), .value = count_of},
    {LINE_COMPACT("mean_length", "Mean length"), .value = mean_of},
    {LINE_COMPACT("max_length", "Max"), .value = max_of},
    {LINE_COMPACT("full_ns", "Full"), .value = full_of},
    {LINE_COMPACT("full_share", "of wall"), .value = full_share},
    {LINE_COMPACT("curve", "over time"), .value = curve_of},
    {LINE_COMPACT("session_id", "Session"), .value = session_of},
};

/* From the first launch to the last start on all lanes of a session: curves stand below each other.
 */
static void find_extent(const struct launch_queue_array *queues, int64_t session_id,
                        int64_t *out_start_ns, int64_t *out_end_ns)
{
    *out_start_ns = INT64_MAX;
    *out_end_ns = INT64_MIN;
    for (size_t i = 0; i < queues->count; i++) {
        const struct launch_queue *queue = &queues->items[i];

        if (queue->lane->session_id != session_id)
            continue;
        if (queue->length.start_ns < *out_start_ns)
            *out_start_ns = queue->length.start_ns;
        if (queue->length.end_ns > *out_end_ns)
            *out_end_ns = queue->length.end_ns;
    }
}

static int emit_queues(const struct report *report, const struct launch_queue_array *queues,
                       struct diag *diag)
{
    static const struct out_section section = {.name = "queues", .title = "Queues of streams"};
    ARRAY_OF(struct queue_line) items = {0};
    struct lines lines = {.columns = columns,
                          .column_count = sizeof(columns) / sizeof(columns[0]),
                          .item_bytes = sizeof(struct queue_line),
                          .order_by = "launch_count"};
    int rc = 0;

    for (size_t i = 0; i < queues->count && rc == 0; i++) {
        struct queue_line line = {.queue = &queues->items[i]};
        double max[CURVE_PARTS], mean[CURVE_PARTS];
        int64_t start_ns, end_ns;

        find_extent(queues, line.queue->lane->session_id, &start_ns, &end_ns);
        step_curve_fill(&line.queue->curve, start_ns, end_ns, max, mean, CURVE_PARTS);
        step_curve_text(max, CURVE_PARTS, line.queue->length.max, report->options->ascii,
                        line.curve);
        rc = array_push(&items, line);
    }
    lines.items = items.items;
    lines.count = items.count;
    if (rc == 0)
        rc = lines_emit(report->out, &section, &lines, NULL, diag);
    array_deinit(&items);
    return rc;
}

/* For programs and for pictures. */
static void emit_timeline(const struct report *report, const struct launch_queue_array *queues)
{
    static const struct out_chart chart = {.kind = OUT_CHART_STEPS,
                                           .x = "start_ns",
                                           .values = {"max_length", "mean_length"},
                                           .color = "lane"};
    static const struct out_section section = {.name = "queue_over_time",
                                               .data_only = true,
                                               .title = "Queue length over time",
                                               .chart = &chart};
    static const struct out_column head[] = {{.name = "lane"},       {.name = "device"},
                                             {.name = "session_id"}, {.name = "start_ns"},
                                             {.name = "max_length"}, {.name = "mean_length"}};

    out_table_begin(report->out, &section, head, sizeof(head) / sizeof(head[0]));
    for (size_t i = 0; i < queues->count; i++) {
        const struct launch_queue *queue = &queues->items[i];
        double max[TIMELINE_PARTS], mean[TIMELINE_PARTS];
        int64_t start_ns, end_ns;

        find_extent(queues, queue->lane->session_id, &start_ns, &end_ns);
        step_curve_fill(&queue->curve, start_ns, end_ns, max, mean, TIMELINE_PARTS);
        for (size_t k = 0; k < TIMELINE_PARTS; k++)
            out_row(report->out,
                    (struct out_value[]){
                        out_text(queue->lane->name),
                        out_text(queue->lane->device),
                        out_integer(OUT_INT, queue->lane->session_id),
                        out_integer(OUT_WHEN, start_ns + (int64_t)((double)(end_ns - start_ns) *
                                                                   (double)k / TIMELINE_PARTS)),
                        out_number(OUT_REAL, max[k]),
                        out_number(OUT_REAL, mean[k]),
                    });
    }
    out_table_end(report->out);
}

int report_launch_queues(const struct report *report, struct launch_queue_parts *parts,
                         const struct spans_answer *spans, struct diag *diag)
{
    struct launch_queue_array queues = {0};
    int rc = launch_queues_finish(parts, spans, &queues);

    if (rc == 0 && queues.count) {
        rc = emit_queues(report, &queues, diag);
        if (rc == 0)
            emit_timeline(report, &queues);
        if (rc == 0)
            out_note(report->out, OUT_NOTE_PLAIN,
                     "A queue has what was launched, from the start of the call on, and had not "
                     "started; with %d in it, it is full, and calls wait for room.",
                     LAUNCH_QUEUE_FULL);
    }
    if (rc == -ENOMEM)
        diag_set(diag, rc, "no memory for the queues");
    launch_queues_deinit(&queues);
    return rc;
}
