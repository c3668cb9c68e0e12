/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders refuse what the contract forbids, one rule at a time; records and ring headers too. */
#include "tests/support/check.h"

#include "schema/wire.h"
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

#define FOR_EACH_TYPE(type) for (uint32_t type = OT_FRAME_HELLO; type <= OT_FRAME_BYE; type++)

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
        uint8_t frame[WIRE_SAMPLE_MAX + 8];
        size_t length = wire_sample_frame(type, frame);
        struct diag diag = {0};

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
    uint8_t frame[WIRE_SAMPLE_MAX + 8];
    size_t length = wire_sample_frame(OT_FRAME_HELLO, frame);

    memset(frame + length, 0xff, 8);
    set_length(frame, length + 8);
    memcpy(frame + offsetof(struct ot_wire_hello, version_minor), &minor, sizeof(minor));
    CHECK_OK(decode(OT_FRAME_HELLO, frame, length + 8, NULL));
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

    diag = (struct diag){0};
    length = wire_sample_frame(OT_FRAME_WELCOME, frame);
    memcpy(frame + offsetof(struct ot_wire_welcome, version_major), &major, sizeof(major));
    assert_int_equal(decode(OT_FRAME_WELCOME, frame, length, &diag), -EPROTONOSUPPORT);
    CHECK_CONTAINS(diag.text, "the daemon speaks version 2");
    set_length(frame, 16);
    assert_int_equal(decode(OT_FRAME_WELCOME, frame, 16, NULL), -EPROTONOSUPPORT);
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
        {OT_FRAME_CONTROL, offsetof(struct ot_wire_control, reserved)},
        {OT_FRAME_CLOCK, offsetof(struct ot_wire_header, flags)},
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
    BOUND(OT_FRAME_GAP, ot_wire_gap, lost_count, 1, 0),
    BOUND(OT_FRAME_GAP, ot_wire_gap, lost_count, OT_WIRE_COUNT_MAX, OT_WIRE_COUNT_MAX + 1),
    BOUND(OT_FRAME_GAP, ot_wire_gap, first_ticks, 7, 8), /* last_ticks is 7 */
    TIME_BOUND(OT_FRAME_GAP, ot_wire_gap, last_ticks),
    BOUND(OT_FRAME_CONTROL, ot_wire_control, level, OT_LEVEL_DETAIL, OT_LEVEL_DETAIL + 1),
    BOUND(OT_FRAME_BYE, ot_wire_bye, reason, OT_BYE_SHUTDOWN, OT_BYE_SHUTDOWN + 1),
    BOUND(OT_FRAME_BYE, ot_wire_bye, text_bytes, 38, 41), /* beyond the frame */
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
    length = wire_sample_frame(OT_FRAME_STRING, frame);
    frame[sizeof(struct ot_wire_string)] = 0;
    assert_int_equal(decode(OT_FRAME_STRING, frame, length, NULL), -EPROTO);
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
    header.length = OT_WIRE_FRAME_BYTES_MAX;
    assert_int_equal(ot_wire_peek(&header, 8, &got, NULL), OT_WIRE_FRAME_BYTES_MAX);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        header.length = bad[i];
        assert_int_equal(ot_wire_peek(&header, 8, &got, &diag), -EPROTO);
        CHECK_CONTAINS(diag.text, "frame of type 999");
    }
}

static void names_come_from_the_list(void **state)
{
    assert_string_equal(ot_wire_frame_name(OT_FRAME_WELCOME), "WELCOME");
    assert_string_equal(ot_wire_frame_name(16), "unknown");
    assert_string_equal(ot_wire_record_name(OT_RECORD_COUNTER), "counter");
    assert_string_equal(ot_wire_record_name(0), "unknown");
    assert_string_equal(ot_wire_loss_name(OT_LOSS_RING_FULL), "ring full");
    assert_string_equal(ot_wire_loss_name(8), "unknown");
    assert_string_equal(ot_wire_lane_kind_name(OT_LANE_QUEUE), "queue");
    assert_string_equal(ot_wire_lane_kind_name(0), "unknown");
    assert_string_equal(ot_wire_dtype_name(OT_DTYPE_BF16), "bf16");
    assert_string_equal(ot_wire_dtype_name(23), "unknown");
}

