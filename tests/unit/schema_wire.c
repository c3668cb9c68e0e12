/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders refuse what the contract forbids, one rule at a time. */
#include "tests/support/check.h"

#include "schema/wire/wire.h"
#include "tests/support/wire_sample.h"

/* Decodes a copy that is exactly as long as the frame, so that a sanitizer sees any byte read
 * beyond it. */
static int decode(uint32_t type, const uint8_t *frame, size_t length, struct diag *diag)
{
    uint8_t *copy = malloc(length ? length : 1);
    uint64_t sum;
    int rc;

    assert_non_null(copy);
    memcpy(copy, frame, length);
    rc = wire_sample_visit(type, copy, length, &sum, diag);
    free(copy);
    return rc;
}

static void set_length(uint8_t *frame, size_t length)
{
    uint32_t value = (uint32_t)length;

    memcpy(frame, &value, sizeof(value));
}

#define FOR_EACH_TYPE(type)                                                                        \
    for (uint32_t type = OT_FRAME_HELLO; type <= WIRE_SAMPLE_LAST; type++)                         \
        if (wire_sample_exists(type))

static void sound_frames_are_accepted(void **state)
{
    FOR_EACH_TYPE(type)
    {
        uint8_t frame[WIRE_SAMPLE_MAX];
        size_t length = wire_sample_frame(type, frame);
        struct ot_wire_header header;
        struct diag diag = {0};

        assert_int_equal(ot_wire_peek(frame, length, &header, NULL), length);
        assert_int_equal(header.type, type);
        if (decode(type, frame, length, &diag) != 0)
            fail_msg("%s: %s", ot_wire_frame_name(type), diag.text);
    }
}

static void frames_need_no_alignment(void **state)
{
    FOR_EACH_TYPE(type)
    {
        uint8_t frame[WIRE_SAMPLE_MAX];
        uint8_t moved[WIRE_SAMPLE_MAX + 8];
        size_t length = wire_sample_frame(type, frame);
        uint64_t want, got;

        CHECK_OK(wire_sample_visit(type, frame, length, &want, NULL));
        for (size_t shift = 1; shift < 8; shift++) {
            memcpy(moved + shift, frame, length);
            CHECK_OK(wire_sample_visit(type, moved + shift, length, &got, NULL));
            CHECK_U64(got, want);
        }
    }
}

static void shorter_frames_are_refused(void **state)
{
    FOR_EACH_TYPE(type)
    {
        uint8_t frame[WIRE_SAMPLE_MAX];
        size_t length = wire_sample_frame(type, frame);

        for (size_t cut = 0; cut < length; cut++) {
            struct diag diag = {0};

            assert_int_equal(decode(type, frame, cut, &diag), -EPROTO);
            assert_string_not_equal(diag.text, "");
        }
        for (size_t cut = 8; cut < length; cut += 8) {
            set_length(frame, cut);
            assert_int_equal(decode(type, frame, cut, NULL), -EPROTO);
        }
    }
}

static void longer_frames_are_refused(void **state)
{
    FOR_EACH_TYPE(type)
    {
        uint8_t frame[WIRE_SAMPLE_MAX + 16];
        size_t length = wire_sample_frame(type, frame);
        struct diag diag = {0};

        if (type == OT_FRAME_HELLO) { /* 8 of them are its start_ns */
            memset(frame + length, 0, 8);
            length += 8;
        }
        memset(frame + length, 0, 8);
        set_length(frame, length + 8);
        assert_int_equal(decode(type, frame, length + 8, &diag), -EPROTO);
        CHECK_CONTAINS(diag.text, "8 bytes too many");
        CHECK_U64(diag.offset, length);
    }
}

static void newer_minor_hello_may_be_longer(void **state)
{
    const uint16_t minor = OT_WIRE_VERSION_MINOR + 1;
    uint8_t frame[WIRE_SAMPLE_MAX + 16] = {0};
    size_t length = wire_sample_frame(OT_FRAME_HELLO, frame);

    memset(frame + length, 0, 8);
    memset(frame + length + 8, 0xff, 8);
    set_length(frame, length + 16);
    memcpy(frame + offsetof(struct ot_wire_hello, version_minor), &minor, sizeof(minor));
    CHECK_OK(decode(OT_FRAME_HELLO, frame, length + 16, NULL));
}

static void hello_says_when_the_session_began(void **state)
{
    const struct ot_wire_hello_more more = {.start_ns = 1700000000000000000},
                                    never = {.start_ns = UINT64_MAX};
    const uint16_t before = 1;
    struct ot_wire_hello_view hello;
    uint8_t frame[WIRE_SAMPLE_MAX + 8];
    size_t length = wire_sample_frame(OT_FRAME_HELLO, frame);

    CHECK_OK(ot_wire_decode_hello(frame, length, &hello, NULL));
    CHECK_U64(hello.more.start_ns, 0);
    assert_int_equal(ot_wire_append_hello(&more, frame, length, length + 7), -ENOSPC);
    assert_int_equal(ot_wire_append_hello(&more, frame, length, sizeof(frame)), length + 8);
    CHECK_OK(ot_wire_decode_hello(frame, length + 8, &hello, NULL));
    CHECK_U64(hello.more.start_ns, more.start_ns);
    memcpy(frame + offsetof(struct ot_wire_hello, version_minor), &before, sizeof(before));
    assert_int_equal(ot_wire_decode_hello(frame, length + 8, &hello, NULL), -EPROTO);
    length = wire_sample_frame(OT_FRAME_HELLO, frame);
    ot_wire_append_hello(&never, frame, length, sizeof(frame));
    assert_int_equal(ot_wire_decode_hello(frame, length + 8, &hello, NULL), -EPROTO);
}

