/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders of untrusted frames: per frame a table of ranges, and the order of its variable parts.
 */
#include "schema/wire/wire.h"

#include <errno.h>
#include <inttypes.h>

#include "schema/wire/reader.h"

#define RULE_TIME(type, field)   OT_RULE(type, field, 0, OT_WIRE_TIME_MAX)
#define RULE_STRING(type, field) OT_RULE(type, field, 0, OT_WIRE_STRINGS_MAX)
#define RULE_SIZE(type, field)   OT_RULE(type, field, -1, INT64_MAX) /* -1: not known */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The next number after the last one that is known. */
enum {
#define OT_LANE(id, name, text, meaning) LANE_##name = id,
#include "schema/wire/records.def"
    LANE_END
};
enum {
#define OT_DTYPE(id, name, text, meaning) DTYPE_##name = id,
#include "schema/wire/records.def"
    DTYPE_END
};

/* Starts on a frame: the decoders' parameters, the type, its table of ranges, and where the fixed
 * part goes. */
#define BEGIN(reader, type, rules, out_fixed)                                                      \
    ot_reader_begin(reader, frame, length, type,                                                   \
                    &(struct ot_fixed_part){rules, COUNT(rules), out_fixed, sizeof(*(out_fixed))}, \
                    diag)

/* Major versions differ: nothing behind the version can be trusted. HELLO and WELCOME keep it at
 * the same place in all versions. */
static int refuse_major(unsigned major, size_t offset, const char *who, struct diag *diag)
{
    return diag_set_at(diag, -EPROTONOSUPPORT, (int64_t)offset,
                       "the %s speaks version %u of the protocol, not %d", who, major,
                       OT_WIRE_VERSION_MAJOR);
}

static int check_hello_version(const void *frame, size_t length, struct diag *diag)
{
    const size_t known = offsetof(struct ot_wire_hello, features);
    struct ot_wire_hello hello;

    if (length < known)
        return 0; /* BEGIN will say so */
    memcpy(&hello, frame, known);
    if (hello.header.type != OT_FRAME_HELLO || hello.magic != OT_WIRE_MAGIC ||
        hello.version_major == OT_WIRE_VERSION_MAJOR)
        return 0;
    return refuse_major(hello.version_major, offsetof(struct ot_wire_hello, version_major),
                        "client", diag);
}

static int take_hello_texts(struct ot_reader *reader, const struct ot_wire_hello *hello,
                            struct ot_wire_hello_texts *out_texts)
{
    int rc = ot_reader_text(reader, "program", hello->program_bytes, &out_texts->program);

    if (rc == 0)
        rc = ot_reader_text(reader, "command", hello->command_bytes, &out_texts->command);
    if (rc == 0)
        rc = ot_reader_text(reader, "library", hello->library_bytes, &out_texts->library);
    if (rc == 0)
        rc = ot_reader_text(reader, "host", hello->host_bytes, &out_texts->host);
    return rc < 0 ? rc : ot_reader_padding(reader);
}

static int take_hello_more(struct ot_reader *reader, const struct ot_wire_hello *hello,
                           struct ot_wire_hello_more *out_more)
{
    static const struct ot_rule rules[] = {RULE_TIME(ot_wire_hello_more, start_ns)};
    const uint8_t *more;
    int rc;

    *out_more = (struct ot_wire_hello_more){0};
    if (hello->version_minor < 2 || reader->length - reader->at < sizeof(*out_more))
        return 0;
    rc = ot_reader_list(reader, "more", 1, sizeof(*out_more), rules, 1, &more);
    if (rc == 0)
        memcpy(out_more, more, sizeof(*out_more));
    return rc;
}

int ot_wire_decode_hello(const void *frame, size_t length, struct ot_wire_hello_view *out_hello,
                         struct diag *diag)
{
    static const struct ot_rule rules[] = {
        OT_RULE(ot_wire_hello, magic, OT_WIRE_MAGIC, OT_WIRE_MAGIC),
        OT_RULE(ot_wire_hello, pid, 0, INT32_MAX),
        OT_RULE(ot_wire_hello, clock_kind, OT_CLOCK_MONOTONIC, OT_CLOCK_TSC),
        OT_RULE(ot_wire_hello, ticks_per_s, 0, OT_WIRE_TICKS_PER_S_MAX),
        RULE_TIME(ot_wire_hello, ticks),
        RULE_TIME(ot_wire_hello, monotonic_ns),
        RULE_TIME(ot_wire_hello, realtime_ns),
    };
    static const uint8_t no_uuid[16];
    struct ot_wire_hello_view view;
    struct ot_reader reader;
    int rc = check_hello_version(frame, length, diag);

