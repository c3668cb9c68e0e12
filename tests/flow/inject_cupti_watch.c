/* SPDX-License-Identifier: Apache-2.0 */
/* What is done where recording a CUDA program takes too much, or is worth nothing; over the double of
 * tests/support/cuda. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/place.h"
#include "tests/support/run_scene.h"

static int start(void **state)
{
    unsetenv("OPTRACE_MAX_COST");
    setenv("CUDA_DOUBLE_KERNELS", "relu=2000", 1);
    *state = run_scene_create();
    return 0;
}

static int stop(void **state)
{
    run_scene_destroy((struct run_scene **)state);
    return 0;
}

/* A scene of some seconds. */
static void record_scene(void **state, const char *scene, const char *records, const char *level)
{
    char *program = place_program("tests/flow/inject_cupti_program");

    setenv("CUDA_DOUBLE_RECORDS", records, 1);
    run_scene_record(*state, (const char *const[]){"--gpu", level, NULL}, 0,
                     (const char *const[]){program, scene, NULL});
    free(program);
}

static void record_with(void **state, const char *records, const char *level)
{
    record_scene(state, "steady", records, level);
}

#define COUNT(sql) ((uint64_t)run_scene_count(*state, sql))
#define SAID(text)                                                                                 \
    COUNT("SELECT count(*) FROM v_event WHERE op_type = 'mark' AND op_name LIKE 'CUDA: " text "'")

static void what_costs_too_much_is_left(void **state)
{
    record_with(state, "overhead", "memory");
    CHECK_U64(SAID("level node from here on, not memory: %% of the time of threads that launch%"),
              1);
    CHECK_U64(SAID("level host from here on, not node%"), 1);
    CHECK_U64(SAID("level %"), 2);
    assert_true(COUNT("SELECT count(*) FROM v_event WHERE op_type = 'kernel'") > 100);
    CHECK_U64(
        COUNT(
            "SELECT count(*) FROM v_event WHERE op_type = 'kernel' AND start_ns > 2e9 + (SELECT start_ns"
            " FROM v_event WHERE op_name LIKE 'CUDA: level host%')"),
        0);
}

static void what_may_cost_is_kept(void **state)
{
    setenv("OPTRACE_MAX_COST", "100", 1);
    record_with(state, "overhead", "memory");
    CHECK_U64(SAID("level %"), 0);
    assert_true(COUNT("SELECT count(*) FROM v_event WHERE op_type = 'kernel'") > 100);
}

/* libcupti 13.0 crashes where graphs are launched and neither they nor kernels are asked for any more, and
 * the double does. */
static void graphs_run_on_when_their_level_is_left(void **state)
{
    record_scene(state, "steady graphs", "overhead", "graph");
    CHECK_U64(SAID("level host from here on, not graph: %"), 1);
    CHECK_U64(SAID("level %"), 1);
    assert_true(COUNT("SELECT count(*) FROM v_event WHERE op_type = 'cuda_graph'") > 100);
}

/* The levels are left all the same; what goes on is said. */
static void what_cannot_be_left_is_said(void **state)
{
    setenv("CUDA_DOUBLE_FAIL", "cuptiActivityDisable=999", 1);
    record_with(state, "overhead", "memory");
    CHECK_U64(
        SAID("CUPTI records on what is not wanted any more (error 999 of cuptiActivityDisable)"),
        1);
    CHECK_U64(SAID("level node from here on, not memory%"), 1);
    unsetenv("CUDA_DOUBLE_FAIL");
}

static void records_without_times_are_not_asked_for(void **state)
{
    setenv("OPTRACE_MAX_COST", "100", 1);
    record_with(state, "zero", "memory");
    CHECK_U64(SAID("level host from here on, not node: 1e+02 %% of the records%had no times"), 1);
    CHECK_U64(SAID("level %"), 1);
    CHECK_U64(SAID("% records of the device had no times, and were left out"), 1);
}

static void records_that_others_take_are_missed(void **state)
{
    record_with(state, "none", "graph");
    CHECK_U64(SAID("no records came for calls that were seen%"), 1);
    CHECK_U64(SAID("the wall clock%"), 0);
}

static void a_clock_that_is_set_is_said(void **state)
{
    char *program = place_program("tests/flow/inject_cupti_program"),
         *clock = place_program("tests/support/libstep_clock.so");

    unsetenv("CUDA_DOUBLE_RECORDS");
    setenv("OPTRACE_MAX_COST", "100", 1);
    setenv("LD_PRELOAD", clock, 1);
    run_scene_record(*state, (const char *const[]){"--gpu", "graph", NULL}, 0,
                     (const char *const[]){program, "clock", NULL});
    unsetenv("LD_PRELOAD");
    free(clock);
    free(program);
    CHECK_U64(SAID("the wall clock was set by +1000.% s:%"), 1);
    CHECK_U64(SAID("the wall clock was set by -1000.% s:%"), 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

/* Most of their seconds they wait for flushes: all at once, each in a process of its own. */
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_costs_too_much_is_left),
        CASE(what_may_cost_is_kept),
        CASE(graphs_run_on_when_their_level_is_left),
        CASE(what_cannot_be_left_is_said),
        CASE(records_without_times_are_not_asked_for),
        CASE(records_that_others_take_are_missed),
        CASE(a_clock_that_is_set_is_said),
    };
    const size_t count = sizeof(tests) / sizeof(tests[0]);
    int failed = 0, status;

    for (size_t i = 0; i < count; i++) {
        const struct CMUnitTest one[] = {tests[i]};
        const pid_t pid = fork();

        if (pid == 0)
            return cmocka_run_group_tests(one, NULL, NULL);
        failed += pid < 0;
    }
    while (wait(&status) > 0)
        failed += status != 0;
    return failed;
}
