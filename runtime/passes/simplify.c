/* SPDX-License-Identifier: Apache-2.0 */
/* Operators, with constant operands mostly, that another, cheaper operator computes as well. */
#include <errno.h>
#include <string.h>

#include "runtime/graph/element.h"
#include "runtime/passes/pass.h"

/* x to the power of a constant 2, which leaves shape and type of x. */
static bool is_square(const struct node *node)
{
    const struct value *x = node_input(node, 0), *power = node_input(node, 1);
    const struct value *y = node_output(node, 0);

    return strcmp(node->op_type, "Pow") == 0 && node->domain[0] == '\0' && x && y && power &&
           power->data && element_is_float(x->dtype) && x->dtype == y->dtype &&
           shape_equal(&x->shape, &y->shape) && shape_elements(&power->shape) == 1 &&
           element_get(power->data, power->dtype, 0) == 2;
}

/* Becomes x * x, under the same name; the old node is dead. */
static int multiply(struct graph *graph, struct node *square)
{
    struct value *operands[] = {square->inputs[0], square->inputs[0]}, *none = NULL;
    struct node *product = graph_add_node(graph, "Mul", "", square->name, operands, 2, &none, 1);

    /* Its own name is the first of its origins. */
    if (!product || (square->origin_count > 1 && node_add_origins(product, square) < 0))
        return -ENOMEM;
    node_take_output(product, 0, square->outputs[0]);
    return 1;
}

/* A product by the matrix of weights `b`, or one that fuses nothing. Nothing is said of what lies
 * transposed otherwise. */
static bool is_plain_product(const struct node *node)
{
    const struct value *a = node_input(node, 0), *b = node_input(node, 1);
    bool is_turned = node_int(node, "transB", 0) != 0;

    if (strcmp(node->domain, "com.microsoft") != 0 || strcmp(node->op_type, "FusedMatMul") != 0 ||
        !a || !b || a->dtype != DTYPE_F32 || node_int(node, "transA", 0) != 0 ||
        node_int(node, "transBatchA", 0) != 0 || node_int(node, "transBatchB", 0) != 0)
        return false;
    return (b->data && b->shape.rank == 2) ||
           (!is_turned && node_float(node, "alpha", 1.0f) == 1.0f);
}

/* The weights as MatMul wants them. NULL without memory. */
static struct value *turn_weights(struct graph *graph, const struct node *node)
{
    const struct value *b = node->inputs[1];
    bool is_turned = node_int(node, "transB", 0) != 0;
    float alpha = node_float(node, "alpha", 1.0f);
    struct shape shape = b->shape;
    const float *from = b->data;
    struct value *value;
    float *data;

    if (is_turned)
        shape = (struct shape){.rank = 2, .dims = {b->shape.dims[1], b->shape.dims[0]}};
    value = graph_add_value(graph, NULL, DTYPE_F32, &shape, NULL);
    data = value ? graph_alloc_data((size_t)shape_bytes(&shape, DTYPE_F32)) : NULL;
    if (!data)
        return NULL;
    for (int64_t i = 0; i < shape.dims[0]; i++)
        for (int64_t k = 0; k < shape.dims[1]; k++)
            data[i * shape.dims[1] + k] =
                alpha * (is_turned ? from[k * shape.dims[0] + i] : from[i * shape.dims[1] + k]);
    value_set_data(value, data);
    return value;
}

/* Becomes a MatMul, for which there are more kernels. */
static int make_plain(struct graph *graph, struct node *fused)
{
    bool is_same = node_int(fused, "transB", 0) == 0 && node_float(fused, "alpha", 1.0f) == 1.0f;
    struct value *operands[] = {fused->inputs[0],
                                is_same ? fused->inputs[1] : turn_weights(graph, fused)};
    struct value *none = NULL;
    struct node *product =
        operands[1] ? graph_add_node(graph, "MatMul", "", fused->name, operands, 2, &none, 1)
                    : NULL;

    if (!product || (fused->origin_count > 1 && node_add_origins(product, fused) < 0))
        return -ENOMEM;
    node_take_output(product, 0, fused->outputs[0]);
    return 1;
}

/* --- Transposed convolutions that step by one --- */

enum { SPATIAL = 3 };

/* The pads of the convolution that reads the window from its end. False where they would be below 0, or
 * the window steps further than to the next place. */
