/* SPDX-License-Identifier: Apache-2.0 */
/* If and Loop: shapes that follow from the graph or from content, carried values that grow, what is
 * collected, what is refused, and running again with another condition. */
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/exec/exec.h"
#include "runtime/ops/eval.h"
#include "runtime/ops/shape/shape.h"
#include "runtime/passes/pass.h"
#include "tests/support/exec_check.h"
#include "tests/support/graph_build.h"

/* A body's input, whose type is what it is fed. */
static void body_input(struct graph *body, const char *name)
{
    static const struct shape unknown = {.rank = -1};
    struct value *value = graph_add_value(body, name, DTYPE_NONE, &unknown, NULL);

    assert_non_null(value);
    CHECK_OK(graph_add_input(body, value));
}

/* Hand the body to the node; its input `name` reads the value of that name outside, NULL: none. */
static void give_body(struct graph *graph, struct node *node, const char *attribute,
                      struct graph *body, const char *name)
{
    CHECK_OK(graph_sort(body, &(struct diag){0}));
    if (name)
        CHECK_OK(node_capture(node, body, graph_find_value(graph, name)));
    CHECK_OK(node_set_graph(node, attribute, body));
}

/* One node that reads "x" from outside, and gives "r". */
static struct graph *branch(const char *op_type, const char *more_inputs, const char *attributes)
{
    struct graph *body = build_graph(13);
    char inputs[64];

    body_input(body, "x");
    snprintf(inputs, sizeof(inputs), "x;%s", more_inputs);
    build_node(body, op_type, inputs, attributes, "r");
    build_output(body, "r");
    return body;
}

/* y = If(c) of the two. */
static struct graph *build_if(const char *condition, struct graph *then, struct graph *other)
{
    struct graph *graph = build_graph(13);
    struct node *node;

    build_value(graph, "x:f32 2");
    node = build_node(graph, "If", condition, "", "y");
    give_body(graph, node, "then_branch", then, "x");
    give_body(graph, node, "else_branch", other, "x");
    build_output(graph, "y");
    return graph;
}

static const char *type_of_y(const struct graph *graph)
{
    static char text[100];

    return build_type_text(graph->outputs[0], text);
}

/* Shapes for these contents of the inputs, by position; NULL: not given. */
static int infer_for(struct graph *graph, void *const *contents, struct diag *diag)
{
    struct tensor_view views[4] = {{0}};

    for (uint32_t i = 0; i < graph->input_count; i++)
        views[i] =
            (struct tensor_view){graph->inputs[i]->dtype, graph->inputs[i]->shape, contents[i]};
    return shape_infer_for(graph, views, eval_node, diag);
}

static float run(struct exec *exec, const float x[2], uint8_t condition)
{
    struct tensor_view view = {DTYPE_F32, {1, {2}}, (void *)x}, out;
    struct diag diag = {0};

    CHECK_OK(exec_set_input(exec, 0, &view, &diag));
    view = (struct tensor_view){DTYPE_BOOL, {0, {0}}, &condition};
    CHECK_OK(exec_set_input(exec, 1, &view, &diag));
    exec_dispatch(exec);
    CHECK_OK(exec_wait(exec, &diag));
    CHECK_OK(exec_output(exec, 0, &out));
    return ((const float *)out.data)[1];
}

/* Both branches give the same shape: one binding serves both. */
static void a_condition_may_change_between_runs(void **state)
{
    struct graph *graph = build_if("c:bool", branch("Neg", "", ""), branch("Mul", "x", ""));
    struct exec_options options = {.threads = 1};
    struct diag diag = {0};
    struct exec *exec;
    float x[2] = {3.0f, 4.0f};

    CHECK_OK(shape_infer(graph, eval_node, &diag));
    assert_string_equal(type_of_y(graph), "f32 2");
    CHECK_OK(exec_create(graph, &options, &exec, &diag));
    assert_true(run(exec, x, 1) == -4.0f);
    assert_true(run(exec, x, 0) == 16.0f);
    x[1] = 5.0f;
    assert_true(run(exec, x, 1) == -5.0f);
    exec_destroy(&exec);
    graph_destroy(&graph);
}