    if (rc == 0)
        rc = BEGIN(&reader, OT_FRAME_HELLO, rules, &view.fixed);
    if (rc < 0)
        return rc;
    if (memcmp(view.fixed.uuid, no_uuid, sizeof(no_uuid)) == 0)
        return diag_set_at(diag, -EPROTO, offsetof(struct ot_wire_hello, uuid),
                           "HELLO: uuid is all zeros");
    rc = take_hello_texts(&reader, &view.fixed, &view.texts);
    if (rc == 0)
        rc = take_hello_more(&reader, &view.fixed, &view.more);
    /* A newer minor version may append to HELLO, which is sent before the versions are settled. */
    if (rc == 0 && view.fixed.version_minor <= OT_WIRE_VERSION_MINOR)
        rc = ot_reader_end(&reader);
    if (rc == 0)
        *out_hello = view;
    return rc;
}

/* The text that ends a frame. */
static int take_last_text(struct ot_reader *reader, size_t size, struct ot_text *out_text)
{
    int rc = ot_reader_text(reader, "text", size, out_text);

    if (rc == 0)
        rc = ot_reader_padding(reader);
    return rc < 0 ? rc : ot_reader_end(reader);
}

static int check_welcome_version(const void *frame, size_t length, struct diag *diag)
{
    const size_t known = offsetof(struct ot_wire_welcome, status);
    struct ot_wire_welcome welcome;

    if (length < known)
        return 0;
    memcpy(&welcome, frame, known);
    if (welcome.header.type != OT_FRAME_WELCOME || welcome.version_major == OT_WIRE_VERSION_MAJOR)
        return 0;
    return refuse_major(welcome.version_major, offsetof(struct ot_wire_welcome, version_major),
                        "daemon", diag);
}

int ot_wire_decode_welcome(const void *frame, size_t length,
                           struct ot_wire_welcome_view *out_welcome, struct diag *diag)
{
    static const struct ot_rule rules[] = {
        OT_RULE(ot_wire_welcome, session_id, 0, INT64_MAX),
        OT_RULE(ot_wire_welcome, inline_committed, 0, OT_WIRE_COUNT_MAX),
        OT_RULE(ot_wire_welcome, level, OT_LEVEL_OFF, OT_LEVEL_DETAIL),
        OT_RULE(ot_wire_welcome, text_bytes, 0, OT_WIRE_TEXT_BYTES_MAX),
    };
    struct ot_wire_welcome_view view;
    struct ot_reader reader;
    int rc;

    rc = check_welcome_version(frame, length, diag);
    if (rc < 0)
        return rc;
    rc = BEGIN(&reader, OT_FRAME_WELCOME, rules, &view.fixed);
    if (rc == 0)
        rc = take_last_text(&reader, view.fixed.text_bytes, &view.text);
    if (rc == 0)
        *out_welcome = view;
    return rc;
}

int ot_wire_decode_string(const void *frame, size_t length, struct ot_wire_string_view *out_string,
                          struct diag *diag)
{
    static const struct ot_rule rules[] = {
        OT_RULE(ot_wire_string, string_id, 1, OT_WIRE_STRINGS_MAX),
        OT_RULE(ot_wire_string, text_bytes, 0, OT_WIRE_TEXT_BYTES_MAX),
    };
    struct ot_wire_string_view view;
    struct ot_reader reader;
    int rc = BEGIN(&reader, OT_FRAME_STRING, rules, &view.fixed);

    if (rc == 0)
        rc = take_last_text(&reader, view.fixed.text_bytes, &view.text);
    if (rc == 0)
        *out_string = view;
    return rc;
}

