/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of element-wise operators become one node: which, and that the numbers stay. */
#include <math.h>

#include "runtime/exec/exec.h"
#include "runtime/passes/pass.h"
#include "tests/support/check.h"
#include "tests/support/exec_check.h"
#include "tests/support/graph_build.h"

/* Runs the pass, checks the graph, and compares output 0 before and after with the reference
 * kernels. Returns how many nodes were fused. */
static int fuse(struct graph *graph)
{
    struct diag diag = {0};
    struct shape shape = graph->outputs[0]->shape;
    float *before = build_evaluate(graph, 0, 7), *after;
    int rc = pass_fuse_chains(graph, &diag);

    if (rc < 0 || graph_check(graph, &diag) < 0)
        fail_msg("%s", diag.text);
    after = build_evaluate(graph, 0, 7);
    for (int64_t i = 0; i < shape_elements(&shape); i++)
        CHECK_NEAR(after[i], before[i], 1e-6);
    free(before);
    free(after);
    return rc;
}

static void check_ints(const struct node *node, const char *name, const int64_t *wanted, size_t n)
{
    size_t count;
    const int64_t *got = node_ints(node, name, &count);

    CHECK_U64(count, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(got[i], wanted[i]);
}

static void a_chain_becomes_one_node(void **state)
{
    struct graph *graph = build_graph(13);
    const struct node *node;

    build_node(graph, "Transpose", "x:f32 5,4", "perm=[1,0]", "t");
    build_node(graph, "Add", "t; b:f32=1,2,3,4,5", "", "a");
    build_node(graph, "LeakyRelu", "a", "alpha=0.25", "l");
    build_node(graph, "Mul", "l; h:f32 =0.5", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(fuse(graph), 3);
    assert_int_equal(graph->node_count, 2);
    node = graph->nodes[1];
    assert_string_equal(node->op_type, CHAIN_OP_TYPE);
    assert_string_equal(node->name, node->origins[0]);
    CHECK_U64(node->origin_count, 3);
    CHECK_U64(node->input_count, 3);
    assert_string_equal(node_attribute(node, "steps")->strings[1], "LeakyRelu");
    check_ints(node, "operands", (const int64_t[]){0, 1, 3, -1, 4, 2}, 6);
    CHECK_NEAR(node_attribute(node, "parameters")->floats[2], 0.25, 0);
    graph_destroy(&graph);
}

/* x is read three times, and the sum twice: all of it is inside. */
static void a_tree_with_shared_parts_becomes_one_node(void **state)
{
    struct graph *graph = build_graph(13);

    build_node(graph, "Sigmoid", "x:f32 2,3,4", "", "s");
    build_node(graph, "Mul", "x; s", "", "m");
    build_node(graph, "Sub", "m; c:f32 3,1=1,2,3", "", "d");
    build_node(graph, "Mul", "d; d", "", "q");
    build_node(graph, "Max", "q; x", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(fuse(graph), 5);
    assert_int_equal(graph->node_count, 1);
    CHECK_U64(graph->nodes[0]->input_count, 2);
    graph_destroy(&graph);
}

static void bounds_of_a_clip_go_along(void **state)
{
    struct graph *graph = build_graph(13), *old = build_graph(6);

    build_node(graph, "Clip", "x:f32 9; low:f32 =-0.5; high:f32 =0.25", "", "c");
    build_node(graph, "Exp", "c", "", "e");
    build_node(graph, "Clip", "e; -; most:f32 =1.1", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(fuse(graph), 3);
    CHECK_U64(node_attribute(graph->nodes[0], "steps")->count, 4);
    graph_destroy(&graph);
    build_node(old, "Neg", "x:f32 9", "", "n");
    build_node(old, "Clip", "n", "min=-0.5 max=0.25", "y");
    build_output(old, "y");
    build_infer(old);
    assert_int_equal(fuse(old), 2);
    CHECK_U64(node_attribute(old->nodes[0], "steps")->count, 3);
    graph_destroy(&old);
}

static void what_does_not_fit_stays(void **state)
{
    static const struct {
        int64_t opset;
        const char *first, *first_inputs, *second, *second_inputs, *attributes;
    } cases[] = {
        {13, "Abs", "x:f32 2,3", "Softmax", "m", ""},                       /* not element-wise */
        {13, "Softmax", "x:f32 2,3", "Abs", "m", ""},                       /* the same, before */
        {13, "Abs", "x:f32 1,3", "Add", "m; z:f32 2,3", ""},                /* once per row */
        {13, "Abs", "x:f64 2,3", "Neg", "m", ""},                           /* another type */
        {13, "Neg", "x:f32 2,3", "Greater", "m; z:f32 2,3", ""},            /* to bool */
        {6, "Neg", "x:f32 2,3", "Add", "m; z:f32 2", "axis=0 broadcast=1"}, /* at an axis */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct graph *graph = build_graph(cases[i].opset);
        struct diag diag = {0};
        int rc;

        build_node(graph, cases[i].first, cases[i].first_inputs, "", "m");
        build_node(graph, cases[i].second, cases[i].second_inputs, cases[i].attributes, "y");
        build_output(graph, "y");
        build_infer(graph);
        rc = pass_fuse_chains(graph, &diag);
        if (rc != 0)
            fail_msg("%s, %s: %d", cases[i].first, cases[i].second, rc);
        CHECK_U64(graph->node_count, 2);
        graph_destroy(&graph);
    }
}

static void what_others_read_is_no_part(void **state)
{
    struct graph *graph = build_graph(13);

    build_node(graph, "Abs", "x:f32 2,3", "", "a");
    build_node(graph, "Softmax", "a", "", "other");
    build_node(graph, "Neg", "a", "", "n");
    build_node(graph, "Exp", "n", "", "shown");
    build_node(graph, "Sqrt", "shown", "", "y");
    build_output(graph, "y");
    build_output(graph, "other");
    build_output(graph, "shown");
    build_infer(graph);
    assert_int_equal(fuse(graph), 2); /* Neg and Exp */
    CHECK_U64(graph->node_count, 4);
    assert_non_null(graph_find_value(graph, "shown")->producer);
    graph_destroy(&graph);
}

static void long_chains_are_cut(void **state)
{
    struct graph *graph = build_graph(13);
    char name[16] = "x:f32 3", next[16];

    for (int i = 0; i < 40; i++) {
        snprintf(next, sizeof(next), "v%d", i);
        build_node(graph, i % 2 ? "Neg" : "Abs", name, "", next);
        memcpy(name, next, sizeof(name));
    }
    build_output(graph, "v39");
    build_infer(graph);
    assert_int_equal(fuse(graph), 40);
    CHECK_U64(graph->node_count, 3);
    graph_destroy(&graph);
}

/* Many operands in one sum: as many as a chain may have, in several chains. */
static void wide_sums_are_cut(void **state)
{
    struct graph *graph = build_graph(13);
    char inputs[40] = "x:f32 3; i0:f32 3", sum[16];

    for (int i = 1; i < 30; i++) {
        snprintf(sum, sizeof(sum), "s%d", i);
        build_node(graph, "Add", inputs, "", sum);
        snprintf(inputs, sizeof(inputs), "s%d; i%d:f32 3", i, i);
    }
    build_output(graph, sum);
    build_infer(graph);
    assert_int_equal(fuse(graph), 29);
    for (uint32_t i = 0; i < graph->node_count; i++)
        assert_true(graph->nodes[i]->input_count <= 16);
    graph_destroy(&graph);
}

/* The result of a graph's output 0 by the kernels that load_and_run takes. */
static float *run(const struct graph *graph)
{
    struct exec *exec = exec_check_create(graph, 1);
    float *out = exec_check_run(exec, graph, 2.0f);

    exec_destroy(&exec);
    return out;
}

/* A convolution makes channels-last images: the chain behind it takes them as they lie. */
static void images_keep_their_layout(void **state)
{
    float *outs[2];
    struct shape shape;

    for (int fused = 0; fused < 2; fused++) {
        struct graph *graph = build_graph(14);
        struct diag diag = {0};

        build_node(graph, "Conv", "x:f32 2,3,7,5; w:f32 6,3,3,3", "", "c");
        build_node(graph, "Mul", "c; p:f32 6,1,1=1,2,3,4,5,6", "", "m");
        build_node(graph, "HardSwish", "m", "", "h");
        build_node(graph, "Add", "h; z:f32 2,6,1,1", "", "a");
        build_node(graph, "Sub", "a; row:f32=1,2,3", "", "y");
        build_output(graph, "y");
        build_infer(graph);
        assert_int_equal(fused ? pass_fuse_chains(graph, &diag) : 4, 4);
        shape = graph->outputs[0]->shape;
        outs[fused] = run(graph);
        graph_destroy(&graph);
    }
    for (int64_t i = 0; i < shape_elements(&shape); i++)
        CHECK_NEAR(outs[1][i], outs[0][i], 1e-5);
    free(outs[0]);
    free(outs[1]);
}

/* GELU of half precision as GPT-2 has it; on both sides are conversions, which are no part. */
static struct graph *build_half(const char *dtype, int to)
{
    struct graph *graph = build_graph(17);
    char text[80];

    snprintf(text, sizeof(text), "to=%d", to);
    build_node(graph, "Cast", "x:f32 5,40", text, "h");
    snprintf(text, sizeof(text), "h; three:%s =3", dtype);
    build_node(graph, "Pow", text, "", "p");
    snprintf(text, sizeof(text), "p; c:%s =0.0447", dtype);
    build_node(graph, "Mul", text, "", "q");
    build_node(graph, "Add", "h; q", "", "a");
    build_node(graph, "Tanh", "a", "", "t");
    snprintf(text, sizeof(text), "t; one:%s =1", dtype);
    build_node(graph, "Add", text, "", "o");
    build_node(graph, "Mul", "h; o", "", "z");
    build_node(graph, "Cast", "z", "to=1", "y");
    build_output(graph, "y");
    build_infer(graph);
    return graph;
}

static void half_precision_is_a_chain_too(void **state)
{
    static const struct {
        const char *dtype;
        int to;
        double near;
    } halves[] = {{"f16", 10, 0x1p-9}, {"bf16", 16, 0x1p-6}};

    for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++) {
        struct graph *graph = build_half(halves[i].dtype, halves[i].to);
        float *before = build_evaluate(graph, 0, 7), *after;
        struct diag diag = {0};

        assert_int_equal(pass_fuse_chains(graph, &diag), 6);
        CHECK_OK(graph_check(graph, &diag));
        assert_int_equal(graph->node_count, 3);
        assert_string_equal(graph->nodes[1]->op_type, CHAIN_OP_TYPE);
        after = build_evaluate(graph, 0, 7);
        for (int64_t k = 0; k < 5 * 40; k++)
            CHECK_NEAR(after[k], before[k], halves[i].near * (1 + fabs((double)before[k])));
        exec_check_graph(graph, 7, halves[i].near / 1e-5, halves[i].dtype);
        free(before);
        free(after);
        graph_destroy(&graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_becomes_one_node),
        cmocka_unit_test(a_tree_with_shared_parts_becomes_one_node),
        cmocka_unit_test(bounds_of_a_clip_go_along),
        cmocka_unit_test(what_does_not_fit_stays),
        cmocka_unit_test(what_others_read_is_no_part),
        cmocka_unit_test(long_chains_are_cut),
        cmocka_unit_test(wide_sums_are_cut),
        cmocka_unit_test(images_keep_their_layout),
        cmocka_unit_test(half_precision_is_a_chain_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
