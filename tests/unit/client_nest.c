/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans at random, compared with a model of them: what is open in the ring after each step, and the
 * records that arrive. With the time stamp counter as the clock and without.
 */
#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "client/hot.h"
#include "client/optrace.h"
#include "tests/support/check.h"
#include "tests/support/client_place.h"
#include "tests/support/draw.h"

enum { STEPS = 20000, DEPTH = 9, DRAIN_EVERY = 50 };

/* A span as it ought to be; with the handles of some that have ended. */
struct expected {
    struct optrace_span span;
    uint16_t kind;
    uint32_t op;
    uint64_t bytes;
    uint64_t correlation;
    bool has_kern;
};

struct nest {
    struct client_place *place;
    uint64_t random;
    uint32_t ops[3]; /* of a span, of a copy, and of a span when more is known */
    struct expected open[DEPTH];
    uint32_t depth;
    struct optrace_span ended;
    struct expected records[2 * DRAIN_EVERY]; /* not drained yet, and how they ended */
    bool is_implicit[2 * DRAIN_EVERY];
    size_t count, drained;
};

static uint64_t draw(struct nest *nest, uint64_t below)
{
    return draw_u64(&nest->random) % below;
}

static void begin(struct nest *nest)
{
    struct expected *next = &nest->open[nest->depth];

    if (nest->depth == DEPTH)
        return;
    if (draw(nest, 3) == 0) {
        *next = (struct expected){
            .kind = OT_RECORD_COPY, .op = nest->ops[1], .bytes = draw(nest, 2) * 4096};
        next->span = optrace_copy_begin(next->op, next->bytes);
    } else {
        *next = (struct expected){.kind = OT_RECORD_SPAN, .op = nest->ops[0]};
        next->span = optrace_begin(next->op);
    }
    nest->depth++;
    CHECK_U64(next->span.id, nest->depth);
}

static void end(struct nest *nest)
{
    uint32_t at;

    if (nest->depth == 0)
        return;
    at = nest->depth - 1;
    if (draw(nest, 8) == 0)
        at = (uint32_t)draw(nest, nest->depth);
    nest->ended = nest->open[at].span;
    optrace_end(nest->ended);
    while (nest->depth > at) {
        nest->is_implicit[nest->count] = --nest->depth > at;
        nest->records[nest->count++] = nest->open[nest->depth];
    }
}

static void add_to_one(struct nest *nest)
{
    struct expected *one;

    if (nest->depth == 0)
        return;
    one = &nest->open[draw(nest, nest->depth)];
    if (draw(nest, 3) == 0) {
        optrace_kern(one->span);
        one->has_kern = true;
    } else if (draw(nest, 2) == 0) {
        one->op = one->kind == OT_RECORD_COPY ? nest->ops[1] : nest->ops[draw(nest, 2) * 2];
        optrace_span_op(one->span, one->op);
    } else {
        one->correlation = draw(nest, 1000);
        optrace_span_correlate(one->span, one->correlation);
    }
}

/* Handles that mean nothing, through the functions that programs of other languages call. */
static void misuse(struct nest *nest)
{
    const struct optrace_span none = {0, 0};
    const struct optrace_span handle = draw(nest, 2) ? none : nest->ended;

    optrace_span_kern(handle);
    optrace_span_op(handle, nest->ops[2]);
    if (nest->depth > 0)
        optrace_span_op(nest->open[0].span, 0);
    optrace_span_correlate(handle, 77);
    optrace_span_end(handle);
}

static void compare(const struct ot_wire_record *got, const struct expected *want)
{
    assert_int_equal(got->kind, want->kind);
    assert_int_equal(got->op_id, want->op);
    assert_int_equal(got->lane_id, optrace_thread_lane());
    CHECK_U64(got->start_ticks, want->span.start);
    CHECK_U64(got->correlation, want->correlation);
    CHECK_U64(got->bytes, want->bytes);
    CHECK_U64(got->address, 0);
    assert_int_equal(got->kern_ticks != 0, want->has_kern);
}

static void compare_open(const struct nest *nest)
{
    const struct ot_ring *ring = ot_hot.ring;

    assert_int_equal(ot_ring_depth(ring->state), nest->depth);
    for (uint32_t i = 0; i < nest->depth; i++) {
        compare(&ring->open[i], &nest->open[i]);
        CHECK_U64(ring->open[i].end_ticks, 0);
        assert_int_equal(ot_wire_check_open(&ring->open[i]), 0);
    }
}

static void compare_drained(struct nest *nest)
{
    const uint64_t now = optrace_ticks();

    client_place_drain(nest->place, nest->drained + nest->count);
    for (size_t i = 0; i < nest->count; i++) {
        struct ot_wire_record got = client_place_record(nest->place, nest->drained + i);

        compare(&got, &nest->records[i]);
        assert_int_equal(got.flags, nest->is_implicit[i] ? OT_RECORD_IMPLICIT_END : 0);
        assert_true(got.start_ticks <= got.end_ticks && got.kern_ticks <= got.end_ticks);
        assert_true(got.end_ticks <= now);
    }
    nest->drained += nest->count;
    nest->count = 0;
}

