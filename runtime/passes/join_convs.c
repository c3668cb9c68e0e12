/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions of one image whose results are added, or subtracted, become one by the sum of their weights, the smaller
 * window within the larger one; a BatchNormalization of the same image is a window of one. Networks that are trained
 * with branches beside each other (RepVGG, MobileOne, FastViT) have such sums in each layer.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "runtime/passes/pass.h"

enum { SPATIAL = 3 };

/* What is added up: a Conv, or a BatchNormalization as one by a window of one element. */
struct branch {
    struct node *node;
    bool is_norm;
    double sign;
};

static bool is_constant_f32(const struct value *value)
{
    return value && value->data && value->dtype == DTYPE_F32;
}

static size_t axes_of(const struct branch *branch)
{
    return (size_t)branch->node->inputs[0]->shape.rank - 2;
}

static bool is_conv(const struct node *node)
{
    const struct value *x = node_input(node, 0), *w = node_input(node, 1);

    return strcmp(node->op_type, "Conv") == 0 && x && is_constant_f32(w) &&
           w->shape.rank == x->shape.rank && shape_elements(&w->shape) > 0 &&
           (!node_input(node, 2) || is_constant_f32(node->inputs[2])) &&
           strcmp(node_string(node, "auto_pad", "NOTSET"), "NOTSET") == 0;
}

static bool is_norm(const struct node *node)
{
    const struct value *x = node_input(node, 0);

    if (strcmp(node->op_type, "BatchNormalization") != 0 || !x ||
        node_int(node, "training_mode", 0) != 0 || node_int(node, "spatial", 1) == 0)
        return false;
    for (uint32_t i = 1; i <= 4; i++) {
        const struct value *value = node_input(node, i);

        if (!is_constant_f32(value) || shape_elements(&value->shape) != x->shape.dims[1])
            return false;
    }
    return true;
}

/* What makes a value that nobody but the sum reads. */
static bool read_branch(const struct value *value, double sign, struct branch *out_branch)
{
    struct node *node = !value ? NULL : value->producer;
    const struct value *x = !node ? NULL : node_input(node, 0);

    if (!x || value->is_output || value->consumer_count != 1 || value->dtype != DTYPE_F32 ||
        node->domain[0] != '\0' || node->fused.activation != ACTIVATION_NONE ||
        node->fused.residual_input >= 0 || x->shape.rank <= 2 || x->shape.rank > 2 + SPATIAL)
        return false;
    *out_branch = (struct branch){.node = node, .is_norm = is_norm(node), .sign = sign};
    return out_branch->is_norm || is_conv(node);
}

static int64_t window(const struct branch *branch, size_t axis)
{
    return branch->is_norm ? 1 : branch->node->inputs[1]->shape.dims[2 + axis];
}

/* Along one axis both windows stand at the same places, and the smaller one's taps are among the larger one's,
 * from tap *out_first on. */
static bool lies_within(const struct branch *small, const struct branch *large, size_t axis,
                        int64_t *out_first)
{
    int64_t dilation = node_int_at(large->node, "dilations", axis, 1);
    int64_t lead = node_int_at(large->node, "pads", axis, 0) -
                   (small->is_norm ? 0 : node_int_at(small->node, "pads", axis, 0));

    if (node_int_at(large->node, "strides", axis, 1) !=
            (small->is_norm ? 1 : node_int_at(small->node, "strides", axis, 1)) ||
        (window(small, axis) > 1 && node_int_at(small->node, "dilations", axis, 1) != dilation) ||
        lead < 0 || lead % dilation != 0)
        return false;
    *out_first = lead / dilation;
    return *out_first + window(small, axis) <= window(large, axis);
}

static bool has_groups_of(const struct branch *small, const struct branch *large)
{
    const struct node *conv = large->node;

    return small->is_norm ? conv->inputs[1]->shape.dims[0] == conv->inputs[0]->shape.dims[1]
                          : node_int(small->node, "group", 1) == node_int(conv, "group", 1);
}

/* Whether the larger one can do the work of both; where the smaller one's window begins in it. */
static bool can_join(const struct branch *small, const struct branch *large, int64_t *first)
{
    size_t axes = axes_of(large), shift = SPATIAL - axes;

    if (large->is_norm || small->node == large->node ||
        small->node->inputs[0] != large->node->inputs[0] ||
        !shape_equal(&small->node->outputs[0]->shape, &large->node->outputs[0]->shape) ||
        !has_groups_of(small, large))
        return false;
    for (size_t i = 0; i < axes; i++)
        if (!lies_within(small, large, i, &first[shift + i]))
            return false;
    return true;
}

/* Nobody else reads it: its numbers may change where they are. */
static bool may_change(const struct value *value)
{
    return value->consumer_count == 1 && !value->is_output && !value->is_shared;
}

static struct value *add_constant(struct graph *graph, const struct shape *shape)
{
    struct value *value = graph_add_value(graph, NULL, DTYPE_F32, shape, NULL);
    void *data = value ? graph_alloc_data((size_t)shape_bytes(shape, DTYPE_F32)) : NULL;

    if (data)
        value_set_data(value, data);
    return data ? value : NULL;
}

/* Sizes of a window along three axes, as windows of fewer lie in memory. */
static void sizes_of(const struct branch *branch, int64_t *sizes)
{
    size_t axes = axes_of(branch), shift = SPATIAL - axes;

    for (size_t i = 0; i < SPATIAL; i++)
        sizes[i] = i < shift ? 1 : window(branch, i - shift);
}

