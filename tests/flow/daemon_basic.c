/* SPDX-License-Identifier: Apache-2.0 */
/* One client at a time: what it sends stands in the store, exactly. */
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/raw_client.h"

/* A client that has defined lane 1 and op 1. */
static void join(struct raw_client *client, const struct optraced *daemon)
{
    raw_init(client);
    raw_join(client, daemon->socket);
    raw_define(client);
}

/* The daemon says what the machine is like. */
static void check_environment(const struct optraced *daemon)
{
    CHECK_U64(
        optraced_query(daemon, "SELECT json_extract(environment, '$.cpu_count') FROM session"),
        (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    CHECK_U64(optraced_query(daemon, "SELECT json_extract(environment, '$.memory_bytes') >= 1048576"
                                     " AND json_extract(environment, '$.kernel') LIKE 'Linux %'"
                                     " FROM session"),
              1);
}

static void inline_records_become_rows(void **state)
{
    struct optraced daemon;
    struct raw_client client;
    uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);
    const double value = 2.5;
    struct ot_wire_record records[] = {
        {.kind = OT_RECORD_SPAN,
         .op_id = 1,
         .lane_id = 1,
         .run = 1,
         .start_ticks = now_ns + 1000,
         .kern_ticks = now_ns + 1200,
         .end_ticks = now_ns + 3500,
         .correlation = 42},
        {.kind = OT_RECORD_RUN,
         .lane_id = 1,
         .run = 1,
         .start_ticks = now_ns,
         .end_ticks = now_ns + 4000,
         .flags = OT_RECORD_WARMUP},
        {.kind = OT_RECORD_COPY,
         .op_id = 1,
         .lane_id = 1,
         .start_ticks = now_ns + 4000,
         .end_ticks = now_ns + 5000,
         .bytes = 4096},
        {.kind = OT_RECORD_MARK, .op_id = 1, .lane_id = 1, .start_ticks = now_ns + 6000},
        {.kind = OT_RECORD_COUNTER, .op_id = 1, .lane_id = 1, .start_ticks = now_ns + 7000},
        {.kind = OT_RECORD_ALLOC,
         .lane_id = 1,
         .start_ticks = now_ns + 8000,
         .bytes = 100,
         .address = 0x1000},
        {.kind = OT_RECORD_FREE,
         .op_id = 1,
         .lane_id = 1,
         .start_ticks = now_ns + 9000,
         .address = 0x1000},
    };
    char *row;

    memcpy(&records[4].bytes, &value, sizeof(value));
    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    join(&client, &daemon);
    assert_true(raw_events(&client, records, sizeof(records) / sizeof(records[0])));
    assert_int_equal(raw_flush(&client), 0);

    row = optraced_query_text(&daemon,
                              "SELECT group_concat(dur_ns || ' ' || ifnull(kern_ns, '-') || ' ' ||"
                              " ifnull(run, '-') || ' ' || ifnull(correlation, '-') || ' ' ||"
                              " ifnull(bytes, '-') || ' ' || (start_ns - (SELECT min(start_ns)"
                              " FROM event)), ', ') FROM event");
    assert_string_equal(row, "2500 200 1 42 - 0, 1000 - - - 4096 3000, 0 - - - - 5000");
    free(row);
    row = optraced_query_text(&daemon, "SELECT run || ' ' || (end_ns - start_ns) || ' ' || warmup"
                                       " || ' ' || ifnull(model_id, '-') FROM run");
    assert_string_equal(row, "1 4000 1 -");
    free(row);
    row = optraced_query_text(&daemon, "SELECT group_concat(address || ' ' || ifnull(bytes, '-') ||"
                                       " ' ' || (op_id IS NULL), ', ') FROM memory_event");
    assert_string_equal(row, "4096 100 1, 4096 - 0");
    free(row);
    row = optraced_query_text(&daemon, "SELECT value FROM counter");
    assert_string_equal(row, "2.5");
    free(row);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM gap"), 0);
    check_environment(&daemon);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM session WHERE end_ns IS NULL AND"
                                      " program = 'raw' AND clock = 'monotonic' AND source = 'live'"
                                      " AND uid = " /* the test's own */
                                      "(SELECT uid FROM session)"),
              1);
    raw_bye(&client);
    raw_close(&client);
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'done'", 1);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM ingest_cursor"), 0);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void rings_are_drained_and_room_comes_back(void **state)
{
    enum { COUNT = 5000 };
    struct optraced daemon;
    struct raw_client client;
    struct raw_ring ring;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    join(&client, &daemon);
    raw_ring_create(&ring, &client, 1, 1, 256);
    assert_true(raw_ring_send(&client, &ring));
    for (uint64_t i = 1; i <= COUNT; i++) {
        struct ot_wire_record span = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), i, i);

        while (!raw_ring_put(&ring, &span))
            usleep(1000); /* the daemon gives room back when it likes */
    }
    assert_int_equal(raw_flush(&client), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), COUNT);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event WHERE correlation = dur_ns"),
              COUNT);
    CHECK_U64(optraced_query(&daemon, "SELECT count(DISTINCT correlation) FROM event"), COUNT);
    CHECK_U64(ring.memory->tail, COUNT);
    raw_ring_destroy(&ring);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static int die_in_a_span(void *context)
{
    const struct optraced *daemon = context;
    struct ot_wire_record span, run = {.kind = OT_RECORD_RUN, .lane_id = 1, .run = 7};
    struct raw_client client;
    struct raw_ring ring;

    join(&client, daemon);
    raw_ring_create(&ring, &client, 1, 1, 64);
    raw_ring_send(&client, &ring);
    run.start_ticks = ot_clock_ns(CLOCK_MONOTONIC);
    span = raw_span(1, 1, run.start_ticks, 10, 1);
    raw_ring_put(&ring, &span);
    raw_ring_open(&ring, &run);
    span = raw_span(1, 1, run.start_ticks + 100, 0, 2);
    span.end_ticks = 0;
    raw_ring_open(&ring, &span);
    raise(SIGKILL);
    return 0;
}

