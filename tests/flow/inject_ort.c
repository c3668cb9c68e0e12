/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions and runs of ONNX Runtime, of programs that nobody changed, over a small library. */
#include <signal.h>

#include "tests/support/check.h"
#include "tests/support/place.h"
#include "tests/support/run_scene.h"

#if defined(__has_feature)
#define IS_THREAD_SANITIZER __has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__)
#define IS_THREAD_SANITIZER 1
#endif
#ifndef IS_THREAD_SANITIZER
#define IS_THREAD_SANITIZER 0
#endif

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

static void record_nodes(void **state, const char *nodes, int status, const char *scene)
{
    const char *const options[] = {"--nodes", nodes, NULL};
    char *program = place_program("tests/flow/inject_ort_program");

    run_scene_record(*state, nodes ? options : NULL, status,
                     (const char *const[]){program, scene, NULL});
    free(program);
}

static void record(void **state, int status, const char *scene)
{
    record_nodes(state, NULL, status, scene);
}

#define COUNT(sql) ((uint64_t)run_scene_count(*state, sql))

static void runs_and_models_are_seen(void **state)
{
    record(state, 0, "sessions");
    CHECK_U64(COUNT("SELECT count(*) FROM session WHERE end_reason = 'done'"), 1);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 5 + 3 + 2 + 1);
    CHECK_U64(COUNT("SELECT count(*) FROM run JOIN model USING (model_id) WHERE"
                    " name = 'first.onnx' AND path = '/models/first.onnx' AND format = 'onnx'"),
              7);
    CHECK_U64(COUNT("SELECT count(*) FROM run JOIN model USING (model_id) WHERE"
                    " name = 'model of 5 bytes'"),
              3);
    CHECK_U64(COUNT("SELECT count(*) FROM run JOIN model USING (model_id) WHERE"
                    " name = 'third.onnx'"),
              1);
    /* The one that failed, too. */
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'load model'"), 4);
}

#define NODES "SELECT count(*) FROM v_event WHERE op_type <> 'label'"

static void nodes_have_shapes_and_flop(void **state)
{
    record_nodes(state, "all", 0, "sessions");
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE NOT without_ops"), 5 + 3 + 2 + 1);
    CHECK_U64(COUNT(NODES " AND run IS NOT NULL"), 3 * (5 + 3 + 1 + 1)); /* one failed */
    CHECK_U64(COUNT("SELECT count(DISTINCT name) FROM op WHERE type IN ('Conv', 'Relu', 'Mul')"),
              3);
    /* An op for each of the three models. */
    CHECK_U64(
        COUNT("SELECT count(*) FROM op WHERE name = 'conv' AND type = 'Conv' AND node_id = '0'"
              " AND device = 'cpu:0' AND input_shapes = '[[1, 3, 8, 8], [4, 3, 3, 3]]'"
              " AND output_shapes = '[[1, 4, 8, 8]]' AND input_dtypes = '[\"f32\", \"f32\"]'"
              " AND computation_flop = 2 * 256 * 27 AND memory_bytes = 123"
              " AND model_id IS NOT NULL"),
        3);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name = 'scale' AND input_shapes = '[[4]]'"
                    " AND output_shapes = '[[]]' AND output_dtypes = '[\"i64\"]'"),
              3);
}

static void one_run_in_some_has_nodes(void **state)
{
    record_nodes(state, "1/10", 0, "threads");
    CHECK_U64(COUNT("SELECT count(*) FROM run"), 1000);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE NOT without_ops"), 100);
    CHECK_U64(COUNT(NODES), 300);
    CHECK_U64(COUNT("SELECT max(n) FROM (SELECT count(*) AS n FROM v_event WHERE op_type <> 'label'"
                    " GROUP BY run)"),
              3);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event e JOIN run r USING (session_id, run) WHERE"
                    " r.without_ops"),
              0);
    record_nodes(state, "off", 0, "threads");
    CHECK_U64(COUNT(NODES), 0);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE without_ops"), 1000);
}

