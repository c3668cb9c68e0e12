/* SPDX-License-Identifier: Apache-2.0 */
/* Layer normalisation and GELU in small pieces: what is detected, and that the numbers stay. */
#include "runtime/passes/pass.h"
#include "tests/support/check.h"
#include "tests/support/graph_build.h"

/* A node of a pattern: its inputs, attributes and output as graph_build.h reads them. */
struct piece {
    const char *op_type, *inputs, *attributes, *output;
};

enum { PIECES_MAX = 10 };

static struct graph *build(const struct piece *pieces, const char *output, int64_t opset)
{
    struct graph *graph = build_graph(opset);
    struct diag diag = {0};

    for (int i = 0; i < PIECES_MAX && pieces[i].op_type; i++)
        build_node(graph, pieces[i].op_type, pieces[i].inputs, pieces[i].attributes,
                   pieces[i].output);
    build_output(graph, output);
    if (shape_infer(graph, eval_node, &diag) < 0)
        fail_msg("%s", diag.text);
    return graph;
}

/* Runs the pass, checks the graph, and compares output 0 before and after. */
static int detect(struct graph *graph)
{
    struct diag diag = {0};
    struct shape shape = graph->outputs[0]->shape;
    float *before = build_evaluate(graph, 0, 7), *after;
    int rc = pass_detect(graph, &diag);

    if (rc < 0 || graph_check(graph, &diag) < 0)
        fail_msg("%s", diag.text);
    after = build_evaluate(graph, 0, 7);
    for (int64_t i = 0; i < shape_elements(&shape); i++)
        CHECK_NEAR(after[i], before[i], 2e-6);
    free(before);
    free(after);
    return rc;
}

static const struct piece layer_norm[PIECES_MAX] = {
    {"ReduceMean", "x:f32 2,3,4", "axes=[-1]", "mean"},
    {"Sub", "x; mean", "", "d"},
    {"Pow", "d; two:f32 =2", "", "square"},
    {"ReduceMean", "square", "axes=[2]", "variance"},
    {"Add", "variance; e:f32 =0.001", "", "sum"},
    {"Sqrt", "sum", "", "root"},
    {"Div", "d; root", "", "n"},
    {"Mul", "n; scale:f32=1,2,-1,0.5", "", "s"},
    {"Add", "s; bias:f32=1,0,2,-1", "", "y"},
};

static void a_layer_norm_is_detected(void **state)
{
    struct graph *graph = build(layer_norm, "y", 13);
    const struct node *node;

    assert_int_equal(detect(graph), 1);
    CHECK_U64(graph->node_count, 1);
    node = graph->nodes[0];
    assert_string_equal(node->op_type, "LayerNormalization");
    CHECK_U64(node->origin_count, 9);
    CHECK_NEAR(node_float(node, "epsilon", 0), 0.001, 1e-9);
    graph_destroy(&graph);
}

