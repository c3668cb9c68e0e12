/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuse chains and trees of element-wise operators on float32, or on one type of half precision, into one node that
 * computes them block by block in float32: "FusedElementwise". What it does stands in its attributes:
 *
 *     steps       the operators, in order; the last one makes the result
 *     operands    two per step: input i, or input count + s for the result of step s; -1: none
 *     parameters  two per step, as enum kernel_map says; left out where none has any
 */
#include <errno.h>
#include <string.h>

#include "runtime/ops/call/call.h"
#include "runtime/passes/pass.h"

enum { NODES_MAX = KERNEL_CHAIN_STEPS / 2 }; /* a Clip is two steps */

struct cluster {
    struct graph *graph;
    struct node *nodes[NODES_MAX]; /* the first one makes the result */
    uint32_t node_count;
};

/* --- Which nodes. --- */

static bool is_of(const struct value *value, enum dtype dtype)
{
    return value && value->dtype == dtype && shape_elements(&value->shape) >= 0;
}

/* The one type of a node that a chain may compute, as its result has it. */
static bool has_type(const struct node *node)
{
    enum dtype dtype = node->outputs[0] ? node->outputs[0]->dtype : DTYPE_NONE;

    if ((dtype != DTYPE_F32 && !call_is_half(dtype)) || !is_of(node->outputs[0], dtype))
        return false;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] && !is_of(node->inputs[i], dtype))
            return false;
    return true;
}

/* Bounds of a Clip: inputs since operator set 11, attributes before. */
static bool is_clip(const struct graph *graph, const struct node *node)
{
    if (strcmp(node->op_type, "Clip") != 0)
        return false;
    if (graph_opset(graph, "") < 11)
        return node_attribute(node, "min") || node_attribute(node, "max");
    for (uint32_t i = 1; i <= 2; i++)
        if (node_input(node, i) && shape_elements(&node->inputs[i]->shape) != 1)
            return false;
    return node_input(node, 1) || node_input(node, 2);
}

/* Before operator set 7 the second operand stood at an axis of the first one. */
static bool is_zip(const struct graph *graph, const struct node *node)
{
    enum kernel_zip zip;

    return call_zip_of(node->op_type, &zip) && zip <= ZIP_PRELU && zip != ZIP_MOD &&
           node->input_count == 2 &&
           (graph_opset(graph, "") >= 7 || (!node_attribute(node, "axis") && zip != ZIP_PRELU));
}

static bool is_map(const struct graph *graph, const struct node *node)
{
    struct kernel_map_args args;

    return call_map_of(graph, node, &args) && kernel_chain_has_map(args.op) &&
           node->input_count == 1;
}

/* Whether a chain can compute the node. */
static bool is_elementwise(const struct graph *graph, const struct node *node)
{
    if (!node || node->domain[0] != '\0' || node->fused.activation != ACTIVATION_NONE ||
        node->fused.residual_input >= 0 || node->output_count != 1 || !has_type(node) ||
        !node_input(node, 0))
        return false;
    if (is_clip(graph, node))
        return true;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (!node->inputs[i])
            return false;
    return is_zip(graph, node) || is_map(graph, node);
}

static bool holds(const struct cluster *cluster, const struct node *node)
{
    for (uint32_t i = 0; i < cluster->node_count; i++)
        if (cluster->nodes[i] == node)
            return true;
    return false;
}

/* Whether only the cluster needs this value, once per element of its result. */
static bool is_inner(const struct cluster *cluster, const struct value *value)
{
    const struct value *result = cluster->nodes[0]->outputs[0];

    if (!value || !value->producer || value->is_output || value->data ||
        !shape_equal(&value->shape, &result->shape))
        return false;
    for (uint32_t i = 0; i < value->consumer_count; i++)
        if (!holds(cluster, value->consumers[i]))
            return false;
    return true;
}

/* Inputs that the cluster would have, two more for bounds of a Clip. */
static uint32_t count_inputs(const struct cluster *cluster)
{
    uint32_t count = 0;

    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const struct node *node = cluster->nodes[n];

        count += strcmp(node->op_type, "Clip") == 0 ? 2 : 0;
        for (uint32_t i = 0; i < node->input_count; i++)
            count += node->inputs[i] && !holds(cluster, node->inputs[i]->producer);
    }
    return count;
}

/* Take in one more producer. Nothing outside stands between it and the result: all that read it are
 * in already. */
static bool grow(struct cluster *cluster)
{
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const struct node *node = cluster->nodes[n];

        for (uint32_t i = 0; i < node->input_count; i++) {
            struct node *producer = !node->inputs[i] ? NULL : node->inputs[i]->producer;

            if (!producer || holds(cluster, producer) || !is_inner(cluster, node->inputs[i]) ||
                !is_elementwise(cluster->graph, producer))
                continue;
            cluster->nodes[cluster->node_count++] = producer;
            if (count_inputs(cluster) <= KERNEL_CHAIN_INPUTS)
                return true;
            cluster->node_count--;
        }
    }
    return false;
}

/* In the order in which they run. */
static void sort_nodes(struct cluster *cluster)
{
    for (uint32_t i = 1; i < cluster->node_count; i++) {
        struct node *node = cluster->nodes[i];
        uint32_t at = i;

        for (; at > 0 && cluster->nodes[at - 1]->index > node->index; at--)
            cluster->nodes[at] = cluster->nodes[at - 1];
        cluster->nodes[at] = node;
    }
}

/* --- The node that does their work. --- */

