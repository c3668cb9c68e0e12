/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised operators: numbers of the quanta, the operator, quanta again. Passes fold those that
 * have kernels over integers. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "kernels/lstm_int8.h"
#include "runtime/ops/lower/rules.h"

/* Quanta x, whose scale and zero point are inputs i and i + 1. */
static struct value *numbers_of(struct lower *l, struct value *x, uint32_t i)
{
    struct value *inputs[] = {x, lower_input(l, i), lower_input(l, i + 1)};

    return lower_op(l, "DequantizeLinear", inputs, 3);
}

/* What stands at inputs i, i + 1, i + 2: quanta, scale, zero point. */
static struct value *numbers(struct lower *l, uint32_t i)
{
    return numbers_of(l, lower_input(l, i), i + 1);
}

/* rank: of what has its channels last again; 0: of what never had. */
static void to_quanta(struct lower *l, struct value *x, uint32_t i, int rank)
{
    struct value *inputs[] = {x, lower_input(l, i), lower_input(l, i + 1)};
    struct value *y = lower_op(l, "QuantizeLinear", inputs, 3);

    lower_done(l, 0, rank > 0 ? lower_channels_last(l, y, rank) : y);
}

/* Quanta that were given channels last, before that: their rank, 0 where one was not. So a chain of
 * such operators computes as the standard ones have it, and goes there and back once. */
static int before_channels_last(struct value **quanta, uint32_t count)
{
    struct value *before[LOWER_PARTS];
    int rank = 0;

    for (uint32_t i = 0; i < count; i++) {
        int other;

        before[i] = lower_before_channels_last(quanta[i], &other);
        if (!before[i] || (i > 0 && other != rank))
            return 0;
        rank = other;
    }
    for (uint32_t i = 0; i < count; i++)
        quanta[i] = before[i];
    return rank;
}

static void lower_binary(struct lower *l)
{
    const char *op = strcmp(l->node->op_type, "QLinearAdd") == 0 ? "Add" : "Mul";
    struct value *quanta[] = {lower_input(l, 0), lower_input(l, 3)};
    int rank = before_channels_last(quanta, 2);
    struct value *a = numbers_of(l, quanta[0], 1), *b = numbers_of(l, quanta[1], 4);

    to_quanta(l, lower_two(l, op, a, b), 6, rank);
}

/* Of what has its channels last: by its kernel where it has one. */
static int rank_of_unary(const struct lower *l)
{
    const struct attribute *kernel = node_attribute(l->node, "kernel_shape");

    return kernel && kernel->count < SHAPE_MAX_RANK - 2 ? (int)kernel->count + 2
                                                        : lower_rank(lower_input(l, 0));
}

/* Means of all places of what has its channels last: it stays so. */
static void lower_mean_last(struct lower *l, int rank)
{
    int64_t axes[SHAPE_MAX_RANK];
    bool has_list = graph_opset(l->graph, "") >= 18;
    struct value *inputs[] = {numbers(l, 0), NULL}, *y;

    for (int i = 0; i < rank - 2; i++)
        axes[i] = i + 1;
    if (has_list)
        inputs[1] = lower_list(l, axes, (size_t)rank - 2);
    y = lower_op(l, "ReduceMean", inputs, 2);
    if (!has_list)
        lower_ints(l, "axes", axes, (size_t)rank - 2);
    to_quanta(l, y, 3, 0);
}

/* Kernel, pads and strides of a pool's spatial axes. */
struct pool {
    size_t axes;
    int64_t kernel[SHAPE_MAX_RANK], strides[SHAPE_MAX_RANK], pads[2 * SHAPE_MAX_RANK];
};

/* A list of so many numbers, none below `least`, which they are where there is no list. */
static bool read_sizes(const struct lower *l, const char *name, size_t count, int64_t least,
                       int64_t *to)
{
    size_t given;
    const int64_t *list = node_ints(l->node, name, &given);

    given = list ? given : count;
    for (size_t i = 0; i < count && given == count; i++) {
        to[i] = list ? list[i] : least;
        if (to[i] < least || to[i] > INT32_MAX)
            return false;
    }
    return given == count;
}

