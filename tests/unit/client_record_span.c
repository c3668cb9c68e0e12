/* SPDX-License-Identifier: Apache-2.0 */
/* The short way for spans of devices: what comes of it is what optrace_record() makes of the same. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "client/record.h"
#include "client/thread.h"
#include "tests/support/check.h"
#include "tests/support/client_place.h"
#include "tests/support/wait.h"

enum { LOST = 5, RUN = 7, START = 1000, END = 3000, CORRELATION = 42, ROUNDS = 3 };

static uint32_t op, lane;

static int start(void **state)
{
    const struct optrace_lane_info info = {.name = "stream", .kind = OPTRACE_LANE_STREAM};

    if (client_place_setup(state) != 0)
        return -1;
    op = optrace_label("kernel");
    return op ? optrace_lane_define(&info, &lane) : -1;
}

static int record_as_event(uint32_t run, uint64_t end)
{
    const struct optrace_event event = {.kind = OPTRACE_KIND_SPAN,
                                        .flags = OPTRACE_EVENT_REALTIME,
                                        .op = op,
                                        .lane = lane,
                                        .run = run,
                                        .start = START,
                                        .end = end,
                                        .correlation = CORRELATION};

    return optrace_record(&event);
}

static int record_shortly(uint32_t run, uint64_t end)
{
    return ot_record_span(op, ot_lane_run(lane, run), START, end, CORRELATION);
}

/* As many as there is room for now, or one where there is none; ends that tell them apart. Returns how
 * many, or an error. */
static int record_in_room(uint32_t count, uint64_t end)
{
    struct ot_spans spans = ot_spans_reserve();
    uint32_t put = 0;

    if (!spans.next) {
        const int rc = record_shortly(0, end);

        return rc < 0 ? rc : 1;
    }
    for (; put < count && spans.next < spans.end; put++)
        ot_spans_put(&spans, op, ot_lane_run(lane, 0), START, end + put, CORRELATION);
    ot_spans_commit(put);
    return (int)put;
}

/* The first of a thread goes the slow way, those after it the fast one. */
static void it_is_what_the_long_way_makes(void **state)
{
    static const uint64_t ends[] = {START, END, INT64_MAX};
    struct client_place *place = *state;

    for (uint32_t i = 0; i < ROUNDS; i++) {
        CHECK_OK(record_shortly(i == 0 ? RUN : 0, ends[i]));
        CHECK_OK(record_as_event(i == 0 ? RUN : 0, ends[i]));
    }
    client_place_drain(place, 2 * ROUNDS);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const struct ot_wire_record record = client_place_record(place, 2 * i);
        const struct ot_wire_record same = client_place_record(place, 2 * i + 1);

        assert_memory_equal(&record, &same, sizeof(record));
        assert_int_equal(record.kind, OT_RECORD_SPAN);
        assert_int_equal(record.flags, OT_RECORD_REALTIME);
        assert_int_equal(record.op_id, op);
        assert_int_equal(record.lane_id, lane);
        assert_int_equal(record.run, i == 0 ? RUN : 0);
        CHECK_U64(record.start_ticks, START);
        CHECK_U64(record.end_ticks, ends[i]);
        CHECK_U64(record.correlation, CORRELATION);
    }
}

static void what_does_not_fit_is_dropped_and_counted(void **state)
{
    struct client_place *place = *state;
    const struct ot_ring *ring;

    client_place_set_idle(place, true);
    for (int i = CLIENT_PLACE_OWN; i < CLIENT_PLACE_RECORDS; i++)
        CHECK_OK(record_shortly(0, END));
    for (int i = 0; i < LOST; i++)
        assert_int_equal(record_shortly(0, END), -ENOBUFS);
    ring = client_place_ring(place, 0);
    assert_int_equal(ring->gaps[1].lane_id, lane);
    CHECK_U64(ring->gaps[1].lost_count, LOST);
    client_place_set_idle(place, false);
    client_place_drain(place, CLIENT_PLACE_RECORDS - CLIENT_PLACE_OWN);
    CHECK_OK(record_shortly(0, END)); /* there is room again */
    client_place_drain(place, CLIENT_PLACE_RECORDS - CLIENT_PLACE_OWN + 1);
}

