/* SPDX-License-Identifier: Apache-2.0 */
/* Fold BatchNormalization into the Conv before it, or a product with constants per channel, or a sum: scale the
 * weights, shift the bias. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/passes/pass.h"

static const float *constant_f32(const struct value *value, int64_t elements)
{
    if (!value || !value->data || value->dtype != DTYPE_F32 ||
        shape_elements(&value->shape) != elements)
        return NULL;
    return value->data;
}

/* The parameters of both nodes, all constant. */
struct pair {
    struct node *conv;
    struct node *norm;
    int64_t channels;
    const float *weights;
    const float *bias; /* NULL for none */
    const float *scale, *shift, *mean, *variance;
    /* In place of those: what a Mul multiplies by, or an Add adds; of each channel, or one of all. */
    const float *factor, *addend;
    bool is_one;
};

/* A Conv into which what alone reads it can go. */
static struct node *conv_of(const struct value *x)
{
    struct node *conv = !x ? NULL : x->producer;

    return conv && strcmp(conv->op_type, "Conv") == 0 && conv->domain[0] == '\0' &&
                   x->consumer_count == 1 && !x->is_output &&
                   conv->fused.activation == ACTIVATION_NONE && conv->fused.residual_input < 0
               ? conv
               : NULL;
}

/* The Conv's constants; false: they are none. */
static bool find_weights(struct pair *pair)
{
    const struct node *conv = pair->conv;

    pair->weights = constant_f32(conv->inputs[1], shape_elements(&conv->inputs[1]->shape));
    pair->bias = constant_f32(node_input(conv, 2), pair->channels);
    return pair->weights && (pair->bias || !node_input(conv, 2));
}

static bool find_pair(struct node *norm, struct pair *out_pair)
{
    struct value *x = node_input(norm, 0);
    struct node *conv = conv_of(x);

    if (strcmp(norm->op_type, "BatchNormalization") != 0 || norm->domain[0] != '\0' ||
        norm->fused.activation != ACTIVATION_NONE || !conv ||
        node_int(norm, "training_mode", 0) != 0 || node_int(norm, "spatial", 1) == 0)
        return false;
    *out_pair = (struct pair){.conv = conv, .norm = norm, .channels = x->shape.dims[1]};
    out_pair->scale = constant_f32(norm->inputs[1], out_pair->channels);
    out_pair->shift = constant_f32(norm->inputs[2], out_pair->channels);
    out_pair->mean = constant_f32(norm->inputs[3], out_pair->channels);
    out_pair->variance = constant_f32(norm->inputs[4], out_pair->channels);
    return find_weights(out_pair) && out_pair->scale && out_pair->shift && out_pair->mean &&
           out_pair->variance;
}

/* One element for each channel of `out`, or one of all, and no axis that `out` lacks. */
static bool is_per_channel(const struct value *value, const struct shape *out)
{
    const struct shape *shape = &value->shape;
    int channel = shape->rank - (out->rank - 1); /* where the channel stands in `shape` */
    int64_t elements = shape_elements(shape);

    return shape->rank <= out->rank &&
           (elements == 1 ||
            (channel >= 0 && elements == out->dims[1] && shape->dims[channel] == out->dims[1]));
}

/* A Mul or an Add of a Conv's result and constants. Sums without a bias are pass_fuse()'s. */
static bool find_affine(struct node *node, struct pair *out_pair)
{
    bool is_product = strcmp(node->op_type, "Mul") == 0;
    struct value *x = NULL, *other = NULL;

    if ((!is_product && strcmp(node->op_type, "Add") != 0) || node->domain[0] != '\0' ||
        node->input_count != 2 || node->fused.activation != ACTIVATION_NONE ||
        node_attribute(node, "axis") || !node->inputs[0] || !node->inputs[1])
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        if (conv_of(node->inputs[i])) {
            x = node->inputs[i];
            other = node->inputs[1 - i];
        }
    }
    if (!x || !other->data || other->is_deferred || other->dtype != DTYPE_F32 ||
        x->dtype != DTYPE_F32 || !is_per_channel(other, &x->shape) ||
        !shape_equal(&x->shape, &node->outputs[0]->shape))
        return false;
    *out_pair = (struct pair){.conv = conv_of(x),
                              .norm = node,
                              .channels = x->shape.dims[1],
                              .is_one = shape_elements(&other->shape) == 1};
    *(is_product ? &out_pair->factor : &out_pair->addend) = other->data;
    return find_weights(out_pair) && (is_product || out_pair->bias);
}

/* Nobody else reads the convolution's weights: their numbers may change where they are. */
static bool may_change(const struct pair *pair)
{
    const struct value *weights = pair->conv->inputs[1];

    return weights->consumer_count == 1 && !weights->is_output && !weights->is_shared;
}