static void other_types_are_refused(void **state)
{
    FOR_EACH_TYPE(type)
    {
        uint8_t frame[WIRE_SAMPLE_MAX];
        size_t length = wire_sample_frame(type, frame);
        struct diag diag = {0};

        frame[offsetof(struct ot_wire_header, type)] ^= 0x40;
        assert_int_equal(decode(type, frame, length, &diag), -EPROTO);
        CHECK_CONTAINS(diag.text, "(unknown)");
    }
}

static void other_major_version_is_told_apart(void **state)
{
    const uint16_t major = OT_WIRE_VERSION_MAJOR + 1;
    uint8_t frame[WIRE_SAMPLE_MAX];
    struct diag diag = {0};
    size_t length = wire_sample_frame(OT_FRAME_HELLO, frame);

    memcpy(frame + offsetof(struct ot_wire_hello, version_major), &major, sizeof(major));
    assert_int_equal(decode(OT_FRAME_HELLO, frame, length, &diag), -EPROTONOSUPPORT);
    CHECK_CONTAINS(diag.text, "the client speaks version 2");
    /* Its HELLO may be shorter than ours: magic and version suffice. */
    set_length(frame, 16);
    assert_int_equal(decode(OT_FRAME_HELLO, frame, 16, NULL), -EPROTONOSUPPORT);
    assert_int_equal(decode(OT_FRAME_HELLO, frame, 15, NULL), -EPROTO);

    /* What is no HELLO at all has no version. */
    frame[offsetof(struct ot_wire_hello, magic)]++;
    assert_int_equal(decode(OT_FRAME_HELLO, frame, 16, NULL), -EPROTO);

    diag = (struct diag){0};
    length = wire_sample_frame(OT_FRAME_WELCOME, frame);
    memcpy(frame + offsetof(struct ot_wire_welcome, version_major), &major, sizeof(major));
    assert_int_equal(decode(OT_FRAME_WELCOME, frame, length, &diag), -EPROTONOSUPPORT);
    CHECK_CONTAINS(diag.text, "the daemon speaks version 2");
    set_length(frame, 16);
    assert_int_equal(decode(OT_FRAME_WELCOME, frame, 16, NULL), -EPROTONOSUPPORT);
    assert_int_equal(decode(OT_FRAME_WELCOME, frame, 12, NULL), -EPROTONOSUPPORT);
    assert_int_equal(decode(OT_FRAME_WELCOME, frame, 11, NULL), -EPROTO);
}

static void reserved_bytes_are_ignored(void **state)
{
    static const struct {
        uint32_t type;
        size_t offset;
    } reserved[] = {
        {OT_FRAME_HELLO, offsetof(struct ot_wire_hello, reserved)},
        {OT_FRAME_OP, offsetof(struct ot_wire_op, reserved)},
        {OT_FRAME_DOORBELL, offsetof(struct ot_wire_doorbell, reserved)},
        {OT_FRAME_EVENTS, offsetof(struct ot_wire_events, reserved)},
        {OT_FRAME_FLUSHED, offsetof(struct ot_wire_flushed, reserved)},
        {OT_FRAME_REFUSED, offsetof(struct ot_wire_refused, reserved)},
        {OT_FRAME_CONTROL, offsetof(struct ot_wire_control, reserved)},
        {OT_FRAME_CLOCK, offsetof(struct ot_wire_header, flags)},
        {OT_FRAME_SCHEDULE, offsetof(struct ot_wire_schedule, plan.reserved)},
        {OT_FRAME_SESSION, offsetof(struct ot_wire_session, reserved)},
        {OT_FRAME_REFUSAL, offsetof(struct ot_wire_refusal, reserved)},
        {OT_FRAME_ANSWER, offsetof(struct ot_wire_answer, reserved)},
    };
    uint8_t frame[WIRE_SAMPLE_MAX];

    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        size_t length = wire_sample_frame(reserved[i].type, frame);

        frame[reserved[i].offset] = 0xff;
        CHECK_OK(decode(reserved[i].type, frame, length, NULL));
    }
}

/* A field, the last value that is accepted and the first that is not. */
struct bound {
    const char *name;
    uint64_t good, bad;
    uint32_t type;
    uint32_t offset, size, unused;
};

#define BOUND(type, tag, field, good, bad)                                                         \
    {                                                                                              \
#field, (uint64_t)(good), (uint64_t)(bad), type, offsetof(struct tag, field),              \
            sizeof(((struct tag *)0)->field), 0                                                    \
    }