/* Around the ring several times, with other records between: each is there once, and in turn. */
static void what_is_put_into_room_comes_in_turn(void **state)
{
    enum { ALL = CLIENT_PLACE_RECORDS * 5, PART = 37, BETWEEN = 11 };
    struct client_place *place = *state;
    uint64_t next = 0, in_room = 0;

    while (next < ALL) {
        const int put = record_in_room(PART, START + next);

        assert_true(put > 0);
        in_room += put > 1 ? (uint64_t)put : 0;
        next += (uint64_t)put;
        if (next % BETWEEN == 0)
            CHECK_OK(record_as_event(0, START + next++));
        ot_spans_fetch();
        CHECK_OK(optrace_flush(WAIT_MS));
    }
    assert_true(in_room > ALL / 2);
    client_place_drain(place, next);
    for (uint64_t i = 0; i < next; i++) {
        const struct ot_wire_record record = client_place_record(place, i);

        CHECK_U64(record.end_ticks, START + i);
        assert_int_equal(record.flags, OT_RECORD_REALTIME);
        assert_int_equal(record.lane_id, lane);
        assert_int_equal(record.op_id, op);
        CHECK_U64(record.correlation, CORRELATION);
        CHECK_U64(record.kern_ticks | record.bytes | record.address, 0);
    }
}

/* Nor is there room beyond what fits, and nobody sees what was not committed. */
static void there_is_no_more_room_than_fits(void **state)
{
    struct client_place *place = *state;
    uint64_t fitted = 0;
    struct ot_spans spans;
    int put;

    client_place_set_idle(place, true);
    while ((put = record_in_room(UINT32_MAX, END)) > 0)
        fitted += (uint64_t)put;
    assert_int_equal(put, -ENOBUFS);
    CHECK_U64(fitted, CLIENT_PLACE_RECORDS - CLIENT_PLACE_OWN);
    assert_null(ot_spans_reserve().next);
    CHECK_U64(client_place_ring(place, 0)->gaps[1].lost_count, 1);
    client_place_set_idle(place, false);
    client_place_drain(place, fitted);
    CHECK_OK(record_shortly(0, END));
    do {
        CHECK_OK(record_shortly(0, END));
        fitted++;
        spans = ot_spans_reserve();
    } while (!spans.next);
    ot_spans_put(&spans, op, ot_lane_run(lane, 0), START, INT64_MAX, CORRELATION);
    CHECK_OK(record_shortly(0, END)); /* in its place */
    client_place_drain(place, fitted + 2);
    CHECK_U64(client_place_record(place, fitted + 1).end_ticks, END);
}

static void set_level(struct client_place *place, uint32_t level)
{
    const struct ot_wire_control control = {
        .header = {.length = sizeof(control), .type = OT_FRAME_CONTROL}, .level = level};

    fake_daemon_send(place->daemon, &control, sizeof(control));
}

/* What the daemon says is heard between records that read no clock, and while nothing is recorded. */
static void the_daemon_is_heard(void **state)
{
    const uint64_t deadline_ns = ot_clock_ns(CLOCK_MONOTONIC) + WAIT_MS * UINT64_C(1000000);
    struct client_place *place = *state;
    uint64_t recorded = 0, before;

    set_level(place, OT_LEVEL_OFF);
    while (optrace_level() != OPTRACE_OFF && ot_clock_ns(CLOCK_MONOTONIC) < deadline_ns) {
        before = recorded;
        recorded += record_shortly(0, END) == 0;
        if (recorded != before && recorded % (CLIENT_PLACE_RECORDS / 2) == 0)
            CHECK_OK(optrace_flush(WAIT_MS));
    }
    assert_int_equal(optrace_level(), OPTRACE_OFF);
    CHECK_OK(optrace_flush(WAIT_MS));
    before = fake_daemon_count(place->daemon, FAKE_RECORDS);
    for (int i = 0; i < ROUNDS; i++)
        CHECK_OK(record_shortly(0, END));
    CHECK_OK(optrace_flush(WAIT_MS));
    CHECK_U64(fake_daemon_count(place->daemon, FAKE_RECORDS), before);
    set_level(place, OT_LEVEL_ON);
    while (optrace_level() == OPTRACE_OFF && ot_clock_ns(CLOCK_MONOTONIC) < deadline_ns)
        CHECK_OK(record_shortly(0, END));
    CHECK_OK(record_shortly(0, END));
    CHECK_OK(optrace_flush(WAIT_MS));
    assert_true(fake_daemon_count(place->daemon, FAKE_RECORDS) > before);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, client_place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(it_is_what_the_long_way_makes),
        CASE(what_does_not_fit_is_dropped_and_counted),
        CASE(what_is_put_into_room_comes_in_turn),
        CASE(there_is_no_more_room_than_fits),
        CASE(the_daemon_is_heard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
