/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome traces, as Kineto writes them, for Perfetto and chrome://tracing. Times are microseconds
 * with three decimals, so that they hold ns, and count from the beginning of the day (UTC) of the
 * first event: a double then holds them exactly. baseTimeNanoseconds says which day that was.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/chrome/private.h"
#include "base/text.h"

#define DAY_NS INT64_C(86400000000000)

/* --- Events. --- */

/* --- Runs. --- */

static void write_run(struct chrome_writer *writer, const struct run_row *run, uint32_t row)
{
    bool ended = run->end_ns != STORE_NULL;

    chrome_begin(writer, ended ? "X" : "B");
    text_buffer_print(&writer->line, ",\"name\":\"%s %" PRId64 "\",\"cat\":\"optrace.run\"",
                      run->warmup ? "warm-up run" : "run", run->run);
    chrome_add_int(writer, "pid", chrome_pid(writer, run->session_id));
    chrome_add_int(writer, "tid", chrome_row_tid(NULL, NULL, row));
    chrome_add_time(writer, "ts", run->start_ns);
    if (ended)
        chrome_add_duration(writer, "dur", run->end_ns - run->start_ns);
    text_buffer_print(&writer->line, ",\"args\":{\"run\":%" PRId64 ",\"warmup\":%d", run->run,
                      run->warmup);
    if (run->without_ops)
        text_buffer_print(&writer->line, ",\"without_ops\":1");
    if (run->lane != SPAN_NONE) {
        chrome_add_int(writer, "lane pid", writer->places[run->lane].pid);
        chrome_add_int(writer, "lane tid", writer->places[run->lane].tid);
    }
    chrome_add(writer, "}");
    chrome_end(writer);
}

static int write_runs(struct chrome_writer *writer)
{
    const struct spans_answer *spans = writer->spans;
    const struct report *report = writer->export->report;

    for (size_t i = 0; i < report->session_count; i++) {
        uint32_t count, *rows = chrome_run_rows(spans, report->session_ids[i], &count);

        if (!rows)
            return -ENOMEM;
        for (size_t k = 0; k < spans->runs.count; k++) {
            const struct run_row *run = &spans->runs.items[k];

            if (run->selected && run->session_id == report->session_ids[i])
                write_run(writer, run, rows[k]);
        }
        free(rows);
    }
    return 0;
}

/* --- Spans. --- */

/* Which launch a span belongs to: a number that the whole file has once, unlike those of a store,
 * which runs share. 0: none. */
static int64_t launch_id(const struct chrome_writer *writer, const struct packed_span *span)
{
    if (span->is_device)
        return span->launch == SPAN_NONE ? 0 : writer->first_id + span->launch;
    return span->launches ? writer->first_id + span->place : 0;
}

/* The device and stream of Kineto's kinds of device work, as other readers look for them. */
static void add_stream(struct chrome_writer *writer, const struct lane_row *lane)
{
    const char *number = lane->device ? strchr(lane->device, ':') : NULL;

    if (lane->side == OP_HOST || strcmp(lane->kind, "stream") != 0)
        return;
    if (number)
        chrome_add_int(writer, "device", atoll(number + 1));
    if (lane->native_id != STORE_NULL)
        chrome_add_int(writer, "stream", lane->native_id);
}

static void add_args(struct chrome_writer *writer, const struct packed_span *span)
{
    int64_t id = launch_id(writer, span);

    chrome_add(writer, ",\"args\":{");
    chrome_add(writer, writer->ops[span->op].args);
    if (span->run != SPAN_NONE)
        chrome_add_int(writer, "run", writer->spans->runs.items[span->run].run);
    if (span->kern_ns != STORE_NULL)
        chrome_add_duration(writer, "kern_us", span->kern_ns);
    if (id)
        chrome_add_int(writer, "correlation", id);
    if (span->bytes != STORE_NULL)
        chrome_add_int(writer, "bytes", span->bytes);
    add_stream(writer, &writer->spans->lanes.items[span->lane]);
    chrome_add(writer, "}");
}

static void add_row(struct chrome_writer *writer, uint32_t lane, uint32_t row)
{
    const struct chrome_place *place = &writer->places[lane];

    chrome_add_int(writer, "pid", place->pid);
    chrome_add_int(writer, "tid", chrome_row_tid(&writer->spans->lanes.items[lane], place, row));
}