int ot_wire_decode_bye(const void *frame, size_t length, struct ot_wire_bye_view *out_bye,
                       struct diag *diag)
{
    static const struct ot_rule rules[] = {
        OT_RULE(ot_wire_bye, reason, OT_BYE_DONE, OT_BYE_SHUTDOWN),
        OT_RULE(ot_wire_bye, text_bytes, 0, OT_WIRE_TEXT_BYTES_MAX),
    };
    struct ot_wire_bye_view view;
    struct ot_reader reader;
    int rc = BEGIN(&reader, OT_FRAME_BYE, rules, &view.fixed);

    if (rc == 0)
        rc = take_last_text(&reader, view.fixed.text_bytes, &view.text);
    if (rc == 0)
        *out_bye = view;
    return rc;
}

static int take_tensors(struct ot_reader *reader, const struct ot_wire_op *op,
                        struct ot_wire_tensor_iter *out_tensors)
{
    static const struct ot_rule tensor_rules[] = {
        OT_RULE(ot_wire_tensor, dtype, OT_DTYPE_UNKNOWN, DTYPE_END - 1),
        OT_RULE(ot_wire_tensor, rank, 0, OT_WIRE_RANK_MAX),
        RULE_STRING(ot_wire_tensor, name),
    };
    static const struct ot_rule dim_rule = {"dimension", (uint64_t)-1, INT64_MAX, 0, 8};
    const uint32_t count = (uint32_t)op->input_count + op->output_count;
    const uint8_t *start = reader->bytes + reader->at;

    if (count > OT_WIRE_TENSORS_MAX)
        return diag_set_at(reader->diag, -EPROTO, offsetof(struct ot_wire_op, input_count),
                           "OP: %" PRIu32 " tensors are more than %d", count, OT_WIRE_TENSORS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct ot_wire_tensor tensor;
        const uint8_t *at;
        int rc = ot_reader_list(reader, "tensor", 1, sizeof(tensor), tensor_rules,
                                COUNT(tensor_rules), &at);

        if (rc < 0)
            return rc;
        memcpy(&tensor, at, sizeof(tensor));
        rc = ot_reader_list(reader, "list of dimensions", tensor.rank, sizeof(int64_t), &dim_rule,
                            1, &at);
        if (rc < 0)
            return rc;
    }
    *out_tensors = (struct ot_wire_tensor_iter){
        .at = start, .left = (size_t)(reader->bytes + reader->at - start)};
    return 0;
}

int ot_wire_decode_op(const void *frame, size_t length, struct ot_wire_op_view *out_op,
                      struct diag *diag)
{
    static const struct ot_rule rules[] = {
        OT_RULE(ot_wire_op, op_id, 1, OT_WIRE_OPS_MAX),
        OT_RULE(ot_wire_op, name, 1, OT_WIRE_STRINGS_MAX),
        OT_RULE(ot_wire_op, type, 1, OT_WIRE_STRINGS_MAX),
        OT_RULE(ot_wire_op, model_id, 0, OT_WIRE_MODELS_MAX),
        RULE_STRING(ot_wire_op, node_id),
        RULE_STRING(ot_wire_op, device),
        RULE_STRING(ot_wire_op, params),
        RULE_STRING(ot_wire_op, source),
        RULE_SIZE(ot_wire_op, computation_flop),
        RULE_SIZE(ot_wire_op, memory_bytes),
        RULE_SIZE(ot_wire_op, workspace_bytes),
        OT_RULE(ot_wire_op, origin_count, 0, OT_WIRE_ORIGINS_MAX),
    };
    static const struct ot_rule origin_rule = {"origin", 1, OT_WIRE_STRINGS_MAX, 0, 4};
    struct ot_wire_op_view view;
    struct ot_reader reader;
    int rc = BEGIN(&reader, OT_FRAME_OP, rules, &view.fixed);

    if (rc == 0)
        rc = take_tensors(&reader, &view.fixed, &view.tensors);
    if (rc == 0)
        rc = ot_reader_list(&reader, "list of origins", view.fixed.origin_count, sizeof(uint32_t),
                            &origin_rule, 1, &view.origins);
    if (rc == 0)
        rc = ot_reader_padding(&reader);
    if (rc == 0)
        rc = ot_reader_end(&reader);
    if (rc == 0)
        *out_op = view;
    return rc;
}

