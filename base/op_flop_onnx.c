/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of ONNX operators. op_flop.h explains each formula beside its source. */
#include "base/op_flop_private.h"

#include <stdlib.h>
#include <string.h>

#define input    op_flop_input
#define elements op_flop_elements

/* --- What the node says. --- */

static double dim(const struct op_flop_shape *shape, int axis)
{
    axis += axis < 0 ? shape->rank : 0;
    return axis < 0 || axis >= shape->rank ? -1 : (double)shape->dims[axis];
}

/* False where attributes are not known. */
static bool read_int(const struct op_flop_call *call, const char *name, int64_t fallback,
                     int64_t *out_value)
{
    const struct op_flop_attributes *known = call->attributes;

    if (!known)
        return false;
    *out_value = (int64_t)known->number(known->node, name, (double)fallback);
    return true;
}

/* NULL where attributes are not known. */
static const char *read_text(const struct op_flop_call *call, const char *name,
                             const char *fallback)
{
    const struct op_flop_attributes *known = call->attributes;
    const char *text = known ? known->text(known->node, name) : NULL;

    return text || !known ? text : fallback;
}

static bool is_given(const struct op_flop_call *call, size_t place)
{
    return place < call->input_count && input(call, place)->rank >= 0;
}

static double output_of(const struct op_flop_call *call)
{
    return elements(&call->output);
}

/* A count of what was not known stays so. */
static double times(double count, double factor)
{
    return count < 0 || factor < 0 ? -1 : count * factor;
}

static double plus(double a, double b)
{
    return a < 0 || b < 0 ? -1 : a + b;
}

/* --- Element by element. --- */

static double nothing(const struct op_flop_call *call)
{
    (void)call;
    return 0;
}

static double elementwise(const struct op_flop_call *call)
{
    double y = output_of(call), operands = 0;

    for (size_t i = 0; i < call->input_count; i++)
        operands += i >= OP_FLOP_TENSORS_MAX || !call->attributes || is_given(call, i);
    return y < 0 ? -1 : FLOP_OF_ELEMENTWISE(y, operands);
}

static double one_each(const struct op_flop_call *call)
{
    return output_of(call);
}

static double two_each(const struct op_flop_call *call)
{
    return times(output_of(call), 2);
}

static double three_each(const struct op_flop_call *call)
{
    return times(output_of(call), 3);
}

static double softmax(const struct op_flop_call *call)
{
    double y = output_of(call);

    return y < 0 ? -1 : FLOP_OF_SOFTMAX(y);
}

/* The sums, and the quotient. */
static double mean(const struct op_flop_call *call)
{
    return times(output_of(call), (double)call->input_count);
}

/* Of each line of n numbers 5 n log2(n), rounded down, as a fast transform of complex ones takes. */
static double dft(const struct op_flop_call *call)
{
    int64_t axis;
    double n, parts, numbers, halvings = 0;

    if (!read_int(call, "axis", -2, &axis))
        return -1;
    n = dim(input(call, 0), (int)axis);
    parts = dim(input(call, 0), -1);
    numbers = times(elements(input(call, 0)), parts > 0 ? 1 / parts : 1);
    for (double rest = n; rest >= 2; rest /= 2)
        halvings++;
    return n < 0 ? -1 : times(numbers, 5 * halvings);
}

static double of_input(const struct op_flop_call *call)
{
    return elements(input(call, 0));
}

static double five_each(const struct op_flop_call *call)
{
    return times(of_input(call), 5);
}

static double batch_norm(const struct op_flop_call *call)
{
    double y = output_of(call);

    return y < 0 ? -1 : FLOP_OF_BATCH_NORM(y);
}

static double lrn(const struct op_flop_call *call)
{
    int64_t size;

    return read_int(call, "size", 1, &size) ? times(output_of(call), 2 * (double)size + 4) : -1;
}

/* Rotated pairs are two products and a sum for each of their two elements. */
static double rotary(const struct op_flop_call *call)
{
    const struct op_flop_shape *x = input(call, 0);
    int64_t turned, heads;
    double head;

    if (!read_int(call, "rotary_embedding_dim", 0, &turned) ||
        !read_int(call, "num_heads", 0, &heads))
        return -1;
    if (turned == 0)
        return times(output_of(call), 3);
    head = x->rank == 3 && heads > 0 ? dim(x, 2) / (double)heads : dim(x, -1);
    return head <= 0 ? -1 : times(output_of(call), 3 * (double)turned / head);
}

