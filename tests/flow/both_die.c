/* SPDX-License-Identifier: Apache-2.0 */
/* Program and daemon both die: nobody knows what the program recorded in between, and everybody is
 * told so. Where it is known, nobody is. */
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/raw_client.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

enum { RING_RECORDS = 1024, BEFORE = 10, BETWEEN = 7 };

static struct optraced collector;

static int set_up(void **state)
{
    optraced_init(&collector);
    optraced_start(&collector, NULL);
    return 0;
}

static int tear_down(void **state)
{
    optraced_deinit(&collector);
    return 0;
}

/* --- The program: records and flushes; when there is no daemon any more, records on. --- */

static void put_spans(struct raw_ring *ring, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct ot_wire_record record = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 100, 0);

        assert_true(raw_ring_put(ring, &record));
    }
}

static int program(void *context)
{
    struct raw_client client;
    struct raw_ring ring;
    uint8_t frame[4096];
    sigset_t told;
    int number;

    sigemptyset(&told);
    sigaddset(&told, SIGUSR1);
    sigprocmask(SIG_BLOCK, &told, NULL);
    raw_init(&client);
    raw_join(&client, collector.socket);
    raw_define(&client);
    raw_ring_create(&ring, &client, 1, 1, RING_RECORDS);
    assert_true(raw_ring_send(&client, &ring));
    put_spans(&ring, BEFORE);
    assert_int_equal(raw_flush(&client), 0);
    printf("flushed %lld\n", (long long)ot_clock_ns(CLOCK_REALTIME));
    fflush(stdout);
    while (raw_receive(&client, frame, sizeof(frame)) > 0)
        ;
    put_spans(&ring, BETWEEN);
    printf("alone\n");
    fflush(stdout);
    if (context) { /* it comes back */
        sigwait(&told, &number);
        raw_join(&client, collector.socket);
        raw_define(&client);
        assert_true(raw_ring_send(&client, &ring));
        assert_int_equal(raw_flush(&client), 0);
        raw_bye(&client);
        printf("back\n");
        return 0;
    }
    for (;;)
        pause();
}

/* Starts it, kills the daemon, lets it record on. Returns when it had flushed. */
static long long start_and_leave_alone(struct child *child, bool comes_back)
{
    long long flushed_ns = 0;

    child_start_function(child, program, comes_back ? child : NULL);
    assert_true(child_wait_text(child, "flushed", WAIT_MS));
    assert_true(child_wait_text(child, "\n", WAIT_MS));
    assert_int_equal(sscanf(child->out, "flushed %lld", &flushed_ns), 1);
    optraced_kill(&collector);
    assert_true(child_wait_text(child, "alone", WAIT_MS));
    return flushed_ns;
}

/* Says goodbye when it is told to, and ends. */
static int polite_program(void *context)
{
    struct raw_client client;
    struct raw_ring ring;
    sigset_t told;
    int number;

    sigemptyset(&told);
    sigaddset(&told, SIGUSR1);
    sigprocmask(SIG_BLOCK, &told, NULL);
    raw_init(&client);
    raw_join(&client, collector.socket);
    raw_define(&client);
    raw_ring_create(&ring, &client, 1, 1, RING_RECORDS);
    assert_true(raw_ring_send(&client, &ring));
    put_spans(&ring, BEFORE);
    assert_int_equal(raw_flush(&client), 0);
    printf("flushed\n");
    fflush(stdout);
    sigwait(&told, &number);
    raw_bye(&client);
    return 0;
}

static struct child_result report(const char *option, const char *value)
{
    char *path = place_program("analyze/profile_analyze");
    const char *argv[] = {path, collector.store, option, value, NULL};
    struct child_result result = child_run(argv, NULL);

    free(path);
    return result;
}

/* What every reader of the store is told. */
static void check_told(void)
{
    struct child_result result = report(NULL, NULL);

    assert_int_equal(result.status, EXIT_OK);
    CHECK_CONTAINS(result.out, "LOST: an unknown number of events since ");
    assert_null(strstr(result.out, "No event was lost"));
    child_result_deinit(&result);
    result = report("--strict", NULL);
    assert_int_equal(result.status, EXIT_NO);
    CHECK_CONTAINS(result.err, "1 session lost an unknown number of events");
    child_result_deinit(&result);
    result = report("--format", "json");
    CHECK_CONTAINS(result.out, "\"no daemon\"");
    CHECK_CONTAINS(result.out, "\"lost_count\": null");
    child_result_deinit(&result);
}

/* What it had flushed is there. That this was all, the daemon has not written down. */
static void a_goodbye_may_die_with_the_daemon(void **state)
{
    struct child child;

    child_start_function(&child, polite_program, NULL);
    assert_true(child_wait_text(&child, "flushed\n", WAIT_MS));
    kill(collector.child.pid, SIGSTOP);
    kill(child.pid, SIGUSR1);
    assert_int_equal(child_wait(&child, WAIT_MS), 0);
    optraced_kill(&collector);
    optraced_start(&collector, NULL);
    optraced_wait_for(&collector, "SELECT count(*) FROM session WHERE end_reason = 'died'", 1);
    CHECK_U64(optraced_query(&collector, "SELECT count(*) FROM event"), BEFORE);
    assert_int_equal(optraced_stop(&collector), 0);
    check_told();
    child_deinit(&child);
}

