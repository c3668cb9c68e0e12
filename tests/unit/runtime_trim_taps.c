/* SPDX-License-Identifier: Apache-2.0 */
/* Which taps of a convolution's window go, which windows are turned, and that the numbers stay. */
#include "runtime/passes/pass.h"
#include "tests/support/check.h"
#include "tests/support/graph_build.h"

static int trim(struct graph *graph)
{
    return build_apply(graph, pass_trim_taps, 0);
}

#define NINE "1,2,3,4,5,6,7,8,9"

static void taps_that_meet_padding_alone_go(void **state)
{
    static const struct {
        const char *x, *weights, *attributes;
        int64_t kernel[3], pads[6]; /* kernel[0] 0: as it is */
    } cases[] = {
        /* one row further on the image would be met */
        {"4,4", "3,3=" NINE, "dilations=[4,4] pads=[4,4,4,4]", {1, 1}, {0, 0, 0, 0}},
        {"5,4", "3,3=" NINE, "dilations=[4,4] pads=[4,4,4,4]", {3, 1}, {4, 0, 4, 0}},
        {"5,5", "3,3=" NINE, "dilations=[4,4] pads=[4,4,4,4]", {0}, {0}},
        /* on one side alone, and by strides that step over the image */
        {"4,4", "3,3=" NINE, "dilations=[4,1] pads=[8,1,0,1]", {1, 3}, {0, 1, 0, 1}},
        {"4,4", "3,3=" NINE, "pads=[1,1,1,1] strides=[4,4]", {2, 2}, {0, 0, 1, 1}},
        {"1,1", "3,3=" NINE, "pads=[1,1,1,1]", {1, 1}, {0, 0, 0, 0}},
        /* pads so wide that no position has the image under most taps; one stays */
        {"1,1", "3,3=" NINE, "pads=[9,9,9,9] strides=[19,19]", {1, 1}, {7, 7, 9, 9}},
        {"4,4", "3,3=" NINE, "dilations=[4,4] auto_pad='SAME_UPPER'", {0}, {0}},
        {"3", "3=1,2,3", "dilations=[3] pads=[3,3]", {1}, {0, 0}},
        {"2,1,5", "1,3,3=" NINE, "pads=[0,1,1,0,1,1]", {1, 1, 3}, {0, 0, 1, 0, 0, 1}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct graph *graph = build_graph(13);
        int64_t first = cases[i].kernel[0];
        char text[128];
        size_t count;
        const int64_t *list;

        snprintf(text, sizeof(text), "x:f32 2,1,%s; w:f32 1,1,%s", cases[i].x, cases[i].weights);
        build_node(graph, "Conv", text, cases[i].attributes, "y");
        build_output(graph, "y");
        build_infer(graph);
        assert_int_equal(trim(graph), first > 0);
        list = node_ints(graph->nodes[0], "pads", &count);
        for (size_t k = 0; first && k < count; k++)
            assert_int_equal(list[k], cases[i].pads[k]);
        for (size_t k = 0; first && k < count / 2; k++)
            assert_int_equal(graph->nodes[0]->inputs[1]->shape.dims[2 + k], cases[i].kernel[k]);
        graph_destroy(&graph);
    }
}

/* Of two that read the weights one needs them all; groups and channels keep their places. */
static void others_keep_the_weights(void **state)
{
    struct graph *graph = build_graph(13);

    build_node(graph, "Conv", "x:f32 1,2,2,2; w:f32 2,1,3,3=" NINE "," NINE,
               "group=2 dilations=[2,2] pads=[2,2,2,2]", "c");
    build_node(graph, "Conv", "c; w", "group=2 pads=[1,1,1,1]", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(trim(graph), 1);
    assert_int_equal(graph_find_value(graph, "w")->shape.dims[3], 3);
    graph_destroy(&graph);
}

static void weights_that_are_no_constants_stay(void **state)
{
    struct graph *graph = build_graph(13);

    build_node(graph, "Conv", "x:f32 1,1,2,2; w:f32 1,1,3,3", "dilations=[2,2] pads=[2,2,2,2]",
               "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(trim(graph), 0);
    graph_destroy(&graph);
}

static void transposed_convolutions_by_one_are_turned(void **state)
{
    static const struct {
        const char *x, *weights, *attributes;
        bool is_turned;
    } cases[] = {
        {"1,4,4", "1,1,3,3=" NINE, "pads=[1,1,1,1]", true},
        {"1,4,4", "1,1,3,3=" NINE, "", true},
        {"1,4,3", "1,1,3,3=" NINE, "pads=[2,0,1,2] dilations=[1,2] output_padding=[0,1]", true},
        {"3,5", "3,1,3=" NINE, "group=3 pads=[1,1]", true},
        {"3,5", "3,1,3=" NINE, "", true},
        {"1,5", "1,3,3=" NINE, "pads=[0,2]", true},
        {"1,1,2,3", "1,1,1,3,3=" NINE, "pads=[0,1,1,0,1,1]", true},
        {"1,4,4", "1,1,3,3=" NINE, "pads=[1,1,1,1] strides=[1,2]", false},
        {"1,6,6", "1,1,3,3=" NINE, "pads=[3,1,1,1]", false},
        {"1,4,4", "1,1,3,3=" NINE, "auto_pad='SAME_UPPER'", false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct graph *graph = build_graph(13);
        char text[128];

        snprintf(text, sizeof(text), "x:f32 2,%s; w:f32 %s", cases[i].x, cases[i].weights);
        build_node(graph, "ConvTranspose", text, cases[i].attributes, "y");
        build_output(graph, "y");
        build_infer(graph);
        assert_int_equal(build_apply(graph, pass_simplify, 0), cases[i].is_turned);
        assert_string_equal(graph->nodes[0]->op_type,
                            cases[i].is_turned ? "Conv" : "ConvTranspose");
        graph_destroy(&graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taps_that_meet_padding_alone_go),
        cmocka_unit_test(others_keep_the_weights),
        cmocka_unit_test(weights_that_are_no_constants_stay),
        cmocka_unit_test(transposed_convolutions_by_one_are_turned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
