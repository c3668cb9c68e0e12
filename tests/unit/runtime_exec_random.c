/* SPDX-License-Identifier: Apache-2.0 */
/* Random graphs of operators that change and keep layouts, work in place, view and join: an
 * execution must compute what the nodes say, one by one. A failure names the seed. */
#include "tests/support/check.h"

#include <math.h>

#include "runtime/ops/eval.h"
#include "runtime/ops/shape/shape.h"
#include "tests/support/exec_check.h"

enum { MOST_NODES = 24, MOST_VALUES = MOST_NODES + 2 };

/* A graph while it grows: images [1 or 2, channels, height, width] that later nodes may read. */
struct random_graph {
    struct graph *graph;
    uint32_t seed;
    struct value *images[MOST_VALUES];
    int count;
    /* Residuals are what fusing adds: after shape inference, which knows no such Conv. */
    struct node *fused[MOST_NODES];
    struct value *residuals[MOST_NODES];
    int fused_count;
};

static int64_t draw(struct random_graph *r, int64_t low, int64_t high)
{
    exec_check_random(&r->seed);
    return low + (int64_t)(r->seed >> 8) % (high - low + 1);
}

static bool chance(struct random_graph *r, int n)
{
    return draw(r, 1, n) == 1;
}

static struct value *add_floats(struct random_graph *r, struct shape shape, double scale)
{
    struct value *value = graph_add_value(r->graph, NULL, DTYPE_F32, &shape, NULL);
    float *data = graph_alloc_data((size_t)shape_bytes(&shape, DTYPE_F32));

    for (int64_t i = 0; i < shape_elements(&shape); i++)
        data[i] = exec_check_random(&r->seed) * (float)scale;
    value_set_data(value, data);
    return value;
}

static struct value *add_ints(struct random_graph *r, int64_t count, const int64_t *ints)
{
    struct shape shape = {.rank = 1, .dims = {count}};
    struct value *value = graph_add_value(r->graph, NULL, DTYPE_I64, &shape, NULL);
    int64_t *data = graph_alloc_data((size_t)count * sizeof(*data));

    memcpy(data, ints, (size_t)count * sizeof(*data));
    value_set_data(value, data);
    return value;
}

/* Adds the node and infers the shape of its output at once. */
static struct node *add_node(struct random_graph *r, const char *op_type, uint32_t count,
                             struct value *const *inputs)
{
    struct shape unknown = {.rank = -1};
    struct value *y = graph_add_value(r->graph, NULL, DTYPE_NONE, &unknown, NULL);
    struct node *node = graph_add_node(r->graph, op_type, "", NULL, inputs, count, &y, 1);

    assert_non_null(node);
    return node;
}

static struct value *result_of(struct random_graph *r, struct node *node)
{
    struct diag diag = {0};

    if (shape_infer(r->graph, eval_node, &diag) != 0)
        fail_msg("shape_infer: %s", diag.text);
    return node->outputs[0];
}

static struct value *pick(struct random_graph *r)
{
    /* The newer ones more often: chains are where things go wrong. */
    return r->images[chance(r, 2) ? r->count - 1 : draw(r, 0, r->count - 1)];
}

/* Another image of the same shape, or NULL. */
static struct value *pick_like(struct random_graph *r, const struct shape *shape)
{
    int start = (int)draw(r, 0, r->count - 1);

    for (int i = 0; i < r->count; i++) {
        struct value *value = r->images[(start + i) % r->count];

        if (shape_equal(&value->shape, shape))
            return value;
    }
    return NULL;
}

static void random_fused(struct random_graph *r, struct node *node)
{
    node->fused.activation = (enum activation)draw(r, ACTIVATION_NONE, ACTIVATION_TANH);
    node->fused.alpha = node->fused.activation == ACTIVATION_CLIP ? -0.5f : 0.25f;
    node->fused.beta = 1.25f;
}

