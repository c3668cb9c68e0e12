/* SPDX-License-Identifier: Apache-2.0 */
/* What spans, runs and other records look like when they arrive at a daemon. */
#include <math.h>

#include "client/optrace.h"
#include "client/thread.h"
#include "tests/support/check.h"
#include "tests/support/client_place.h"

/* Begin and end one span, to put a record into the ring. */
static void record_one(uint32_t op)
{
    optrace_end(optrace_begin(op));
}

static void span_has_its_times(void **state)
{
    struct client_place *place = *state;
    uint32_t op = optrace_label("work");
    uint64_t before, between, after;
    struct ot_wire_record record;
    struct optrace_span span;

    assert_int_not_equal(op, 0);
    before = optrace_ticks();
    span = optrace_begin(op);
    between = optrace_ticks();
    optrace_kern(span);
    optrace_end(span);
    after = optrace_ticks();
    client_place_drain(place, 1);
    record = client_place_record(place, 0);
    assert_int_equal(record.kind, OT_RECORD_SPAN);
    assert_int_equal(record.flags, 0);
    assert_int_equal(record.op_id, op);
    assert_int_equal(record.lane_id, optrace_thread_lane());
    assert_int_equal(record.run, 0);
    assert_true(before <= record.start_ticks);
    assert_true(record.start_ticks <= between);
    assert_true(between <= record.kern_ticks);
    assert_true(record.kern_ticks <= record.end_ticks);
    assert_true(record.end_ticks <= after);
    CHECK_U64(record.correlation, 0);
    assert_int_equal(record.bytes, 0);
    CHECK_U64(record.address, 0);
}

static void begin_is_visible_at_once(void **state)
{
    struct client_place *place = *state;
    uint32_t outer_op = optrace_label("outer");
    uint32_t inner_op = optrace_label("inner");
    struct optrace_span outer = optrace_begin(outer_op);
    struct optrace_span inner = optrace_begin(inner_op);
    const struct ot_ring *ring = client_place_ring(place, 0);
    uint64_t ring_state = __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE);

    CHECK_U64(ot_ring_depth(ring_state), 2);
    CHECK_U64(ot_ring_head(ring_state), CLIENT_PLACE_OWN);
    assert_int_equal(ring->open[0].op_id, outer_op);
    assert_int_equal(ring->open[1].op_id, inner_op);
    assert_int_equal(ot_wire_check_open(&ring->open[1]), 0);
    CHECK_U64(ring->open[1].start_ticks, inner.start);
    optrace_end(inner);
    ring_state = __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE);
    CHECK_U64(ot_ring_depth(ring_state), 1);
    CHECK_U64(ot_ring_head(ring_state), CLIENT_PLACE_OWN + 1);
    optrace_end(outer);
    client_place_drain(place, 2);
}

static void ending_an_outer_span_ends_the_inner_ones(void **state)
{
    struct client_place *place = *state;
    uint32_t ops[3] = {optrace_label("a"), optrace_label("b"), optrace_label("c")};
    struct optrace_span outer = optrace_begin(ops[0]);
    struct optrace_span middle = optrace_begin(ops[1]);
    struct optrace_span inner = optrace_begin(ops[2]);
    struct ot_wire_record records[3];

    optrace_end(outer);
    optrace_end(inner); /* too late: nothing happens */
    optrace_end(middle);
    client_place_drain(place, 3);
    for (int i = 0; i < 3; i++) {
        records[i] = client_place_record(place, (size_t)i);
        assert_int_equal(records[i].op_id, ops[2 - i]);
        assert_int_equal(records[i].flags, i < 2 ? OT_RECORD_IMPLICIT_END : 0);
        CHECK_U64(records[i].end_ticks, records[0].end_ticks);
    }
}

