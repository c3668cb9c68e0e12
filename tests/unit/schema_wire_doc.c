/* SPDX-License-Identifier: Apache-2.0 */
/* schema/wire/wire.md says what wire.h, records.def and the encoders say: every field with its
 * offset, size and type, every number, every word, and the bytes of the hexdump. */
#include "tests/support/check.h"

#include <ctype.h>
#include <stdbool.h>

#include "schema/wire/wire.h"
#include "tests/support/golden.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"
#include "tests/support/wire_sample.h"

/* --- What the header says --- */

struct field {
    const char *tag, *name, *type;
    size_t offset, size, count; /* count 0: not an array */
};

#define TYPE_OF(expression)                                                                        \
    _Generic((expression), uint8_t *                                                               \
             : "u8", uint16_t                                                                      \
             : "u16", uint32_t                                                                     \
             : "u32", uint64_t                                                                     \
             : "u64", int32_t                                                                      \
             : "i32", int64_t                                                                      \
             : "i64", struct ot_wire_header                                                        \
             : "header", struct ot_ring_header                                                     \
             : "struct", struct ot_wire_plan                                                       \
             : "plan", struct ot_ring_gap *                                                        \
             : "struct", struct ot_wire_record *                                                   \
             : "record")
#define FIELD(tag, name)                                                                           \
    {                                                                                              \
#tag, #name, TYPE_OF(((struct tag *)0)->name), offsetof(struct tag, name),                 \
            sizeof(((struct tag *)0)->name), 0                                                     \
    }
#define ARRAY(tag, name)                                                                           \
    {                                                                                              \
#tag, #name, TYPE_OF(((struct tag *)0)->name), offsetof(struct tag, name),                 \
            sizeof(((struct tag *)0)->name),                                                       \
            sizeof(((struct tag *)0)->name) / sizeof(((struct tag *)0)->name[0])                   \
    }

/* In each struct's order. A field that is missing here is noticed, because then the rows of its
 * table do not add up to the struct. */
