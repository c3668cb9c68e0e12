/* SPDX-License-Identifier: Apache-2.0 */
/* optraced under a service manager, which this test plays: a socket that is handed over, being told
 * what goes on, rings that are kept while the daemon is away. And sessions that nobody ends. */
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/raw_client.h"
#include "tests/support/service_manager.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

static void a_socket_is_handed_over(void **state)
{
    struct service_manager manager;
    struct raw_client early;
    struct ot_wire_hello hello;

    service_manager_init(&manager);
    raw_init(&early); /* before the daemon is there: systemd's socket keeps it waiting */
    assert_true(raw_connect(&early, manager.daemon.socket));
    hello = raw_hello(&early);
    raw_send_hello(&early, &hello);
    raw_bye(&early);
    service_manager_start(&manager);
    optraced_wait_for(&manager.daemon, "SELECT count(*) FROM session WHERE end_reason = 'done'", 1);
    raw_close(&early);
    assert_int_equal(optraced_stop(&manager.daemon), 0);
    while (service_manager_hear(&manager))
        ;
    assert_string_equal(manager.said, "READY=1;STOPPING=1;");
    assert_int_equal(access(manager.daemon.socket, F_OK), 0); /* systemd's, not ours */
    service_manager_deinit(&manager);
}

static bool has_heard_pings(void *context)
{
    struct service_manager *manager = context;
    const char *first;

    while (service_manager_hear(manager))
        ;
    first = strstr(manager->said, "WATCHDOG=1;");
    return first && strstr(first + 1, "WATCHDOG=1;");
}

static void the_watchdog_is_told_that_all_is_well(void **state)
{
    struct service_manager manager;

    service_manager_init(&manager);
    setenv("WATCHDOG_USEC", "200000", 1);
    service_manager_start(&manager);
    unsetenv("WATCHDOG_USEC");
    assert_true(wait_until(has_heard_pings, &manager, WAIT_MS));
    assert_int_equal(optraced_stop(&manager.daemon), 0);
    service_manager_deinit(&manager);
}

static void put_spans(struct raw_ring *ring, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i <= last; i++) {
        struct ot_wire_record span = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 10, i);

        assert_true(raw_ring_put(ring, &span));
    }
}

static void check_events(const struct service_manager *manager, uint64_t count)
{
    CHECK_U64(optraced_query(&manager->daemon, "SELECT count(*) FROM event WHERE dur_ns = 10"),
              count);
    CHECK_U64(optraced_query(&manager->daemon,
                             "SELECT count(DISTINCT correlation) FROM event WHERE dur_ns = 10"),
              count);
    CHECK_U64(optraced_query(&manager->daemon, "SELECT count(*) FROM gap"), 0);
}

/* A program with two rings; the second one's thread ends. Waits to be killed. */
static int record_until_killed(void *context)
{
    const struct optraced *daemon = context;
    struct ot_wire_record span;
    struct raw_ring first, second;
    struct raw_client client;

    raw_init(&client);
    raw_join(&client, daemon->socket);
    raw_define(&client);
    raw_ring_create(&first, &client, 1, 1, 1024);
    raw_ring_create(&second, &client, 2, 1, 1024);
    raw_ring_send(&client, &first);
    raw_ring_send(&client, &second);
    put_spans(&first, 1, 10);
    put_spans(&second, 11, 20);
    __atomic_store_n(&second.memory->closed, 1, __ATOMIC_RELEASE);
    if (raw_flush(&client) != 0)
        return 1;
    kill(getppid(), SIGUSR1); /* the test stops the daemon now */
    while (access(daemon->store, F_OK) == 0 && kill(getppid(), 0) == 0) {
        char *path = temp_path(daemon->dir, "go on");
        bool goes_on = access(path, F_OK) == 0;

        free(path);
        if (goes_on)
            break;
        usleep(1000);
    }
    put_spans(&first, 21, 30); /* only the ring knows of these */
    span = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 0, 31);
    span.end_ticks = 0;
    raw_ring_open(&first, &span);
    raise(SIGKILL);
    return 0;
}

static volatile sig_atomic_t has_recorded;

static void on_recorded(int number)
{
    has_recorded = 1;
}

static bool is_recorded(void *context)
{
    return has_recorded;
}

