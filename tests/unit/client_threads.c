/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads at once: recording, defining, flushing, starting and stopping, ending. */
#include <errno.h>
#include <pthread.h>

#include "client/optrace.h"
#include "client/session.h"
#include "tests/support/check.h"
#include "tests/support/client_place.h"
#include "tests/support/wait.h"

enum { THREADS = 4, ROUNDS = 500 };

struct worker {
    pthread_t thread;
    struct client_place *place;
    pthread_barrier_t *met;
    int index;
    uint32_t lane;
};

static void start_workers(struct worker *workers, struct client_place *place,
                          void *(*function)(void *))
{
    static pthread_barrier_t met;

    CHECK_OK(pthread_barrier_init(&met, NULL, THREADS));
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.place = place, .index = i, .met = &met};
        CHECK_OK(pthread_create(&workers[i].thread, NULL, function, &workers[i]));
    }
}

static void join_workers(struct worker *workers)
{
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
}

/* Nested spans whose correlation says who and how many. */
static void *record_nested(void *argument)
{
    struct worker *worker = argument;
    uint32_t op = optrace_label("of all threads");

    worker->lane = optrace_thread_lane();
    for (int i = 0; i < ROUNDS; i++) {
        struct optrace_span outer = optrace_begin(op);
        struct optrace_span inner = optrace_begin(op);

        optrace_span_correlate(inner, (uint64_t)worker->index << 32 | (uint64_t)(2 * i));
        optrace_end(inner);
        optrace_span_correlate(outer, (uint64_t)worker->index << 32 | (uint64_t)(2 * i + 1));
        optrace_end(outer);
        if (i % 64 == 0)
            optrace_flush(WAIT_MS); /* room */
        if (i == 0)
            pthread_barrier_wait(worker->met); /* all of them have their rings */
    }
    return NULL;
}

static void each_thread_has_its_ring(void **state)
{
    struct client_place *place = *state;
    struct worker workers[THREADS];
    uint64_t next[THREADS] = {0};

    start_workers(workers, place, record_nested);
    join_workers(workers);
    client_place_drain(place, (size_t)THREADS * ROUNDS * 2);
    assert_int_equal(place->daemon->ring_count, THREADS);
    for (size_t i = 0; i < (size_t)THREADS * ROUNDS * 2; i++) {
        struct ot_wire_record record = client_place_record(place, i);
        uint64_t index = record.correlation >> 32;

        assert_true(index < THREADS);
        assert_int_equal(record.lane_id, workers[index].lane);
        CHECK_U64((uint32_t)record.correlation, next[index]);
        next[index]++;
    }
}

static void *record_named(void *argument)
{
    char name[32];
    struct optrace_op_info info = OPTRACE_OP_INFO(name, "Conv");
    uint32_t op;

    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof(name), "op %d", i);
        optrace_end(optrace_begin(optrace_label(name)));
        if (optrace_op_define(&info, &op) == 0)
            optrace_end(optrace_begin(op));
        OPTRACE_SCOPE("site");
        if (i % 16 == 0)
            optrace_flush(WAIT_MS); /* room */
    }
    return NULL;
}

static void definitions_come_from_everywhere(void **state)
{
    struct client_place *place = *state;
    struct worker workers[THREADS];
    const uint64_t ops = fake_daemon_count(place->daemon, FAKE_OPS);

    start_workers(workers, place, record_named);
    join_workers(workers);
    client_place_drain(place, (size_t)THREADS * 150);
    /* Labels and the site once, ops each time. The definitions of earlier cases may come late. */
    assert_true(fake_daemon_count(place->daemon, FAKE_OPS) - ops <= 51 + THREADS * 50 + 8);
}

static void *record_a_little(void *argument)
{
    optrace_thread_name("short");
    optrace_end(optrace_begin(optrace_label("short")));
    return NULL;
}

/* The ring of an ended thread is the next one's: far more threads than rings are made. */
static void threads_come_and_go(void **state)
{
    struct client_place *place = *state;
    struct worker workers[THREADS];

    for (int i = 0; i < FAKE_RINGS_MAX / THREADS - 1; i++) {
        start_workers(workers, place, record_a_little);
        join_workers(workers);
    }
    client_place_drain(place, FAKE_RINGS_MAX - THREADS);
    for (uint32_t i = 0; i < FAKE_RINGS_MAX - THREADS; i++) {
        uint32_t lane = client_place_record(place, i).lane_id;

        CHECK_OK(strcmp(place->daemon->texts[place->daemon->lanes[lane].name], "short"));
        for (uint32_t k = 0; k < i && i % 8 == 0; k++)
            assert_int_not_equal(lane, client_place_record(place, k).lane_id);
    }
    assert_true(place->daemon->ring_count <= THREADS);
}

static void *flush(void *argument)
{
    return (void *)(intptr_t)optrace_flush(WAIT_MS);
}

/* Whichever thread takes the answers off the socket. */
static void each_flush_has_its_own_answer(void **state)
{
    struct client_place *place = *state;
    void *first, *second;
    pthread_t threads[2];

    fake_daemon_lock(place->daemon);
    place->daemon->options.pairs_flushes = true;
    fake_daemon_unlock(place->daemon);
    for (int i = 0; i < 50; i++) {
        for (int k = 0; k < 2; k++)
            CHECK_OK(pthread_create(&threads[k], NULL, flush, NULL));
        pthread_join(threads[0], &first);
        pthread_join(threads[1], &second);
        assert_int_equal((int)(intptr_t)first + (int)(intptr_t)second, -EIO);
    }
    fake_daemon_lock(place->daemon);
    place->daemon->options.pairs_flushes = false;
    fake_daemon_unlock(place->daemon);
}

