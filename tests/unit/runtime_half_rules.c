/* SPDX-License-Identifier: Apache-2.0 */
/* What half precision must not touch: where a rounding makes infinity, NaN, another index or
 * another size out of a number, the tensor stays in float32, and everything around it does not. */
#include <math.h>

#include "runtime/exec/exec.h"
#include "runtime/ops/call/call.h"
#include "runtime/ops/eval.h"
#include "runtime/ops/shape/shape.h"
#include "runtime/passes/pass.h"
#include "tests/support/check.h"
#include "tests/support/exec_check.h"
#include "tests/support/graph_build.h"
#include "tests/support/half_check.h"

/* "NAME:f32 DIMS=...": `count` numbers, uniform in [-scale, scale). */
static const char *weights(const char *name_and_dims, int count, double scale)
{
    static char text[6000];
    uint32_t state = 5;
    int at = snprintf(text, sizeof(text), "%s", name_and_dims);

    for (int i = 0; i < count; i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at, "%c%g", i == 0 ? '=' : ',',
                       scale * (double)exec_check_random(&state));
    return text;
}

/* Each case: one operator in front and one behind are in half. */
static struct graph *begin(double scale)
{
    struct graph *graph = build_graph(17);

    build_value(graph, weights("w:f32 8,8", 64, scale));
    build_value(graph, weights("v:f32 8,8", 64, 0.5));
    build_node(graph, "MatMul", "x:f32 6,8; w", "", "a");
    return graph;
}

static struct graph *end(struct graph *graph, const char *last)
{
    char inputs[80];

    snprintf(inputs, sizeof(inputs), "%s; v", last);
    build_node(graph, "Softsign", last, "", "h");
    build_node(graph, "MatMul", "h; v", "", "y");
    build_output(graph, "y");
    return graph;
}

/* Rows that a mask makes 0 have a length that only the epsilon keeps from being 0. */
static struct graph *build_cosine(void *user)
{
    struct graph *graph = begin(0.5);

    build_node(graph, "Mul", "a; m:f32 6,1=1,1,0,1,0,1", "", "b");
    build_node(graph, "ReduceL2", "b", "axes=[-1] keepdims=1", "n");
    build_node(graph, "Clip", "n; least:f32 =1e-12", "", "c");
    build_node(graph, "Expand", "c; shape:i64=6,8", "", "e");
    build_node(graph, "Div", "b; e", "", "d");
    return end(graph, "d");
}

/* The mean of squares, spelled out: squares of more than 256 are too large for float16. */
static struct graph *build_root_mean_square(void *user)
{
    struct graph *graph = begin(300);

    build_node(graph, "Add", "a; one:f32 =0.5", "", "b");
    build_node(graph, "Mul", "b; b", "", "s");
    build_node(graph, "ReduceMean", "s", "axes=[-1] keepdims=1", "m");
    build_node(graph, "Add", "m; e:f32 =1e-12", "", "n");
    build_node(graph, "Sqrt", "n", "", "r");
    build_node(graph, "Reciprocal", "r", "", "q");
    build_node(graph, "Mul", "b; q", "", "d");
    return end(graph, "d");
}

/* The mean of the squares less the square of the mean, of numbers that hardly differ. */
static struct graph *build_variance(void *user)
{
    struct graph *graph = begin(0.001);

    build_node(graph, "Add", "a; far:f32 =20.31", "", "b");
    build_node(graph, "Mul", "b; b", "", "s");
    build_node(graph, "ReduceMean", "s", "axes=[-1] keepdims=1", "m");
    build_node(graph, "ReduceMean", "b", "axes=[-1] keepdims=1", "o");
    build_node(graph, "Mul", "o; o", "", "p");
    build_node(graph, "Sub", "m; p", "", "q");
    build_node(graph, "Add", "q; e:f32 =0.001", "", "t");
    build_node(graph, "Sqrt", "t", "", "u");
    build_node(graph, "Div", "a; u", "", "d");
    return end(graph, "d");
}

/* A row that is masked as a whole: all the same, however far down. */
static struct graph *build_mask(void *user)
{
    struct graph *graph = begin(0.5);

    build_node(graph, "Add", "a; m:f32 6,1=0,0,-3.4028234e38,0,-1e9,0", "", "b");
    build_node(graph, "Relu", "b", "", "unused");
    build_node(graph, "Transpose", "b", "perm=[0,1]", "t");
    build_node(graph, "Softmax", "t", "axis=-1", "s");
    return end(graph, "s");
}

/* Whether a position is even, by way of numbers that only float32 holds. */
static struct graph *build_index(void *user)
{
    struct graph *graph = begin(0.5);

