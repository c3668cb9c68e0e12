/* SPDX-License-Identifier: Apache-2.0 */
/* The test helpers themselves: children, waiting, temporary directories, places, turns, scenarios at once.
 */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/at_once.h"
#include "tests/support/bench.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"
#include "tests/support/turns.h"
#include "tests/support/wait.h"

static void run_collects_output_and_status(void **state)
{
    const char *argv[] = {"sh", "-c", "echo out; echo err >&2; exit 7", NULL};
    struct child_result result = child_run(argv, NULL);

    assert_int_equal(result.status, 7);
    assert_string_equal(result.out, "out\n");
    assert_string_equal(result.err, "err\n");
    child_result_deinit(&result);
}

static void run_takes_more_than_a_pipe_holds(void **state)
{
    const char *argv[] = {"sh", "-c", "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2",
                          NULL};
    struct child_result result = child_run(argv, NULL);

    assert_int_equal(result.status, 0);
    CHECK_U64(result.out_bytes, 300000);
    child_result_deinit(&result);
}

static void run_sets_environment_and_directory(void **state)
{
    const char *environment[] = {"OPTRACE_A=1", "HOME", NULL};
    const char *argv[] = {"sh", "-c", "echo \"$OPTRACE_A,${HOME-none},$PWD\"", NULL};
    struct child_options options = {.environment = environment, .directory = "/"};
    struct child_result result = child_run(argv, &options);

    assert_string_equal(result.out, "1,none,/\n");
    child_result_deinit(&result);
}

static void missing_program_is_127(void **state)
{
    const char *argv[] = {"/nonexistent/program", NULL};
    struct child_result result = child_run(argv, NULL);

    assert_int_equal(result.status, 127);
    CHECK_CONTAINS(result.err, "No such file");
    child_result_deinit(&result);
}

static void kill_reports_the_signal(void **state)
{
    const char *argv[] = {"sh", "-c", "echo ready; exec sleep 1000", NULL};
    struct child child;

    child_start(&child, argv, NULL);
    assert_true(child_wait_text(&child, "ready\n", WAIT_MS));
    assert_int_equal(child_kill(&child, SIGTERM), 128 + SIGTERM);
    child_deinit(&child);
}

static int print_and_return(void *context)
{
    printf("%s", (const char *)context);
    return 3;
}

static void function_runs_in_a_child(void **state)
{
    struct child child;

    child_start_function(&child, print_and_return, "hello");
    assert_int_equal(child_wait(&child, WAIT_MS), 3);
    assert_string_equal(child.out, "hello");
    child_deinit(&child);
}

static void temp_directory_is_removed_whole(void **state)
{
    char *dir = temp_create();
    char *sub = temp_path(dir, "sub");
    char *copy = strdup(dir);
    size_t size;
    char *path, *bytes;

    assert_int_equal(mkdir(sub, 0700), 0);
    path = temp_write(sub, "file", "a\0b", 3);
    bytes = temp_read(path, &size);
    CHECK_U64(size, 3);
    assert_memory_equal(bytes, "a\0b", 4);
    assert_true(wait_for_path(path, WAIT_MS));
    temp_destroy(&dir);
    assert_null(dir);
    assert_int_not_equal(access(copy, F_OK), 0);
    assert_false(wait_for_path(path, 1));
    free(bytes);
    free(path);
    free(copy);
    free(sub);
}

static void places_are_found(void **state)
{
    char *source = place_source("meson_options.txt");
    char *program = place_program("build.ninja");

    assert_int_equal(access(source, R_OK), 0);
    assert_int_equal(access(program, R_OK), 0);
    assert_null(place_shared("no/such/thing"));
    free(source);
    free(program);
}

static int print_figures(void *context)
{
    struct bench_figure slow = {.name = "slow_ns", .unit = "ns"};
    struct bench_figure fast = {.name = "fast_ns", .unit = "ns"};
    const double slow_ns[] = {20, 24, 90}, fast_ns[] = {10, 8, 30};

    for (int i = 0; i < 3; i++) {
        bench_add(&slow, slow_ns[i]);
        bench_add(&fast, fast_ns[i]);
    }
    bench_print(&slow);
    bench_print_ratio("slow_to_fast", &slow, &fast, 2.5);
    return 0;
}

static void figures_are_json_lines(void **state)
{
    struct child child;

    child_start_function(&child, print_figures, NULL);
    assert_int_equal(child_wait(&child, WAIT_MS), 0);
    assert_string_equal(
        child.out,
        "{\"figure\": \"slow_ns\", \"value\": 24, \"unit\": \"ns\", \"min\": 20, \"max\": 90, "
        "\"repeats\": 3}\n"
        "{\"figure\": \"slow_to_fast\", \"value\": 3, \"unit\": \"ratio\", \"min\": 2, \"max\": 3, "
        "\"repeats\": 3, \"goal\": 2.5}\n");
    child_deinit(&child);
}

