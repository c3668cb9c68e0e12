/* SPDX-License-Identifier: Apache-2.0 */
/* OpenVINO on processors, by what it tells of itself by ITT, over a small library of ours. */
#include <stdio.h>
#include <stdlib.h>

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

static void layers_of_openvino_are_ops_of_runs(void **state)
{
    record(state, 0, "openvino");
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 5);
    CHECK_U64(
        COUNT("SELECT count(*) FROM v_event WHERE op_name = 'conv0' AND op_type = 'Convolution'"
              " AND run IS NOT NULL"),
        5);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'conv1'"), 5);
    /* of one model with layers of that name, then of two */
    CHECK_U64(COUNT("SELECT count(*) FROM v_event JOIN op USING (op_id) WHERE op.name = 'conv0' AND"
                    " input_shapes = '[[1, 3, 16, 16], [8, 3, 3, 3]]' AND"
                    " output_shapes = '[[1, 8, 16, 16]]' AND computation_flop = 110592"),
              3);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event JOIN op USING (op_id) WHERE op.name = 'conv0' AND"
                    " input_shapes IS NULL AND computation_flop IS NULL"),
              2);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name = 'conv1' AND computation_flop IS NULL"),
              2);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name IN ('sdpa', 'Convolution::execute')"), 0);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'reorder' AND run IS NULL"), 1);
}

static void layers_are_told_apart_by_their_order(void **state)
{
    setenv("FAKE_OPENVINO_VERSION", "2026.2.0-21903-releases/2026/2", 1);
    record(state, 0, "openvino");
    unsetenv("FAKE_OPENVINO_VERSION");
    for (int i = 1; i <= 2; i++) {
        char sql[160];

        snprintf(sql, sizeof(sql),
                 "SELECT count(*) FROM v_event WHERE op_name = 'layer %d of Model1' AND"
                 " op_type = 'layer' AND run IS NOT NULL",
                 i);
        CHECK_U64(COUNT(sql), 5);
    }
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name LIKE 'conv%' OR name LIKE 'layer 3%'"), 0);
    CHECK_U64(
        COUNT("SELECT count(*) FROM op WHERE input_shapes IS NOT NULL OR computation_flop IS NOT"
              " NULL"),
        0);
}

static void classes_of_an_older_openvino_are_labels(void **state)
{
    record(state, 0, "classes");
    CHECK_U64(
        COUNT("SELECT count(*) FROM v_event WHERE op_name = 'Convolution' AND op_type = 'label'"),
        5);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event"), 5);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(layers_of_openvino_are_ops_of_runs),
        CASE(layers_are_told_apart_by_their_order),
        CASE(classes_of_an_older_openvino_are_labels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