static void each_frame_has_its_sender(void **state)
{
    assert_true(ot_wire_client_sends(OT_FRAME_HELLO));
    assert_false(ot_wire_daemon_sends(OT_FRAME_HELLO));
    assert_false(ot_wire_client_sends(OT_FRAME_FLUSHED));
    assert_true(ot_wire_daemon_sends(OT_FRAME_FLUSHED));
    assert_true(ot_wire_client_sends(OT_FRAME_BYE));
    assert_true(ot_wire_daemon_sends(OT_FRAME_BYE));
    assert_false(ot_wire_client_sends(0));
    assert_false(ot_wire_daemon_sends(16));
}

static void check_clean(const char *bytes, size_t length, size_t capacity, const char *want)
{
    char out[32] = {0};
    size_t size = ot_wire_clean_text(bytes, length, out, capacity);

    CHECK_U64(size, strlen(want));
    assert_string_equal(out, want);
}

static void texts_can_be_cleaned(void **state)
{
    char in_place[] = "a\xff\xc3\xbc";

    check_clean("plain", 5, 32, "plain");
    check_clean("", 0, 32, "");
    check_clean("a\0b", 3, 32, "a?b");
    check_clean("a\xff\xfe", 3, 32, "a??");
    check_clean("gr\xc3\xbc\xc3", 5, 32, "gr\xc3\xbc?");
    check_clean("gr\xc3\xbc\xc3\x9f", 6, 5, "gr\xc3\xbc");      /* never half a character */
    check_clean("\xf0\x9f\x94\xa5x", 5, 4, "\xf0\x9f\x94\xa5"); /* four bytes */
    check_clean("\xf0\x9f\x94\xa5x", 5, 3, "");
    check_clean("abc", 3, 0, "");
    CHECK_U64(ot_wire_clean_text(in_place, 4, in_place, 4), 4);
    assert_memory_equal(in_place, "a?\xc3\xbc", 4);
}

static struct ot_wire_record sound_record(uint16_t kind)
{
    struct ot_wire_record record = {
        .kind = kind, .op_id = 1, .lane_id = 1, .run = 1, .start_ticks = 100};

    if (kind == OT_RECORD_SPAN || kind == OT_RECORD_RUN || kind == OT_RECORD_COPY)
        record.end_ticks = 200;
    if (kind == OT_RECORD_ALLOC)
        record.bytes = 64;
    if (kind == OT_RECORD_FREE)
        record.bytes = -64;
    return record;
}

#define CHECK_RECORD(base, want, ...)                                                              \
    do {                                                                                           \
        struct ot_wire_record record = sound_record(base);                                         \
                                                                                                   \
        __VA_ARGS__;                                                                               \
        assert_int_equal(ot_wire_check_record(&record), want);                                     \
    } while (0)

static void records_of_all_kinds(void **state)
{
    for (uint16_t kind = OT_RECORD_SPAN; kind <= OT_RECORD_FREE; kind++) {
        CHECK_RECORD(kind, 0, );
        CHECK_RECORD(kind, 0, record.flags = OT_RECORD_REALTIME);
        CHECK_RECORD(kind, OT_LOSS_BAD_RECORD, record.flags = 8);
        CHECK_RECORD(kind, OT_LOSS_BAD_RECORD, record.lane_id = 0);
        CHECK_RECORD(kind, 0, record.lane_id = OT_WIRE_LANES_MAX);
        CHECK_RECORD(kind, OT_LOSS_BAD_RECORD, record.lane_id = OT_WIRE_LANES_MAX + 1);
        CHECK_RECORD(kind, OT_LOSS_BAD_RECORD, record.op_id = OT_WIRE_OPS_MAX + 1);
        CHECK_RECORD(kind, OT_LOSS_BAD_RECORD, record.start_ticks = UINT64_C(1) << 63);
        CHECK_RECORD(kind, 0, record.correlation = UINT64_MAX; record.run = UINT32_MAX);
    }
    CHECK_RECORD(0, OT_LOSS_UNKNOWN_KIND, );
    CHECK_RECORD(8, OT_LOSS_UNKNOWN_KIND, );
    CHECK_RECORD(32, OT_LOSS_UNKNOWN_KIND, );
    CHECK_RECORD(33, OT_LOSS_UNKNOWN_KIND, ); /* 33 % 32 is a kind */
    CHECK_RECORD(UINT16_MAX, OT_LOSS_UNKNOWN_KIND, );
}