static const struct field fields[] = {
    FIELD(ot_wire_header, length),
    FIELD(ot_wire_header, type),
    FIELD(ot_wire_header, flags),
    FIELD(ot_wire_hello, header),
    FIELD(ot_wire_hello, magic),
    FIELD(ot_wire_hello, version_major),
    FIELD(ot_wire_hello, version_minor),
    FIELD(ot_wire_hello, features),
    ARRAY(ot_wire_hello, uuid),
    FIELD(ot_wire_hello, pid),
    FIELD(ot_wire_hello, clock_kind),
    FIELD(ot_wire_hello, ticks_per_s),
    FIELD(ot_wire_hello, ticks),
    FIELD(ot_wire_hello, monotonic_ns),
    FIELD(ot_wire_hello, realtime_ns),
    FIELD(ot_wire_hello, connection),
    FIELD(ot_wire_hello, program_bytes),
    FIELD(ot_wire_hello, command_bytes),
    FIELD(ot_wire_hello, library_bytes),
    FIELD(ot_wire_hello, host_bytes),
    FIELD(ot_wire_hello, reserved),
    FIELD(ot_wire_hello_more, start_ns),
    FIELD(ot_wire_welcome, header),
    FIELD(ot_wire_welcome, version_major),
    FIELD(ot_wire_welcome, version_minor),
    FIELD(ot_wire_welcome, status),
    FIELD(ot_wire_welcome, features),
    FIELD(ot_wire_welcome, session_id),
    FIELD(ot_wire_welcome, inline_committed),
    FIELD(ot_wire_welcome, level),
    FIELD(ot_wire_welcome, text_bytes),
    FIELD(ot_wire_clock, header),
    FIELD(ot_wire_clock, ticks),
    FIELD(ot_wire_clock, monotonic_ns),
    FIELD(ot_wire_clock, realtime_ns),
    FIELD(ot_wire_string, header),
    FIELD(ot_wire_string, string_id),
    FIELD(ot_wire_string, text_bytes),
    FIELD(ot_wire_model, header),
    FIELD(ot_wire_model, model_id),
    FIELD(ot_wire_model, name),
    FIELD(ot_wire_model, path),
    FIELD(ot_wire_model, format),
    FIELD(ot_wire_model, producer),
    FIELD(ot_wire_model, digest),
    FIELD(ot_wire_model, parameter_bytes),
    FIELD(ot_wire_op, header),
    FIELD(ot_wire_op, op_id),
    FIELD(ot_wire_op, name),
    FIELD(ot_wire_op, type),
    FIELD(ot_wire_op, model_id),
    FIELD(ot_wire_op, node_id),
    FIELD(ot_wire_op, device),
    FIELD(ot_wire_op, params),
    FIELD(ot_wire_op, source),
    FIELD(ot_wire_op, computation_flop),
    FIELD(ot_wire_op, memory_bytes),
    FIELD(ot_wire_op, workspace_bytes),
    FIELD(ot_wire_op, input_count),
    FIELD(ot_wire_op, output_count),
    FIELD(ot_wire_op, origin_count),
    FIELD(ot_wire_op, reserved),
    FIELD(ot_wire_tensor, dtype),
    FIELD(ot_wire_tensor, rank),
    FIELD(ot_wire_tensor, name),
    FIELD(ot_wire_lane, header),
    FIELD(ot_wire_lane, lane_id),
    FIELD(ot_wire_lane, kind),
    FIELD(ot_wire_lane, name),
    FIELD(ot_wire_lane, device),
    FIELD(ot_wire_lane, native_id),
    FIELD(ot_wire_ring, header),
    FIELD(ot_wire_ring, ring_id),
    FIELD(ot_wire_ring, lane_id),
    FIELD(ot_wire_ring, record_count),
    FIELD(ot_wire_ring, memory_bytes),
    FIELD(ot_wire_doorbell, header),
    FIELD(ot_wire_doorbell, ring_id),
    FIELD(ot_wire_doorbell, reserved),
    FIELD(ot_wire_events, header),
    FIELD(ot_wire_events, first_sequence),
    FIELD(ot_wire_events, record_count),
    FIELD(ot_wire_events, reserved),
    FIELD(ot_wire_gap, header),
    FIELD(ot_wire_gap, lane_id),
    FIELD(ot_wire_gap, reason),
    FIELD(ot_wire_gap, lost_count),
    FIELD(ot_wire_gap, first_ticks),
    FIELD(ot_wire_gap, last_ticks),
    FIELD(ot_wire_flush, header),
    FIELD(ot_wire_flush, token),
    FIELD(ot_wire_flushed, header),
    FIELD(ot_wire_flushed, token),
    FIELD(ot_wire_flushed, status),
    FIELD(ot_wire_flushed, reserved),
    FIELD(ot_wire_refused, header),
    FIELD(ot_wire_refused, refused_count),
    FIELD(ot_wire_refused, reason),
    FIELD(ot_wire_refused, reserved),
    FIELD(ot_wire_control, header),
    FIELD(ot_wire_control, level),
    FIELD(ot_wire_control, reserved),
    FIELD(ot_wire_bye, header),
    FIELD(ot_wire_bye, reason),
    FIELD(ot_wire_bye, text_bytes),
    FIELD(ot_wire_schedule, header),
    FIELD(ot_wire_schedule, plan),
    FIELD(ot_wire_plan, command_id),
    FIELD(ot_wire_plan, start_ns),
    FIELD(ot_wire_plan, end_ns),
    FIELD(ot_wire_plan, skip_first),
    FIELD(ot_wire_plan, wait),
    FIELD(ot_wire_plan, warmup),
    FIELD(ot_wire_plan, active),
    FIELD(ot_wire_plan, repeat),
    FIELD(ot_wire_plan, position),
    FIELD(ot_wire_plan, level),
    FIELD(ot_wire_plan, unit),
    FIELD(ot_wire_plan, state),
    FIELD(ot_wire_plan, reserved),
    FIELD(ot_wire_visit, header),
    FIELD(ot_wire_visit, magic),
    FIELD(ot_wire_visit, version_major),
    FIELD(ot_wire_visit, version_minor),
    FIELD(ot_wire_visit, features),
    FIELD(ot_wire_select, header),
    FIELD(ot_wire_select, kind),
    FIELD(ot_wire_select, text_bytes),
    FIELD(ot_wire_select, number),
    FIELD(ot_wire_ask, header),
    FIELD(ot_wire_ask, first_session),
    FIELD(ot_wire_status, header),
    FIELD(ot_wire_status, now_ns),
    FIELD(ot_wire_status, started_ns),
    FIELD(ot_wire_status, store_bytes),
    FIELD(ot_wire_status, refusal_count),
    FIELD(ot_wire_status, pid),
    FIELD(ot_wire_status, uid),
    FIELD(ot_wire_status, level),
    FIELD(ot_wire_status, session_count),
    FIELD(ot_wire_status, version_bytes),
    FIELD(ot_wire_status, host_bytes),
    FIELD(ot_wire_status, store_path_bytes),
    FIELD(ot_wire_status, hidden_count),
    FIELD(ot_wire_session, header),
    FIELD(ot_wire_session, session_id),
    FIELD(ot_wire_session, started_ns),
    FIELD(ot_wire_session, event_count),
    FIELD(ot_wire_session, lost_count),
    FIELD(ot_wire_session, open_count),
    FIELD(ot_wire_session, pid),
    FIELD(ot_wire_session, uid),
    FIELD(ot_wire_session, level),
    FIELD(ot_wire_session, flags),
    FIELD(ot_wire_session, plan),
    FIELD(ot_wire_session, program_bytes),
    FIELD(ot_wire_session, command_bytes),
    FIELD(ot_wire_session, reserved),
    FIELD(ot_wire_save, header),
    FIELD(ot_wire_save, since_ns),
    FIELD(ot_wire_saved, header),
    FIELD(ot_wire_saved, bytes),
    FIELD(ot_wire_saved, session_count),
    FIELD(ot_wire_saved, state),
    FIELD(ot_wire_saved, error),
    FIELD(ot_wire_saved, text_bytes),
    FIELD(ot_wire_refusal, header),
    FIELD(ot_wire_refusal, time_ns),
    FIELD(ot_wire_refusal, pid),
    FIELD(ot_wire_refusal, uid),
    FIELD(ot_wire_refusal, text_bytes),
    FIELD(ot_wire_refusal, reserved),
    FIELD(ot_wire_health, header),
    FIELD(ot_wire_health, longest_pause_ns),
    FIELD(ot_wire_health, longest_pause_at_ns),
    FIELD(ot_wire_health, writer_ns),
    FIELD(ot_wire_health, watchdog_ns),
    FIELD(ot_wire_usage, header),
    FIELD(ot_wire_usage, budget_bytes),
    FIELD(ot_wire_usage, room_bytes),
    FIELD(ot_wire_usage, growth_bytes),
    FIELD(ot_wire_usage, growth_ns),
    FIELD(ot_wire_usage, cpu_ns),
    FIELD(ot_wire_usage, cpu_window_ns),
    FIELD(ot_wire_pace, header),
    FIELD(ot_wire_pace, session_id),
    FIELD(ot_wire_pace, window_ns),
    FIELD(ot_wire_pace, event_count),
    FIELD(ot_wire_pace, run_count),
    FIELD(ot_wire_pace, run_p50_ns),
    FIELD(ot_wire_pace, run_sample_count),
    FIELD(ot_wire_pace, reserved),
    FIELD(ot_wire_answer, header),
    FIELD(ot_wire_answer, command_id),
    FIELD(ot_wire_answer, next_session),
    FIELD(ot_wire_answer, status),
    FIELD(ot_wire_answer, taken_count),
    FIELD(ot_wire_answer, unable_count),
    FIELD(ot_wire_answer, reserved),
    FIELD(ot_wire_record, kind),
    FIELD(ot_wire_record, flags),
    FIELD(ot_wire_record, op_id),
    FIELD(ot_wire_record, lane_id),
    FIELD(ot_wire_record, run),
    FIELD(ot_wire_record, start_ticks),
    FIELD(ot_wire_record, end_ticks),
    FIELD(ot_wire_record, kern_ticks),
    FIELD(ot_wire_record, correlation),
    FIELD(ot_wire_record, bytes),
    FIELD(ot_wire_record, address),
    FIELD(ot_ring, header),
    FIELD(ot_ring, state),
    ARRAY(ot_ring, pad0),
    FIELD(ot_ring, tail),
    ARRAY(ot_ring, pad1),
    FIELD(ot_ring, closed),
    ARRAY(ot_ring, pad2),
    ARRAY(ot_ring, gaps),
    ARRAY(ot_ring, open),
    FIELD(ot_ring_header, magic),
    FIELD(ot_ring_header, version),
    FIELD(ot_ring_header, record_bytes),
    FIELD(ot_ring_header, depth_max),
    FIELD(ot_ring_header, record_count),
    FIELD(ot_ring_header, ring_id),
    FIELD(ot_ring_header, lane_id),
    ARRAY(ot_ring_header, uuid),
    ARRAY(ot_ring_header, reserved),
    FIELD(ot_ring_gap, lane_id),
    FIELD(ot_ring_gap, reason),
    FIELD(ot_ring_gap, lost_count),
    FIELD(ot_ring_gap, first_ticks),
    FIELD(ot_ring_gap, last_ticks),
};

