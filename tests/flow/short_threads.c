/* SPDX-License-Identifier: Apache-2.0 */
/* Programs with far more threads than lanes or rings: what is not stored is said, to the event. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/optrace.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/wait.h"

enum {
    AT_ONCE = 50,
    SHORT_THREADS = 10000,
    SPANS = 3,
    CROWD = 120,
    CROWD_RINGS = 7, /* of the largest size, which is all that a session may have */
};

static uint32_t op;

static void start(const struct optraced *daemon, uint32_t ring_records)
{
    const struct optrace_config config = {.socket_path = daemon->socket,
                                          .ring_records = ring_records,
                                          .connect_timeout_ms = WAIT_MS,
                                          .exit_timeout_ms = WAIT_MS,
                                          .required = 1};

    if (optrace_start(&config) < 0)
        _exit(2);
    op = optrace_label("of a thread");
}

static void record(int count)
{
    for (int i = 0; i < count; i++)
        optrace_end(optrace_begin(op));
}

static void *record_and_end(void *argument)
{
    record(SPANS);
    return argument;
}

static void run_threads(pthread_t *threads, int count, void *(*function)(void *), void *argument)
{
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, function, argument) != 0)
            _exit(3);
}

static void join(const pthread_t *threads, int count)
{
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static long count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    long count = 0;

    while (dir && readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* Exits 0 when the descriptors in use stayed few. */
static void one_after_the_other(const struct optraced *daemon)
{
    pthread_t threads[AT_ONCE];
    long before;

    start(daemon, 0);
    before = count_descriptors();
    for (int i = 0; i < SHORT_THREADS; i += AT_ONCE) {
        run_threads(threads, AT_ONCE, record_and_end, NULL);
        join(threads, AT_ONCE);
    }
    if (count_descriptors() > before + AT_ONCE + 8)
        _exit(4);
    optrace_stop();
    _exit(0);
}

/* Runs `program` in a process of its own. Returns its wait status. */
static int run(const struct optraced *daemon, void (*program)(const struct optraced *daemon))
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0)
        program(daemon);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int64_t lost(const struct optraced *daemon)
{
    return optraced_query(daemon, "SELECT ifnull(sum(lost_count), 0) FROM gap");
}

static void wait_for_end(const struct optraced *daemon)
{
    optraced_wait_for(daemon, "SELECT count(*) FROM session WHERE end_ns IS NOT NULL", 1);
}

static void ten_thousand_short_threads_are_stored(void **state)
{
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    assert_int_equal(run(&daemon, one_after_the_other), 0);
    wait_for_end(&daemon);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), SHORT_THREADS * SPANS);
    CHECK_U64(lost(&daemon), 0);
    /* The first threads have lanes of their own, those that come later share. */
    assert_true(optraced_query(&daemon, "SELECT count(*) FROM lane") < 4096);
    assert_true(optraced_query(&daemon, "SELECT count(*) FROM lane WHERE native_id IS NULL") > 0);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM lane WHERE native_id = 0"), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT max(n) FROM (SELECT count(*) AS n FROM event JOIN"
                                      " lane USING (lane_id) WHERE native_id IS NOT NULL"
                                      " GROUP BY lane_id)"),
              SPANS);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM (SELECT start_ns < max(start_ns +"
                                      " dur_ns) OVER (PARTITION BY lane_id ORDER BY start_ns ROWS"
                                      " BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS overlaps"
                                      " FROM event) WHERE overlaps"),
              0);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

struct crowd {
    pthread_barrier_t met;
    int go_on[2];
};

static void *record_in_a_crowd(void *argument)
{
    struct crowd *crowd = argument;

    record(SPANS);
    pthread_barrier_wait(&crowd->met); /* all are there at once */
    record(SPANS);
    pthread_barrier_wait(&crowd->met);
    return NULL;
}

static void fill_the_rings(const struct optraced *daemon, bool is_killed)
{
    struct crowd crowd;
    pthread_t threads[CROWD];

    start(daemon, 1 << 22);
    if (pthread_barrier_init(&crowd.met, NULL, CROWD + 1) != 0)
        _exit(5);
    run_threads(threads, CROWD, record_in_a_crowd, &crowd);
    pthread_barrier_wait(&crowd.met);
    pthread_barrier_wait(&crowd.met);
    if (is_killed)
        raise(SIGKILL);
    join(threads, CROWD);
    optrace_stop();
    _exit(0);
}

static void crowd_that_stops(const struct optraced *daemon)
{
    fill_the_rings(daemon, false);
}

static void crowd_that_is_killed(const struct optraced *daemon)
{
    fill_the_rings(daemon, true);
}

static void check_crowd(void (*program)(const struct optraced *daemon), int wanted_status)
{
    struct optraced daemon;
    int64_t stored;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    assert_int_equal(run(&daemon, program), wanted_status);
    wait_for_end(&daemon);
    stored = optraced_query(&daemon, "SELECT count(*) FROM event");
    CHECK_U64(stored, CROWD_RINGS * 2 * SPANS);
    CHECK_U64(stored + lost(&daemon), CROWD * 2 * SPANS);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM gap WHERE reason <> 'no memory' OR"
                                      " lane_id IS NOT NULL"),
              0);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void what_a_crowd_loses_is_said(void **state)
{
    check_crowd(crowd_that_stops, 0);
}

static void what_a_crowd_loses_is_said_when_it_is_killed(void **state)
{
    check_crowd(crowd_that_is_killed, SIGKILL);
}

static void *end_within_two_spans(void *argument)
{
    optrace_begin(op);
    optrace_begin(op);
    return argument;
}

static void threads_that_end_in_spans(const struct optraced *daemon)
{
    pthread_t threads[2];

    start(daemon, 0);
    for (int i = 0; i < 2; i++) {
        run_threads(threads, 2, end_within_two_spans, NULL);
        join(threads, 2);
        if (optrace_flush(WAIT_MS) < 0)
            _exit(6);
    }
    optrace_stop();
    _exit(0);
}

/* The end of a thread ends its spans. */
static void spans_of_ended_threads_are_stored(void **state)
{
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    assert_int_equal(run(&daemon, threads_that_end_in_spans), 0);
    wait_for_end(&daemon);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event WHERE dur_ns IS NOT NULL"), 8);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), 8);
    CHECK_U64(lost(&daemon), 0);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_short_threads_are_stored),
        cmocka_unit_test(what_a_crowd_loses_is_said),
        cmocka_unit_test(what_a_crowd_loses_is_said_when_it_is_killed),
        cmocka_unit_test(spans_of_ended_threads_are_stored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
