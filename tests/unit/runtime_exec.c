/* SPDX-License-Identifier: Apache-2.0 */
/* Executions against the truth: each graph is also computed node by node with eval_node(). */
#include "tests/support/check.h"

#include <math.h>

#include "runtime/exec/exec.h"
#include "tests/support/exec_check.h"

/* Building small graphs */

static struct graph *graph;
static uint32_t noise;

static void fill(float *data, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        data[i] = exec_check_random(&noise);
}

static struct shape shape_of(int rank, const int64_t *dims)
{
    struct shape shape = {.rank = rank};

    memcpy(shape.dims, dims, (size_t)rank * sizeof(*dims));
    return shape;
}

#define DIMS(...)                                                                                  \
    shape_of((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static struct value *add_value(struct shape shape)
{
    struct value *value = graph_add_value(graph, NULL, DTYPE_F32, &shape, NULL);

    assert_non_null(value);
    return value;
}

static struct value *add_input(struct shape shape)
{
    struct value *value = add_value(shape);

    CHECK_OK(graph_add_input(graph, value));
    return value;
}

/* Scaled by what feeds one output, so that values keep their size from layer to layer. */
static struct value *add_constant(struct shape shape)
{
    struct value *value = add_value(shape);
    float *data = graph_alloc_data((size_t)shape_bytes(&shape, DTYPE_F32));
    int64_t fan_in = shape.rank > 1 ? shape_elements(&shape) / shape.dims[0] : 3;

    fill(data, shape_elements(&shape));
    for (int64_t i = 0; i < shape_elements(&shape); i++)
        data[i] *= sqrtf(3.0f / (float)fan_in);
    value_set_data(value, data);
    return value;
}

static struct value *add_int64s(const int64_t *ints, int64_t count)
{
    struct shape shape = DIMS(count);
    struct value *value = graph_add_value(graph, NULL, DTYPE_I64, &shape, NULL);
    int64_t *data = graph_alloc_data((size_t)count * sizeof(*data));

    memcpy(data, ints, (size_t)count * sizeof(*data));
    value_set_data(value, data);
    return value;
}

static struct node *last_node;

static struct value *add_node(const char *op_type, struct shape y, uint32_t count,
                              struct value *const *inputs)
{
    struct value *output = add_value(y);

    last_node = graph_add_node(graph, op_type, "", NULL, inputs, count, &output, 1);
    assert_non_null(last_node);
    return output;
}

#define NODE(op_type, y, ...)                                                                      \
    add_node(op_type, y, sizeof((struct value *[]){__VA_ARGS__}) / sizeof(struct value *),         \
             (struct value *[]){__VA_ARGS__})

/* kernel x kernel, same padding for odd kernels, stride; with bias. */
static struct value *add_conv(struct value *x, int64_t filters, int64_t kernel, int64_t stride,
                              int64_t groups, struct value *residual)
{
    const int64_t *in = x->shape.dims;
    int64_t pad = kernel / 2;
    struct shape y = DIMS(in[0], filters, (in[2] + 2 * pad - kernel) / stride + 1,
                          (in[3] + 2 * pad - kernel) / stride + 1);
    struct value *w = add_constant(DIMS(filters, in[1] / groups, kernel, kernel));
    struct value *bias = add_constant(DIMS(filters));
    struct value *output =
        residual ? NODE("Conv", y, x, w, bias, residual) : NODE("Conv", y, x, w, bias);

    CHECK_OK(node_set_ints(last_node, "strides", (int64_t[]){stride, stride}, 2));
    CHECK_OK(node_set_ints(last_node, "pads", (int64_t[]){pad, pad, pad, pad}, 4));
    CHECK_OK(node_set_int(last_node, "group", groups));
    last_node->fused.residual_input = residual ? 3 : -1;
    return output;
}

static struct value *add_pool(const char *op_type, struct value *x, int64_t kernel, int64_t stride)
{
    const int64_t *in = x->shape.dims;
    struct value *output =
        NODE(op_type,
             DIMS(in[0], in[1], (in[2] - kernel) / stride + 1, (in[3] - kernel) / stride + 1), x);

    CHECK_OK(node_set_ints(last_node, "kernel_shape", (int64_t[]){kernel, kernel}, 2));
    CHECK_OK(node_set_ints(last_node, "strides", (int64_t[]){stride, stride}, 2));
    return output;
}

static void begin_graph(int64_t opset)
{
    noise = 1;
    graph = graph_create();
    assert_non_null(graph);
    CHECK_OK(graph_add_opset(graph, "", opset));
}

/* Three runs each with one and two threads, against eval_node(); then destroys the graph. */
static void check_graph(void)
{
    exec_check_graph(graph, 1, 1.0, "graph");
    graph_destroy(&graph);
}

/* The cases */

static void a_small_network(void **state)
{
    struct value *x, *y;

    begin_graph(13);
    x = add_input(DIMS(2, 3, 20, 20));
    y = add_conv(x, 32, 3, 1, 1, NULL);
    last_node->fused.activation = ACTIVATION_RELU;
    y = add_pool("MaxPool", y, 2, 2);
    y = add_conv(y, 48, 3, 2, 1, NULL);
    y = NODE("GlobalAveragePool", DIMS(2, 48, 1, 1), y);
    y = NODE("Flatten", DIMS(2, 48), y);
    y = NODE("Gemm", DIMS(2, 10), y, add_constant(DIMS(10, 48)), add_constant(DIMS(10)));
    CHECK_OK(node_set_int(last_node, "transB", 1));
    y = NODE("Softmax", DIMS(2, 10), y);
    CHECK_OK(graph_add_output(graph, y));
    check_graph();
}

/* The residual is read once more by nobody, then by a later node, then it is the graph's input. */
static void residuals(void **state)
{
    struct value *x, *a, *b, *c;

    begin_graph(13);
    x = add_input(DIMS(1, 32, 9, 9));
    a = add_conv(x, 32, 1, 1, 1, NULL);
    b = add_conv(a, 32, 3, 1, 1, NULL);
    b = add_conv(b, 32, 1, 1, 1, a);
    last_node->fused.activation = ACTIVATION_RELU;
    c = add_conv(b, 32, 3, 1, 1, NULL);
    c = add_conv(c, 32, 1, 1, 1, b);
    c = NODE("Add", c->shape, c, b);
    c = add_conv(c, 32, 1, 1, 1, x);
    CHECK_OK(graph_add_output(graph, c));
    check_graph();
}

/* A convolution that adds its own input. */
static void a_residual_that_is_the_input(void **state)
{
    struct value *x, *y;

    begin_graph(13);
    x = add_input(DIMS(1, 16, 12, 12));
    x = add_conv(x, 16, 1, 1, 1, NULL);
    y = add_conv(x, 16, 3, 1, 1, x);
    CHECK_OK(graph_add_output(graph, y));
    check_graph();

    /* The same by way of two views. */
    begin_graph(13);
    x = add_input(DIMS(1, 16, 12, 12));
    x = add_conv(x, 16, 1, 1, 1, NULL);
    y = NODE("Reshape", DIMS(4, 4, 12, 12), x, add_int64s((int64_t[]){4, 4, 12, 12}, 4));
    y = NODE("Reshape", DIMS(1, 16, 12, 12), y, add_int64s((int64_t[]){1, 16, 12, 12}, 4));
    y = add_conv(x, 16, 3, 1, 1, y);
    CHECK_OK(graph_add_output(graph, y));
    check_graph();
}

static void branches_that_are_concatenated(void **state)
{
    struct value *x, *a, *b, *c, *y;

    begin_graph(13);
    x = add_input(DIMS(1, 16, 10, 10));
    x = add_conv(x, 32, 3, 1, 1, NULL);
    a = add_conv(x, 16, 1, 1, 1, NULL);
    a = NODE("Relu", a->shape, a);
    b = add_conv(x, 32, 3, 1, 1, NULL);
    c = add_conv(x, 20, 1, 1, 1, NULL); /* no multiple of any vector */
    y = NODE("Concat", DIMS(1, 48, 10, 10), a, b);
    CHECK_OK(node_set_int(last_node, "axis", 1));
    y = add_conv(y, 16, 1, 1, 1, NULL);
    CHECK_OK(graph_add_output(graph, y));
    y = NODE("Concat", DIMS(1, 68, 10, 10), a, b, c);
    CHECK_OK(node_set_int(last_node, "axis", 1));
    y = add_conv(y, 16, 1, 1, 1, NULL);
    CHECK_OK(graph_add_output(graph, y));
    CHECK_OK(graph_add_output(graph, c));
    check_graph();
}

/* The same value twice in one Concat, an input, a constant, and a batch of two. */
static void odd_concats(void **state)
{
    struct value *x, *a, *y;

    begin_graph(13);
    x = add_input(DIMS(2, 16, 6, 6));
    a = add_conv(x, 16, 3, 1, 1, NULL);
    y = NODE("Concat", DIMS(2, 64, 6, 6), a, a, x, add_constant(DIMS(2, 16, 6, 6)));
    CHECK_OK(node_set_int(last_node, "axis", 1));
    y = add_conv(y, 32, 1, 1, 1, NULL);
    y = NODE("Concat", DIMS(2, 64, 6, 6), y, y);
    CHECK_OK(node_set_int(last_node, "axis", 1));
    y = add_pool("AveragePool", y, 3, 1);
    CHECK_OK(graph_add_output(graph, y));
    check_graph();
}

/* As in ShuffleNet: grouped and depthwise convolutions, a channel shuffle between them. */
static void shuffled_groups(void **state)
{
    struct value *x, *y;

    begin_graph(13);
    x = add_input(DIMS(1, 24, 14, 14));
    y = add_conv(x, 68, 1, 1, 4, NULL);
    last_node->fused.activation = ACTIVATION_RELU;
    y = NODE("Reshape", DIMS(1, 4, 17, 14, 14), y, add_int64s((int64_t[]){1, 4, 17, 14, 14}, 5));
    y = NODE("Transpose", DIMS(1, 17, 4, 14, 14), y);
    CHECK_OK(node_set_ints(last_node, "perm", (int64_t[]){0, 2, 1, 3, 4}, 5));
    y = NODE("Reshape", DIMS(1, 68, 14, 14), y, add_int64s((int64_t[]){1, 68, 14, 14}, 4));
    y = add_conv(y, 68, 3, 1, 68, NULL);
    y = add_conv(y, 24, 1, 1, 4, NULL);
    y = NODE("Add", y->shape, y, x);
    y = NODE("Relu", y->shape, y);
    CHECK_OK(graph_add_output(graph, y));
    check_graph();
}

static void normalisation_and_pools(void **state)
{
    struct value *x, *y, *z;

    begin_graph(9);
    x = add_input(DIMS(1, 3, 30, 30));
    y = add_conv(x, 40, 5, 2, 1, NULL);
    y = NODE("LRN", y->shape, y);
    CHECK_OK(node_set_int(last_node, "size", 5));
    y = add_pool("MaxPool", y, 3, 2);
    z = NODE("Sigmoid", y->shape, y);
    z = NODE("Sub", y->shape, z, y);
    z = NODE("BatchNormalization", y->shape, z, add_constant(DIMS(40)), add_constant(DIMS(40)),
             add_constant(DIMS(40)), add_constant(DIMS(40)));
    CHECK_OK(node_set_float(last_node, "epsilon", 2.0f)); /* above all of the noise's variance */
    y = NODE("Mul", y->shape, z, add_constant(DIMS(40, 1, 1)));
    CHECK_OK(graph_add_output(graph, y));
    y = NODE("Softmax", y->shape, y);
    CHECK_OK(graph_add_output(graph, y));
    check_graph();
}

/* Values that are inputs, outputs, views and operands at once. */
static void views_and_outputs(void **state)
{
    struct value *x, *y, *z;

    begin_graph(13);
    x = add_input(DIMS(2, 8));
    y = NODE("Identity", DIMS(2, 8), x);
    CHECK_OK(graph_add_output(graph, y));
    y = NODE("Relu", DIMS(2, 8), y);
    CHECK_OK(graph_add_output(graph, y));
    z = NODE("Reshape", DIMS(4, 4), y, add_int64s((int64_t[]){4, 4}, 2));
    z = NODE("Tanh", DIMS(4, 4), z);
    z = NODE("Tanh", DIMS(4, 4), z);
    CHECK_OK(graph_add_output(graph, z));
    y = NODE("Add", DIMS(2, 8), y, y);
    CHECK_OK(graph_add_output(graph, y));
    check_graph();
}

static void moments_are_told_in_order(void *user, enum exec_moment moment, uint32_t step,
                                      uint64_t ticks)
{
    struct {
        uint64_t last[2];
        uint32_t next[2];
    } *seen = user;
    int side = moment >= EXEC_DEVICE_START;

    assert_int_equal(step, seen->next[side] / 3);
    assert_int_equal((int)moment - 3 * side, seen->next[side] % 3);
    assert_true(ticks >= seen->last[side]);
    seen->last[side] = ticks;
    seen->next[side]++;
}

static void observers_see_each_step(void **state)
{
    struct {
        uint64_t last[2];
        uint32_t next[2];
    } seen = {0};
    struct exec_observer observer = {&seen, moments_are_told_in_order};
    struct exec *exec;
    struct diag diag = {0};
    struct value *y;

    begin_graph(13);
    y = add_conv(add_input(DIMS(1, 3, 8, 8)), 16, 3, 1, 1, NULL);
    y = NODE("Relu", y->shape, y);
    CHECK_OK(graph_add_output(graph, y));
    exec = exec_check_create(graph, 1);
    CHECK_OK(exec_add_observer(exec, &observer));
    exec_dispatch(exec);
    CHECK_OK(exec_wait(exec, &diag));
    assert_true(exec_step_count(exec) >= 2);
    assert_int_equal(seen.next[0], 3 * exec_step_count(exec));
    assert_int_equal(seen.next[1], 3 * exec_step_count(exec));
    for (uint32_t i = 0; i < exec_step_count(exec); i++) {
        assert_non_null(exec_step(exec, i)->implementation);
        assert_non_null(exec_step(exec, i)->node);
    }
    exec_destroy(&exec);
    graph_destroy(&graph);
}

/* More steps in the queue than it has room for. */
static void a_full_queue_waits(void **state)
{
    struct exec *exec;
    struct diag diag = {0};
    struct tensor_view out;
    struct value *y;
    float one = 1.0f;

    begin_graph(13);
    y = add_input(DIMS(1));
    for (int i = 0; i < 10; i++)
        y = NODE("Add", DIMS(1), y, y);
    CHECK_OK(graph_add_output(graph, y));
    exec = exec_check_create(graph, 1);
    CHECK_OK(exec_set_input(exec, 0, &(struct tensor_view){DTYPE_F32, DIMS(1), &one}, &diag));
    for (int i = 0; i < 2000; i++)
        exec_dispatch(exec);
    CHECK_OK(exec_wait(exec, &diag));
    CHECK_OK(exec_output(exec, 0, &out));
    CHECK_NEAR(*(const float *)out.data, 1024.0, 0.0);
    exec_destroy(&exec);
    graph_destroy(&graph);
}

static void an_index_out_of_range_fails_the_run_only(void **state)
{
    struct exec *exec;
    struct diag diag = {0};
    struct shape shape = DIMS(2);
    struct value *indices, *y;
    int64_t bad[2] = {1, 7}, good[2] = {2, -1};
    struct tensor_view view = {DTYPE_I64, shape, bad}, out;

    begin_graph(13);
    indices = graph_add_value(graph, "indices", DTYPE_I64, &shape, NULL);
    CHECK_OK(graph_add_input(graph, indices));
    y = NODE("Gather", DIMS(2, 3), add_constant(DIMS(5, 3)), indices);
    y = NODE("Relu", y->shape, y);
    CHECK_OK(graph_add_output(graph, y));
    exec = exec_check_create(graph, 1);
    CHECK_OK(exec_set_input(exec, 0, &view, &diag));
    exec_dispatch(exec);
    assert_int_equal(exec_wait(exec, &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "out of range");
    CHECK_CONTAINS(diag.text, "Gather");
    view.data = good;
    diag = (struct diag){0};
    CHECK_OK(exec_set_input(exec, 0, &view, &diag));
    exec_dispatch(exec);
    CHECK_OK(exec_wait(exec, &diag));
    CHECK_OK(exec_output(exec, 0, &out));
    exec_destroy(&exec);
    graph_destroy(&graph);
}

static void mistakes_are_named(void **state)
{
    struct exec_options options = {.threads = 1};
    struct exec *exec = NULL;
    struct diag diag = {0};
    struct value *x;
    float data[4];
    struct tensor_view wrong = {DTYPE_F32, DIMS(4), data};

    begin_graph(13);
    x = add_input(DIMS(2, 2));
    CHECK_OK(graph_add_output(graph, NODE("Frobnicate", DIMS(2, 2), x)));
    assert_int_equal(exec_create(graph, &options, &exec, &diag), -ENOTSUP);
    CHECK_CONTAINS(diag.text, "Frobnicate");
    CHECK_CONTAINS(diag.text, "opset 13");
    graph_destroy(&graph);

    begin_graph(13);
    x = add_input(DIMS(2, 2));
    CHECK_OK(graph_add_output(graph, NODE("Relu", DIMS(2, 2), x)));
    exec = exec_check_create(graph, 1);
    diag = (struct diag){0};
    assert_int_equal(exec_set_input(exec, 0, &wrong, &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "{2,2}");
    CHECK_CONTAINS(diag.text, "{4}");
    diag = (struct diag){0};
    assert_int_equal(exec_set_input(exec, 1, &wrong, &diag), -EINVAL);
    assert_int_equal(exec_output(exec, 1, &wrong), -EINVAL);
    exec_destroy(&exec);
    graph_destroy(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_network),
        cmocka_unit_test(residuals),
        cmocka_unit_test(a_residual_that_is_the_input),
        cmocka_unit_test(branches_that_are_concatenated),
        cmocka_unit_test(odd_concats),
        cmocka_unit_test(shuffled_groups),
        cmocka_unit_test(normalisation_and_pools),
        cmocka_unit_test(views_and_outputs),
        cmocka_unit_test(observers_see_each_step),
        cmocka_unit_test(a_full_queue_waits),
        cmocka_unit_test(an_index_out_of_range_fails_the_run_only),
        cmocka_unit_test(mistakes_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