/* Windows that reach behind the pads count what lies there as if it was padding, too. */
static struct value *average_all(struct lower *l, struct value *x)
{
    struct pool p = {0};
    int64_t around[2 * SHAPE_MAX_RANK] = {0}, axes[SHAPE_MAX_RANK], front[SHAPE_MAX_RANK];
    struct value *inputs[4], *ends;

    if (!node_ints(l->node, "kernel_shape", &p.axes) || p.axes < 1 || p.axes > SHAPE_MAX_RANK - 2 ||
        !read_sizes(l, "kernel_shape", p.axes, 1, p.kernel) ||
        !read_sizes(l, "strides", p.axes, 1, p.strides) ||
        !read_sizes(l, "pads", 2 * p.axes, 0, p.pads)) {
        lower_refuse(l, "its kernel, pads and strides do not fit together");
        return NULL;
    }
    for (size_t i = 0; i < p.axes; i++) {
        around[2 + i] = p.pads[i];
        around[4 + p.axes + i] = p.pads[p.axes + i] + p.strides[i] - 1;
        axes[i] = 2 + (int64_t)i;
        front[i] = p.pads[i] + p.strides[i] - 1;
    }
    ends = lower_two(l, "Gather", lower_one(l, "Shape", x), lower_list(l, axes, p.axes));
    ends = lower_two(l, "Add", ends, lower_list(l, front, p.axes));
    x = lower_two(l, "Pad", x, lower_list(l, around, 2 * (p.axes + 2)));
    x = lower_one(l, "AveragePool", x);
    lower_copy(l, "kernel_shape strides");
    /* No window begins behind the input and the pads in front of it. */
    memset(around, 0, sizeof(around));
    inputs[0] = x;
    inputs[1] = lower_list(l, around, p.axes);
    inputs[2] = lower_two(l, "Div", ends, lower_list(l, p.strides, p.axes));
    inputs[3] = lower_list(l, axes, p.axes);
    return lower_op(l, "Slice", inputs, 4);
}

static bool counts_all(const struct lower *l)
{
    return node_int(l->node, "ceil_mode", 0) != 0 &&
           node_int(l->node, "count_include_pad", 0) != 0 &&
           strcmp(node_string(l->node, "auto_pad", "NOTSET"), "NOTSET") == 0;
}

static void lower_unary(struct lower *l)
{
    const char *op = l->node->op_type + strlen("QLinear");
    bool has_axes = strcmp(op, "LeakyRelu") != 0 && strcmp(op, "Sigmoid") != 0;
    bool is_last = node_int(l->node, "channels_last", 0) != 0;
    struct value *x = lower_input(l, 0), *y;
    int rank = is_last ? rank_of_unary(l) : has_axes ? 0 : before_channels_last(&x, 1), other;

    if (is_last && rank > 2 && strcmp(op, "GlobalAveragePool") == 0 &&
        !lower_before_channels_last(x, &other)) {
        lower_mean_last(l, rank);
        return;
    }
    if (is_last)
        x = lower_channels_second(l, x, rank);
    x = numbers_of(l, x, 1);
    if (strcmp(op, "AveragePool") == 0 && counts_all(l)) {
        to_quanta(l, average_all(l, x), 3, rank);
        return;
    }
    y = lower_one(l, op, x);
    if (strcmp(op, "LeakyRelu") == 0)
        lower_float(l, "alpha", node_float(l->node, "alpha", 0.01f));
    lower_copy(l, "auto_pad ceil_mode count_include_pad kernel_shape pads strides");
    to_quanta(l, y, 3, rank);
}

/* x with the axis as the last, and what is last in its place. */
static struct value *swap_last(struct lower *l, struct value *x, int64_t axis, int rank)
{
    int64_t perm[SHAPE_MAX_RANK];

    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[axis] = rank - 1;
    perm[rank - 1] = axis;
    x = lower_one(l, "Transpose", x);
    lower_ints(l, "perm", perm, (size_t)rank);
    return x;
}

/* Softmax of all axes from `axis` on at once, as it was before operator set 13, in a newer one. */
static struct value *softmax_of_rest(struct lower *l, struct value *x, int64_t axis)
{
    struct value *shape = lower_one(l, "Shape", x);

