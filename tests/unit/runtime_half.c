/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors stored in float16 and bfloat16: which, and how far the numbers move. */
#include <math.h>

#include "runtime/exec/exec.h"
#include "runtime/passes/pass.h"
#include "tests/support/check.h"
#include "tests/support/exec_check.h"
#include "tests/support/graph_build.h"
#include "tests/support/half_check.h"

static const enum dtype halves[] = {DTYPE_F16, DTYPE_BF16};
static const double units[] = {0x1p-11, 0x1p-8}; /* the largest relative error of one rounding */

/* The result of output 0 by the kernels that load_and_run takes. */
static float *run(const struct graph *graph)
{
    struct exec *exec = exec_check_create(graph, 1);
    float *out = exec_check_run(exec, graph, 1.0f);

    exec_destroy(&exec);
    return out;
}

/* "NAME:f32 DIMS=0.5,..." */
static const char *weights(const char *name_and_dims, int count)
{
    static char text[4000];
    int at = snprintf(text, sizeof(text), "%s=0.1", name_and_dims);

    for (int i = 1; i < count; i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at, ",%.2f", (i * 7 % 23 - 11) / 20.0);
    return text;
}

static struct graph *build_network(void)
{
    struct graph *graph = build_graph(14);

    build_value(graph, weights("w:f32 8,3,3,3", 8 * 27));
    build_value(graph, weights("v:f32 8,8,1,1", 64));
    build_value(graph, weights("m:f32 8,5", 40));
    build_node(graph, "Conv", "x:f32 2,3,8,8; w", "pads=[1,1,1,1]", "c1");
    build_node(graph, "Relu", "c1", "", "r1");
    build_node(graph, "Conv", "r1; v", "", "c2");
    build_node(graph, "Add", "c2; r1", "", "sum"); /* the residual of the second one */
    build_node(graph, "HardSwish", "sum", "", "h1");
    build_node(graph, "Mul", "h1; s:f32 8,1,1=1,2,3,4,5,6,7,8", "", "h2");
    build_node(graph, "MaxPool", "h2", "kernel_shape=[2,2] strides=[2,2]", "p");
    build_node(graph, "GlobalAveragePool", "p", "", "g");
    build_node(graph, "Flatten", "g", "", "f");
    build_node(graph, "MatMul", "f; m", "", "d");
    build_node(graph, "Softmax", "d", "axis=-1", "y");
    build_output(graph, "y");
    build_infer(graph);
    return graph;
}

static void a_network_is_stored_in_half(void **state)
{
    static const char *const between[] = {"r1", "h2", "p", "g", "f", "d", "w", "v", "m"};
    struct graph *plain = build_network();
    float *want = run(plain);

    for (size_t h = 0; h < 2; h++) {
        struct graph *graph = build_network();
        struct diag diag = {0};
        float *got;

        CHECK_OK(
            graph_optimise(graph, &(struct pass_options){.half = halves[h]}, eval_node, &diag));
        CHECK_OK(graph_check(graph, &diag));
        for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++)
            if (graph_find_value(graph, between[i])->dtype != halves[h])
                fail_msg("%s is %s", between[i],
                         dtype_name(graph_find_value(graph, between[i])->dtype));
        assert_int_equal(graph->inputs[0]->dtype, DTYPE_F32);
        assert_int_equal(graph_find_value(graph, "s")->dtype, DTYPE_F32); /* no weights */
        got = run(graph);
        for (int64_t i = 0; i < shape_elements(&graph->outputs[0]->shape); i++)
            CHECK_NEAR(got[i], want[i], 20 * units[h]);
        free(got);
        graph_destroy(&graph);
    }
    free(want);
    graph_destroy(&plain);
}

/* One operator between two that only move: exactly one rounding of its operand and result. */
static void each_tensor_is_rounded_once(void **state)
{
    for (size_t h = 0; h < 2; h++) {
        struct graph *graph = build_graph(14);
        struct diag diag = {0};
        float *got;

        build_node(graph, "Mul", "x:f32 7,11; third:f32 =0.33333334", "", "a");
        build_node(graph, "Transpose", "a", "perm=[1,0]", "t");
        build_node(graph, "Exp", "t", "", "e");
        build_node(graph, "Reshape", "e; s:i64=-1", "", "flat");
        build_node(graph, "Neg", "flat", "", "y");
        build_output(graph, "y");
        build_infer(graph);
        assert_int_equal(pass_half(graph, &(struct pass_options){.half = halves[h]}, &diag), 5);
        got = run(graph);
        for (int k = 0; k < 77; k++) {
            int at = k % 7 * 11 + k / 7; /* before the transposition */
            double number = (at * 37 % 61 / 61.0 - 0.5) / 3, wanted = -exp(number);

            CHECK_NEAR(got[k], wanted, (fabs(number) + 1) * 2 * units[h]);
        }
        free(got);
        graph_destroy(&graph);
    }
}

