/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuse what stands right behind an input of the graph, as before images go into a network: casts to
 * float32, transpositions, a pad by a constant, and sums and products with constants become one
 * node, "FusedPreprocess". What it does stands in its attributes:
 *
 *     perm      axis i of the result is axis perm[i] of the input
 *     pads      per axis of the result how many elements before, then behind; left out: none
 *     value     what those are
 *     steps, operands  as of fuse_chains.c; the constants are broadcast to the result
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/element.h"
#include "runtime/ops/call/call.h"
#include "runtime/passes/pass.h"

enum { NODES_MAX = 12 };

struct preprocess {
    struct graph *graph;
    struct node *nodes[NODES_MAX];
    uint32_t node_count;
    bool has_moved; /* a cast, transposition or pad is among them */
    int rank;
    int64_t perm[SHAPE_MAX_RANK];
    bool has_pads;
    int64_t pads[2 * SHAPE_MAX_RANK];
    float value;
    struct value *inputs[1 + NODES_MAX];
    uint32_t input_count;
    const char *steps[NODES_MAX];
    int64_t operands[2 * NODES_MAX]; /* KERNEL_CHAIN_RESULT + s until it is written */
    uint32_t step_count;
};

static bool is_op(const struct node *node, const char *op_type)
{
    return node->domain[0] == '\0' && strcmp(node->op_type, op_type) == 0;
}

/* --- One node after the other; each returns 1 when it took the node, 0, or -ENOMEM. --- */

static int take_cast(struct preprocess *p, const struct node *node)
{
    enum kernel_dtype from;

    if (!is_op(node, "Cast") || node->outputs[0]->dtype != DTYPE_F32 || p->step_count > 0 ||
        !call_dtype(node->inputs[0]->dtype, &from))
        return 0;
    p->has_moved = true;
    return 1;
}

static void permute(int64_t *list, const int64_t *perm, int rank)
{
    int64_t old[SHAPE_MAX_RANK];

    memcpy(old, list, sizeof(*list) * (size_t)rank);
    for (int i = 0; i < rank; i++)
        list[i] = old[perm[i]];
}

/* The constants that were combined before the transposition have one axis that counts at most:
 * their elements stay in order, under another shape. */
static int permute_constants(struct preprocess *p, const int64_t *perm)
{
    for (uint32_t k = 1; k < p->input_count; k++) {
        const struct value *old = p->inputs[k];
        struct shape shape = {.rank = p->rank};
        size_t bytes = (size_t)shape_bytes(&old->shape, DTYPE_F32);
        void *data = graph_alloc_data(bytes);

        for (int i = 0; i < p->rank; i++) {
            int own = i - (p->rank - old->shape.rank);

            shape.dims[i] = own < 0 ? 1 : old->shape.dims[own];
        }
        permute(shape.dims, perm, p->rank);
        p->inputs[k] = !data ? NULL : graph_add_value(p->graph, NULL, DTYPE_F32, &shape, NULL);
        if (!p->inputs[k]) {
            free(data);
            return -ENOMEM;
        }
        memcpy(data, old->data, bytes);
        value_set_data(p->inputs[k], data);
    }
    return 1;
}

static int take_transpose(struct preprocess *p, const struct node *node)
{
    int64_t perm[SHAPE_MAX_RANK];
    size_t count;
    const int64_t *given = node_ints(node, "perm", &count);

    if (!is_op(node, "Transpose") || (given && count != (size_t)p->rank))
        return 0;
    for (int i = 0; i < p->rank; i++)
        perm[i] = given ? given[i] : p->rank - 1 - i;
    permute(p->perm, perm, p->rank);
    permute(p->pads, perm, p->rank);
    permute(p->pads + p->rank, perm, p->rank);
    p->has_moved = true;
    return permute_constants(p, perm);
}

/* Where a Pad has its pads and its value: in attributes before operator set 11, then in inputs. */
static const int64_t *find_pads(const struct node *node, int rank, double *out_value)
{
    const struct value *list = node_input(node, 1), *value = node_input(node, 2);
    size_t count;
    const int64_t *pads = node_ints(node, "pads", &count);

    *out_value = (double)node_float(node, "value", 0.0f);
    if (list) {
        pads = list->dtype == DTYPE_I64 ? list->data : NULL;
        count = (size_t)shape_elements(&list->shape);
        if (value && !value->data)
            return NULL;
        if (value)
            *out_value = element_get(value->data, value->dtype, 0);
    }
    return !node_input(node, 3) && count == 2 * (size_t)rank ? pads : NULL;
}

static int take_pad(struct preprocess *p, const struct node *node)
{
    const int64_t *pads;
    double value;

    if (!is_op(node, "Pad") || p->has_pads || p->step_count > 0 ||
        strcmp(node_string(node, "mode", "constant"), "constant") != 0)
        return 0;
    pads = find_pads(node, p->rank, &value);
    if (!pads) /* of a scalar, too, which has none */
        return 0;
    for (int i = 0; i < 2 * p->rank; i++)
        if (pads[i] < 0)
            return 0;
    memcpy(p->pads, pads, 2 * (size_t)p->rank * sizeof(*pads));
    p->value = (float)value;
    p->has_pads = p->has_moved = true;
    return 1;
}

