/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of programs that nobody changed: sizes, operations, and none counted twice. */
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

static void record(void **state, const char *scene)
{
    char *program = place_program("tests/flow/inject_blas_program");

    run_scene_record(*state, NULL, 0, (const char *const[]){program, scene, NULL});
    free(program);
}

#define COUNT(sql) ((uint64_t)run_scene_count(*state, sql))

static void sizes_and_operations_are_exact(void **state)
{
    record(state, "products");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'dgemm 30x20x10'"), 12);
    CHECK_U64(COUNT("SELECT min(computation_flop) FROM op WHERE name = 'dgemm 30x20x10'"), 12000);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event JOIN op o USING (op_id) WHERE"
                    " o.params ->> 'order' = 'rows' AND o.params ->> 'b' = 'T'"),
              5);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name = 'zgemm 6x5x4' AND type = 'MatMul' AND"
                    " computation_flop = 8 * 120 AND memory_bytes = 16 * (24 + 20 + 30) AND"
                    " input_shapes = '[[6, 4], [4, 5]]' AND output_shapes = '[[6, 5]]' AND"
                    " input_dtypes = '[\"c128\", \"c128\"]' AND params ->> 'a' = 'C'"),
              1);
    CHECK_U64(
        COUNT("SELECT count(*) FROM op WHERE name = 'dgemm 0x20x10' AND computation_flop = 0"), 1);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event"), 5 + 7 + 1 + 1);
}

static void threads_have_their_own(void **state)
{
    record(state, "threads");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event"), 8000);
    CHECK_U64(COUNT("SELECT count(DISTINCT lane_id) FROM v_event"), 8);
}

/* More than a second, so that the housekeeping comes, too. */
static void arithmetic_flags_are_the_programs(void **state)
{
    record(state, "flags");
    CHECK_CONTAINS(((struct run_scene *)*state)->result.out, "raised 0\n");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event"), 600);
}

/* The results, which run_scene_record() compares, tell whose functions were called. */
static void each_library_calls_its_own(void **state)
{
    char *one = place_program("tests/flow/libinject_blas_one.so");
    char *two = place_program("tests/flow/libinject_blas_two.so");

    char *program = place_program("tests/flow/inject_blas_loader");

    run_scene_record(*state, NULL, 0, (const char *const[]){program, one, two, NULL});
    free(program);
    CHECK_CONTAINS(((struct run_scene *)*state)->result.out, "111 15\n222 15\n");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'dgemm 3x4x5000000000'"), 6);
    CHECK_U64(COUNT("SELECT max(computation_flop) FROM op"), UINT64_C(120000000000));
    free(one);
    free(two);
}

static void they_are_skipped_where_not_asked_for(void **state)
{
    char *program = place_program("tests/flow/inject_blas_program");

    run_scene_record(*state, (const char *const[]){"--sources", "nvtx,itt", NULL}, 0,
                     (const char *const[]){program, "products", NULL});
    CHECK_U64(COUNT("SELECT count(*) FROM session"), 0);
    free(program);
}

static void products_begin_runs(void **state)
{
    char *program = place_program("tests/flow/inject_blas_program");

    run_scene_record(*state, (const char *const[]){"--runs-by", "^dgemm 30x", NULL}, 0,
                     (const char *const[]){program, "products", NULL});
    CHECK_U64(COUNT("SELECT count(*) FROM run WHERE end_ns IS NOT NULL"), 12);
    free(program);
}

static void a_shell_between_makes_no_session(void **state)
{
    char *program = place_program("tests/flow/inject_blas_program"), command[400];

    snprintf(command, sizeof(command), "true; %s products; (exit 3)", program);
    run_scene_record(*state, NULL, 3, (const char *const[]){"sh", "-c", command, NULL});
    CHECK_U64(COUNT("SELECT count(*) FROM session"), 1);
    free(program);
}

/* Debian's NumPy, with whatever BLAS it finds. */
static void numpy_is_seen(void **state)
{
    char *script = place_source("examples/numpy_products.py");
    const char *const probe[] = {"/usr/bin/python3", "-c", "import numpy", NULL};
    struct child_result result = child_run(probe, NULL);
    const bool is_there = result.status == 0;

    child_result_deinit(&result);
    if (is_there) {
        run_scene_record(*state, NULL, 0, (const char *const[]){"/usr/bin/python3", script, NULL});
        CHECK_U64(COUNT("SELECT count(*) FROM session"), 1);
        CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'dgemm 300x200x100'"), 10);
        CHECK_U64(COUNT("SELECT computation_flop FROM op WHERE name = 'dgemm 300x200x100'"),
                  2 * 300 * 200 * 100);
        CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'sgemm 64x48x32'"), 8);
        CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'zgemm 40x30x20'"), 3);
        CHECK_U64(COUNT("SELECT computation_flop FROM op WHERE name = 'zgemm 40x30x20'"),
                  8 * 40 * 30 * 20);
        CHECK_U64(COUNT("SELECT count(*) FROM v_event"), 10 + 8 + 3);
    }
    free(script);
    if (!is_there)
        CHECK_SKIP("Python has no NumPy");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(sizes_and_operations_are_exact),       CASE(threads_have_their_own),
        CASE(arithmetic_flags_are_the_programs),    CASE(each_library_calls_its_own),
        CASE(they_are_skipped_where_not_asked_for), CASE(products_begin_runs),
        CASE(a_shell_between_makes_no_session),     CASE(numpy_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