/* A Conv adds something to its result that is stored in another type than the result is. */

static struct graph *build_residual_of_input(void *user)
{
    struct graph *graph = build_graph(14);

    build_value(graph, weights("w:f32 4,4,3,3", 4 * 36));
    build_value(graph, weights("v:f32 4,4,1,1", 16));
    build_node(graph, "Conv", "x:f32 1,4,6,6; w", "pads=[1,1,1,1]", "c");
    build_node(graph, "Add", "c; x", "", "sum");
    build_node(graph, "Relu", "sum", "", "r");
    build_node(graph, "Conv", "r; v", "", "y");
    build_output(graph, "y");
    return graph;
}

static struct graph *build_residual_to_output(void *user)
{
    struct graph *graph = build_graph(14);

    build_value(graph, weights("w:f32 4,4,3,3", 4 * 36));
    build_value(graph, weights("v:f32 4,4,1,1", 16));
    build_node(graph, "Conv", "x:f32 1,4,6,6; v", "", "c");
    build_node(graph, "Conv", "c; w", "pads=[1,1,1,1]", "d");
    build_node(graph, "Add", "d; c", "", "y");
    build_output(graph, "y");
    return graph;
}

/* Both in half, and somebody reads it afterwards. */
static struct graph *build_residual_read_later(void *user)
{
    struct graph *graph = build_graph(14);

    build_value(graph, weights("w:f32 4,4,3,3", 4 * 36));
    build_value(graph, weights("v:f32 4,4,1,1", 16));
    build_node(graph, "Conv", "x:f32 1,4,6,6; v", "", "c");
    build_node(graph, "Conv", "c; w", "pads=[1,1,1,1]", "d");
    build_node(graph, "Add", "d; c", "", "sum");
    build_node(graph, "Conv", "sum; v", "", "e");
    build_node(graph, "Mul", "e; c", "", "y");
    build_output(graph, "y");
    return graph;
}

/* All in float32 but what the Conv reads. */
static struct graph *build_residual_of_plain(void *user)
{
    struct graph *graph = build_graph(14);

    build_value(graph, weights("w:f32 4,4,3,3", 4 * 36));
    build_value(graph, weights("v:f32 4,4,1,1", 16));
    build_node(graph, "Conv", "x:f32 1,4,6,6; v", "", "c");
    build_node(graph, "Conv", "c; w", "pads=[1,1,1,1]", "d");
    build_node(graph, "Add", "x; d", "", "y");
    build_output(graph, "y");
    return graph;
}

static void a_residual_of_another_type_is_added(void **state)
{
    static const struct half_check checks[] = {
        {.build = build_residual_of_input, .what = "an input", .slack = 30, .is_tuned = true},
        {.build = build_residual_to_output, .what = "to an output", .slack = 30, .is_tuned = true},
        {.build = build_residual_read_later, .what = "read later", .slack = 30, .is_tuned = true},
        {.build = build_residual_of_plain,
         .what = "an input, to an output",
         .slack = 30,
         .is_tuned = true},
    };

    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
        half_check(&checks[i], NULL);
}

static void what_cannot_be_half_stays(void **state)
{
    static const struct {
        const char *op_type, *inputs;
    } cases[] = {
        {"Greater", "a; z:f32 2,3"},   /* reads it as it is */
        {"Where", "c:bool 2,3; a; a"}, /* moves, but with another type beside */
        {"CumSum", "a; axis:i64 =0"},  /* has no float32 kernel of its own */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct graph *graph = build_graph(14);
        struct diag diag = {0};

        build_node(graph, "Exp", "x:f32 2,3", "", "a");
        build_node(graph, cases[i].op_type, cases[i].inputs, "", "y");
        build_output(graph, "y");
        build_infer(graph);
        assert_int_equal(pass_half(graph, &(struct pass_options){.half = DTYPE_F16}, &diag), 0);
        assert_int_equal(graph_find_value(graph, "a")->dtype, DTYPE_F32);
        graph_destroy(&graph);
    }
}

