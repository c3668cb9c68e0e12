/* SPDX-License-Identifier: Apache-2.0 */
/* Which convolutions beside each other become one, and that the numbers stay. */
#include "runtime/passes/pass.h"
#include "tests/support/check.h"
#include "tests/support/graph_build.h"

/* How many sums went. */
static int join(struct graph *graph)
{
    return build_apply(graph, pass_join_convs, 1e-4);
}

#define NINE    "1,2,-3,4,5,-6,7,8,9"
#define OF_NINE "w:f32 1,1,3,3=" NINE

static void windows_go_into_larger_ones(void **state)
{
    static const struct {
        const char *x, *a, *a_attributes, *b, *b_attributes, *op;
        bool is_joined;
    } cases[] = {
        {"1,5,5", OF_NINE, "pads=[1,1,1,1]", "v:f32 1,1,1,1=3", "", "Add", true},
        {"1,5,5", "v:f32 1,1,1,1=3", "", OF_NINE, "pads=[1,1,1,1]", "Sub", true},
        {"1,5,5", OF_NINE, "pads=[1,1,1,1]", "v:f32 1,1,1,1=3", "", "Sub", true},
        {"1,5,6", OF_NINE, "pads=[1,1,1,1] strides=[2,2]", "v:f32 1,1,1,1=3", "strides=[2,2]",
         "Add", true},
        {"1,5,5", OF_NINE, "pads=[2,1,2,1] dilations=[2,1]", "v:f32 1,1,1,3=3,4,5",
         "pads=[0,1,0,1]", "Add", true},
        {"1,5,5", OF_NINE, "pads=[2,2,2,2] dilations=[2,2]", "v:f32 1,1,3,3=" NINE,
         "pads=[1,1,1,1]", "Add", false},
        {"1,5,5", "w:f32 1,1,1,3=1,2,3", "pads=[0,1,0,1]", "v:f32 1,1,3,1=3,4,5", "pads=[1,0,1,0]",
         "Add", false},
        /* the smaller window stands off the larger one's middle, or beside it */
        {"1,5,5", OF_NINE, "pads=[2,2,0,0]", "v:f32 1,1,2,2=1,2,3,4", "pads=[1,1,0,0]", "Add",
         true},
        {"1,4,4", "w:f32 1,1,2,2=1,2,3,4", "pads=[0,0,1,1]", "v:f32 1,1,1,1=3", "pads=[0,0,0,0]",
         "Add", true},
        {"1,4,4", "w:f32 1,1,2,2=1,2,3,4", "pads=[0,0,1,1]", "v:f32 1,1,2,2=1,2,3,4",
         "pads=[1,1,0,0]", "Add", false},
        {"2,6", "w:f32 2,1,3=1,2,3,4,5,6", "pads=[1,1] group=2", "v:f32 2,1,1=7,8", "group=2",
         "Add", true},
        {"2,6", "w:f32 2,1,3=1,2,3,4,5,6", "pads=[1,1] group=2", "v:f32 2,2,1=7,8,9,1", "", "Add",
         false},
        {"1,2,3,2", "w:f32 1,1,1,3,3=" NINE, "pads=[0,1,1,0,1,1]", "v:f32 1,1,1,1,1=3", "", "Add",
         true},
        {"1,5,5", OF_NINE, "auto_pad='SAME_UPPER'", "v:f32 1,1,1,1=3", "", "Add", false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct graph *graph = build_graph(13);
        char text[128];

        snprintf(text, sizeof(text), "x:f32 2,%s; %s", cases[i].x, cases[i].a);
        build_node(graph, "Conv", text, cases[i].a_attributes, "a");
        snprintf(text, sizeof(text), "x; %s", cases[i].b);
        build_node(graph, "Conv", text, cases[i].b_attributes, "b");
        build_node(graph, cases[i].op, "a; b", "", "y");
        build_output(graph, "y");
        if (join(graph) != cases[i].is_joined)
            fail_msg("case %zu", i);
        assert_int_equal(graph->node_count, cases[i].is_joined ? 1 : 3);
        graph_destroy(&graph);
    }
}

/* As a block of RepVGG has it: three branches, the last of which is a norm; biases add up. */
static void branches_become_one(void **state)
{
    static const char *const groups[] = {"pads=[1,1] group=1", "pads=[1,1] group=2"};
    static const char *const weights[] = {"w:f32 2,2,3=1,2,3,4,5,6,7,8,9,1,2,3",
                                          "w:f32 2,1,3=1,2,3,4,5,6"};

    for (size_t i = 0; i < 2; i++) {
        struct graph *graph = build_graph(15);
        char text[128];

        build_node(graph, "BatchNormalization",
                   "x:f32 3,2,5; s:f32=2,-3; t:f32=1,2; m:f32=4,5; v:f32=4,16", "epsilon=0.5", "n");
        snprintf(text, sizeof(text), "x; %s; b:f32=1,-1", weights[i]);
        build_node(graph, "Conv", text, groups[i], "a");
        build_node(graph, "Add", "n; a", "", "p");
        snprintf(text, sizeof(text), "x; %s", i == 0 ? "u:f32 2,2,1=1,2,3,4" : "u:f32 2,1,1=1,2");
        build_node(graph, "Conv", text, i == 0 ? "" : "group=2", "c");
        build_node(graph, "Add", "c; p", "", "q");
        build_node(graph, "Relu", "q", "", "y");
        build_output(graph, "y");
        assert_int_equal(join(graph), 2);
        assert_int_equal(graph->node_count, 2);
        assert_int_equal(graph->nodes[0]->origin_count, 5);
        graph_destroy(&graph);
    }
}

/* Weights that others read keep their numbers; a branch that others read stays, as one of another image does. */
static void others_keep_what_they_read(void **state)
{
    struct graph *graph = build_graph(13);

    build_node(graph, "Conv", "x:f32 1,1,4,4; " OF_NINE, "pads=[1,1,1,1]", "a");
    build_node(graph, "Conv", "x; v:f32 1,1,1,1=2", "", "b");
    build_node(graph, "Add", "a; b", "", "s");
    build_node(graph, "Conv", "s; w; c:f32=3", "pads=[1,1,1,1]", "d");
    build_node(graph, "Conv", "x; v", "", "e");
    build_node(graph, "Add", "d; e", "", "y");
    build_output(graph, "y");
    assert_int_equal(join(graph), 1);
    assert_int_equal(graph->node_count, 4);
    graph_destroy(&graph);
    graph = build_graph(13);
    build_node(graph, "Conv", "x:f32 1,1,4,4; " OF_NINE, "pads=[1,1,1,1]", "a");
    build_node(graph, "Conv", "x; v:f32 1,1,1,1=2", "", "b");
    build_node(graph, "Add", "a; b", "", "s");
    build_node(graph, "Mul", "s; b", "", "y");
    build_output(graph, "y");
    assert_int_equal(join(graph), 0);
    graph_destroy(&graph);
}

static void weights_that_are_no_constants_stay(void **state)
{
    struct graph *graph = build_graph(13);

    build_node(graph, "Conv", "x:f32 1,1,4,4; w:f32 1,1,1,1", "", "a");
    build_node(graph, "Conv", "x; v:f32 1,1,1,1=2", "", "b");
    build_node(graph, "Add", "a; b", "", "y");
    build_output(graph, "y");
    assert_int_equal(join(graph), 0);
    graph_destroy(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_go_into_larger_ones),
        cmocka_unit_test(branches_become_one),
        cmocka_unit_test(others_keep_what_they_read),
        cmocka_unit_test(weights_that_are_no_constants_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