bool ot_wire_next_tensor(struct ot_wire_tensor_iter *iter, struct ot_wire_tensor *out_tensor,
                         int64_t out_dims[OT_WIRE_RANK_MAX])
{
    size_t dim_bytes;

    if (iter->left == 0)
        return false;
    memcpy(out_tensor, iter->at, sizeof(*out_tensor));
    dim_bytes = out_tensor->rank * sizeof(int64_t);
    memcpy(out_dims, iter->at + sizeof(*out_tensor), dim_bytes);
    iter->at += sizeof(*out_tensor) + dim_bytes;
    iter->left -= sizeof(*out_tensor) + dim_bytes;
    return true;
}

int ot_wire_decode_events(const void *frame, size_t length, struct ot_wire_events_view *out_events,
                          struct diag *diag)
{
    static const struct ot_rule rules[] = {
        OT_RULE(ot_wire_events, first_sequence, 0, OT_WIRE_COUNT_MAX),
        OT_RULE(ot_wire_events, record_count, 0, OT_WIRE_EVENTS_MAX),
    };
    struct ot_wire_events_view view;
    struct ot_reader reader;
    int rc = BEGIN(&reader, OT_FRAME_EVENTS, rules, &view.fixed);

    if (rc == 0)
        rc = ot_reader_list(&reader, "list of records", view.fixed.record_count,
                            sizeof(struct ot_wire_record), NULL, 0, &view.records);
    if (rc == 0)
        rc = ot_reader_end(&reader);
    if (rc == 0)
        *out_events = view;
    return rc;
}

/* A frame without variable parts. */
static int decode_whole(const void *frame, size_t length, enum ot_frame_type type,
                        const struct ot_fixed_part *fixed, struct diag *diag)
{
    struct ot_reader reader;

    if (length > fixed->size)
        return diag_set_at(diag, -EPROTO, (int64_t)fixed->size, "%s: %zu bytes too many",
                           ot_wire_frame_name(type), length - fixed->size);
    return ot_reader_begin(&reader, frame, length, type, fixed, diag);
}

#define DECODE_WHOLE(type, rules, out_fixed)                                                       \
    decode_whole(frame, length, type,                                                              \
                 &(struct ot_fixed_part){rules, COUNT(rules), out_fixed, sizeof(*(out_fixed))},    \
                 diag)

int ot_wire_decode_clock(const void *frame, size_t length, struct ot_wire_clock *out_clock,
                         struct diag *diag)
{
    static const struct ot_rule rules[] = {
        RULE_TIME(ot_wire_clock, ticks),
        RULE_TIME(ot_wire_clock, monotonic_ns),
        RULE_TIME(ot_wire_clock, realtime_ns),
    };

    return DECODE_WHOLE(OT_FRAME_CLOCK, rules, out_clock);
}

int ot_wire_decode_model(const void *frame, size_t length, struct ot_wire_model *out_model,
                         struct diag *diag)
{
    static const struct ot_rule rules[] = {
        OT_RULE(ot_wire_model, model_id, 1, OT_WIRE_MODELS_MAX),
        RULE_STRING(ot_wire_model, name),
        RULE_STRING(ot_wire_model, path),
        RULE_STRING(ot_wire_model, format),
        RULE_STRING(ot_wire_model, producer),
        RULE_STRING(ot_wire_model, digest),
        RULE_SIZE(ot_wire_model, parameter_bytes),
    };

    return DECODE_WHOLE(OT_FRAME_MODEL, rules, out_model);
}

int ot_wire_decode_lane(const void *frame, size_t length, struct ot_wire_lane *out_lane,
                        struct diag *diag)
{
    static const struct ot_rule rules[] = {
        OT_RULE(ot_wire_lane, lane_id, 1, OT_WIRE_LANES_MAX),
        OT_RULE(ot_wire_lane, kind, OT_LANE_THREAD, LANE_END - 1),
        RULE_STRING(ot_wire_lane, name),
        RULE_STRING(ot_wire_lane, device),
    };

    return DECODE_WHOLE(OT_FRAME_LANE, rules, out_lane);
}

