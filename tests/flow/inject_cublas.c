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

static void record_with(void **state, const char *const *options, const char *scene)
{
    char *program = place_program("tests/flow/inject_cublas_program");

    run_scene_record(*state, options, 0, (const char *const[]){program, scene, NULL});
    free(program);
}

#define COUNT(sql) ((uint64_t)run_scene_count(*state, sql))

/* cuBLAS calls cuBLASLt: once each. Sizes of the transposed are those of the product. */
static void products_have_sizes_and_flop(void **state)
{
    record_with(state, NULL, NULL);
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
    record_with(state, (const char *const[]){"--gpu", "graph", NULL}, NULL);
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

/* Captured once: each kernel of each replay has the FLOP of the product that launched it, and a graph
 * that is one span has all of them. */
static void flop_of_what_was_captured(void **state)
{
    static const char *const toolkits[] = {"12.4", "13.5"}; /* by copies, by what records say */

    for (size_t i = 0; i < sizeof(toolkits) / sizeof(toolkits[0]); i++) {
        setenv("CUDA_DOUBLE_TOOLKIT", toolkits[i], 1);
        record_with(state, (const char *const[]){"--gpu", "node", NULL}, "captured");
        CHECK_U64(COUNT("SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE"
                        " o.name = 'product' AND o.computation_flop = 33554432 AND"
                        " o.memory_bytes = 917504 AND"
                        " json_extract(o.origin, '$[0]') = 'cublas f32 128x256x512'"),
                  50);
        CHECK_U64(COUNT("SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE"
                        " o.name = 'product' AND o.computation_flop IN (524288, 786432)"),
                  100);
        CHECK_U64(COUNT("SELECT sum(o.computation_flop) FROM v_event e JOIN op o USING (op_id)"),
                  UINT64_C(50) * (33554432 + 524288 + 786432));
        CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'Memset'"), 150);
        record_with(state, (const char *const[]){"--gpu", "graph", NULL}, "captured");
        CHECK_U64(COUNT("SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE"
                        " o.type = 'cuda_graph' AND o.computation_flop = 34865152"),
                  50);
        CHECK_U64(COUNT("SELECT sum(o.computation_flop) FROM v_event e JOIN op o USING (op_id)"),
                  UINT64_C(50) * (33554432 + 524288 + 786432));
    }
    unsetenv("CUDA_DOUBLE_TOOLKIT");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(products_have_sizes_and_flop),
        CASE(flop_are_the_kernels),
        CASE(flop_of_what_was_captured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