static bool turned_pads(const struct node *node, int64_t *pads)
{
    const struct value *w = node->inputs[1];
    size_t axes = (size_t)w->shape.rank - 2;

    for (size_t i = 0; i < axes; i++) {
        int64_t reach = (w->shape.dims[2 + i] - 1) * node_int_at(node, "dilations", i, 1);

        pads[i] = reach - node_int_at(node, "pads", i, 0);
        pads[axes + i] = reach - node_int_at(node, "pads", axes + i, 0) +
                         node_int_at(node, "output_padding", i, 0);
        if (node_int_at(node, "strides", i, 1) != 1 || pads[i] < 0 || pads[axes + i] < 0)
            return false;
    }
    return true;
}

/* It spreads over each place what a Conv gathers. */
static bool is_conv(const struct node *node)
{
    const struct value *x = node_input(node, 0), *w = node_input(node, 1);
    int64_t group = node_int(node, "group", 1), pads[2 * SPATIAL];

    return strcmp(node->op_type, "ConvTranspose") == 0 && node->domain[0] == '\0' && x && w &&
           w->data && x->dtype == DTYPE_F32 && w->dtype == DTYPE_F32 && node_output(node, 0) &&
           x->shape.rank == w->shape.rank && w->shape.rank > 2 && w->shape.rank <= 2 + SPATIAL &&
           shape_elements(&w->shape) > 0 && group > 0 && w->shape.dims[0] % group == 0 &&
           strcmp(node_string(node, "auto_pad", "NOTSET"), "NOTSET") == 0 &&
           !node_attribute(node, "output_shape") && turned_pads(node, pads);
}

/* From [channels, filters of a group, window] to [filters, channels of a group, window from its end]. */
static struct value *turn_window(struct graph *graph, struct value *w, int64_t group)
{
    int64_t window = 1, filters = w->shape.dims[1], channels = w->shape.dims[0] / group;
    struct shape shape = w->shape;
    struct value *value;
    const float *from;
    float *data;

    shape.dims[0] = filters * group;
    shape.dims[1] = channels;
    for (int i = 2; i < shape.rank; i++)
        window *= shape.dims[i];
    if (value_settle(w) < 0)
        return NULL;
    value = graph_add_value(graph, NULL, DTYPE_F32, &shape, NULL);
    data = value ? graph_alloc_data((size_t)shape_bytes(&shape, DTYPE_F32)) : NULL;
    if (!data)
        return NULL;
    from = w->data;
    for (int64_t g = 0; g < group; g++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t f = 0; f < filters; f++, from += window)
                for (int64_t k = 0; k < window; k++)
                    data[((g * filters + f) * channels + c) * window + window - 1 - k] = from[k];
    value_set_data(value, data);
    return value;
}

static int set_window(struct node *conv, const struct node *transposed, const int64_t *pads)
{
    const struct value *w = transposed->inputs[1];
    size_t axes = (size_t)w->shape.rank - 2;
    int64_t dilations[SPATIAL];

    for (size_t i = 0; i < axes; i++)
        dilations[i] = node_int_at(transposed, "dilations", i, 1);
    if (node_set_ints(conv, "pads", pads, 2 * axes) < 0 ||
        node_set_ints(conv, "dilations", dilations, axes) < 0 ||
        node_set_ints(conv, "kernel_shape", w->shape.dims + 2, axes) < 0)
        return -ENOMEM;
    return node_set_int(conv, "group", node_int(transposed, "group", 1));
}

static int gather(struct graph *graph, struct node *transposed)
{
    struct value *w = turn_window(graph, transposed->inputs[1], node_int(transposed, "group", 1));
    struct value *operands[] = {transposed->inputs[0], w, node_input(transposed, 2)}, *none = NULL;
    struct node *conv =
        w ? graph_add_node(graph, "Conv", "", transposed->name, operands, 3, &none, 1) : NULL;
    int64_t pads[2 * SPATIAL];

    if (!conv || !turned_pads(transposed, pads) || set_window(conv, transposed, pads) < 0 ||
        (transposed->origin_count > 1 && node_add_origins(conv, transposed) < 0))
        return -ENOMEM;
    node_take_output(conv, 0, transposed->outputs[0]);
    return 1;
}

int pass_simplify(struct graph *graph, struct diag *diag)
{
    uint32_t count = graph->node_count;
    int changed = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct node *node = graph->nodes[i];
        int rc = is_square(node)          ? multiply(graph, node)
                 : is_plain_product(node) ? make_plain(graph, node)
                 : is_conv(node)          ? gather(graph, node)
                                          : 0;

        if (rc < 0)
            return diag_set(diag, rc, "no memory to optimise the model");
        changed += rc;
    }
    return pass_settle(graph, changed, diag);
}