/* Without a reduction, updates are only moved. */
static double scatter(const struct op_flop_call *call)
{
    const char *reduction = read_text(call, "reduction", "none");

    if (!reduction)
        return -1;
    return strcmp(reduction, "none") == 0 ? 0 : elements(input(call, 2));
}

/* --- Reductions and norms. --- */

static double reduce(const struct op_flop_call *call, double per_input, double per_output)
{
    return plus(times(of_input(call), per_input), times(output_of(call), per_output));
}

static double reduce_mean(const struct op_flop_call *call)
{
    return reduce(call, 1, 1);
}

static double reduce_squares(const struct op_flop_call *call)
{
    return reduce(call, 2, 0);
}

static double reduce_root(const struct op_flop_call *call)
{
    return reduce(call, 2, 1);
}

static double norm_along(const struct op_flop_call *call)
{
    return times(of_input(call), 3);
}

/* Of each label the number of its class, turned round and summed up; a weight is a factor. */
static double class_loss(const struct op_flop_call *call)
{
    return times(elements(input(call, 1)), is_given(call, 2) ? 3 : 2);
}

static double cross_entropy(const struct op_flop_call *call)
{
    return plus(times(of_input(call), 5), class_loss(call));
}

/* Its scale has the shape of what is normalised together. */
static double rows_of(const struct op_flop_call *call)
{
    double scale = elements(input(call, 1));

    return scale <= 0 ? -1 : of_input(call) / scale;
}

static double layer_norm(const struct op_flop_call *call)
{
    return plus(times(of_input(call), is_given(call, 2) ? 7 : 6), times(rows_of(call), 5));
}

static double rms_norm(const struct op_flop_call *call)
{
    return plus(times(of_input(call), 4), times(rows_of(call), 4));
}

static double group_norm(const struct op_flop_call *call)
{
    const struct op_flop_shape *x = input(call, 0);
    int64_t groups;

    return read_int(call, "num_groups", 1, &groups)
               ? plus(times(of_input(call), 7), times(dim(x, 0), 5 * (double)groups))
               : -1;
}

static double instance_norm(const struct op_flop_call *call)
{
    const struct op_flop_shape *x = input(call, 0);

    return plus(times(of_input(call), 7), times(times(dim(x, 0), dim(x, 1)), 5));
}

/* --- Windows. --- */

static double window_of(const struct op_flop_call *call)
{
    double area = 1;
    size_t count;
    const int64_t *kernel =
        call->attributes ? call->attributes->ints(call->attributes->node, "kernel_shape", &count)
                         : NULL;

    for (size_t i = 0; kernel && i < count; i++)
        area *= (double)kernel[i];
    return kernel ? area : -1;
}

static double pool(const struct op_flop_call *call)
{
    return times(output_of(call), window_of(call));
}

static double power_pool(const struct op_flop_call *call)
{
    double area = window_of(call);

    return area < 0 ? -1 : times(output_of(call), 2 * area + 1);
}

/* w is [filters, channels / group, window]. */
static double convolution(const struct op_flop_call *call, size_t weights, size_t bias)
{
    const struct op_flop_shape *w = input(call, weights);
    double y = output_of(call);

    if (y < 0 || w->rank < 3 || elements(w) < 0 || !w->dims[0])
        return -1;
    return FLOP_OF_CONV(y, elements(w) / (double)w->dims[0], is_given(call, bias));
}

static double conv(const struct op_flop_call *call)
{
    return convolution(call, 1, 2);
}

/* Each element of the window is read between pixels, once for each channel. */
static double deform_conv(const struct op_flop_call *call)
{
    const struct op_flop_shape *x = input(call, 0), *offset = input(call, 2);
    int64_t groups;
    double taps = 2;

    if (!read_int(call, "offset_group", 1, &groups) || groups < 1 || x->rank < 3)
        return -1;
    for (int i = 2; i < x->rank; i++)
        taps *= 2;
    return plus(convolution(call, 1, 3),
                times(times(elements(offset), taps / (x->rank - 2)), dim(x, 1) / (double)groups));
}

static double conv_integer(const struct op_flop_call *call)
{
    return convolution(call, 1, OP_FLOP_TENSORS_MAX);
}

static double qlinear_conv(const struct op_flop_call *call)
{
    return plus(convolution(call, 3, 8), three_each(call));
}

