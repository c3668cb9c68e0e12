/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of PyTorch, of programs that nobody changed, over small libraries of different layouts. */
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

    snprintf(name, sizeof(name), "tests/flow/inject_torch_program_%s", layout);
    program = place_program(name);
    run_scene_record(*state, options, status, (const char *const[]){program, word, NULL});
    free(program);
}

#define COUNT(sql) ((uint64_t)run_scene_count(*state, sql))

/* Of three steps and a thread, whatever is known of shapes. */
static void check_names(void **state)
{
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'aten::conv2d'"), 3);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'aten::convolution'"), 6);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'aten::linear'"), 3);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'aten::addmm'"), 3);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'aten::add'"), 50);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_type = 'label'"), 3);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'step 2'"), 1);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name LIKE 'PyTorch:%'"), 0);
    CHECK_U64(COUNT("SELECT count(DISTINCT lane_id) FROM v_event"), 2);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event AS o JOIN v_event AS i USING (lane_id)"
                    " WHERE o.op_name = 'aten::conv2d' AND i.op_name = 'aten::convolution'"
                    " AND i.start_ns >= o.start_ns AND i.end_ns <= o.end_ns"),
              3);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event AS o JOIN v_event AS i USING (lane_id)"
                    " WHERE o.op_type = 'label' AND i.op_name LIKE 'aten::%'"
                    " AND i.start_ns >= o.start_ns AND i.end_ns <= o.end_ns"),
              21);
}

#define OP                "SELECT count(*) FROM v_event JOIN op USING (op_id) WHERE op.name = "
#define SHAPES(in, out)   " AND input_shapes = '" in "' AND output_shapes = '" out "'"
#define FLOP(number)      " AND computation_flop = " number
#define FLOP_IS_ELSEWHERE " AND computation_flop IS NULL"

static void check_shapes(void **state)
{
    CHECK_U64(COUNT(OP "'aten::conv2d'" SHAPES("[[2, 3, 32, 32], [8, 3, 3, 3], [8]]",
                                               "[[2, 8, 15, 15]]") FLOP("194400")),
              3);
    CHECK_U64(COUNT(OP "'aten::convolution'" SHAPES("[[2, 3, 32, 32], [8, 3, 3, 3], [8]]",
                                                    "[[2, 8, 15, 15]]") FLOP_IS_ELSEWHERE),
              3);
    CHECK_U64(COUNT(OP "'aten::convolution' AND output_shapes = '[[2, 3, 32, 32]]'" FLOP("194400")),
              3);
    CHECK_U64(
        COUNT(OP "'aten::linear'" SHAPES("[[2, 64], [64, 10]]", "[[2, 10]]") FLOP_IS_ELSEWHERE), 3);
    CHECK_U64(COUNT(OP "'aten::addmm'" FLOP("2560")), 3);
    CHECK_U64(COUNT(OP "'aten::add'" FLOP("3600")), 50);
    CHECK_U64(COUNT(OP "'aten::sum' AND input_shapes = '[[2, 3, 4, 5, 6, 7]]'"), 3);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name = 'aten::neg' AND"
                    " input_shapes LIKE '%9, 9%'"),
              0);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'aten::neg'"), 3);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name = 'aten::addmm' AND"
                    " input_dtypes LIKE '%bf16%'"),
              1);
    /* the BLAS inside of the library is a part of its ops */
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_type = 'MatMul'"), 0);
    CHECK_CONTAINS(((struct run_scene *)*state)->result.out, "0 tensors asked");
}

static void ops_nest_and_have_shapes(void **state)
{
    record(state, "1", NULL, 0, NULL);
    check_names(state);
    check_shapes(state);
}

static void a_layout_of_no_release_is_found_out(void **state)
{
    record(state, "2", NULL, 0, NULL);
    check_names(state);
    check_shapes(state);
}

static void check_names_alone(void **state, const char *layout, uint64_t marks)
{
    record(state, layout, NULL, 0, NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'aten::conv2d'"), 3);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'aten::add'"), 50);
    CHECK_U64(
        COUNT("SELECT count(*) FROM op WHERE input_shapes IS NOT NULL AND name LIKE 'aten::%'"), 0);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_type = 'mark' AND"
                    " op_name LIKE 'PyTorch: names and times only, %'"),
              marks);
}

static void one_that_cannot_be_is_refused(void **state)
{
    check_names_alone(state, "3", 1);
    check_names_alone(state, "5", 1);
}

static void values_that_cannot_be_end_it(void **state)
{
    check_names_alone(state, "4", 1);
}

static void names_alone_where_no_more_is_wanted(void **state)
{
    char *program = place_program("tests/flow/inject_torch_program_1");

    run_scene_record(*state, NULL, 0,
                     (const char *const[]){"env", "OPTRACE_NODES=off", program, NULL});
    check_names(state);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE input_shapes IS NOT NULL AND"
                    " name LIKE 'aten::%'"),
              0);
    free(program);
}

static void old_releases_have_names(void **state)
{
    record(state, "0", NULL, 0, NULL);
    check_names(state);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_type = 'MatMul'"), 3);
    CHECK_U64(
        COUNT("SELECT count(*) FROM op WHERE input_shapes IS NOT NULL AND name LIKE 'aten::%'"), 0);
}

