/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised operators: numbers of the quanta, the operator, quanta again. Passes fold those that
 * have kernels over integers. */
#include <string.h>

#include "runtime/ops/lower/rules.h"

/* What stands at inputs i, i + 1, i + 2: quanta, scale, zero point. */
static struct value *numbers(struct lower *l, uint32_t i)
{
    struct value *inputs[] = {lower_input(l, i), lower_input(l, i + 1), lower_input(l, i + 2)};

    return lower_op(l, "DequantizeLinear", inputs, 3);
}

static void to_quanta(struct lower *l, struct value *x, struct value *scale, struct value *zero)
{
    struct value *inputs[] = {x, scale, zero};

    lower_done(l, 0, lower_op(l, "QuantizeLinear", inputs, 3));
}

static void lower_binary(struct lower *l)
{
    const char *op = strcmp(l->node->op_type, "QLinearAdd") == 0 ? "Add" : "Mul";
    struct value *y = lower_two(l, op, numbers(l, 0), numbers(l, 3));

    to_quanta(l, y, lower_input(l, 6), lower_input(l, 7));
}

static void lower_unary(struct lower *l)
{
    const char *op = l->node->op_type + strlen("QLinear");
    struct value *y = lower_one(l, op, numbers(l, 0));

    if (node_int(l->node, "channels_last", 0) != 0)
        lower_refuse(l, "attribute channels_last is set");
    if (strcmp(op, "LeakyRelu") == 0)
        lower_float(l, "alpha", node_float(l->node, "alpha", 0.01f));
    if (strcmp(op, "Softmax") == 0 &&
        (node_int(l->node, "opset", 13) < 13) != (graph_opset(l->graph, "") < 13))
        lower_refuse(l, "attribute opset means another Softmax than the model's");
    lower_copy(l, "auto_pad axis ceil_mode count_include_pad kernel_shape pads strides");
    to_quanta(l, y, lower_input(l, 3), lower_input(l, 4));
}