static void run(struct client_place *place, int steps)
{
    struct nest nest = {.place = place, .random = DRAW_SEED};

    nest.ops[0] = optrace_label("work");
    nest.ops[1] = optrace_name(OPTRACE_COPY, "host to device");
    nest.ops[2] = optrace_label("work of this shape");
    begin(&nest);
    for (int i = 0; i < steps; i++) {
        const uint64_t what = draw(&nest, 10);

        if (what < 4)
            begin(&nest);
        else if (what < 7)
            end(&nest);
        else if (what < 9)
            add_to_one(&nest);
        else
            misuse(&nest);
        compare_open(&nest);
        if (nest.count >= DRAIN_EVERY)
            compare_drained(&nest);
    }
    while (nest.depth > 0)
        end(&nest);
    compare_drained(&nest);
}

static void spans_are_as_they_were_begun(void **state)
{
    run(*state, STEPS);
}

static void a_handle_of_nothing_ends_nothing(void **state)
{
    const struct optrace_span none = {0, 0};

    optrace_end(optrace_begin(optrace_label("work")));
    optrace_span_end(none);
    CHECK_U64(ot_ring_depth(ot_hot.state), 0);
    client_place_drain(*state, 1);
}

static void *leave_a_copy_open(void *context)
{
    const struct optrace_span span =
        optrace_copy_begin(optrace_name(OPTRACE_COPY, "host to device"), 4096);

    optrace_kern(span);
    optrace_span_correlate(span, 7);
    return ot_hot.ring;
}

static void *open_another(void *context)
{
    const struct optrace_span span = optrace_begin(optrace_label("work"));
    const struct ot_wire_record *entry = &ot_hot.ring->open[span.id - 1];

    assert_ptr_equal(ot_hot.ring, context);
    CHECK_U64(entry->kern_ticks, 0);
    CHECK_U64(entry->correlation, 0);
    CHECK_U64(entry->bytes, 0);
    optrace_end(span);
    return context;
}

/* A ring goes from a thread to the next one. */
static void what_a_thread_left_open_is_not_the_next_ones(void **state)
{
    pthread_t thread;
    void *ring;

    pthread_create(&thread, NULL, leave_a_copy_open, NULL);
    pthread_join(thread, &ring);
    assert_non_null(ring);
    pthread_create(&thread, NULL, open_another, ring);
    pthread_join(thread, &ring);
    client_place_drain(*state, 2);
    assert_int_equal(client_place_record(*state, 0).kind, OT_RECORD_COPY);
    assert_int_equal(client_place_record(*state, 0).bytes, 4096);
    assert_int_equal(client_place_record(*state, 1).bytes, 0);
    CHECK_U64(client_place_record(*state, 1).kern_ticks, 0);
}

static int setup_monotonic(void **state)
{
    ot_tick_clock = OT_TICKS_MONOTONIC;
    return client_place_setup(state);
}

static int teardown_monotonic(void **state)
{
    int rc = client_place_teardown(state);

    ot_tick_clock = OT_TICKS_UNKNOWN;
    return rc;
}

/* On either way to record: by begin and end, and at once. */
static void without_the_counter_times_are_monotonic(void **state)
{
    const uint64_t before_ns = ot_clock_ns(CLOCK_MONOTONIC);
    struct ot_wire_record record;
    struct optrace_span span = optrace_begin(optrace_label("work"));

    if (!ot_fast_ticks_fit()) /* the counter may be ahead of that clock, or behind it */
        CHECK_U64(ot_hot.deadline, 0);
    optrace_end(span);
    optrace_mark(optrace_name(OPTRACE_MARK, "here"));
    client_place_drain(*state, 2);
    record = client_place_record(*state, 0);
    assert_in_range(record.start_ticks, before_ns, ot_clock_ns(CLOCK_MONOTONIC));
    assert_in_range(record.end_ticks, record.start_ticks, ot_clock_ns(CLOCK_MONOTONIC));
    record = client_place_record(*state, 1);
    assert_in_range(record.start_ticks, before_ns, ot_clock_ns(CLOCK_MONOTONIC));
}

static void without_the_counter_spans_are_the_same(void **state)
{
    run(*state, STEPS / 4);
}

#define CASE(name, setup, teardown) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(without_the_counter_times_are_monotonic, setup_monotonic, teardown_monotonic),
        CASE(without_the_counter_spans_are_the_same, setup_monotonic, teardown_monotonic),
        CASE(spans_are_as_they_were_begun, client_place_setup, client_place_teardown),
        CASE(what_a_thread_left_open_is_not_the_next_ones, client_place_setup,
             client_place_teardown),
        CASE(a_handle_of_nothing_ends_nothing, client_place_setup, client_place_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