#define TIME_BOUND(type, tag, field) BOUND(type, tag, field, INT64_MAX, UINT64_C(1) << 63)
#define STRING_BOUND(type, tag, field)                                                             \
    BOUND(type, tag, field, 0, OT_WIRE_STRINGS_MAX + 1),                                           \
        BOUND(type, tag, field, OT_WIRE_STRINGS_MAX, UINT32_MAX)
#define ID_BOUND(type, tag, field, max)                                                            \
    BOUND(type, tag, field, 1, 0), BOUND(type, tag, field, max, (uint64_t)(max) + 1)
#define SIZE_BOUND(type, tag, field)                                                               \
    BOUND(type, tag, field, -1, -2), BOUND(type, tag, field, INT64_MAX, INT64_MIN)

/* The sample's plan has a schedule: lengths of 0 are good, but for that of the active part. */
#define PLAN_LENGTH_BOUND(type, tag, field)                                                        \
    BOUND(type, tag, plan.field, OT_WIRE_PLAN_LENGTH_MAX, OT_WIRE_PLAN_LENGTH_MAX + 1)
#define PLAN_BOUNDS(type, tag)                                                                     \
    TIME_BOUND(type, tag, plan.command_id), BOUND(type, tag, plan.start_ns, 0, UINT64_C(1) << 63), \
        BOUND(type, tag, plan.start_ns, UINT64_C(1700000009000000000),                             \
              UINT64_C(1700000009000000001)), /* after the end */                                  \
        TIME_BOUND(type, tag, plan.end_ns), PLAN_LENGTH_BOUND(type, tag, skip_first),              \
        PLAN_LENGTH_BOUND(type, tag, wait), PLAN_LENGTH_BOUND(type, tag, warmup),                  \
        PLAN_LENGTH_BOUND(type, tag, active), BOUND(type, tag, plan.active, 1, 0),                 \
        PLAN_LENGTH_BOUND(type, tag, repeat),                                                      \
        BOUND(type, tag, plan.level, OT_LEVEL_DETAIL, OT_LEVEL_DETAIL + 1),                        \
        BOUND(type, tag, plan.unit, OT_UNIT_NS, OT_UNIT_NS + 1),                                   \
        BOUND(type, tag, plan.state, OT_PLAN_DONE, OT_PLAN_DONE + 1)