static void median_is_the_middle(void **state)
{
    struct bench_figure figure = {0};

    assert_true(isnan(bench_median(&figure)));
    bench_add(&figure, 5);
    CHECK_NEAR(bench_median(&figure), 5, 0);
    bench_add(&figure, 1);
    CHECK_NEAR(bench_median(&figure), 3, 0);
    bench_add(&figure, 100);
    CHECK_NEAR(bench_median(&figure), 5, 0);
}

/* Of a product each pair is walked once, each of both on all ways; all of it where one asks. */
static void ways_are_taken_in_turn(void **state)
{
    enum { ROWS = 4, COLUMNS = 6, WAYS = 4 };
    size_t of_row[ROWS][WAYS] = {0}, of_column[COLUMNS][WAYS] = {0}, all = 0;

    unsetenv("OPTRACE_TEST_ALL");
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t column = 0; column < COLUMNS; column++) {
            size_t taken = 0;

            for (size_t way = 0; way < WAYS; way++) {
                bool takes = turns_take(row + column, way, WAYS);

                taken += takes;
                of_row[row][way] += takes;
                of_column[column][way] += takes;
            }
            CHECK_U64(taken, 1);
        }
    }
    for (size_t way = 0; way < WAYS; way++) {
        for (size_t row = 0; row < ROWS; row++)
            assert_true(of_row[row][way] > 0);
        for (size_t column = 0; column < COLUMNS; column++)
            assert_true(of_column[column][way] > 0);
    }
    setenv("OPTRACE_TEST_ALL", "1", 1);
    for (size_t way = 0; way < WAYS; way++)
        all += turns_take(1, way, WAYS);
    CHECK_U64(all, WAYS);
    unsetenv("OPTRACE_TEST_ALL");
}

/* --- Scenarios side by side --- */

static char *meeting; /* a directory */

static void arrive(const char *own, const char *other)
{
    char *path = temp_path(meeting, other);

    free(temp_write(meeting, own, "", 0));
    assert_true(wait_for_path(path, WAIT_MS));
    free(path);
}

static void first_meets_second(void **state)
{
    arrive("first", "second");
}

static void second_meets_first(void **state)
{
    arrive("second", "first");
}

static void one_that_fails(void **state)
{
    assert_int_equal(1, 2);
}

static void one_that_is_killed(void **state)
{
    raise(SIGKILL);
}

static void one_that_is_well(void **state)
{
}

static int run_those_that_meet(void *context)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_meets_second),
        cmocka_unit_test(second_meets_first),
    };

    return AT_ONCE_RUN(tests, 2);
}

static int run_those_that_fail(void *context)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_fails),
        cmocka_unit_test(one_that_is_well),
        cmocka_unit_test(one_that_is_killed),
        cmocka_unit_test(one_that_is_well),
    };

    return AT_ONCE_RUN(tests, 3);
}

static void scenarios_run_at_once(void **state)
{
    struct child child;

    meeting = temp_create();
    child_start_function(&child, run_those_that_meet, NULL);
    assert_int_equal(child_wait(&child, WAIT_MS), 0);
    child_deinit(&child);
    temp_destroy(&meeting);
}

static void scenarios_that_fail_are_counted_and_shown(void **state)
{
    struct child child;

    child_start_function(&child, run_those_that_fail, NULL);
    assert_int_equal(child_wait(&child, WAIT_MS), 2);
    CHECK_CONTAINS(child.out, "[  FAILED  ] one_that_fails");
    CHECK_CONTAINS(child.out, "one_that_is_killed: ended by signal 9");
    CHECK_CONTAINS(child.out, "[       OK ] one_that_is_well");
    child_deinit(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_collects_output_and_status),
        cmocka_unit_test(run_takes_more_than_a_pipe_holds),
        cmocka_unit_test(run_sets_environment_and_directory),
        cmocka_unit_test(missing_program_is_127),
        cmocka_unit_test(kill_reports_the_signal),
        cmocka_unit_test(function_runs_in_a_child),
        cmocka_unit_test(temp_directory_is_removed_whole),
        cmocka_unit_test(places_are_found),
        cmocka_unit_test(figures_are_json_lines),
        cmocka_unit_test(median_is_the_middle),
        cmocka_unit_test(ways_are_taken_in_turn),
        cmocka_unit_test(scenarios_run_at_once),
        cmocka_unit_test(scenarios_that_fail_are_counted_and_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
