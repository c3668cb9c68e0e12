/* SPDX-License-Identifier: Apache-2.0 */
/* GELUs, normalisations, convolutions and products with what was fused into them. */
#include <string.h>

#include "runtime/ops/lower/rules.h"

static void lower_gelu(struct lower *l)
{
    struct value *x = lower_input(l, 0), *bias = lower_input(l, 1);
    bool is_fast = strcmp(l->node->op_type, "FastGelu") == 0;

    x = lower_one(l, "Gelu", bias ? lower_two(l, "Add", x, bias) : x);
    if (is_fast)
        lower_string(l, "approximate", "tanh");
    lower_done(l, 0, x);
}

/* x * sigmoid(alpha * x) */
static void lower_quick_gelu(struct lower *l)
{
    struct value *y = lower_one(l, "Swish", lower_input(l, 0));

    lower_float(l, "alpha", node_float(l->node, "alpha", 1.702f));
    lower_done(l, 0, y);
}

/* LayerNormalization or, where there is no mean, RMSNormalization along the last axis. */
static void normalise(struct lower *l, struct value *x, struct value *scale, struct value *bias,
                      bool is_simple, float epsilon)
{
    struct value *inputs[] = {x, scale, bias}, *outputs[3] = {NULL};
    uint32_t count = is_simple ? 1 : lower_wants(l, 2) ? 3 : lower_wants(l, 1) ? 2 : 1;

    lower_many(l, is_simple ? "RMSNormalization" : "LayerNormalization", inputs, is_simple ? 2 : 3,
               outputs, count);
    lower_int(l, "axis", node_int(l->node, "axis", -1));
    lower_float(l, "epsilon", node_float(l->node, "epsilon", epsilon));
    for (uint32_t i = 0; i < count; i++)
        lower_done(l, i, outputs[i]);
}

static void lower_simplified(struct lower *l)
{
    normalise(l, lower_input(l, 0), lower_input(l, 1), NULL, true, 1e-5f);
}

/* ONNX Runtime's optimiser writes it into models of older operator sets, too. */
static void lower_layer_norm(struct lower *l)
{
    l->node->is_lowered = l->node->is_lowered || graph_opset(l->graph, "") < 17;
    lower_keep(l);
}

static void lower_skip(struct lower *l)
{
    bool is_simple = strcmp(l->node->op_type, "SkipSimplifiedLayerNormalization") == 0;
    struct value *beta = is_simple ? NULL : lower_input(l, 3);
    struct value *bias = lower_input(l, is_simple ? 3 : 4);
    struct value *sum = lower_two(l, "Add", lower_input(l, 0), lower_input(l, 1));

    sum = bias ? lower_two(l, "Add", sum, bias) : sum;
    normalise(l, sum, lower_input(l, 2), beta, is_simple, 1e-12f);
    lower_done(l, 3, sum);
}

/* A zero for each row, as ONNX Runtime has it where there is no mask. */
static struct value *count_nothing(struct lower *l)
{
    int64_t zero = 0;
    struct value *shape = lower_one(l, "Shape", lower_input(l, 0));
    struct value *rows = lower_two(l, "Gather", shape, lower_list(l, &zero, 1));

    return lower_cast(l, lower_one(l, "ConstantOfShape", rows), DTYPE_I32);
}

/* How many elements of each row of the mask are 1. */
static struct value *count_mask(struct lower *l, struct value *mask)
{
    return mask ? lower_sum(l, mask, 1, false) : count_nothing(l);
}

/* 0, 1, ...: as many rows of a table as there are words in a line. */
static struct value *first_rows(struct lower *l, struct value *table, struct value *ids)
{
    static const int64_t zero = 0, one = 1;
    struct value *begin = lower_list(l, &zero, 1), *shape = lower_one(l, "Shape", ids);
    struct value *end = lower_two(l, "Gather", shape, lower_list(l, &one, 1));
    struct value *slice[] = {table, begin, end, begin};

    return lower_op(l, "Slice", slice, 4);
}

enum { WORDS, PLACES, SEGMENTS, SCALE, OFFSET, SCALES = 8, ZEROS = 13 };

/* Of a quantised table: scales and zero points are the last inputs. */
static struct value *widen(struct lower *l, bool is_quantised, struct value *x, uint32_t which)
{
    struct value *inputs[] = {x, lower_input(l, SCALES + which), lower_input(l, ZEROS + which)};

    return is_quantised ? lower_op(l, "DequantizeLinear", inputs, 3) : x;
}

/* Sums of the rows of three tables, normalised. */
static void lower_embed(struct lower *l)
{
    bool is_quantised = strcmp(l->node->op_type, "QEmbedLayerNormalization") == 0;
    struct value *ids = lower_input(l, 0), *segments = lower_input(l, 1);
    struct value *places = lower_input(l, 3), *table = lower_input(l, 4), *inputs[3], *sum, *y;
    struct value *place_ids = is_quantised ? NULL : lower_input(l, 8);

    places = place_ids ? lower_two(l, "Gather", places, place_ids) : first_rows(l, places, ids);
    sum = widen(l, is_quantised, lower_two(l, "Gather", lower_input(l, 2), ids), WORDS);
    sum = lower_two(l, "Add", sum, widen(l, is_quantised, places, PLACES));
    if (segments && table) {
        table = lower_two(l, "Gather", table, segments);
        sum = lower_two(l, "Add", sum, widen(l, is_quantised, table, SEGMENTS));
    }
    inputs[0] = sum;
    inputs[1] = widen(l, is_quantised, lower_input(l, 5), SCALE);
    inputs[2] = widen(l, is_quantised, lower_input(l, 6), OFFSET);
    y = lower_op(l, "LayerNormalization", inputs, 3);
    lower_int(l, "axis", -1);
    lower_float(l, "epsilon", node_float(l->node, "epsilon", 1e-12f));
    lower_done(l, 0, y);
    if (lower_wants(l, 1))
        lower_done(l, 1, count_mask(l, lower_input(l, 7)));
    lower_done(l, 2, sum);
}