/* The same with one piece changed. A pattern that ends before its bias is one, too. */
static void only_a_layer_norm_is_detected(void **state)
{
    static const struct {
        int at;
        struct piece piece;
        int found;
    } cases[] = {
        {2, {"Mul", "d; d", "", "square"}, 1},
        {4, {"Add", "e:f32 =0.001; variance", "", "sum"}, 1},
        {7, {"Mul", "scale:f32=1,2,-1,0.5; n", "", "s"}, 1},
        {8, {"Sub", "s; bias:f32=1,0,2,-1", "", "y"}, 1},
        {8, {"Add", "s; bias:f32 3,1=1,0,2", "", "y"}, 1},
        {0, {"ReduceMean", "x:f32 2,3,4", "axes=[0]", "mean"}, 0},
        {1, {"Sub", "mean; x", "", "d"}, 0},
        {2, {"Pow", "d; two:f32 =4", "", "square"}, 0},
        {3, {"ReduceMean", "square", "axes=[1,2]", "variance"}, 0},
        {4, {"Add", "variance; e:f32 3,1=1,2,3", "", "sum"}, 0},
        {6, {"Div", "x; root", "", "n"}, 0},
        {7, {"Mul", "n; scale:f32 3,1=1,2,-1", "", "s"}, 0},
        {7, {"Add", "n; scale:f32=1,2,-1,0.5", "", "s"}, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct piece pieces[PIECES_MAX];
        struct graph *graph;
        int found;

        memcpy(pieces, layer_norm, sizeof(pieces));
        pieces[cases[i].at] = cases[i].piece;
        graph = build(pieces, "y", 13);
        found = detect(graph);
        if (found != cases[i].found)
            fail_msg("%s(%s): %d", cases[i].piece.op_type, cases[i].piece.inputs, found);
        graph_destroy(&graph);
    }
}

static void what_is_shown_is_kept(void **state)
{
    static const char *const names[] = {"mean", "d", "square", "variance", "sum", "root", "n"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct graph *graph = build(layer_norm, "y", 13);

        build_output(graph, names[i]);
        if (detect(graph) != 0)
            fail_msg("%s is gone", names[i]);
        graph_destroy(&graph);
    }
}

static void a_gelu_is_detected(void **state)
{
    static const struct piece forms[][PIECES_MAX] = {
        {{"Div", "x:f32 3,4; r:f32 =1.41421354", "", "d"},
         {"Erf", "d", "", "e"},
         {"Add", "e; one:f32 =1", "", "s"},
         {"Mul", "x; s", "", "m"},
         {"Mul", "m; half:f32 =0.5", "", "y"}},
        {{"Mul", "x:f32 3,4; half:f32 =0.5", "", "h"},
         {"Mul", "r:f32 =0.70710677; x", "", "d"},
         {"Erf", "d", "", "e"},
         {"Add", "one:f32 =1; e", "", "s"},
         {"Mul", "h; s", "", "y"}},
        {{"Div", "x:f32 3,4; r:f32=1.41421354", "", "d"},
         {"Erf", "d", "", "e"},
         {"Add", "e; one:f32 =1", "", "s"},
         {"Mul", "s; half:f32 =0.5", "", "m"},
         {"Mul", "m; x", "", "y"}},
    };

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct graph *graph = build(forms[i], "y", 13);

        assert_int_equal(detect(graph), 1);
        CHECK_U64(graph->node_count, 1);
        assert_string_equal(graph->nodes[0]->op_type, "Gelu");
        CHECK_U64(graph->nodes[0]->origin_count, 5);
        graph_destroy(&graph);
    }
}

static void only_a_gelu_is_detected(void **state)
{
    static const struct piece forms[][PIECES_MAX] = {
        {{"Div", "x:f32 3,4; r:f32 =1.5", "", "d"}, /* another root */
         {"Erf", "d", "", "e"},
         {"Add", "e; one:f32 =1", "", "s"},
         {"Mul", "x; s", "", "m"},
         {"Mul", "m; half:f32 =0.5", "", "y"}},
        {{"Div", "x:f32 3,4; r:f32 =1.41421354", "", "d"},
         {"Erf", "d", "", "e"},
         {"Add", "e; one:f32 =1", "", "s"},
         {"Mul", "z:f32 3,4; s", "", "m"}, /* another factor */
         {"Mul", "m; half:f32 =0.5", "", "y"}},
        {{"Div", "x:f32 3,4; r:f32 =1.41421354", "", "d"},
         {"Erf", "d", "", "e"},
         {"Add", "e; d", "", "s"}, /* another sum */
         {"Mul", "x; s", "", "m"},
         {"Mul", "m; half:f32 =0.5", "", "y"}},
        {{"Div", "x:f32 3,4; r:f32 =1.41421354", "", "d"},
         {"Erf", "d", "", "e"},
         {"Add", "e; one:f32 =1", "", "s"},
         {"Mul", "x; s", "", "m"},
         {"Mul", "m; half:f32 2,1,1=0.5,0.5", "", "y"}}, /* more axes */
        {{"Div", "x:f32 3,4; r:f32 =1.41421354", "", "d"},
         {"Erf", "d", "", "e"},
         {"Add", "e; one:f32 =1", "", "s"},
         {"Mul", "x; s", "", "m"},
         {"Abs", "m", "", "y"}}, /* no half */
    };

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct graph *graph = build(forms[i], "y", 13);

        assert_int_equal(detect(graph), 0);
        CHECK_U64(graph->node_count, 5);
        graph_destroy(&graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_norm_is_detected), cmocka_unit_test(only_a_layer_norm_is_detected),
        cmocka_unit_test(what_is_shown_is_kept),    cmocka_unit_test(a_gelu_is_detected),
        cmocka_unit_test(only_a_gelu_is_detected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
