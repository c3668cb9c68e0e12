/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of cuDNN, of a program that nobody changed, over the double of tests/support/cuda. */
#include <stdlib.h>

#include "tests/support/check.h"
#include "tests/support/place.h"
#include "tests/support/run_scene.h"

static int start(void **state)
{
    char *library = place_program("tests/support/libcupti.so.13");

    setenv("OPTRACE_CUPTI", library, 1);
    free(library);
    setenv("CUDA_DOUBLE_KERNELS", "implicit_gemm=100000,sum_of_parts=2000", 1);
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
    char *program = place_program("tests/flow/inject_cudnn_program");

    run_scene_record(*state, options, 0, (const char *const[]){program, NULL});
    free(program);
}

#define COUNT(sql) ((uint64_t)run_scene_count(*state, sql))

/* 2 * 8 * 128 * 56 * 56 * 32 * 9; 2 * 8 * 128 * 56 * 56 * 64; 2 * 4 * 32 * 48 * 64; and
 * 2 * 2 * 8 * 128 * 256 * (64 + 32). */
static void plans_have_sizes_and_flop(void **state)
{
    record_with(state, NULL);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name LIKE 'cudnn %'"), 250);
    CHECK_U64(COUNT("SELECT computation_flop FROM op WHERE type = 'Conv' AND"
                    " name = 'cudnn conv+pointwise+pointwise 8x128x56x56' AND"
                    " input_shapes = '[[8, 64, 56, 56], [128, 32, 3, 3]]' AND"
                    " output_dtypes = '[\"f16\"]' AND memory_bytes IS NULL"),
              1849688064);
    CHECK_U64(COUNT("SELECT computation_flop FROM op WHERE type = 'ConvBackward' AND"
                    " name = 'cudnn conv_backward_weights 128x64x1x1' AND"
                    " memory_bytes = 4 * (8 * 64 * 3136 + 128 * 64 + 8 * 128 * 3136)"),
              411041792);
    CHECK_U64(COUNT("SELECT computation_flop FROM op WHERE type = 'MatMul'"), 786432);
    CHECK_U64(COUNT("SELECT computation_flop FROM op WHERE type = 'Attention'"), 100663296);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name = 'cudnn pointwise' AND"
                    " computation_flop IS NULL"),
              1);
}

/* Not of the memset before it, nor of the sum after it. */
static void flop_are_the_kernels(void **state)
{
    record_with(state, (const char *const[]){"--gpu", "graph", NULL});
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name LIKE 'cudnn %' AND"
                    " computation_flop IS NOT NULL"),
              0);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE"
                    " o.name = 'implicit_gemm' AND o.computation_flop = 1849688064 AND"
                    " e.dur_ns = 100000"),
              50);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE"
                    " o.name = 'implicit_gemm' AND o.computation_flop IS NULL"),
              50); /* of the plan that only adds */
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name = 'sum_of_parts' AND"
                    " computation_flop IS NOT NULL"),
              0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(plans_have_sizes_and_flop),
        CASE(flop_are_the_kernels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