static const struct bound bounds[] = {
    BOUND(OT_FRAME_HELLO, ot_wire_hello, magic, OT_WIRE_MAGIC, OT_WIRE_MAGIC + 1),
    BOUND(OT_FRAME_HELLO, ot_wire_hello, pid, INT32_MAX, 1u << 31),
    BOUND(OT_FRAME_HELLO, ot_wire_hello, clock_kind, OT_CLOCK_TSC, 2),
    BOUND(OT_FRAME_HELLO, ot_wire_hello, ticks_per_s, 0, OT_WIRE_TICKS_PER_S_MAX + 1),
    BOUND(OT_FRAME_HELLO, ot_wire_hello, ticks_per_s, OT_WIRE_TICKS_PER_S_MAX, UINT64_MAX),
    TIME_BOUND(OT_FRAME_HELLO, ot_wire_hello, ticks),
    TIME_BOUND(OT_FRAME_HELLO, ot_wire_hello, monotonic_ns),
    TIME_BOUND(OT_FRAME_HELLO, ot_wire_hello, realtime_ns),
    BOUND(OT_FRAME_WELCOME, ot_wire_welcome, session_id, INT64_MAX, UINT64_C(1) << 63),
    BOUND(OT_FRAME_WELCOME, ot_wire_welcome, inline_committed, OT_WIRE_COUNT_MAX,
          OT_WIRE_COUNT_MAX + 1),
    BOUND(OT_FRAME_WELCOME, ot_wire_welcome, level, OT_LEVEL_DETAIL, OT_LEVEL_DETAIL + 1),
    TIME_BOUND(OT_FRAME_CLOCK, ot_wire_clock, ticks),
    TIME_BOUND(OT_FRAME_CLOCK, ot_wire_clock, monotonic_ns),
    TIME_BOUND(OT_FRAME_CLOCK, ot_wire_clock, realtime_ns),
    ID_BOUND(OT_FRAME_STRING, ot_wire_string, string_id, OT_WIRE_STRINGS_MAX),
    ID_BOUND(OT_FRAME_MODEL, ot_wire_model, model_id, OT_WIRE_MODELS_MAX),
    STRING_BOUND(OT_FRAME_MODEL, ot_wire_model, name),
    STRING_BOUND(OT_FRAME_MODEL, ot_wire_model, path),
    STRING_BOUND(OT_FRAME_MODEL, ot_wire_model, format),
    STRING_BOUND(OT_FRAME_MODEL, ot_wire_model, producer),
    STRING_BOUND(OT_FRAME_MODEL, ot_wire_model, digest),
    SIZE_BOUND(OT_FRAME_MODEL, ot_wire_model, parameter_bytes),
    ID_BOUND(OT_FRAME_OP, ot_wire_op, op_id, OT_WIRE_OPS_MAX),
    ID_BOUND(OT_FRAME_OP, ot_wire_op, name, OT_WIRE_STRINGS_MAX),
    ID_BOUND(OT_FRAME_OP, ot_wire_op, type, OT_WIRE_STRINGS_MAX),
    BOUND(OT_FRAME_OP, ot_wire_op, model_id, OT_WIRE_MODELS_MAX, OT_WIRE_MODELS_MAX + 1),
    STRING_BOUND(OT_FRAME_OP, ot_wire_op, node_id),
    STRING_BOUND(OT_FRAME_OP, ot_wire_op, device),
    STRING_BOUND(OT_FRAME_OP, ot_wire_op, params),
    STRING_BOUND(OT_FRAME_OP, ot_wire_op, source),
    SIZE_BOUND(OT_FRAME_OP, ot_wire_op, computation_flop),
    SIZE_BOUND(OT_FRAME_OP, ot_wire_op, memory_bytes),
    SIZE_BOUND(OT_FRAME_OP, ot_wire_op, workspace_bytes),
    ID_BOUND(OT_FRAME_LANE, ot_wire_lane, lane_id, OT_WIRE_LANES_MAX),
    BOUND(OT_FRAME_LANE, ot_wire_lane, kind, OT_LANE_THREAD, 0),
    BOUND(OT_FRAME_LANE, ot_wire_lane, kind, OT_LANE_QUEUE, OT_LANE_QUEUE + 1),
    STRING_BOUND(OT_FRAME_LANE, ot_wire_lane, name),
    STRING_BOUND(OT_FRAME_LANE, ot_wire_lane, device),
    BOUND(OT_FRAME_RING, ot_wire_ring, ring_id, UINT32_MAX, 0),
    ID_BOUND(OT_FRAME_RING, ot_wire_ring, lane_id, OT_WIRE_LANES_MAX),
    BOUND(OT_FRAME_RING, ot_wire_ring, record_count, 4096, 4095),
    BOUND(OT_FRAME_RING, ot_wire_ring, record_count, 4096, 8192), /* more than its memory */
    BOUND(OT_FRAME_RING, ot_wire_ring, memory_bytes, 8192 + 64 * 4096, 8192 + 64 * 4096 + 64),
    BOUND(OT_FRAME_DOORBELL, ot_wire_doorbell, ring_id, UINT32_MAX, 0),
    BOUND(OT_FRAME_EVENTS, ot_wire_events, first_sequence, OT_WIRE_COUNT_MAX,
          OT_WIRE_COUNT_MAX + 1),
    BOUND(OT_FRAME_EVENTS, ot_wire_events, record_count, 2, 1),
    BOUND(OT_FRAME_EVENTS, ot_wire_events, record_count, 2, 3),
    BOUND(OT_FRAME_EVENTS, ot_wire_events, record_count, 2, UINT32_MAX),
    ID_BOUND(OT_FRAME_GAP, ot_wire_gap, lane_id, OT_WIRE_LANES_MAX),
    BOUND(OT_FRAME_GAP, ot_wire_gap, reason, OT_LOSS_RING_FULL, 0),
    BOUND(OT_FRAME_GAP, ot_wire_gap, reason, OT_LOSS_PRODUCER, OT_LOSS_PRODUCER + 1),
    BOUND(OT_FRAME_REFUSED, ot_wire_refused, refused_count, 1, 0),
    BOUND(OT_FRAME_REFUSED, ot_wire_refused, refused_count, OT_WIRE_COUNT_MAX,
          OT_WIRE_COUNT_MAX + 1),
    BOUND(OT_FRAME_REFUSED, ot_wire_refused, reason, UINT32_MAX, 0),
    BOUND(OT_FRAME_GAP, ot_wire_gap, lost_count, 1, 0),
    BOUND(OT_FRAME_GAP, ot_wire_gap, lost_count, OT_WIRE_COUNT_MAX, OT_WIRE_COUNT_MAX + 1),
    BOUND(OT_FRAME_GAP, ot_wire_gap, first_ticks, 7, 8), /* last_ticks is 7 */
    TIME_BOUND(OT_FRAME_GAP, ot_wire_gap, last_ticks),
    BOUND(OT_FRAME_CONTROL, ot_wire_control, level, OT_LEVEL_DETAIL, OT_LEVEL_DETAIL + 1),
    BOUND(OT_FRAME_BYE, ot_wire_bye, reason, OT_BYE_SHUTDOWN, OT_BYE_SHUTDOWN + 1),
    BOUND(OT_FRAME_BYE, ot_wire_bye, text_bytes, 38, 41), /* beyond the frame */
    PLAN_BOUNDS(OT_FRAME_SCHEDULE, ot_wire_schedule),
    PLAN_BOUNDS(OT_FRAME_SESSION, ot_wire_session),
    BOUND(OT_FRAME_VISIT, ot_wire_visit, magic, OT_WIRE_MAGIC, OT_WIRE_MAGIC + 1),
    BOUND(OT_FRAME_SELECT, ot_wire_select, kind, OT_SELECT_PID, 0),
    BOUND(OT_FRAME_SELECT, ot_wire_select, kind, OT_SELECT_PROGRAM, OT_SELECT_PROGRAM + 1),
    BOUND(OT_FRAME_SELECT, ot_wire_select, text_bytes, 7, OT_WIRE_REMARK_BYTES_MAX + 1),
    TIME_BOUND(OT_FRAME_SELECT, ot_wire_select, number),
    TIME_BOUND(OT_FRAME_ASK, ot_wire_ask, first_session),
    TIME_BOUND(OT_FRAME_STATUS, ot_wire_status, now_ns),
    TIME_BOUND(OT_FRAME_STATUS, ot_wire_status, started_ns),
    BOUND(OT_FRAME_STATUS, ot_wire_status, level, OT_LEVEL_DETAIL, OT_LEVEL_DETAIL + 1),
    BOUND(OT_FRAME_STATUS, ot_wire_status, version_bytes, 5, OT_WIRE_REMARK_BYTES_MAX + 1),
    BOUND(OT_FRAME_STATUS, ot_wire_status, host_bytes, 3, OT_WIRE_REMARK_BYTES_MAX + 1),
    BOUND(OT_FRAME_STATUS, ot_wire_status, store_path_bytes, 9, OT_WIRE_SUMMARY_BYTES_MAX + 1),
    ID_BOUND(OT_FRAME_SESSION, ot_wire_session, session_id, INT64_MAX),
    TIME_BOUND(OT_FRAME_SESSION, ot_wire_session, started_ns),
    BOUND(OT_FRAME_SESSION, ot_wire_session, level, OT_LEVEL_DETAIL, OT_LEVEL_DETAIL + 1),
    BOUND(OT_FRAME_SESSION, ot_wire_session, program_bytes, 7, OT_WIRE_REMARK_BYTES_MAX + 1),
    BOUND(OT_FRAME_SESSION, ot_wire_session, command_bytes, 19, OT_WIRE_SUMMARY_BYTES_MAX + 1),
    TIME_BOUND(OT_FRAME_REFUSAL, ot_wire_refusal, time_ns),
    TIME_BOUND(OT_FRAME_SAVE, ot_wire_save, since_ns),
    BOUND(OT_FRAME_SAVED, ot_wire_saved, state, OT_SAVE_FAILED, OT_SAVE_FAILED + 1),
    BOUND(OT_FRAME_SAVED, ot_wire_saved, text_bytes, 16, OT_WIRE_SUMMARY_BYTES_MAX + 1),
    BOUND(OT_FRAME_REFUSAL, ot_wire_refusal, text_bytes, 29, OT_WIRE_REMARK_BYTES_MAX + 1),
    TIME_BOUND(OT_FRAME_HEALTH, ot_wire_health, longest_pause_ns),
    TIME_BOUND(OT_FRAME_HEALTH, ot_wire_health, longest_pause_at_ns),
    TIME_BOUND(OT_FRAME_HEALTH, ot_wire_health, writer_ns),
    TIME_BOUND(OT_FRAME_HEALTH, ot_wire_health, watchdog_ns),
    TIME_BOUND(OT_FRAME_USAGE, ot_wire_usage, growth_ns),
    TIME_BOUND(OT_FRAME_USAGE, ot_wire_usage, cpu_ns),
    TIME_BOUND(OT_FRAME_USAGE, ot_wire_usage, cpu_window_ns),
    TIME_BOUND(OT_FRAME_PACE, ot_wire_pace, window_ns),
    TIME_BOUND(OT_FRAME_PACE, ot_wire_pace, run_p50_ns),
    TIME_BOUND(OT_FRAME_ANSWER, ot_wire_answer, command_id),
    TIME_BOUND(OT_FRAME_ANSWER, ot_wire_answer, next_session),
    BOUND(OT_FRAME_ANSWER, ot_wire_answer, status, OT_ANSWER_DENIED, OT_ANSWER_DENIED + 1),
    BOUND(OT_FRAME_ANSWER, ot_wire_answer, taken_count, 2, 3), /* beyond the frame */
    BOUND(OT_FRAME_ANSWER, ot_wire_answer, taken_count, 2, OT_WIRE_SESSIONS_MAX + 1),
    BOUND(OT_FRAME_ANSWER, ot_wire_answer, unable_count, 1, UINT32_MAX),
};