static void it_is_found_when_an_extension_brings_it(void **state)
{
    char *loader = place_program("tests/flow/inject_torch_loader");
    char *module = place_program("tests/flow/libinject_torch_module.so");

    run_scene_record(*state, NULL, 0, (const char *const[]){loader, module, NULL});
    check_names(state);
    check_shapes(state);
    free(module);
    free(loader);
}

/* Of what a model that was compiled beforehand calls by functions of C no callback hears. */
static void check_beforehand(void **state)
{
    CHECK_CONTAINS(((struct run_scene *)*state)->result.out, "5.25 5461321.0\n");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event"), 16);
    CHECK_U64(
        COUNT(OP "'aten::addmm'" SHAPES("[[2, 10], [2, 64], [64, 10]]", "[[2, 10]]") FLOP("2560")),
        4);
    CHECK_U64(COUNT(OP "'aten::convolution'" SHAPES("[[2, 8, 15, 15], [8, 3, 3, 3]]",
                                                    "[[2, 3, 32, 32]]") FLOP("194400")),
              4);
    CHECK_U64(COUNT(OP "'aten::_convolution'" FLOP_IS_ELSEWHERE), 4);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event AS o JOIN v_event AS i USING (lane_id)"
                    " WHERE o.op_name = 'aten::addmm' AND i.op_name = 'aten::copy_'"
                    " AND i.start_ns >= o.start_ns AND i.end_ns <= o.end_ns"),
              4);
}

static void calls_behind_the_dispatcher_are_ops(void **state)
{
    record(state, "1", NULL, 0, "beforehand");
    check_beforehand(state);
    record(state, "2", NULL, 0, "beforehand");
    check_beforehand(state);
    record(state, "3", NULL, 0, "beforehand");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'aten::addmm'"), 4);
    record(state, "1", (const char *const[]){"--sources", "nvtx", NULL}, 0, "beforehand");
}

/* Their results are not kept, and known all the same. */
static void check_in_place(void **state, const char *layout)
{
    record(state, layout, NULL, 0, "in-place");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = '20 results kept'"), 1);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = '21 results kept'"), 1);
    CHECK_U64(COUNT(OP "'aten::relu_'" SHAPES("[[2, 8, 15, 15]]", "[[2, 8, 15, 15]]")), 4);
    CHECK_U64(COUNT(OP "'aten::detach_'" SHAPES("[[2, 3, 4, 5, 6, 7]]", "[[2, 3, 4, 5, 6, 7]]")),
              4);
    CHECK_U64(COUNT(OP "'aten::unsqueeze_'" SHAPES("[[2, 64]]", "[[64, 10]]")), 4);
    CHECK_U64(COUNT(OP "'aten::t_'" SHAPES("[[2, 64]]", "[[64, 10]]")), 4);
    CHECK_U64(COUNT(OP "'own::relu_'" SHAPES("[[2, 64]]", "[[64, 10]]")), 4);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name = 'aten::neg_' AND"
                    " output_shapes = '[[2, 8, 15, 15]]'"),
              1);
    CHECK_U64(COUNT(OP "'aten::relu_'" SHAPES("[[8]]", "[[8]]")), 1);
    CHECK_U64(COUNT(OP "'aten::sigmoid_'" SHAPES("[[8]]", "[[8]]")), 1);
}

static void results_of_ops_in_place_are_not_kept(void **state)
{
    check_in_place(state, "1");
    check_in_place(state, "2");
}

static void labels_begin_runs(void **state)
{
    record(state, "1", (const char *const[]){"--runs-by", "^step", NULL}, 0, NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 3);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE run IS NOT NULL AND"
                    " op_name LIKE 'aten::%'"),
              21);
}

static void other_sources_leave_it_alone(void **state)
{
    record(state, "1", (const char *const[]){"--sources", "nvtx,blas", NULL}, 0, NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event"), 3); /* products */
}

static void what_was_open_is_seen_when_it_is_killed(void **state)
{
    record(state, "1", NULL, 128 + 9, "die");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'aten::conv2d'"), 1);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'aten::convolution'"), 1);
}

/* Nobody listens: after some calls it is asked for few. */
static void few_are_called_while_nobody_listens(void **state)
{
    char *program = place_program("tests/flow/inject_torch_program_1");
    char *library = place_program("client/inject/liboptrace_inject.so");
    char *preload;
    struct child_result result;

    if (asprintf(&preload, "LD_PRELOAD=%s", library) < 0)
        fail_msg("out of memory");
    result = child_run((const char *const[]){"env", "OPTRACE_SOCKET=/nowhere/socket", preload,
                                             program, "often", NULL},
                       NULL);
    CHECK_CONTAINS(result.out, "few calls");
    CHECK_U64((uint64_t)result.status, 0);
    child_result_deinit(&result);
    free(preload);
    free(library);
    free(program);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(ops_nest_and_have_shapes),
        CASE(a_layout_of_no_release_is_found_out),
        CASE(one_that_cannot_be_is_refused),
        CASE(values_that_cannot_be_end_it),
        CASE(names_alone_where_no_more_is_wanted),
        CASE(old_releases_have_names),
        CASE(it_is_found_when_an_extension_brings_it),
        CASE(calls_behind_the_dispatcher_are_ops),
        CASE(results_of_ops_in_place_are_not_kept),
        CASE(labels_begin_runs),
        CASE(other_sources_leave_it_alone),
        CASE(what_was_open_is_seen_when_it_is_killed),
        CASE(few_are_called_while_nobody_listens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
