/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of ggml, TensorFlow, OpenVINO and CTranslate2. */
#include "base/op_flop_private.h"

#include <string.h>

#define input    op_flop_input
#define elements op_flop_elements

static double dim(const struct op_flop_shape *shape, int from_end)
{
    return shape->rank > from_end ? (double)shape->dims[shape->rank - 1 - from_end] : -1;
}

/* --- ggml: tensors have four dims, here the slowest first. --- */

/* w [.., m, k] by x [.., n, k] gives [.., n, m]; so does one that chooses w by ids */
static double ggml_product(const struct op_flop_call *call)
{
    const struct op_flop_shape *w = input(call, 0);
    const double y = elements(&call->output);

    return elements(w) < 0 || y < 0 ? -1 : 2 * dim(w, 0) * y;
}

/* q [.., heads, n, e], k [.., s, e], v [.., s, f] */
static double ggml_attention(const struct op_flop_call *call)
{
    const struct op_flop_shape *q = input(call, 0), *k = input(call, 1), *v = input(call, 2);
    const double width = dim(q, 0);

    if (elements(q) < 0 || elements(k) < 0 || elements(v) < 0 || width <= 0)
        return -1;
    return 2 * elements(q) / width * dim(k, 1) * (width + dim(v, 0));
}

/* w [out, in, h, w]: each element of the result, each weight of its channel */
static double ggml_convolution(const struct op_flop_call *call)
{
    const struct op_flop_shape *w = input(call, 0);
    const double y = elements(&call->output);

    return elements(w) <= 0 || w->rank < 4 || y < 0 ? -1 : 2 * y * elements(w) / dim(w, 3);
}

/* --- TensorFlow: products may be of turned tensors, which shows in what fits. --- */

static double tensorflow_product(const struct op_flop_call *call)
{
    const struct op_flop_shape *a = input(call, 0), *b = input(call, 1);
    const double matrix = dim(b, 0) * dim(b, 1);
    double summed = 0;

    if (a->rank < 2 || b->rank != a->rank || elements(a) < 0 || elements(b) < 0)
        return -1;
    if (dim(a, 0) == dim(b, 1) || dim(a, 0) == dim(b, 0))
        summed = dim(a, 0);
    else if (dim(a, 1) == dim(b, 1) || dim(a, 1) == dim(b, 0))
        summed = dim(a, 1);
    return summed <= 0 ? -1 : 2 * elements(a) * matrix / summed;
}

/* w [.., in, out], of each channel by itself [.., in, multiplier] */
static double tensorflow_convolution(const struct op_flop_call *call)
{
    const struct op_flop_shape *w = input(call, 1);
    const double y = elements(&call->output), outputs = dim(w, 0);

    return w->rank < 3 || elements(w) <= 0 || y < 0 ? -1 : 2 * y * elements(w) / outputs;
}

static double tensorflow_by_channel(const struct op_flop_call *call)
{
    const struct op_flop_shape *w = input(call, 1);
    const double y = elements(&call->output), channels = dim(w, 0) * dim(w, 1);

    return w->rank < 3 || elements(w) <= 0 || y < 0 ? -1 : 2 * y * elements(w) / channels;
}

/* By the gradient dy [.., out], input 2, and w, which is input 1 for the gradient of x, and the result
 * for that of w. */
static double tensorflow_gradient(const struct op_flop_call *call, const struct op_flop_shape *w,
                                  double channels)
{
    const double dy = elements(input(call, 2));

    return w->rank < 3 || elements(w) <= 0 || dy < 0 ? -1 : 2 * dy * elements(w) / channels;
}

static double tensorflow_gradient_of_x(const struct op_flop_call *call)
{
    return tensorflow_gradient(call, input(call, 1), dim(input(call, 1), 0));
}

static double tensorflow_gradient_of_w(const struct op_flop_call *call)
{
    return tensorflow_gradient(call, &call->output, dim(&call->output, 0));
}

static double tensorflow_gradient_of_x_by_channel(const struct op_flop_call *call)
{
    const struct op_flop_shape *w = input(call, 1);

    return tensorflow_gradient(call, w, dim(w, 0) * dim(w, 1));
}

static double tensorflow_gradient_of_w_by_channel(const struct op_flop_call *call)
{
    const struct op_flop_shape *w = &call->output;

    return tensorflow_gradient(call, w, dim(w, 0) * dim(w, 1));
}

/* --- OpenVINO: layers by the class of what computes them. --- */

/* w [out, in, ..], or [groups, out, in, ..]: what one element of the result sums is all but `outer` */
static double openvino_weights(const struct op_flop_call *call, int outer)
{
    const struct op_flop_shape *w = input(call, 1);
    const double y = elements(&call->output);
    double each = 2 * y;

    if (w->rank <= outer || elements(w) < 0 || y < 0)
        return -1;
    for (int i = outer; i < w->rank; i++)
        each *= (double)w->dims[i];
    return each;
}

static double openvino_convolution(const struct op_flop_call *call)
{
    const struct op_flop_shape *x = input(call, 0), *w = input(call, 1);

    return x->rank < 3 ? -1 : openvino_weights(call, w->rank == x->rank + 1 ? 2 : 1);
}