static struct value *add_conv(struct random_graph *r, struct value *x)
{
    static const int64_t widths[] = {4, 8, 16, 20, 32};
    int64_t channels = x->shape.dims[1], kernel = chance(r, 2) ? 1 : 3, pad = kernel / 2;
    int64_t groups = channels % 4 == 0 && chance(r, 3) ? (chance(r, 2) ? channels : 4) : 1;
    int64_t filters = groups == channels ? channels : widths[draw(r, 0, 4)];
    struct value *inputs[3] = {x};
    struct shape w = {.rank = 4, .dims = {filters, channels / groups, kernel, kernel}};
    struct shape y = {.rank = 4,
                      .dims = {x->shape.dims[0], filters, x->shape.dims[2], x->shape.dims[3]}};
    struct value *residual = chance(r, 2) ? pick_like(r, &y) : NULL;
    bool has_bias = chance(r, 2);
    struct node *node;

    inputs[1] = add_floats(r, w, sqrt(3.0 * (double)groups / (double)(channels * kernel * kernel)));
    if (has_bias)
        inputs[2] = add_floats(r, (struct shape){.rank = 1, .dims = {filters}}, 0.5);
    node = add_node(r, "Conv", has_bias ? 3 : 2, inputs);
    CHECK_OK(node_set_int(node, "group", groups));
    CHECK_OK(node_set_ints(node, "pads", (int64_t[]){pad, pad, pad, pad}, 4));
    random_fused(r, node);
    if (residual) {
        r->fused[r->fused_count] = node;
        r->residuals[r->fused_count++] = residual;
    }
    return result_of(r, node);
}

static struct value *add_pool(struct random_graph *r, struct value *x)
{
    static const char *const types[] = {"MaxPool", "AveragePool", "LRN"};
    int type = (int)draw(r, 0, 2);
    struct node *node = add_node(r, types[type], 1, &x);

    if (type == 2) {
        CHECK_OK(node_set_int(node, "size", 3));
    } else {
        CHECK_OK(node_set_ints(node, "kernel_shape", (int64_t[]){3, 3}, 2));
        CHECK_OK(node_set_ints(node, "pads", (int64_t[]){1, 1, 1, 1}, 4));
    }
    return result_of(r, node);
}

static struct value *add_elementwise(struct random_graph *r, struct value *x)
{
    static const char *const unary[] = {"Relu", "Sigmoid", "Tanh"};
    static const char *const binary[] = {"Add", "Sub", "Mul"};
    struct value *other = pick_like(r, &x->shape);
    struct shape per_channel = {.rank = 3, .dims = {x->shape.dims[1], 1, 1}};
    struct shape scalar = {.rank = 0};
    struct value *operands[3] = {x, other, x};

    switch (draw(r, 0, 4)) {
    case 0:
        operands[1] = add_floats(r, per_channel, 1.0);
        break;
    case 1:
        operands[1] = operands[0];
        operands[0] = add_floats(r, scalar, 1.0);
        break;
    case 2:
        return result_of(r, add_node(r, unary[draw(r, 0, 2)], 1, &x));
    case 3:
        return result_of(r, add_node(r, "Sum", 3, operands));
    default:
        break;
    }
    return result_of(r, add_node(r, binary[draw(r, 0, 2)], 2, operands));
}

static struct value *add_concat(struct random_graph *r, struct value *x)
{
    struct value *other = pick_like(r, &x->shape);
    struct value *inputs[] = {x, other, x};
    struct node *node;

    if (x->shape.dims[1] > 40)
        return x;
    node = add_node(r, "Concat", chance(r, 3) ? 3 : 2, inputs);
    CHECK_OK(node_set_int(node, "axis", 1));
    return result_of(r, node);
}

/* Half of the channels, or every second row and column. */
static struct value *add_slice(struct random_graph *r, struct value *x)
{
    int64_t half = x->shape.dims[1] / 2, height = x->shape.dims[2];
    struct value *inputs[5] = {x};

    if (half >= 2 && chance(r, 2)) {
        inputs[1] = add_ints(r, 1, (int64_t[]){chance(r, 2) ? 0 : half});
        inputs[2] = add_ints(r, 1, (int64_t[]){x->shape.dims[1]});
        inputs[3] = add_ints(r, 1, (int64_t[]){1});
        return result_of(r, add_node(r, "Slice", 4, inputs));
    }
    if (height < 6)
        return x;
    inputs[1] = add_ints(r, 2, (int64_t[]){-1, 0});
    inputs[2] = add_ints(r, 2, (int64_t[]){-height - 1, 100});
    inputs[3] = add_ints(r, 2, (int64_t[]){2, 3});
    inputs[4] = add_ints(r, 2, (int64_t[]){-2, 2});
    return result_of(r, add_node(r, "Slice", 5, inputs));
}

