/* SPDX-License-Identifier: Apache-2.0 */
/* Rings that claim records which were never written: the client is cut off before reading them has
 * cost the daemon memory. What was written before is stored. */
#include <sys/stat.h>

#include "base/clock.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/raw_client.h"

enum { RECORDS = OT_WIRE_RING_RECORDS_MAX, WRITTEN = 1000 };

/* Bytes of memory that the ring takes, whoever touched them. */
static uint64_t resident_bytes(const struct raw_ring *ring)
{
    struct stat info;

    assert_int_equal(fstat(ring->fd, &info), 0);
    return (uint64_t)info.st_blocks * 512;
}

static void claim(struct raw_ring *ring, uint64_t head)
{
    __atomic_store_n(&ring->memory->state, ot_ring_state(head, 0), __ATOMIC_RELEASE);
}

static void unwritten_records_cost_nothing(void **state)
{
    struct optraced daemon;
    struct raw_client client;
    struct raw_ring ring;
    uint64_t before;
    char text[256];

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    raw_define(&client);
    raw_ring_create(&ring, &client, 1, 1, RECORDS);
    for (uint64_t i = 1; i <= WRITTEN; i++) {
        struct ot_wire_record span = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), i, 0);

        assert_true(raw_ring_put(&ring, &span));
    }
    before = resident_bytes(&ring);
    claim(&ring, RECORDS);
    assert_true(raw_ring_send(&client, &ring));

    assert_true(raw_receive_bye(&client, text, sizeof(text)));
    assert_string_equal(text, "ring 1: record 1000 was never written");
    assert_in_range(resident_bytes(&ring), before, before + (1 << 20));
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'cut off'", 1);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), WRITTEN);
    optraced_expect_log(&daemon, "was never written", 1);
    raw_ring_destroy(&ring);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* The same in a ring that the daemon has followed for a while. */
static void a_head_may_not_run_ahead_later_either(void **state)
{
    struct ot_wire_record span;
    struct optraced daemon;
    struct raw_client client;
    struct raw_ring ring;
    char text[256];

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    raw_define(&client);
    raw_ring_create(&ring, &client, 1, 1, 256);
    assert_true(raw_ring_send(&client, &ring));
    span = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 5, 0);
    assert_true(raw_ring_put(&ring, &span));
    assert_int_equal(raw_flush(&client), 0);
    claim(&ring, 2);
    assert_true(raw_receive_bye(&client, text, sizeof(text)));
    assert_string_equal(text, "ring 1: record 1 was never written");
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'cut off'", 1);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), 1);
    raw_ring_destroy(&ring);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unwritten_records_cost_nothing),
        cmocka_unit_test(a_head_may_not_run_ahead_later_either),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