/* Each window of the smaller one goes to its place in the larger one's. */
static void add_windows(float *to, const struct branch *small, const struct branch *large,
                        const int64_t *first)
{
    const struct shape *shape = &small->node->inputs[1]->shape;
    const float *from = small->node->inputs[1]->data;
    int64_t s[SPATIAL], l[SPATIAL];

    sizes_of(small, s);
    sizes_of(large, l);
    for (int64_t i = 0; i < shape->dims[0] * shape->dims[1]; i++)
        for (int64_t a = 0; a < s[0]; a++)
            for (int64_t b = 0; b < s[1]; b++)
                for (int64_t c = 0; c < s[2]; c++) {
                    int64_t line = (i * l[0] + first[0] + a) * l[1] + first[1] + b;

                    to[line * l[2] + first[2] + c] += (float)small->sign * *from++;
                }
}

/* What a BatchNormalization multiplies channel c by. */
static double factor(const struct node *norm, int64_t c)
{
    const float *scale = norm->inputs[1]->data, *variance = norm->inputs[4]->data;

    return scale[c] / sqrt(variance[c] + (double)node_float(norm, "epsilon", 1e-5f));
}

/* Each filter takes its own channel, which is one of its group's. */
static void add_diagonal(float *to, const struct branch *norm, const struct branch *large,
                         const int64_t *first)
{
    const struct shape *shape = &large->node->inputs[1]->shape;
    int64_t l[SPATIAL], taps, at;

    sizes_of(large, l);
    taps = l[0] * l[1] * l[2];
    at = (first[0] * l[1] + first[1]) * l[2] + first[2];
    for (int64_t c = 0; c < shape->dims[0]; c++)
        to[(c * shape->dims[1] + c % shape->dims[1]) * taps + at] +=
            (float)(norm->sign * factor(norm->node, c));
}

static double bias_of(const struct branch *branch, int64_t c)
{
    const struct node *node = branch->node;
    const struct value *bias = node_input(node, 2);

    if (!branch->is_norm)
        return bias ? branch->sign * ((const float *)bias->data)[c] : 0.0;
    return branch->sign * ((double)((const float *)bias->data)[c] -
                           ((const float *)node->inputs[3]->data)[c] * factor(node, c));
}

static int add_biases(struct graph *graph, const struct branch *small, const struct branch *large)
{
    int64_t filters = large->node->inputs[1]->shape.dims[0];
    struct shape shape = {.rank = 1, .dims = {filters}};
    struct value *bias = add_constant(graph, &shape);

    if (!bias)
        return -ENOMEM;
    for (int64_t c = 0; c < filters; c++)
        ((float *)bias->data)[c] = (float)(bias_of(small, c) + bias_of(large, c));
    return node_set_input(large->node, 2, bias);
}

static int add_weights(struct graph *graph, const struct branch *small, const struct branch *large,
                       const int64_t *first)
{
    struct value *own = large->node->inputs[1];
    struct value *weights = own;
    int64_t count = shape_elements(&own->shape);
    const float *from;
    float *to;

    if (node_settle(large->node) < 0 || node_settle(small->node) < 0)
        return -ENOMEM;
    if (!may_change(own))
        weights = add_constant(graph, &own->shape);
    if (!weights)
        return -ENOMEM;
    from = own->data;
    to = weights->data;
    for (int64_t i = 0; i < count; i++)
        to[i] = (float)large->sign * from[i];
    if (small->is_norm)
        add_diagonal(to, small, large, first);
    else
        add_windows(to, small, large, first);
    return add_biases(graph, small, large) < 0 || node_set_input(large->node, 1, weights) < 0
               ? -ENOMEM
               : 1;
}

/* The larger one makes what the sum made; the smaller one is dead. */
static int take_over(const struct branch *small, const struct branch *large, struct node *sum)
{
    if (node_add_origins(large->node, small->node) < 0 || node_add_origins(large->node, sum) < 0 ||
        node_set_input(sum, 0, NULL) < 0 || node_set_input(sum, 1, NULL) < 0)
        return -ENOMEM;
    node_take_output(large->node, 0, sum->outputs[0]);
    return 1;
}

static int join(struct graph *graph, struct node *sum)
{
    bool is_difference = strcmp(sum->op_type, "Sub") == 0;
    struct branch branches[2], *small = &branches[0], *large = &branches[1];
    int64_t first[SPATIAL] = {0};

    if ((strcmp(sum->op_type, "Add") != 0 && !is_difference) || sum->domain[0] != '\0' ||
        sum->input_count != 2 || sum->fused.activation != ACTIVATION_NONE ||
        !read_branch(sum->inputs[0], 1.0, small) ||
        !read_branch(sum->inputs[1], is_difference ? -1.0 : 1.0, large))
        return 0;
    if (!can_join(small, large, first)) {
        large = &branches[0];
        small = &branches[1];
        if (!can_join(small, large, first))
            return 0;
    }
    return add_weights(graph, small, large, first) < 0 ? -ENOMEM : take_over(small, large, sum);
}

int pass_join_convs(struct graph *graph, struct diag *diag)
{
    int changed = 0;

    for (uint32_t i = 0; i < graph->node_count; i++) {
        int rc = join(graph, graph->nodes[i]);

        if (rc < 0)
            return diag_set(diag, rc, "no memory to optimise the model");
        changed += rc;
    }
    return pass_settle(graph, changed, diag);
}