static void times_of_records(void **state)
{
    for (uint16_t kind = OT_RECORD_SPAN; kind <= OT_RECORD_COPY; kind++) {
        CHECK_RECORD(kind, 0, record.end_ticks = 100);
        CHECK_RECORD(kind, OT_LOSS_BAD_RECORD, record.end_ticks = 99);
        CHECK_RECORD(kind, OT_LOSS_BAD_RECORD, record.end_ticks = 0);
        CHECK_RECORD(kind, 0, record.end_ticks = INT64_MAX);
        CHECK_RECORD(kind, OT_LOSS_BAD_RECORD, record.end_ticks = UINT64_C(1) << 63);
        CHECK_RECORD(kind, 0, record.kern_ticks = 100);
        CHECK_RECORD(kind, 0, record.kern_ticks = 200);
        CHECK_RECORD(kind, OT_LOSS_BAD_RECORD, record.kern_ticks = 99);
        CHECK_RECORD(kind, OT_LOSS_BAD_RECORD, record.kern_ticks = 201);
        CHECK_RECORD(kind, 0, record.flags = OT_RECORD_IMPLICIT_END);
    }
    CHECK_RECORD(OT_RECORD_MARK, 0, record.end_ticks = 1); /* not used, not read */
    CHECK_RECORD(OT_RECORD_MARK, OT_LOSS_BAD_RECORD, record.flags = OT_RECORD_IMPLICIT_END);
    CHECK_RECORD(OT_RECORD_SPAN, OT_LOSS_BAD_RECORD, record.flags = OT_RECORD_WARMUP);
    CHECK_RECORD(OT_RECORD_RUN, 0, record.flags = OT_RECORD_WARMUP);
}

static void ids_and_values_of_records(void **state)
{
    const int64_t infinity = INT64_C(0x7ff0000000000000);
    const int64_t not_a_number = INT64_C(0x7ff8000000000001);

    CHECK_RECORD(OT_RECORD_SPAN, OT_LOSS_BAD_RECORD, record.op_id = 0);
    CHECK_RECORD(OT_RECORD_COPY, OT_LOSS_BAD_RECORD, record.op_id = 0);
    CHECK_RECORD(OT_RECORD_MARK, OT_LOSS_BAD_RECORD, record.op_id = 0);
    CHECK_RECORD(OT_RECORD_COUNTER, OT_LOSS_BAD_RECORD, record.op_id = 0);
    CHECK_RECORD(OT_RECORD_ALLOC, 0, record.op_id = 0);
    CHECK_RECORD(OT_RECORD_FREE, 0, record.op_id = 0);
    CHECK_RECORD(OT_RECORD_RUN, 0, record.op_id = 0);
    CHECK_RECORD(OT_RECORD_RUN, 0, record.op_id = OT_WIRE_MODELS_MAX);
    CHECK_RECORD(OT_RECORD_RUN, OT_LOSS_BAD_RECORD, record.op_id = OT_WIRE_MODELS_MAX + 1);
    CHECK_RECORD(OT_RECORD_RUN, OT_LOSS_BAD_RECORD, record.run = 0);
    CHECK_RECORD(OT_RECORD_SPAN, 0, record.op_id = OT_WIRE_OPS_MAX; record.run = 0);
    CHECK_RECORD(OT_RECORD_COPY, 0, record.bytes = 0);
    CHECK_RECORD(OT_RECORD_COPY, OT_LOSS_BAD_RECORD, record.bytes = -1);
    CHECK_RECORD(OT_RECORD_ALLOC, OT_LOSS_BAD_RECORD, record.bytes = 0);
    CHECK_RECORD(OT_RECORD_ALLOC, OT_LOSS_BAD_RECORD, record.bytes = -1);
    CHECK_RECORD(OT_RECORD_FREE, 0, record.bytes = 0);
    CHECK_RECORD(OT_RECORD_FREE, OT_LOSS_BAD_RECORD, record.bytes = 1);
    CHECK_RECORD(OT_RECORD_FREE, OT_LOSS_BAD_RECORD, record.bytes = INT64_MIN);
    CHECK_RECORD(OT_RECORD_COUNTER, 0, record.bytes = INT64_MIN); /* -0.0 */
    CHECK_RECORD(OT_RECORD_COUNTER, OT_LOSS_BAD_RECORD, record.bytes = infinity);
    CHECK_RECORD(OT_RECORD_COUNTER, OT_LOSS_BAD_RECORD, record.bytes = not_a_number);
    CHECK_RECORD(OT_RECORD_COUNTER, 0, record.bytes = infinity - 1); /* the largest double */
}