static void a_stale_handle_does_nothing(void **state)
{
    struct client_place *place = *state;
    uint32_t op = optrace_label("work");
    struct optrace_span first = optrace_begin(op);
    struct optrace_span second;

    optrace_end(first);
    optrace_end(first);
    second = optrace_begin(op);
    optrace_kern(first);
    optrace_span_correlate(first, 7);
    optrace_end(first); /* the same depth, but not the same span */
    assert_int_equal(ot_ring_depth(client_place_ring(place, 0)->state), 1);
    optrace_end(second);
    client_place_drain(place, 2);
    CHECK_U64(client_place_record(place, 1).kern_ticks, 0);
    CHECK_U64(client_place_record(place, 1).correlation, 0);
}

static void no_span_is_accepted_everywhere(void **state)
{
    struct client_place *place = *state;
    struct optrace_span none = {0, 0};
    struct optrace_run no_run = {{0, 0}, 0, 0};

    optrace_kern(none);
    optrace_span_correlate(none, 1);
    optrace_end(none);
    optrace_run_end(no_run);
    assert_int_equal(optrace_begin(0).id, 0);
    assert_int_equal(optrace_copy_begin(0, 1).id, 0);
    record_one(optrace_label("work"));
    client_place_drain(place, 1);
}

static void deeper_than_120_is_counted(void **state)
{
    struct client_place *place = *state;
    uint32_t op = optrace_label("deep");
    struct optrace_span spans[130];
    struct optrace_loss before, loss;
    const struct ot_ring *ring;

    optrace_lost(&before);
    for (int i = 0; i < 130; i++) {
        spans[i] = optrace_begin(op);
        assert_int_equal(spans[i].id != 0, i < OT_RING_DEPTH_MAX);
    }
    for (int i = 129; i >= 0; i--)
        optrace_end(spans[i]);
    client_place_drain(place, 120);
    optrace_lost(&loss);
    CHECK_U64(loss.too_deep - before.too_deep, 10);
    CHECK_U64(loss.ring_full, before.ring_full);
    ring = client_place_ring(place, 0);
    CHECK_U64(ring->gaps[0].lost_count, 10);
    assert_int_equal(ring->gaps[0].reason, OT_LOSS_TOO_DEEP);
    assert_int_equal(ring->gaps[0].lane_id, optrace_thread_lane());
    assert_true(ring->gaps[0].first_ticks <= ring->gaps[0].last_ticks);
    assert_true(ring->gaps[0].first_ticks > spans[119].start);
}

static void a_full_ring_drops_the_newest(void **state)
{
    struct client_place *place = *state;
    const int room = CLIENT_PLACE_RECORDS - CLIENT_PLACE_OWN;
    uint32_t ops[2] = {optrace_label("kept"), optrace_label("dropped")};
    struct optrace_loss before, loss;
    const struct ot_ring *ring;

    optrace_lost(&before);
    client_place_set_idle(place, true);
    record_one(ops[0]);
    ring = client_place_ring(place, 0);
    for (int i = 1; i < room; i++)
        record_one(ops[0]);
    optrace_lost(&loss);
    CHECK_U64(loss.ring_full, before.ring_full);
    for (int i = 0; i < 5; i++)
        record_one(ops[1]);
    optrace_lost(&loss);
    CHECK_U64(loss.ring_full - before.ring_full, 5);
    CHECK_U64(ring->gaps[0].lost_count, 5);
    assert_int_equal(ring->gaps[0].reason, OT_LOSS_RING_FULL);
    CHECK_U64(ot_ring_depth(ring->state), 0);

    client_place_set_idle(place, false);
    client_place_drain(place, room);
    for (int i = 0; i < room; i++)
        assert_int_equal(client_place_record(place, (size_t)i).op_id, ops[0]);
    record_one(ops[0]); /* there is room again */
    client_place_drain(place, room + 1);
    assert_true(fake_daemon_count(place->daemon, FAKE_DOORBELLS) > 0);
}

