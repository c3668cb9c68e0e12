/* SPDX-License-Identifier: Apache-2.0 */
/* Which binder serves which operator, and what the binders share. */
#include "runtime/graph/fused_ops.h"
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/extern_library.h"

static const struct binder {
    const char *op_type;
    call_bind_fn *bind;
    enum layout_need need;
    uint32_t outputs; /* how many it computes; 0 is 1. The first may be left out only of several */
} binders[] = {
    {"Abs", call_bind_map, LAYOUT_SAME, 1},
    {"Acos", call_bind_map, LAYOUT_SAME, 1},
    {"Acosh", call_bind_map, LAYOUT_SAME, 1},
    {"Add", call_bind_binary, LAYOUT_ANY, 1},
    {"And", call_bind_zip, LAYOUT_ANY, 1},
    {"ArgMax", call_bind_arg, LAYOUT_ROW_MAJOR, 1},
    {"ArgMin", call_bind_arg, LAYOUT_ROW_MAJOR, 1},
    {"Asin", call_bind_map, LAYOUT_SAME, 1},
    {"Asinh", call_bind_map, LAYOUT_SAME, 1},
    {"Atan", call_bind_map, LAYOUT_SAME, 1},
    {"Atanh", call_bind_map, LAYOUT_SAME, 1},
    {"Attention", call_bind_attention, LAYOUT_ROW_MAJOR, 4},
    {"AveragePool", call_bind_pool, LAYOUT_IMAGE, 1},
    {"BatchNormalization", call_bind_batch_norm, LAYOUT_IMAGE, 3},
    {"Cast", call_bind_cast, LAYOUT_SAME, 1},
    {"CastLike", call_bind_cast, LAYOUT_SAME, 1},
    {"Ceil", call_bind_map, LAYOUT_SAME, 1},
    {"Celu", call_bind_map, LAYOUT_SAME, 1},
    {"CenterCropPad", call_bind_center, LAYOUT_ROW_MAJOR, 1},
    {"Clip", call_bind_unary, LAYOUT_SAME, 1},
    {"Compress", call_bind_compress, LAYOUT_ROW_MAJOR, 1},
    {"Concat", call_bind_concat, LAYOUT_ANY, 1},
    {"ConstantOfShape", call_bind_constant_of_shape, LAYOUT_ROW_MAJOR, 1},
    {"Conv", call_bind_conv, LAYOUT_ROW_MAJOR, 1},
    {"ConvInteger", call_bind_conv_quantised, LAYOUT_ROW_MAJOR, 1},
    {"ConvTranspose", call_bind_conv_transpose, LAYOUT_ROW_MAJOR, 1},
    {"Cos", call_bind_map, LAYOUT_SAME, 1},
    {"Cosh", call_bind_map, LAYOUT_SAME, 1},
    {"CumSum", call_bind_cum_sum, LAYOUT_ROW_MAJOR, 1},
    {"DepthToSpace", call_bind_blocks, LAYOUT_ROW_MAJOR, 1},
    {"DequantizeLinear", call_bind_quantize, LAYOUT_ROW_MAJOR, 1},
    {"Div", call_bind_binary, LAYOUT_ANY, 1},
    {"Dropout", call_bind_dropout, LAYOUT_SAME, 2},
    {"DynamicQuantizeLinear", call_bind_quantize_dynamic, LAYOUT_ROW_MAJOR, 3},
    {"Einsum", call_bind_einsum, LAYOUT_ROW_MAJOR, 1},
    {"Elu", call_bind_map, LAYOUT_SAME, 1},
    {"Equal", call_bind_zip, LAYOUT_ANY, 1},
    {"Erf", call_bind_map, LAYOUT_SAME, 1},
    {"Exp", call_bind_map, LAYOUT_SAME, 1},
    {"Expand", call_bind_expand, LAYOUT_ROW_MAJOR, 1},
    {"EyeLike", call_bind_eye, LAYOUT_ROW_MAJOR, 1},
    {"Flatten", call_bind_view, LAYOUT_ROW_MAJOR, 1},
    {"Floor", call_bind_map, LAYOUT_SAME, 1},
    {CHAIN_OP_TYPE, call_bind_chain, LAYOUT_ANY, 1},
    {PREPROCESS_OP_TYPE, call_bind_preprocess, LAYOUT_ANY, 1},
    {"GRU", call_bind_recurrent, LAYOUT_ROW_MAJOR, 2},
    {"Gather", call_bind_gather, LAYOUT_ROW_MAJOR, 1},
    {"GatherElements", call_bind_elements, LAYOUT_ROW_MAJOR, 1},
    {"GatherND", call_bind_tuples, LAYOUT_ROW_MAJOR, 1},
    {"Gelu", call_bind_map, LAYOUT_SAME, 1},
    {"Gemm", call_bind_gemm, LAYOUT_ROW_MAJOR, 1},
    {"GlobalAveragePool", call_bind_pool, LAYOUT_IMAGE, 1},
    {"GlobalLpPool", call_bind_pool_any, LAYOUT_ROW_MAJOR, 1},
    {"GlobalMaxPool", call_bind_pool, LAYOUT_IMAGE, 1},
    {"Greater", call_bind_zip, LAYOUT_ANY, 1},
    {"GreaterOrEqual", call_bind_zip, LAYOUT_ANY, 1},
    {"GridSample", call_bind_grid_sample, LAYOUT_ROW_MAJOR, 1},
    {"GroupNormalization", call_bind_group_norm, LAYOUT_ROW_MAJOR, 1},
    {"HardSigmoid", call_bind_map, LAYOUT_SAME, 1},
    {"HardSwish", call_bind_map, LAYOUT_SAME, 1},
    {"Hardmax", call_bind_softmax_any, LAYOUT_ROW_MAJOR, 1},
    {"Identity", call_bind_view, LAYOUT_SAME, 1},
    {"If", call_bind_control, LAYOUT_ROW_MAJOR, UINT32_MAX},
    {"InstanceNormalization", call_bind_group_norm, LAYOUT_ROW_MAJOR, 1},
    {"IsInf", call_bind_map, LAYOUT_SAME, 1},
    {"IsNaN", call_bind_map, LAYOUT_SAME, 1},
    {"LRN", call_bind_lrn, LAYOUT_IMAGE, 1},
    {"LSTM", call_bind_recurrent, LAYOUT_ROW_MAJOR, 3},
    {"LayerNormalization", call_bind_layer_norm, LAYOUT_ROW_MAJOR, 3},
    {"LeakyRelu", call_bind_unary, LAYOUT_SAME, 1},
    {"Less", call_bind_zip, LAYOUT_ANY, 1},
    {"LessOrEqual", call_bind_zip, LAYOUT_ANY, 1},
    {"Log", call_bind_map, LAYOUT_SAME, 1},
    {"LogSoftmax", call_bind_softmax_any, LAYOUT_ROW_MAJOR, 1},
    {"Loop", call_bind_control, LAYOUT_ROW_MAJOR, UINT32_MAX},
    {"LpNormalization", call_bind_lp_norm, LAYOUT_ROW_MAJOR, 1},
    {"LpPool", call_bind_pool_any, LAYOUT_ROW_MAJOR, 1},
    {"MatMul", call_bind_matmul, LAYOUT_ROW_MAJOR, 1},
    {"MatMulInteger", call_bind_product_quantised, LAYOUT_ROW_MAJOR, 1},
    {"Max", call_bind_zip_many, LAYOUT_ANY, 1},
    {"MaxPool", call_bind_pool, LAYOUT_IMAGE, 2},
    {"Mean", call_bind_zip_many, LAYOUT_ANY, 1},
    {"MeanVarianceNormalization", call_bind_mean_variance, LAYOUT_ROW_MAJOR, 1},
    {"Min", call_bind_zip_many, LAYOUT_ANY, 1},
    {"Mish", call_bind_map, LAYOUT_SAME, 1},
    {"Mod", call_bind_zip, LAYOUT_ANY, 1},
    {"Mul", call_bind_binary, LAYOUT_ANY, 1},
    {"Neg", call_bind_map, LAYOUT_SAME, 1},
    {"NonMaxSuppression", call_bind_suppress, LAYOUT_ROW_MAJOR, 1},
    {"NonZero", call_bind_nonzero, LAYOUT_ROW_MAJOR, 1},
    {"Not", call_bind_map, LAYOUT_SAME, 1},
    {"OneHot", call_bind_one_hot, LAYOUT_ROW_MAJOR, 1},
    {"Or", call_bind_zip, LAYOUT_ANY, 1},
    {"PRelu", call_bind_zip, LAYOUT_ANY, 1},
    {"Pad", call_bind_pad, LAYOUT_ROW_MAJOR, 1},
    {"Pow", call_bind_zip, LAYOUT_ANY, 1},
    {"QLinearConv", call_bind_conv_quantised, LAYOUT_ROW_MAJOR, 1},
    {"QLinearMatMul", call_bind_product_quantised, LAYOUT_ROW_MAJOR, 1},
    {"QuantizeLinear", call_bind_quantize, LAYOUT_ROW_MAJOR, 1},
    {"RMSNormalization", call_bind_layer_norm, LAYOUT_ROW_MAJOR, 1},
    {"RNN", call_bind_recurrent, LAYOUT_ROW_MAJOR, 2},
    {"Range", call_bind_range, LAYOUT_ROW_MAJOR, 1},
    {"Reciprocal", call_bind_map, LAYOUT_SAME, 1},
    {"ReduceL1", call_bind_reduce, LAYOUT_ROW_MAJOR, 1},
    {"ReduceL2", call_bind_reduce, LAYOUT_ROW_MAJOR, 1},
    {"ReduceLogSum", call_bind_reduce, LAYOUT_ROW_MAJOR, 1},
    {"ReduceLogSumExp", call_bind_reduce, LAYOUT_ROW_MAJOR, 1},
    {"ReduceMax", call_bind_reduce, LAYOUT_ROW_MAJOR, 1},
    {"ReduceMean", call_bind_reduce, LAYOUT_ROW_MAJOR, 1},
    {"ReduceMin", call_bind_reduce, LAYOUT_ROW_MAJOR, 1},
    {"ReduceProd", call_bind_reduce, LAYOUT_ROW_MAJOR, 1},
    {"ReduceSum", call_bind_reduce, LAYOUT_ROW_MAJOR, 1},
    {"ReduceSumSquare", call_bind_reduce, LAYOUT_ROW_MAJOR, 1},
    {"Relu", call_bind_unary, LAYOUT_SAME, 1},
    {"Reshape", call_bind_view, LAYOUT_ROW_MAJOR, 1},
    {"Resize", call_bind_resize, LAYOUT_ROW_MAJOR, 1},
    {"ReverseSequence", call_bind_reverse, LAYOUT_ROW_MAJOR, 1},
    {"RoiAlign", call_bind_roi_align, LAYOUT_ROW_MAJOR, 1},
    {"RotaryEmbedding", call_bind_rotary, LAYOUT_ROW_MAJOR, 1},
    {"Round", call_bind_map, LAYOUT_SAME, 1},
    {"Scatter", call_bind_elements, LAYOUT_ROW_MAJOR, 1},
    {"ScatterElements", call_bind_elements, LAYOUT_ROW_MAJOR, 1},
    {"ScatterND", call_bind_tuples, LAYOUT_ROW_MAJOR, 1},
    {"Selu", call_bind_map, LAYOUT_SAME, 1},
    {"Shape", call_bind_shape, LAYOUT_ROW_MAJOR, 1},
    {"Shrink", call_bind_map, LAYOUT_SAME, 1},
    {"Sigmoid", call_bind_unary, LAYOUT_SAME, 1},
    {"Sign", call_bind_map, LAYOUT_SAME, 1},
    {"Sin", call_bind_map, LAYOUT_SAME, 1},
    {"Sinh", call_bind_map, LAYOUT_SAME, 1},
    {"Size", call_bind_size, LAYOUT_ROW_MAJOR, 1},
    {"Slice", call_bind_slice, LAYOUT_ANY, 1},
    {"Softmax", call_bind_softmax, LAYOUT_ROW_MAJOR, 1},
    {"Softplus", call_bind_map, LAYOUT_SAME, 1},
    {"Softsign", call_bind_map, LAYOUT_SAME, 1},
    {"SpaceToDepth", call_bind_blocks, LAYOUT_ROW_MAJOR, 1},
    {"Split", call_bind_split, LAYOUT_ROW_MAJOR, UINT32_MAX},
    {"Sqrt", call_bind_map, LAYOUT_SAME, 1},
    {"Squeeze", call_bind_view, LAYOUT_ROW_MAJOR, 1},
    {"Sub", call_bind_binary, LAYOUT_ANY, 1},
    {"Sum", call_bind_sum, LAYOUT_ANY, 1},
    {"Swish", call_bind_map, LAYOUT_SAME, 1},
    {"Tan", call_bind_map, LAYOUT_SAME, 1},
    {"Tanh", call_bind_unary, LAYOUT_SAME, 1},
    {"TensorScatter", call_bind_cache_write, LAYOUT_ROW_MAJOR, 1},
    {"ThresholdedRelu", call_bind_map, LAYOUT_SAME, 1},
    {"Tile", call_bind_tile, LAYOUT_ROW_MAJOR, 1},
    {"TopK", call_bind_top_k, LAYOUT_ROW_MAJOR, 2},
    {"Transpose", call_bind_transpose, LAYOUT_ANY, 1},
    {"Trilu", call_bind_triangle, LAYOUT_ROW_MAJOR, 1},
    {"Unsqueeze", call_bind_view, LAYOUT_ROW_MAJOR, 1},
    {"Upsample", call_bind_resize, LAYOUT_ROW_MAJOR, 1},
    {"Where", call_bind_where, LAYOUT_ROW_MAJOR, 1},
    {"Xor", call_bind_zip, LAYOUT_ANY, 1},
    {"com.microsoft.FusedMatMul", call_bind_fused_matmul, LAYOUT_ROW_MAJOR, 1},
};

