/* SPDX-License-Identifier: Apache-2.0 */
/* A client whose counter jumps: noticed, said once, and times are right again. */
#include "base/clock.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/raw_client.h"
#include "tests/support/wait.h"

static const int64_t SECOND_NS = 1000000000;

/* CLOCK of a counter that stands `ahead_ns` before CLOCK_MONOTONIC. */
static void send_clock(struct raw_client *client, int64_t ahead_ns)
{
    struct ot_wire_clock clock = {.header = ot_wire_header(OT_FRAME_CLOCK, sizeof(clock)),
                                  .monotonic_ns = ot_clock_ns(CLOCK_MONOTONIC),
                                  .realtime_ns = ot_clock_ns(CLOCK_REALTIME)};

    clock.ticks = (uint64_t)((int64_t)clock.monotonic_ns + ahead_ns);
    assert_true(raw_send(client, &clock, sizeof(clock)));
}

static void send_span(struct raw_client *client, int64_t ahead_ns, uint64_t number)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);
    struct ot_wire_record span = raw_span(1, 1, (uint64_t)((int64_t)now_ns + ahead_ns), 10, number);

    assert_true(raw_events(client, &span, 1));
}

static bool has_passed(void *context)
{
    return ot_clock_ns(CLOCK_MONOTONIC) > *(uint64_t *)context;
}

/* Clocks that come closer together than this say nothing. */
static void let_pass(uint64_t ns)
{
    uint64_t until_ns = ot_clock_ns(CLOCK_MONOTONIC) + ns;

    assert_true(wait_until(has_passed, &until_ns, WAIT_MS));
}

static int64_t lost(const struct optraced *daemon)
{
    return optraced_query(daemon, "SELECT ifnull(sum(lost_count), 0) FROM gap"
                                  " WHERE reason = 'clock jump'");
}

/* Seconds between an event's time and now; events of a second ago, on a slow machine. */
static int64_t age_s(const struct optraced *daemon, uint64_t number)
{
    char sql[128];

    snprintf(sql, sizeof(sql), "SELECT start_ns FROM event WHERE correlation = %llu",
             (unsigned long long)number);
    return ((int64_t)ot_clock_ns(CLOCK_REALTIME) - optraced_query(daemon, sql)) / SECOND_NS;
}

static void check_jump(int64_t ahead_ns)
{
    struct optraced daemon;
    struct raw_client client;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    raw_define(&client);
    send_span(&client, 0, 1);
    let_pass(2000000);
    send_clock(&client, ahead_ns);
    let_pass(2000000);
    send_clock(&client, ahead_ns);
    send_span(&client, ahead_ns, 2);     /* of after it */
    send_span(&client, ahead_ns / 2, 3); /* never was */
    assert_int_equal(raw_flush(&client), 0);
    optraced_expect_log(&daemon, "counter of ticks jumped", 1);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), 2);
    CHECK_U64(lost(&daemon), 1);
    assert_in_range(age_s(&daemon, 1), 0, WAIT_MS / 1000);
    assert_in_range(age_s(&daemon, 2), 0, WAIT_MS / 1000);
    let_pass(2000000);
    send_clock(&client, ahead_ns); /* nothing new */
    send_span(&client, ahead_ns, 4);
    assert_int_equal(raw_flush(&client), 0);
    assert_in_range(age_s(&daemon, 4), 0, WAIT_MS / 1000);
    optraced_expect_log(&daemon, "counter of ticks jumped", 1);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void a_jump_forward_is_followed(void **state)
{
    check_jump(3600 * SECOND_NS);
}

static void a_jump_back_is_followed(void **state)
{
    if (ot_clock_ns(CLOCK_MONOTONIC) < 500 * (uint64_t)SECOND_NS)
        skip(); /* the counter of a machine that has just started cannot go back so far */
    check_jump(-400 * SECOND_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_jump_forward_is_followed),
        cmocka_unit_test(a_jump_back_is_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
