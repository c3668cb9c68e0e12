/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL of the daemon while roll-ups wait to be written: what reads the store then sees them all
 * the same, and the next daemon makes them up. */
#include "base/clock.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/optraced.h"
#include "tests/support/raw_client.h"

enum {
    OPS = 20000, /* enough for their roll-ups to wait for seconds */
    FRAME = 500,
    ROUNDS = 20, /* at most, until they were seen to wait */
    SEEN = 2,
};

#define BY_OP                                                                                      \
    " FROM event JOIN lane USING (lane_id) GROUP BY 1, 2, 3 EXCEPT SELECT op_id, lane_kind,"       \
    " start_ns, sum(event_count), sum(sum_ns), min(min_ns), max(max_ns) FROM v_op_stat"            \
    " GROUP BY 1, 2, 3)"

static void define(struct raw_client *client)
{
    raw_lane(client, 1, "main");
    for (uint32_t op = 1; op <= OPS; op++)
        raw_op(client, op, "op", "Conv");
}

/* One event of each op; committed. */
static void record(struct raw_client *client)
{
    static uint64_t seed = DRAW_SEED;
    const uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);
    struct ot_wire_record records[FRAME];

    for (uint32_t op = 1; op <= OPS; op += FRAME) {
        for (uint32_t i = 0; i < FRAME; i++) {
            draw_u64(&seed);
            records[i] = raw_span(op + i, 1, now_ns, seed % 100000, 0);
        }
        assert_true(raw_events(client, records, FRAME));
    }
    assert_int_equal(raw_flush(client), 0);
}

/* All views say what is said by `events` events for each op. */
static void check(const struct optraced *daemon, int64_t events)
{
    CHECK_U64(optraced_query(daemon, "SELECT count(*) FROM event"), events * OPS);
    CHECK_U64(optraced_query(daemon, "SELECT sum(event_count) FROM v_op_stat"), events * OPS);
    CHECK_U64(optraced_query(daemon, "SELECT count(*) FROM (SELECT op_id, kind, start_ns /"
                                     " 10000000000 * 10000000000, count(*), sum(dur_ns),"
                                     " min(dur_ns), max(dur_ns)" BY_OP),
              0);
    CHECK_U64(optraced_query(daemon, "SELECT event_count FROM v_session"), events * OPS);
    CHECK_U64(optraced_query(daemon, "SELECT sum(host_ns) FROM v_op"),
              optraced_query(daemon, "SELECT sum(dur_ns) FROM event"));
    CHECK_U64(optraced_query(daemon, "SELECT count(*) FROM v_op WHERE host_p50_ns NOT BETWEEN"
                                     " host_min_ns AND host_max_ns AND op_id < 10"),
              0);
}

static void killed_daemons_leave_nothing_uncounted(void **state)
{
    struct raw_client client;
    struct optraced daemon;
    unsigned seen = 0;
    int64_t events = 0;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    for (unsigned round = 0; round < ROUNDS && seen < SEEN; round++) {
        raw_join(&client, daemon.socket);
        define(&client);
        record(&client); /* the first ones are written at once */
        record(&client);
        events += 2;
        optraced_kill(&daemon);
        seen += optraced_query(&daemon, "SELECT count(*) FROM meta WHERE key = 'rolled_up'") == 1;
        check(&daemon, events);
        optraced_start(&daemon, NULL);
        optraced_wait_for(&daemon, "SELECT count(*) FROM meta WHERE key = 'rolled_up'", 0);
        CHECK_U64(optraced_query(&daemon, "SELECT sum(event_count) FROM op_stat"), events * OPS);
        check(&daemon, events);
    }
    CHECK_U64(seen, SEEN);
    assert_int_equal(optraced_stop(&daemon), 0);
    raw_close(&client);
    optraced_deinit(&daemon);
}

/* In peace it writes them before it ends, and when nothing comes any more, before it is told to. */
static void others_write_them(void **state)
{
    struct raw_client client;
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    define(&client);
    record(&client);
    record(&client);
    optraced_wait_for(&daemon, "SELECT sum(event_count) FROM op_stat", 2 * OPS);
    record(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT sum(event_count) FROM op_stat"), 3 * OPS);
    check(&daemon, 3);
    raw_close(&client);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_daemons_leave_nothing_uncounted),
        cmocka_unit_test(others_write_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