/* Operators of other people's libraries. */
static const struct binder copr_binder = {"", call_bind_copr, LAYOUT_ROW_MAJOR, UINT32_MAX};

static const struct binder *find_type(const char *full_type)
{
    for (size_t i = 0; i < sizeof(binders) / sizeof(binders[0]); i++)
        if (strcmp(binders[i].op_type, full_type) == 0)
            return &binders[i];
    return NULL;
}

static const struct binder *find_binder(const struct node *node)
{
    char type[NODE_TYPE_BYTES];

    return copr_is(node) ? &copr_binder : find_type(node_full_type(node, type));
}

call_bind_fn *call_binder(const char *full_type)
{
    const struct binder *binder = find_type(full_type);

    return binder ? binder->bind : NULL;
}

bool call_is_read(const struct node *node, uint32_t output)
{
    const struct value *value = node_output(node, output);

    return value && (value->consumer_count || value->is_output);
}

bool call_is_view(const struct node *node)
{
    const struct binder *binder = find_binder(node);

    return binder &&
           (binder->bind == call_bind_view ||
            (binder->bind == call_bind_dropout && node_output(node, 0) && !call_is_read(node, 1)));
}

enum layout_need call_layout_need(const struct node *node)
{
    const struct binder *binder = find_binder(node);

