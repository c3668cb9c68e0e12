/* SPDX-License-Identifier: Apache-2.0 */
/* The log of definitions and its tables. */
#include "client/log.h"
#include "tests/support/check.h"

static void texts_are_kept_once(void **state)
{
    struct ot_log log = {0};
    uint32_t first, second, third, none;
    size_t length;

    CHECK_OK(ot_log_string(&log, "conv1", &first));
    CHECK_OK(ot_log_string(&log, "conv2", &second));
    length = log.length;
    CHECK_OK(ot_log_string(&log, "conv1", &third));
    CHECK_OK(ot_log_string(&log, NULL, &none));
    assert_int_equal(first, 1);
    assert_int_equal(second, 2);
    assert_int_equal(third, first);
    assert_int_equal(none, 0);
    CHECK_U64(log.length, length);
    ot_log_deinit(&log);
}

static void the_log_is_a_stream_of_frames(void **state)
{
    struct ot_log log = {0};
    char text[32];
    uint32_t id;
    size_t at = 0;
    uint32_t count = 0;

    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "text %d", i);
        CHECK_OK(ot_log_string(&log, text, &id));
        assert_int_equal(id, i + 1);
    }
    while (at < log.length) {
        struct ot_wire_header header;
        struct ot_wire_string_view view;
        int length = ot_wire_peek(log.bytes + at, log.length - at, &header, NULL);

        CHECK_OK(ot_wire_decode_string(log.bytes + at, (size_t)length, &view, NULL));
        assert_int_equal(view.fixed.string_id, ++count);
        at += (size_t)length;
    }
    assert_int_equal(count, 1000);
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "text %d", i);
        CHECK_OK(ot_log_string(&log, text, &id));
        assert_int_equal(id, i + 1);
    }
    ot_log_deinit(&log);
}

static void bad_bytes_are_replaced(void **state)
{
    struct ot_log log = {0};
    uint32_t bad, good;

    CHECK_OK(ot_log_string(&log,
                           "a\xff\xfe"
                           "b",
                           &bad));
    CHECK_OK(ot_log_string(&log, "a??b", &good));
    assert_int_equal(bad, good);
    ot_log_deinit(&log);
}

static void limits_hold(void **state)
{
    struct ot_log log = {0};
    char *text = malloc(OT_WIRE_TEXT_BYTES_MAX + 1);
    uint32_t id = 0;
    int rc = 0;
    int count = 0;

    memset(text, 'x', OT_WIRE_TEXT_BYTES_MAX);
    text[OT_WIRE_TEXT_BYTES_MAX] = 0;
    assert_int_equal(ot_log_string(&log, text, &id), -E2BIG);
    CHECK_U64(log.length, 0);
    text[OT_WIRE_TEXT_BYTES_MAX - 1] = 0;
    while (rc == 0 && count <= 1100) {
        snprintf(text, 8, "%07d", count++);
        text[7] = 'x';
        rc = ot_log_string(&log, text, &id);
    }
    assert_int_equal(rc, -ENOSPC);
    assert_true(log.text_bytes <= OT_WIRE_SESSION_TEXT_MAX);
    free(text);
    ot_log_deinit(&log);
}

static void add_lane(struct ot_log *log, uint32_t id, uint32_t kind)
{
    struct ot_wire_lane lane = {
        .header = ot_wire_header(OT_FRAME_LANE, sizeof(lane)), .lane_id = id, .kind = kind};

    CHECK_OK(ot_log_add(log, &lane, sizeof(lane)));
    log->lane_count = id;
}

static void lanes_of_threads_are_dropped(void **state)
{
    struct ot_log log = {0};
    uint32_t first, last, again;

    CHECK_OK(ot_log_string(&log, "first", &first));
    add_lane(&log, 1, OT_LANE_THREAD);
    add_lane(&log, 2, OT_LANE_STREAM);
    add_lane(&log, 3, OT_LANE_THREAD);
    CHECK_OK(ot_log_string(&log, "last", &last));
    ot_log_drop_thread_lanes(&log);
    assert_int_equal(log.lane_count, 2);
    CHECK_OK(ot_log_string(&log, "last", &again)); /* is still found */
    assert_int_equal(again, last);
    CHECK_U64(log.length, 24 + sizeof(struct ot_wire_lane) + 24);
    ot_log_deinit(&log);
}

static void a_table_keeps_equal_keys_apart(void **state)
{
    struct ot_table table = {0};
    uint64_t sum = 0;
    size_t place = 0;
    uint32_t value;

    assert_int_equal(ot_table_next(&table, 5, &place), 0);
    for (uint32_t i = 1; i <= 300; i++) {
        CHECK_OK(ot_table_reserve(&table));
        ot_table_add(&table, i % 3, i);
    }
    place = 0;
    while ((value = ot_table_next(&table, 1, &place)) != 0) {
        assert_int_equal(value % 3, 1);
        sum += value;
    }
    CHECK_U64(sum, 100 * (1 + 298) / 2);
    place = 0;
    assert_int_equal(ot_table_next(&table, 3, &place), 0);
    ot_table_deinit(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_kept_once),
        cmocka_unit_test(the_log_is_a_stream_of_frames),
        cmocka_unit_test(bad_bytes_are_replaced),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(lanes_of_threads_are_dropped),
        cmocka_unit_test(a_table_keeps_equal_keys_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