int ot_wire_decode_ring(const void *frame, size_t length, struct ot_wire_ring *out_ring,
                        struct diag *diag)
{
    static const struct ot_rule rules[] = {
        OT_RULE(ot_wire_ring, ring_id, 1, UINT32_MAX),
        OT_RULE(ot_wire_ring, lane_id, 1, OT_WIRE_LANES_MAX),
        OT_RULE(ot_wire_ring, record_count, OT_WIRE_RING_RECORDS_MIN, OT_WIRE_RING_RECORDS_MAX),
    };
    struct ot_wire_ring ring;
    int rc = DECODE_WHOLE(OT_FRAME_RING, rules, &ring);

    if (rc < 0)
        return rc;
    if (ring.record_count & (ring.record_count - 1))
        return diag_set_at(diag, -EPROTO, offsetof(struct ot_wire_ring, record_count),
                           "RING: record_count %" PRIu64 " is not a power of two",
                           ring.record_count);
    if (ring.memory_bytes != ot_ring_bytes(ring.record_count))
        return diag_set_at(diag, -EPROTO, offsetof(struct ot_wire_ring, memory_bytes),
                           "RING: memory_bytes is %" PRIu64 ", but %" PRIu64
                           " records take %" PRIu64,
                           ring.memory_bytes, ring.record_count, ot_ring_bytes(ring.record_count));
    *out_ring = ring;
    return 0;
}

int ot_wire_decode_doorbell(const void *frame, size_t length, struct ot_wire_doorbell *out_doorbell,
                            struct diag *diag)
{
    static const struct ot_rule rules[] = {OT_RULE(ot_wire_doorbell, ring_id, 1, UINT32_MAX)};

    return DECODE_WHOLE(OT_FRAME_DOORBELL, rules, out_doorbell);
}

int ot_wire_decode_gap(const void *frame, size_t length, struct ot_wire_gap *out_gap,
                       struct diag *diag)
{
    static const struct ot_rule rules[] = {
        OT_RULE(ot_wire_gap, lane_id, 1, OT_WIRE_LANES_MAX),
        OT_RULE(ot_wire_gap, reason, OT_LOSS_RING_FULL, OT_LOSS_PRODUCER),
        OT_RULE(ot_wire_gap, lost_count, 1, OT_WIRE_COUNT_MAX),
        RULE_TIME(ot_wire_gap, last_ticks),
    };
    struct ot_wire_gap gap;
    int rc = DECODE_WHOLE(OT_FRAME_GAP, rules, &gap);

    if (rc < 0)
        return rc;
    if (gap.first_ticks > gap.last_ticks)
        return diag_set_at(diag, -EPROTO, offsetof(struct ot_wire_gap, first_ticks),
                           "GAP: first_ticks is after last_ticks");
    *out_gap = gap;
    return 0;
}

int ot_wire_decode_flush(const void *frame, size_t length, struct ot_wire_flush *out_flush,
                         struct diag *diag)
{
    static const struct ot_rule rules[] = {OT_RULE(ot_wire_flush, token, 0, UINT64_MAX)};

    return DECODE_WHOLE(OT_FRAME_FLUSH, rules, out_flush);
}

int ot_wire_decode_flushed(const void *frame, size_t length, struct ot_wire_flushed *out_flushed,
                           struct diag *diag)
{
    static const struct ot_rule rules[] = {OT_RULE(ot_wire_flushed, token, 0, UINT64_MAX)};

    return DECODE_WHOLE(OT_FRAME_FLUSHED, rules, out_flushed);
}

int ot_wire_decode_refused(const void *frame, size_t length, struct ot_wire_refused *out_refused,
                           struct diag *diag)
{
    static const struct ot_rule rules[] = {
        OT_RULE(ot_wire_refused, refused_count, 1, OT_WIRE_COUNT_MAX),
        OT_RULE(ot_wire_refused, reason, OT_LOSS_RING_FULL, UINT32_MAX), /* newer ones, too */
    };

    return DECODE_WHOLE(OT_FRAME_REFUSED, rules, out_refused);
}

int ot_wire_decode_control(const void *frame, size_t length, struct ot_wire_control *out_control,
                           struct diag *diag)
{
    static const struct ot_rule rules[] = {
        OT_RULE(ot_wire_control, level, OT_LEVEL_OFF, OT_LEVEL_DETAIL)};