/* A constant of one element, or of one along one axis. */
static bool is_line(const struct value *value, int rank)
{
    int axes = 0;

    if (!value->data || value->dtype != DTYPE_F32 || value->shape.rank > rank)
        return false;
    for (int i = 0; i < value->shape.rank; i++)
        axes += value->shape.dims[i] != 1;
    return axes <= 1;
}

static int take_step(struct preprocess *p, const struct node *node, const struct value *own)
{
    static const char *const names[] = {"Add", "Sub", "Mul", "Div"};
    int64_t before = p->step_count > 0 ? KERNEL_CHAIN_RESULT + p->step_count - 1 : 0;
    uint32_t s = p->step_count, constant;
    size_t i = 0;

    while (i < 4 && !is_op(node, names[i]))
        i++;
    if (i == 4 || node->input_count != 2 || node->fused.activation != ACTIVATION_NONE ||
        own->dtype != DTYPE_F32 || graph_opset(p->graph, "") < 7)
        return 0;
    constant = node->inputs[0] == own ? 1 : 0;
    if (!node->inputs[constant] || !is_line(node->inputs[constant], p->rank) ||
        !shape_equal(&own->shape, &node->outputs[0]->shape))
        return 0;
    p->steps[s] = names[i];
    p->operands[2 * s + constant] = p->input_count;
    p->operands[2 * s + 1 - constant] = before;
    p->inputs[p->input_count++] = node->inputs[constant];
    p->step_count++;
    return 1;
}

static int take(struct preprocess *p, struct node *node, const struct value *own)
{
    int rc = node->inputs[0] == own ? take_cast(p, node) : 0;

    if (rc == 0 && node->inputs[0] == own)
        rc = take_transpose(p, node);
    if (rc == 0 && node->inputs[0] == own)
        rc = take_pad(p, node);
    if (rc == 0)
        rc = take_step(p, node, own);
    if (rc > 0)
        p->nodes[p->node_count++] = node;
    return rc;
}

/* --- The node that does their work. --- */

static int set_attributes(struct preprocess *p, struct node *node)
{
    int rc = node_set_ints(node, "perm", p->perm, (size_t)p->rank);

    for (uint32_t i = 0; i < 2 * p->step_count; i++)
        if (p->operands[i] >= KERNEL_CHAIN_RESULT)
            p->operands[i] += (int64_t)p->input_count - KERNEL_CHAIN_RESULT;
    if (rc == 0 && p->has_pads)
        rc = node_set_ints(node, "pads", p->pads, 2 * (size_t)p->rank);
    if (rc == 0 && p->has_pads)
        rc = node_set_float(node, "value", p->value);
    if (rc == 0 && p->step_count > 0)
        rc = node_set_strings(node, "steps", p->steps, p->step_count);
    if (rc == 0 && p->step_count > 0)
        rc = node_set_ints(node, "operands", p->operands, 2 * (size_t)p->step_count);
    return rc;
}

/* Returns how many nodes became one, or 0. */
static int fuse(struct graph *graph, struct value *input, struct node *first)
{
    struct preprocess p = {
        .graph = graph, .rank = input->shape.rank, .inputs = {input}, .input_count = 1};
    const struct value *own = input;
    struct node *node = first;
    int rc = 1;

    for (int i = 0; i < p.rank; i++)
        p.perm[i] = i;
    while (rc > 0 && node && p.node_count < NODES_MAX) {
        rc = take(&p, node, own);
        own = node->outputs[0];
        node = !own || own->is_output || own->consumer_count != 1 ? NULL : own->consumers[0];
    }
    if (rc < 0)
        return rc;
    if (p.node_count < 2 || !p.has_moved ||
        p.nodes[p.node_count - 1]->outputs[0]->dtype != DTYPE_F32)
        return 0;
    node = graph_merge_nodes(graph, p.nodes, p.node_count, PREPROCESS_OP_TYPE, p.inputs,
                             p.input_count);
    rc = !node ? -ENOMEM : set_attributes(&p, node);
    return rc < 0 ? rc : (int)p.node_count;
}

static int fuse_readers(struct graph *graph, struct value *input)
{
    uint32_t i = 0;
    int fused = 0;

    while (i < input->consumer_count) {
        int rc = fuse(graph, input, input->consumers[i]);

        if (rc < 0)
            return rc;
        if (rc == 0)
            i++; /* else another stands at its place, which may be the new one */
        fused += rc;
    }
    return fused;
}

int pass_preprocess(struct graph *graph, struct diag *diag)
{
    int fused = 0;

    for (uint32_t i = 0; i < graph->input_count; i++) {
        int rc = graph->inputs[i]->shape.rank < 0 ? 0 : fuse_readers(graph, graph->inputs[i]);

        if (rc < 0)
            return diag_set(diag, rc, "no memory to optimise the model");
        fused += rc;
    }
    return pass_settle(graph, fused, diag);
}