    x = lower_one(l, "Flatten", x);
    lower_int(l, "axis", axis);
    x = lower_one(l, "Softmax", x);
    lower_int(l, "axis", 1);
    x = lower_two(l, "Reshape", x, shape);
    lower_int(l, "allowzero", 1);
    return x;
}

/* ONNX Runtime has a whole number of quanta in 1, where the scale says what is none. */
static struct value *whole_scale(struct lower *l, struct value *scale)
{
    if (scale && scale->data && scale->dtype == DTYPE_F32 && shape_elements(&scale->shape) == 1)
        return lower_number(l, 1.0f / floorf(1.0f / *(const float *)scale->data));
    scale = lower_one(l, "Floor", lower_one(l, "Reciprocal", scale));
    return lower_one(l, "Reciprocal", scale);
}

static void put_probabilities(struct lower *l, struct value *y)
{
    struct value *inputs[] = {y, whole_scale(l, lower_input(l, 3)), lower_input(l, 4)};

    lower_done(l, 0, lower_op(l, "QuantizeLinear", inputs, 3));
}

/* The attribute says of which operator set's Softmax it is. */
static void lower_softmax(struct lower *l)
{
    bool flattens = node_int(l->node, "opset", 13) < 13, is_old = graph_opset(l->graph, "") < 13;
    int64_t axis = node_int(l->node, "axis", -1);
    struct value *y = numbers(l, 0);
    int rank = flattens == is_old || flattens ? 0 : lower_rank(lower_input(l, 0));

    if (flattens && !is_old) {
        put_probabilities(l, softmax_of_rest(l, y, axis));
        return;
    }
    axis += axis < 0 ? rank : 0;
    if (rank < 0 || (rank > 0 && (axis < 0 || axis >= rank)))
        lower_refuse(l, "its axis is none that is known of its input");
    if (l->rc < 0)
        return;
    if (rank > 0)
        y = swap_last(l, y, axis, rank);
    y = lower_one(l, "Softmax", y);
    lower_int(l, "axis", rank > 0 ? rank - 1 : axis);
    put_probabilities(l, rank > 0 ? swap_last(l, y, axis, rank) : y);
}

