/* SPDX-License-Identifier: Apache-2.0 */
/* optraced as a command: starting, refusing to start, ending. */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/raw_client.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

/* Runs it with these arguments; it must fail with this status and one sentence that holds `text`.
 */
static void check_refusal(const char *const *arguments, int status, const char *text)
{
    char *program = place_program("daemon/optraced");
    const char *argv[16] = {program, "--foreground"};
    struct child_result result;

    for (size_t i = 0; arguments[i]; i++)
        argv[i + 2] = arguments[i];
    result = child_run(argv, NULL);
    assert_int_equal(result.status, status);
    CHECK_CONTAINS(result.err, text);
    CHECK_CONTAINS(result.err, "optraced: ");
    assert_int_equal(result.out_bytes, 0);
    child_result_deinit(&result);
    free(program);
}

#define REFUSED(status, text, ...)                                                                 \
    check_refusal((const char *const[]){__VA_ARGS__, NULL}, status, text)

static void a_second_daemon_is_refused(void **state)
{
    struct optraced daemon;
    char *other_socket, *other_store;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    other_socket = temp_path(daemon.dir, "other.sock");
    other_store = temp_path(daemon.dir, "other.db");
    REFUSED(EXIT_SYSTEM, "another daemon listens on", "--socket", daemon.socket, "--store",
            other_store);
    REFUSED(EXIT_SYSTEM, "is writing to", "--socket", other_socket, "--store", daemon.store);
    assert_int_not_equal(access(other_socket, F_OK), 0); /* nothing of it stays */
    assert_int_equal(access(daemon.socket, F_OK), 0);
    assert_int_equal(optraced_stop(&daemon), 0);
    assert_int_not_equal(access(daemon.socket, F_OK), 0);
    free(other_socket);
    free(other_store);
    optraced_deinit(&daemon);
}

static void a_socket_of_another_program_is_left_alone(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct optraced daemon;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    optraced_init(&daemon);
    strncpy(address.sun_path, daemon.socket, sizeof(address.sun_path) - 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 1), 0);
    REFUSED(EXIT_SYSTEM, "another program listens on", "--socket", daemon.socket, "--store",
            daemon.store);
    close(fd); /* stale from here on: it is replaced */
    optraced_start(&daemon, NULL);
    assert_int_equal(optraced_stop(&daemon), 0);
    free(temp_write(daemon.dir, "o.sock", "precious", 8));
    REFUSED(EXIT_SYSTEM, "is no socket", "--socket", daemon.socket, "--store", daemon.store);
    optraced_deinit(&daemon);
}

static void a_killed_daemon_is_replaced(void **state)
{
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    optraced_kill(&daemon);
    assert_int_equal(access(daemon.socket, F_OK), 0); /* stale */
    optraced_start(&daemon, NULL);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void stores_that_cannot_be_used_are_refused(void **state)
{
    struct optraced daemon;
    char *path;
    sqlite3 *db;

    optraced_init(&daemon);
    path =
        temp_write(daemon.dir, "text.db", "this is not a database, but a text of some length", 49);
    REFUSED(EXIT_INPUT, "not an SQLite file", "--socket", daemon.socket, "--store", path);
    free(path);
    REFUSED(EXIT_INPUT, "directory", "--socket", daemon.socket, "--store", daemon.dir);
    optraced_start(&daemon, NULL);
    assert_int_equal(optraced_stop(&daemon), 0);
    assert_int_equal(sqlite3_open(daemon.store, &db), SQLITE_OK);
    sqlite3_exec(db, "UPDATE meta SET value = '2.0' WHERE key = 'schema_version'", NULL, NULL,
                 NULL);
    sqlite3_close(db);
    REFUSED(EXIT_INPUT, "newer", "--socket", daemon.socket, "--store", daemon.store);
    optraced_deinit(&daemon);
}

static void paths_that_cannot_be_used_are_refused(void **state)
{
    char long_path[200] = "/tmp/";
    struct optraced daemon;
    char *deep;

    optraced_init(&daemon);
    memset(long_path + 5, 'x', sizeof(long_path) - 6);
    deep = temp_path(daemon.dir, "no/such/place.sock");
    REFUSED(EXIT_USAGE, "107 at most", "--socket", long_path, "--store", daemon.store);
    REFUSED(EXIT_SYSTEM, "No such file or directory", "--socket", deep, "--store", daemon.store);
    REFUSED(EXIT_SYSTEM, "there is no group", "--socket", daemon.socket, "--store", daemon.store,
            "--group", "no-such-group");
    REFUSED(EXIT_SYSTEM, "cannot open /", "--socket", daemon.socket, "--store", daemon.store,
            "--log", "/no/such/place.log");
    REFUSED(EXIT_USAGE, "unknown option", "--sokcet", daemon.socket);
    free(deep);
    optraced_deinit(&daemon);
}

static void bounds_that_mean_nothing_are_refused(void **state)
{
    static const char *const sizes[] = {"",      "2",          "GiB", "-1GiB",   "0MiB",  "1e3MiB",
                                        "2 GiB", "9999999TiB", "nan", "0x10MiB", "1.MiB", "2GiBs"};
    static const char *const durations[] = {"", "7", "d", "0s", "-1d", "1y", "7d12h", "9e9w"};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        REFUSED(EXIT_USAGE, "--store-budget takes a size with its unit, such as 512MiB, or none,",
                "--store-budget", sizes[i]);
    for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++)
        REFUSED(EXIT_USAGE, "--keep-sessions takes a time with its unit", "--keep-sessions",
                durations[i]);
    for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++)
        REFUSED(EXIT_USAGE, "--keep-events takes a time with its unit", "--keep-events",
                durations[i]);
    REFUSED(EXIT_USAGE, "--store-budget takes at least 4MiB, not '4MB'", "--store-budget", "4MB");
    assert_int_equal(setenv("OPTRACE_STORE_BUDGET", "much", 1), 0);
    REFUSED(EXIT_USAGE, "OPTRACE_STORE_BUDGET takes a size", "--keep-events", "7d");
    REFUSED(EXIT_USAGE, "--keep-events takes a time", "--store-budget", "none", "--keep-events",
            "x");
    unsetenv("OPTRACE_STORE_BUDGET");
    assert_int_equal(setenv("OPTRACE_KEEP_EVENTS", "long", 1), 0);
    REFUSED(EXIT_USAGE, "OPTRACE_KEEP_EVENTS takes a time", "--store-budget", "1.5GiB");
    unsetenv("OPTRACE_KEEP_EVENTS");
}

