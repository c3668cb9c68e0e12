/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes and threads of a Chrome trace. The threads of a session are those of a process with the
 * session's process id; each of its devices is a process of its own, whose streams are threads. The
 * numbers depend on the store alone, so that traces of one store that are put together show the
 * same rows.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/chrome/private.h"

/* No process or thread of the system has numbers from here on. */
#define MADE_FROM    (INT64_C(1) << 22)
#define DEVICE_FROM  (INT64_C(1) << 23)
#define ROW_DISTANCE (INT64_C(1) << 24)

/* --- Numbers. --- */

/* Of two sessions of one process id the first one keeps it. */
static int64_t make_pid(const struct chrome_writer *writer, const struct session_row *session)
{
    const struct report *report = writer->export->report;

    for (size_t i = 0; i < report->session_count; i++) {
        const struct session_row *other = export_session(writer->export, report->session_ids[i]);

        if (other->session_id < session->session_id && other->pid == session->pid)
            return MADE_FROM + session->session_id;
    }
    return session->pid > 0 && session->pid < MADE_FROM ? session->pid
                                                        : MADE_FROM + session->session_id;
}

static int make_pids(struct chrome_writer *writer)
{
    const struct report *report = writer->export->report;

    writer->pids = calloc(report->session_count + 1, sizeof(*writer->pids));
    if (!writer->pids)
        return -ENOMEM;
    for (size_t i = 0; i < report->session_count; i++)
        writer->pids[i] = make_pid(writer, export_session(writer->export, report->session_ids[i]));
    return 0;
}

int64_t chrome_pid(const struct chrome_writer *writer, int64_t session_id)
{
    size_t place = 0;

    while (writer->export->report->session_ids[place] != session_id)
        place++; /* all that is written is of a chosen session */
    return writer->pids[place];
}

int64_t chrome_row_tid(const struct lane_row *lane, const struct chrome_place *place, uint32_t row)
{
    if (lane && row == 0)
        return place->tid;
    return row * ROW_DISTANCE + MADE_FROM + (lane ? lane->lane_id : 0);
}

static bool is_same_device(const struct lane_row *a, const struct lane_row *b)
{
    return a->session_id == b->session_id && a->side == b->side &&
           (a->side == OP_HOST || (a->device == b->device) ||
            (a->device && b->device && strcmp(a->device, b->device) == 0));
}

/* The system's number of a thread or stream, where no other lane of the process has the same. */
static int64_t tid_of(const struct spans_answer *spans, size_t place)
{
    const struct lane_row *lane = &spans->lanes.items[place];

    for (size_t i = 0; i < spans->lanes.count; i++) {
        const struct lane_row *other = &spans->lanes.items[i];

        if (i != place && other->native_id == lane->native_id && is_same_device(lane, other))
            return MADE_FROM + lane->lane_id;
    }
    return lane->native_id > 0 && lane->native_id < MADE_FROM ? lane->native_id
                                                              : MADE_FROM + lane->lane_id;
}

/* The first lane of the device that a lane belongs to. */
static size_t first_of_device(const struct spans_answer *spans, size_t place)
{
    for (size_t i = 0; i < place; i++) {
        if (is_same_device(&spans->lanes.items[i], &spans->lanes.items[place]))
            return i;
    }
    return place;
}

int chrome_make_places(struct chrome_writer *writer)
{
    const struct spans_answer *spans = writer->spans;

    writer->places = calloc(spans->lanes.count + 1, sizeof(*writer->places));
    if (!writer->places || make_pids(writer) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < spans->lanes.count; i++) {
        const struct lane_row *lane = &spans->lanes.items[i];
        const struct lane_row *first = &spans->lanes.items[first_of_device(spans, i)];

        writer->places[i] = (struct chrome_place){
            .pid = lane->side == OP_HOST ? chrome_pid(writer, lane->session_id)
                                         : DEVICE_FROM + first->lane_id,
            .tid = tid_of(spans, i),
        };
    }
    return 0;
}

/* --- Rows of runs. --- */

uint32_t *chrome_run_rows(const struct spans_answer *spans, int64_t session_id, uint32_t *out_count)
{
    uint32_t *rows = calloc(spans->runs.count + 1, sizeof(*rows)), count = 0;
    int64_t *ends = calloc(spans->runs.count + 1, sizeof(*ends));

    for (size_t i = 0; rows && ends && i < spans->runs.count; i++) {
        const struct run_row *run = &spans->runs.items[i];
        uint32_t row = 0;

        if (!run->selected || run->session_id != session_id)
            continue;
        while (row < count && ends[row] > run->start_ns)
            row++;
        count = row == count ? count + 1 : count;
        ends[row] = run->end_ns == STORE_NULL ? INT64_MAX : run->end_ns;
        rows[i] = row;
    }
    if (!ends) {
        free(rows);
        rows = NULL;
    }
    free(ends);
    *out_count = count;
    return rows;
}

/* --- Names. --- */

