/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of ggml, of a program that nobody changed, over a small library. */
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

static void record(void **state, const char *const *options, const char *argument)
{
    char *program = place_program("tests/flow/inject_ggml_program");

    run_scene_record(*state, options, 0, (const char *const[]){program, argument, NULL});
    free(program);
}

#define COUNT(sql) ((uint64_t)run_scene_count(*state, sql))
#define NODES      "FROM v_event WHERE op_type <> 'label'"
#define ALL_NODES  ((const char *const[]){"--nodes", "all", NULL})

static void graphs_are_runs(void **state)
{
    record(state, (const char *const[]){"--nodes", "off", NULL}, NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL AND without_ops"), 25);
    CHECK_U64(COUNT("SELECT count(*) " NODES), 0);
}

/* Each says what it is of, also where the graph before it lay in the same place. */
static void runs_say_tokens_and_flop(void **state)
{
    record(state, (const char *const[]){"--nodes", "1/10", NULL}, NULL);
    CHECK_U64(
        COUNT("SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE e.run IS NOT NULL"
              " AND e.op_name = 'batch of 5 tokens' AND o.params = '{\"tokens\":5,\"flop\":2560}'"),
        20);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE e.run IS NOT NULL"
                    " AND e.op_name = 'token' AND o.params = '{\"tokens\":1,\"flop\":512}'"),
              5);
}

static void a_layout_that_does_not_fit_is_not_used(void **state)
{
    setenv("FAKE_GGML_ODD", "1", 1);
    record(state, (const char *const[]){"--nodes", "all", NULL}, NULL);
    unsetenv("FAKE_GGML_ODD");
    CHECK_U64(COUNT("SELECT count(*) " NODES), 100);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_type = 'label'"), 0);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE input_shapes IS NOT NULL OR output_shapes IS NOT"
                    " NULL OR computation_flop IS NOT NULL"),
              0);
}

static void one_run_in_some_has_nodes(void **state)
{
    record(state, NULL, NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE NOT without_ops"), 2); /* one in 20 */
    record(state, (const char *const[]){"--nodes", "1/10", NULL}, NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 25);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE NOT without_ops"), 3);
    CHECK_U64(COUNT("SELECT count(*) " NODES), 12);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event e JOIN run r USING (session_id, run) WHERE"
                    " r.without_ops AND e.op_type <> 'label'"),
              0);
}

static void nodes_are_ops_where_asked_for(void **state)
{
    record(state, ALL_NODES, NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 25);
    CHECK_U64(COUNT("SELECT count(*) " NODES " AND run IS NOT NULL"), 100);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'kq-0' AND op_type = 'SOFT_MAX'"),
              25);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name = 'Qcur-0' AND type = 'MUL_MAT' AND"
                    " input_shapes = '[[8, 32, 1, 1], [8, 5, 1, 1]]' AND output_shapes ="
                    " '[[32, 5, 1, 1]]' AND input_dtypes = '[\"f16\", \"f32\"]' AND"
                    " computation_flop = 2560"),
              1);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE type = 'RESHAPE'"), 0);
}

/* What it prints, which run_scene_record() compares, tells that it is still called. */
static void a_callback_of_the_program_stays(void **state)
{
    record(state, ALL_NODES, "own");
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 25);
    CHECK_U64(COUNT("SELECT count(*) " NODES), 0);
    CHECK_CONTAINS(((struct run_scene *)*state)->result.out, " 250 0 1\n");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(graphs_are_runs),
        CASE(runs_say_tokens_and_flop),
        CASE(a_layout_that_does_not_fit_is_not_used),
        CASE(nodes_are_ops_where_asked_for),
        CASE(one_run_in_some_has_nodes),
        CASE(a_callback_of_the_program_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