    return DECODE_WHOLE(OT_FRAME_CONTROL, rules, out_control);
}

/* --- Version 1.1 --- */

#define PLAN_RULE(type, field, max)                                                                \
    {                                                                                              \
#field, 0, max, (uint32_t)offsetof(struct type, plan.field),                               \
            sizeof(((struct type *)0)->plan.field)                                                 \
    }

/* A plan within a frame. */
#define PLAN_RULES(type)                                                                           \
    PLAN_RULE(type, command_id, OT_WIRE_TIME_MAX), PLAN_RULE(type, start_ns, OT_WIRE_TIME_MAX),    \
        PLAN_RULE(type, end_ns, OT_WIRE_TIME_MAX),                                                 \
        PLAN_RULE(type, skip_first, OT_WIRE_PLAN_LENGTH_MAX),                                      \
        PLAN_RULE(type, wait, OT_WIRE_PLAN_LENGTH_MAX),                                            \
        PLAN_RULE(type, warmup, OT_WIRE_PLAN_LENGTH_MAX),                                          \
        PLAN_RULE(type, active, OT_WIRE_PLAN_LENGTH_MAX),                                          \
        PLAN_RULE(type, repeat, OT_WIRE_PLAN_LENGTH_MAX), PLAN_RULE(type, level, OT_LEVEL_DETAIL), \
        PLAN_RULE(type, unit, OT_UNIT_NS), PLAN_RULE(type, state, OT_PLAN_DONE)

/* What the ranges of a plan's fields do not say. */
static int check_plan(const struct ot_wire_plan *plan, const char *frame, struct diag *diag)
{
    if (plan->active == 0 && (plan->skip_first | plan->wait | plan->warmup | plan->repeat) != 0)
        return diag_set(diag, -EPROTO, "%s: a schedule without active runs", frame);
    if (plan->end_ns && plan->end_ns < plan->start_ns)
        return diag_set(diag, -EPROTO, "%s: end_ns is before start_ns", frame);
    return 0;
}

int ot_wire_decode_schedule(const void *frame, size_t length, struct ot_wire_schedule *out_schedule,
                            struct diag *diag)
{
    static const struct ot_rule rules[] = {PLAN_RULES(ot_wire_schedule)};
    struct ot_wire_schedule schedule;
    int rc = DECODE_WHOLE(OT_FRAME_SCHEDULE, rules, &schedule);

    if (rc == 0)
        rc = check_plan(&schedule.plan, "SCHEDULE", diag);
    if (rc == 0)
        *out_schedule = schedule;
    return rc;
}

int ot_plan_check(const struct ot_wire_plan *plan, struct diag *diag)
{
    const struct ot_wire_schedule frame = ot_wire_schedule(plan);
    struct ot_wire_schedule checked;

    return ot_wire_decode_schedule(&frame, sizeof(frame), &checked, diag);
}

/* Magic and version stand where HELLO has them. */
static int check_visit_version(const void *frame, size_t length, struct diag *diag)
{
    const size_t known = offsetof(struct ot_wire_visit, features);
    struct ot_wire_visit visit;

    if (length < known)
        return 0; /* DECODE_WHOLE will say so */
    memcpy(&visit, frame, known);
    if (visit.header.type != OT_FRAME_VISIT || visit.magic != OT_WIRE_MAGIC ||
        visit.version_major == OT_WIRE_VERSION_MAJOR)
        return 0;
    return refuse_major(visit.version_major, offsetof(struct ot_wire_visit, version_major),
                        "controller", diag);
}

int ot_wire_decode_visit(const void *frame, size_t length, struct ot_wire_visit *out_visit,
                         struct diag *diag)
{
    static const struct ot_rule rules[] = {
        OT_RULE(ot_wire_visit, magic, OT_WIRE_MAGIC, OT_WIRE_MAGIC)};
    int rc = check_visit_version(frame, length, diag);

    return rc < 0 ? rc : DECODE_WHOLE(OT_FRAME_VISIT, rules, out_visit);
}

