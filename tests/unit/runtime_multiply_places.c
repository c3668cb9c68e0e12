/* SPDX-License-Identifier: Apache-2.0 */
/* Which convolutions of one place become products, and that the numbers stay. */
#include "runtime/passes/pass.h"
#include "tests/support/check.h"
#include "tests/support/graph_build.h"

static void add_weights(struct graph *graph, int64_t filters, int64_t channels, int64_t side)
{
    struct shape shape = {.rank = 4, .dims = {filters, channels, side, side}};
    struct value *w = graph_add_value(graph, "w", DTYPE_F32, &shape, NULL);
    float *data = graph_alloc_data((size_t)shape_bytes(&shape, DTYPE_F32));

    assert_non_null(w);
    assert_non_null(data);
    for (int64_t i = 0; i < shape_elements(&shape); i++)
        data[i] = (float)(i % 7 - 3);
    value_set_data(w, data);
}

static void large_weights_at_one_place_are_multiplied(void **state)
{
    static const struct {
        const char *x, *attributes;
        int64_t filters, channels, side;
        bool is_product;
    } cases[] = {
        {"x:f32 1,1024,1,1", "", 1024, 1024, 1, true},
        {"x:f32 1,1024,1,1", "strides=[2,2]", 1024, 1024, 1, true},
        {"x:f32 1,256,4,4", "", 256, 256, 4, true},
        {"x:f32 1,1024,1,1", "", 1023, 1024, 1, false}, /* too few */
        {"x:f32 1,1024,1,2", "", 1024, 1024, 1, false},
        {"x:f32 2,1024,1,1", "", 1024, 1024, 1, false},
        {"x:f32 1,2048,1,1", "group=2", 1024, 1024, 1, false},
        {"x:f32 1,256,4,4", "pads=[1,1,1,1] strides=[4,4]", 256, 256, 4, false},
        {"x:f32 1,256,4,4", "auto_pad='SAME_UPPER' strides=[4,4]", 256, 256, 4, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct graph *graph = build_graph(13);
        struct diag diag = {0};
        float *before, *after;
        char text[64];
        int rc;

        add_weights(graph, cases[i].filters, cases[i].channels, cases[i].side);
        snprintf(text, sizeof(text), "%s; w", cases[i].x);
        build_node(graph, "Conv", text, cases[i].attributes, "y");
        build_output(graph, "y");
        build_infer(graph);
        before = build_evaluate(graph, 0, 7);
        rc = pass_multiply_places(graph, &diag);
        if (rc != cases[i].is_product)
            fail_msg("case %zu: %d %s", i, rc, diag.text);
        assert_int_equal(graph->node_count, rc ? 3 : 1);
        CHECK_OK(graph_check(graph, &diag));
        build_infer(graph);
        after = build_evaluate(graph, 0, 7);
        for (int64_t k = 0; k < shape_elements(&graph->outputs[0]->shape); k++)
            CHECK_NEAR(after[k], before[k], 1e-2);
        free(before);
        free(after);
        graph_destroy(&graph);
    }
}

/* One of two that read the weights needs them as they are. */
static void shared_weights_stay(void **state)
{
    struct graph *graph = build_graph(13);
    struct diag diag = {0};

    add_weights(graph, 1024, 1024, 1);
    build_node(graph, "Conv", "x:f32 1,1024,1,1; w", "", "a");
    build_node(graph, "Conv", "a; w", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(pass_multiply_places(graph, &diag), 0);
    graph_destroy(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_weights_at_one_place_are_multiplied),
        cmocka_unit_test(shared_weights_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
