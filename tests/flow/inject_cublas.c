/* SPDX-License-Identifier: Apache-2.0 */
/* Products of cuBLAS, of a program that nobody changed, over the double of tests/support/cuda. */
#include <stdlib.h>

#include "tests/support/check.h"
#include "tests/support/place.h"
#include "tests/support/run_scene.h"

static int start(void **state)
{
    char *library = place_program("tests/support/libcupti.so.13");

    setenv("OPTRACE_CUPTI", library, 1);
    free(library);
    setenv("CUDA_DOUBLE_KERNELS", "product=100000,sum_of_parts=2000", 1);
    *state = run_scene_create();
    return 0;
}

static int stop(void **state)
{
    run_scene_destroy((struct run_scene **)state);
    return 0;
}

static void record_with(void **state, const char *const *options)
{
    char *program = place_program("tests/flow/inject_cublas_program");

    run_scene_record(*state, options, 0, (const char *const[]){program, NULL});
    free(program);
}

#define COUNT(sql) ((uint64_t)run_scene_count(*state, sql))

/* cuBLAS calls cuBLASLt: once each. Sizes of the transposed are those of the product. */
static void products_have_sizes_and_flop(void **state)
{
    record_with(state, NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_type = 'MatMul'"), 150);
    CHECK_U64(COUNT("SELECT computation_flop FROM op WHERE name = 'cublas f32 128x256x512'"),
              33554432);
    CHECK_U64(COUNT("SELECT memory_bytes FROM op WHERE name = 'cublas f32 128x256x512'"), 917504);
    CHECK_U64(COUNT("SELECT computation_flop FROM op WHERE name = 'cublas f16 64x64x64' AND"
                    " params = '{\"a\":\"N\",\"b\":\"T\"}'"),
              524288);
    CHECK_U64(COUNT("SELECT computation_flop FROM op WHERE name = 'cublas bf16 4x32x48x64' AND"
                    " output_shapes = '[[4, 32, 48]]'"),
              786432);
}

/* Not of the memset before it, nor of the sum after it. */
static void flop_are_the_kernels(void **state)
{
    record_with(state, (const char *const[]){"--gpu", "graph", NULL});
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_type = 'MatMul'"), 150);
    CHECK_U64(
        COUNT("SELECT count(*) FROM op WHERE type = 'MatMul' AND computation_flop IS NOT NULL"), 0);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE"
                    " o.name = 'product' AND o.computation_flop = 33554432 AND e.dur_ns = 100000"),
              50);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE"
                    " o.name = 'product' AND o.computation_flop = 524288"),
              50);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name = 'sum_of_parts' AND"
                    " computation_flop IS NOT NULL"),
              0);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'sum_of_parts'"), 150);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(products_have_sizes_and_flop),
        CASE(flop_are_the_kernels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