static void options_of_the_program_are_as_they_were(void **state)
{
    record_nodes(state, "1/10", 0, "options");
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE NOT without_ops"), 25);
    CHECK_U64(COUNT(NODES), 75);
    record_nodes(state, "all", 0, "shared");
    CHECK_U64(COUNT("SELECT count(*) FROM run"), 1000);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE NOT without_ops"), 1000);
    CHECK_U64(COUNT(NODES), 3000);
}

/* A run takes nothing here, so that nodes are nearly all of its time. */
static void nodes_cost_no_more_than_they_may(void **state)
{
    char *program = place_program("tests/flow/inject_ort_program");
    const char *const argv[] = {program, "options", NULL};

    run_scene_record(*state, (const char *const[]){"--nodes", "1/2", NULL}, 0, argv);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE NOT without_ops"), 125);
    run_scene_record(*state, (const char *const[]){"--nodes", "1/2", "--max-cost", "2%", NULL}, 0,
                     argv);
    CHECK_U64(COUNT("SELECT count(*) FROM run"), 250);
    assert_true(COUNT("SELECT count(*) FROM run WHERE NOT without_ops") < 60);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name LIKE 'nodes of one run in % from"
                    " here on: of one in 2 they took % of the time' AND op_type = 'mark'"),
              1);
    /* Of all: some without, to compare with. */
    run_scene_record(*state, (const char *const[]){"--nodes", "all", "--max-cost", "100", NULL}, 0,
                     argv);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE NOT without_ops"), 242);
    free(program);
}

/* A mark says so, and the nodes of other runs are right. */
static void nodes_without_an_end_are_told(void **state)
{
    record_nodes(state, "all", 0, "endless");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_type = 'mark' AND op_name LIKE"
                    " 'ONNX Runtime: nodes began and never ended%'"),
              1);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE type = 'source' AND name = 'ort' AND"
                    " params ->> 'limit' LIKE 'nodes began and never ended%'"),
              1);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event e JOIN run r USING (session_id, run) JOIN model m"
                    " USING (model_id) WHERE m.name = 'first.onnx' AND e.op_type <> 'mark'"),
              15);
}

/* One that profiles itself keeps its profile, and sees no device of ours. */
static void a_profile_of_the_program_is_left_alone(void **state)
{
    record_nodes(state, "all", 0, "profile");
    CHECK_CONTAINS(((struct run_scene *)*state)->result.out, "1 CPUExecutionProvider\n");
    CHECK_U64(COUNT("SELECT count(*) FROM run"), 6);
    CHECK_U64(COUNT(NODES), 3);
}

static void check_profiles(void **state, const char *scene, uint64_t runs, uint64_t with_nodes)
{
    char *program = place_program("tests/flow/inject_ort_program");
    char *library = place_program("tests/flow/libfake_ort_24.so");
    char folder[300];
    struct child_result left;

    snprintf(folder, sizeof(folder), "TMPDIR=%s", ((struct run_scene *)*state)->dir);
    run_scene_record(*state, (const char *const[]){"--nodes", "all", NULL}, 0,
                     (const char *const[]){"env", folder, program, scene, library, NULL});
    CHECK_U64(COUNT("SELECT count(*) FROM run"), runs);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE NOT without_ops"), with_nodes);
    CHECK_U64(COUNT(NODES " AND run IS NOT NULL"), 3 * with_nodes);
    CHECK_U64(COUNT("SELECT max(n) FROM (SELECT count(*) AS n FROM v_event WHERE op_type <> 'label'"
                    " GROUP BY run)"),
              3);
    CHECK_U64(
        COUNT("SELECT count(*) FROM event e JOIN lane l USING (lane_id) JOIN run r ON"
              " r.run = e.run WHERE r.lane_id <> e.lane_id OR e.start_ns < r.start_ns - 5000"),
        0);
    snprintf(folder, sizeof(folder), "ls %s | grep optrace-ort | wc -l",
             ((struct run_scene *)*state)->dir);
    left = child_run((const char *const[]){"sh", "-c", folder, NULL}, NULL);
    assert_string_equal(left.out, "0\n");
    child_result_deinit(&left);
    free(library);
    free(program);
}