static void each_field_has_its_bounds(void **state)
{
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        const struct bound *bound = &bounds[i];
        uint8_t frame[WIRE_SAMPLE_MAX];
        size_t length = wire_sample_frame(bound->type, frame);
        struct diag diag = {0};

        memcpy(frame + bound->offset, &bound->good, bound->size);
        if (decode(bound->type, frame, length, &diag) != 0)
            fail_msg("%s %s: %s", ot_wire_frame_name(bound->type), bound->name, diag.text);
        memcpy(frame + bound->offset, &bound->bad, bound->size);
        if (decode(bound->type, frame, length, &diag) != -EPROTO)
            fail_msg("%s %s: the bad value is accepted", ot_wire_frame_name(bound->type),
                     bound->name);
        CHECK_CONTAINS(diag.text, ot_wire_frame_name(bound->type));
    }
}

static void diag_names_field_value_and_place(void **state)
{
    uint8_t frame[WIRE_SAMPLE_MAX];
    size_t length = wire_sample_frame(OT_FRAME_OP, frame);
    struct diag diag = {0};
    const int64_t flop = -7;

    memcpy(frame + offsetof(struct ot_wire_op, computation_flop), &flop, sizeof(flop));
    assert_int_equal(decode(OT_FRAME_OP, frame, length, &diag), -EPROTO);
    assert_string_equal(diag.text,
                        "OP: computation_flop -7 is not within -1 to 9223372036854775807");
    CHECK_U64(diag.offset, offsetof(struct ot_wire_op, computation_flop));
}