static void death_leaves_unfinished_spans(void **state)
{
    struct optraced daemon;
    struct child child;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    child_start_function(&child, die_in_a_span, &daemon);
    child_wait(&child, 60000);
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'died'", 1);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), 2);
    CHECK_U64(optraced_query(&daemon, "SELECT correlation FROM event WHERE dur_ns IS NULL"), 2);
    CHECK_U64(optraced_query(&daemon, "SELECT run FROM run WHERE end_ns IS NULL"), 7);
    assert_int_equal(optraced_stop(&daemon), 0);
    child_deinit(&child);
    optraced_deinit(&daemon);
}

static void definitions_become_rows(void **state)
{
    struct optraced daemon;
    struct raw_client client;
    const int64_t dims[] = {1, -1, 224, 224};
    const struct ot_wire_shape shapes[] = {{{OT_DTYPE_F32, 4, 0}, dims}, {{OT_DTYPE_I64, 0, 0}}};
    uint32_t origins[2];
    struct ot_wire_model model = {.header = ot_wire_header(OT_FRAME_MODEL, sizeof(model)),
                                  .model_id = 1,
                                  .parameter_bytes = UINT64_MAX};
    struct ot_wire_op op = {.op_id = 9,
                            .model_id = 1,
                            .computation_flop = 1000,
                            .memory_bytes = -1,
                            .workspace_bytes = 0,
                            .input_count = 1,
                            .output_count = 1,
                            .origin_count = 2};
    uint8_t frame[1024];
    char *row;
    int length;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    join(&client, &daemon);
    model.name = raw_string(&client, "resnet");
    raw_send(&client, &model, sizeof(model));
    op.name = raw_string(&client, "conv \"1\"");
    op.type = raw_string(&client, "Conv");
    op.params = raw_string(&client, "{\"a\":1}");
    origins[0] = op.name;
    origins[1] = op.type;
    length = ot_wire_encode_op(&op, shapes, origins, frame, sizeof(frame));
    assert_true(length > 0);
    raw_send(&client, frame, (size_t)length);
    assert_int_equal(raw_flush(&client), 0);
    row = optraced_query_text(&daemon,
                              "SELECT name || ' ' || type || ' ' || input_shapes || input_dtypes ||"
                              " output_shapes || output_dtypes || ' ' || params || ' ' || origin ||"
                              " ' ' || computation_flop || ' ' || ifnull(memory_bytes, '-') || ' '"
                              " || workspace_bytes FROM op WHERE client_op = 9 AND model_id ="
                              " (SELECT model_id FROM model WHERE name = 'resnet' AND"
                              " parameter_bytes IS NULL)");
    assert_string_equal(row,
                        "conv \"1\" Conv [[1, null, 224, 224]][\"f32\"][[]][\"i64\"] {\"a\":1} "
                        "[\"conv \\\"1\\\"\", \"Conv\"] 1000 - 0");
    free(row);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void losses_are_stored(void **state)
{
    struct optraced daemon;
    struct raw_client client;
    struct raw_ring ring;
    uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);
    struct ot_wire_record bad = raw_span(77, 1, now_ns, 1, 1);
    struct ot_wire_record unknown = raw_span(1, 1, now_ns, 1, 1);

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    join(&client, &daemon);
    unknown.kind = 99;
    raw_events(&client, &bad, 1);
    raw_events(&client, &unknown, 1);
    raw_events(&client, &unknown, 1);
    client.sequence += 10; /* they never existed */
    raw_events(&client, &bad, 1);
    raw_ring_create(&ring, &client, 1, 1, 64);
    ring.memory->gaps[0] = (struct ot_ring_gap){1, OT_LOSS_RING_FULL, 5, now_ns, now_ns + 100};
    raw_ring_send(&client, &ring);
    assert_int_equal(raw_flush(&client), 0);
    __atomic_store_n(&ring.memory->gaps[0].lost_count, 12, __ATOMIC_RELEASE);
    assert_int_equal(raw_flush(&client), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT sum(lost_count) FROM gap WHERE reason = 'undefined'"),
              2);
    CHECK_U64(
        optraced_query(&daemon, "SELECT sum(lost_count) FROM gap WHERE reason = 'unknown kind'"),
        2);
    CHECK_U64(optraced_query(&daemon, "SELECT sum(lost_count) FROM gap WHERE reason = 'producer'"),
              10);
    CHECK_U64(optraced_query(&daemon,
                             "SELECT sum(lost_count) FROM gap WHERE reason = 'ring full' AND"
                             " lane_id = (SELECT lane_id FROM lane) AND end_ns - start_ns = 100"),
              12);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), 0);
    raw_ring_destroy(&ring);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* Whatever minor version a client speaks, it is served, and the smaller one rules. */