/* A daemon of before answers after the commit, and its answer says no more. */
static void a_flush_to_the_disk_needs_a_daemon_that_can(void **state)
{
    CHECK_OK(optrace_flush(WAIT_MS));
    assert_int_equal(optrace_flush_with(WAIT_MS, OPTRACE_DURABLE), -EOPNOTSUPP);
    assert_int_equal(optrace_flush_with(WAIT_MS, 1u << 31), -EINVAL);
}

static void *record_until_stopped(void *argument)
{
    struct worker *worker = argument;
    uint32_t op = optrace_label("over stop and start");

    while (fake_daemon_count(worker->place->daemon, FAKE_BYES) < 5) {
        struct optrace_span span = optrace_begin(op);

        optrace_kern(span);
        optrace_mark(op);
        optrace_end(span);
    }
    return NULL;
}

static void stop_and_start_while_threads_record(void **state)
{
    struct client_place *place = *state;
    struct worker workers[THREADS];

    start_workers(workers, place, record_until_stopped);
    for (uint64_t i = 1; i <= 5; i++) {
        optrace_flush(WAIT_MS);
        optrace_stop();
        fake_daemon_wait(place->daemon, FAKE_BYES, i);
        CHECK_OK(client_place_start(place));
    }
    join_workers(workers);
    CHECK_OK(optrace_flush(WAIT_MS));
    CHECK_U64(fake_daemon_count(place->daemon, FAKE_HELLOS), 6);
}

/* As after a jump of an hour back, of a thread whose ring the daemon keeps empty. */
static void the_housekeeping_goes_on_when_the_counter_goes_back(void **state)
{
    const uint32_t op = optrace_label("after a jump");
    const uint64_t hour = 3600 * ot_session.ticks_per_s;

    optrace_end(optrace_begin(op));
    ot_hot.due += hour;
    ot_hot.deadline += hour;
    for (int i = 0; i < 2 * CLIENT_PLACE_RECORDS && ot_hot.due > ot_ticks() + hour / 2; i++) {
        optrace_end(optrace_begin(op));
        __atomic_store_n(&ot_hot.ring->tail, ot_ring_head(ot_hot.state), __ATOMIC_RELEASE);
    }
    assert_true(ot_hot.due < ot_ticks() + hour / 2);
}

static void *correlate(void *argument)
{
    struct worker *worker = argument;

    for (int i = 0; i < ROUNDS; i++)
        worker->lane += optrace_correlation_new() >> 40 != 0;
    return (void *)(uintptr_t)optrace_correlation_new();
}

static void correlations_are_unique(void **state)
{
    struct worker workers[THREADS];
    void *last[THREADS];

    start_workers(workers, *state, correlate);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, &last[i]);
        assert_int_equal(workers[i].lane, ROUNDS);
        for (int k = 0; k < i; k++)
            assert_ptr_not_equal(last[i], last[k]);
    }
}

struct crowd {
    pthread_barrier_t met;
    uint32_t op;
};

static void *record_together(void *argument)
{
    struct crowd *crowd = argument;

    optrace_end(optrace_begin(crowd->op));
    pthread_barrier_wait(&crowd->met); /* all rings exist at once */
    return NULL;
}

/* A session may have 2^25 records of rings, and the client stays an eighth below: of eight threads
 * with the largest rings, the last one gets none, and the daemon hears how much it lost. */
static void threads_without_a_ring_are_told(void **state)
{
    enum { CROWD = 8 };
    struct client_place *place = *state;
    struct optrace_config config = {
        .socket_path = place->socket, .ring_records = 1 << 22, .required = 1};
    struct crowd crowd = {.op = optrace_label("of a crowd")};
    struct optrace_loss before, loss;
    const struct ot_ring *losses;
    pthread_t threads[CROWD];

    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(optrace_start(&config));
    optrace_lost(&before);
    CHECK_OK(pthread_barrier_init(&crowd.met, NULL, CROWD));
    for (int i = 0; i < CROWD; i++)
        CHECK_OK(pthread_create(&threads[i], NULL, record_together, &crowd));
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    client_place_drain(place, CROWD - 1);
    optrace_lost(&loss);
    CHECK_U64(loss.no_memory - before.no_memory, 1);
    losses = client_place_ring(place, CROWD - 1); /* which has no writer */
    CHECK_U64(losses->header.record_count, OT_WIRE_RING_RECORDS_MIN);
    assert_int_equal(losses->gaps[1].reason, OT_LOSS_NO_MEMORY);
    assert_int_equal(losses->gaps[1].lane_id, 0);
    CHECK_U64(losses->gaps[1].lost_count, 1);
    pthread_barrier_destroy(&crowd.met);
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, client_place_setup, client_place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(each_thread_has_its_ring),
        CASE(definitions_come_from_everywhere),
        CASE(threads_come_and_go),
        CASE(each_flush_has_its_own_answer),
        CASE(a_flush_to_the_disk_needs_a_daemon_that_can),
        CASE(stop_and_start_while_threads_record),
        CASE(correlations_are_unique),
        cmocka_unit_test_setup_teardown(threads_without_a_ring_are_told, client_place_make,
                                        client_place_clear),
        CASE(the_housekeeping_goes_on_when_the_counter_goes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
