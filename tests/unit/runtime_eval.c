/* SPDX-License-Identifier: Apache-2.0 */
/* What decides sizes is computed with the kernels of a run: large convolutions by those that prepare their
 * weights, with the reference's results. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/ops/call/call.h"
#include "runtime/ops/eval.h"
#include "tests/support/check.h"
#include "tests/support/graph_build.h"

enum { ROUNDS = 60 };

static int between(int low, int high)
{
    return low + rand() % (high - low + 1);
}

static struct tensor_view make_view(int rank, const int64_t *dims, bool is_random)
{
    struct tensor_view view = {.dtype = DTYPE_F32, .shape = {.rank = rank}};
    int64_t count;

    for (int i = 0; i < rank; i++)
        view.shape.dims[i] = dims[i];
    count = shape_elements(&view.shape);
    view.data = graph_alloc_data((size_t)count * sizeof(float));
    assert_non_null(view.data);
    for (int64_t i = 0; i < count; i++)
        ((float *)view.data)[i] = is_random ? (float)(rand() % 2001 - 1000) / 1000.0f : NAN;
    return view;
}

/* A Conv of two spatial axes, or one; also of less than is prepared. */
static void compare(int spatial)
{
    int group = between(1, 3), per_group = between(1, 9), filters = between(1, 9);
    int size = between(1, 3), step = between(1, 2), apart = between(1, 2), pad = between(0, 2);
    int64_t x[4] = {between(1, 2), (int64_t)group * per_group, between(8, 60), between(8, 60)};
    int64_t w[4] = {(int64_t)group * filters, per_group, size, size};
    int64_t y[4] = {x[0], w[0]};
    char attributes[200];
    struct graph *graph = build_graph(17);
    struct node *node;
    struct tensor_view inputs[3], wanted, got;
    struct diag diag = {0};
    double allowed = 1e-6 * per_group * size * size;

    for (int i = 2; i < 2 + spatial; i++)
        y[i] = (x[i] + 2 * pad - apart * (size - 1) - 1) / step + 1;
    snprintf(attributes, sizeof(attributes),
             spatial == 2 ? "group=%d pads=[%d,%d,%d,%d] strides=[%d,%d] dilations=[%d,%d]"
                          : "group=%d pads=[%d,%d] strides=[%d] dilations=[%d]",
             group, pad, pad, spatial == 2 ? pad : step, spatial == 2 ? pad : apart, step, step,
             apart, apart);
    node = build_node(graph, "Conv", between(0, 1) ? "x:f32; w:f32; b:f32" : "x:f32; w:f32; -",
                      attributes, "y");
    inputs[0] = make_view(2 + spatial, x, true);
    inputs[1] = make_view(2 + spatial, w, true);
    inputs[2] = node->inputs[2] ? make_view(1, w, true) : (struct tensor_view){0};
    wanted = make_view(2 + spatial, y, false);
    got = make_view(2 + spatial, y, false);
    if (eval_node(graph, node, inputs, &wanted, &diag) < 0 ||
        eval_node_as_run(graph, node, inputs, &got, &diag) < 0)
        fail_msg("%s: %s", attributes, diag.text);
    for (int64_t i = 0; i < shape_elements(&got.shape); i++) {
        double a = ((float *)wanted.data)[i], b = ((float *)got.data)[i];

        if (!(fabs(a - b) <= allowed))
            fail_msg("%s: element %d is %g, not %g", attributes, (int)i, b, a);
    }
    for (int i = 0; i < 3; i++)
        free(inputs[i].data);
    free(wanted.data);
    free(got.data);
    graph_destroy(&graph);
}

static void convolutions_are_the_same(void **state)
{
    srand(11);
    for (int i = 0; i < ROUNDS; i++)
        compare(1 + i % 2);
}

/* A residual is added also where weights are computed in each run, by a kernel that lays them out. */
static void computed_weights_take_a_residual(void **state)
{
    static const int64_t x[] = {1, 16, 20, 20}, w[] = {16, 16, 3, 3}, b[] = {16};
    struct graph *graph = build_graph(17);
    struct node *node =
        build_node(graph, "Conv", "x:f32; w:f32; b:f32; r:f32", "pads=[1,1,1,1]", "y");
    struct tensor_view inputs[] = {make_view(4, x, true), make_view(4, w, true),
                                   make_view(1, b, true), make_view(4, x, true)};
    struct tensor_view wanted = make_view(4, x, false), got = make_view(4, x, false), types[4];
    const void *in[4];
    void *out[] = {got.data};
    struct kernel_table kernels;
    struct diag diag = {0};
    struct call_request request = {.kernels = &kernels,
                                   .graph = graph,
                                   .node = node,
                                   .inputs = types,
                                   .outputs = &got,
                                   .diag = &diag};
    struct call call = {0};

    node->fused = (struct fused){.activation = ACTIVATION_RELU, .residual_input = 3};
    CHECK_OK(eval_node(graph, node, inputs, &wanted, &diag));
    kernel_table_init(&kernels, kernel_best_level());
    for (int i = 0; i < 4; i++) {
        types[i] = inputs[i];
        types[i].data = NULL;
        in[i] = inputs[i].data;
    }
    CHECK_OK(call_bind_any(&request, call_bind, &call));
    assert_string_not_equal(call.version, "ref");
    call.workspace = graph_alloc_data(call.workspace_bytes);
    call.inputs = in;
    call.outputs = out;
    for (int run = 0; run < 2; run++) {
        CHECK_OK(call_run(&call));
        for (int64_t i = 0; i < shape_elements(&got.shape); i++)
            CHECK_NEAR(((float *)got.data)[i], ((float *)wanted.data)[i], 1e-4);
    }
    free(call.workspace);
    call_deinit(&call);
    for (int i = 0; i < 4; i++)
        free(inputs[i].data);
    free(wanted.data);
    free(got.data);
    graph_destroy(&graph);
}

/* Refused with the same words, prepared or not. */
static void what_does_not_fit_is_refused(void **state)
{
    static const int64_t x[] = {1, 7, 64, 64}, w[] = {8, 8, 3, 3}, y[] = {1, 8, 62, 62};
    struct graph *graph = build_graph(17);
    struct node *node = build_node(graph, "Conv", "x:f32; w:f32", "", "y");
    struct tensor_view inputs[] = {make_view(4, x, true), make_view(4, w, true)};
    struct tensor_view output = make_view(4, y, false);
    struct diag plain = {0}, prepared = {0};
    int rc = eval_node(graph, node, inputs, &output, &plain);

    assert_true(rc < 0);
    assert_int_equal(eval_node_as_run(graph, node, inputs, &output, &prepared), rc);
    assert_string_equal(prepared.text, plain.text);
    free(inputs[0].data);
    free(inputs[1].data);
    free(output.data);
    graph_destroy(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_are_the_same),
        cmocka_unit_test(computed_weights_take_a_residual),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