static const struct {
    const char *tag;
    size_t size;
} structs[] = {
#define OT_FRAME(id, name, type, from, meaning) {#type, sizeof(type)},
#include "schema/wire/records.def"
    {"struct ot_wire_header", sizeof(struct ot_wire_header)},
    {"struct ot_wire_hello_more", sizeof(struct ot_wire_hello_more)},
    {"struct ot_wire_tensor", sizeof(struct ot_wire_tensor)},
    {"struct ot_wire_plan", sizeof(struct ot_wire_plan)},
    {"struct ot_wire_record", sizeof(struct ot_wire_record)},
    {"struct ot_ring_header", sizeof(struct ot_ring_header)},
    {"struct ot_ring_gap", sizeof(struct ot_ring_gap)},
    {"struct ot_ring", sizeof(struct ot_ring)},
};

static const struct number {
    const char *name, *word, *meaning; /* NULL: only the document has them */
    uint64_t value;
} numbers[] = {
#define OT_RECORD(id, name, text, uses_end, meaning) {"OT_RECORD_" #name, text, meaning, id},
#define OT_LOSS(id, name, text, meaning)             {"OT_LOSS_" #name, text, meaning, id},
#define OT_LANE(id, name, text, meaning)             {"OT_LANE_" #name, text, meaning, id},
#define OT_DTYPE(id, name, text, meaning)            {"OT_DTYPE_" #name, text, meaning, id},
#include "schema/wire/records.def"
#define NUMBER(name)                                                                               \
    {                                                                                              \
#name, NULL, NULL, name                                                                    \
    }
    NUMBER(OT_RECORD_NEVER_WRITTEN),
    NUMBER(OT_FEATURE_RINGS),
    NUMBER(OT_FEATURE_CONTROL),
    NUMBER(OT_FEATURE_SCHEDULE),
    NUMBER(OT_FEATURE_VISIT),
    NUMBER(OT_CLOCK_MONOTONIC),
    NUMBER(OT_CLOCK_TSC),
    NUMBER(OT_WELCOME_OK),
    NUMBER(OT_WELCOME_VERSION),
    NUMBER(OT_WELCOME_FULL),
    NUMBER(OT_WELCOME_BUSY),
    NUMBER(OT_WELCOME_ENDED),
    NUMBER(OT_WELCOME_DENIED),
    NUMBER(OT_LEVEL_OFF),
    NUMBER(OT_LEVEL_ON),
    NUMBER(OT_LEVEL_DETAIL),
    NUMBER(OT_BYE_DONE),
    NUMBER(OT_BYE_PROTOCOL),
    NUMBER(OT_BYE_SHUTDOWN),
    NUMBER(OT_RECORD_REALTIME),
    NUMBER(OT_RECORD_IMPLICIT_END),
    NUMBER(OT_RECORD_WARMUP),
    NUMBER(OT_WIRE_FRAME_BYTES_MAX),
    NUMBER(OT_WIRE_TEXT_BYTES_MAX),
    NUMBER(OT_WIRE_SESSION_TEXT_MAX),
    NUMBER(OT_WIRE_STRINGS_MAX),
    NUMBER(OT_WIRE_OPS_MAX),
    NUMBER(OT_WIRE_MODELS_MAX),
    NUMBER(OT_WIRE_LANES_MAX),
    NUMBER(OT_WIRE_RINGS_MAX),
    NUMBER(OT_WIRE_RING_RECORDS_MIN),
    NUMBER(OT_WIRE_RING_RECORDS_MAX),
    NUMBER(OT_WIRE_SESSION_RING_RECORDS_MAX),
    NUMBER(OT_WIRE_TENSORS_MAX),
    NUMBER(OT_WIRE_ORIGINS_MAX),
    NUMBER(OT_WIRE_RANK_MAX),
    NUMBER(OT_WIRE_EVENTS_MAX),
    NUMBER(OT_WIRE_FLUSHES_MAX),
    NUMBER(OT_WIRE_CONNECTIONS_MAX),
    NUMBER(OT_WIRE_SESSIONS_MAX),
    NUMBER(OT_WIRE_ALL_RINGS_MAX),
    NUMBER(OT_WIRE_ALL_DEFINITIONS_MAX),
    NUMBER(OT_WIRE_LEFT_RECORDS_MAX),
    NUMBER(OT_WIRE_HELLO_SECONDS),
    NUMBER(OT_WIRE_VISIT_SECONDS),
    NUMBER(OT_WIRE_SELECTS_MAX),
    NUMBER(OT_WIRE_COMMANDS_MAX),
    NUMBER(OT_WIRE_REFUSALS_MAX),
    NUMBER(OT_WIRE_SAVE_SECONDS),
    NUMBER(OT_WIRE_PAGE_SESSIONS),
    NUMBER(OT_WIRE_REMARK_BYTES_MAX),
    NUMBER(OT_WIRE_SUMMARY_BYTES_MAX),
    NUMBER(OT_WIRE_PLAN_LENGTH_MAX),
    NUMBER(OT_UNIT_RUNS),
    NUMBER(OT_UNIT_NS),
    NUMBER(OT_PLAN_FREE),
    NUMBER(OT_PLAN_EARLY),
    NUMBER(OT_PLAN_SKIP),
    NUMBER(OT_PLAN_WAIT),
    NUMBER(OT_PLAN_WARMUP),
    NUMBER(OT_PLAN_ACTIVE),
    NUMBER(OT_PLAN_DONE),
    NUMBER(OT_SELECT_PID),
    NUMBER(OT_SELECT_SESSION),
    NUMBER(OT_SELECT_PROGRAM),
    NUMBER(OT_FLUSH_DURABLE),
    NUMBER(OT_SESSION_CONNECTED),
    NUMBER(OT_SESSION_CONTROL),
    NUMBER(OT_SESSION_SCHEDULE),
    NUMBER(OT_SESSION_OBEYS),
    NUMBER(OT_ANSWER_OK),
    NUMBER(OT_ANSWER_NOBODY),
    NUMBER(OT_ANSWER_FULL),
    NUMBER(OT_ANSWER_DENIED),
    NUMBER(OT_SAVE_DONE),
    NUMBER(OT_SAVE_UNDERWAY),
    NUMBER(OT_SAVE_FAILED),
    NUMBER(OT_WIRE_COUNT_MAX),
    NUMBER(OT_WIRE_TICKS_PER_S_MAX),
    NUMBER(OT_RING_GAPS),
    NUMBER(OT_RING_DEPTH_MAX),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- Reading the document --- */

enum { CELLS_MAX = 8, LINE_MAX_BYTES = 512 };

struct row {
    size_t count;
    char *cells[CELLS_MAX]; /* trimmed; they point into text */
    char text[LINE_MAX_BYTES];
};

static char *read_source(const char *name)
{
    char *path = place_source(name);
    char *text = temp_read(path, NULL);

    free(path);
    return text;
}

/* Copies the next line without its newline and goes behind it. Returns false at the end. */
static bool next_line(const char **at, char out[LINE_MAX_BYTES])
{
    size_t length = strcspn(*at, "\n");

    if (**at == 0)
        return false;
    if (length >= LINE_MAX_BYTES)
        fail_msg("line too long: %.60s", *at);
    memcpy(out, *at, length);
    out[length] = 0;
    *at += length + ((*at)[length] == '\n');
    return true;
}

static char *trim(char *text)
{
    size_t length;

    text += strspn(text, " ");
    for (length = strlen(text); length > 0 && text[length - 1] == ' '; length--)
        text[length - 1] = 0;
    return text;
}

/* Splits "| a | b |". Returns false for a line that is not of a table. */
static bool read_row(const char *line, struct row *row)
{
    char *at = row->text;

    row->count = 0;
    if (line[0] != '|')
        return false;
    snprintf(row->text, sizeof(row->text), "%s", line + 1);
    while (*at && row->count < CELLS_MAX) {
        char *end = strchr(at, '|');

        if (!end)
            fail_msg("a row does not end in |: %s", line);
        *end = 0;
        row->cells[row->count++] = trim(at);
        at = end + 1;
    }
    return true;
}

/* The cell's text when it is `code`, else NULL. Cuts the closing mark off. */
static char *code(char *cell)
{
    size_t length = strlen(cell);

    if (length < 3 || cell[0] != '`' || cell[length - 1] != '`' ||
        strchr(cell + 1, '`') != cell + length - 1)
        return NULL;
    cell[length - 1] = 0;
    return cell + 1;
}

/* --- Tables of structs --- */

static size_t struct_size(const char *tag)
{
    for (size_t i = 0; i < COUNT(structs); i++) {
        if (strcmp(structs[i].tag + strlen("struct "), tag) == 0)
            return structs[i].size;
    }
    fail_msg("wire.md has a table of %s, which does not exist", tag);
    return 0;
}

static const struct field *find_field(const char *tag, const char *name)
{
    for (size_t i = 0; i < COUNT(fields); i++) {
        if (strcmp(fields[i].tag, tag) == 0 && strcmp(fields[i].name, name) == 0)
            return &fields[i];
    }
    fail_msg("wire.md: %s has no field %s", tag, name);
    return NULL;
}

/* The version that brought the struct, or the field in place of a reserved one. */
static const char *since(const char *tag, const char *name)
{
    static const char *const newer[][2] = {
        {"ot_wire_schedule", "1.1"},   {"ot_wire_plan", "1.1"},    {"ot_wire_visit", "1.1"},
        {"ot_wire_select", "1.1"},     {"ot_wire_ask", "1.1"},     {"ot_wire_status", "1.1"},
        {"ot_wire_session", "1.1"},    {"ot_wire_refusal", "1.1"}, {"ot_wire_answer", "1.1"},
        {"ot_wire_hello_more", "1.2"}, {"ot_wire_save", "1.2"},    {"ot_wire_saved", "1.2"},
        {"ot_wire_refused", "1.2"},    {"ot_wire_health", "1.2"},  {"ot_wire_usage", "1.3"},
        {"ot_wire_pace", "1.3"},
    };

    if (strcmp(tag, "ot_wire_status") == 0 && strcmp(name, "hidden_count") == 0)
        return "1.2";
    for (size_t i = 0; i < COUNT(newer); i++) {
        if (strcmp(newer[i][0], tag) == 0)
            return newer[i][1];
    }
    return "1.0";
}

static void check_field(const char *tag, const char *name, const struct row *row)
{
    const struct field *field = find_field(tag, name);
    char type[32];

    if (field->count)
        snprintf(type, sizeof(type), "%s[%zu]", field->type, field->count);
    else
        snprintf(type, sizeof(type), "%s", field->type);
    if (strtoul(row->cells[0], NULL, 10) != field->offset ||
        strtoul(row->cells[1], NULL, 10) != field->size || strcmp(row->cells[2], type) != 0)
        fail_msg("%s.%s is at %zu, %zu bytes, %s; wire.md says at %s, %s bytes, %s", tag, name,
                 field->offset, field->size, type, row->cells[0], row->cells[1], row->cells[2]);
    assert_string_equal(row->cells[6], since(tag, name));
}

/* The rows behind a table's headline: the fixed ones lie one behind the other and fill the struct,
 * those without size come after. */
static void check_struct_table(const char **at, const char *tag)
{
    char line[LINE_MAX_BYTES];
    struct row row;
    size_t end = 0;

    assert_true(next_line(at, line)); /* |---| */
    while (next_line(at, line) && read_row(line, &row)) {
        char *name;

        CHECK_U64(row.count, 7);
        if (row.cells[1][0] == 0) {
            CHECK_U64(end, struct_size(tag));
            continue;
        }
        name = code(row.cells[3]);
        assert_non_null(name);
        check_field(tag, name, &row);
        if (strtoul(row.cells[0], NULL, 10) != end)
            fail_msg("%s.%s: wire.md leaves out what is before it", tag, name);
        end += strtoul(row.cells[1], NULL, 10);
    }
    if (end != struct_size(tag))
        fail_msg("%s has %zu bytes, its table %zu", tag, struct_size(tag), end);
}

static void every_struct_has_its_table(void **state)
{
    char *text = read_source("schema/wire/wire.md");
    const char *at = text;
    size_t tables = 0;
    char line[LINE_MAX_BYTES];
    struct row row;

    while (next_line(&at, line)) {
        if (!read_row(line, &row) || row.count < 4 || strcmp(row.cells[0], "offset") != 0)
            continue;
        check_struct_table(&at, code(row.cells[3]));
        tables++;
    }
    /* No two tables are of one struct: none could be missing then. */
    CHECK_U64(tables, COUNT(structs));
    for (size_t i = 0; i < COUNT(structs); i++) {
        char heading[64];

        snprintf(heading, sizeof(heading), "| type | `%s` |", structs[i].tag + strlen("struct "));
        CHECK_CONTAINS(text, heading);
    }
    free(text);
}

/* --- Numbers --- */

static const struct number *find_number(const char *name)
{
    for (size_t i = 0; i < COUNT(numbers); i++) {
        if (strcmp(numbers[i].name, name) == 0)
            return &numbers[i];
    }
    fail_msg("wire.md says %s, which this test does not know", name);
    return NULL;
}

static void check_number(const struct row *row, const char *name)
{
    const struct number *number = find_number(name);

    if (strtoull(row->cells[0], NULL, 10) != number->value)
        fail_msg("%s is %llu, wire.md says %s", name, (unsigned long long)number->value,
                 row->cells[0]);
    if (number->word)
        assert_string_equal(row->cells[2], number->word);
    if (number->meaning)
        assert_string_equal(row->cells[3], number->meaning);
}

static void every_number_is_right(void **state)
{
    char *text = read_source("schema/wire/wire.md");
    const char *at = text;
    size_t found = 0;
    char line[LINE_MAX_BYTES];
    struct row row;

    while (next_line(&at, line)) {
        char *name;

        if (!read_row(line, &row) || row.count < 3 || !isdigit((unsigned char)row.cells[0][0]))
            continue;
        name = code(row.cells[1]);
        if (!name)
            continue;
        check_number(&row, name);
        found++;
    }
    CHECK_U64(found, COUNT(numbers));
    free(text);
}

/* Whatever gets a number in the header has it in the document too. */
static void check_header(const char *path, size_t min_count)
{
    char *header = read_source(path);
    char *text = read_source("schema/wire/wire.md");
    size_t found = 0;

    for (const char *at = header; (at = strstr(at, "OT_")) != NULL;) {
        size_t length = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        char name[80];

        snprintf(name, sizeof(name), "`%.*s`", (int)length, at);
        at += length;
        if (strncmp(at, " = ", 3) != 0)
            continue;
        found++;
        /* Places and constants of the ring's header, which stand in tables. */
        if (!strstr(name, "_OFFSET`") && !strstr(name, "_MAGIC`") && !strstr(name, "_VERSION`"))
            CHECK_CONTAINS(text, name);
    }
    assert_in_range(found, min_count, 200);
    free(text);
    free(header);
}

static void header_has_no_number_that_the_document_lacks(void **state)
{
    check_header("schema/wire/wire.h", 30);
    check_header("schema/wire/control.h", 20);
}

/* --- Frames --- */

static void check_frame_section(const char *text, const char *name, const char *from, int id,
                                const char *meaning)
{
    const bool both = strcmp(from, "BOTH") == 0;
    char heading[80], start[160];
    const char *found;
    size_t length;

    snprintf(heading, sizeof(heading), "\n### Frame %d %s, from %s\n\n", id, name,
             both                          ? "both"
             : strcmp(from, "CLIENT") == 0 ? "the client"
                                           : "the daemon");
    found = strstr(text, heading);
    if (!found)
        fail_msg("wire.md has no section \"%s\"", heading + 1);
    found += strlen(heading);
    length = (size_t)snprintf(start, sizeof(start), "%s %s", name, meaning);
    for (size_t i = 0; i < length; i++) {
        /* A line may end at each space. */
        if (found[i] != start[i] && !(found[i] == '\n' && start[i] == ' '))
            fail_msg("the section of %s starts with \"%.*s\", not \"%s\"", name, (int)length, found,
                     start);
    }
}

static void every_frame_has_its_section(void **state)
{
    char *text = read_source("schema/wire/wire.md");

#define OT_FRAME(id, name, type, from, meaning)                                                    \
    check_frame_section(text, #name, #from, id, meaning);
#include "schema/wire/records.def"
    free(text);
}

/* --- Bytes --- */

/* Takes the next block of lines "0000  00 01 ...  | meaning". Returns the count of bytes. */
static size_t read_hexdump(const char **at, uint8_t out[WIRE_SAMPLE_MAX])
{
    char line[LINE_MAX_BYTES];
    size_t size = 0;

    do {
        if (!next_line(at, line))
            fail_msg("wire.md has too few hexdumps");
    } while (strncmp(line, "0000  ", 6) != 0);
    do {
        char *bar = strchr(line, '|');
        char *cursor = line + 4;

        assert_non_null(bar);
        *bar = 0;
        line[4] = 0;
        CHECK_U64(strtoul(line, NULL, 16), size);
        for (cursor++; *(cursor += strspn(cursor, " ")); size++) {
            assert_in_range(size, 0, WIRE_SAMPLE_MAX - 1);
            out[size] = (uint8_t)strtoul(cursor, &cursor, 16);
        }
    } while (next_line(at, line) && strcmp(line, "```") != 0);
    return size;
}

static void check_bytes(const uint8_t *got, size_t got_size, const uint8_t *want, size_t want_size)
{
    for (size_t i = 0; i < got_size && i < want_size; i++) {
        if (got[i] != want[i])
            fail_msg("the hexdump of wire.md has %02x at %04zx, the encoder writes %02x", got[i], i,
                     want[i]);
    }
    CHECK_U64(got_size, want_size);
}

static void hexdump_is_what_the_encoders_write(void **state)
{
    char *text = read_source("schema/wire/wire.md");
    const char *at = strstr(text, "\n## 11. ");
    uint8_t got[WIRE_SAMPLE_MAX], want[WIRE_SAMPLE_MAX];
    size_t frames, size;
    uint64_t sum;

    assert_non_null(at);
    size = read_hexdump(&at, got);
    check_bytes(got, size, want, wire_sample_client(want));
    CHECK_OK(wire_sample_follow(got, size, &frames, &sum, NULL));
    CHECK_U64(frames, 9);
    size = read_hexdump(&at, got);
    check_bytes(got, size, want, wire_sample_daemon(want));
    CHECK_OK(wire_sample_follow(got, size, &frames, &sum, NULL));
    CHECK_U64(frames, 2);
    free(text);
}

/* A change of layout that the document follows is still a change of the protocol. */
static void frames_have_their_golden_bytes(void **state)
{
    char text[32768];
    size_t length = 0;

    for (uint32_t type = OT_FRAME_HELLO; type <= WIRE_SAMPLE_LAST; type++) {
        uint8_t frame[WIRE_SAMPLE_MAX];
        size_t size = wire_sample_frame(type, frame);

        if (!wire_sample_exists(type))
            continue;
        length +=
            (size_t)snprintf(text + length, sizeof(text) - length, "%s", ot_wire_frame_name(type));
        for (size_t i = 0; i < size; i++)
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%02x",
                                       i % 32 == 0  ? "\n  "
                                       : i % 8 == 0 ? " "
                                                    : "",
                                       frame[i]);
        length += (size_t)snprintf(text + length, sizeof(text) - length, "\n");
        assert_in_range(length, 1, sizeof(text) - 1);
    }
    golden_check("wire_frames.txt", text, length);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_struct_has_its_table),
        cmocka_unit_test(every_number_is_right),
        cmocka_unit_test(header_has_no_number_that_the_document_lacks),
        cmocka_unit_test(every_frame_has_its_section),
        cmocka_unit_test(hexdump_is_what_the_encoders_write),
        cmocka_unit_test(frames_have_their_golden_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