    /* The kernels for places of maxima and for training know row-major images only. */
    if (!binder || (binder->need == LAYOUT_IMAGE &&
                    (call_is_read(node, 1) || node_int(node, "training_mode", 0) != 0)))
        return LAYOUT_ROW_MAJOR;
    return binder->need;
}

int call_in_place_input(const struct node *node)
{
    const struct binder *binder = find_binder(node);
    const struct value *y = node_output(node, 0);

    if (!binder || !y || !node_input(node, 0) || node->inputs[0]->dtype != y->dtype)
        return -1;
    if (binder->bind == call_bind_unary || binder->bind == call_bind_batch_norm ||
        binder->bind == call_bind_softmax || binder->bind == call_bind_map)
        return 0;
    if (binder->bind != call_bind_binary && binder->bind != call_bind_sum &&
        binder->bind != call_bind_chain)
        return -1;
    /* Of a sum, only the first two operands are still to be read when the first result is written;
     * a chain has read all of a block by then. */
    for (uint32_t i = 0; i < (binder->bind == call_bind_chain ? node->input_count : 2); i++) {
        const struct value *x = node_input(node, i);

        if (x && !x->data && shape_equal(&x->shape, &y->shape))
            return (int)i;
    }
    return -1;
}

int call_refuse(const struct call_request *request, int error, const char *format, ...)
{
    const struct node *node = request->node;
    char text[300];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return diag_set(request->diag, error, "node \"%s\" (%s%s%s, opset %" PRId64 "): %s", node->name,
                    node->domain, node->domain[0] ? "." : "", node->op_type,
                    graph_opset(request->graph, node->domain), text);
}