static void begin_metadata(struct chrome_writer *writer, int64_t pid, int64_t tid, const char *name)
{
    chrome_begin(writer, "M");
    chrome_add_int(writer, "pid", pid);
    if (tid)
        chrome_add_int(writer, "tid", tid);
    chrome_add(writer, ",\"name\":");
    chrome_add_text(&writer->line, name);
    chrome_add(writer, ",\"args\":{\"");
}

static void write_text(struct chrome_writer *writer, int64_t pid, int64_t tid, const char *name,
                       const char *member, const char *text)
{
    begin_metadata(writer, pid, tid, name);
    chrome_add(writer, member);
    chrome_add(writer, "\":");
    chrome_add_text(&writer->line, text);
    chrome_add(writer, "}");
    chrome_end(writer);
}

static void write_order(struct chrome_writer *writer, int64_t pid, int64_t tid, int64_t order)
{
    begin_metadata(writer, pid, tid, tid ? "thread_sort_index" : "process_sort_index");
    text_buffer_print(&writer->line, "sort_index\":%" PRId64 "}", order);
    chrome_end(writer);
}

/* What names and numbers do not tell: for an import of the trace. */
static void add_lane(struct chrome_writer *writer, const struct lane_row *lane,
                     const struct chrome_place *place, uint32_t row)
{
    chrome_add(writer, ",\"optrace\":{\"kind\":");
    chrome_add_text(&writer->line, lane->kind);
    if (lane->device) {
        chrome_add(writer, ",\"device\":");
        chrome_add_text(&writer->line, lane->device);
    }
    if (lane->native_id != STORE_NULL)
        chrome_add_int(writer, "native_id", lane->native_id);
    if (row)
        chrome_add_int(writer, "row_of", place->tid);
    chrome_add(writer, "}}");
}

static void write_lane_names(struct chrome_writer *writer, size_t lane_place)
{
    const struct lane_row *lane = &writer->spans->lanes.items[lane_place];
    const struct chrome_place *place = &writer->places[lane_place];
    uint32_t rows = writer->export->packed->lanes[lane_place].row_count;

    for (uint32_t row = 0; row < (rows ? rows : 1); row++) {
        int64_t tid = chrome_row_tid(lane, place, row);
        struct text_buffer name = {0};

        text_buffer_print(&name, "%s", lane->name);
        if (row)
            text_buffer_print(&name, " (%u)", row + 1);
        begin_metadata(writer, place->pid, tid, "thread_name");
        chrome_add(writer, "name\":");
        chrome_add_text(&writer->line, text_buffer_text(&name));
        add_lane(writer, lane, place, row);
        chrome_end(writer);
        write_order(writer, place->pid, tid, (int64_t)(lane_place + 1) * 1000 + row);
        writer->line.failed |= name.failed;
        text_buffer_deinit(&name);
    }
}

static void write_session_names(struct chrome_writer *writer, int64_t session_id, int64_t order)
{
    const struct session_row *session = export_session(writer->export, session_id);
    int64_t pid = chrome_pid(writer, session_id);
    char label[64];

    snprintf(label, sizeof(label), "session %" PRId64, session_id);
    write_text(writer, pid, 0, "process_name", "name",
               session->program ? session->program : session->source);
    write_text(writer, pid, 0, "process_labels", "labels", label);
    write_order(writer, pid, 0, order);
}

static void write_run_names(struct chrome_writer *writer, int64_t session_id)
{
    uint32_t count, *rows = chrome_run_rows(writer->spans, session_id, &count);
    int64_t pid = chrome_pid(writer, session_id);

    for (uint32_t row = 0; rows && row < count; row++) {
        int64_t tid = chrome_row_tid(NULL, NULL, row);

        write_text(writer, pid, tid, "thread_name", "name", "runs");
        write_order(writer, pid, tid, row);
    }
    writer->line.failed |= !rows;
    free(rows);
}

static void write_device_names(struct chrome_writer *writer, size_t lane_place, int64_t order)
{
    const struct lane_row *lane = &writer->spans->lanes.items[lane_place];
    const struct session_row *session = export_session(writer->export, lane->session_id);
    int64_t pid = writer->places[lane_place].pid;
    struct text_buffer name = {0};

    text_buffer_print(&name, "%s", lane->device ? lane->device : "device");
    if (session->program)
        text_buffer_print(&name, " of %s", session->program);
    write_text(writer, pid, 0, "process_name", "name", text_buffer_text(&name));
    write_order(writer, pid, 0, order);
    writer->line.failed |= name.failed;
    text_buffer_deinit(&name);
}

/* Each session's threads, then its devices. */
void chrome_write_names(struct chrome_writer *writer)
{
    const struct spans_answer *spans = writer->spans;
    const struct report *report = writer->export->report;
    int64_t order = 0;

    for (size_t i = 0; i < report->session_count; i++) {
        write_session_names(writer, report->session_ids[i], ++order);
        write_run_names(writer, report->session_ids[i]);
        for (size_t k = 0; k < spans->lanes.count; k++) {
            const struct lane_row *lane = &spans->lanes.items[k];

            if (lane->session_id != report->session_ids[i])
                continue;
            if (lane->side == OP_DEVICE && first_of_device(spans, k) == k)
                write_device_names(writer, k, ++order);
            write_lane_names(writer, k);
        }
    }
}
