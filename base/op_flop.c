/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of operators, by shapes. */
#include "base/op_flop.h"

#include <stdlib.h>
#include <string.h>

#define FLOP_MAX 0x1p62

/* Sums and products are doubles: 2^53 and more are rounded, and nothing overflows. */

/* Negative: not known, or not what the operator takes. */
static double elements(const struct op_flop_shape *shape)
{
    double count = 1;

    if (shape->rank < 0)
        return -1;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < 0)
            return -1;
        count *= (double)shape->dims[i];
    }
    return count;
}

static const struct op_flop_shape *input(const struct op_flop_call *call, size_t place)
{
    static const struct op_flop_shape unknown = {.rank = -1};

    return place < call->input_count ? &call->inputs[place] : &unknown;
}

/* --- ATen. --- */

/* Two whole numbers of "[1, 2]", "[1]" or "1", which stand for both. */
static bool read_pair(const char *text, int64_t out_pair[2])
{
    char *end;

    if (!text)
        return false;
    text += *text == '[';
    out_pair[0] = out_pair[1] = strtoll(text, &end, 10);
    if (end == text)
        return false;
    if (*end == ',') {
        text = end + 1;
        out_pair[1] = strtoll(text, &end, 10);
    }
    return end != text;
}

/* conv2d(input, weight, bias, stride, padding, dilation, groups) */
static double aten_conv2d(const struct op_flop_call *call)
{
    const struct op_flop_shape *x = input(call, 0), *w = input(call, 1);
    int64_t stride[2], padding[2], dilation[2];
    double y;

    if (x->rank != 4 || w->rank != 4 || elements(x) < 0 || elements(w) < 0 || !w->dims[0] ||
        !read_pair(call->scalars[3], stride) || !read_pair(call->scalars[4], padding) ||
        !read_pair(call->scalars[5], dilation))
        return -1;
    y = (double)x->dims[0] * (double)w->dims[0];
    for (int i = 0; i < 2; i++) {
        double reach = (double)x->dims[2 + i] + 2.0 * (double)padding[i] -
                       (double)dilation[i] * ((double)w->dims[2 + i] - 1) - 1;

        if (stride[i] <= 0 || padding[i] < 0 || dilation[i] <= 0 || reach < 0 || reach > 1e15)
            return -1;
        y *= (double)((int64_t)reach / stride[i] + 1);
    }
    return 2 * y * elements(w) / (double)w->dims[0];
}

/* Of a product [.., m, k] x [.., k, n] whose first operand is at `first`. */
static double product(const struct op_flop_call *call, size_t first, int rank)
{
    const struct op_flop_shape *a = input(call, first), *b = input(call, first + 1);

    return a->rank != rank || b->rank != rank || elements(a) < 0 || elements(b) < 0 ||
                   a->dims[rank - 1] != b->dims[rank - 2]
               ? -1
               : 2 * elements(a) * (double)b->dims[rank - 1];
}

static double aten_mm(const struct op_flop_call *call)
{
    return product(call, 0, 2);
}

static double aten_addmm(const struct op_flop_call *call)
{
    return product(call, 1, 2);
}

static double aten_bmm(const struct op_flop_call *call)
{
    return product(call, 0, 3);
}

static double aten_baddbmm(const struct op_flop_call *call)
{
    return product(call, 1, 3);
}

static double first_elements(const struct op_flop_call *call)
{
    return elements(input(call, 0));
}

/* --- ONNX. --- */

static double onnx_conv(const struct op_flop_call *call)
{
    const struct op_flop_shape *w = input(call, 1);
    double y = elements(&call->output);

    if (y < 0 || w->rank < 3 || elements(w) < 0 || !w->dims[0])
        return -1;
    return FLOP_OF_CONV(y, elements(w) / (double)w->dims[0], call->input_count > 2);
}

/* Whether A is transposed is not known, but what is summed over: what A has and Y has not. */
static double onnx_gemm(const struct op_flop_call *call)
{
    const struct op_flop_shape *a = input(call, 0);
    double y = elements(&call->output);

    if (y <= 0 || a->rank != 2 || call->output.rank != 2 || elements(a) < 0 ||
        !call->output.dims[0])
        return y == 0 ? 0 : -1;
    return FLOP_OF_PRODUCT(y, elements(a) / (double)call->output.dims[0], call->input_count > 2);
}

static double onnx_matmul(const struct op_flop_call *call)
{
    const struct op_flop_shape *a = input(call, 0);
    double y = elements(&call->output);

    return y < 0 || a->rank < 1 || elements(a) < 0
               ? -1
               : FLOP_OF_PRODUCT(y, (double)a->dims[a->rank - 1], false);
}

static double elementwise(const struct op_flop_call *call)
{
    double y = elements(&call->output);

    return y < 0 ? -1 : FLOP_OF_ELEMENTWISE(y, (double)call->input_count);
}

static double batch_norm(const struct op_flop_call *call)
{
    double y = elements(&call->output);

    return y < 0 ? -1 : FLOP_OF_BATCH_NORM(y);
}

static double softmax(const struct op_flop_call *call)
{
    double y = elements(&call->output);

    return y < 0 ? -1 : FLOP_OF_SOFTMAX(y);
}

static double one_each(const struct op_flop_call *call)
{
    return elements(&call->output);
}

static double nothing(const struct op_flop_call *call)
{
    (void)call;
    return 0;
}

static const struct {
    const char *name;
    double (*formula)(const struct op_flop_call *call);
} table[] = {
    {"aten::add", first_elements},
    {"aten::addmm", aten_addmm},
    {"aten::baddbmm", aten_baddbmm},
    {"aten::bmm", aten_bmm},
    {"aten::conv2d", aten_conv2d},
    {"aten::mm", aten_mm},
    {"aten::mul", first_elements},
    {"Add", elementwise},
    {"BatchNormalization", batch_norm},
    {"Cast", nothing},
    {"Clip", one_each},
    {"Concat", nothing},
    {"Conv", onnx_conv},
    {"Div", elementwise},
    {"Expand", nothing},
    {"Flatten", nothing},
    {"Gather", nothing},
    {"Gemm", onnx_gemm},
    {"GlobalAveragePool", first_elements},
    {"GlobalMaxPool", first_elements},
    {"Identity", nothing},
    {"LeakyRelu", elementwise},
    {"MatMul", onnx_matmul},
    {"Mul", elementwise},
    {"Pad", nothing},
    {"Relu", elementwise},
    {"ReorderInput", nothing},
    {"ReorderOutput", nothing},
    {"Reshape", nothing},
    {"Shape", nothing},
    {"Sigmoid", elementwise},
    {"Slice", nothing},
    {"Softmax", softmax},
    {"Split", nothing},
    {"Squeeze", nothing},
    {"Sub", elementwise},
    {"Sum", elementwise},
    {"Tanh", elementwise},
    {"Tile", nothing},
    {"Transpose", nothing},
    {"Unsqueeze", nothing},
};

static size_t place_of(const char *name)
{
    size_t place = 0;

    while (place < sizeof(table) / sizeof(table[0]) && strcmp(table[place].name, name) != 0)
        place++;
    return place;
}

bool op_flop_knows(const char *name)
{
    return place_of(name) < sizeof(table) / sizeof(table[0]);
}

int64_t op_flop(const struct op_flop_call *call)
{
    size_t place = place_of(call->name);
    double flop = place < sizeof(table) / sizeof(table[0]) ? table[place].formula(call) : -1;

    return flop >= 0 && flop < FLOP_MAX ? (int64_t)(flop + 0.5) : -1;
}
