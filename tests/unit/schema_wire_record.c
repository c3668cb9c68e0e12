/* SPDX-License-Identifier: Apache-2.0 */
/* Records, ring headers, names and texts: what schema/wire/wire.c checks besides frames. */
#include "tests/support/check.h"

#include "schema/wire/wire.h"

static void names_come_from_the_list(void **state)
{
    assert_string_equal(ot_wire_frame_name(OT_FRAME_WELCOME), "WELCOME");
    assert_string_equal(ot_wire_frame_name(99), "unknown");
    assert_string_equal(ot_wire_record_name(OT_RECORD_COUNTER), "counter");
    assert_string_equal(ot_wire_record_name(0), "unknown");
    assert_string_equal(ot_wire_loss_name(OT_LOSS_RING_FULL), "ring full");
    assert_string_equal(ot_wire_loss_name(99), "unknown");
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
    assert_false(ot_wire_daemon_sends(99));
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
    check_clean("gr\xc3\xbc", 3, 32, "gr?");                    /* does not look behind the end */
    check_clean("ab\xff", 3, 2, "ab");                          /* nor write behind it */
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
        CHECK_RECORD(kind, OT_LOSS_BAD_RECORD, record.flags = 16);
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
    CHECK_RECORD(OT_RECORD_MARK, 0, record.start_ticks = INT64_MAX);
    CHECK_RECORD(OT_RECORD_MARK, 0, record.end_ticks = 1); /* not used, not read */
    CHECK_RECORD(OT_RECORD_MARK, OT_LOSS_BAD_RECORD, record.flags = OT_RECORD_IMPLICIT_END);
    CHECK_RECORD(OT_RECORD_SPAN, OT_LOSS_BAD_RECORD, record.flags = OT_RECORD_WARMUP);
    CHECK_RECORD(OT_RECORD_RUN, 0, record.flags = OT_RECORD_WARMUP);
    CHECK_RECORD(OT_RECORD_SPAN, OT_LOSS_BAD_RECORD, record.flags = OT_RECORD_WITHOUT_OPS);
    CHECK_RECORD(OT_RECORD_RUN, 0, record.flags = OT_RECORD_WITHOUT_OPS);
    CHECK_RECORD(OT_RECORD_RUN, OT_LOSS_BAD_RECORD, record.flags = OT_RECORD_WITHOUT_OPS << 1);
}

static void ids_and_values_of_records(void **state)
{
    CHECK_RECORD(OT_RECORD_COPY, 0, record.bytes = OT_WIRE_SIZE_MAX);
    CHECK_RECORD(OT_RECORD_COPY, OT_LOSS_BAD_RECORD, record.bytes = OT_WIRE_SIZE_MAX + 1);
    CHECK_RECORD(OT_RECORD_ALLOC, 0, record.bytes = OT_WIRE_SIZE_MAX);
    CHECK_RECORD(OT_RECORD_ALLOC, OT_LOSS_BAD_RECORD, record.bytes = OT_WIRE_SIZE_MAX + 1);
    CHECK_RECORD(OT_RECORD_FREE, 0, record.bytes = -OT_WIRE_SIZE_MAX);
    CHECK_RECORD(OT_RECORD_FREE, OT_LOSS_BAD_RECORD, record.bytes = -OT_WIRE_SIZE_MAX - 1);
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
    for (uint16_t kind = OT_RECORD_MARK; kind <= OT_RECORD_FREE; kind++) {
        record = sound_record(kind);
        assert_int_equal(ot_wire_check_open(&record), OT_LOSS_BAD_RECORD);
    }
    for (uint16_t kind = OT_RECORD_FREE + 1; kind < 80; kind++) {
        record = sound_record(kind);
        assert_int_equal(ot_wire_check_open(&record), OT_LOSS_UNKNOWN_KIND);
    }
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
        cmocka_unit_test(names_come_from_the_list), cmocka_unit_test(each_frame_has_its_sender),
        cmocka_unit_test(texts_can_be_cleaned),     cmocka_unit_test(records_of_all_kinds),
        cmocka_unit_test(times_of_records),         cmocka_unit_test(ids_and_values_of_records),
        cmocka_unit_test(open_spans_have_no_end),   cmocka_unit_test(ring_header_matches_its_frame),
        cmocka_unit_test(ring_state_has_two_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