static int start_as_nobody(void *context)
{
    const struct optraced *daemon = context;
    char *program = place_program("daemon/optraced");

    if (setgid(65534) < 0 || setuid(65534) < 0)
        return 99;
    execl(program, program, "--foreground", "--socket", daemon->socket, "--store", daemon->store,
          (char *)NULL);
    return 98;
}

static void no_permission_is_said(void **state)
{
    struct optraced daemon;
    struct child child;

    if (geteuid() != 0)
        CHECK_SKIP("only root can become another user");
    optraced_init(&daemon);
    assert_int_equal(chmod(daemon.dir, 0755), 0);
    child_start_function(&child, start_as_nobody, &daemon);
    assert_int_equal(child_wait(&child, WAIT_MS), EXIT_SYSTEM);
    CHECK_CONTAINS(child.err, "Permission denied");
    child_deinit(&child);
    optraced_deinit(&daemon);
}

static void once_ends_after_the_last_client(void **state)
{
    const char *arguments[] = {"--once", NULL};
    struct raw_client first, second, probe;
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, arguments);
    raw_init(&probe); /* connecting alone does not make a client */
    assert_true(raw_connect(&probe, daemon.socket));
    raw_close(&probe);
    raw_init(&first);
    raw_init(&second);
    raw_join(&first, daemon.socket);
    raw_join(&second, daemon.socket);
    raw_bye(&first);
    raw_close(&first);
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'done'", 1);
    assert_int_equal(raw_flush(&second), 0); /* it is still there */
    raw_bye(&second);
    raw_close(&second);
    assert_int_equal(child_wait(&daemon.child, WAIT_MS), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'done'"), 2);
    optraced_deinit(&daemon);
}

/* What sockets and rings hold at SIGTERM is stored; the client may go on with the next daemon. */
static void sigterm_drains(void **state)
{
    struct raw_client client, gone;
    struct ot_wire_record last;
    struct ot_wire_hello hello;
    struct optraced daemon;
    struct raw_ring ring;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    raw_define(&client);
    raw_ring_create(&ring, &client, 1, 1, 4096);
    raw_ring_send(&client, &ring);
    assert_int_equal(raw_flush(&client), 0);
    kill(daemon.child.pid, SIGSTOP); /* all of this waits for it */
    for (uint64_t i = 1; i <= 3000; i++) {
        struct ot_wire_record span = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 5, i);

        assert_true(raw_ring_put(&ring, &span));
        if (i % 100 == 0)
            raw_events(&client, &span, 1);
    }
    raw_init(&gone); /* connects, records, leaves before the daemon has looked */
    assert_true(raw_connect(&gone, daemon.socket));
    hello = raw_hello(&gone);
    raw_send_hello(&gone, &hello);
    gone.next_string = 1;
    raw_define(&gone);
    last = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 5, 9999);
    raw_events(&gone, &last, 1);
    raw_bye(&gone);
    raw_close(&gone);
    kill(daemon.child.pid, SIGTERM);
    kill(daemon.child.pid, SIGCONT);
    assert_int_equal(child_wait(&daemon.child, WAIT_MS), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), 3031);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM session WHERE end_ns IS NULL"), 1);
    CHECK_U64(ring.memory->tail, 3000);
    optraced_start(&daemon, NULL);
    raw_join(&client, daemon.socket);
    CHECK_U64(client.sequence, 30);
    raw_bye(&client);
    raw_close(&client);
    raw_ring_destroy(&ring);
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'done'", 2);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void sigint_ends_it_too(void **state)
{
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    assert_int_equal(child_kill(&daemon.child, SIGINT), 0);
    optraced_deinit(&daemon);
}

