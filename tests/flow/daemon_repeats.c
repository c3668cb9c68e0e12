/* SPDX-License-Identifier: Apache-2.0 */
/* What a session says twice: the number of a run, and when it began. */
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/raw_client.h"

static const uint64_t SECOND_NS = 1000000000;

static void define(struct raw_client *client)
{
    raw_lane(client, 1, "main");
    raw_lane(client, 2, "other");
}

static struct ot_wire_record run_of(uint32_t number, uint32_t lane, uint64_t dur_ns)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);

    return (struct ot_wire_record){.kind = OT_RECORD_RUN,
                                   .lane_id = lane,
                                   .run = number,
                                   .start_ticks = now_ns - dur_ns,
                                   .end_ticks = now_ns};
}

static void send_run(struct raw_client *client, uint32_t number, uint32_t lane, uint64_t dur_ns)
{
    const struct ot_wire_record run = run_of(number, lane, dur_ns);

    assert_true(raw_events(client, &run, 1));
}

static int64_t lost(const struct optraced *daemon)
{
    return optraced_query(daemon, "SELECT ifnull(sum(lost_count), 0) FROM gap WHERE reason ="
                                  " 'bad record' AND lane_id IS NOT NULL");
}

/* The first run of a number stays; the others are lost, within a batch, after a commit, from a
 * ring, after the daemon's end, and open ones. */
static void a_second_run_of_a_number_is_lost(void **state)
{
    struct optraced daemon;
    struct raw_client client;
    struct raw_ring ring;
    struct ot_wire_record run = run_of(5, 2, 300);

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    define(&client);
    send_run(&client, 5, 1, 100);
    send_run(&client, 5, 2, 200);
    send_run(&client, 6, 1, 200);
    assert_int_equal(raw_flush(&client), 0);
    CHECK_U64(lost(&daemon), 1);
    raw_ring_create(&ring, &client, 1, 2, 64);
    raw_ring_send(&client, &ring);
    assert_true(raw_ring_put(&ring, &run));
    assert_int_equal(raw_flush(&client), 0);
    CHECK_U64(lost(&daemon), 2);
    optraced_expect_log(&daemon, "gives run number 5 twice", 1);
    optraced_kill(&daemon);
    optraced_start(&daemon, NULL);
    raw_join(&client, daemon.socket);
    define(&client);
    raw_ring_send(&client, &ring);
    send_run(&client, 5, 1, 400);
    run.end_ticks = 0;
    raw_ring_open(&ring, &run);
    assert_int_equal(raw_flush(&client), 0);
    CHECK_U64(lost(&daemon), 3);
    raw_bye(&client);
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_ns IS NOT NULL", 1);
    CHECK_U64(lost(&daemon), 4);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM run"), 2);
    CHECK_U64(optraced_query(&daemon, "SELECT end_ns - start_ns FROM run WHERE run = 5"), 100);
    raw_ring_destroy(&ring);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* HELLO of a session that began before, as far as its client says so. Returns session.start_ns,
 * less the CLOCK_REALTIME of this HELLO. */
static int64_t begin_again(struct optraced *daemon, uint32_t connection, uint16_t minor,
                           int64_t told_after_ns)
{
    const struct ot_wire_hello_texts texts = {.program = {"raw", 3}};
    struct ot_wire_hello_more more;
    struct raw_client client;
    struct ot_wire_hello hello;
    uint8_t frame[512];
    int64_t start_ns;
    int length;

    raw_init(&client);
    hello = raw_hello(&client);
    hello.connection = connection;
    hello.version_minor = minor;
    length = ot_wire_encode_hello(&hello, &texts, frame, sizeof(frame));
    assert_true(length > 0);
    if (told_after_ns) {
        more.start_ns = (uint64_t)((int64_t)hello.realtime_ns + told_after_ns);
        length = ot_wire_append_hello(&more, frame, (size_t)length, sizeof(frame));
        assert_true(length > 0);
    }
    assert_true(raw_connect(&client, daemon->socket));
    assert_true(raw_send(&client, frame, (size_t)length));
    assert_true(raw_receive(&client, frame, sizeof(frame)) > 0);
    assert_int_equal(raw_flush(&client), 0);
    start_ns = optraced_query(daemon, "SELECT start_ns FROM session ORDER BY session_id DESC");
    raw_close(&client);
    return start_ns - (int64_t)hello.realtime_ns;
}

static void a_session_began_with_its_first_hello(void **state)
{
    const int64_t before_ns = -(int64_t)(100 * SECOND_NS);
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    CHECK_U64(begin_again(&daemon, 1, OT_WIRE_VERSION_MINOR, before_ns), before_ns);
    CHECK_U64(begin_again(&daemon, 0, OT_WIRE_VERSION_MINOR, before_ns), 0);
    CHECK_U64(begin_again(&daemon, 1, OT_WIRE_VERSION_MINOR, 0), 0);          /* does not say */
    CHECK_U64(begin_again(&daemon, 1, OT_WIRE_VERSION_MINOR, -before_ns), 0); /* it was set back */
    CHECK_U64(begin_again(&daemon, 1, 1, 0), 0);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_run_of_a_number_is_lost),
        cmocka_unit_test(a_session_began_with_its_first_hello),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