static void open_spans_have_no_end(void **state)
{
    struct ot_wire_record record = sound_record(OT_RECORD_SPAN);

    for (uint64_t end = 0; end < 300; end += 150) {
        record.end_ticks = end;
        CHECK_OK(ot_wire_check_open(&record));
    }
    CHECK_U64(record.end_ticks, 150); /* unchanged */
    record.kern_ticks = 99;
    assert_int_equal(ot_wire_check_open(&record), OT_LOSS_BAD_RECORD);
    record.kern_ticks = 101;
    CHECK_OK(ot_wire_check_open(&record));
    record.lane_id = 0;
    assert_int_equal(ot_wire_check_open(&record), OT_LOSS_BAD_RECORD);
    record = sound_record(OT_RECORD_ALLOC);
    assert_int_equal(ot_wire_check_open(&record), OT_LOSS_BAD_RECORD);
    record = sound_record(77);
    assert_int_equal(ot_wire_check_open(&record), OT_LOSS_UNKNOWN_KIND);
}

static void ring_header_matches_its_frame(void **state)
{
    const struct ot_wire_ring announced = {
        .ring_id = 3, .lane_id = 4, .record_count = 64, .memory_bytes = ot_ring_bytes(64)};
    const struct ot_ring_header sound = {.magic = OT_RING_MAGIC,
                                         .version = OT_RING_VERSION,
                                         .record_bytes = 64,
                                         .depth_max = OT_RING_DEPTH_MAX,
                                         .record_count = 64,
                                         .ring_id = 3,
                                         .lane_id = 4,
                                         .uuid = {1, 2, 3}};
    uint8_t uuid[16] = {1, 2, 3};
    struct diag diag = {0};

    CHECK_OK(ot_ring_check_header(&sound, &announced, uuid, 8192 + 4096, &diag));
    /* Each byte of it counts, except the reserved ones. */
    for (size_t i = 0; i < offsetof(struct ot_ring_header, reserved); i++) {
        struct ot_ring_header header = sound;

        ((uint8_t *)&header)[i] ^= 0x10;
        assert_int_equal(ot_ring_check_header(&header, &announced, uuid, 8192 + 4096, NULL),
                         -EPROTO);
    }
    assert_int_equal(ot_ring_check_header(&sound, &announced, uuid, 8192 + 4095, &diag), -EPROTO);
    assert_string_equal(diag.text, "ring 3: its memory size is 12287, not 12288");
    uuid[15] = 1;
    assert_int_equal(ot_ring_check_header(&sound, &announced, uuid, 8192 + 4096, NULL), -EPROTO);
}

static void ring_state_has_two_parts(void **state)
{
    const uint64_t top = OT_RING_HEAD_MASK;

    CHECK_U64(ot_ring_head(ot_ring_state(top, 120)), top);
    CHECK_U64(ot_ring_depth(ot_ring_state(top, 120)), 120);
    CHECK_U64(ot_ring_head(ot_ring_state(top + 1, 3)), 0); /* it wraps, the depth stays */
    CHECK_U64(ot_ring_depth(ot_ring_state(top + 1, 3)), 3);
    CHECK_U64(ot_ring_used(5, 3), 2);
    CHECK_U64(ot_ring_used(1, top), 2);
    CHECK_U64(ot_ring_used(3, 5), top - 1); /* more than any ring holds */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_frames_are_accepted),
        cmocka_unit_test(frames_need_no_alignment),
        cmocka_unit_test(shorter_frames_are_refused),
        cmocka_unit_test(longer_frames_are_refused),
        cmocka_unit_test(newer_minor_hello_may_be_longer),
        cmocka_unit_test(other_types_are_refused),
        cmocka_unit_test(other_major_version_is_told_apart),
        cmocka_unit_test(reserved_bytes_are_ignored),
        cmocka_unit_test(each_field_has_its_bounds),
        cmocka_unit_test(diag_names_field_value_and_place),
        cmocka_unit_test(counts_of_op_are_bounded),
        cmocka_unit_test(tensors_are_checked),
        cmocka_unit_test(texts_are_utf8),
        cmocka_unit_test(padding_is_zero),
        cmocka_unit_test(uuid_of_zeros_is_refused),
        cmocka_unit_test(peek_says_how_much_to_read),
        cmocka_unit_test(names_come_from_the_list),
        cmocka_unit_test(each_frame_has_its_sender),
        cmocka_unit_test(texts_can_be_cleaned),
        cmocka_unit_test(records_of_all_kinds),
        cmocka_unit_test(times_of_records),
        cmocka_unit_test(ids_and_values_of_records),
        cmocka_unit_test(open_spans_have_no_end),
        cmocka_unit_test(ring_header_matches_its_frame),
        cmocka_unit_test(ring_state_has_two_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