/* A ring whose memory is right for its count. */
static int decode_ring(uint64_t record_count)
{
    const struct ot_wire_ring ring = {.header = ot_wire_header(OT_FRAME_RING, sizeof(ring)),
                                      .ring_id = 1,
                                      .lane_id = 1,
                                      .record_count = record_count,
                                      .memory_bytes = ot_ring_bytes(record_count)};

    return decode(OT_FRAME_RING, (const uint8_t *)&ring, sizeof(ring), NULL);
}

static void ring_sizes_are_powers_of_two_within_limits(void **state)
{
    for (uint64_t count = 1; count <= UINT64_C(1) << 40; count *= 2)
        assert_int_equal(
            decode_ring(count),
            count >= OT_WIRE_RING_RECORDS_MIN && count <= OT_WIRE_RING_RECORDS_MAX ? 0 : -EPROTO);
    assert_int_equal(decode_ring(65), -EPROTO);
    assert_int_equal(decode_ring(96), -EPROTO);
    assert_int_equal(decode_ring(4095), -EPROTO);
    assert_int_equal(decode_ring(0), -EPROTO);
    /* 64 * count overflows to the right size. */
    assert_int_equal(decode_ring((UINT64_C(1) << 58) + 64), -EPROTO);
}

/* A frame of any size: `fixed`, then `fill` over and over. */
static int decode_large(const void *fixed, size_t fixed_size, size_t length, uint32_t fill)
{
    uint8_t *frame = malloc(length);
    struct ot_wire_header header;
    uint64_t sum;
    int rc;

    assert_non_null(frame);
    CHECK_U64(length % 8, 0);
    for (size_t i = 0; i < length; i += sizeof(fill))
        memcpy(frame + i, &fill, sizeof(fill));
    memcpy(frame, fixed, fixed_size);
    set_length(frame, length);
    memcpy(&header, frame, sizeof(header));
    rc = wire_sample_visit(header.type, frame, length, &sum, NULL);
    free(frame);
    return rc;
}

static void texts_are_limited_where_a_frame_has_room(void **state)
{
    const uint32_t letters = 0x61626364;
    struct ot_wire_welcome welcome = {.header = {.type = OT_FRAME_WELCOME},
                                      .version_major = OT_WIRE_VERSION_MAJOR};
    struct ot_wire_string string = {.header = {.type = OT_FRAME_STRING}, .string_id = 1};
    struct ot_wire_bye bye = {.header = {.type = OT_FRAME_BYE}};

    for (uint32_t more = 0; more <= 8; more += 8) {
        const uint32_t size = OT_WIRE_TEXT_BYTES_MAX + more;
        const int want = more ? -EPROTO : 0;

        welcome.text_bytes = string.text_bytes = bye.text_bytes = size;
        assert_int_equal(decode_large(&welcome, sizeof(welcome), sizeof(welcome) + size, letters),
                         want);
        assert_int_equal(decode_large(&string, sizeof(string), sizeof(string) + size, letters),
                         want);
        assert_int_equal(decode_large(&bye, sizeof(bye), sizeof(bye) + size, letters), want);
    }
}

static void counts_are_limited_where_a_frame_has_room(void **state)
{
    struct ot_wire_events events = {.header = {.type = OT_FRAME_EVENTS},
                                    .record_count = OT_WIRE_EVENTS_MAX};
    struct {
        struct ot_wire_op op;
        struct ot_wire_tensor tensor;
    } op = {{.header = {.type = OT_FRAME_OP},
             .op_id = 1,
             .name = 1,
             .type = 1,
             .origin_count = OT_WIRE_ORIGINS_MAX},
            {.rank = OT_WIRE_RANK_MAX}};
    const size_t op_bytes = sizeof(op.op);
    const size_t origins_end = op_bytes + OT_WIRE_ORIGINS_MAX * 4;
    const size_t dims_end = sizeof(op) + OT_WIRE_RANK_MAX * 8;

    CHECK_OK(decode_large(&events, sizeof(events), sizeof(events) + OT_WIRE_EVENTS_MAX * 64, 1));
    events.record_count++;
    assert_int_equal(
        decode_large(&events, sizeof(events), sizeof(events) + (OT_WIRE_EVENTS_MAX + 1) * 64, 1),
        -EPROTO);
    CHECK_OK(decode_large(&op.op, op_bytes, origins_end, 1));
    op.op.origin_count += 2;
    assert_int_equal(decode_large(&op.op, op_bytes, origins_end + 8, 1), -EPROTO);
    op.op.origin_count = 0;
    op.op.input_count = 1;
    CHECK_OK(decode_large(&op, sizeof(op), dims_end, 0));
    op.tensor.rank++;
    assert_int_equal(decode_large(&op, sizeof(op), dims_end + 8, 0), -EPROTO);
}

