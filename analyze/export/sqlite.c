/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that holds only what was selected, with the ids that it has in the source. Batches and
 * roll-ups are made anew by putting the rows, so that every report and view is right about it.
 */
#include <errno.h>
#include <stdlib.h>
#include <sqlite3.h>
#include <string.h>

#include "analyze/export/export.h"

enum { COMMIT_ROWS = 50000 };

struct writer {
    const struct export *export;
    const struct spans_answer *spans;
    struct store *store;
    ARRAY_OF(struct store_event) events; /* of the next transaction */
};

static int64_t run_number(const struct writer *writer, uint32_t run)
{
    return run == SPAN_NONE ? STORE_NULL : writer->spans->runs.items[run].run;
}

static int commit(struct writer *writer, struct diag *diag)
{
    int rc = store_commit(writer->store, diag);

    return rc ? rc : store_begin(writer->store, diag);
}

/* --- Spans, in the order in which the source has them. --- */

static int flush_events(struct writer *writer, struct diag *diag)
{
    int rc = store_add_events(writer->store, writer->events.items, writer->events.count, diag);

    writer->events.count = 0;
    return rc ? rc : commit(writer, diag);
}

static int add_span(struct writer *writer, const struct ordered_span *span, struct diag *diag)
{
    struct store_event event = {
        .lane_id = writer->spans->lanes.items[span->lane].lane_id,
        .op_id = writer->spans->ops.items[span->op].op_id,
        .run = run_number(writer, span->run),
        .start_ns = span->start_ns,
        .dur_ns = span->dur_ns,
        .kern_ns = span->kern_ns,
        .correlation = span->correlation,
        .bytes = span->bytes,
    };

    if (array_push(&writer->events, event) < 0)
        return diag_set(diag, -ENOMEM, "no memory for the events");
    return writer->events.count < COMMIT_ROWS ? 0 : flush_events(writer, diag);
}

static struct ordered_span ordered_of(const struct span *span)
{
    return (struct ordered_span){.start_ns = span->start_ns,
                                 .dur_ns = span->dur_ns,
                                 .kern_ns = span->kern_ns,
                                 .correlation = span->correlation,
                                 .bytes = span->bytes,
                                 .op = span->op,
                                 .lane = span->lane,
                                 .run = span->run};
}

/* Those that never ended and stand before this one in the order of the store. */
static int add_unfinished(struct writer *writer, size_t *next, uint32_t order, struct diag *diag)
{
    const struct spans_answer *spans = writer->spans;
    int rc = 0;

    for (; *next < spans->unfinished.count && rc == 0; ++*next) {
        const struct span *span = &spans->unfinished.items[*next];
        const struct ordered_span unfinished = ordered_of(span);

        if (span->order >= order)
            return 0;
        if (span->is_shown)
            rc = add_span(writer, &unfinished, diag);
    }
    return rc;
}

/* The same of those that came in several parts, and before them of those that never ended. */
static int add_frames(struct writer *writer, size_t *next, size_t *next_unfinished, uint32_t order,
                      struct diag *diag)
{
    const struct spans_answer *spans = writer->spans;
    int rc = 0;

    for (; *next < spans->frames.count && rc == 0; ++*next) {
        const struct span *frame = &spans->frames.items[*next];
        const struct ordered_span row = ordered_of(frame);

        if (frame->order >= order)
            return 0;
        rc = add_unfinished(writer, next_unfinished, frame->order, diag);
        if (rc == 0 && ordered_shows(writer->export->ordered, frame))
            rc = add_span(writer, &row, diag);
    }
    return rc;
}

static int add_spans(struct writer *writer, struct diag *diag)
{
    struct ordered_reader reader = ordered_read(writer->export->ordered);
    size_t next = 0, next_frame = 0;
    int rc = 0;

    while (rc == 0 && ordered_next(&reader)) {
        rc = add_frames(writer, &next_frame, &next, reader.span.order, diag);
        if (rc == 0)
            rc = add_unfinished(writer, &next, reader.span.order, diag);
        if (rc == 0)
            rc = add_span(writer, &reader.span, diag);
    }
    if (rc == 0)
        rc = add_frames(writer, &next_frame, &next, UINT32_MAX, diag);
    if (rc == 0)
        rc = add_unfinished(writer, &next, UINT32_MAX, diag);
    return rc ? rc : flush_events(writer, diag);
}

/* --- Points. --- */

static int add_memory(struct writer *writer, struct diag *diag)
{
    const struct memory_row_array *memory = writer->export->memory;
    ARRAY_OF(struct store_memory_event) rows = {0};
    int rc = array_reserve(&rows, memory->count + 1);

    for (size_t i = 0; i < memory->count && rc == 0; i++) {
        const struct memory_row *row = &memory->items[i];

        rows.items[rows.count++] = (struct store_memory_event){
            .lane_id = writer->spans->lanes.items[row->lane].lane_id,
            .op_id = row->op == SPAN_NONE ? STORE_NULL : writer->spans->ops.items[row->op].op_id,
            .run = row->run,
            .time_ns = row->time_ns,
            .address = row->address,
            .bytes = row->bytes,
        };
    }
    if (rc == 0)
        rc = store_add_memory_events(writer->store, rows.items, rows.count, diag);
    array_deinit(&rows);
    return rc;
}