int ot_wire_decode_select(const void *frame, size_t length, struct ot_wire_select_view *out_select,
                          struct diag *diag)
{
    static const struct ot_rule rules[] = {
        OT_RULE(ot_wire_select, kind, OT_SELECT_PID, OT_SELECT_PROGRAM),
        OT_RULE(ot_wire_select, text_bytes, 0, OT_WIRE_REMARK_BYTES_MAX),
        OT_RULE(ot_wire_select, number, 0, INT64_MAX),
    };
    struct ot_wire_select_view view;
    struct ot_reader reader;
    int rc = BEGIN(&reader, OT_FRAME_SELECT, rules, &view.fixed);

    if (rc == 0)
        rc = take_last_text(&reader, view.fixed.text_bytes, &view.text);
    if (rc == 0)
        *out_select = view;
    return rc;
}

int ot_wire_decode_ask(const void *frame, size_t length, struct ot_wire_ask *out_ask,
                       struct diag *diag)
{
    static const struct ot_rule rules[] = {OT_RULE(ot_wire_ask, first_session, 0, INT64_MAX)};

    return DECODE_WHOLE(OT_FRAME_ASK, rules, out_ask);
}

int ot_wire_decode_status(const void *frame, size_t length, struct ot_wire_status_view *out_status,
                          struct diag *diag)
{
    static const struct ot_rule rules[] = {
        RULE_TIME(ot_wire_status, now_ns),
        RULE_TIME(ot_wire_status, started_ns),
        OT_RULE(ot_wire_status, level, OT_LEVEL_OFF, OT_LEVEL_DETAIL),
        OT_RULE(ot_wire_status, version_bytes, 0, OT_WIRE_REMARK_BYTES_MAX),
        OT_RULE(ot_wire_status, host_bytes, 0, OT_WIRE_REMARK_BYTES_MAX),
        OT_RULE(ot_wire_status, store_path_bytes, 0, OT_WIRE_SUMMARY_BYTES_MAX),
    };
    struct ot_wire_status_view view;
    struct ot_reader reader;
    int rc = BEGIN(&reader, OT_FRAME_STATUS, rules, &view.fixed);

    if (rc == 0)
        rc = ot_reader_text(&reader, "version", view.fixed.version_bytes, &view.texts.version);
    if (rc == 0)
        rc = ot_reader_text(&reader, "host", view.fixed.host_bytes, &view.texts.host);
    if (rc == 0)
        rc = take_last_text(&reader, view.fixed.store_path_bytes, &view.texts.store_path);
    if (rc == 0)
        *out_status = view;
    return rc;
}

int ot_wire_decode_session(const void *frame, size_t length,
                           struct ot_wire_session_view *out_session, struct diag *diag)
{
    static const struct ot_rule rules[] = {
        OT_RULE(ot_wire_session, session_id, 1, INT64_MAX),
        RULE_TIME(ot_wire_session, started_ns),
        OT_RULE(ot_wire_session, level, OT_LEVEL_OFF, OT_LEVEL_DETAIL),
        PLAN_RULES(ot_wire_session),
        OT_RULE(ot_wire_session, program_bytes, 0, OT_WIRE_REMARK_BYTES_MAX),
        OT_RULE(ot_wire_session, command_bytes, 0, OT_WIRE_SUMMARY_BYTES_MAX),
    };
    struct ot_wire_session_view view;
    struct ot_reader reader;
    int rc = BEGIN(&reader, OT_FRAME_SESSION, rules, &view.fixed);

    if (rc == 0)
        rc = check_plan(&view.fixed.plan, "SESSION", diag);
    if (rc == 0)
        rc = ot_reader_text(&reader, "program", view.fixed.program_bytes, &view.texts.program);
    if (rc == 0)
        rc = take_last_text(&reader, view.fixed.command_bytes, &view.texts.command);
    if (rc == 0)
        *out_session = view;
    return rc;
}

int ot_wire_decode_refusal(const void *frame, size_t length,
                           struct ot_wire_refusal_view *out_refusal, struct diag *diag)
{
    static const struct ot_rule rules[] = {
        RULE_TIME(ot_wire_refusal, time_ns),
        OT_RULE(ot_wire_refusal, text_bytes, 0, OT_WIRE_REMARK_BYTES_MAX),
    };
    struct ot_wire_refusal_view view;
    struct ot_reader reader;
    int rc = BEGIN(&reader, OT_FRAME_REFUSAL, rules, &view.fixed);