static bool is_gone(void *context)
{
    return access(context, F_OK) != 0;
}

/* Without --foreground the command returns when programs can connect. */
static void it_goes_into_the_background(void **state)
{
    char *program = place_program("daemon/optraced");
    struct child_result result;
    struct raw_client client;
    struct optraced daemon;
    struct stat status;
    char *pid_file, *log, *old_log, *pid_text, *log_text;

    optraced_init(&daemon);
    pid_file = temp_path(daemon.dir, "pid");
    log = temp_path(daemon.dir, "o.db.log");
    old_log = temp_path(daemon.dir, "old.log");
    const char *argv[] = {program,      "--socket", "o.sock",    "--store", "o.db",
                          "--pid-file", "pid",      "--verbose", NULL};
    struct child_options options = {.directory = daemon.dir};

    result = child_run(argv, &options);
    assert_int_equal(result.status, 0);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    raw_bye(&client);
    raw_close(&client);
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'done'", 1);
    pid_text = temp_read(pid_file, NULL);
    assert_int_equal(stat(daemon.store, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(stat(daemon.socket, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(rename(log, old_log), 0); /* log rotation: */
    assert_int_equal(kill((pid_t)atoi(pid_text), SIGHUP), 0);
    assert_true(wait_for_path(log, WAIT_MS));
    assert_int_equal(kill((pid_t)atoi(pid_text), SIGTERM), 0);
    assert_true(wait_until(is_gone, daemon.socket, WAIT_MS));
    log_text = temp_read(old_log, NULL);
    CHECK_CONTAINS(log_text, "begins");
    child_result_deinit(&result);
    free(pid_text);
    free(log_text);
    free(pid_file);
    free(old_log);
    free(log);
    free(program);
    optraced_deinit(&daemon);
}

/* The command that goes into the background fails like the daemon that could not start. */
static void a_failed_start_in_the_background_is_told(void **state)
{
    char *program = place_program("daemon/optraced");
    struct child_result result;
    struct optraced daemon;

    optraced_init(&daemon);
    const char *argv[] = {program, "--socket", daemon.socket, "--store", daemon.dir, NULL};

    result = child_run(argv, NULL);
    assert_int_equal(result.status, EXIT_INPUT);
    CHECK_CONTAINS(result.err, "directory");
    child_result_deinit(&result);
    free(program);
    optraced_deinit(&daemon);
}

static void levels_reach_the_client(void **state)
{
    static const struct {
        const char *word;
        uint32_t level;
    } levels[] = {{"off", OT_LEVEL_OFF}, {"on", OT_LEVEL_ON}, {"detail", OT_LEVEL_DETAIL}};

    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        const char *arguments[] = {"--level", levels[i].word, NULL};
        struct raw_client client;
        struct optraced daemon;

        optraced_init(&daemon);
        optraced_start(&daemon, arguments);
        raw_init(&client);
        assert_int_equal(raw_join(&client, daemon.socket).level, levels[i].level);
        raw_close(&client);
        assert_int_equal(optraced_stop(&daemon), 0);
        optraced_deinit(&daemon);
    }
}

/* --group opens the socket to its members, and to nobody else. */
static int join_as_member(void *context)
{
    const struct optraced *daemon = context;
    struct raw_client client;

    if (setgid(1) < 0 || setuid(65534) < 0) /* group daemon */
        return 99;
    raw_init(&client);
    raw_join(&client, daemon->socket);
    return raw_flush(&client);
}

static void members_of_the_group_may_connect(void **state)
{
    const char *arguments[] = {"--group", "daemon", NULL};
    struct optraced daemon;
    struct child child;
    struct stat status;

    if (geteuid() != 0)
        CHECK_SKIP("only root can become another user");
    optraced_init(&daemon);
    assert_int_equal(chmod(daemon.dir, 0711), 0);
    optraced_start(&daemon, arguments);
    assert_int_equal(stat(daemon.socket, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0660);
    assert_int_equal(status.st_gid, 1);
    child_start_function(&child, join_as_member, &daemon);
    assert_int_equal(child_wait(&child, WAIT_MS), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT uid FROM session"), 65534);
    child_deinit(&child);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_daemon_is_refused),
        cmocka_unit_test(a_socket_of_another_program_is_left_alone),
        cmocka_unit_test(a_killed_daemon_is_replaced),
        cmocka_unit_test(stores_that_cannot_be_used_are_refused),
        cmocka_unit_test(paths_that_cannot_be_used_are_refused),
        cmocka_unit_test(bounds_that_mean_nothing_are_refused),
        cmocka_unit_test(no_permission_is_said),
        cmocka_unit_test(once_ends_after_the_last_client),
        cmocka_unit_test(sigterm_drains),
        cmocka_unit_test(sigint_ends_it_too),
        cmocka_unit_test(it_goes_into_the_background),
        cmocka_unit_test(a_failed_start_in_the_background_is_told),
        cmocka_unit_test(levels_reach_the_client),
        cmocka_unit_test(members_of_the_group_may_connect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
