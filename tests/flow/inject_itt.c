/* SPDX-License-Identifier: Apache-2.0 */
/* Programs with ITT, recorded as they are. */
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
    char *program = place_program("tests/flow/inject_itt_program");

    run_scene_record(*state, NULL, status, (const char *const[]){program, scene, NULL});
    free(program);
}

#define COUNT(sql) ((uint64_t)run_scene_count(*state, sql))

static void tasks_are_seen(void **state)
{
    record(state, 0, "work");
    CHECK_U64(COUNT("SELECT count(*) FROM session WHERE end_reason = 'done'"), 1);
    CHECK_U64(
        COUNT("SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE lane_kind ="
              " 'thread' AND name = 'convolution' AND params ->> 'domain' = 'dnnl::primitive'"),
        10);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE"
                    " name = 'convolution' AND params ->> 'domain' = 'other'"),
              10);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event o JOIN v_event i USING (lane_id) WHERE"
                    " o.op_name = 'convolution' AND i.op_name = 'reorder' AND"
                    " i.start_ns >= o.start_ns AND i.end_ns <= o.end_ns"),
              10);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE end_ns IS NULL"), 0);
}

static void overlapped_ones_have_lanes(void **state)
{
    record(state, 0, "work");
    CHECK_U64(COUNT("SELECT count(DISTINCT lane_id) FROM v_event WHERE lane_kind = 'queue' AND"
                    " op_name = 'convolution'"),
              2);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'frame'"), 1);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'an event'"), 1);
}

static void marks_and_names_are_seen(void **state)
{
    record(state, 0, "work");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'here' AND op_type = 'mark'"), 1);
    CHECK_U64(COUNT("SELECT count(*) FROM lane WHERE name = 'worker' AND kind = 'thread'"), 1);
}

static void the_last_task_is_seen(void **state)
{
    record(state, 128 + SIGKILL, "killed");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'the last' AND end_ns IS NULL"),
              1);
}

static void who_calls_nothing_makes_no_session(void **state)
{
    record(state, 0, "none");
    CHECK_U64(COUNT("SELECT count(*) FROM session"), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(tasks_are_seen),
        CASE(overlapped_ones_have_lanes),
        CASE(marks_and_names_are_seen),
        CASE(the_last_task_is_seen),
        CASE(who_calls_nothing_makes_no_session),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