    if (rc == 0)
        rc = take_last_text(&reader, view.fixed.text_bytes, &view.text);
    if (rc == 0)
        *out_refusal = view;
    return rc;
}

int ot_wire_decode_usage(const void *frame, size_t length, struct ot_wire_usage *out_usage,
                         struct diag *diag)
{
    static const struct ot_rule rules[] = {
        RULE_TIME(ot_wire_usage, growth_ns),
        RULE_TIME(ot_wire_usage, cpu_ns),
        RULE_TIME(ot_wire_usage, cpu_window_ns),
    };

    return DECODE_WHOLE(OT_FRAME_USAGE, rules, out_usage);
}

int ot_wire_decode_pace(const void *frame, size_t length, struct ot_wire_pace *out_pace,
                        struct diag *diag)
{
    static const struct ot_rule rules[] = {
        RULE_TIME(ot_wire_pace, window_ns),
        RULE_TIME(ot_wire_pace, run_p50_ns),
    };

    return DECODE_WHOLE(OT_FRAME_PACE, rules, out_pace);
}

int ot_wire_decode_health(const void *frame, size_t length, struct ot_wire_health *out_health,
                          struct diag *diag)
{
    static const struct ot_rule rules[] = {
        RULE_TIME(ot_wire_health, longest_pause_ns),
        RULE_TIME(ot_wire_health, longest_pause_at_ns),
        RULE_TIME(ot_wire_health, writer_ns),
        RULE_TIME(ot_wire_health, watchdog_ns),
    };

    return DECODE_WHOLE(OT_FRAME_HEALTH, rules, out_health);
}

int ot_wire_decode_answer(const void *frame, size_t length, struct ot_wire_answer_view *out_answer,
                          struct diag *diag)
{
    static const struct ot_rule rules[] = {
        RULE_TIME(ot_wire_answer, command_id),
        OT_RULE(ot_wire_answer, next_session, 0, INT64_MAX),
        OT_RULE(ot_wire_answer, status, OT_ANSWER_OK, OT_ANSWER_DENIED),
        OT_RULE(ot_wire_answer, taken_count, 0, OT_WIRE_SESSIONS_MAX),
        OT_RULE(ot_wire_answer, unable_count, 0, OT_WIRE_SESSIONS_MAX),
    };
    static const struct ot_rule id_rule = {"session", 1, INT64_MAX, 0, 8};
    struct ot_wire_answer_view view;
    struct ot_reader reader;
    int rc = BEGIN(&reader, OT_FRAME_ANSWER, rules, &view.fixed);

    if (rc == 0)
        rc = ot_reader_list(&reader, "list of sessions",
                            view.fixed.taken_count + view.fixed.unable_count, sizeof(uint64_t),
                            &id_rule, 1, &view.ids);
    if (rc == 0)
        rc = ot_reader_end(&reader);
    if (rc == 0)
        *out_answer = view;
    return rc;
}

int ot_wire_decode_save(const void *frame, size_t length, struct ot_wire_save *out_save,
                        struct diag *diag)
{
    static const struct ot_rule rules[] = {OT_RULE(ot_wire_save, since_ns, 0, INT64_MAX)};

    return DECODE_WHOLE(OT_FRAME_SAVE, rules, out_save);
}

int ot_wire_decode_saved(const void *frame, size_t length, struct ot_wire_saved_view *out_saved,
                         struct diag *diag)
{
    static const struct ot_rule rules[] = {
        OT_RULE(ot_wire_saved, bytes, 0, INT64_MAX),
        OT_RULE(ot_wire_saved, state, OT_SAVE_DONE, OT_SAVE_FAILED),
        OT_RULE(ot_wire_saved, text_bytes, 0, OT_WIRE_SUMMARY_BYTES_MAX),
    };
    struct ot_wire_saved_view view;
    struct ot_reader reader;
    int rc = BEGIN(&reader, OT_FRAME_SAVED, rules, &view.fixed);

    if (rc == 0)
        rc = take_last_text(&reader, view.fixed.text_bytes, &view.text);
    if (rc == 0)
        *out_saved = view;
    return rc;
}