/* w is [channels, filters / group, window]: each element of x meets all behind the first. */
static double conv_transpose(const struct op_flop_call *call)
{
    const struct op_flop_shape *w = input(call, 1);
    double x = of_input(call), y = output_of(call);

    if (x < 0 || y < 0 || w->rank < 3 || elements(w) < 0 || !w->dims[0])
        return -1;
    return 2 * x * elements(w) / (double)w->dims[0] + (is_given(call, 2) ? y : 0);
}

/* Axes whose size changes are interpolated; those that shrink under antialias take more taps. */
static double resize(const struct op_flop_call *call)
{
    const char *mode = read_text(call, "mode", "nearest");
    const struct op_flop_shape *x = input(call, 0), *y = &call->output;
    int64_t antialias;
    double taps = 1;

    if (!mode || !read_int(call, "antialias", 0, &antialias) || x->rank != y->rank ||
        elements(x) < 0 || elements(y) < 0)
        return -1;
    if (strcmp(mode, "nearest") == 0)
        return 0;
    for (int i = 0; i < x->rank; i++) {
        double width = strcmp(mode, "cubic") == 0 ? 4 : 2;

        if (x->dims[i] == y->dims[i])
            continue;
        if (antialias && y->dims[i] > 0 && x->dims[i] > y->dims[i])
            width *= (double)x->dims[i] / (double)y->dims[i];
        taps *= width;
    }
    return times(elements(y), 2 * taps);
}

static double grid_sample(const struct op_flop_call *call)
{
    const char *mode = read_text(call, "mode", "linear");
    const struct op_flop_shape *grid = input(call, 1);
    double taps = 1, places = times(elements(grid), 3);

    if (!mode || input(call, 0)->rank < 3)
        return -1;
    if (strcmp(mode, "nearest") == 0)
        return places;
    for (int i = 2; i < input(call, 0)->rank; i++)
        taps *= strstr(mode, "cubic") ? 4 : 2;
    return plus(places, times(output_of(call), 2 * taps));
}

static double roi_align(const struct op_flop_call *call)
{
    int64_t ratio;

    if (!read_int(call, "sampling_ratio", 0, &ratio))
        return -1;
    ratio = ratio < 1 ? 1 : ratio;
    return times(output_of(call), 9 * (double)ratio * (double)ratio);
}

/* --- Products. --- */

/* Whether a is transposed need not be known, but what is summed over: what a has and y has not. */
static double gemm(const struct op_flop_call *call)
{
    const struct op_flop_shape *a = input(call, 0);
    double y = output_of(call);

    if (y <= 0 || a->rank != 2 || call->output.rank != 2 || elements(a) < 0 ||
        !call->output.dims[0])
        return y == 0 ? 0 : -1;
    return FLOP_OF_PRODUCT(y, elements(a) / (double)call->output.dims[0], is_given(call, 2));
}

static double product(const struct op_flop_call *call, bool is_added)
{
    double y = output_of(call), summed = dim(input(call, 0), -1);

    return y < 0 || summed < 0 ? -1 : FLOP_OF_PRODUCT(y, summed, is_added);
}

static double matmul(const struct op_flop_call *call)
{
    return product(call, is_given(call, 2));
}

static double matmul_integer(const struct op_flop_call *call)
{
    return product(call, false);
}

static double qlinear_matmul(const struct op_flop_call *call)
{
    return plus(product(call, false), three_each(call));
}

static double fused_matmul(const struct op_flop_call *call)
{
    const struct op_flop_shape *a = input(call, 0);
    int64_t is_turned, is_batch;
    double y = output_of(call), summed;

    if (!read_int(call, "transA", 0, &is_turned) || !read_int(call, "transBatchA", 0, &is_batch))
        return -1;
    summed = dim(a, !is_turned || a->rank < 2 ? -1 : is_batch ? 0 : -2);
    return y < 0 || summed < 0 ? -1 : FLOP_OF_PRODUCT(y, summed, false);
}

/* Differences, squares, sums. */
static double distances(const struct op_flop_call *call)
{
    return times(output_of(call), times(dim(input(call, 0), -1), 3));
}

/* The sizes of an equation's labels, as they are met; ellipses have one of their own. */
struct labels {
    double sizes[256];
    bool is_met[256];
};

/* One operand's labels. Returns what follows its comma, NULL where text and shape disagree. */
static const char *read_operand(const char *text, const struct op_flop_shape *shape,
                                struct labels *labels)
{
    int named = 0, axis = 0;

