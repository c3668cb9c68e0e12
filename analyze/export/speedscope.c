/* SPDX-License-Identifier: Apache-2.0 */
/* speedscope: an evented profile for each row of each lane, all on one axis of ns. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/export.h"
#include "base/json.h"
#include "base/text.h"

/* A span that is open in a row. */
struct open_span {
    int64_t end_ns;
    uint32_t place, op;
};

struct writer {
    const struct export *export;
    const struct spans_answer *spans;
    struct json_writer json;
    ARRAY_OF(struct open_span) open; /* the innermost last */
};

/* A frame for each op, at its place. */
static void write_frames(struct writer *writer)
{
    struct json_writer *json = &writer->json;

    json_key(json, "shared");
    json_begin_object(json);
    json_key(json, "frames");
    json_begin_array(json);
    for (size_t i = 0; i < writer->spans->ops.count; i++) {
        const struct op_row *op = &writer->spans->ops.items[i];
        int64_t line;
        char *file = export_source(op->source, &line);

        json_begin_object(json);
        json_key(json, "name");
        json_string(json, op->name);
        if (file) {
            json_key(json, "file");
            json_string(json, file);
        }
        if (line) {
            json_key(json, "line");
            json_int(json, line);
        }
        json_end_object(json);
        free(file);
    }
    json_end_array(json);
    json_end_object(json);
}

/* As the JSON writer has it, put together at once. */
static void write_event(struct writer *writer, char type, uint32_t op, int64_t time_ns)
{
    char text[64 + 2 * TEXT_INT_BYTES] = "{\"type\": \"O\", \"frame\": ";
    size_t length = strlen(text);

    text[10] = type;
    length += text_format_uint(text + length, op);
    memcpy(text + length, ", \"at\": ", 8);
    length += 8;
    length += text_format_int(text + length, time_ns - writer->spans->start_ns);
    text[length++] = '}';
    json_verbatim(&writer->json, text, length);
}

/* Closes what is open down to this span; SPAN_NONE: all. */
static void close_down_to(struct writer *writer, uint32_t place)
{
    while (writer->open.count && writer->open.items[writer->open.count - 1].place != place) {
        const struct open_span *open = &writer->open.items[--writer->open.count];

        write_event(writer, 'C', open->op, open->end_ns);
    }
}

static int write_span(struct writer *writer, const struct packed_span *span)
{
    const struct open_span open = {span->start_ns + span->dur_ns, span->place, span->op};

    close_down_to(writer, span->shown_parent);
    write_event(writer, 'O', span->op, span->start_ns);
    return array_push(&writer->open, open);
}

/* Where rows nest, what is open and no parent of the next span has ended before it. */
static int write_events(struct writer *writer, size_t lane, uint32_t row)
{
    struct packed_reader reader;
    int rc = 0, read_rc;

    packed_read(writer->export->packed, lane, &reader);
    while (rc == 0 && packed_next(&reader)) {
        const struct packed_span *span = &reader.span;

        if (span->is_shown && writer->spans->op_kinds[span->op] != SPAN_MARK && span->row == row)
            rc = write_span(writer, span);
    }
    close_down_to(writer, SPAN_NONE);
    read_rc = packed_reader_deinit(&reader);
    return rc < 0 ? rc : read_rc;
}

static void write_name(struct writer *writer, const struct lane_row *lane, uint32_t row)
{
    const struct session_row *session = export_session(writer->export, lane->session_id);
    char *name = NULL, number[32] = "";

    if (row)
        snprintf(number, sizeof(number), " (%u)", row + 1);
    if (asprintf(&name, "%s %" PRId64 ": %s%s%s%s", session->program ? session->program : "session",
                 lane->session_id, lane->device ? lane->device : "", lane->device ? " " : "",
                 lane->name, number) < 0) {
        writer->json.error = -ENOMEM;
        return;
    }
    json_string(&writer->json, name);
    free(name);
}

static int write_profile(struct writer *writer, size_t lane, uint32_t row)
{
    struct json_writer *json = &writer->json;
    int rc;

    json_begin_object(json);
    json_key(json, "type");
    json_string(json, "evented");
    json_key(json, "name");
    write_name(writer, &writer->spans->lanes.items[lane], row);
    json_key(json, "unit");
    json_string(json, "nanoseconds");
    json_key(json, "startValue");
    json_int(json, 0);
    json_key(json, "endValue");
    json_int(json, writer->spans->end_ns - writer->spans->start_ns);
    json_key(json, "events");
    json_begin_array(json);
    rc = write_events(writer, lane, row);
    json_end_array(json);
    json_end_object(json);
    return rc;
}

static int write_profiles(struct writer *writer)
{
    int rc = 0;

    json_key(&writer->json, "profiles");
    json_begin_array(&writer->json);
    for (size_t i = 0; i < writer->spans->lanes.count; i++) {
        uint32_t rows = writer->export->packed->lanes[i].row_count;

        for (uint32_t row = 0; row < rows && rc == 0; row++)
            rc = write_profile(writer, i, row);
    }
    json_end_array(&writer->json);
    return rc;
}

static int write_all(struct writer *writer)
{
    struct json_writer *json = &writer->json;
    int rc;

    json_init_file(json, writer->export->stream);
    json_set_indent(json, 1);
    json_begin_object(json);
    json_key(json, "$schema");
    json_string(json, "https://www.speedscope.app/file-format-schema.json");
    json_key(json, "exporter");
    json_string(json, "optrace " OPTRACE_VERSION);
    json_key(json, "name");
    json_string(json, writer->export->report->source->name);
    json_key(json, "activeProfileIndex");
    json_int(json, 0);
    write_frames(writer);
    rc = write_profiles(writer);
    json_end_object(json);
    return rc < 0 ? rc : json_finish(json);
}

static bool has_rows(const struct writer *writer)
{
    for (size_t i = 0; i < writer->spans->lanes.count; i++) {
        if (writer->export->packed->lanes[i].row_count)
            return true;
    }
    return false;
}

static int run(const struct export *export, struct diag *diag)
{
    struct writer writer = {.export = export, .spans = export->spans};
    int rc;

    if (has_rows(&writer)) {
        rc = write_all(&writer);
    } else {
        diag_set(diag, 0, "there is no finished span in what is asked for");
        rc = REPORT_NOTHING;
    }
    array_deinit(&writer.open);
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the profiles") : rc > 0 ? rc : 0;
}

const struct export_kind export_speedscope = {
    .name = "speedscope",
    .about = "speedscope.app: a profile for each thread and stream, in the order of time.",
    .suffix = ".speedscope.json",
    .run = run,
};