static double openvino_inner_product(const struct op_flop_call *call)
{
    return openvino_weights(call, 1);
}

/* --- CTranslate2 --- */

/* a [.., m, k], or [.., k, m] where it is turned, gives [.., m, n] */
static double ctranslate2_product(const struct op_flop_call *call)
{
    const struct op_flop_shape *a = input(call, 0), *y = &call->output;
    const bool is_turned = dim(a, 1) != dim(y, 1);

    if (a->rank < 2 || y->rank != a->rank || elements(a) < 0 || elements(y) < 0)
        return -1;
    return 2 * elements(y) * dim(a, is_turned ? 1 : 0);
}

/* Weights may be packed, or of fewer bits: what comes in tells. */
static double ctranslate2_dense(const struct op_flop_call *call)
{
    const struct op_flop_shape *x = input(call, 0);
    const double y = elements(&call->output);

    return x->rank < 1 || elements(x) < 0 || y < 0 ? -1 : 2 * y * dim(x, 0);
}

struct formula {
    const char *name;
    op_flop_fn *formula;
};

static const struct formula ggml[] = {
    {"CONV_2D", ggml_convolution},      {"CONV_2D_DW", ggml_convolution},
    {"FLASH_ATTN_EXT", ggml_attention}, {"MUL_MAT", ggml_product},
    {"MUL_MAT_ID", ggml_product},
};

static const struct formula tensorflow[] = {
    {"BatchMatMul", tensorflow_product},
    {"BatchMatMulV2", tensorflow_product},
    {"BatchMatMulV3", tensorflow_product},
    {"Conv2D", tensorflow_convolution},
    {"Conv2DBackpropFilter", tensorflow_gradient_of_w},
    {"Conv2DBackpropInput", tensorflow_gradient_of_x},
    {"Conv3D", tensorflow_convolution},
    {"Conv3DBackpropFilterV2", tensorflow_gradient_of_w},
    {"Conv3DBackpropInputV2", tensorflow_gradient_of_x},
    {"DepthwiseConv2dNative", tensorflow_by_channel},
    {"DepthwiseConv2dNativeBackpropFilter", tensorflow_gradient_of_w_by_channel},
    {"DepthwiseConv2dNativeBackpropInput", tensorflow_gradient_of_x_by_channel},
    {"FusedBatchMatMulV2", tensorflow_product},
    {"FusedConv2D", tensorflow_convolution},
    {"FusedConv3D", tensorflow_convolution},
    {"FusedDepthwiseConv2dNative", tensorflow_by_channel},
    {"FusedMatMul", tensorflow_product},
    {"MatMul", tensorflow_product},
};

static const struct formula openvino[] = {
    {"Convolution", openvino_convolution},
    {"FullyConnected", openvino_inner_product},
    {"MatMul", tensorflow_product},
};

static const struct formula ctranslate2[] = {
    {"Conv1D", openvino_inner_product}, /* w [out, in, k] */
    {"Dense", ctranslate2_dense},
    {"Gemm", ctranslate2_product},
    {"MatMul", ctranslate2_product},
};

static op_flop_fn *find(const struct formula *table, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(table[i].name, name) == 0)
            return table[i].formula;
    }
    return NULL;
}

static int64_t compute(const struct formula *table, size_t count, const char *name,
                       const struct op_flop_call *call)
{
    op_flop_fn *const formula = find(table, count, name);

    return formula ? op_flop_rounded(formula(call)) : -1;
}

#define FIND(table, name)          find(table, sizeof(table) / sizeof((table)[0]), name)
#define COMPUTE(table, name, call) compute(table, sizeof(table) / sizeof((table)[0]), name, call)

int64_t op_flop_ggml(const struct op_flop_call *call)
{
    return COMPUTE(ggml, call->name, call);
}

/* "_FusedConv2D", and "_MklNativeConv2D", which is oneDNN's of the same */
static const char *tensorflow_name(const char *name)
{
    static const char *const prefixes[] = {"_MklNative", "_Mkl", "_"};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        const size_t length = strlen(prefixes[i]);

        if (strncmp(name, prefixes[i], length) == 0)
            return name + length;
    }
    return name;
}

int64_t op_flop_tensorflow(const struct op_flop_call *call)
{
    return COMPUTE(tensorflow, tensorflow_name(call->name), call);
}

bool op_flop_tensorflow_needs_result(const char *name)
{
    op_flop_fn *const formula =
        strstr(name, "Conv") ? FIND(tensorflow, tensorflow_name(name)) : NULL;

    return formula == tensorflow_convolution || formula == tensorflow_by_channel ||
           formula == tensorflow_gradient_of_w || formula == tensorflow_gradient_of_w_by_channel;
}

int64_t op_flop_openvino(const struct op_flop_call *call)
{
    return COMPUTE(openvino, call->name, call);
}

int64_t op_flop_ctranslate2(const struct op_flop_call *call)
{
    return COMPUTE(ctranslate2, call->name, call);
}