static int add_counters(struct writer *writer, struct diag *diag)
{
    const struct counter_row_array *counters = writer->export->counters;
    ARRAY_OF(struct store_counter) rows = {0};
    int rc = array_reserve(&rows, counters->count + 1);

    for (size_t i = 0; i < counters->count && rc == 0; i++) {
        const struct counter_row *row = &counters->items[i];

        rows.items[rows.count++] = (struct store_counter){
            .lane_id = writer->spans->lanes.items[row->lane].lane_id,
            .op_id = writer->spans->ops.items[row->op].op_id,
            .run = row->run,
            .time_ns = row->time_ns,
            .value = row->value,
        };
    }
    if (rc == 0)
        rc = store_add_counters(writer->store, rows.items, rows.count, diag);
    array_deinit(&rows);
    return rc;
}

/* --- Sessions, runs, losses. --- */

/* The runs that were chosen, as the source has them. */
static int copy_runs(struct writer *writer, struct diag *diag)
{
    const struct spans_answer *spans = writer->spans;
    struct store *from = writer->export->report->source->store;
    int rc = 0;

    for (size_t i = 0; i < spans->runs.count && rc == 0; i++) {
        const struct run_row *run = &spans->runs.items[i];

        if (run->selected)
            rc = store_copy_run(writer->store, from, run->session_id, run->run, diag);
    }
    return rc;
}

static bool is_in_window(const struct spans_answer *spans, const struct loss_row *loss)
{
    for (size_t i = 0; i < spans->windows.count; i++) {
        const struct session_window *window = &spans->windows.items[i];

        if (window->session_id == loss->session_id)
            return (loss->start_ns == STORE_NULL || loss->start_ns < window->until_ns) &&
                   (loss->end_ns == STORE_NULL || loss->end_ns >= window->from_ns);
    }
    return false;
}

static int add_losses(struct writer *writer, struct diag *diag)
{
    const struct basis *basis = &writer->spans->basis;
    int rc = 0;

    for (size_t i = 0; i < basis->losses.count && rc == 0; i++) {
        const struct loss_row *loss = &basis->losses.items[i];
        struct store_gap gap = {
            .session_id = loss->session_id,
            .lane_id = loss->lane_id,
            .reason = loss->reason,
            .lost_count = loss->lost_count,
            .start_ns = loss->start_ns,
            .end_ns = loss->end_ns,
        };

        if (is_in_window(writer->spans, loss))
            rc = store_add_gap(writer->store, &gap, diag);
    }
    return rc;
}

/* Nobody writes to the copy: a session that still runs ends in it with what there is. */
static int end_session(struct writer *writer, const struct session_row *session, struct diag *diag)
{
    if (!session->is_running)
        return 0;
    return store_end_session(writer->store, session->session_id, session->end_ns, "cut off",
                             "exported while it was being recorded", diag);
}

static int write_all(struct writer *writer, struct diag *diag)
{
    const struct report *report = writer->export->report;
    int rc = store_begin(writer->store, diag);

    for (size_t i = 0; i < report->session_count && rc == 0; i++) {
        rc = store_copy_session(writer->store, report->source->store, report->session_ids[i], diag);
        if (rc == 0)
            rc = end_session(writer, export_session(writer->export, report->session_ids[i]), diag);
    }
    if (rc == 0)
        rc = copy_runs(writer, diag);
    if (rc == 0)
        rc = add_losses(writer, diag);
    if (rc == 0)
        rc = add_spans(writer, diag);
    if (rc == 0)
        rc = add_memory(writer, diag);
    if (rc == 0)
        rc = add_counters(writer, diag);
    return rc ? rc : store_commit(writer->store, diag);
}

static int run(const struct export *export, struct diag *diag)
{
    struct writer writer = {.export = export, .spans = export->spans};
    int rc = store_open(export->path, STORE_WRITE, &writer.store, diag);

    if (rc < 0)
        return rc;
    rc = write_all(&writer, diag);
    if (rc < 0)
        store_rollback(writer.store);
    store_close(&writer.store);
    array_deinit(&writer.events);
    return rc;
}

const struct export_kind export_sqlite = {
    .name = "sqlite",
    .about = "a store that holds only what is selected, with the same tables; -o is needed, and an "
             "existing file is not replaced.",
    .suffix = ".db",
    .run = run,
    .is_binary = true,
    .makes_file = true,
    .order = EXPORT_STORE,
};