static void lower_concat(struct lower *l)
{
    struct value *parts[LOWER_PARTS], *y;
    uint32_t count = (l->node->input_count - 2) / 3;
    int64_t axis = node_int(l->node, "axis", 0);
    int rank;

    if (count > LOWER_PARTS || l->node->input_count != 2 + 3 * count) {
        lower_refuse(l, "it has %u inputs", l->node->input_count);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        parts[i] = lower_input(l, 2 + 3 * i);
    rank = before_channels_last(parts, count);
    for (uint32_t i = 0; i < count; i++)
        parts[i] = numbers_of(l, parts[i], 3 + 3 * i);
    y = lower_op(l, "Concat", parts, count);
    if (rank > 0) {
        axis += axis < 0 ? rank : 0;
        axis = axis == rank - 1 ? 1 : axis > 0 ? axis + 1 : axis;
    }
    lower_int(l, "axis", axis);
    to_quanta(l, y, 0, rank);
}

static void lower_where(struct lower *l)
{
    struct value *inputs[] = {lower_input(l, 0), numbers(l, 1), numbers(l, 4)};

    to_quanta(l, lower_op(l, "Where", inputs, 3), 7, 0);
}

/* The quanta of the products of A's and B's, where they are constants and alpha is 1. */
static struct value *quanta_of_products(struct lower *l, const struct value *c)
{
    struct tensor_view a, b;
    struct value *scale;
    int64_t count;
    float *data;

    if (node_float(l->node, "alpha", 1.0f) != 1.0f || !lower_content(lower_input(l, 1), &a) ||
        !lower_content(lower_input(l, 4), &b) || a.dtype != DTYPE_F32 || b.dtype != DTYPE_F32 ||
        shape_elements(&a.shape) != 1)
        return NULL;
    count = shape_elements(&b.shape);
    if (c->shape.rank != 1 || (count != 1 && count != c->shape.dims[0]))
        return NULL;
    data = lower_data(l, DTYPE_F32, &(struct shape){count > 1, {count}}, &scale);
    for (int64_t i = 0; data && i < count; i++)
        data[i] = *(const float *)a.data * ((const float *)b.data)[i];
    return data ? scale : NULL;
}

/* C as numbers: as passes know it that make a product of integers of all, or by itself. */
static struct value *bias_of_gemm(struct lower *l, struct value *c)
{
    float alpha = node_float(l->node, "alpha", 1.0f);
    struct value *scale = c ? quanta_of_products(l, c) : NULL;

    if (scale) {
        c = lower_op(l, "DequantizeLinear", (struct value *[]){c, scale}, 2);
        lower_int(l, "axis", 0);
        return c;
    }
    if (c)
        c = lower_two(l, "Mul", lower_cast(l, c, DTYPE_F32),
                      lower_two(l, "Mul", lower_input(l, 1), lower_input(l, 4)));
    return c && alpha != 1.0f ? lower_two(l, "Mul", c, lower_number(l, alpha)) : c;
}

/* C's quanta are those of the products of A's and B's, times alpha. */
static void lower_gemm(struct lower *l)
{
    bool is_transposed = node_int(l->node, "transB", 0) != 0;
    struct value *a = numbers(l, 0), *b = numbers(l, 3), *y;

    lower_int(l, "axis", is_transposed ? 0 : 1);
    y = lower_op(l, "Gemm", (struct value *[]){a, b, bias_of_gemm(l, lower_input(l, 6))}, 3);
    lower_copy(l, "alpha transA transB");
    if (lower_input(l, 7))
        to_quanta(l, y, 7, 0);
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

/* Its inputs: as in the model, and as what is made of it has them, bytes with scale and zero point behind them. */
enum { LSTM_W = 1, LSTM_R, LSTM_B, LSTM_P = 7, LSTM_W_SCALE, LSTM_R_SCALE = 10, LSTM_OUTPUTS = 3 };
enum { BYTES_W = 3, BYTES_R = 6, BYTES_B = 9, BYTES_INPUTS = 13 };

static void finish_lstm(struct lower *l, const char *type, struct value *const *inputs,
                        uint32_t count, const char *attributes)
{
    struct value *outputs[LSTM_OUTPUTS];

    lower_many(l, type, inputs, count, outputs, l->node->output_count);
    lower_copy(l, attributes);
    for (uint32_t i = 0; i < l->node->output_count; i++)
        lower_done(l, i, outputs[i]);
}

/* Of real numbers, of which inputs are rounded to quanta and states are not. inputs: those of an LSTM but the first. */
static void finish_real_lstm(struct lower *l, struct value *const quanta[3], struct value **inputs)
{
    inputs[0] = lower_op(l, "DequantizeLinear", quanta, 3);
    finish_lstm(
        l, "LSTM", inputs, LSTM_P + 1,
        "activation_alpha activation_beta activations clip direction hidden_size input_forget");
}

/* Constant bytes [directions, lines, 4 * hidden] with a scale and a zero point for each direction, or each of its columns. */
static bool are_bytes(struct lower *l, uint32_t quanta, uint32_t scale, int64_t most)
{
    struct tensor_view view, scales, zeros;
    int64_t count, columns;

    if (!lower_content(lower_input(l, quanta), &view) ||
        !lower_content(lower_input(l, scale), &scales) ||
        !lower_content(lower_input(l, scale + 1), &zeros) || view.shape.rank != 3 ||
        (view.dtype != DTYPE_I8 && view.dtype != DTYPE_U8) || zeros.dtype != view.dtype ||
        scales.dtype != DTYPE_F32)
        return false;
    columns = view.shape.dims[0] * view.shape.dims[2];
    count = shape_elements(&scales.shape);
    return shape_elements(&zeros.shape) == count &&
           (count == view.shape.dims[0] || count == columns) && view.shape.dims[1] >= 1 &&
           view.shape.dims[1] <= most;
}

/* Whether its functions are those that it has where none are named. */
static bool has_usual_functions(const struct node *node)
{
    static const char *const usual[] = {"sigmoid", "tanh", "tanh"};
    const struct attribute *names = node_attribute(node, "activations");

    if (names && names->type != ATTRIBUTE_STRINGS)
        return false;
    for (size_t i = 0; names && i < names->count; i++)
        if (strcasecmp(names->strings[i], usual[i % 3]) != 0)
            return false;
    return node_float(node, "clip", 0.0f) == 0.0f && node_int(node, "input_forget", 0) == 0;
}

static bool is_of_bytes(struct lower *l)
{
    enum { MOST_INPUTS = 32768 };

    return !lower_input(l, LSTM_P) && has_usual_functions(l->node) &&
           are_bytes(l, LSTM_W, LSTM_W_SCALE, MOST_INPUTS) &&
           are_bytes(l, LSTM_R, LSTM_R_SCALE, KERNEL_LSTM_INT8_MOST);
}

/* Weights that do not stay bytes are numbers again when the model is read. */
static void lower_lstm(struct lower *l)
{
    struct value *x = lower_input(l, 0), *quanta[3], *real[LSTM_P + 1], *bytes[BYTES_INPUTS];

    lower_many(l, "DynamicQuantizeLinear", &x, 1, quanta, 3);
    for (uint32_t i = LSTM_B; i <= LSTM_P; i++)
        real[i] = lower_input(l, i);
    if (!is_of_bytes(l)) {
        real[LSTM_W] = weights_of_lstm(l, LSTM_W, LSTM_W_SCALE);
        real[LSTM_R] = weights_of_lstm(l, LSTM_R, LSTM_R_SCALE);
        finish_real_lstm(l, quanta, real);
        return;
    }
    memcpy(bytes, quanta, sizeof(quanta));
    for (uint32_t i = 0; i < 3; i++) {
        bytes[BYTES_W + i] = lower_input(l, i == 0 ? LSTM_W : LSTM_W_SCALE + i - 1);
        bytes[BYTES_R + i] = lower_input(l, i == 0 ? LSTM_R : LSTM_R_SCALE + i - 1);
    }
    memcpy(bytes + BYTES_B, real + LSTM_B, (BYTES_INPUTS - BYTES_B) * sizeof(*bytes));
    finish_lstm(l, "optrace.QuantizedLSTM", bytes, BYTES_INPUTS, "direction hidden_size");
}

static void lower_kept(struct lower *l)
{
    struct value *quanta[3], *real[LSTM_P + 1] = {NULL};

    for (uint32_t i = 0; i < 3; i++)
        quanta[i] = lower_input(l, i);
    for (uint32_t i = BYTES_B; i < BYTES_INPUTS; i++)
        real[LSTM_B + i - BYTES_B] = lower_input(l, i);
    real[LSTM_W] = weights_of_lstm(l, BYTES_W, BYTES_W + 1);
    real[LSTM_R] = weights_of_lstm(l, BYTES_R, BYTES_R + 1);
    finish_real_lstm(l, quanta, real);
}

const struct lower_rule lower_kept_lstm = {
    {"optrace.QuantizedLSTM", "DequantizeLinear, Sub, Mul, Transpose, LSTM"},
    BYTES_B,
    BYTES_INPUTS,
    LSTM_OUTPUTS,
    "direction hidden_size",
    lower_kept};

const struct lower_rule lower_quantised[] = {
    {{"com.microsoft.DequantizeLinear", "DequantizeLinear"},
     2,
     3,
     1,
     "axis block_size",
     lower_quanta},
    {{"com.microsoft.DynamicQuantizeLSTM",
      "DynamicQuantizeLinear, QuantizedLSTM; or Sub, Mul, Transpose, LSTM"},
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
    {{"com.microsoft.QLinearSoftmax", AROUND("Softmax")}, 5, 5, 1, "axis opset", lower_softmax},
    {{"com.microsoft.QLinearWhere", AROUND("Where")}, 9, 9, 1, "", lower_where},
    {{"com.microsoft.QuantizeLinear", "QuantizeLinear"}, 2, 3, 1, "axis block_size", lower_quanta},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
