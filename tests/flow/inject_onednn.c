/* SPDX-License-Identifier: Apache-2.0 */
/* Primitives of a shared oneDNN, of a program that nobody changed. */
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

static void record(void **state, const char *sources)
{
    char *program = place_program("tests/flow/inject_onednn_program");
    const char *const options[] = {"--sources", sources, NULL};

    run_scene_record(*state, sources ? options : NULL, 0, (const char *const[]){program, NULL});
    free(program);
}

#define COUNT(sql) ((uint64_t)run_scene_count(*state, sql))

static void primitives_are_seen_with_their_sizes(void **state)
{
    record(state, NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM session WHERE end_reason = 'done'"), 1);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'convolution 1x12x10x10'"), 20);
    CHECK_U64(
        COUNT("SELECT count(*) FROM op WHERE type = 'Conv' AND"
              " computation_flop = 2 * 12 * 100 * 4 * 9 AND"
              " memory_bytes = 4 * (800 + 432 + 1200) AND"
              " input_shapes = '[[1, 8, 10, 10], [2, 6, 4, 3, 3]]' AND"
              " output_shapes = '[[1, 12, 10, 10]]' AND input_dtypes = '[\"f32\", \"f32\"]' AND"
              " params ->> 'implementation' != ''"),
        1);
    /* One name, two sizes: two ops, whatever addresses they had. */
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name = 'matmul 16x24' AND type = 'MatMul'"), 2);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event JOIN op o USING (op_id) WHERE"
                    " o.computation_flop = 2 * 16 * 24 * 40"),
              20);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event JOIN op o USING (op_id) WHERE"
                    " o.computation_flop = 2 * 16 * 24 * 32"),
              20);
}

/* Descriptors of 3 are asked, where those of 2 are read. */
static void the_next_release_tells_its_sizes_otherwise(void **state)
{
    char *program = place_program("tests/flow/inject_onednn3_program");

    run_scene_record(*state, NULL, 0, (const char *const[]){program, NULL});
    CHECK_U64(
        COUNT("SELECT count(*) FROM v_event JOIN op o USING (op_id) WHERE o.type = 'Conv' AND"
              " o.name = 'convolution 1x12x10x10' AND o.computation_flop = 2 * 12 * 100 * 4 * 9"
              " AND o.memory_bytes = 4 * (800 + 432 + 1200) AND"
              " o.input_shapes = '[[1, 8, 10, 10], [2, 6, 4, 3, 3]]' AND"
              " o.params ->> 'implementation' = 'jit:fake'"),
        10);
    CHECK_U64(
        COUNT("SELECT count(*) FROM v_event JOIN op o USING (op_id) WHERE o.type = 'MatMul' AND"
              " o.computation_flop = 2 * 16 * 24 * 40 AND o.input_dtypes = '[\"bf16\","
              " \"bf16\"]' AND o.output_dtypes = '[\"bool\"]'"),
        10);
    free(program);
}

/* It tells by ITT what is recorded already. */
static void nothing_is_told_twice(void **state)
{
    record(state, NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_type != 'mark'"), 60);
    record(state, "itt");
    /* On each of its threads. */
    assert_true(COUNT("SELECT count(*) FROM v_event WHERE op_type = 'label'") >= 60);
    record(state, "onednn");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event"), 60);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(primitives_are_seen_with_their_sizes),
        CASE(the_next_release_tells_its_sizes_otherwise),
        CASE(nothing_is_told_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