/* A new constant, named after the node that its numbers come from. */
static struct value *add_constant(struct graph *graph, const struct node *norm, const char *role,
                                  const struct shape *shape)
{
    struct value *value = NULL;
    void *data;
    char *name;
    int error = 0;

    if (asprintf(&name, "%s:%s", norm->name, role) < 0)
        return NULL;
    value = graph_add_value(graph, name, DTYPE_F32, shape, &error);
    free(name);
    if (!value && error == -EEXIST)
        value = graph_add_value(graph, NULL, DTYPE_F32, shape, NULL);
    data = graph_alloc_data((size_t)shape_bytes(shape, DTYPE_F32));
    if (!value || !data) {
        free(data);
        return NULL; /* a value has no use then and goes with the next sweep */
    }
    value_set_data(value, data);
    return value;
}

static void compute_affine(const struct pair *pair, double *factors, float *bias)
{
    for (int64_t c = 0; c < pair->channels; c++) {
        int64_t at = pair->is_one ? 0 : c;
        double before = pair->bias ? pair->bias[c] : 0.0;

        factors[c] = pair->factor ? pair->factor[at] : 1.0;
        bias[c] = (float)(before * factors[c] + (pair->addend ? pair->addend[at] : 0.0));
    }
}

/* In double: the result is rounded once. */
static void compute_bias(const struct pair *pair, double *factors, float *bias)
{
    double epsilon = node_float(pair->norm, "epsilon", 1e-5f);

    for (int64_t c = 0; c < pair->channels; c++) {
        double before = pair->bias ? pair->bias[c] : 0.0;

        factors[c] = pair->scale[c] / sqrt(pair->variance[c] + epsilon);
        bias[c] = (float)((before - pair->mean[c]) * factors[c] + pair->shift[c]);
    }
}

static void compute_weights(const struct pair *pair, const double *factors, float *weights)
{
    int64_t per_channel = shape_elements(&pair->conv->inputs[1]->shape) / pair->channels;

    for (int64_t c = 0; c < pair->channels; c++)
        for (int64_t i = 0; i < per_channel; i++)
            weights[c * per_channel + i] = (float)(pair->weights[c * per_channel + i] * factors[c]);
}

/* They are read once, on the way to another type, and can be multiplied then. */
static bool may_wait(const struct pair *pair)
{
    const struct value *weights = pair->conv->inputs[1];

    return weights->is_deferred && !weights->factors && weights->consumer_count == 1 &&
           !weights->is_output && weights->shape.rank > 0 &&
           weights->shape.dims[0] == pair->channels;
}

/* The convolution's weights, multiplied, and its bias. */
static int scale(struct graph *graph, struct pair *pair, double *factors)
{
    struct shape per_channel = {.rank = 1, .dims = {pair->channels}};
    struct value *weights = pair->conv->inputs[1];
    struct value *bias = add_constant(graph, pair->norm, "bias", &per_channel);

    if (!bias)
        return -ENOMEM;
    if (pair->factor || pair->addend)
        compute_affine(pair, factors, bias->data);
    else
        compute_bias(pair, factors, bias->data);
    if (pair->addend)
        return node_set_input(pair->conv, 2, bias);
    if (may_wait(pair)) {
        weights->factors = factors;
        return node_set_input(pair->conv, 2, bias);
    }
    if (value_settle(weights) < 0)
        return -ENOMEM;
    pair->weights = weights->data;
    if (!may_change(pair))
        weights = add_constant(graph, pair->norm, "weights", &weights->shape);
    if (!weights)
        return -ENOMEM;
    compute_weights(pair, factors, weights->data);
    if (weights != pair->conv->inputs[1] && node_set_input(pair->conv, 1, weights) < 0)
        return -ENOMEM;
    return node_set_input(pair->conv, 2, bias);
}

static int fold(struct graph *graph, struct pair *pair)
{
    double *factors = calloc((size_t)pair->channels, sizeof(*factors));
    int rc = factors ? scale(graph, pair, factors) : -ENOMEM;

    if (pair->conv->inputs[1]->factors != factors)
        free(factors);
    if (rc == 0)
        rc = node_add_origins(pair->conv, pair->norm);
    for (uint32_t i = 0; rc == 0 && i < 2; i++)
        rc = node_set_input(pair->norm, i, NULL);
    if (rc == 0)
        node_take_output(pair->conv, 0, pair->norm->outputs[0]);
    return rc;
}

int pass_fold_batch_norm(struct graph *graph, struct diag *diag)
{
    int folded = 0;

    for (uint32_t i = 0; i < graph->node_count; i++) {
        struct pair pair;

        if ((!find_pair(graph->nodes[i], &pair) && !find_affine(graph->nodes[i], &pair)) ||
            pair.channels <= 0)
            continue;
        if (fold(graph, &pair) < 0)
            return diag_set(diag, -ENOMEM, "no memory to optimise the model");
        folded++;
    }
    if (folded > 0)
        graph_remove_dead(graph);
    return folded;
}