static void each_minor_version_is_served(void **state)
{
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    for (uint16_t minor = 0; minor <= OT_WIRE_VERSION_MINOR + 1; minor++) {
        struct ot_wire_record record = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 100, 0);
        struct ot_wire_welcome_view welcome;
        struct ot_wire_hello hello;
        struct raw_client client;
        uint8_t frame[4096];
        size_t length;

        raw_init(&client);
        assert_true(raw_connect(&client, daemon.socket));
        hello = raw_hello(&client);
        hello.version_minor = minor;
        raw_send_hello(&client, &hello);
        length = raw_receive(&client, frame, sizeof(frame));
        CHECK_OK(ot_wire_decode_welcome(frame, length, &welcome, NULL));
        CHECK_U64(welcome.fixed.status, OT_WELCOME_OK);
        CHECK_U64(welcome.fixed.version_minor,
                  minor < OT_WIRE_VERSION_MINOR ? minor : OT_WIRE_VERSION_MINOR);
        client.next_string = 1;
        raw_define(&client);
        assert_true(raw_events(&client, &record, 1));
        assert_int_equal(raw_flush(&client), 0);
        CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), (uint64_t)minor + 1);
        raw_close(&client);
    }
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inline_records_become_rows),
        cmocka_unit_test(rings_are_drained_and_room_comes_back),
        cmocka_unit_test(death_leaves_unfinished_spans),
        cmocka_unit_test(definitions_become_rows),
        cmocka_unit_test(losses_are_stored),
        cmocka_unit_test(each_minor_version_is_served),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