/* Each wakes the daemon and costs as much as a thousand spans. */
static void a_ring_that_fills_rings_twice(void **state)
{
    struct client_place *place = *state;
    const uint32_t op = optrace_label("work");
    uint64_t before;

    record_one(op);
    client_place_drain(place, 1);
    before = fake_daemon_count(place->daemon, FAKE_DOORBELLS);
    client_place_set_idle(place, true);
    for (int i = 0; i < CLIENT_PLACE_RECORDS; i++) {
        ot_hot.thread->bell_ticks = 0; /* as when it takes long */
        record_one(op);
    }
    client_place_set_idle(place, false);
    client_place_drain(place, 1 + CLIENT_PLACE_RECORDS);
    CHECK_U64(fake_daemon_count(place->daemon, FAKE_DOORBELLS) - before, 2);
}

static void losses_are_counted_per_lane(void **state)
{
    struct client_place *place = *state;
    struct optrace_lane_info info = {.name = "stream", .kind = OPTRACE_LANE_STREAM};
    struct optrace_event event = {.op = optrace_label("kernel"), .start = 10, .end = 20};
    uint32_t lanes[8];
    const struct ot_ring *ring;

    for (int i = 0; i < 8; i++) {
        info.native_id = (uint64_t)i;
        CHECK_OK(optrace_lane_define(&info, &lanes[i]));
    }
    client_place_set_idle(place, true);
    for (int i = CLIENT_PLACE_OWN; i < CLIENT_PLACE_RECORDS; i++)
        CHECK_OK(optrace_record(&event));
    for (int i = 0; i < 8; i++) {
        event.lane = lanes[i];
        for (int n = 0; n <= i; n++)
            assert_int_equal(optrace_record(&event), -ENOBUFS);
    }
    ring = client_place_ring(place, 0);
    CHECK_U64(ring->gaps[0].lost_count, 0);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(ring->gaps[i + 1].lane_id, lanes[i]);
        CHECK_U64(ring->gaps[i + 1].lost_count, (uint64_t)i + 1);
    }
    assert_int_equal(ring->gaps[7].lane_id, lanes[6]);
    CHECK_U64(ring->gaps[7].lost_count, 7 + 8);
}

static void runs_number_what_is_inside(void **state)
{
    struct client_place *place = *state;
    struct optrace_model_info model = {.name = "net", .parameter_bytes = -1};
    uint32_t op = optrace_label("work");
    uint32_t model_id;
    struct optrace_run outer, inner;

    CHECK_OK(optrace_model_define(&model, &model_id));
    outer = optrace_run_begin(model_id, OPTRACE_WARMUP);
    record_one(op);
    inner = optrace_run_begin(0, OPTRACE_WITHOUT_OPS);
    record_one(op);
    optrace_run_end(inner);
    record_one(op);
    optrace_run_end(outer);
    record_one(op);
    assert_true(outer.number > 0 && inner.number > outer.number);
    client_place_drain(place, 6);
    assert_int_equal(client_place_record(place, 0).run, outer.number);
    assert_int_equal(client_place_record(place, 1).run, inner.number);
    assert_int_equal(client_place_record(place, 2).kind, OT_RECORD_RUN);
    assert_int_equal(client_place_record(place, 2).run, inner.number);
    assert_int_equal(client_place_record(place, 2).op_id, 0);
    assert_int_equal(client_place_record(place, 2).flags, OT_RECORD_WITHOUT_OPS);
    assert_int_equal(client_place_record(place, 3).run, outer.number);
    assert_int_equal(client_place_record(place, 4).kind, OT_RECORD_RUN);
    assert_int_equal(client_place_record(place, 4).op_id, model_id);
    assert_int_equal(client_place_record(place, 4).flags, OT_RECORD_WARMUP);
    assert_int_equal(client_place_record(place, 5).run, 0);
}