/* The last byte that counts is wrong, and what the caller had in `view` is there still. */
#define CHECK_UNTOUCHED(TYPE, name, view, back, value)                                             \
    do {                                                                                           \
        struct view got, before;                                                                   \
        uint8_t frame[WIRE_SAMPLE_MAX];                                                            \
        size_t length = wire_sample_frame(TYPE, frame);                                            \
                                                                                                   \
        memset(&got, 0x5a, sizeof(got));                                                           \
        before = got;                                                                              \
        frame[length - (back)] = (value);                                                          \
        assert_int_equal(ot_wire_decode_##name(frame, length, &got, NULL), -EPROTO);               \
        assert_memory_equal(&got, &before, sizeof(got));                                           \
    } while (0)

static void failed_decoders_write_nothing(void **state)
{
    CHECK_UNTOUCHED(OT_FRAME_HELLO, hello, ot_wire_hello_view, 1, 1);
    CHECK_UNTOUCHED(OT_FRAME_WELCOME, welcome, ot_wire_welcome_view, 1, 0xff);
    CHECK_UNTOUCHED(OT_FRAME_STRING, string, ot_wire_string_view, 1, 1);
    CHECK_UNTOUCHED(OT_FRAME_BYE, bye, ot_wire_bye_view, 1, 1);
    CHECK_UNTOUCHED(OT_FRAME_OP, op, ot_wire_op_view, 1, 1);
    CHECK_UNTOUCHED(OT_FRAME_EVENTS, events, ot_wire_events_view, 152 - 16, 1); /* its count */
    CHECK_UNTOUCHED(OT_FRAME_CLOCK, clock, ot_wire_clock, 1, 0x80);
    CHECK_UNTOUCHED(OT_FRAME_RING, ring, ot_wire_ring, 8, 1);
    CHECK_UNTOUCHED(OT_FRAME_GAP, gap, ot_wire_gap, 8, 0);
    CHECK_UNTOUCHED(OT_FRAME_SCHEDULE, schedule, ot_wire_schedule, 8, 7); /* its state */
    CHECK_UNTOUCHED(OT_FRAME_SELECT, select, ot_wire_select_view, 1, 1);
    CHECK_UNTOUCHED(OT_FRAME_STATUS, status, ot_wire_status_view, 1, 1);
    CHECK_UNTOUCHED(OT_FRAME_SESSION, session, ot_wire_session_view, 1, 1);
    CHECK_UNTOUCHED(OT_FRAME_REFUSAL, refusal, ot_wire_refusal_view, 1, 1);
    CHECK_UNTOUCHED(OT_FRAME_SAVED, saved, ot_wire_saved_view, 1, 0xff);
    CHECK_UNTOUCHED(OT_FRAME_ANSWER, answer, ot_wire_answer_view, 1, 0x80);
}

static void counts_of_op_are_bounded(void **state)
{
    uint8_t frame[WIRE_SAMPLE_MAX];
    size_t length = wire_sample_frame(OT_FRAME_OP, frame);
    struct diag diag = {0};

    memset(frame + offsetof(struct ot_wire_op, input_count), 0xff, 4);
    assert_int_equal(decode(OT_FRAME_OP, frame, length, &diag), -EPROTO);
    assert_string_equal(diag.text, "OP: 131070 tensors are more than 256");

    length = wire_sample_frame(OT_FRAME_OP, frame);
    frame[offsetof(struct ot_wire_op, output_count)]++; /* reads on into the origins */
    assert_int_equal(decode(OT_FRAME_OP, frame, length, NULL), -EPROTO);

    length = wire_sample_frame(OT_FRAME_OP, frame);
    frame[offsetof(struct ot_wire_op, origin_count)] = 5;
    assert_int_equal(decode(OT_FRAME_OP, frame, length, NULL), -EPROTO);
    frame[offsetof(struct ot_wire_op, origin_count)] = 2; /* an origin in the padding */
    assert_int_equal(decode(OT_FRAME_OP, frame, length, NULL), -EPROTO);
    frame[offsetof(struct ot_wire_op, origin_count)] = 4; /* the padding as an origin: id 0 */
    assert_int_equal(decode(OT_FRAME_OP, frame, length, NULL), -EPROTO);
}

static void tensors_are_checked(void **state)
{
    static const struct {
        size_t offset;
        uint8_t bad;
    } cases[] = {
        {0, OT_DTYPE_I4 + 1}, {1, 1}, {2, OT_WIRE_RANK_MAX + 1}, {3, 0xff}, {7, 0xff},
        {15, 0x80},           {2, 3}, /* a dimension too few */
    };
    uint8_t frame[WIRE_SAMPLE_MAX];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t length = wire_sample_frame(OT_FRAME_OP, frame);

        frame[sizeof(struct ot_wire_op) + cases[i].offset] = cases[i].bad;
        assert_int_equal(decode(OT_FRAME_OP, frame, length, NULL), -EPROTO);
    }
}