/* One end of the tie from a launch to a span on a device. There is one tie for each such span. */
static void write_flow_end(struct chrome_writer *writer, const struct packed_span *span,
                           bool is_start)
{
    chrome_begin(writer, is_start ? "s" : "f");
    chrome_add(writer, ",\"name\":\"ac2g\",\"cat\":\"ac2g\"");
    chrome_add_int(writer, "id", writer->first_id + span->place);
    add_row(writer, is_start ? span->launch_lane : span->lane,
            is_start ? span->launch_row : span->row);
    chrome_add_time(writer, "ts", is_start ? span->launch_start_ns : span->start_ns);
    if (!is_start)
        chrome_add(writer, ",\"bp\":\"e\"");
    chrome_end(writer);
}

static void write_span(struct chrome_writer *writer, const struct packed_span *span)
{
    bool is_mark = writer->spans->op_kinds[span->op] == SPAN_MARK;

    chrome_begin(writer, is_mark ? "i" : "X");
    chrome_add(writer, ",");
    chrome_add(writer, writer->ops[span->op].head);
    if (is_mark)
        chrome_add(writer, ",\"s\":\"t\"");
    add_row(writer, span->lane, span->row);
    chrome_add_time(writer, "ts", span->start_ns);
    if (!is_mark)
        chrome_add_duration(writer, "dur", span->dur_ns);
    add_args(writer, span);
    chrome_end(writer);
    if (!span->is_device || span->launch == SPAN_NONE || !span->launch_is_shown)
        return;
    write_flow_end(writer, span, true);
    write_flow_end(writer, span, false);
}

static int write_lane(struct chrome_writer *writer, size_t lane)
{
    struct packed_reader reader;

    packed_read(writer->export->packed, lane, &reader);
    while (packed_next(&reader)) {
        if (reader.span.is_shown)
            write_span(writer, &reader.span);
    }
    return packed_reader_deinit(&reader);
}

/* A span that never ended is a beginning without an end. */
static void write_unfinished(struct chrome_writer *writer, const struct span *span)
{
    const struct packed_span unfinished = packed_unfinished(writer->spans, span);

    chrome_begin(writer, "B");
    chrome_add(writer, ",");
    chrome_add(writer, writer->ops[span->op].head);
    add_row(writer, span->lane, 0);
    chrome_add_time(writer, "ts", span->start_ns);
    add_args(writer, &unfinished);
    chrome_end(writer);
}

static int write_events(struct chrome_writer *writer)
{
    const struct spans_answer *spans = writer->spans;
    int rc;

    chrome_write_names(writer);
    rc = write_runs(writer);
    for (size_t i = 0; i < spans->lanes.count && rc == 0; i++)
        rc = write_lane(writer, i);
    for (size_t i = 0; i < spans->unfinished.count; i++) {
        if (spans->unfinished.items[i].is_shown)
            write_unfinished(writer, &spans->unfinished.items[i]);
    }
    return rc < 0 ? rc : chrome_write_points(writer);
}

/* --- The file. --- */

static int64_t choose_base(const struct export *export)
{
    int64_t first_ns = export->packed->count ? export->spans->start_ns : INT64_MAX;

    if (export->base_ns != STORE_NULL)
        return export->base_ns;
    for (size_t i = 0; i < export->report->session_count; i++) {
        int64_t start_ns = export_session(export, export->report->session_ids[i])->start_ns;

        first_ns = start_ns < first_ns ? start_ns : first_ns;
    }
    return first_ns - (first_ns % DAY_NS + DAY_NS) % DAY_NS;
}

static int run(const struct export *export, struct diag *diag)
{
    struct chrome_writer writer = {
        .export = export,
        .spans = export->spans,
        .base_ns = choose_base(export),
        .first_id = export->taken_bytes + 1,
        .has_events = export->taken_bytes > 0,
    };
    int rc = chrome_make_ops(&writer);

    if (rc == 0)
        rc = chrome_make_places(&writer);
    if (rc == 0)
        rc = chrome_write_head(&writer, diag);
    if (rc == 0) {
        rc = write_events(&writer);
        fputs(export->report->options->append ? "\n]\n" : "\n]}\n", export->stream);
    }
    if (rc == 0 && writer.line.failed)
        rc = -ENOMEM;
    text_buffer_deinit(&writer.line);
    chrome_drop_ops(&writer);
    free(writer.places);
    free(writer.pids);
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the trace") : rc;
}

const struct export_kind export_chrome = {
    .name = "chrome",
    .about = "Chrome trace, for Perfetto and chrome://tracing: lanes, runs, launches as arrows, "
             "memory, counters, losses.",
    .suffix = ".json.gz",
    .run = run,
    .can_append = true,
};
