/* SPDX-License-Identifier: Apache-2.0 */
/* Runs and kernels of TensorFlow, of a program that nobody changed, over a small library. */
#include "tests/support/check.h"
#include "tests/support/place.h"
#include "tests/support/run_scene.h"

static int start(void **state)
{
    *state = run_scene_create();
    return 0;
}

static int stop(void **state)
{
    run_scene_destroy((struct run_scene **)state);
    return 0;
}

static void record(void **state, const char *option, const char *value, const char *word)
{
    char *program = place_program("tests/flow/inject_tensorflow_program");

    run_scene_record(*state, (const char *const[]){option, value, NULL}, 0,
                     (const char *const[]){program, word, NULL});
    free(program);
}

#define COUNT(sql) ((uint64_t)run_scene_count(*state, sql))
#define OF(op)     "SELECT count(*) FROM v_event JOIN op USING (op_id) WHERE " op

static void check_ops(void **state, uint64_t rounds)
{
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 15 * rounds);
    CHECK_U64(COUNT(OF("op.name = 'dense/MatMul' AND op.type = '_MklMatMul' AND run IS NOT NULL"
                       " AND input_shapes = '[[64, 256], [256, 10]]'"
                       " AND computation_flop = 327680")),
              15 * rounds);
    CHECK_U64(COUNT(OF("op.name = 'dense/Relu' AND input_dtypes LIKE '%bf16%'")), 15 * rounds);
    CHECK_U64(COUNT(OF("op.name = 'conv/Conv2D' AND output_shapes = '[[1, 3, 3, 4]]' AND"
                       " computation_flop = 1944 AND run IS NOT NULL")),
              10 * rounds);
    CHECK_U64(COUNT(OF("op.name = 'conv/Conv2D' AND output_shapes = '[[1, 6, 6, 4]]' AND"
                       " computation_flop = 7776 AND run IS NOT NULL")),
              5 * rounds);
    CHECK_U64(COUNT(OF("op.name = 'conv/Conv2D' AND output_shapes IS NULL AND"
                       " computation_flop IS NULL")),
              15 * rounds); /* whose descriptions nobody had seen */
    CHECK_U64(COUNT(OF("op.name = 'odd/Conv2D' AND computation_flop IS NULL")), 15 * rounds);
    CHECK_U64(COUNT(OF("op.name = 'up' AND computation_flop = 2880")), 15 * rounds);
    CHECK_U64(COUNT(OF("op.name = 'MatMul' AND input_shapes = '[[2, 8], [8, 4]]' AND run IS NULL"
                       " AND computation_flop = 128")),
              10 * rounds);
    CHECK_U64(COUNT(OF("op.name = 'Conv2D' AND input_shapes = '[[1, 6, 6, 3], [3, 3, 3, 4]]' AND"
                       " output_shapes = '[[1, 3, 3, 4]]' AND computation_flop = 1944")),
              10 * rounds);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name LIKE 'Executor%' OR name LIKE 'Func%'"), 0);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event AS e JOIN run AS r USING (run)"
                    " WHERE e.op_name LIKE 'dense/%' AND"
                    " (e.start_ns < r.start_ns OR e.end_ns > r.end_ns)"),
              0);
}

static void functions_and_sessions_are_runs(void **state)
{
    record(state, "--nodes", "all", NULL);
    check_ops(state, 1);
}

/* What it prints, which run_scene_record() compares, tells that it has what it asked for. */
static void a_profile_of_the_program_works_beside_it(void **state)
{
    record(state, "--nodes", "all", "own");
    check_ops(state, 2);
    CHECK_CONTAINS(((struct run_scene *)*state)->result.out, "1 120\n");
}

static void kernels_of_one_run_in_some(void **state)
{
    record(state, "--nodes", "1/5", NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 15);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE without_ops = 0"), 3);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'dense/MatMul'"), 3);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'MatMul'"), 10);
}

static void runs_alone_where_no_more_is_wanted(void **state)
{
    record(state, "--nodes", "off", NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 15);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name LIKE 'dense/%'"), 0);
}

static void other_sources_leave_it_alone(void **state)
{
    record(state, "--sources", "nvtx", NULL);
    CHECK_U64((uint64_t)(run_scene_count(*state, "SELECT count(*) FROM v_event") > 0), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(functions_and_sessions_are_runs), CASE(a_profile_of_the_program_works_beside_it),
        CASE(kernels_of_one_run_in_some),      CASE(runs_alone_where_no_more_is_wanted),
        CASE(other_sources_leave_it_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
