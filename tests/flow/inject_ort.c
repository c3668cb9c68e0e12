/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions and runs of ONNX Runtime, of programs that nobody changed, over a small library. */
#include <signal.h>

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

static void record(void **state, int status, const char *scene)
{
    char *program = place_program("tests/flow/inject_ort_program");

    run_scene_record(*state, NULL, status, (const char *const[]){program, scene, NULL});
    free(program);
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

static void threads_share_a_session(void **state)
{
    record(state, 0, "threads");
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 1000);
    CHECK_U64(COUNT("SELECT count(DISTINCT lane_id) FROM run"), 4);
    CHECK_U64(COUNT("SELECT count(DISTINCT model_id) FROM run"), 1);
}

static void what_is_killed_has_its_runs(void **state)
{
    record(state, 128 + SIGKILL, "killed");
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
        CASE(threads_share_a_session),
        CASE(what_is_killed_has_its_runs),
        CASE(each_module_has_its_own),
        CASE(it_is_left_alone_where_not_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