/* --- Activations that convolutions and products have in an attribute. --- */

static struct value *clip(struct lower *l, struct value *x, float low, float high)
{
    struct value *inputs[3] = {x};

    if (graph_opset(l->graph, "") >= 11) {
        inputs[1] = lower_number(l, low);
        inputs[2] = lower_number(l, high);
        return lower_op(l, "Clip", inputs, 3);
    }
    x = lower_one(l, "Clip", x);
    lower_float(l, "min", low);
    lower_float(l, "max", high);
    return x;
}

static struct value *activate(struct lower *l, struct value *x, const float params[2])
{
    const char *name = node_string(l->node, "activation", "");

    if (strcmp(name, "") == 0)
        return x;
    if (strcmp(name, "Clip") == 0)
        return clip(l, x, params[0], params[1]);
    if (strcmp(name, "Relu") != 0 && strcmp(name, "Tanh") != 0 && strcmp(name, "Sigmoid") != 0 &&
        strcmp(name, "LeakyRelu") != 0 && strcmp(name, "HardSigmoid") != 0 &&
        strcmp(name, "HardSwish") != 0) {
        lower_refuse(l, "its activation is '%.40s'", name);
        return NULL;
    }
    x = lower_one(l, name, x);
    if (strcmp(name, "LeakyRelu") == 0 || strcmp(name, "HardSigmoid") == 0)
        lower_float(l, "alpha", params[0]);
    if (strcmp(name, "HardSigmoid") == 0)
        lower_float(l, "beta", params[1]);
    return x;
}

void lower_conv_of(struct lower *l, struct value *weights)
{
    const struct attribute *list = node_attribute(l->node, "activation_params");
    struct value *inputs[] = {lower_input(l, 0), weights, lower_input(l, 2)}, *y;
    float params[2] = {0.0f, 0.0f};

    for (size_t i = 0; list && list->floats && i < list->count && i < 2; i++)
        params[i] = list->floats[i];
    y = lower_op(l, "Conv", inputs, 3);
    lower_copy(l, "auto_pad dilations group kernel_shape pads strides");
    if (lower_input(l, 3))
        y = lower_two(l, "Add", y, lower_input(l, 3));
    lower_done(l, 0, activate(l, y, params));
}

static void lower_conv(struct lower *l)
{
    lower_conv_of(l, lower_input(l, 1));
}

static void lower_gemm(struct lower *l)
{
    struct value *inputs[] = {lower_input(l, 0), lower_input(l, 1), lower_input(l, 2)}, *y;
    float params[2] = {node_float(l->node, "activation_alpha", 0.0f),
                       node_float(l->node, "activation_beta", 0.0f)};

    y = lower_op(l, "Gemm", inputs, 3);
    lower_copy(l, "alpha beta transA transB");
    lower_done(l, 0, activate(l, y, params));
}

static void lower_swiglu(struct lower *l)
{
    struct value *y = lower_one(l, "Swish", lower_input(l, 0));

    lower_copy(l, "alpha");
    lower_done(l, 0, lower_two(l, "Mul", y, lower_input(l, 1)));
}

const struct lower_rule lower_layers[] = {
    {{"com.microsoft.BiasGelu", "Add, Gelu"}, 2, 2, 1, "", lower_gelu},
    {{"com.microsoft.EmbedLayerNormalization", "Gather, Add, LayerNormalization"},
     7,
     9,
     3,
     "epsilon mask_index_type",
     lower_embed},
    {{"com.microsoft.FastGelu", "Add, Gelu"}, 1, 2, 1, "", lower_gelu},
    {{"com.microsoft.FusedConv", "Conv, Add, its activation"},
     2,
     4,
     1,
     "activation activation_params auto_pad dilations group kernel_shape pads strides",
     lower_conv},
    {{"com.microsoft.FusedGemm", "Gemm, its activation"},
     2,
     3,
     1,
     "activation activation_alpha activation_beta activation_gamma alpha beta transA transB",
     lower_gemm},
    {{"com.microsoft.Gelu", "Gelu"}, 1, 1, 1, "", lower_gelu},
    {{"com.microsoft.QEmbedLayerNormalization",
      "Gather, DequantizeLinear, Add, LayerNormalization"},
     18,
     18,
     2,
     "epsilon",
     lower_embed},
    {{"com.microsoft.QuickGelu", "Swish"}, 1, 1, 1, "alpha", lower_quick_gelu},
    {{"com.microsoft.SkipLayerNormalization", "Add, LayerNormalization"},
     3,
     5,
     4,
     "epsilon",
     lower_skip},
    {{"com.microsoft.SkipSimplifiedLayerNormalization", "Add, RMSNormalization"},
     3,
     4,
     4,
     "epsilon",
     lower_skip},
    {{"LayerNormalization", "itself, also before operator set 17"},
     2,
     3,
     3,
     "axis epsilon stash_type",
     lower_layer_norm},
    {{"SimplifiedLayerNormalization", "RMSNormalization"},
     2,
     2,
     1,
     "axis epsilon stash_type",
     lower_simplified},
    {{"SwiGLU", "Swish, Mul"}, 2, 2, 1, "alpha", lower_swiglu},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