struct program {
    struct cluster *cluster;
    struct value *inputs[KERNEL_CHAIN_INPUTS];
    uint32_t input_count;
    const char *steps[KERNEL_CHAIN_STEPS];
    int64_t operands[2 * KERNEL_CHAIN_STEPS]; /* KERNEL_CHAIN_RESULT + s until it is written */
    float parameters[2 * KERNEL_CHAIN_STEPS];
    uint32_t step_count;
    uint32_t result_steps[NODES_MAX]; /* by node: the step that makes its result */
};

static int64_t operand_of(struct program *program, struct value *value)
{
    uint32_t i = 0;

    for (uint32_t n = 0; n < program->cluster->node_count; n++)
        if (program->cluster->nodes[n] == value->producer)
            return KERNEL_CHAIN_RESULT + program->result_steps[n];
    while (i < program->input_count && program->inputs[i] != value)
        i++;
    if (i == program->input_count)
        program->inputs[program->input_count++] = value;
    return i;
}

static void add_step(struct program *program, const char *name, int64_t a, int64_t b)
{
    uint32_t s = program->step_count++;

    program->steps[s] = name;
    program->operands[2 * s] = a;
    program->operands[2 * s + 1] = b;
}

/* A bound that is an attribute becomes a constant. NULL: no memory. */
static struct value *bound_value(struct graph *graph, float bound)
{
    struct shape scalar = {.rank = 0};
    struct value *value = graph_add_value(graph, NULL, DTYPE_F32, &scalar, NULL);
    float *data = graph_alloc_data(sizeof(*data));

    if (!value || !data)
        return NULL;
    *data = bound;
    value_set_data(value, data);
    return value;
}

static int add_clip(struct program *program, const struct node *clip)
{
    static const char *const names[] = {"min", "max"}, *const steps[] = {"Max", "Min"};
    bool has_attributes = graph_opset(program->cluster->graph, "") < 11;
    int64_t a = operand_of(program, clip->inputs[0]);

    for (uint32_t i = 0; i < 2; i++) {
        struct value *bound = has_attributes ? NULL : node_input(clip, 1 + i);

        if (has_attributes && node_attribute(clip, names[i])) {
            bound = bound_value(program->cluster->graph, node_float(clip, names[i], 0.0f));
            if (!bound)
                return -ENOMEM;
        }
        if (!bound)
            continue;
        add_step(program, steps[i], a, operand_of(program, bound));
        a = KERNEL_CHAIN_RESULT + program->step_count - 1;
    }
    return 0;
}

static int add_node(struct program *program, const struct node *node)
{
    struct kernel_map_args args;
    int64_t a, b;

    if (strcmp(node->op_type, "Clip") == 0)
        return add_clip(program, node);
    a = operand_of(program, node->inputs[0]);
    b = node->input_count == 2 ? operand_of(program, node->inputs[1]) : -1;
    if (b < 0 && call_map_of(program->cluster->graph, node, &args)) {
        program->parameters[2 * program->step_count] = (float)args.a;
        program->parameters[2 * program->step_count + 1] = (float)args.b;
        add_step(program, call_map_name(args.op), a, b);
    } else {
        add_step(program, node->op_type, a, b);
    }
    return 0;
}

static int set_attributes(struct program *program, struct node *node)
{
    uint32_t count = 2 * program->step_count;
    bool has_parameters = false;
    int rc;

    for (uint32_t i = 0; i < count; i++) {
        has_parameters = has_parameters || program->parameters[i] != 0.0f;
        if (program->operands[i] >= KERNEL_CHAIN_RESULT)
            program->operands[i] += (int64_t)program->input_count - KERNEL_CHAIN_RESULT;
    }
    rc = node_set_strings(node, "steps", program->steps, program->step_count);
    if (rc == 0)
        rc = node_set_ints(node, "operands", program->operands, count);
    if (rc == 0 && has_parameters)
        rc = node_set_floats(node, "parameters", program->parameters, count);
    return rc;
}

/* Returns how many nodes became one, or 0. */
static int fuse(struct graph *graph, struct node *result)
{
    struct cluster cluster = {.graph = graph, .nodes = {result}, .node_count = 1};
    struct program program = {.cluster = &cluster};
    struct node *fused;
    int rc = 0;

    if (!is_elementwise(graph, result))
        return 0;
    while (cluster.node_count < NODES_MAX && grow(&cluster))
        ;
    if (cluster.node_count < 2)
        return 0;
    sort_nodes(&cluster);
    for (uint32_t n = 0; rc == 0 && n < cluster.node_count; n++) {
        rc = add_node(&program, cluster.nodes[n]);
        program.result_steps[n] = program.step_count - 1;
    }
    if (rc < 0)
        return rc;
    fused = graph_merge_nodes(graph, cluster.nodes, cluster.node_count, CHAIN_OP_TYPE,
                              program.inputs, program.input_count);
    rc = !fused ? -ENOMEM : set_attributes(&program, fused);
    return rc < 0 ? rc : (int)cluster.node_count;
}

int pass_fuse_chains(struct graph *graph, struct diag *diag)
{
    uint32_t count = graph->node_count;
    int fused = 0;

    /* From the end: who reads a node has been asked before it. */
    for (uint32_t i = count; i-- > 0;) {
        int rc = fuse(graph, graph->nodes[i]);

        if (rc < 0)
            return diag_set(diag, rc, "no memory to optimise the model");
        fused += rc;
    }
    return pass_settle(graph, fused, diag);
}
