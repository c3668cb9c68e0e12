/* SPDX-License-Identifier: Apache-2.0 */
/* Fuse a bias, a residual and an activation into the Conv (or matrix product) before them. */
#include <errno.h>
#include <float.h>
#include <string.h>

#include "runtime/passes/pass.h"

static bool is_op(const struct node *node, const char *op_type)
{
    return node && node->domain[0] == '\0' && strcmp(node->op_type, op_type) == 0;
}

/* The one reader of the node's float32 result, or NULL when there are more, or it is an output. */
static struct node *only_reader(const struct node *node)
{
    const struct value *out = node_output(node, 0);

    if (!out || out->is_output || out->consumer_count != 1 || out->dtype != DTYPE_F32)
        return NULL;
    return out->consumers[0];
}

/* `into` takes over the output of `reader`, which is dead afterwards. */
static int absorb(struct node *into, struct node *reader)
{
    int rc = node_add_origins(into, reader);

    for (uint32_t i = 0; rc == 0 && i < reader->input_count; i++)
        rc = node_set_input(reader, i, NULL);
    if (rc == 0)
        node_take_output(into, 0, reader->outputs[0]);
    return rc < 0 ? rc : 1;
}

/* The operand of a two-operand sum that is not what the node computed. */
static struct value *other_operand(const struct node *sum, const struct value *own)
{
    if (!is_op(sum, "Add") && !is_op(sum, "Sum"))
        return NULL;
    if (sum->input_count != 2 || !sum->inputs[0] || !sum->inputs[1] ||
        sum->fused.activation != ACTIVATION_NONE)
        return NULL;
    return sum->inputs[0] == own ? sum->inputs[1] : sum->inputs[0];
}

/* A constant with one element per channel of `out`, and nothing else to be broadcast. */
static bool is_per_channel(const struct value *value, const struct shape *out)
{
    const struct shape *shape = &value->shape;
    int channel = shape->rank - (out->rank - 1); /* where the channel stands in `shape` */

    if (!value->data || channel < 0 || shape_elements(shape) != out->dims[1])
        return false;
    return shape->dims[channel] == out->dims[1];
}

/* A constant with one element per column of `out`, and no axis that `out` lacks. */
static bool is_per_column(const struct value *value, const struct shape *out)
{
    const struct shape *shape = &value->shape;

    return value->data && out->rank >= 1 && shape->rank >= 1 && shape->rank <= out->rank &&
           shape_elements(shape) == out->dims[out->rank - 1] &&
           shape->dims[shape->rank - 1] == out->dims[out->rank - 1];
}

/* Conv without bias, then Add of a constant per channel; or MatMul, and one per column. The
 * constant's elements are in order already: only its shape changes, so it needs a value of its own.
 */
static int fuse_bias(struct graph *graph, struct node *node)
{
    bool is_conv = is_op(node, "Conv");
    struct node *sum = only_reader(node);
    const struct value *other = !sum ? NULL : other_operand(sum, node->outputs[0]);
    const struct shape *out = &node->outputs[0]->shape;
    struct shape shape;
    struct value *bias;
    void *data;

    if (!other || other->dtype != DTYPE_F32 || node_input(node, 2) || graph_opset(graph, "") < 7 ||
        !(is_conv ? is_per_channel(other, out)
                  : is_per_column(other, out) && node->inputs[1]->shape.rank >= 2))
        return 0;
    shape = (struct shape){.rank = 1, .dims = {out->dims[is_conv ? 1 : out->rank - 1]}};
    bias = graph_add_value(graph, NULL, DTYPE_F32, &shape, NULL);
    data = graph_alloc_data((size_t)shape_bytes(&shape, DTYPE_F32));
    if (!bias || !data)
        return -ENOMEM;
    memcpy(data, other->data, (size_t)shape_bytes(&shape, DTYPE_F32));
    value_set_data(bias, data);
    if (node_set_input(node, 2, bias) < 0)
        return -ENOMEM;
    return absorb(node, sum);
}

/* Conv, then Add of something of the same shape. Of two Convs that are added, the later one in
 * order does it: the earlier one's result is there by then. */
