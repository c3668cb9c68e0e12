/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: which operators there are, since which operator set, and the rule of each. */
#include "runtime/shape/infer.h"

/* Sorted by name (strcmp). */
const struct shape_op shape_ops[] = {
    /* name, since, inputs from, to, outputs to, rule */
    {"Add", 1, 2, 2, 1, shape_binary},
    {"AveragePool", 1, 1, 1, 1, shape_average_pool},
    {"BatchNormalization", 1, 5, 5, 5, shape_batch_norm},
    {"Cast", 1, 1, 1, 1, shape_cast},
    {"Clip", 1, 1, 3, 1, shape_clip},
    {"Concat", 1, 1, INPUTS_ANY, 1, shape_concat},
    {"Constant", 1, 0, 0, 1, shape_constant},
    {"ConstantOfShape", 9, 1, 1, 1, shape_constant_of_shape},
    {"Conv", 1, 2, 3, 1, shape_conv},
    {"Div", 1, 2, 2, 1, shape_binary},
    {"Dropout", 1, 1, 3, 2, shape_dropout},
    {"Expand", 8, 2, 2, 1, shape_expand},
    {"Flatten", 1, 1, 1, 1, shape_flatten},
    {"Gather", 1, 2, 2, 1, shape_gather},
    {"Gemm", 1, 2, 3, 1, shape_gemm},
    {"GlobalAveragePool", 1, 1, 1, 1, shape_global_pool},
    {"GlobalMaxPool", 1, 1, 1, 1, shape_global_pool},
    {"Identity", 1, 1, 1, 1, shape_same},
    {"LRN", 1, 1, 1, 1, shape_lrn},
    {"LeakyRelu", 1, 1, 1, 1, shape_unary_float},
    {"MatMul", 1, 2, 2, 1, shape_matmul},
    {"MaxPool", 1, 1, 1, 2, shape_max_pool},
    {"Mul", 1, 2, 2, 1, shape_binary},
    {"Pad", 1, 1, 4, 1, shape_pad},
    {"Relu", 1, 1, 1, 1, shape_same},
    {"Reshape", 1, 1, 2, 1, shape_reshape},
    {"Shape", 1, 1, 1, 1, shape_shape},
    {"Sigmoid", 1, 1, 1, 1, shape_unary_float},
    {"Slice", 1, 1, 5, 1, shape_slice},
    {"Softmax", 1, 1, 1, 1, shape_softmax},
    {"Squeeze", 1, 1, 2, 1, shape_squeeze},
    {"Sub", 1, 2, 2, 1, shape_binary},
    {"Sum", 1, 1, INPUTS_ANY, 1, shape_sum},
    {"Tanh", 1, 1, 1, 1, shape_unary_float},
    {"Tile", 1, 2, 3, 1, shape_tile},
    {"Transpose", 1, 1, 1, 1, shape_transpose},
    {"Unsqueeze", 1, 1, 2, 1, shape_unsqueeze},
};

const size_t shape_op_count = sizeof(shape_ops) / sizeof(shape_ops[0]);
