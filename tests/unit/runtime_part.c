/* SPDX-License-Identifier: Apache-2.0 */
/* What shapes depend on, computed at once by an execution of its own, against node by node. */
#include "tests/support/check.h"

#include <errno.h>
#include <string.h>

#include "runtime/session/part.h"
#include "tests/support/graph_build.h"

enum { SIDE = 48, CHANNELS = 16, PIXELS = SIDE * SIDE * CHANNELS };

static uint32_t convs_evaluated;

static int count_convs(const struct graph *graph, const struct node *node,
                       const struct tensor_view *inputs, struct tensor_view *outputs,
                       struct diag *diag)
{
    convs_evaluated += strcmp(node->op_type, "Conv") == 0;
    return eval_node(graph, node, inputs, outputs, diag);
}

static void fill(float *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        numbers[i] = (float)((i * 7919) % 1009) / 1009.0f - 0.5f;
}

static void add_weights(struct graph *graph, const char *name)
{
    struct shape shape = {4, {CHANNELS, CHANNELS, 3, 3}};
    struct value *value = graph_add_value(graph, name, DTYPE_F32, &shape, NULL);
    float *data = graph_alloc_data(CHANNELS * CHANNELS * 9 * sizeof(float));

    assert_non_null(value);
    fill(data, CHANNELS * CHANNELS * 9);
    value_set_data(value, data);
}

/* Two NonZero behind convolutions: the second one needs what is between those of the first. Some of it goes by a
 * body, which parts have none of. */
static struct graph *build(void)
{
    struct graph *graph = build_graph(13);

    add_weights(graph, "w1");
    add_weights(graph, "w2");
    build_node(graph, "Conv", "x:f32 1,16,48,48; w1", "pads=[1,1,1,1]", "a");
    build_node(graph, "Relu", "a", "", "b");
    build_node(graph, "Conv", "b; w2", "pads=[1,1,1,1]", "c");
    build_node(graph, "Relu", "c", "", "d");
    build_node(graph, "NonZero", "d", "", "first");
    build_node(graph, "Shape", "first", "", "count");
    build_node(graph, "Conv", "b; w1", "pads=[1,1,1,1]", "e");
    build_node(graph, "Add", "e; d", "", "f");
    build_node(graph, "Relu", "f", "", "g");
    build_node(graph, "NonZero", "g", "", "second");
    build_output(graph, "first");
    build_output(graph, "second");
    return graph;
}

static void a_network_is_computed_at_once(void **state)
{
    static float image[PIXELS];
    struct tensor_view contents[] = {{DTYPE_F32, {4, {1, CHANNELS, SIDE, SIDE}}, image}};
    struct pass_options passes = {0};
    struct part_config parts = {&passes, 1};
    struct shape_sources sources = {contents, count_convs, part_compute, &parts};
    struct graph *graph = build(), *plain = build();
    struct diag diag = {0};
    const char *const names[] = {"first", "second"};

    fill(image, PIXELS);
    CHECK_OK(shape_infer_for(plain, contents, count_convs, &diag));
    assert_int_equal(convs_evaluated, 3);
    CHECK_OK(shape_infer_from(graph, &sources, &diag));
    assert_int_equal(convs_evaluated, 3); /* no more */
    for (size_t i = 0; i < 2; i++) {
        int64_t got = graph_find_value(graph, names[i])->shape.dims[1];
        int64_t wanted = graph_find_value(plain, names[i])->shape.dims[1];

        assert_in_range(got, 1, 4 * PIXELS - 1);
        assert_in_range(got, wanted - 4, wanted + 4); /* sums that are nearly 0 */
    }
    assert_non_null(graph_find_value(graph, "d")->known);
    assert_non_null(graph_find_value(graph, "g")->known);
    assert_null(graph_find_value(graph, "a")->known);
    assert_null(graph_find_value(graph, "b")->known); /* kept for the second, then freed */
    CHECK_OK(graph_check(graph, &diag));
    graph_destroy(&graph);
    graph_destroy(&plain);
}

/* What fails is left to others, with their words; so is what little there is. Returns what inference does. */
static int infer_gathered(const char *attributes, int64_t place)
{
    static float image[PIXELS];
    struct tensor_view contents[] = {{DTYPE_F32, {4, {1, CHANNELS, SIDE, SIDE}}, image},
                                     {DTYPE_I64, {1, {1}}, &place}};
    struct pass_options passes = {0};
    struct part_config parts = {&passes, 1};
    struct shape_sources sources = {contents, count_convs, part_compute, &parts};
    struct graph *graph = build_graph(13);
    struct diag diag = {0};
    int rc;

    add_weights(graph, "w1");
    build_node(graph, "Conv", "x:f32 1,16,48,48; w1", attributes, "a");
    build_node(graph, "Gather", "a; i:i64 1", "axis=1", "y");
    build_node(graph, "NonZero", "y", "", "z");
    build_output(graph, "z");
    convs_evaluated = 0;
    rc = shape_infer_from(graph, &sources, &diag);
    if (rc < 0)
        CHECK_CONTAINS(diag.text, "cannot be computed");
    graph_destroy(&graph);
    return rc;
}

static void a_part_may_be_refused(void **state)
{
    enum { FAR = 99 };

    assert_int_equal(infer_gathered("pads=[1,1,1,1]", FAR), -ENOTSUP);
    assert_int_equal(convs_evaluated, 1);
    assert_int_equal(infer_gathered("pads=[1,1,1,1]", 3), 0);
    assert_int_equal(convs_evaluated, 0);
    assert_int_equal(infer_gathered("strides=[24,24]", 3), 0);
    assert_int_equal(convs_evaluated, 1);
}

static void a_part_reads_what_is_there(void **state)
{
    struct graph *graph = build_graph(13), *part = NULL;
    struct value *wanted[1];
    bool nodes[] = {false, true, true};
    struct diag diag = {0};
    float *large = graph_alloc_data(2000 * sizeof(*large)), *small = graph_alloc_data(4);

    large[7] = 5.0f;
    *small = 2.0f;
    build_node(graph, "Abs", "x:f32 2000", "", "a");
    build_node(graph, "Mul", "a; s:f32", "", "b");
    build_node(graph, "Add", "b; k:f32=3", "", "c");
    build_output(graph, "c");
    build_infer(graph);
    wanted[0] = graph_find_value(graph, "c");
    graph_find_value(graph, "s")->known = small;
    assert_int_equal(graph_copy_part(graph, nodes, wanted, 1, &part), -EINVAL); /* a is not known */
    graph_find_value(graph, "a")->known = large;
    CHECK_OK(graph_copy_part(graph, nodes, wanted, 1, &part));
    CHECK_OK(graph_check(part, &diag));
    assert_int_equal(part->node_count, 2);
    assert_int_equal(part->input_count, 1);
    assert_string_equal(part->inputs[0]->name, "a");
    assert_ptr_equal(graph_find_value(part, "s")->data, small);
    assert_ptr_equal(graph_find_value(part, "k")->data, graph_find_value(graph, "k")->data);
    assert_string_equal(part->outputs[0]->name, "c");
    graph_destroy(&part);
    assert_float_equal(*small, 2.0f, 0.0f); /* is the graph's */
    graph_destroy(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_is_computed_at_once),
        cmocka_unit_test(a_part_may_be_refused),
        cmocka_unit_test(a_part_reads_what_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