    for (const char *c = text; *c && *c != ',' && *c != '-'; c++)
        named += *c != ' ' && *c != '.';
    for (; *text && *text != ',' && *text != '-'; text++) {
        unsigned char label = (unsigned char)*text;
        double size = 1;

        if (label == ' ')
            continue;
        if (label == '.') {
            for (; axis < shape->rank - named; axis++)
                size *= (double)shape->dims[axis];
            text += strspn(text, ".") - 1;
        } else {
            size = dim(shape, axis++);
            named--;
        }
        if (size < 0)
            return NULL;
        if (!labels->is_met[label] || labels->sizes[label] < size)
            labels->sizes[label] = size;
        labels->is_met[label] = true;
    }
    return axis == shape->rank ? text + (*text == ',') : NULL;
}

/* A product of all operands for each choice of all labels; and its sum, if any is summed over. */
static double einsum(const struct op_flop_call *call)
{
    const char *text = read_text(call, "equation", "");
    struct labels labels = {0};
    double all = 1, y = output_of(call);

    if (!text || y < 0 || call->input_count > OP_FLOP_TENSORS_MAX)
        return -1;
    for (size_t i = 0; i < call->input_count; i++) {
        text = elements(input(call, i)) < 0 ? NULL : read_operand(text, input(call, i), &labels);
        if (!text)
            return -1;
    }
    for (size_t i = 0; i < 256; i++)
        all *= labels.is_met[i] ? labels.sizes[i] : 1;
    return all * ((double)call->input_count - 1 + (all > y));
}

/* q, k, v are [batch, heads, steps, size] or [batch, steps, heads * size]. */
static double attention(const struct op_flop_call *call)
{
    const struct op_flop_shape *q = input(call, 0), *k = input(call, 1), *past = input(call, 4);
    double y = output_of(call), size = dim(q, -1), scores, seen;
    int64_t heads = 1;

    if (q->rank != k->rank || (q->rank != 3 && q->rank != 4) || elements(q) < 0 || elements(k) < 0)
        return -1;
    if (q->rank == 4)
        heads = q->dims[1];
    else
        size = read_int(call, "q_num_heads", 0, &heads) && heads > 0 ? size / (double)heads : -1;
    seen = dim(k, -2) + (is_given(call, 4) ? dim(past, -2) : 0);
    scores = times(times(dim(q, 0), (double)heads), dim(q, -2) * seen);
    if (size < 0 || scores < 0 || y < 0)
        return -1;
    return scores * (2 * size + 1 + 5 + (is_given(call, 3) ? 1 : 0)) + 2 * y * seen;
}

/* x is [steps, batch, inputs], or the first two the other way round; w [directions, gates * hidden,
 * inputs], r [directions, gates * hidden, hidden], the former at input `at`; of bytes they lie by columns. */
static double recurrent(const struct op_flop_call *call, unsigned at, double gates, double rest)
{
    const struct op_flop_shape *x = input(call, 0), *w = input(call, at), *r = input(call, 2 * at);
    double steps, weights, cells;

    if (x->rank != 3 || w->rank != 3 || r->rank != 3 || elements(x) < 0 || elements(w) < 0 ||
        elements(r) < 0)
        return -1;
    steps = (double)x->dims[0] * (double)x->dims[1];
    cells = (double)r->dims[0] * (double)r->dims[at == 1 ? 2 : 1];
    weights = elements(w) + elements(r);
    return steps * (2 * weights + cells * gates * (is_given(call, 3 * at) ? 3 : 1) + cells * rest);
}

static double rnn(const struct op_flop_call *call)
{
    return recurrent(call, 1, 1, 1);
}

static double gru(const struct op_flop_call *call)
{
    return recurrent(call, 1, 3, 8);
}

static double lstm(const struct op_flop_call *call)
{
    return recurrent(call, 1, 4, 9 + (is_given(call, 7) ? 6 : 0));
}

static double lstm_int8(const struct op_flop_call *call)
{
    return recurrent(call, 3, 4, 9);
}

static double affine_grid(const struct op_flop_call *call)
{
    return times(output_of(call), 2 * dim(&call->output, -1));
}

static double determinant(const struct op_flop_call *call)
{
    return times(of_input(call), 2 * dim(input(call, 0), -1) / 3);
}

static double inverse(const struct op_flop_call *call)
{
    return times(of_input(call), 4 * dim(input(call, 0), -1));
}