/* It would count such a record as damaged. */
static void an_older_daemon_is_told_nothing_new(void **state)
{
    struct client_place *place = *state;
    struct optrace_event event = {.kind = OPTRACE_KIND_RUN,
                                  .flags = OPTRACE_EVENT_WITHOUT_OPS,
                                  .run = 7,
                                  .start = 1,
                                  .end = 2};

    place->daemon =
        fake_daemon_create(place->socket, &(struct fake_daemon_options){.is_of_1_0 = true});
    CHECK_OK(client_place_start(place));
    optrace_run_end(optrace_run_begin(0, OPTRACE_WITHOUT_OPS));
    CHECK_OK(optrace_record(&event));
    client_place_drain(place, 2);
    assert_int_equal(client_place_record(place, 0).flags, 0);
    assert_int_equal(client_place_record(place, 1).flags, 0);
    optrace_stop();
}

static void a_worker_takes_a_run(void **state)
{
    struct client_place *place = *state;
    uint32_t op = optrace_label("work");
    uint32_t number = optrace_run_new();

    assert_int_equal(optrace_run_set(number), 0);
    record_one(op);
    assert_int_equal(optrace_run_set(0), number);
    record_one(op);
    client_place_drain(place, 2);
    assert_int_equal(client_place_record(place, 0).run, number);
    assert_int_equal(client_place_record(place, 1).run, 0);
}

static void points_have_their_values(void **state)
{
    struct client_place *place = *state;
    uint32_t counter = optrace_name(OPTRACE_COUNTER, "queue");
    int object;
    struct ot_wire_record record;
    double value;

    optrace_mark(optrace_name(OPTRACE_MARK, "here"));
    optrace_counter(counter, 1.5);
    optrace_counter(counter, NAN);
    optrace_counter(counter, INFINITY);
    optrace_alloc(0, &object, 64);
    optrace_alloc(0, &object, 0);
    optrace_free(optrace_name(OPTRACE_MEMORY, "arena"), &object, 64);
    optrace_free(0, &object, 0);
    client_place_drain(place, 5);
    assert_int_equal(client_place_record(place, 0).kind, OT_RECORD_MARK);
    assert_true(client_place_record(place, 0).start_ticks > 0);
    CHECK_U64(client_place_record(place, 0).end_ticks, 0);
    record = client_place_record(place, 1);
    assert_int_equal(record.kind, OT_RECORD_COUNTER);
    memcpy(&value, &record.bytes, sizeof(value));
    CHECK_NEAR(value, 1.5, 0);
    record = client_place_record(place, 2);
    assert_int_equal(record.kind, OT_RECORD_ALLOC);
    assert_int_equal(record.bytes, 64);
    CHECK_U64(record.address, (uintptr_t)&object);
    assert_int_equal(client_place_record(place, 3).kind, OT_RECORD_FREE);
    assert_int_equal(client_place_record(place, 3).bytes, -64);
    assert_int_equal(client_place_record(place, 4).bytes, 0);
}

static void a_copy_has_bytes(void **state)
{
    struct client_place *place = *state;
    uint32_t op = optrace_name(OPTRACE_COPY, "host to device");
    uint64_t correlation = optrace_correlation_new();
    struct optrace_span span = optrace_copy_begin(op, 4096);
    struct ot_wire_record record;

    optrace_span_correlate(span, correlation);
    optrace_end(span);
    assert_true(correlation >> 40 > 0);
    assert_true(optrace_correlation_new() != correlation);
    client_place_drain(place, 1);
    record = client_place_record(place, 0);
    assert_int_equal(record.kind, OT_RECORD_COPY);
    assert_int_equal(record.bytes, 4096);
    CHECK_U64(record.correlation, correlation);
}

