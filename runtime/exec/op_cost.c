/* SPDX-License-Identifier: Apache-2.0 */
/* How much a step computes and how many bytes it moves. */
#include <string.h>

#include "base/op_flop.h"
#include "runtime/exec/op_cost.h"
#include "runtime/graph/fused_ops.h"

static int64_t elements(const struct value *value)
{
    return value == NULL ? 0 : shape_elements(&value->shape);
}

static int64_t spatial_elements(const struct shape *shape)
{
    int64_t count = 1;

    for (int i = 2; i < shape->rank; i++)
        count *= shape->dims[i];
    return count;
}

static int64_t elementwise(const struct node *node)
{
    int64_t operands = 0;

    for (uint32_t i = 0; i < node->input_count; i++)
        operands += node->inputs[i] != NULL;
    return FLOP_OF_ELEMENTWISE(elements(node->outputs[0]), operands);
}

/* One per step and element. */
static int64_t chain(const struct node *node)
{
    const struct attribute *steps = node_attribute(node, "steps");

    return steps == NULL ? 0 : elements(node->outputs[0]) * (int64_t)steps->count;
}

/* One per element: Clip has bounds among its inputs, which are no operands. */
static int64_t one_each(const struct node *node)
{
    return elements(node->outputs[0]);
}

static int64_t fused_matmul(const struct node *node)
{
    const struct shape *a = &node->inputs[0]->shape;
    bool is_batch = node_int(node, "transBatchA", 0) != 0;
    int axis = node_int(node, "transA", 0) == 0 || a->rank < 2 ? a->rank - 1
               : is_batch                                      ? 0
                                                               : a->rank - 2;

    return FLOP_OF_PRODUCT(elements(node->outputs[0]), a->dims[axis], false);
}

static int64_t conv(const struct node *node)
{
    const struct shape *w = &node->inputs[1]->shape;
    /* w holds channels / group already. */
    return FLOP_OF_CONV(elements(node->outputs[0]), w->dims[1] * spatial_elements(w),
                        node_input(node, 2) != NULL);
}

static int64_t gemm(const struct node *node)
{
    const struct shape *a = &node->inputs[0]->shape;
    int64_t k = a->dims[node_int(node, "transA", 0) != 0 ? 0 : 1];

    return FLOP_OF_PRODUCT(elements(node->outputs[0]), k, node_input(node, 2) != NULL);
}

static int64_t matmul(const struct node *node)
{
    const struct shape *a = &node->inputs[0]->shape;

    return FLOP_OF_PRODUCT(elements(node->outputs[0]), a->dims[a->rank - 1],
                           node_input(node, 2) != NULL);
}

static int64_t pool(const struct node *node)
{
    int64_t area = 1;
    size_t count;
    const int64_t *kernel = node_ints(node, "kernel_shape", &count);

    for (size_t i = 0; i < count; i++)
        area *= kernel[i];
    return elements(node->outputs[0]) * area;
}

static int64_t global_pool(const struct node *node)
{
    return elements(node->inputs[0]);
}

static int64_t batch_norm(const struct node *node)
{
    return FLOP_OF_BATCH_NORM(elements(node->outputs[0]));
}

static int64_t softmax(const struct node *node)
{
    return FLOP_OF_SOFTMAX(elements(node->outputs[0]));
}

static int64_t lrn(const struct node *node)
{
    return elements(node->outputs[0]) * (2 * node_int(node, "size", 1) + 4);
}

static int64_t nothing(const struct node *node)
{
    (void)node;
    return 0;
}

static const struct {
    const char *type;
    int64_t (*computation)(const struct node *node);
} formulas[] = {
    {"Add", elementwise},
    {"AveragePool", pool},
    {"BatchNormalization", batch_norm},
    {"Cast", nothing},
    {"Clip", one_each},
    {"Concat", nothing},
    {"ConstantOfShape", nothing},
    {"Conv", conv},
    {"Div", elementwise},
    {"Dropout", nothing},
    {"Expand", nothing},
    {"Flatten", nothing},
    {CHAIN_OP_TYPE, chain},
    {PREPROCESS_OP_TYPE, chain},
    {"com.microsoft.FusedMatMul", fused_matmul},
    {"Gather", nothing},
    {"Gemm", gemm},
    {"GlobalAveragePool", global_pool},
    {"GlobalMaxPool", global_pool},
    {"Identity", nothing},
    {"LRN", lrn},
    {"LeakyRelu", elementwise},
    {"MatMul", matmul},
    {"MaxPool", pool},
    {"Mul", elementwise},
    {"Pad", nothing},
    {"Relu", elementwise},
    {"Reorder", nothing},
    {"Reshape", nothing},
    {"Shape", nothing},
    {"Sigmoid", elementwise},
    {"Slice", nothing},
    {"Softmax", softmax},
    {"Squeeze", nothing},
    {"Sub", elementwise},
    {"Sum", elementwise},
    {"Tanh", elementwise},
    {"Tile", nothing},
    {"Transpose", nothing},
    {"Unsqueeze", nothing},
};

static int64_t fused_computation(const struct node *node)
{
    return elements(node->outputs[0]) *
           ((node->fused.activation != ACTIVATION_NONE) + (node->fused.residual_input >= 0));
}

static int64_t computation_of(const struct exec_step *step)
{
    char text[NODE_TYPE_BYTES];
    const char *type = strcmp(step->type, step->node->op_type) == 0
                           ? node_full_type(step->node, text)
                           : step->type;

    for (size_t i = 0; i < sizeof(formulas) / sizeof(formulas[0]); i++) {
        if (strcmp(formulas[i].type, type) != 0)
            continue;
        /* A reorder works for a node, but does not do its work. */
        if (strcmp(step->type, "Reorder") == 0)
            return 0;
        return formulas[i].computation(step->node) + fused_computation(step->node);
    }
    return -1;
}

static int64_t bytes_of(const struct value *value)
{
    return value == NULL ? 0 : shape_bytes(&value->shape, value->dtype);
}

static int64_t memory_of(const struct exec_step *step)
{
    bool picks = strcmp(step->type, "Gather") == 0 || strcmp(step->type, "Slice") == 0;
    int64_t written = 0;
    int64_t read = 0;

    for (uint32_t i = 0; i < step->output_count; i++)
        written += bytes_of(step->outputs[i]);
    for (uint32_t i = picks ? 1 : 0; i < step->input_count; i++)
        read += bytes_of(step->inputs[i]);
    return picks ? written * 2 + read : written + read;
}

/* Inside of a body, shapes may be known no sooner than it runs. */
static bool is_known(const struct value *const *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (values[i] != NULL && !shape_is_known(&values[i]->shape))
            return false;
    return true;
}

struct footprint footprint_of(const struct exec_step *step)
{
    if (!is_known(step->inputs, step->input_count) || !is_known(step->outputs, step->output_count))
        return (struct footprint){-1, -1};
    return (struct footprint){computation_of(step), memory_of(step)};
}
