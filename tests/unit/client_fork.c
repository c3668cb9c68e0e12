/* SPDX-License-Identifier: Apache-2.0 */
/* fork(), exit and death: what happens to sessions and records of processes that come and go. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "client/optrace.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/client_place.h"
#include "tests/support/wait.h"

static void record_one(uint32_t op)
{
    optrace_end(optrace_begin(op));
}

struct context {
    struct client_place *place;
    uint32_t op;
    struct optrace_span span;
};

/* Fork while the daemon's thread holds still: a child must not inherit a lock that this thread has
 * taken within the C library or a sanitizer's allocator. */
static void start_child(struct child *child, int (*function)(void *), struct context *context)
{
    fake_daemon_lock(context->place->daemon);
    child_start_function(child, function, context);
    fake_daemon_unlock(context->place->daemon);
}

/* In a child: records, then leaves in the way of exit(), with the library's destructor. */
static int record_and_exit(void *argument)
{
    const struct context *context = argument;

    record_one(context->op);
    record_one(context->op);
    exit(0);
}

static void a_child_has_a_session_of_its_own(void **state)
{
    struct client_place *place = *state;
    struct context context = {.place = place, .op = optrace_label("work")};
    struct child child;
    uint8_t uuid[16];

    record_one(context.op);
    client_place_drain(place, 1);
    memcpy(uuid, place->daemon->hello.uuid, sizeof(uuid));
    assert_false(place->daemon->hello.features & OT_FEATURE_RECORDS);
    start_child(&child, record_and_exit, &context);
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
    fake_daemon_wait(place->daemon, FAKE_RECORDS, 3);
    fake_daemon_lock(place->daemon);
    assert_int_equal(place->daemon->hello.pid, child.pid);
    assert_int_equal(place->daemon->hello.connection, 0);
    assert_true(place->daemon->hello.features & OT_FEATURE_RECORDS);
    assert_int_not_equal(memcmp(place->daemon->hello.uuid, uuid, sizeof(uuid)), 0);
    fake_daemon_unlock(place->daemon);
    assert_int_equal(child_wait(&child, WAIT_MS), 0);
    child_deinit(&child);
    record_one(context.op);
    client_place_drain(place, 4);
}

static int do_nothing(void *argument)
{
    exit(0);
}

static void a_child_that_records_nothing_stays_silent(void **state)
{
    struct client_place *place = *state;
    struct context context = {.place = place};
    struct child child;

    start_child(&child, do_nothing, &context);
    assert_int_equal(child_wait(&child, WAIT_MS), 0);
    child_deinit(&child);
    record_one(optrace_label("work"));
    client_place_drain(place, 1);
    CHECK_U64(fake_daemon_count(place->daemon, FAKE_HELLOS), 1);
    CHECK_U64(fake_daemon_count(place->daemon, FAKE_BYES), 0);
}

static int end_what_the_parent_began(void *argument)
{
    const struct context *context = argument;

    optrace_kern(context->span);
    optrace_end(context->span);
    record_one(context->op);
    optrace_end(context->span);
    exit(0);
}

static void spans_of_the_parent_do_not_exist_in_the_child(void **state)
{
    struct client_place *place = *state;
    struct context context = {.place = place, .op = optrace_label("work")};
    struct child child;

    context.span = optrace_begin(context.op);
    start_child(&child, end_what_the_parent_began, &context);
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
    assert_int_equal(child_wait(&child, WAIT_MS), 0);
    child_deinit(&child);
    optrace_end(context.span);
    client_place_drain(place, 2);
    CHECK_U64(client_place_record(place, 1).start_ticks, context.span.start);
    CHECK_U64(client_place_record(place, 1).kern_ticks, 0);
}

static int record_and_die(void *argument)
{
    const struct context *context = argument;

    record_one(context->op);
    if (optrace_flush(WAIT_MS) < 0) /* connected, so that it is known what must be there */
        return 1;
    for (int i = 0; i < 100; i++)
        record_one(context->op);
    optrace_begin(context->op);
    optrace_begin(context->op);
    kill(getpid(), SIGKILL);
    return 1;
}

static void what_a_killed_program_recorded_is_there(void **state)
{
    struct client_place *place = *state;
    struct context context = {.place = place, .op = optrace_label("work")};
    const struct ot_ring *ring;
    struct child child;

    start_child(&child, record_and_die, &context);
    assert_int_equal(child_wait(&child, WAIT_MS), 128 + SIGKILL);
    child_deinit(&child);
    fake_daemon_wait(place->daemon, FAKE_CLOSES, 1);
    fake_daemon_wait(place->daemon, FAKE_RECORDS, 101);
    CHECK_U64(fake_daemon_count(place->daemon, FAKE_BYES), 0);
    ring = client_place_ring(place, 0);
    CHECK_U64(ot_ring_depth(ring->state), 2);
    CHECK_U64(ot_ring_head(ring->state), CLIENT_PLACE_OWN + 101);
    assert_int_equal(ring->open[1].op_id, context.op);
}

struct recorder {
    pthread_t thread;
    uint32_t op;
    bool is_ending;
    uint64_t count;
};

static void *record_until_told(void *argument)
{
    struct recorder *recorder = argument;

    while (!__atomic_load_n(&recorder->is_ending, __ATOMIC_RELAXED)) {
        record_one(recorder->op);
        __atomic_store_n(&recorder->count, recorder->count + 1, __ATOMIC_RELAXED);
        if (recorder->count % 64 == 0 && optrace_flush(WAIT_MS) < 0)
            break;
    }
    return NULL;
}

static bool is_well_under_way(void *argument)
{
    const struct recorder *recorder = argument;

    return __atomic_load_n(&recorder->count, __ATOMIC_RELAXED) > 128;
}

static void forks_and_threads_do_not_disturb_each_other(void **state)
{
    enum { CHILDREN = 10 };
    struct client_place *place = *state;
    struct recorder recorder = {.op = optrace_label("in the background")};
    struct context context = {.place = place, .op = optrace_label("work")};

    CHECK_OK(pthread_create(&recorder.thread, NULL, record_until_told, &recorder));
    wait_until(is_well_under_way, &recorder, WAIT_MS); /* and so allocates no more */
    for (int i = 0; i < CHILDREN; i++) {
        struct child child;

        start_child(&child, record_and_exit, &context);
        assert_int_equal(child_wait(&child, WAIT_MS), 0);
        child_deinit(&child);
    }
    fake_daemon_wait(place->daemon, FAKE_BYES, CHILDREN);
    __atomic_store_n(&recorder.is_ending, true, __ATOMIC_RELAXED);
    pthread_join(recorder.thread, NULL);
    client_place_drain(place, 2 * CHILDREN + recorder.count);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, client_place_setup, client_place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_child_has_a_session_of_its_own),
        CASE(a_child_that_records_nothing_stays_silent),
        CASE(spans_of_the_parent_do_not_exist_in_the_child),
        CASE(what_a_killed_program_recorded_is_there),
        CASE(forks_and_threads_do_not_disturb_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
