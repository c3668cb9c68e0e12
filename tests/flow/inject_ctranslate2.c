/* SPDX-License-Identifier: Apache-2.0 */
/* Steps and layers of CTranslate2, of a program that nobody changed, over small libraries of
 * different layouts. */
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

static void record(void **state, const char *layout, const char *const *options, int status,
                   const char *word)
{
    char name[80];
    char *program;

    snprintf(name, sizeof(name), "tests/flow/inject_ctranslate2_program_%s", layout);
    program = place_program(name);
    run_scene_record(*state, options, status, (const char *const[]){program, word, NULL});
    free(program);
}

#define ALL                                                                                        \
    (const char *const[])                                                                          \
    {                                                                                              \
        "--nodes", "all", NULL                                                                     \
    }
#define COUNT(sql) ((uint64_t)run_scene_count(*state, sql))
#define OF(op)     "SELECT count(*) FROM v_event JOIN op USING (op_id) WHERE op.name = " op
#define INSIDE(inner, outer)                                                                       \
    "SELECT count(*) FROM v_event AS i JOIN v_event AS o USING (lane_id, run) WHERE"               \
    " i.op_name = '" inner "' AND o.op_name = '" outer "' AND i.start_ns >= o.start_ns AND"        \
    " i.end_ns <= o.end_ns"

/* Six steps of two layers and one of an encoder, whatever is known of shapes. */
static void check_names(void **state)
{
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 7);
    CHECK_U64(COUNT(OF("'TransformerDecoder' AND run IS NOT NULL")), 6);
    CHECK_U64(COUNT(OF("'WhisperEncoder' AND run IS NOT NULL")), 1);
    CHECK_U64(COUNT(INSIDE("TransformerDecoderLayer", "TransformerDecoder")), 12);
    CHECK_U64(COUNT(INSIDE("Dense", "TransformerDecoderLayer")), 12);
    CHECK_U64(COUNT(INSIDE("Gemm", "Dense")), 12);
    CHECK_U64(COUNT(OF("'MatMul'")), 12); /* and none of what is in no step */
}

static void check_shapes(void **state)
{
    CHECK_U64(COUNT(OF("'TransformerDecoder' AND input_shapes = '[[2, 1]]' AND input_dtypes LIKE"
                       " '%i32%' AND output_shapes = '[[2, 1, 300]]'")),
              6);
    CHECK_U64(COUNT(OF("'Dense' AND input_shapes = '[[2, 1, 128]]' AND output_shapes ="
                       " '[[2, 1, 384]]' AND computation_flop = 196608")),
              12);
    CHECK_U64(COUNT(OF("'Gemm' AND input_shapes = '[[2, 1, 128], [384, 128]]' AND computation_flop"
                       " IS NULL")),
              12);
    CHECK_U64(COUNT(OF("'Gemm' AND input_dtypes LIKE '%i8%'")), 2);
    CHECK_U64(
        COUNT(OF("'MatMul' AND output_shapes = '[[2, 4, 1, 9]]' AND computation_flop = 4608")), 12);
    CHECK_U64(COUNT(OF("'WhisperEncoder' AND input_shapes = '[[1, 80, 3000]]'")), 1);
}

static void steps_are_runs_and_layers_nest(void **state)
{
    record(state, "1", ALL, 0, NULL);
    check_names(state);
    check_shapes(state);
}

static void a_layout_of_no_release_is_found_out(void **state)
{
    record(state, "2", ALL, 0, NULL);
    check_names(state);
    check_shapes(state);
}

#define LIMIT                                                                                      \
    "SELECT count(*) FROM op WHERE type = 'source' AND name = 'ctranslate2' AND params LIKE "

static void names_alone_where_none_is_found(void **state)
{
    record(state, "3", ALL, 0, NULL);
    check_names(state);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE input_shapes IS NOT NULL AND type <> 'source'"),
              0);
    CHECK_U64(COUNT(LIMIT "'%names and times only%'"), 1);
}

static void one_run_in_some_has_ops(void **state)
{
    record(state, "1", (const char *const[]){"--nodes", "1/3", NULL}, 0, NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE without_ops = 0"), 3);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE without_ops = 1"), 4);
    CHECK_U64(COUNT(OF("'Dense'")), 4);
    record(state, "1", (const char *const[]){"--nodes", "off", NULL}, 0, NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE without_ops = 1"), 7);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event"), 0);
}

/* As by exceptions, once from deeper in the stack than what follows, once from less deep. */
static void steps_that_are_left_end(void **state)
{
    record(state, "1", ALL, 0, "leave");
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 10);
    CHECK_U64(COUNT(OF("'TransformerDecoder' AND end_ns IS NOT NULL AND run IS NOT NULL")), 9);
    CHECK_U64(COUNT("SELECT count(DISTINCT run) FROM v_event WHERE op_name = 'TransformerDecoder'"),
              9);
    CHECK_U64(COUNT(OF("'MatMul'")), 12);
    CHECK_U64(COUNT(OF("'Dense' AND computation_flop = 196608")), 15);
}

static void what_had_ended_is_there_when_it_is_killed(void **state)
{
    record(state, "1", ALL, 128 + 9, "die");
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 5);
    CHECK_U64(COUNT(OF("'Dense'")), 10);
}

static void other_sources_leave_it_alone(void **state)
{
    record(state, "1", (const char *const[]){"--sources", "nvtx,blas", NULL}, 0, NULL);
    CHECK_U64((uint64_t)run_scene_count(*state, "SELECT count(*) FROM session"), 0);
}

/* An extension brings it, as in Python. */
static void other_signatures_are_said(void **state)
{
    char *loader = place_program("tests/flow/inject_torch_loader");
    char *module = place_program("tests/flow/libinject_ctranslate2_module.so");

    run_scene_record(*state, NULL, 0, (const char *const[]){loader, module, NULL});
    CHECK_U64(COUNT("SELECT count(*) FROM run"), 0);
    CHECK_U64(COUNT(LIMIT "'%its functions in this release are not known%'"), 1);
    CHECK_CONTAINS(((struct run_scene *)*state)->result.out, "14002");
    free(module);
    free(loader);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(steps_are_runs_and_layers_nest),  CASE(a_layout_of_no_release_is_found_out),
        CASE(names_alone_where_none_is_found), CASE(one_run_in_some_has_ops),
        CASE(steps_that_are_left_end),         CASE(what_had_ended_is_there_when_it_is_killed),
        CASE(other_sources_leave_it_alone),    CASE(other_signatures_are_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
