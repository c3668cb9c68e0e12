/* SPDX-License-Identifier: Apache-2.0 */
/* How much a step computes and how many bytes it moves. */
#include <string.h>

#include "base/op_flop.h"
#include "runtime/exec/op_cost.h"
#include "runtime/graph/fused_ops.h"

static int64_t elements(const struct value *value)
{
    return !value ? 0 : shape_elements(&value->shape);
}

/* One per step and element, of what only passes make. */
static int64_t chain(const struct node *node)
{
    const struct attribute *steps = node_attribute(node, "steps");

    return !steps ? 0 : elements(node->outputs[0]) * (int64_t)steps->count;
}

static double number_of(const void *node, const char *name, double fallback)
{
    const struct attribute *attribute = node_attribute(node, name);

    if (!attribute)
        return fallback;
    return attribute->type == ATTRIBUTE_FLOAT ? (double)attribute->f
                                              : (double)node_int(node, name, (int64_t)fallback);
}

static const char *text_of(const void *node, const char *name)
{
    return node_string(node, name, NULL);
}

static const int64_t *ints_of(const void *node, const char *name, size_t *out_count)
{
    return node_ints(node, name, out_count);
}

static struct op_flop_shape shape_of(const struct value *value)
{
    struct op_flop_shape shape = {.rank = -1};

    if (value) {
        shape.rank = value->shape.rank;
        for (int i = 0; i < shape.rank; i++)
            shape.dims[i] = value->shape.dims[i];
    }
    return shape;
}

_Static_assert((int)OP_FLOP_RANK_MAX >= (int)SHAPE_MAX_RANK, "every shape has room");

static int64_t by_definition(const struct node *node, const char *type)
{
    struct op_flop_attributes attributes = {node, number_of, text_of, ints_of};
    struct op_flop_call call = {
        .name = type, .input_count = node->input_count, .attributes = &attributes};
    uint32_t first = 0; /* the first output may be left out */

    while (first + 1 < node->output_count && !node->outputs[first])
        first++;
    for (uint32_t i = 0; i < node->input_count && i < OP_FLOP_TENSORS_MAX; i++)
        call.inputs[i] = shape_of(node->inputs[i]);
    call.output = shape_of(node_output(node, first));
    return op_flop(&call);
}

int64_t op_cost_computation(const struct node *node)
{
    char text[NODE_TYPE_BYTES];

    return by_definition(node, node_full_type(node, text));
}

static int64_t fused_computation(const struct node *node)
{
    return elements(node->outputs[0]) *
           ((node->fused.activation != ACTIVATION_NONE) + (node->fused.residual_input >= 0));
}

static int64_t computation_of(const struct exec_step *step)
{
    const struct node *node = step->node;
    int64_t computation;

    /* A reorder works for a node, but does not do its work. */
    if (strcmp(step->type, node->op_type) != 0)
        return strcmp(step->type, "Reorder") == 0 || strncmp(step->type, "CopyTo", 6) == 0 ? 0 : -1;
    if (strcmp(step->type, CHAIN_OP_TYPE) == 0 || strcmp(step->type, PREPROCESS_OP_TYPE) == 0)
        computation = chain(node);
    else
        computation = op_cost_computation(node);
    return computation < 0 ? -1 : computation + fused_computation(node);
}

static int64_t bytes_of(const struct value *value)
{
    return !value ? 0 : shape_bytes(&value->shape, value->dtype);
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
        if (values[i] && !shape_is_known(&values[i]->shape))
            return false;
    return true;
}

struct op_cost op_cost_of(const struct exec_step *step)
{
    if (!is_known(step->inputs, step->input_count) || !is_known(step->outputs, step->output_count))
        return (struct op_cost){-1, -1};
    return (struct op_cost){computation_of(step), memory_of(step)};
}
