/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that a model spells out in smaller ones, and for which there is one kernel: layer
 * normalisation and GELU, as exporters write them for old operator sets. float32 only. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "runtime/passes/pass.h"

enum { NODES_MAX = 9 };

/* The nodes of a pattern, in the order in which they run. */
struct found {
    struct node *nodes[NODES_MAX];
    uint32_t count;
};

static void add(struct found *found, struct node *node)
{
    found->nodes[found->count++] = node;
}

static bool is_plain_f32(const struct node *node, const char *op_type)
{
    return node && node->domain[0] == '\0' && strcmp(node->op_type, op_type) == 0 &&
           node->fused.activation == ACTIVATION_NONE && node_output(node, 0) &&
           node->outputs[0]->dtype == DTYPE_F32;
}

/* An operation on two operands, none of which is put at an axis as before operator set 7. */
static bool is_binary(const struct node *node, const char *op_type)
{
    return is_plain_f32(node, op_type) && node->input_count == 2 && node->inputs[0] &&
           node->inputs[1] && !node_attribute(node, "axis");
}

/* The one reader of a value that nobody else sees, or NULL. */
static struct node *only_reader(const struct value *value)
{
    return value->is_output || value->consumer_count != 1 ? NULL : value->consumers[0];
}

static struct value *other_operand(const struct node *node, const struct value *own)
{
    return node->inputs[0] == own ? node->inputs[1] : node->inputs[0];
}

/* A constant of one float; its shape must not add axes to what it is combined with. */
static bool is_number(const struct value *value, double *out_number)
{
    if (!value || !value->data || value->dtype != DTYPE_F32 || shape_elements(&value->shape) != 1 ||
        value->shape.rank > 1)
        return false;
    *out_number = (double)*(const float *)value->data;
    return true;
}

static bool is_about(const struct value *value, double wanted)
{
    double number;

    return is_number(value, &number) && fabs(number - wanted) < 1e-6;
}

/* --- Layer normalisation: d = x - mean(x); d / sqrt(mean(d * d) + epsilon) * scale + bias. --- */

/* The mean over the last axis, which is kept. */
static bool is_row_mean(const struct node *node)
{
    const struct value *axes;
    const struct shape *x;
    size_t count;
    const int64_t *list;

    if (!is_plain_f32(node, "ReduceMean") || !node_input(node, 0) ||
        node_int(node, "keepdims", 1) == 0)
        return false;
    x = &node->inputs[0]->shape;
    axes = node_input(node, 1);
    list = node_ints(node, "axes", &count);
    if (axes && axes->data && axes->dtype == DTYPE_I64) {
        list = axes->data;
        count = (size_t)shape_elements(&axes->shape);
    }
    return list && count == 1 && (list[0] == -1 || list[0] == x->rank - 1);
}

/* d * d, or d to the power of 2 */
static bool is_square_of(const struct node *node, const struct value *d)
{
    return (is_binary(node, "Mul") && node->inputs[0] == d && node->inputs[1] == d) ||
           (is_binary(node, "Pow") && node->inputs[0] == d && is_about(node->inputs[1], 2.0));
}

/* The nodes from the square of d to the root, found backwards from the root. */
static bool find_deviation(const struct node *division, const struct value *d, struct found *found,
                           double *out_epsilon)
{
    struct node *root = division->inputs[1]->producer, *sum, *mean, *square;
    const struct value *variance;

    if (!is_plain_f32(root, "Sqrt") || only_reader(root->outputs[0]) != division)
        return false;
    sum = root->inputs[0]->producer;
    if (!is_binary(sum, "Add") || only_reader(sum->outputs[0]) != root)
        return false;
    variance = sum->inputs[is_number(sum->inputs[1], out_epsilon) ? 0 : 1];
    mean = variance->producer;
    if (!is_number(other_operand(sum, variance), out_epsilon) || !is_row_mean(mean) ||
        only_reader(variance) != sum)
        return false;
    square = mean->inputs[0]->producer;
    if (!square || !is_square_of(square, d) || only_reader(square->outputs[0]) != mean)
        return false;
    add(found, square);
    add(found, mean);
    add(found, sum);
    add(found, root);
    return true;
}

/* Only the square and the division read d. */
static bool is_read_by_these(const struct value *d, const struct node *square,
                             const struct node *division)
{
    for (uint32_t i = 0; i < d->consumer_count; i++)
        if (d->consumers[i] != square && d->consumers[i] != division)
            return false;
    return !d->is_output;
}

/* The row that `node` combines each row of `own` with, or NULL. */
static struct value *row_operand(struct node *node, const char *op_type, const struct value *own)
{
    struct value *row;

    if (!is_binary(node, op_type))
        return NULL;
    row = other_operand(node, own);
    if (row == own || row->dtype != DTYPE_F32 || row->shape.rank != 1 ||
        row->shape.dims[0] != own->shape.dims[own->shape.rank - 1])
        return NULL;
    return row;
}

static int normalise(struct graph *graph, struct found *found, struct value **inputs,
                     uint32_t input_count, double epsilon)
{
    struct node *node = graph_merge_nodes(graph, found->nodes, found->count, "LayerNormalization",
                                          inputs, input_count);

    if (!node || node_set_int(node, "axis", -1) < 0 ||
        node_set_float(node, "epsilon", (float)epsilon) < 0)
        return -ENOMEM;
    return 1;
}