/* Each number of a state decays, is read by the keys, added to, and read by the queries. */
static double linear_attention(const struct op_flop_call *call)
{
    double k = elements(input(call, 1)), q = of_input(call), y = output_of(call), size;
    int64_t heads;

    if (!read_int(call, "kv_num_heads", 0, &heads) || heads < 1 || k < 0 || q < 0 || y < 0)
        return -1;
    size = dim(input(call, 2), -1) / (double)heads;
    return size < 0 ? -1
                    : k * size * (2 + (is_given(call, 4) ? 1 : 0) + (is_given(call, 5) ? 2 : 0)) +
                          2 * q * size + y;
}

static double causal_conv(const struct op_flop_call *call)
{
    const char *activation = read_text(call, "activation", "none");
    double taps = dim(input(call, 1), -1);

    if (!activation || taps < 0)
        return -1;
    return times(output_of(call), FLOP_OF_PRODUCT(1, taps, is_given(call, 2)) +
                                      (strcmp(activation, "none") == 0 ? 0 : 2));
}

static double scores_of(const struct op_flop_call *call)
{
    return elements(input(call, 1));
}

static const struct row {
    const char *name;
    op_flop_fn *formula;
} table[] = {
    /* sorted by name (strcmp) */
    {"Abs", elementwise},
    {"Acos", elementwise},
    {"Acosh", elementwise},
    {"Add", elementwise},
    {"AffineGrid", affine_grid},
    {"And", elementwise},
    {"ArgMax", of_input},
    {"ArgMin", of_input},
    {"Asin", elementwise},
    {"Asinh", elementwise},
    {"Atan", elementwise},
    {"Atanh", elementwise},
    {"Attention", attention},
    {"AveragePool", pool},
    {"BatchNormalization", batch_norm},
    {"BitCast", nothing},
    {"BitShift", elementwise},
    {"BitwiseAnd", elementwise},
    {"BitwiseNot", elementwise},
    {"BitwiseOr", elementwise},
    {"BitwiseXor", elementwise},
    {"Cast", nothing},
    {"CastLike", nothing},
    {"CausalConvWithState", causal_conv},
    {"Ceil", elementwise},
    {"Celu", elementwise},
    {"CenterCropPad", nothing},
    {"Clip", one_each},
    {"Col2Im", of_input},
    {"Compress", nothing},
    {"Concat", nothing},
    {"Constant", nothing},
    {"ConstantOfShape", nothing},
    {"Conv", conv},
    {"ConvInteger", conv_integer},
    {"ConvTranspose", conv_transpose},
    {"Cos", elementwise},
    {"Cosh", elementwise},
    {"CumProd", of_input},
    {"CumSum", of_input},
    {"DFT", dft},
    {"DeformConv", deform_conv},
    {"DepthToSpace", nothing},
    {"DequantizeLinear", two_each},
    {"Det", determinant},
    {"Div", elementwise},
    {"Dropout", nothing},
    {"DynamicQuantizeLinear", five_each},
    {"Einsum", einsum},
    {"Elu", elementwise},
    {"Equal", elementwise},
    {"Erf", elementwise},
    {"Exp", elementwise},
    {"Expand", nothing},
    {"EyeLike", nothing},
    {"Flatten", nothing},
    {"Floor", elementwise},
    {"GRU", gru},
    {"Gather", nothing},
    {"GatherElements", nothing},
    {"GatherND", nothing},
    {"Gelu", elementwise},
    {"Gemm", gemm},
    {"GlobalAveragePool", of_input},
    {"GlobalLpPool", reduce_root},
    {"GlobalMaxPool", of_input},
    {"Greater", elementwise},
    {"GreaterOrEqual", elementwise},
    {"GridSample", grid_sample},
    {"GroupNormalization", group_norm},
    {"HardSigmoid", elementwise},
    {"HardSwish", elementwise},
    {"Hardmax", of_input},
    {"Identity", nothing},
    {"If", nothing},
    {"InstanceNormalization", instance_norm},
    {"IsInf", elementwise},
    {"IsNaN", elementwise},
    {"LRN", lrn},
    {"LSTM", lstm},
    {"LayerNormalization", layer_norm},
    {"LeakyRelu", elementwise},
    {"Less", elementwise},
    {"LessOrEqual", elementwise},
    {"LinearAttention", linear_attention},
    {"Log", elementwise},
    {"LogSoftmax", softmax},
    {"Loop", nothing},
    {"LpNormalization", norm_along},
    {"LpPool", power_pool},
    {"MatMul", matmul},
    {"MatMulInteger", matmul_integer},
    {"Max", elementwise},
    {"MaxPool", pool},
    {"MaxRoiPool", output_of},
    {"MaxUnpool", nothing},
    {"Mean", mean},
    {"MeanVarianceNormalization", five_each},
    {"MelWeightMatrix", two_each},
    {"Min", elementwise},
    {"Mish", elementwise},
    {"Mod", elementwise},
    {"Mul", elementwise},
    {"Neg", elementwise},
    {"NegativeLogLikelihoodLoss", class_loss},
    {"NonMaxSuppression", scores_of},
    {"NonZero", of_input},
    {"Not", elementwise},
    {"OneHot", nothing},
    {"Or", elementwise},
    {"PRelu", elementwise},
    {"Pad", nothing},
    {"Pow", elementwise},
    {"QLinearConv", qlinear_conv},
    {"QLinearMatMul", qlinear_matmul},
    {"QuantizeLinear", three_each},
    {"RMSNormalization", rms_norm},
    {"RNN", rnn},
    {"RandomNormal", one_each},
    {"RandomNormalLike", one_each},
    {"RandomUniform", one_each},
    {"RandomUniformLike", one_each},
    {"Range", two_each},
    {"Reciprocal", elementwise},
    {"ReduceL1", reduce_squares},
    {"ReduceL2", reduce_root},
    {"ReduceLogSum", reduce_mean},
    {"ReduceLogSumExp", reduce_root},
    {"ReduceMax", of_input},
    {"ReduceMean", reduce_mean},
    {"ReduceMin", of_input},
    {"ReduceProd", of_input},
    {"ReduceSum", of_input},
    {"ReduceSumSquare", reduce_squares},
    {"RegexFullMatch", nothing},
    {"Relu", elementwise},
    {"ReorderInput", nothing},
    {"ReorderOutput", nothing},
    {"Reshape", nothing},
    {"Resize", resize},
    {"ReverseSequence", nothing},
    {"RoiAlign", roi_align},
    {"RotaryEmbedding", rotary},
    {"Round", elementwise},
    {"Scatter", scatter},
    {"ScatterElements", scatter},
    {"ScatterND", scatter},
    {"Selu", elementwise},
    {"Shape", nothing},
    {"Shrink", elementwise},
    {"Sigmoid", elementwise},
    {"Sign", elementwise},
    {"Sin", elementwise},
    {"Sinh", elementwise},
    {"Size", nothing},
    {"Slice", nothing},
    {"Softmax", softmax},
    {"SoftmaxCrossEntropyLoss", cross_entropy},
    {"Softplus", elementwise},
    {"Softsign", elementwise},
    {"SpaceToDepth", nothing},
    {"Split", nothing},
    {"Sqrt", elementwise},
    {"Squeeze", nothing},
    {"StringConcat", nothing},
    {"StringNormalizer", nothing},
    {"StringSplit", nothing},
    {"Sub", elementwise},
    {"Sum", elementwise},
    {"Swish", elementwise},
    {"Tan", elementwise},
    {"Tanh", elementwise},
    {"TensorScatter", nothing},
    {"TfIdfVectorizer", of_input},
    {"ThresholdedRelu", elementwise},
    {"Tile", nothing},
    {"TopK", of_input},
    {"Transpose", nothing},
    {"Trilu", nothing},
    {"Unique", of_input},
    {"Unsqueeze", nothing},
    {"Upsample", resize},
    {"Where", nothing},
    {"Xor", elementwise},
    {"ai.onnx.ml.TreeEnsembleRegressor", output_of},
    {"com.microsoft.CDist", distances},
    {"com.microsoft.FusedMatMul", fused_matmul},
    {"com.microsoft.Inverse", inverse},
    {"com.microsoft.MurmurHash3", nothing},
    {"com.microsoft.Tokenizer", nothing},
    {"optrace.BlockMatMul", fused_matmul},
    {"optrace.ExpertMatMul", fused_matmul},
    {"optrace.PairwiseCoupling",
     elementwise}, /* the scores' own: how many steps follow is known by data */
    {"optrace.QuantizedLSTM", lstm_int8},
};

static int compare_name(const void *key, const void *entry)
{
    return strcmp(key, ((const struct row *)entry)->name);
}

op_flop_fn *op_flop_onnx(const char *name)
{
    const struct row *row =
        bsearch(name, table, sizeof(table) / sizeof(table[0]), sizeof(table[0]), compare_name);

    return row ? row->formula : NULL;
}