static void given_events_arrive_as_given(void **state)
{
    struct client_place *place = *state;
    struct optrace_lane_info info = {.name = "s0", .device = "cuda:0", .kind = OPTRACE_LANE_STREAM};
    struct optrace_event event = {
        .flags = OPTRACE_EVENT_REALTIME | OPTRACE_EVENT_WARMUP, /* the latter is not for spans */
        .op = optrace_label("kernel"),
        .run = 9,
        .start = 1000,
        .kern = 1001,
        .end = 1002,
        .correlation = 77,
    };
    struct ot_wire_record record;

    CHECK_OK(optrace_lane_define(&info, &event.lane));
    CHECK_OK(optrace_record(&event));
    event.kind = OPTRACE_KIND_FREE;
    event.bytes = 12;
    event.address = 5;
    CHECK_OK(optrace_record(&event));
    event.kind = OPTRACE_KIND_COUNTER;
    event.value = -2;
    CHECK_OK(optrace_record(&event));
    client_place_drain(place, 3);
    record = client_place_record(place, 0);
    assert_int_equal(record.kind, OT_RECORD_SPAN);
    assert_int_equal(record.flags, OT_RECORD_REALTIME);
    assert_int_equal(record.lane_id, event.lane);
    assert_int_equal(record.run, 9);
    CHECK_U64(record.start_ticks, 1000);
    CHECK_U64(record.kern_ticks, 1001);
    CHECK_U64(record.end_ticks, 1002);
    CHECK_U64(record.correlation, 77);
    assert_int_equal(client_place_record(place, 1).bytes, -12);
    CHECK_U64(client_place_record(place, 1).end_ticks, 0);
    assert_int_equal(client_place_record(place, 2).kind, OT_RECORD_COUNTER);
}

static void events_that_make_no_sense_are_refused(void **state)
{
    struct client_place *place = *state;
    const uint32_t op = optrace_label("kernel");
    const struct optrace_event wrong[] = {
        {.op = 0, .start = 1, .end = 2},
        {.op = op, .start = 2, .end = 1},
        {.op = op, .start = 2, .kern = 1, .end = 3},
        {.op = op, .start = 2, .kern = 4, .end = 3},
        {.op = op, .start = UINT64_MAX, .end = UINT64_MAX},
        {.op = op, .start = 1, .end = 2, .kind = 99},
        {.op = op, .start = 1, .end = 2, .kind = OPTRACE_KIND_RUN},
        {.op = op, .start = 1, .kind = OPTRACE_KIND_ALLOC},
        {.op = op, .start = 1, .kind = OPTRACE_KIND_COUNTER, .value = INFINITY},
        {.op = op, .start = 1, .end = 2, .kind = OPTRACE_KIND_COPY, .bytes = UINT64_MAX},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (optrace_record(&wrong[i]) != -EINVAL)
            fail_msg("event %zu was taken", i);
    }
    client_place_drain(place, 0);
}

static void scopes_end_with_their_block(void **state)
{
    struct client_place *place = *state;
    uint32_t op = optrace_label("op");

    for (int i = 0; i < 2; i++) {
        OPTRACE_SCOPE("outer");
        OPTRACE_OP_SCOPE(op);
        OPTRACE_PHASE_SCOPE("phase"); /* the level is not detail */
    }
    client_place_drain(place, 4);
    assert_int_equal(client_place_record(place, 0).op_id, op);
    CHECK_OK(strcmp(client_place_op_name(place, 1), "outer"));
    CHECK_CONTAINS(client_place_op_source(place, 1), "client_span.c:");
    assert_int_equal(client_place_record(place, 1).op_id, client_place_record(place, 3).op_id);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, client_place_setup, client_place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(span_has_its_times),
        CASE(begin_is_visible_at_once),
        CASE(ending_an_outer_span_ends_the_inner_ones),
        CASE(a_stale_handle_does_nothing),
        CASE(no_span_is_accepted_everywhere),
        CASE(deeper_than_120_is_counted),
        CASE(a_full_ring_drops_the_newest),
        CASE(a_ring_that_fills_rings_twice),
        CASE(losses_are_counted_per_lane),
        CASE(runs_number_what_is_inside),
        cmocka_unit_test_setup_teardown(an_older_daemon_is_told_nothing_new, client_place_make,
                                        client_place_clear),
        CASE(a_worker_takes_a_run),
        CASE(points_have_their_values),
        CASE(a_copy_has_bytes),
        CASE(given_events_arrive_as_given),
        CASE(events_that_make_no_sense_are_refused),
        CASE(scopes_end_with_their_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
