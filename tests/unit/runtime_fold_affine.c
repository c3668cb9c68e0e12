/* SPDX-License-Identifier: Apache-2.0 */
/* Which products and sums go into the convolution before them, and that the numbers stay. Norms are in runtime_pass.c. */
#include "runtime/passes/pass.h"
#include "tests/support/check.h"
#include "tests/support/graph_build.h"

/* How many operators went. */
static int fold(struct graph *graph)
{
    return build_apply(graph, pass_fold_batch_norm, 1e-4);
}

/* Frozen norms are spelled out as products and sums; what is no constant per channel, or adds axes, stays. */
static void products_per_channel_go_into_the_conv(void **state)
{
    static const struct {
        const char *conv, *op, *other;
        bool is_folded;
    } cases[] = {
        {"", "Mul", "r; s:f32 2,1,1=3,-2", true},
        {"; c:f32=0.5,0.25", "Mul", "s:f32 1,2,1,1=3,-2; r", true},
        {"; c:f32=0.5,0.25", "Mul", "r; s:f32=3", true},
        {"; c:f32=0.5,0.25", "Add", "r; s:f32 2,1,1=3,-2", true},
        {"; c:f32=0.5,0.25", "Add", "s:f32=3; r", true},
        {"", "Add", "r; s:f32 2,1,1=3,-2", false}, /* becomes a bias */
        {"", "Mul", "r; s:f32=3,-2", false},       /* per column */
        {"", "Mul", "r; s:f32 1,1,1,1,1=3", false},
        {"", "Mul", "r; s:f32 2,1,1,1=3,-2", false},
        {"", "Mul", "r; s:f32 2,1,1", false},
        {"", "Mul", "r; r", false},
        {"", "Sub", "r; s:f32 2,1,1=3,-2", false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct graph *graph = build_graph(13);
        char text[128];

        snprintf(text, sizeof(text), "x:f32 1,2,4,2; w:f32 2,2,1,1=1,2,3,4%s", cases[i].conv);
        build_node(graph, "Conv", text, "", "r");
        build_node(graph, cases[i].op, cases[i].other, "", "y");
        build_output(graph, "y");
        if (fold(graph) != cases[i].is_folded)
            fail_msg("case %zu", i);
        graph_destroy(&graph);
    }
}

/* A norm, a product and a sum behind each other. */
static void affine_functions_add_up(void **state)
{
    struct graph *graph = build_graph(13);

    build_node(graph, "Conv", "x:f32 1,2,4,4; w:f32 2,2,1,1=1,2,3,4", "", "r");
    build_node(graph, "Mul", "r; f:f32 2,1,1=3,-2", "", "p");
    build_node(graph, "Add", "p; a:f32 2,1,1=0.5,7", "", "q");
    build_node(graph, "BatchNormalization",
               "q;"
               "s:f32=0.5,2; b:f32=1,-1; m:f32=0.25,-0.5; v:f32=0.5,2",
               "", "n");
    build_node(graph, "Mul", "n; h:f32=0.5", "", "y");
    build_output(graph, "y");
    assert_int_equal(fold(graph), 4);
    assert_int_equal(graph->node_count, 1);
    graph_destroy(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_per_channel_go_into_the_conv),
        cmocka_unit_test(affine_functions_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