    build_node(graph, "Mul", "x; times:f32 =2999", "", "f");
    build_node(graph, "Reshape", "f; shape:i64=8,6", "", "g");
    build_node(graph, "Abs", "g", "", "h0");
    build_node(graph, "Cast", "h0", "to=7", "i");
    build_node(graph, "Mod", "i; two:i64 =2", "", "even");
    build_node(graph, "Cast", "even", "to=1", "j");
    build_node(graph, "Reshape", "j; back:i64=6,8", "", "k");
    build_node(graph, "Mul", "a; k", "", "b");
    return end(graph, "b");
}

/* Angles of many turns: rotary positions. */
static struct graph *build_angle(void *user)
{
    struct graph *graph = begin(0.5);

    build_node(graph, "Slice", "x; s:i64=0; e:i64=1; axes:i64=1", "", "p");
    build_node(graph, "Mul", "p; far:f32 =5000", "", "position");
    build_node(graph, "MatMul", "position; f:f32 1,8=1,0.3,0.1,0.03,0.01,0.003,0.001,0.0003", "",
               "angle");
    build_node(graph, "Concat", "angle; angle", "axis=0", "both");
    build_node(graph, "Sin", "both", "", "sin");
    build_node(graph, "Slice", "sin; s2:i64=0; e2:i64=6; axes2:i64=0", "", "first");
    build_node(graph, "Mul", "a; first", "", "b");
    return end(graph, "b");
}

/* Weights that are all below what float16 holds with its precision, of large numbers. */
static struct graph *build_small_weights(void *user)
{
    struct graph *graph = begin(1e-7);

    build_node(graph, "Mul", "a; more:f32 =1e3", "", "b");
    return end(graph, "b");
}

/* Numbers beyond float16 come down again. How far off they are is another matter. */
static struct graph *build_overflow(void *user)
{
    struct graph *graph = begin(1e6);

    build_node(graph, "MatMul", "a; v", "", "b"); /* sums of both signs */
    build_node(graph, "Sub", "b; a", "", "c");
    build_node(graph, "Mul", "c; less:f32 =1e-6", "", "d");
    return end(graph, "d");
}

static const struct {
    const char *name;
    struct graph *(*build)(void *user);
    double slack;
    float range; /* of the input; 0: 1 */
    bool is_loose;
} cases[] = {
    {"cosine of masked rows", build_cosine, 10, 0, false},
    {"root of the mean square", build_root_mean_square, 10, 0, false},
    {"variance", build_variance, 10, 0, false},
    {"rows that are masked", build_mask, 10, 0, false},
    {"an index in floating point", build_index, 10, 0, false},
    {"angles of many turns", build_angle, 10, 0, false},
    {"small weights", build_small_weights, 10, 1e4f, false},
    {"overflow", build_overflow, 0, 0, true},
};

static void no_rounding_becomes_another_number(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct half_check check = {.build = cases[i].build,
                                   .what = cases[i].name,
                                   .low = -cases[i].range,
                                   .high = cases[i].range,
                                   .seed = 3,
                                   .slack = cases[i].slack,
                                   .loose = cases[i].is_loose};
        uint32_t counts[HALF_CHECK_TYPES];

        half_check(&check, counts);
        /* At least the weights of the last product and what it reads. */
        for (size_t h = 0; h < HALF_CHECK_TYPES; h++)
            if (counts[h] < 2)
                fail_msg("%s: %u values are in half", cases[i].name, counts[h]);
    }
}

/* How many rows are selected is found when shapes are inferred, and must be found again. */
static struct graph *build_selected(void *user)
{
    struct graph *graph = begin(0.5);

    build_node(graph, "Softsign", "a", "", "b");
    build_node(graph, "ReduceMax", "b", "axes=[-1] keepdims=0", "best");
    build_node(graph, "Greater", "best; limit:f32 =0.3", "", "is");
    build_node(graph, "NonZero", "is", "", "at");
    build_node(graph, "Reshape", "at; flat:i64=-1", "", "rows");
    build_node(graph, "MatMul", "x; v", "", "other"); /* is no part of that */
    build_node(graph, "Softsign", "other", "", "c");
    build_node(graph, "Gather", "c; rows", "axis=0", "selected");
    return end(graph, "selected");
}

static void what_decides_sizes_is_float32(void **state)
{
    uint32_t counts[HALF_CHECK_TYPES];

    for (uint32_t seed = 1; seed <= 20; seed++) {
        half_check(
            &(struct half_check){
                .build = build_selected, .what = "a selection", .seed = seed, .slack = 10},
            counts);
        assert_true(counts[0] >= 3 && counts[1] == counts[0]);
    }
}