static int find_layer_norm(struct graph *graph, struct node *division)
{
    struct found found = {.count = 0};
    struct node *difference, *mean, *scaling, *shift;
    struct value *inputs[3];
    uint32_t input_count = 2;
    double epsilon;

    if (!is_binary(division, "Div"))
        return 0;
    difference = division->inputs[0]->producer;
    if (!is_binary(difference, "Sub"))
        return 0;
    inputs[0] = difference->inputs[0];
    mean = difference->inputs[1]->producer;
    if (!is_row_mean(mean) || mean->inputs[0] != inputs[0] ||
        only_reader(mean->outputs[0]) != difference)
        return 0;
    add(&found, mean);
    add(&found, difference);
    if (!find_deviation(division, division->inputs[0], &found, &epsilon) ||
        !is_read_by_these(division->inputs[0], found.nodes[2], division))
        return 0;
    add(&found, division);
    scaling = only_reader(division->outputs[0]);
    inputs[1] = !scaling ? NULL : row_operand(scaling, "Mul", division->outputs[0]);
    if (!inputs[1])
        return 0;
    add(&found, scaling);
    shift = only_reader(scaling->outputs[0]);
    inputs[2] = !shift ? NULL : row_operand(shift, "Add", scaling->outputs[0]);
    if (inputs[2]) {
        add(&found, shift);
        input_count++;
    }
    return normalise(graph, &found, inputs, input_count, epsilon);
}

/* --- GELU: x * 0.5 * (1 + erf(x / sqrt(2))), the factors in any order. --- */

/* x / sqrt(2), or x times its inverse; its x, or NULL */
static struct value *halved_root(const struct node *node)
{
    if (is_binary(node, "Div") && is_about(node->inputs[1], 1.41421356))
        return node->inputs[0];
    if (!is_binary(node, "Mul"))
        return NULL;
    if (is_about(node->inputs[1], 0.70710678))
        return node->inputs[0];
    return is_about(node->inputs[0], 0.70710678) ? node->inputs[1] : NULL;
}

/* Whether a node that only `reader` reads is x / 2. */
static bool is_half_of(const struct node *node, const struct value *x, const struct node *reader)
{
    return is_binary(node, "Mul") && only_reader(node->outputs[0]) == reader &&
           ((node->inputs[0] == x && is_about(node->inputs[1], 0.5)) ||
            (node->inputs[1] == x && is_about(node->inputs[0], 0.5)));
}

/* Products from the sum on until x and one half are among the factors. */
static bool find_factors(struct found *found, struct value *x, struct node *sum)
{
    bool has_x = false, has_half = false;

    for (struct node *last = sum; !has_x || !has_half;) {
        struct node *product = only_reader(last->outputs[0]);
        struct value *other;

        if (!is_binary(product, "Mul"))
            return false;
        other = other_operand(product, last->outputs[0]);
        if (!has_x && other == x) {
            has_x = true;
        } else if (!has_half && is_about(other, 0.5)) {
            has_half = true;
        } else if (!has_x && !has_half && is_half_of(other->producer, x, product)) {
            has_x = has_half = true;
            add(found, other->producer);
        } else {
            return false;
        }
        add(found, product);
        last = product;
    }
    return true;
}

static void sort_nodes(struct found *found)
{
    for (uint32_t i = 1; i < found->count; i++) {
        struct node *node = found->nodes[i];
        uint32_t at = i;

        for (; at > 0 && found->nodes[at - 1]->index > node->index; at--)
            found->nodes[at] = found->nodes[at - 1];
        found->nodes[at] = node;
    }
}

static int find_gelu(struct graph *graph, struct node *erf)
{
    struct found found = {.count = 0};
    struct node *division, *sum;
    struct value *x;

    if (!is_plain_f32(erf, "Erf") || !node_input(erf, 0))
        return 0;
    division = erf->inputs[0]->producer;
    x = !division ? NULL : halved_root(division);
    sum = only_reader(erf->outputs[0]);
    if (!x || only_reader(division->outputs[0]) != erf || !is_binary(sum, "Add") ||
        !is_about(other_operand(sum, erf->outputs[0]), 1.0))
        return 0;
    add(&found, division);
    add(&found, erf);
    add(&found, sum);
    if (!find_factors(&found, x, sum) ||
        !shape_equal(&x->shape, &found.nodes[found.count - 1]->outputs[0]->shape))
        return 0;
    sort_nodes(&found);
    return !graph_merge_nodes(graph, found.nodes, found.count, "Gelu", &x, 1) ? -ENOMEM : 1;
}

int pass_detect(struct graph *graph, struct diag *diag)
{
    uint32_t count = graph->node_count;
    int changed = 0;

    for (uint32_t i = 0; i < count; i++) {
        int rc = find_layer_norm(graph, graph->nodes[i]);

        if (rc == 0)
            rc = find_gelu(graph, graph->nodes[i]);
        if (rc < 0)
            return diag_set(diag, rc, "no memory to optimise the model");
        changed += rc;
    }
    return pass_settle(graph, changed, diag);
}