static void rings_survive_the_death_of_both(void **state)
{
    struct service_manager manager;
    struct child program;

    signal(SIGUSR1, on_recorded);
    service_manager_init(&manager);
    service_manager_start(&manager);
    child_start_function(&program, record_until_killed, &manager.daemon);
    assert_true(wait_until(is_recorded, NULL, WAIT_MS));
    service_manager_wait_for_kept(&manager, 2);
    service_manager_wait_for_kept(&manager,
                                  1); /* the thread has ended, and all of it is committed */
    optraced_kill(&manager.daemon);
    free(temp_write(manager.daemon.dir, "go on", "", 0));
    assert_int_equal(child_wait(&program, WAIT_MS), 128 + SIGKILL);
    assert_int_equal(manager.kept_count, 1);
    service_manager_start(&manager);
    optraced_wait_for(&manager.daemon, "SELECT count(*) FROM session WHERE end_reason = 'died'", 1);
    check_events(&manager, 30);
    CHECK_U64(optraced_query(&manager.daemon, "SELECT correlation FROM event WHERE dur_ns IS NULL"),
              31);
    service_manager_wait_for_kept(&manager, 0);
    assert_int_equal(optraced_stop(&manager.daemon), 0);
    child_deinit(&program);
    service_manager_deinit(&manager);
}

static void a_living_client_takes_its_kept_rings_up(void **state)
{
    struct service_manager manager;
    struct raw_client client;
    struct raw_ring ring;

    service_manager_init(&manager);
    service_manager_start(&manager);
    raw_init(&client);
    raw_join(&client, manager.daemon.socket);
    raw_define(&client);
    raw_ring_create(&ring, &client, 1, 1, 1024);
    raw_ring_send(&client, &ring);
    put_spans(&ring, 1, 10);
    assert_int_equal(raw_flush(&client), 0);
    service_manager_wait_for_kept(&manager, 1);
    optraced_kill(&manager.daemon);
    put_spans(&ring, 11, 20);
    service_manager_start(&manager);
    optraced_wait_for(&manager.daemon, "SELECT count(*) FROM event", 20); /* already */
    raw_join(&client, manager.daemon.socket);
    raw_define(&client);
    raw_ring_send(&client, &ring);
    put_spans(&ring, 21, 30);
    assert_int_equal(raw_flush(&client), 0);
    check_events(&manager, 30);
    assert_int_equal(manager.kept_count, 1);
    raw_bye(&client);
    service_manager_wait_for_kept(&manager, 0);
    CHECK_U64(optraced_query(&manager.daemon, "SELECT count(*) FROM session"), 1);
    raw_close(&client);
    raw_ring_destroy(&ring);
    assert_int_equal(optraced_stop(&manager.daemon), 0);
    service_manager_deinit(&manager);
}

/* Kept fds that are of no use: not a ring, of a session that nobody knows. */
static void strange_fds_are_given_back(void **state)
{
    struct service_manager manager;
    struct raw_client client;
    struct raw_ring ring;

    service_manager_init(&manager);
    raw_init(&client);
    raw_ring_create(&ring, &client, 1, 1, 64);
    service_manager_keep(&manager, "ring-7-1", dup(ring.fd));
    service_manager_keep(&manager, "ring-7-2", open("/dev/null", O_RDWR));
    service_manager_keep(&manager, "other", socket(AF_UNIX, SOCK_STREAM, 0));
    service_manager_start(&manager);
    service_manager_wait_for_kept(&manager, 0);
    optraced_expect_log(&manager.daemon, "cannot take ring-7-1 up again: its session is not known",
                        1);
    assert_int_equal(optraced_stop(&manager.daemon), 0);
    raw_ring_destroy(&ring);
    service_manager_deinit(&manager);
}

/* Without a service manager: the program dies while no daemon is there. */
static int join_and_leave(void *context)
{
    const struct optraced *daemon = context;
    struct raw_client client;

    raw_init(&client);
    raw_join(&client, daemon->socket);
    raw_flush(&client);
    kill(getppid(), SIGUSR1);
    for (;;)
        pause();
    return 0;
}

static void programs_that_died_alone_are_ended(void **state)
{
    struct optraced daemon;
    struct child program;

    has_recorded = 0;
    signal(SIGUSR1, on_recorded);
    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    child_start_function(&program, join_and_leave, &daemon);
    assert_true(wait_until(is_recorded, NULL, WAIT_MS));
    optraced_kill(&daemon);
    optraced_start(&daemon, NULL); /* it lives: perhaps it comes back */
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM session WHERE end_ns IS NULL"), 1);
    optraced_kill(&daemon);
    child_kill(&program, SIGKILL);
    optraced_start(&daemon, NULL);
    optraced_wait_for(&daemon,
                      "SELECT count(*) FROM session WHERE end_reason = 'died' AND note ="
                      " 'while no daemon was there' AND end_ns >= start_ns",
                      1);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM ingest_cursor"), 0);
    child_deinit(&program);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_socket_is_handed_over),
        cmocka_unit_test(the_watchdog_is_told_that_all_is_well),
        cmocka_unit_test(rings_survive_the_death_of_both),
        cmocka_unit_test(a_living_client_takes_its_kept_rings_up),
        cmocka_unit_test(strange_fds_are_given_back),
        cmocka_unit_test(programs_that_died_alone_are_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