/* A convolution in a branch has kernels that prepare its weights; they give what the reference does. */
static void check_branches(const char *op_type)
{
    static const char *const names[] = {"x", "w", "b"};
    struct graph *graph = build_graph(13), *body;
    struct node *node;
    struct diag diag = {0};

    build_value(graph, "x:f32 1,16,24,24");
    build_value(graph, "w:f32 16,16,3,3");
    build_value(graph, "b:f32 16");
    build_node(graph, "Greater", "s:f32; t:f32", "", "c");
    node = build_node(graph, "If", "c", "", "y");
    for (int i = 0; i < 2; i++) {
        body = build_graph(13);
        for (int k = 0; k < 3; k++)
            body_input(body, names[k]);
        build_node(body, op_type, "x; w; b", "pads=[1,1,1,1]", "r");
        build_output(body, "r");
        for (int k = 0; k < 2; k++)
            CHECK_OK(node_capture(node, body, graph_find_value(graph, names[k])));
        give_body(graph, node, i ? "else_branch" : "then_branch", body, names[2]);
    }
    build_output(graph, "y");
    CHECK_OK(shape_infer(graph, eval_node, &diag));
    exec_check_graph(graph, 1, 4, op_type); /* Winograd's sums are of neighbours that cancel out */
    graph_destroy(&graph);
}

static void convolutions_in_branches(void **state)
{
    check_branches("Conv");
    check_branches("ConvTranspose");
}

/* x * (w + 1) + w, of which w + 1 goes out; w is read in both places. With `late` x stands where w does, and all stays. */
static struct graph *scaled(bool late)
{
    struct graph *body = build_graph(13);

    body_input(body, "x");
    body_input(body, "w");
    build_node(body, "Add", late ? "x; k:f32=1,1" : "w; k:f32=1,1", "", "a");
    build_node(body, "Unsqueeze", "a; z:i64=0", "", "b");
    build_node(body, "Squeeze", "b; z", "", "s");
    build_node(body, "Mul", "x; s", "", "m");
    build_node(body, "Add", "m; w", "", "r");
    build_output(body, "r");
    return body;
}

static void constants_go_out_of_bodies(void **state)
{
    struct graph *graph = build_graph(13), *bodies[2];
    struct exec_options options = {.threads = 1};
    struct diag diag = {0};
    struct exec *exec;
    float x[2] = {3.0f, 4.0f};
    struct node *node;

    build_value(graph, "x:f32 2");
    build_value(graph, "w:f32=5,6");
    node = build_node(graph, "If", "c:bool", "", "y");
    for (int i = 0; i < 2; i++) {
        bodies[i] = scaled(i == 1);
        CHECK_OK(node_capture(node, bodies[i], graph_find_value(graph, "x")));
        give_body(graph, node, i ? "else_branch" : "then_branch", bodies[i], "w");
    }
    build_output(graph, "y");
    CHECK_OK(shape_infer(graph, eval_node, &diag));
    assert_int_equal(pass_lift_constants(graph, &diag), 3);
    assert_int_equal(bodies[0]->node_count, 2);
    assert_int_equal(bodies[1]->node_count, 5);
    assert_int_equal(graph->node_count, 4);
    CHECK_OK(graph_optimise(graph, &(struct pass_options){0}, eval_node, &diag));
    assert_int_equal(graph->node_count, 1);
    CHECK_OK(shape_infer(graph, eval_node, &diag));
    CHECK_OK(exec_create(graph, &options, &exec, &diag));
    assert_true(run(exec, x, 1) == 34.0f);
    assert_true(run(exec, x, 0) == 26.0f);
    exec_destroy(&exec);
    graph_destroy(&graph);
}