/* A model that comes in float16 overflows as it says; what we narrow does not. */
static void only_what_was_narrowed_saturates(void **state)
{
    struct graph *graph = build_graph(17);
    struct tensor_view x = {DTYPE_F32, {1, {2}}, (float[]){20, 1}}, y;
    struct exec *exec;
    struct diag diag = {0};

    build_node(graph, "Cast", "x:f32 2", "to=10", "a");
    build_node(graph, "Exp", "a", "", "b");
    build_node(graph, "Cast", "b", "to=1", "y");
    build_output(graph, "y");
    CHECK_OK(shape_infer(graph, eval_node, &diag));
    CHECK_OK(graph_optimise(graph, &(struct pass_options){.half = DTYPE_F16}, eval_node, &diag));
    exec = exec_check_create(graph, 1);
    CHECK_OK(exec_set_input(exec, 0, &x, &diag));
    exec_dispatch(exec);
    CHECK_OK(exec_wait(exec, &diag));
    CHECK_OK(exec_output(exec, 0, &y));
    assert_true(isinf(((const float *)y.data)[0]));
    assert_true(((const float *)y.data)[1] < 3);
    exec_destroy(&exec);
    graph_destroy(&graph);
}

/* Nodes whose kernels of float32 are much faster than those of any type: 35 to 100 times. */
static void what_computes_widens(void **state)
{
    static const char *const types[] = {"Conv", "Einsum", "GRU",   "Gemm",
                                        "LSTM", "MatMul", "PRelu", "RNN"};
    struct graph *graph = build_graph(14);

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        char output[8];

        snprintf(output, sizeof(output), "y%zu", i);
        build_node(graph, types[i], i == 0 ? "x:f32 2,2; w:f32 2,2" : "x; w", "", output);
        if (!call_widens(graph->nodes[i]))
            fail_msg("%s of half precision is computed number by number", types[i]);
    }
    build_node(graph, "Equal", "x; w", "", "e");
    assert_false(call_widens(graph->nodes[graph->node_count - 1]));
    graph_destroy(&graph);
}

/* Operators whose tensors passes leave as they are, of a model in float16: computed in float32 on a CPU, not on a device. */
static void what_is_half_in_the_model_is_computed_wide(void **state)
{
    static const struct {
        const char *type, *inputs, *attributes;
    } nodes[] = {{"LogSoftmax", "x:f16 4,6", ""},
                 {"ArgMax", "x", "axis=1"},
                 {"CumSum", "x; axis:i64 =1", ""},
                 {"TopK", "x; k:i64 1=2", ""}};
    struct graph *graph = build_graph(17);
    struct kernel_table kernels;
    struct diag diag = {0};

    (void)state;
    kernel_table_init(&kernels, kernel_best_level());
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        const struct node *node;
        struct tensor_view inputs[2] = {{DTYPE_F16, {2, {4, 6}}, NULL}}, outputs[2];
        struct call_request request = {.kernels = &kernels, .graph = graph, .diag = &diag};
        char names[16];

        snprintf(names, sizeof(names), i == 3 ? "y%zu; p%zu" : "y%zu", i, i);
        build_node(graph, nodes[i].type, nodes[i].inputs, nodes[i].attributes, names);
        CHECK_OK(shape_infer(graph, eval_node, &diag));
        node = graph->nodes[i];
        for (uint32_t k = 0; k < node->output_count; k++)
            outputs[k] =
                (struct tensor_view){node->outputs[k]->dtype, node->outputs[k]->shape, NULL};
        if (node->input_count > 1)
            inputs[1] = (struct tensor_view){node->inputs[1]->dtype, node->inputs[1]->shape,
                                             node->inputs[1]->data};
        request.node = node;
        request.inputs = inputs;
        request.outputs = outputs;
        for (int device = 0; device < 2; device++) {
            struct call call = {0};

            request.on_device = device;
            if (call_bind_any(&request, call_bind, &call) < 0)
                fail_msg("%s", diag.text);
            if ((call.half != NULL) == (device == 1))
                fail_msg("%s on device %d is computed otherwise", nodes[i].type, device);
            call_deinit(&call);
        }
        assert_false(call_widens(node));
    }
    graph_destroy(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_rounding_becomes_another_number),
        cmocka_unit_test(what_decides_sizes_is_float32),
        cmocka_unit_test(only_what_was_narrowed_saturates),
        cmocka_unit_test(what_computes_widens),
        cmocka_unit_test(what_is_half_in_the_model_is_computed_wide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