struct kernel_activation call_activation(const struct node *node)
{
    static const enum kernel_unary kinds[] = {
        [ACTIVATION_NONE] = KERNEL_IDENTITY,         [ACTIVATION_RELU] = KERNEL_RELU,
        [ACTIVATION_LEAKY_RELU] = KERNEL_LEAKY_RELU, [ACTIVATION_CLIP] = KERNEL_CLIP,
        [ACTIVATION_SIGMOID] = KERNEL_SIGMOID,       [ACTIVATION_TANH] = KERNEL_TANH,
    };

    return (struct kernel_activation){kinds[node->fused.activation], node->fused.alpha,
                                      node->fused.beta};
}

/* Conv applies what is fused itself; for the others the activation is a second pass. */
static int bind_fused(const struct call_request *request, call_bind_fn *binder, struct call *call)
{
    const struct node *node = request->node;

    if (binder == call_bind_conv)
        return 0;
    if (node->fused.residual_input >= 0)
        return call_refuse(request, -ENOTSUP, "no kernel adds a residual to this operator");
    if (node->fused.activation == ACTIVATION_NONE)
        return 0;
    if (request->outputs[0].dtype != DTYPE_F32)
        return call_refuse(request, -ENOTSUP, "no kernel applies an activation to %s",
                           dtype_name(request->outputs[0].dtype));
    call->activation = call_activation(node);
    call->activate = request->kernels->unary_f32[call->activation.kind].fn;
    call->activate_count = (size_t)shape_elements(&request->outputs[0].shape);
    return 0;
}

