/* SPDX-License-Identifier: Apache-2.0 */
/* A model that says float16 or bfloat16 becomes one of float32 whose weights are stored so: its operators compute in
 * float32 anyway, and what they would narrow and widen between them costs time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/call/call.h"
#include "runtime/passes/agree.h"
#include "runtime/passes/pass.h"

enum {
    SMALL = 1 << 16, /* elements of a constant that is widened whoever reads it */
    HEAVY = 1 << 16, /* bytes of weights for which it is worth it */
};

struct widening {
    const struct graph *graph;
    enum dtype dtype;
    bool *is_wide; /* by value->index */
};

static bool is_among(const char *op_type, const char *const *names)
{
    while (*names && strcmp(op_type, *names) != 0)
        names++;
    return *names;
}

/* All of its numbers have one type, and its kernels know float32 as well as any other. */
static bool is_uniform(const struct node *node)
{
    static const char *const names[] = {"Concat",
                                        "CumSum",
                                        "DepthToSpace",
                                        "Expand",
                                        "Flatten",
                                        "Gather",
                                        "GatherElements",
                                        "GatherND",
                                        "Identity",
                                        "LogSoftmax",
                                        "LpNormalization",
                                        "Pad",
                                        "Pow",
                                        "Reshape",
                                        "ReverseSequence",
                                        "RotaryEmbedding",
                                        "Scatter",
                                        "ScatterElements",
                                        "ScatterND",
                                        "Slice",
                                        "SpaceToDepth",
                                        "Split",
                                        "Squeeze",
                                        "Tile",
                                        "Transpose",
                                        "Trilu",
                                        "Unsqueeze",
                                        "Where",
                                        NULL};

    return node->domain[0] == '\0' && is_among(node->op_type, names);
}

static bool is_cast(const struct node *node)
{
    return node->domain[0] == '\0' && strcmp(node->op_type, "Cast") == 0;
}

static bool accepts(const struct node *node)
{
    return node->captured_count == 0 && !node_decides_sizes(node) &&
           (is_cast(node) || is_uniform(node) || call_widens(node));
}

/* A rounding that somebody asks for. */
static bool is_rounded_alone(const struct value *value)
{
    if (!is_cast(value->producer))
        return false;
    for (uint32_t i = 0; i < value->consumer_count; i++)
        if (!is_cast(value->consumers[i]))
            return false;
    return true;
}

/* Read as weights alone, by operators before which passes know of deferred constants. */
static bool may_defer(const struct value *value)
{
    static const char *const by_right[] = {"Conv", "Gemm", "MatMul", NULL};

    for (uint32_t i = 0; i < value->consumer_count; i++) {
        const struct node *node = value->consumers[i];
        uint32_t place = strcmp(node->op_type, "Gather") == 0 ? 0 : 1;

        if (node->domain[0] != '\0' || value->read_as[i] != place ||
            (place == 1 && !is_among(node->op_type, by_right)))
            return false;
    }
    return value->shape.rank >= 2;
}

/* Large weights of operators that keep them in their type. */
static bool is_kept(const struct value *value)
{
    static const char *const readers[] = {"ConvTranspose", "Einsum", "FusedMatMul", "GRU",
                                          "LSTM",          "RNN",    NULL};

    for (uint32_t i = 0; i < value->consumer_count; i++)
        if (!is_among(value->consumers[i]->op_type, readers))
            return false;
    return shape_elements(&value->shape) > SMALL;
}

static bool may_be_wide(const struct widening *widening, const struct value *value)
{
    if (value->dtype != widening->dtype || value->is_input || value->is_output ||
        value->decides_sizes || value->stays_wide || value->consumer_count == 0 ||
        shape_elements(&value->shape) < 0)
        return false;
    if (value->data ? is_kept(value)
                    : !value->producer || !accepts(value->producer) || is_rounded_alone(value))
        return false;
    for (uint32_t i = 0; i < value->consumer_count; i++)
        if (!accepts(value->consumers[i]))
            return false;
    return true;
}

/* Of a uniform node, what has the type. */
static struct value *member(const void *context, const struct node *node, uint32_t i)
{
    const struct widening *widening = context;
    struct value *value =
        i < node->input_count ? node->inputs[i] : node->outputs[i - node->input_count];

    return value && value->dtype == widening->dtype && is_uniform(node) ? value : NULL;
}

static int choose(const struct widening *widening)
{
    const struct graph *graph = widening->graph;

    pass_mark_steps(graph, widening->dtype);
    for (uint32_t i = 0; i < graph->value_count; i++)
        widening->is_wide[i] = may_be_wide(widening, graph->values[i]);
    return pass_agree(graph, widening->is_wide, member, widening);
}

static int widen(struct value *value)
{
    free(value->known); /* in its type */
    value->known = NULL;
    if (value->data) {
        bool waits = may_defer(value);

        value_defer_half(value);
        return waits ? 0 : value_settle(value);
    }
    value->dtype = DTYPE_F32;
    return is_cast(value->producer) ? node_set_int(value->producer, "to", DTYPE_F32) : 0;
}

static int64_t weights_of(const struct graph *graph, enum dtype dtype)
{
    int64_t bytes = 0;

    for (uint32_t i = 0; i < graph->value_count; i++)
        if (graph->values[i]->data && graph->values[i]->dtype == dtype)
            bytes += shape_bytes(&graph->values[i]->shape, dtype);
    return bytes;
}

/* The type of its weights. A model without, or one that has some tensors in another type than those, says where it
 * wants a rounding. */
static enum dtype type_of(const struct graph *graph)
{
    int64_t f16 = weights_of(graph, DTYPE_F16), bf16 = weights_of(graph, DTYPE_BF16);
    int64_t most = f16 > bf16 ? f16 : bf16;

    if (most < HEAVY || most < weights_of(graph, DTYPE_F32))
        return DTYPE_NONE;
    return f16 == most ? DTYPE_F16 : DTYPE_BF16;
}

int pass_widen(struct graph *graph, enum dtype *out_dtype, struct diag *diag)
{
    struct widening widening = {.graph = graph, .dtype = type_of(graph)};
    int rc = 0, count = 0;

    if (widening.dtype == DTYPE_NONE)
        return 0;
    widening.is_wide = calloc(graph->value_count + 1, sizeof(*widening.is_wide));
    rc = widening.is_wide ? 0 : -ENOMEM;
    if (rc == 0)
        rc = choose(&widening);
    for (uint32_t i = 0; rc == 0 && i < graph->value_count; i++)
        count += widening.is_wide[i] && !graph->values[i]->data;
    for (uint32_t i = 0; rc == 0 && count > 0 && i < graph->value_count; i++)
        if (widening.is_wide[i])
            rc = widen(graph->values[i]);
    free(widening.is_wide);
    if (rc < 0)
        return diag_set(diag, rc, "no memory to widen the model's %s", dtype_name(widening.dtype));
    if (count > 0)
        *out_dtype = widening.dtype;
    return count;
}