static void both_die_and_a_daemon_comes(void **state)
{
    struct child child;
    long long flushed_ns = start_and_leave_alone(&child, false);

    child_kill(&child, SIGKILL);
    optraced_start(&collector, NULL);
    optraced_wait_for(&collector, "SELECT count(*) FROM session WHERE end_reason = 'died'", 1);
    CHECK_U64(optraced_query(&collector, "SELECT count(*) FROM event"), BEFORE);
    CHECK_U64(optraced_query(&collector, "SELECT lost_count IS NULL AND reason = 'no daemon' AND"
                                         " lane_id IS NULL FROM v_loss"),
              1);
    CHECK_U64(optraced_query(&collector, "SELECT lost_count FROM v_session"), 0);
    /* What came before is all there, so the time is not before that of the last row. */
    assert_in_range(optraced_query(&collector, "SELECT lost_unknown_since_ns FROM v_session"),
                    optraced_query(&collector, "SELECT max(start_ns) FROM event"), flushed_ns);
    check_told();
    assert_int_equal(optraced_stop(&collector), 0);
    check_told();
    child_deinit(&child);
}

/* The store says nothing of it, as nobody wrote to it since; its readers know. */
static void both_die_and_no_daemon_comes(void **state)
{
    struct child child;
    struct child_result result;

    start_and_leave_alone(&child, false);
    check_told(); /* the program still lives */
    child_kill(&child, SIGKILL);
    check_told();
    result = report("--list", NULL);
    CHECK_CONTAINS(result.out, "did not end");
    child_result_deinit(&result);
    child_deinit(&child);
}

static void a_join_says_so_too(void **state)
{
    char *joined = temp_path(collector.dir, "joined.db");
    char *path = place_program("analyze/profile_analyze");
    const char *argv[] = {path, "--import", collector.store, "--into", joined, NULL};
    struct child_result result;
    struct child child;

    start_and_leave_alone(&child, false);
    child_kill(&child, SIGKILL);
    result = child_run(argv, NULL);
    assert_int_equal(result.status, EXIT_OK);
    child_result_deinit(&result);
    free(collector.store);
    collector.store = joined;
    CHECK_U64(optraced_query(&collector, "SELECT count(*) FROM gap WHERE lost_count IS NULL"), 1);
    check_told();
    free(path);
    child_deinit(&child);
}

static void a_program_that_comes_back_lost_nothing(void **state)
{
    struct child_result result;
    struct child child;

    start_and_leave_alone(&child, true);
    optraced_start(&collector, NULL);
    kill(child.pid, SIGUSR1);
    if (child_wait(&child, WAIT_MS) != 0)
        fail_msg("the program failed: %s%s", child.out, child.err);
    optraced_wait_for(&collector, "SELECT count(*) FROM session WHERE end_reason = 'done'", 1);
    CHECK_U64(optraced_query(&collector, "SELECT count(*) FROM event"), BEFORE + BETWEEN);
    CHECK_U64(optraced_query(&collector, "SELECT count(*) FROM gap"), 0);
    result = report("--strict", NULL);
    assert_int_equal(result.status, EXIT_OK);
    assert_null(strstr(result.out, "LOST"));
    child_result_deinit(&result);
    child_deinit(&child);
}

/* Somebody else has the program's pid when the next daemon starts: it is the program itself here,
 * with a store that says otherwise. */
static void check_another_process(const char *change)
{
    struct child child;

    start_and_leave_alone(&child, false);
    store_support_run(collector.store, change);
    optraced_start(&collector, NULL);
    optraced_wait_for(&collector, "SELECT count(*) FROM session WHERE end_reason = 'died'", 1);
    CHECK_U64(optraced_query(&collector, "SELECT lost_unknown_since_ns > 0 FROM v_session"), 1);
    child_kill(&child, SIGKILL);
    child_deinit(&child);
}

static void a_pid_of_another_boot_is_another_process(void **state)
{
    check_another_process("UPDATE ingest_cursor SET process = '00000000' || substr(process, 9)");
}

static void a_pid_that_was_given_again_is_another_process(void **state)
{
    check_another_process("UPDATE ingest_cursor SET process = substr(process, 1, 37) || '1'");
}

#define FRESH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(both_die_and_a_daemon_comes),
        FRESH(a_goodbye_may_die_with_the_daemon),
        FRESH(both_die_and_no_daemon_comes),
        FRESH(a_join_says_so_too),
        FRESH(a_program_that_comes_back_lost_nothing),
        FRESH(a_pid_of_another_boot_is_another_process),
        FRESH(a_pid_that_was_given_again_is_another_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