static struct value *add_reshape(struct random_graph *r, struct value *x, int64_t rank,
                                 const int64_t *dims)
{
    struct value *inputs[] = {x, add_ints(r, rank, dims)};

    return result_of(r, add_node(r, "Reshape", 2, inputs));
}

/* A channel shuffle, a transposition of height and width, or a way through other shapes and back.
 */
static struct value *add_views(struct random_graph *r, struct value *x)
{
    int64_t *d = x->shape.dims, groups = d[1] % 4 == 0 ? 4 : 1;
    struct node *node;

    switch (draw(r, 0, 3)) {
    case 0:
        x = add_reshape(r, x, 5, (int64_t[]){d[0], groups, d[1] / groups, d[2], d[3]});
        node = add_node(r, "Transpose", 1, &x);
        CHECK_OK(node_set_ints(node, "perm", (int64_t[]){0, 2, 1, 3, 4}, 5));
        return add_reshape(r, result_of(r, node), 4, (int64_t[]){d[0], d[1], d[2], d[3]});
    case 1:
        node = add_node(r, "Transpose", 1, &x);
        CHECK_OK(node_set_ints(node, "perm", (int64_t[]){0, 1, 3, 2}, 4));
        return result_of(r, node);
    case 2:
        x = add_reshape(r, x, 2, (int64_t[]){d[0], d[1] * d[2] * d[3]});
        if (chance(r, 2))
            x = result_of(r, add_node(r, "Softmax", 1, &x));
        return add_reshape(r, x, 4, (int64_t[]){d[0], d[1], d[2], d[3]});
    default:
        x = add_reshape(r, x, 3, (int64_t[]){d[0], d[1], d[2] * d[3]});
        return add_reshape(r, x, 4, (int64_t[]){d[0], d[1], d[2], d[3]});
    }
}

static struct value *add_random(struct random_graph *r)
{
    struct value *x = pick(r);

    switch (draw(r, 0, 9)) {
    case 0:
        return add_pool(r, x);
    case 1:
    case 2:
        return add_elementwise(r, x);
    case 3:
        return add_concat(r, x);
    case 4:
        return add_slice(r, x);
    case 5:
        return add_views(r, x);
    default:
        return add_conv(r, x);
    }
}

static void make_graph(struct random_graph *r, uint32_t seed)
{
    struct shape shape = {.rank = 4};
    int nodes;

    *r = (struct random_graph){.graph = graph_create(), .seed = seed};
    assert_non_null(r->graph);
    CHECK_OK(graph_add_opset(r->graph, "", 13));
    nodes = (int)draw(r, 1, MOST_NODES);
    shape.dims[0] = draw(r, 1, 2);
    shape.dims[1] = 4 * draw(r, 1, 6);
    shape.dims[2] = draw(r, 5, 9);
    shape.dims[3] = draw(r, 5, 9);
    for (int i = 0; i < 2; i++) {
        struct value *input = graph_add_value(r->graph, NULL, DTYPE_F32, &shape, NULL);

        CHECK_OK(graph_add_input(r->graph, input));
        r->images[r->count++] = input;
    }
    for (int i = 0; i < nodes; i++) {
        struct value *made = add_random(r);

        r->images[r->count++] = made;
    }
    for (int i = 0; i < r->fused_count; i++) {
        CHECK_OK(node_set_input(r->fused[i], 3, r->residuals[i]));
        r->fused[i]->fused.residual_input = 3;
    }
    CHECK_OK(graph_add_output(r->graph, r->images[r->count - 1]));
    for (int i = 2; i < r->count - 1; i++)
        if (!r->images[i]->is_output && r->images[i] != r->images[r->count - 1] && chance(r, 6))
            CHECK_OK(graph_add_output(r->graph, r->images[i]));
}

static void random_graphs(void **state)
{
    const char *only = getenv("SEED");
    uint32_t first = only ? (uint32_t)strtoul(only, NULL, 10) : 1, last = only ? first : 150;

    for (uint32_t seed = first; seed <= last; seed++) {
        struct random_graph r;
        char what[40];

        snprintf(what, sizeof(what), "SEED=%u", seed);
        make_graph(&r, seed * 2654435761u);
        exec_check_graph(r.graph, seed, 20.0, what);
        graph_destroy(&r.graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_graphs)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
