/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensors half precision would not make a little wrong, but another number altogether. */
#include <string.h>

#include "runtime/ops/call/call.h"
#include "runtime/passes/pass.h"

static bool is_named(const struct node *node, const char *const *names)
{
    for (; node->domain[0] == '\0' && *names; names++)
        if (strcmp(node->op_type, *names) == 0)
            return true;
    return false;
}

static bool is_real(enum dtype dtype)
{
    return dtype == DTYPE_F32 || dtype == DTYPE_F64 || dtype == DTYPE_F16 || dtype == DTYPE_BF16;
}

static uint32_t inputs_of_reader(const struct node *node)
{
    static const char *const casts[] = {"Cast", "CastLike", NULL};

    if (is_named(node, casts))
        return node_output(node, 0) && !is_real(node->outputs[0]->dtype);
    return call_wide_inputs(node);
}

/* A product by one row or column is an outer product: each element is a product of two. */
static bool is_outer(const struct node *node)
{
    static const char *const names[] = {"MatMul", NULL};
    const struct value *a = node_input(node, 0);

    return is_named(node, names) && a && a->shape.rank >= 2 &&
           a->shape.dims[a->shape.rank - 1] == 1;
}

static bool is_elementwise(const struct graph *graph, const struct node *node)
{
    static const char *const others[] = {"Clip", "Max", "Mean", "Min", "Sum", NULL};
    struct kernel_map_args map;
    enum kernel_zip zip;

    return node->domain[0] == '\0' &&
           (call_map_of(graph, node, &map) || call_zip_of(node->op_type, &zip) ||
            is_named(node, others) || is_outer(node));
}

static bool is_reduction(const struct node *node)
{
    return node->domain[0] == '\0' && call_binder(node->op_type) == call_bind_reduce;
}

/* What is marked, because of what reads it. */
struct marking {
    const struct graph *graph;
    enum dtype dtype; /* of what is marked */
    uint32_t (*inputs)(const struct node *node);
};

static void mark(struct value *value, enum dtype dtype)
{
    if (value && value->dtype == dtype)
        value->stays_wide = true;
}

static bool makes_wide(const struct node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] && node->outputs[i]->stays_wide)
            return true;
    return false;
}

static void mark_inputs(const struct marking *marking, const struct node *node)
{
    uint32_t inputs = marking->inputs(node);
    bool is_passed_on =
        makes_wide(node) && (is_elementwise(marking->graph, node) || call_moves(node));

    for (uint32_t i = 0; i < node->input_count; i++)
        if (is_passed_on || (i < 32 && (inputs >> i & 1) != 0))
            mark(node->inputs[i], marking->dtype);
}

/* Readers stand behind what they read. */
static void mark_all(const struct marking *marking)
{
    for (uint32_t n = marking->graph->node_count; n-- > 0;)
        mark_inputs(marking, marking->graph->nodes[n]);
}

/* What a term is made of may be rounded: it is squared, or raised to a power, behind that. */
static void mark_terms(const struct graph *graph, const struct node *node)
{
    struct value *terms = node_input(node, 0);

    if (terms && terms->producer && is_elementwise(graph, terms->producer) && is_reduction(node) &&
        makes_wide(node))
        mark(terms, DTYPE_F32);
}

void pass_mark_wide(const struct graph *graph)
{
    mark_all(&(const struct marking){graph, DTYPE_F32, inputs_of_reader});
    for (uint32_t n = 0; n < graph->node_count; n++)
        mark_terms(graph, graph->nodes[n]);
}

/* Operators that are not defined everywhere, but smooth where they are: to round less is no step. */
static uint32_t inputs_of_step(const struct node *node)
{
    static const char *const smooth[] = {"Acos", "Acosh",      "Asin",         "Atanh", "Cos",
                                         "Det",  "Div",        "Log",          "Pow",   "Sin",
                                         "Sqrt", "Reciprocal", "ReduceLogSum", "Tan",   NULL};

    return is_named(node, smooth) ? 0 : inputs_of_reader(node);
}

void pass_mark_steps(const struct graph *graph, enum dtype dtype)
{
    mark_all(&(const struct marking){graph, dtype, inputs_of_step});
}