static void branches_may_differ_in_shape(void **state)
{
    struct graph *graph =
        build_if("c:bool", branch("Neg", "", ""), branch("Concat", "x;x", "axis=0"));
    uint8_t condition = 0;
    void *contents[] = {NULL, &condition};
    struct diag diag = {0};

    assert_int_equal(shape_infer(graph, eval_node, &diag), -ENOTSUP);
    CHECK_CONTAINS(diag.text, "depends on the data of 'c'");
    CHECK_OK(infer_for(graph, contents, &diag));
    assert_string_equal(type_of_y(graph), "f32 6");
    graph_destroy(&graph);
}

/* Only the chosen branch counts when the condition is a constant. */
static void the_other_branch_may_be_unsupported(void **state)
{
    struct graph *graph = build_if("c:bool =1", branch("Neg", "", ""), branch("Nope", "", ""));
    struct diag diag = {0};

    CHECK_OK(shape_infer(graph, eval_node, &diag));
    assert_string_equal(type_of_y(graph), "f32 2");
    graph_destroy(&graph);
}

static void bodies_must_fit(void **state)
{
    struct graph *graph = build_graph(13);
    struct node *node;
    struct diag diag = {0};

    build_value(graph, "x:f32 2");
    node = build_node(graph, "If", "c:bool =1", "", "y");
    build_output(graph, "y");
    assert_int_equal(shape_infer(graph, eval_node, &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "it lacks a body");
    diag = (struct diag){0};
    give_body(graph, node, "then_branch", branch("Neg", "", ""), NULL);
    give_body(graph, node, "else_branch", branch("Neg", "", ""), NULL);
    assert_int_equal(shape_infer(graph, eval_node, &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "do not fit");
    graph_destroy(&graph);
}

/* A body with the inputs and outputs that every loop's body has, and one carried value "s". */
static struct graph *loop_body(void)
{
    struct graph *body = build_graph(13);

    body_input(body, "i");
    body_input(body, "more");
    body_input(body, "s");
    return body;
}

static struct graph *build_loop(const char *inputs, struct graph *body, const char *outputs,
                                const char *captured)
{
    struct graph *graph = build_graph(13);
    struct node *node;

    if (captured)
        build_value(graph, captured);
    node = build_node(graph, "Loop", inputs, "", outputs);
    give_body(graph, node, "body", body, captured ? "x" : NULL);
    build_output(graph, "y");
    return graph;
}

/* s = s * 2 while turning; y2 collects s + i. */
static struct graph *doubling(void)
{
    struct graph *body = loop_body();

    build_node(body, "Identity", "more", "", "go");
    build_node(body, "Add", "s;s", "", "t");
    build_node(body, "Cast", "i", "to=1", "turn");
    build_node(body, "Add", "t;turn", "", "sum");
    build_output(body, "go");
    build_output(body, "t");
    build_output(body, "sum");
    return body;
}

static void expect_floats(const struct value *value, const float *want, size_t count)
{
    assert_non_null(value->known);
    assert_int_equal(shape_elements(&value->shape), count);
    for (size_t i = 0; i < count; i++)
        if (((const float *)value->known)[i] != want[i])
            fail_msg("element %zu is %g, not %g", i, (double)((const float *)value->known)[i],
                     (double)want[i]);
}

static void turns_carry_and_collect(void **state)
{
    static const float sums[] = {2, 5, 10};
    static const float last[] = {8};
    struct graph *graph = build_loop("n:i64 =3;c:bool =1;s0:f32=1", doubling(), "y;z", NULL);
    struct diag diag = {0};
    char text[100];

    build_output(graph, "z");
    CHECK_OK(shape_infer(graph, eval_node, &diag));
    assert_string_equal(type_of_y(graph), "f32 1");
    assert_string_equal(build_type_text(graph->outputs[1], text), "f32 3,1");
    expect_floats(graph->outputs[0], last, 1);
    expect_floats(graph->outputs[1], sums, 3);
    graph_destroy(&graph);
}

/* The shape of what would have been collected is that of the body. */
static void no_turn_collects_nothing(void **state)
{
    static const char *const inputs[] = {"n:i64 =0;c:bool =1;s0:f32=1,2",
                                         "n:i64 =7;c:bool =0;s0:f32=1,2", "n:i64 =-5;-;s0:f32=1,2"};
    static const float first[] = {1, 2};

    for (size_t i = 0; i < 3; i++) {
        struct graph *graph = build_loop(inputs[i], doubling(), "y;z", NULL);
        struct diag diag = {0};
        char text[100];

        build_output(graph, "z");
        CHECK_OK(shape_infer(graph, eval_node, &diag));
        assert_string_equal(build_type_text(graph->outputs[1], text), "f32 0,2");
        expect_floats(graph->outputs[0], first, 2);
        graph_destroy(&graph);
    }
}

/* s grows by x in each turn until it has more than 4 elements. */
static void carried_values_may_grow(void **state)
{
    static const float want[] = {1, 7, 8, 7, 8};
    struct graph *body = loop_body();
    struct graph *graph;
    struct diag diag = {0};
    struct exec_options options = {.threads = 1};
    struct tensor_view x = {DTYPE_F32, {1, {2}}, (float[]){7, 8}}, out;
    void *contents[] = {x.data};
    struct exec *exec;

    body_input(body, "x");
    build_node(body, "Concat", "s;x", "axis=0", "t");
    build_node(body, "Size", "t", "", "n");
    build_node(body, "Less", "n;four:i64 =4", "", "go");
    build_output(body, "go");
    build_output(body, "t");
    graph = build_loop("-;c:bool =1;s0:f32=1", body, "y", "x:f32 2");
    CHECK_OK(infer_for(graph, contents, &diag));
    assert_string_equal(type_of_y(graph), "f32 5");
    CHECK_OK(exec_create(graph, &options, &exec, &diag));
    CHECK_OK(exec_set_input(exec, 0, &x, &diag));
    exec_dispatch(exec);
    CHECK_OK(exec_wait(exec, &diag));
    CHECK_OK(exec_output(exec, 0, &out));
    assert_memory_equal(out.data, want, sizeof(want));
    exec_destroy(&exec);
    graph_destroy(&graph);
}

/* The first 1 or 2 elements of x in turns, and a branch that gives as many: sizes that follow from what is carried,
 * in each of three runs. */
static void sizes_may_go_to_and_fro(void **state)
{
    struct graph *body = loop_body(), *then = branch("Neg", "", ""), *other = branch("Abs", "", "");
    struct node *chosen;
    struct graph *graph;
    struct diag diag = {0};
    struct exec_options options = {.threads = 1};
    struct tensor_view x = {DTYPE_F32, {1, {3}}, (float[]){1, 2, 4}}, out;
    void *contents[] = {x.data};
    struct exec *exec;

    body_input(body, "x");
    build_node(body, "Mod", "s;two:i64=2", "", "odd");
    build_node(body, "Add", "odd;one:i64=1", "", "end");
    build_node(body, "Slice", "x;zero:i64=0;end", "", "part");
    build_node(body, "Identity", "part", "", "same");
    build_node(body, "ReduceSum", "same", "keepdims=0", "sum");
    build_node(body, "Cast", "odd", "to=9", "truths");
    build_node(body, "Squeeze", "truths", "", "truth");
    chosen = build_node(body, "If", "truth", "", "signed");
    CHECK_OK(graph_sort(then, &diag));
    give_body(body, chosen, "then_branch", then, "sum");
    give_body(body, chosen, "else_branch", other, "sum");
    build_node(body, "Add", "s;one", "", "t");
    build_node(body, "Identity", "more", "", "again");
    build_output(body, "again");
    build_output(body, "t");
    build_output(body, "signed");
    graph = build_loop("n:i64 =5;c:bool =1;s0:i64=0", body, "y;z", "x:f32 3");
    build_output(graph, "z");
    CHECK_OK(infer_for(graph, contents, &diag));
    CHECK_OK(exec_create(graph, &options, &exec, &diag));
    for (int run = 0; run < 3; run++) {
        CHECK_OK(exec_set_input(exec, 0, &x, &diag));
        exec_dispatch(exec);
        CHECK_OK(exec_wait(exec, &diag));
        CHECK_OK(exec_output(exec, 1, &out));
        assert_int_equal(out.shape.dims[0], 5);
        for (int turn = 0; turn < 5; turn++) {
            float want = turn % 2 == 0 ? 1.0f : -3.0f;

            assert_float_equal(((const float *)out.data)[turn], want, 0);
        }
    }
    exec_destroy(&exec);
    graph_destroy(&graph);
}

static void a_loop_must_end(void **state)
{
    struct graph *body = loop_body();
    struct graph *graph;
    struct diag diag = {0};

    build_node(body, "Concat", "s;one:f32=1", "axis=0", "t");
    build_node(body, "Slice", "t;b:i64=1;e:i64=99", "", "u");
    build_node(body, "Identity", "more", "", "go");
    build_output(body, "go");
    build_output(body, "u");
    /* Empty at first: the first turn changes its size, so that it must be run to be inferred. */
    graph = build_loop("-;-;s0:f32 2=0,0", body, "y", NULL);
    CHECK_OK(shape_infer(graph, NULL, &diag));
    assert_string_equal(type_of_y(graph), "f32 2");
    graph_destroy(&graph);

    body = loop_body();
    build_node(body, "Concat", "s;s", "axis=0", "t");
    build_node(body, "Slice", "t;b:i64=0;e:i64=3", "", "u");
    build_node(body, "Identity", "more", "", "go");
    build_output(body, "go");
    build_output(body, "u");
    graph = build_loop("-;-;s0:f32 2=0,0", body, "y", NULL);
    assert_int_equal(shape_infer(graph, eval_node, &diag), -E2BIG);
    CHECK_CONTAINS(diag.text, "does not end");
    graph_destroy(&graph);
}

/* What goes wrong inside is told with the node of the body. */
static void failures_inside_are_told(void **state)
{
    struct graph *graph =
        build_if("c:bool", branch("Gather", "k:i64 =9", ""), branch("Gather", "k:i64 =1", ""));
    struct exec_options options = {.threads = 1};
    struct diag diag = {0};
    struct exec *exec;
    uint8_t condition = 1;
    struct tensor_view view = {DTYPE_BOOL, {0, {0}}, &condition};

    CHECK_OK(shape_infer(graph, eval_node, &diag));
    CHECK_OK(exec_create(graph, &options, &exec, &diag));
    CHECK_OK(exec_set_input(exec, 1, &view, &diag));
    exec_dispatch(exec);
    assert_int_equal(exec_wait(exec, &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "node \"If_0\" (If): node \"Gather_0\"");
    exec_destroy(&exec);
    graph_destroy(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_condition_may_change_between_runs),
        cmocka_unit_test(convolutions_in_branches),
        cmocka_unit_test(constants_go_out_of_bodies),
        cmocka_unit_test(branches_may_differ_in_shape),
        cmocka_unit_test(the_other_branch_may_be_unsupported),
        cmocka_unit_test(bodies_must_fit),
        cmocka_unit_test(turns_carry_and_collect),
        cmocka_unit_test(no_turn_collects_nothing),
        cmocka_unit_test(carried_values_may_grow),
        cmocka_unit_test(sizes_may_go_to_and_fro),
        cmocka_unit_test(a_loop_must_end),
        cmocka_unit_test(failures_inside_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
