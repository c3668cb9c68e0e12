/* SPDX-License-Identifier: Apache-2.0 */
/* What spans, runs and other records look like when they arrive at a daemon. */
#include "client/optrace.h"
#include "schema/wire.h"
#include "tests/support/check.h"
#include "tests/support/fake_daemon.h"
#include "tests/support/temp.h"

struct place {
    char *dir, *socket;
    struct fake_daemon *daemon;
};

static int start(void **state)
{
    static struct place place;
    struct optrace_config config = {.ring_records = 64, .required = 1};

    place.dir = temp_create();
    place.socket = temp_path(place.dir, "s");
    place.daemon = fake_daemon_create(place.socket, NULL);
    config.socket_path = place.socket;
    CHECK_OK(optrace_start(&config));
    *state = &place;
    return 0;
}

static int stop(void **state)
{
    struct place *place = *state;

    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
    fake_daemon_destroy(&place->daemon);
    free(place->socket);
    temp_destroy(&place->dir);
    return 0;
}

/* Waits until everything is drained; returns the records, in order. The caller locks. */
static const struct fake_record *drained(struct place *place, size_t want)
{
    CHECK_OK(optrace_flush(60000));
    fake_daemon_lock(place->daemon);
    if (place->daemon->record_count != want)
        fail_msg("%zu records, not %zu", place->daemon->record_count, want);
    return place->daemon->records;
}

static void span_has_its_times(void **state)
{
    struct place *place = *state;
    uint32_t op = optrace_label("work");
    uint64_t before, between, after;
    const struct fake_record *records;
    struct optrace_span span;

    assert_int_not_equal(op, 0);
    before = optrace_ticks();
    span = optrace_begin(op);
    between = optrace_ticks();
    optrace_kern(span);
    optrace_end(span);
    after = optrace_ticks();
    records = drained(place, 1);
    assert_int_equal(records[0].record.kind, OT_RECORD_SPAN);
    assert_int_equal(records[0].record.flags, 0);
    assert_int_equal(records[0].record.op_id, op);
    assert_int_equal(records[0].record.lane_id, optrace_thread_lane());
    assert_int_equal(records[0].record.run, 0);
    assert_true(before <= records[0].record.start_ticks);
    assert_true(records[0].record.start_ticks <= between);
    assert_true(between <= records[0].record.kern_ticks);
    assert_true(records[0].record.kern_ticks <= records[0].record.end_ticks);
    assert_true(records[0].record.end_ticks <= after);
    fake_daemon_unlock(place->daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(span_has_its_times, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