/* A release that tells of no nodes has its own profile, which is whole with the session's end. */
static void an_older_one_tells_its_nodes_at_the_end(void **state)
{
    check_profiles(state, "threads", 1000, 1000);
    CHECK_U64(
        COUNT("SELECT count(*) FROM op WHERE name = 'conv' AND type = 'Conv' AND node_id = '0'"
              " AND input_shapes = '[[1, 3, 8, 8], [4, 3, 3, 3]]' AND memory_bytes = 123"
              " AND computation_flop = 2 * 256 * 27"),
        1);
    check_profiles(state, "unreleased", 5, 5);
    if (!IS_THREAD_SANITIZER) /* takes a fork() with locks for locks that are held for ever */
        check_profiles(state, "forked", 5 + 3, 5);
}

/* As C#, Go and Rust find it. */
static void it_is_found_by_dlsym(void **state)
{
    char *program = place_program("tests/flow/inject_ort_program");
    char *library = place_program("tests/flow/libfake_ort_30.so");

    run_scene_record(*state, (const char *const[]){"--nodes", "all", NULL}, 0,
                     (const char *const[]){program, "threads", library, NULL});
    CHECK_U64(COUNT("SELECT count(*) FROM run"), 1000);
    CHECK_U64(COUNT(NODES), 3000);
    free(library);
    free(program);
}

static void threads_share_a_session(void **state)
{
    record(state, 0, "threads");
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 1000);
    CHECK_U64(COUNT("SELECT count(DISTINCT lane_id) FROM run"), 4);
    CHECK_U64(COUNT("SELECT count(DISTINCT model_id) FROM run"), 1);
}

static void what_is_killed_has_its_runs(void **state)
{
    record_nodes(state, "all", 128 + SIGKILL, "killed");
    CHECK_U64(COUNT(NODES), 300);
    CHECK_U64(COUNT("SELECT count(*) FROM session WHERE end_reason = 'died'"), 1);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 100);
}

/* Loaded RTLD_LOCAL, each its own: the results tell whose functions ran. */
static void each_module_has_its_own(void **state)
{
    char *program = place_program("tests/flow/inject_ort_loader");
    char *modules[3];

    modules[0] = place_program("tests/flow/libinject_ort_17.so");
    modules[1] = place_program("tests/flow/libinject_ort_24.so");
    modules[2] = place_program("tests/flow/libinject_ort_30.so");
    run_scene_record(
        *state, NULL, 0,
        (const char *const[]){program, "17", modules[0], modules[1], modules[2], NULL});
    CHECK_CONTAINS(((struct run_scene *)*state)->result.out, "260\n330\n390\n");
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 30);
    /* The first of each session that has nodes: API 30 alone. */
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE NOT without_ops"), 1);
    /* An API that the first two have not. */
    run_scene_record(
        *state, NULL, 0,
        (const char *const[]){program, "25", modules[0], modules[1], modules[2], NULL});
    CHECK_CONTAINS(((struct run_scene *)*state)->result.out, "-1\n-1\n390\n");
    CHECK_U64(COUNT("SELECT count(*) FROM run"), 10);
    for (int i = 0; i < 3; i++)
        free(modules[i]);
    free(program);
}

static void it_is_left_alone_where_not_asked_for(void **state)
{
    char *program = place_program("tests/flow/inject_ort_program");

    run_scene_record(*state, (const char *const[]){"--sources", "nvtx", NULL}, 0,
                     (const char *const[]){program, "sessions", NULL});
    CHECK_U64(COUNT("SELECT count(*) FROM session"), 0);
    free(program);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(runs_and_models_are_seen),
        CASE(nodes_have_shapes_and_flop),
        CASE(one_run_in_some_has_nodes),
        CASE(options_of_the_program_are_as_they_were),
        CASE(a_profile_of_the_program_is_left_alone),
        CASE(it_is_found_by_dlsym),
        CASE(an_older_one_tells_its_nodes_at_the_end),
        CASE(nodes_cost_no_more_than_they_may),
        CASE(nodes_without_an_end_are_told),
        CASE(threads_share_a_session),
        CASE(what_is_killed_has_its_runs),
        CASE(each_module_has_its_own),
        CASE(it_is_left_alone_where_not_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
