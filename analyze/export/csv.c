/* SPDX-License-Identifier: Apache-2.0 */
/* Raw events as CSV: a line each, lane by lane in the order of time. */
#include <errno.h>
#include <string.h>

#include "analyze/export/export.h"

enum column {
    COL_SESSION,
    COL_LANE,
    COL_LANE_KIND,
    COL_LANE_DEVICE,
    COL_RUN,
    COL_OP_ID,
    COL_OP,
    COL_TYPE,
    COL_NODE_ID,
    COL_START,
    COL_DURATION,
    COL_SELF,
    COL_KERN,
    COL_DEPTH,
    COL_EVENT,
    COL_LAUNCH,
    COL_BYTES,
    COLUMNS
};

static const struct out_column columns[COLUMNS] = {
    [COL_SESSION] = {.name = "session_id"},
    [COL_LANE] = {.name = "lane"},
    [COL_LANE_KIND] = {.name = "lane_kind"},
    [COL_LANE_DEVICE] = {.name = "lane_device"},
    [COL_RUN] = {.name = "run"},
    [COL_OP_ID] = {.name = "op_id"},
    [COL_OP] = {.name = "op"},
    [COL_TYPE] = {.name = "type"},
    [COL_NODE_ID] = {.name = "node_id"},
    [COL_START] = {.name = "start_ns"},
    [COL_DURATION] = {.name = "dur_ns"},
    [COL_SELF] = {.name = "self_ns"},
    [COL_KERN] = {.name = "kern_ns"},
    [COL_DEPTH] = {.name = "depth"},
    [COL_EVENT] = {.name = "event"},
    [COL_LAUNCH] = {.name = "launched_by_event"},
    [COL_BYTES] = {.name = "bytes"},
};

static struct out_value number(int64_t value)
{
    return value == STORE_NULL ? out_unknown(OUT_INT) : out_integer(OUT_INT, value);
}

static void write_span(struct out *out, const struct spans_answer *spans,
                       const struct packed_span *span)
{
    const struct lane_row *lane = &spans->lanes.items[span->lane];
    const struct op_row *op = &spans->ops.items[span->op];
    bool is_whole = span->dur_ns != STORE_NULL;
    const struct out_value values[COLUMNS] = {
        [COL_SESSION] = number(lane->session_id),
        [COL_LANE] = out_text(lane->name),
        [COL_LANE_KIND] = out_text(lane->kind),
        [COL_LANE_DEVICE] = out_text(lane->device),
        [COL_RUN] = number(span->run == SPAN_NONE ? STORE_NULL : spans->runs.items[span->run].run),
        [COL_OP_ID] = number(op->op_id),
        [COL_OP] = out_text(op->name),
        [COL_TYPE] = out_text(op->type),
        [COL_NODE_ID] = out_text(op->node_id),
        [COL_START] = number(span->start_ns),
        [COL_DURATION] = number(span->dur_ns),
        [COL_SELF] = number(span->self_ns),
        [COL_KERN] = number(span->kern_ns),
        [COL_DEPTH] = is_whole ? number(span->depth) : out_unknown(OUT_INT),
        [COL_EVENT] = is_whole ? number(span->place) : out_unknown(OUT_INT),
        [COL_LAUNCH] = number(span->launch != SPAN_NONE ? (int64_t)span->launch : STORE_NULL),
        [COL_BYTES] = number(span->bytes),
    };

    out_row(out, values);
}

static int write_lane(struct out *out, const struct export *export, size_t lane)
{
    struct packed_reader reader;

    packed_read(export->packed, lane, &reader);
    while (packed_next(&reader)) {
        if (reader.span.is_shown)
            write_span(out, export->spans, &reader.span);
    }
    return packed_reader_deinit(&reader);
}

static int run(const struct export *export, struct diag *diag)
{
    static const struct out_section section = {.name = "events", .style = OUT_STYLE_BOX};
    const struct out_options options = {
        .format = OUT_FORMAT_CSV, .report = "events", .stream = export->stream};
    const struct spans_answer *spans = export->spans;
    struct out *out = NULL;
    int rc = 0, close_rc;

    if (out_open(&options, &out) < 0)
        return diag_set(diag, -ENOMEM, "no memory for the lines");
    out_table_begin(out, &section, columns, COLUMNS);
    for (size_t i = 0; i < spans->lanes.count && rc == 0; i++)
        rc = write_lane(out, export, i);
    for (size_t i = 0; i < spans->unfinished.count; i++) {
        const struct packed_span span = packed_unfinished(spans, &spans->unfinished.items[i]);

        if (spans->unfinished.items[i].is_shown)
            write_span(out, spans, &span);
    }
    out_table_end(out);
    close_rc = out_close(&out, diag);
    return rc < 0 ? diag_set(diag, rc, "no memory for the lines") : close_rc;
}

const struct export_kind export_csv = {
    .name = "csv",
    .about = "raw events, a line each, the units in the names of the columns.",
    .suffix = ".csv",
    .run = run,
};