static void lower_concat(struct lower *l)
{
    enum { PARTS = 256 };
    struct value *parts[PARTS], *y;
    uint32_t count = (l->node->input_count - 2) / 3;

    if (count > PARTS || l->node->input_count != 2 + 3 * count) {
        lower_refuse(l, "it has %u inputs", l->node->input_count);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        parts[i] = numbers(l, 2 + 3 * i);
    y = lower_op(l, "Concat", parts, count);
    lower_copy(l, "axis");
    to_quanta(l, y, lower_input(l, 0), lower_input(l, 1));
}

static void lower_where(struct lower *l)
{
    struct value *inputs[] = {lower_input(l, 0), numbers(l, 1), numbers(l, 4)};

    to_quanta(l, lower_op(l, "Where", inputs, 3), lower_input(l, 7), lower_input(l, 8));
}

/* C's quanta are those of the products of A's and B's. */
static void lower_gemm(struct lower *l)
{
    bool is_transposed = node_int(l->node, "transB", 0) != 0;
    struct value *a = numbers(l, 0), *b = numbers(l, 3), *c = lower_input(l, 6), *y;

    lower_int(l, "axis", is_transposed ? 0 : 1);
    if (c)
        c = lower_two(l, "Mul", lower_cast(l, c, DTYPE_F32),
                      lower_two(l, "Mul", lower_input(l, 1), lower_input(l, 4)));
    struct value *inputs[] = {a, b, c};

    y = lower_op(l, "Gemm", inputs, 3);
    lower_copy(l, "alpha transA transB");
    if (lower_input(l, 7))
        to_quanta(l, y, lower_input(l, 7), lower_input(l, 8));
    else
        lower_done(l, 0, y);
}

/* The sums of a product of quanta, as numbers. */
static void finish_product(struct lower *l, struct value *const inputs[4], struct value *a_scale,
                           struct value *b_scale, struct value *bias)
{
    struct value *y = lower_cast(l, lower_op(l, "MatMulInteger", inputs, 4), DTYPE_F32);

    y = lower_two(l, "Mul", y, lower_two(l, "Mul", a_scale, b_scale));
    lower_done(l, 0, bias ? lower_two(l, "Add", y, bias) : y);
}

static void lower_product_to_float(struct lower *l)
{
    struct value *inputs[] = {lower_input(l, 0), lower_input(l, 1), lower_input(l, 4),
                              lower_input(l, 5)};

    finish_product(l, inputs, lower_input(l, 2), lower_input(l, 3), lower_input(l, 6));
}

static void lower_product_dynamic(struct lower *l)
{
    struct value *a = lower_input(l, 0), *parts[3] = {NULL};

    lower_many(l, "DynamicQuantizeLinear", &a, 1, parts, 3);
    struct value *inputs[] = {parts[0], lower_input(l, 1), parts[2], lower_input(l, 3)};

    finish_product(l, inputs, parts[1], lower_input(l, 2), lower_input(l, 4));
}

static void lower_quanta(struct lower *l)
{
    struct value *inputs[] = {lower_input(l, 0), lower_input(l, 1), lower_input(l, 2)};
    struct value *y = lower_op(l, l->node->op_type, inputs, 3);

    lower_copy(l, "axis block_size");
    lower_done(l, 0, y);
}

#define AROUND(op) "DequantizeLinear, " op ", QuantizeLinear"

/* Of each direction, or of each of its columns: as an operand beside [directions, inputs, columns]. */
static struct value *beside_columns(struct lower *l, uint32_t i)
{
    static const int64_t axes[] = {1, 2};
    struct value *x = lower_input(l, i);

    return lower_unsqueeze(l, lower_cast(l, x, DTYPE_F32), axes, lower_rank(x) == 2 ? 1 : 2);
}

static struct value *weights_of_lstm(struct lower *l, uint32_t quanta, uint32_t scale)
{
    static const int64_t perm[] = {0, 2, 1};
    struct value *w = lower_cast(l, lower_input(l, quanta), DTYPE_F32);

    w = lower_two(l, "Sub", w, beside_columns(l, scale + 1));
    w = lower_one(l, "Transpose", lower_two(l, "Mul", w, beside_columns(l, scale)));
    lower_ints(l, "perm", perm, 3);
    return w;
}

/* Weights are numbers again when the model is read. Inputs are rounded to quanta, states are not. */
static void lower_lstm(struct lower *l)
{
    enum { INPUTS = 8 };
    struct value *inputs[INPUTS], *outputs[3], *quanta[3];

    for (uint32_t i = 0; i < INPUTS; i++)
        inputs[i] = lower_input(l, i);
    lower_many(l, "DynamicQuantizeLinear", inputs, 1, quanta, 3);
    inputs[0] = lower_op(l, "DequantizeLinear", quanta, 3);
    inputs[1] = weights_of_lstm(l, 1, 8);
    inputs[2] = weights_of_lstm(l, 2, 10);
    lower_many(l, "LSTM", inputs, INPUTS, outputs, l->node->output_count);
    lower_copy(
        l, "activation_alpha activation_beta activations clip direction hidden_size input_forget");
    for (uint32_t i = 0; i < l->node->output_count; i++)
        lower_done(l, i, outputs[i]);
}

const struct lower_rule lower_quantised[] = {
    {{"com.microsoft.DequantizeLinear", "DequantizeLinear"},
     2,
     3,
     1,
     "axis block_size",
     lower_quanta},
    {{"com.microsoft.DynamicQuantizeLSTM", "Sub, Mul, Transpose, LSTM"},
     12,
     12,
     3,
     "activation_alpha activation_beta activations clip direction hidden_size input_forget",
     lower_lstm},
    {{"com.microsoft.DynamicQuantizeMatMul", "DynamicQuantizeLinear, MatMulInteger, Mul, Add"},
     3,
     5,
     1,
     "",
     lower_product_dynamic},
    {{"com.microsoft.MatMulIntegerToFloat", "MatMulInteger, Mul, Add"},
     4,
     7,
     1,
     "",
     lower_product_to_float},
    {{"com.microsoft.QGemm", AROUND("Gemm")}, 6, 9, 1, "alpha transA transB", lower_gemm},
    {{"com.microsoft.QLinearAdd", AROUND("Add")}, 7, 8, 1, "", lower_binary},
    {{"com.microsoft.QLinearAveragePool", AROUND("AveragePool")},
     4,
     5,
     1,
     "auto_pad ceil_mode channels_last count_include_pad kernel_shape pads strides",
     lower_unary},
    {{"com.microsoft.QLinearConcat", AROUND("Concat")}, 5, LOWER_ANY, 1, "axis", lower_concat},
    {{"com.microsoft.QLinearGlobalAveragePool", AROUND("GlobalAveragePool")},
     4,
     5,
     1,
     "channels_last",
     lower_unary},
    {{"com.microsoft.QLinearLeakyRelu", AROUND("LeakyRelu")}, 4, 5, 1, "alpha", lower_unary},
    {{"com.microsoft.QLinearMul", AROUND("Mul")}, 7, 8, 1, "", lower_binary},
    {{"com.microsoft.QLinearSigmoid", AROUND("Sigmoid")}, 4, 5, 1, "", lower_unary},
    {{"com.microsoft.QLinearSoftmax", AROUND("Softmax")}, 5, 5, 1, "axis opset", lower_unary},
    {{"com.microsoft.QLinearWhere", AROUND("Where")}, 9, 9, 1, "", lower_where},
    {{"com.microsoft.QuantizeLinear", "QuantizeLinear"}, 2, 3, 1, "axis block_size", lower_quanta},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