static void texts_are_utf8(void **state)
{
    static const char *const bad[] = {"gr\xff", "\xc3(xxx", "\xed\xa0\x80xx", "\xc0\xafxxx",
                                      "xxxxx\xc3"};
    uint8_t frame[WIRE_SAMPLE_MAX];
    struct diag diag = {0};
    size_t length;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        length = wire_sample_frame(OT_FRAME_STRING, frame);
        memcpy(frame + sizeof(struct ot_wire_string), bad[i], strlen(bad[i]));
        assert_int_equal(decode(OT_FRAME_STRING, frame, length, &diag), -EPROTO);
    }
    assert_string_equal(diag.text, "STRING: its text is not UTF-8 without NUL");
    CHECK_U64(diag.offset, sizeof(struct ot_wire_string));
    length = wire_sample_frame(OT_FRAME_STRING, frame);
    frame[sizeof(struct ot_wire_string)] = 0;
    assert_int_equal(decode(OT_FRAME_STRING, frame, length, NULL), -EPROTO);
}

static void each_text_of_hello_is_utf8(void **state)
{
    static const struct {
        const char *what;
        size_t offset;
    } texts[] = {{"program", 96}, {"command", 105}, {"library", 122}, {"host", 131}};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        uint8_t frame[WIRE_SAMPLE_MAX];
        size_t length = wire_sample_frame(OT_FRAME_HELLO, frame);
        struct diag diag = {0};

        frame[texts[i].offset] = 0xff;
        assert_int_equal(decode(OT_FRAME_HELLO, frame, length, &diag), -EPROTO);
        CHECK_CONTAINS(diag.text, texts[i].what);
        CHECK_U64(diag.offset, texts[i].offset);
    }
}

static void padding_is_zero(void **state)
{
    static const uint32_t types[] = {OT_FRAME_HELLO, OT_FRAME_STRING, OT_FRAME_OP, OT_FRAME_BYE};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        uint8_t frame[WIRE_SAMPLE_MAX];
        size_t length = wire_sample_frame(types[i], frame);
        struct diag diag = {0};

        frame[length - 1] = 1;
        assert_int_equal(decode(types[i], frame, length, &diag), -EPROTO);
        CHECK_CONTAINS(diag.text, "padding");
        CHECK_U64(diag.offset, length - 1);
    }
}

static void uuid_of_zeros_is_refused(void **state)
{
    uint8_t frame[WIRE_SAMPLE_MAX];
    size_t length = wire_sample_frame(OT_FRAME_HELLO, frame);
    struct diag diag = {0};

    memset(frame + offsetof(struct ot_wire_hello, uuid), 0, 16);
    assert_int_equal(decode(OT_FRAME_HELLO, frame, length, &diag), -EPROTO);
    CHECK_CONTAINS(diag.text, "uuid");
}

static void peek_says_how_much_to_read(void **state)
{
    static const uint32_t bad[] = {0, 4, 7, 9, 12, OT_WIRE_FRAME_BYTES_MAX + 8, UINT32_MAX};
    struct ot_wire_header header = {.length = 40, .type = 999};
    struct ot_wire_header got = {0};
    struct diag diag = {0};

    for (size_t have = 0; have < 8; have++)
        assert_int_equal(ot_wire_peek(&header, have, &got, NULL), 8);
    assert_int_equal(got.length, 0); /* not written */
    assert_int_equal(ot_wire_peek(&header, 8, &got, NULL), 40);
    assert_int_equal(got.type, 999); /* unknown, but it can be skipped */
    header.length = 8;
    assert_int_equal(ot_wire_peek(&header, 8, &got, NULL), 8);
    header.length = OT_WIRE_FRAME_BYTES_MAX;
    assert_int_equal(ot_wire_peek(&header, 8, &got, NULL), OT_WIRE_FRAME_BYTES_MAX);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        header.length = bad[i];
        assert_int_equal(ot_wire_peek(&header, 8, &got, &diag), -EPROTO);
        CHECK_CONTAINS(diag.text, "frame of type 999");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_frames_are_accepted),
        cmocka_unit_test(frames_need_no_alignment),
        cmocka_unit_test(shorter_frames_are_refused),
        cmocka_unit_test(longer_frames_are_refused),
        cmocka_unit_test(newer_minor_hello_may_be_longer),
        cmocka_unit_test(hello_says_when_the_session_began),
        cmocka_unit_test(other_types_are_refused),
        cmocka_unit_test(other_major_version_is_told_apart),
        cmocka_unit_test(reserved_bytes_are_ignored),
        cmocka_unit_test(each_field_has_its_bounds),
        cmocka_unit_test(diag_names_field_value_and_place),
        cmocka_unit_test(ring_sizes_are_powers_of_two_within_limits),
        cmocka_unit_test(texts_are_limited_where_a_frame_has_room),
        cmocka_unit_test(counts_are_limited_where_a_frame_has_room),
        cmocka_unit_test(failed_decoders_write_nothing),
        cmocka_unit_test(counts_of_op_are_bounded),
        cmocka_unit_test(tensors_are_checked),
        cmocka_unit_test(texts_are_utf8),
        cmocka_unit_test(each_text_of_hello_is_utf8),
        cmocka_unit_test(padding_is_zero),
        cmocka_unit_test(uuid_of_zeros_is_refused),
        cmocka_unit_test(peek_says_how_much_to_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
