/* SPDX-License-Identifier: Apache-2.0 */
/* The examples do what they promise: with a daemon their events stand in the store, without one
 * they say so. client.py is the proof that schema/wire/wire.md suffices to write a client. */
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

/* Runs a program with OPTRACE_SOCKET set. Free the result. */
static struct child_result run_with_socket(const char *const *argv, const char *socket)
{
    char variable[256];
    const char *environment[] = {variable, NULL};
    struct child_options options = {.environment = environment};

    snprintf(variable, sizeof(variable), "OPTRACE_SOCKET=%s", socket);
    return child_run(argv, &options);
}

static struct child_result run_python(const char *socket)
{
    char *script = place_source("examples/client.py");
    const char *argv[] = {"python3", script, "an argument", NULL};
    struct child_result result = run_with_socket(argv, socket);

    free(script);
    return result;
}

static struct child_result run_hello(const char *socket)
{
    char *program = place_program("examples/hello");
    const char *argv[] = {program, NULL};
    struct child_result result = run_with_socket(argv, socket);

    free(program);
    return result;
}

/* Checks the text that a query answers. */
static void check_row(const struct optraced *daemon, const char *sql, const char *want)
{
    char *row = optraced_query_text(daemon, sql);

    assert_string_equal(row, want);
    free(row);
}

static void python_client_is_stored(void **state)
{
    struct child_result result;
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    result = run_python(daemon.socket);
    assert_string_equal(result.err, "");
    assert_string_equal(result.out, "stored 100 spans\n");
    assert_int_equal(result.status, 0);
    /* They were in the store before it said so. */
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), 100);
    child_result_deinit(&result);

    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'done'", 1);
    check_row(&daemon,
              "SELECT name || ' ' || type || ' ' || input_shapes || ' ' || input_dtypes || ' ' ||"
              " computation_flop || ' ' || memory_bytes || ' ' || (workspace_bytes IS NULL)"
              " FROM op",
              "sum ReduceSum [[1000]] [\"f64\"] 1000 8000 1");
    check_row(&daemon, "SELECT kind || ' ' || name || ' ' || (device IS NULL) FROM lane",
              "thread main 1");
    check_row(&daemon, "SELECT program || ' ' || library || ' ' || clock FROM session",
              "client.py client.py 1 monotonic");
    CHECK_U64(optraced_query(&daemon, "SELECT command LIKE '%/client.py an argument' FROM session"),
              1);
    /* Each ran for some time, one after the other, while the session lasted. */
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event WHERE dur_ns > 0"), 100);
    CHECK_U64(optraced_query(&daemon,
                             "SELECT count(*) FROM event a JOIN event b ON b.rowid = a.rowid + 1"
                             " WHERE b.start_ns >= a.start_ns + a.dur_ns"),
              99);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event, session WHERE"
                                      " event.start_ns BETWEEN session.start_ns AND end_ns"),
              100);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM gap"), 0);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void python_client_says_why_not(void **state)
{
    char *dir = temp_create();
    char *socket = temp_path(dir, "nobody");
    struct child_result result = run_python(socket);

    assert_int_equal(result.status, 1);
    CHECK_CONTAINS(result.err, "No such file or directory");
    child_result_deinit(&result);
    free(socket);
    temp_destroy(&dir);
}

static void hello_is_stored(void **state)
{
    struct child_result result;
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    result = run_hello(daemon.socket);
    assert_string_equal(result.err, "");
    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "recording to");
    child_result_deinit(&result);

    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'done'", 1);
    check_row(&daemon,
              "SELECT group_concat(name || ' ' || type || ' ' || calls, ', ') FROM (SELECT"
              " op.name, op.type, count(*) AS calls FROM event JOIN op USING (op_id)"
              " GROUP BY op_id ORDER BY op.name)",
              "fill label 10, matmul1 MatMul 10");
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM run WHERE end_ns > start_ns"), 10);
    CHECK_U64(optraced_query(&daemon, "SELECT count(DISTINCT run) FROM event"), 10);
    CHECK_U64(optraced_query(&daemon, "SELECT computation_flop FROM op WHERE name = 'matmul1'"),
              2 * 128 * 128 * 128);
    /* The label says where it stands. */
    CHECK_U64(optraced_query(&daemon, "SELECT source LIKE '%examples/hello.c:%' FROM op WHERE"
                                      " name = 'fill'"),
              1);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM gap"), 0);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void hello_runs_without_daemon(void **state)
{
    char *dir = temp_create();
    char *socket = temp_path(dir, "nobody");
    struct child_result result = run_hello(socket);

    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "not recording");
    child_result_deinit(&result);
    free(socket);
    temp_destroy(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_client_is_stored),
        cmocka_unit_test(python_client_says_why_not),
        cmocka_unit_test(hello_is_stored),
        cmocka_unit_test(hello_runs_without_daemon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