int call_bind(const struct call_request *request, struct call *out_call)
{
    const struct node *node = request->node;
    const struct binder *binder = find_binder(node);
    struct call call = {0};
    int rc;

    if (!binder)
        return call_refuse(request, -ENOTSUP, "no kernel for this operator");
    if (node->output_count == 0 || (!node->outputs[0] && binder->outputs <= 1))
        return call_refuse(request, -EINVAL, "it has no output");
    for (uint32_t i = binder->outputs ? binder->outputs : 1; i < node->output_count; i++)
        if (node->outputs[i] && (node->outputs[i]->consumer_count || node->outputs[i]->is_output))
            return call_refuse(request, -ENOTSUP, "no kernel computes its output %" PRIu32, i);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (request->inputs[i].dtype != DTYPE_NONE && !shape_is_known(&request->inputs[i].shape))
            return call_refuse(request, -EINVAL, "the shape of its input %" PRIu32 " is not known",
                               i);
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] &&
            shape_bytes(&request->outputs[i].shape, request->outputs[i].dtype) < 0)
            return call_refuse(request, -EINVAL, "the shape or dtype of its output is not known");

    rc = binder->bind(request, &call);
    if (rc == 0)
        rc = bind_fused(request, binder->bind, &call);
    if (rc == 0)
        *out_call = call;
    else
        call_deinit(&call);
    return rc;
}

void call_deinit(struct call *call)
{
    kernel_conv_plan_destroy(&call->plan);
    kernel_gemm_plan_destroy(&call->gemm);
    call_half_destroy(&call->half);
    free(call->params);
    *call = (struct call){0};
}

const void *call_weights(const struct call *call, size_t *out_bytes)
{
    if (call->plan) {
        *out_bytes = kernel_conv_plan_info(call->plan).weights_bytes;
        return kernel_conv_plan_info(call->plan).weights;
    }
    if (call->gemm) {
        *out_bytes = kernel_gemm_plan_info(call->gemm).weights_bytes;
        return kernel_gemm_plan_info(call->gemm).weights;
    }
    return NULL;
}

const struct tensor_view *call_input(const struct call_request *request, uint32_t index)
{
    if (index >= request->node->input_count || request->inputs[index].dtype == DTYPE_NONE)
        return NULL;
    return &request->inputs[index];
}

int call_params(const struct call_request *request, struct call *call, size_t bytes)
{
    call->params = calloc(1, bytes);
    return call->params ? 0 : call_refuse(request, -ENOMEM, "out of memory");
}