/* Weights beyond what a half can be stay, and what an output shares its elements with. */
static void numbers_that_do_not_fit_stay(void **state)
{
    struct graph *graph = build_graph(14);
    struct diag diag = {0};

    build_node(graph, "MatMul", "x:f32 2,2; w:f32 2,2=1,2,70000,4", "", "a");
    build_node(graph, "Flatten", "a", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(pass_half(graph, &(struct pass_options){.half = DTYPE_F16}, &diag), 0);
    assert_int_equal(pass_half(graph, &(struct pass_options){.half = DTYPE_BF16}, &diag),
                     1); /* the MatMul, for its weights */
    assert_int_equal(graph_find_value(graph, "a")->dtype, DTYPE_F32);
    graph_destroy(&graph);
}

/* Biases and scales are stored so for devices alone, and where the type can hold them. */
static void what_is_added_is_half_where_it_is_asked_for(void **state)
{
    for (int half_sums = 0; half_sums < 2; half_sums++) {
        enum dtype wanted = half_sums ? DTYPE_F16 : DTYPE_F32;
        struct graph *graph = build_graph(17);
        struct diag diag = {0};

        build_node(graph, "Conv", "x:f32 1,2,1,1; w:f32 2,2,1,1=1,2,3,4; b:f32 2=1,2", "", "a");
        build_node(graph, "Relu", "a", "", "r");
        build_node(graph, "Flatten", "r", "", "f");
        build_node(graph, "LayerNormalization", "f; scale:f32 2=1,2; shift:f32 2=2,1", "", "l");
        build_node(graph, "Gemm", "l; v:f32 2,2=1,2,3,4; large:f32 2=1,70000", "", "g");
        build_node(graph, "Add", "g; none:f32 2=1,2", "", "y");
        build_output(graph, "y");
        build_infer(graph);
        assert_true(pass_half(graph,
                              &(struct pass_options){.half = DTYPE_F16, .half_sums = half_sums},
                              &diag) >= 4);
        assert_int_equal(graph_find_value(graph, "w")->dtype, DTYPE_F16);
        assert_int_equal(graph_find_value(graph, "b")->dtype, wanted);
        assert_int_equal(graph_find_value(graph, "scale")->dtype, wanted);
        assert_int_equal(graph_find_value(graph, "shift")->dtype, wanted);
        assert_int_equal(graph_find_value(graph, "large")->dtype, DTYPE_F32);
        assert_int_equal(graph_find_value(graph, "none")->dtype, DTYPE_F32);
        CHECK_OK(graph_check(graph, &diag));
        graph_destroy(&graph);
    }
}

/* A network whose weights outweigh by far what lies between them, and the same with a large image. */
static struct graph *build_heavy(int size)
{
    struct graph *graph = build_graph(14);
    char inputs[64];

    snprintf(inputs, sizeof(inputs), "table; i:i64 %d,1", size);
    build_value(graph, weights("table:f32 8,8", 64));
    build_value(graph, weights("v:f32 8,8", 64));
    build_node(graph, "Gather", inputs, "axis=0", "rows");
    build_node(graph, "MatMul", "rows; v", "", "a");
    build_node(graph, "Relu", "a", "", "b");
    build_node(graph, "MatMul", "b; v", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    return graph;
}

/* What is little beside weights stays in float32, but for weights, and rows that are taken out of them. */
static void little_between_stays(void **state)
{
    static const struct {
        int size;
        bool where_large;
        enum dtype between;
    } cases[] = {{1, true, DTYPE_F32}, {1, false, DTYPE_F16}, {64, true, DTYPE_F16}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct graph *graph = build_heavy(cases[i].size);
        struct diag diag = {0};

        assert_true(pass_half(graph,
                              &(struct pass_options){.half = DTYPE_F16,
                                                     .half_where_large = cases[i].where_large},
                              &diag) >= 3);
        assert_int_equal(graph_find_value(graph, "table")->dtype, DTYPE_F16);
        assert_int_equal(graph_find_value(graph, "rows")->dtype, DTYPE_F16);
        assert_int_equal(graph_find_value(graph, "v")->dtype, DTYPE_F16);
        assert_int_equal(graph_find_value(graph, "a")->dtype, cases[i].between);
        CHECK_OK(graph_check(graph, &diag));
        graph_destroy(&graph);
    }
}

/* One row, by either order of the weights. */
/* A table of embeddings that the last product reads turned: both copies are half as large, and nothing else
 * is stored so. */
static void a_shared_table_is_turned_as_half(void **state)
{
    struct graph *graph = build_graph(14);
    struct shape shape = {2, {1024, 128}};
    struct value *table = graph_add_value(graph, "t", DTYPE_F32, &shape, NULL);
    float *numbers = graph_alloc_data(1024 * 128 * sizeof(*numbers));
    struct diag diag = {0};
    const struct value *turned;

    assert_true(table && numbers);
    for (int i = 0; i < 1024 * 128; i++)
        numbers[i] = (float)(i * 7 % 1009) / 64.0f;
    value_set_data(table, numbers);
    build_node(graph, "Gather", "t; rows:i64 3", "", "words");
    build_node(graph, "Add", "words; x:f32 3,128", "", "m");
    build_node(graph, "Transpose", "t", "perm=[1,0]", "turned");
    build_node(graph, "MatMul", "m; turned", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    CHECK_OK(graph_optimise(graph,
                            &(struct pass_options){.half = DTYPE_F16, .half_where_large = true},
                            eval_node, &diag));
    CHECK_OK(graph_check(graph, &diag));
    turned = graph_find_value(graph, "turned");
    assert_null(turned->producer);
    assert_non_null(turned->data);
    assert_int_equal(turned->dtype, DTYPE_F16);
    assert_int_equal(table->dtype, DTYPE_F16);
    assert_int_equal(graph_find_value(graph, "m")->dtype, DTYPE_F32);
    for (int k = 0; k < 1024 * 128; k++)
        if (((const uint16_t *)turned->data)[k] !=
            ((const uint16_t *)table->data)[k % 1024 * 128 + k / 1024])
            fail_msg("element %d is another", k);
    graph_destroy(&graph);
}

static void one_row_is_multiplied(void **state)
{
    for (size_t h = 0; h < 2; h++) {
        struct graph *graph = build_graph(14);
        struct diag diag = {0};
        float *got, *want;

        build_value(graph, weights("w:f32 8,30", 240));
        build_value(graph, weights("v:f32 3,30", 90));
        build_node(graph, "MatMul", "x:f32 1,8; w", "", "a");
        build_node(graph, "Gemm", "a; v; c:f32 3=1,2,3", "transB=1", "g");
        build_node(graph, "Relu", "g", "", "y");
        build_output(graph, "y");
        build_infer(graph);
        want = run(graph);
        CHECK_OK(
            graph_optimise(graph, &(struct pass_options){.half = halves[h]}, eval_node, &diag));
        assert_int_equal(graph_find_value(graph, "v")->dtype, halves[h]);
        got = run(graph);
        for (int k = 0; k < 3; k++)
            CHECK_NEAR(got[k], want[k], 40 * units[h]);
        free(got);
        free(want);
        graph_destroy(&graph);
    }
}

/* The type on one side of an operator is not that on the other. */

static struct graph *build_beside(const char *op_type, bool is_first)
{
    struct graph *graph = build_graph(14);

    build_node(graph, is_first ? op_type : "Neg", "x:f32 3,40", "", "n");
    build_node(graph, is_first ? "Neg" : op_type, "n", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    return graph;
}

static void what_takes_halves_as_they_are_takes_floats_beside_them(void **state)
{
    static const char *const op_types[] = {"Sign", "Exp"}; /* one of each kind */

    for (size_t i = 0; i < 2 * sizeof(op_types) / sizeof(op_types[0]); i++) {
        const char *op_type = op_types[i / 2];
        struct graph *plain = build_beside(op_type, i % 2), *graph = build_beside(op_type, i % 2);
        struct diag diag = {0};
        float *want = run(plain), *got;

        assert_true(pass_half(graph, &(struct pass_options){.half = DTYPE_F16}, &diag) > 0);
        assert_int_equal(graph_find_value(graph, "n")->dtype, DTYPE_F16);
        got = run(graph);
        for (int k = 0; k < 120; k++)
            if (fabs((double)(got[k] - want[k])) > 4 * units[0])
                fail_msg("%s%s: element %d is %g, not %g", op_type, i % 2 ? ", first" : "", k,
                         (double)got[k], (double)want[k]);
        free(got);
        free(want);
        graph_destroy(&graph);
        graph_destroy(&plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_is_stored_in_half),
        cmocka_unit_test(each_tensor_is_rounded_once),
        cmocka_unit_test(a_residual_of_another_type_is_added),
        cmocka_unit_test(what_cannot_be_half_stays),
        cmocka_unit_test(numbers_that_do_not_fit_stay),
        cmocka_unit_test(what_is_added_is_half_where_it_is_asked_for),
        cmocka_unit_test(little_between_stays),
        cmocka_unit_test(a_shared_table_is_turned_as_half),
        cmocka_unit_test(one_row_is_multiplied),
        cmocka_unit_test(what_takes_halves_as_they_are_takes_floats_beside_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