static int fuse_residual(struct node *conv)
{
    struct node *sum = only_reader(conv);
    struct value *other = !sum ? NULL : other_operand(sum, conv->outputs[0]);
    uint32_t at = conv->input_count < 3 ? 3 : conv->input_count;
    int rc;

    if (!other || other == conv->outputs[0] || other->dtype != DTYPE_F32 ||
        !shape_equal(&other->shape, &conv->outputs[0]->shape))
        return 0;
    if (other->producer && other->producer->index > conv->index && is_op(other->producer, "Conv") &&
        only_reader(other->producer) == sum)
        return 0;
    rc = node_set_input(conv, at, other);
    if (rc < 0)
        return rc;
    conv->fused.residual_input = (int)at;
    return absorb(conv, sum);
}

/* A bound of Clip: attribute before operator set 11, input since. False when it is not constant. */
static bool clip_bound(const struct node *clip, const char *name, uint32_t i, float fallback,
                       float *out_bound)
{
    const struct value *value = node_input(clip, i);

    *out_bound = node_float(clip, name, fallback);
    if (!value)
        return true;
    if (!value->data || value->dtype != DTYPE_F32)
        return false;
    *out_bound = *(const float *)value->data;
    return true;
}

static bool read_activation(const struct node *node, struct fused *fused)
{
    if (!node->inputs[0] || node->fused.activation != ACTIVATION_NONE)
        return false;
    if (is_op(node, "Relu")) {
        fused->activation = ACTIVATION_RELU;
    } else if (is_op(node, "Sigmoid")) {
        fused->activation = ACTIVATION_SIGMOID;
    } else if (is_op(node, "Tanh")) {
        fused->activation = ACTIVATION_TANH;
    } else if (is_op(node, "LeakyRelu")) {
        fused->activation = ACTIVATION_LEAKY_RELU;
        fused->alpha = node_float(node, "alpha", 0.01f);
    } else if (is_op(node, "Clip")) {
        if (!clip_bound(node, "min", 1, -FLT_MAX, &fused->alpha) ||
            !clip_bound(node, "max", 2, FLT_MAX, &fused->beta))
            return false;
        fused->activation = ACTIVATION_CLIP;
    } else {
        return false;
    }
    return true;
}

static bool is_gelu_tanh(const struct node *node)
{
    return is_op(node, "Gelu") && node->fused.activation == ACTIVATION_NONE &&
           node->outputs[0]->dtype == DTYPE_F32 &&
           strcmp(node_string(node, "approximate", "none"), "tanh") == 0;
}

static int fuse_activation(struct node *node, bool takes_gelu)
{
    struct node *reader = only_reader(node);
    struct fused fused = node->fused;

    if (reader && takes_gelu && is_gelu_tanh(reader))
        fused.activation = ACTIVATION_GELU_TANH;
    else if (!reader || !read_activation(reader, &fused))
        return 0;
    /* Clip may read this node's result as a bound, too. */
    if (reader->inputs[0] != node->outputs[0])
        return 0;
    node->fused = fused;
    return absorb(node, reader);
}

static int fuse(struct graph *graph, struct node *node, const struct pass_options *options)
{
    bool is_conv = is_op(node, "Conv"), is_matmul = is_op(node, "MatMul");
    int fused = 0;
    int rc = 0;

    if (node->fused.activation != ACTIVATION_NONE)
        return 0;
    if ((is_conv || is_matmul) && !options->no_nonlinearity) {
        rc = fuse_bias(graph, node);
        fused += rc;
    }
    if (is_conv) {
        if (rc >= 0 && node->fused.residual_input < 0 && !options->no_z) {
            rc = fuse_residual(node);
            fused += rc;
        }
    }
    if (rc >= 0 && !options->no_nonlinearity && (is_conv || is_matmul || is_op(node, "Gemm"))) {
        rc = fuse_activation(node, options->joins_gelu && !is_conv);
        fused += rc;
    }
    return rc < 0 ? rc : fused;
}

int pass_fuse(struct graph *graph, const struct pass_options *options, struct diag *diag)
{
    int fused = 0;

    for (uint32_t i = 0; i < graph->node_count; i++) {
        int rc = fuse(graph, graph->nodes[i], options);

        if (rc < 0)
            return diag_set(diag, rc, "no memory to optimise the model");
        fused += rc;
    }
    return pass_settle(graph, fused, diag);
}