bool call_dtype(enum dtype dtype, enum kernel_dtype *out_dtype)
{
    static const struct {
        enum dtype dtype;
        enum kernel_dtype kernel;
    } types[] = {
        {DTYPE_F32, KERNEL_F32}, {DTYPE_F64, KERNEL_F64},   {DTYPE_F16, KERNEL_F16},
        {DTYPE_I8, KERNEL_I8},   {DTYPE_I16, KERNEL_I16},   {DTYPE_I32, KERNEL_I32},
        {DTYPE_I64, KERNEL_I64}, {DTYPE_U8, KERNEL_U8},     {DTYPE_U16, KERNEL_U16},
        {DTYPE_U32, KERNEL_U32}, {DTYPE_BOOL, KERNEL_BOOL}, {DTYPE_BF16, KERNEL_BF16},
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (types[i].dtype == dtype) {
            *out_dtype = types[i].kernel;
            return true;
        }
    }
    return false;
}

int call_require_f32(const struct call_request *request, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i <= last; i++) {
        const struct tensor_view *input = call_input(request, i);

        if (input && input->dtype != DTYPE_F32)
            return call_refuse(request, -ENOTSUP, "no kernel for %s in input %" PRIu32,
                               dtype_name(input->dtype), i);
    }
    if (request->outputs[0].dtype != DTYPE_F32)
        return call_refuse(request, -ENOTSUP, "no kernel for a result of %s",
                           dtype_name(request->outputs[0].dtype));
    return 0;
}

static int ints_of_input(const struct call_request *request, uint32_t index, int64_t *out_ints)
{
    const struct tensor_view *input = &request->inputs[index];
    int64_t count = shape_elements(&input->shape);

    if ((input->dtype != DTYPE_I64 && input->dtype != DTYPE_I32) || input->shape.rank > 1 ||
        count > CALL_MAX_INTS)
        return call_refuse(request, -EINVAL, "input %" PRIu32 " is not a short list of integers",
                           index);
    if (!input->data && count > 0)
        return call_refuse(request, -ENOTSUP, "input %" PRIu32 " is not known before the run",
                           index);
    for (int64_t i = 0; i < count; i++)
        out_ints[i] = input->dtype == DTYPE_I64 ? ((const int64_t *)input->data)[i]
                                                : ((const int32_t *)input->data)[i];
    return (int)count;
}

int call_ints(const struct call_request *request, uint32_t input, const char *attribute,
              int64_t out_ints[CALL_MAX_INTS], bool *out_given)
{
    const int64_t *ints = NULL;
    size_t count = 0;

    *out_given = true;
    if (call_input(request, input))
        return ints_of_input(request, input, out_ints);
    if (attribute && node_attribute(request->node, attribute)) {
        ints = node_ints(request->node, attribute, &count);
        if (count > CALL_MAX_INTS)
            return call_refuse(request, -EINVAL, "attribute %s is too long", attribute);
        if (count)
            memcpy(out_ints, ints, count * sizeof(*ints));
        return (int)count;
    }
    *out_given = false;
    return 0;
}

int call_axis(const struct call_request *request, int64_t axis, int limit)
{
    if (axis < -limit || axis >= limit)
        return call_refuse(request, -EINVAL, "axis %" PRId64 " is not within %d axes", axis, limit);
    return (int)(axis < 0 ? axis + limit : axis);
}

static void strides_of(const struct layout *layout, const struct shape *shape, int64_t *out)
{
    struct layout row_major = layout_row_major(shape->rank);

    layout_strides(layout ? layout : &row_major, shape, out);
}

void call_input_strides(const struct call_request *request, uint32_t index, int64_t *out_strides)
{
    strides_of(request->input_layouts ? &request->input_layouts[index] : NULL,
               &request->inputs[index].shape, out_strides);
}

void call_output_strides(const struct call_request *request, int64_t *out_strides)
{
    strides_of(request->output_layouts, &request->outputs[0].shape, out_strides);
}

struct layout call_output_layout(const struct call_request *request)
{
    return request->output_layouts ? request->output_layouts[0]
                                   : layout_row_major(request->outputs[0].shape.rank);
}

bool call_is_channels_last(const struct call_request *request)
{
    const struct shape *x = &request->inputs[0].shape;

    return request->input_layouts && !layout_is_row_major(&request->input_layouts[0], x) &&
           layout_is_channels_last(&request->input_layouts[0], x);
}
