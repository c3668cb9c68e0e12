/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention that a model spells out becomes one node: softmax(q k^T * scale + mask) v, with
 *
 *     q, k^T   each times a number, or divided by one, or neither; so their product
 *     k^T      a Transpose that has the channels in front of the steps, with such a number before or
 *              behind it
 *     mask     added, and broadcast to the scores along all axes but the last; or none
 *
 * over [batch, heads, steps, channels], or [batch, steps, channels], of one type. A step whose mask hides
 * all keys is NaN, as its softmax is. What half precision rounds between these operators is not
 * rounded any more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "runtime/ops/call/call.h"
#include "runtime/passes/pass.h"

enum {
    Q,
    K,
    V,
    MASK,
    NODES_MAX = 16,
    NUMBERS_MAX = 4,   /* on the way to an operand */
    QUERIES_MIN = 16,  /* below which two products and a softmax have as much to do */
    CHANNELS_MAX = 128 /* beyond which the device's kernel has no tiles: of values, or of all */
};

/* What is found from the softmax on. */
struct attention {
    struct graph *graph;
    enum dtype dtype;
    bool bounds_keys;              /* of so many channels, too */
    struct node *nodes[NODES_MAX]; /* that nobody else needs */
    uint32_t node_count;
    struct value *inputs[MASK + 1];
    double scale;
    /* The steps in front of the channels: k transposes, by this order, what `inputs` has. */
    int64_t k_order[SHAPE_MAX_RANK];
    bool k_moves;
};

static bool is_plain(const struct node *node, const char *op_type)
{
    return node && node->domain[0] == '\0' && strcmp(node->op_type, op_type) == 0 &&
           node->fused.activation == ACTIVATION_NONE && node->fused.residual_input < 0 &&
           node_input(node, 0) && node_output(node, 0) &&
           (node->outputs[0]->dtype == DTYPE_F32 || call_is_half(node->outputs[0]->dtype));
}

/* An operation on two operands, none of which is put at an axis as before operator set 7. */
static bool is_binary(const struct node *node, const char *op_type)
{
    return is_plain(node, op_type) && node->input_count == 2 && node->inputs[1] &&
           !node_attribute(node, "axis");
}

static bool is_read_once(const struct value *value)
{
    return !value->is_output && value->consumer_count == 1;
}

/* A number that is the same in each run, and adds no axes to what has this rank. */
static bool is_number(const struct value *value, int rank, double *out_number)
{
    enum kernel_dtype dtype;
    float number;

    if (!value->data || (value->dtype != DTYPE_F32 && !call_is_half(value->dtype)) ||
        !call_dtype(value->dtype, &dtype) || shape_elements(&value->shape) != 1 ||
        value->shape.rank > rank)
        return false;
    cast_ref(&number, KERNEL_F32, value->data, dtype, 1);
    *out_number = (double)number;
    return true;
}

/* A node that multiplies by a number; which of its inputs by which. */
static struct value *scaled_by(const struct node *node, double *out_factor)
{
    double number;

    for (uint32_t i = 0; i < 2 && is_binary(node, "Mul"); i++) {
        if (is_number(node->inputs[1 - i], node->inputs[i]->shape.rank, out_factor))
            return node->inputs[i];
    }
    if (!is_binary(node, "Div") ||
        !is_number(node->inputs[1], node->inputs[0]->shape.rank, &number))
        return NULL;
    *out_factor = 1.0 / number;
    return node->inputs[0];
}

static bool take(struct attention *a, struct node *node)
{
    if (a->node_count == NODES_MAX)
        return false;
    a->nodes[a->node_count++] = node;
    return true;
}

/* An operand before it is multiplied by numbers. `is_alone`: nobody else reads what comes after. */
static struct value *unscaled(struct attention *a, struct value *value, bool *is_alone)
{
    double factor;

    for (int i = 0; i < NUMBERS_MAX; i++) {
        struct node *node = value->producer;
        struct value *before = !node ? NULL : scaled_by(node, &factor);

        if (!before)
            break;
        *is_alone = *is_alone && is_read_once(value);
        if (*is_alone && !take(a, node))
            break;
        a->scale *= factor;
        value = before;
    }
    return value;
}

/* --- The operands. --- */

/* The axes of `transpose`, the last two of them changed back. */
static bool find_key_order(struct attention *a, const struct node *transpose)
{
    int rank = transpose->outputs[0]->shape.rank;
    size_t count;
    const int64_t *order = node_ints(transpose, "perm", &count);

    a->k_moves = false;
    if (order && count != (size_t)rank)
        return false;
    for (int i = 0; i < rank; i++) {
        int from = i < rank - 2 ? i : 2 * rank - 3 - i;

        a->k_order[i] = order ? order[from] : rank - 1 - from;
        a->k_moves = a->k_moves || a->k_order[i] != i;
    }
    return true;
}

static bool find_keys(struct attention *a, struct value *value)
{
    bool is_alone = true;
    struct node *transpose;

    value = unscaled(a, value, &is_alone);
    transpose = value->producer;
    if (!is_plain(transpose, "Transpose") || !find_key_order(a, transpose))
        return false;
    is_alone = is_alone && is_read_once(value);
    if (is_alone && !take(a, transpose))
        return false;
    a->inputs[K] = unscaled(a, transpose->inputs[0], &is_alone);
    return true;
}

/* What is added to scores: of their last axis, and 1 or the same along each other one. */
static bool is_mask(const struct value *mask, enum dtype dtype, const struct shape *scores)
{
    const struct shape *shape = &mask->shape;

    if (mask->dtype != dtype || shape->rank < 1 || shape->rank > scores->rank ||
        shape->dims[shape->rank - 1] != scores->dims[scores->rank - 1])
        return false;
    /* Of three axes the first one is of the batch, and a mask's of the heads. */
    if (scores->rank == 3 && shape->rank == 3 && shape->dims[0] != 1)
        return false;
    for (int i = 0; i < shape->rank; i++) {
        int64_t dim = shape->dims[i];

        if (dim != 1 && dim != scores->dims[scores->rank - shape->rank + i])
            return false;
    }
    return true;
}

/* From the softmax back to the product by the keys. */
static struct node *find_scores(struct attention *a, struct value *value)
{
    struct node *node = value->producer;
    double factor;
    bool is_alone = true;

    if (!is_read_once(value))
        return NULL;
    if (is_binary(node, "Add")) {
        for (uint32_t i = 0; i < 2 && !a->inputs[MASK]; i++) {
            const struct node *from = node->inputs[i]->producer;

            if ((is_plain(from, "MatMul") || (from && scaled_by(from, &factor))) &&
                shape_equal(&node->inputs[i]->shape, &value->shape) &&
                is_mask(node->inputs[1 - i], a->dtype, &value->shape) &&
                is_read_once(node->inputs[i])) {
                a->inputs[MASK] = node->inputs[1 - i];
                value = node->inputs[i];
            }
        }
        if (!a->inputs[MASK] || !take(a, node))
            return NULL;
    }
    value = unscaled(a, value, &is_alone);
    node = value->producer;
    return is_alone && is_read_once(value) && is_plain(node, "MatMul") && take(a, node) ? node
                                                                                        : NULL;
}

static bool is_last_axis(const struct attention *a, const struct node *softmax)
{
    int rank = softmax->outputs[0]->shape.rank;
    int64_t axis = node_int(softmax, "axis", graph_opset(a->graph, "") < 13 ? 1 : -1);

    return axis == -1 || axis == rank - 1;
}

/* As many of each, so that nothing is broadcast. */
static bool have_fitting_sizes(const struct attention *a, const struct shape *y)
{
    const struct shape *q = &a->inputs[Q]->shape, *v = &a->inputs[V]->shape;
    const struct shape *k = &a->inputs[K]->shape;
    int rank = q->rank;

    if ((rank != 3 && rank != 4) || k->rank != rank || v->rank != rank || y->rank != rank)
        return false;
    for (int i = 0; i < rank; i++) {
        int64_t keys = a->k_moves ? k->dims[a->k_order[i]] : k->dims[i];

        if (q->dims[i] < 1 || v->dims[i] < 1 || keys != (i == rank - 2 ? v->dims[i] : q->dims[i]) ||
            (i < rank - 2 && v->dims[i] != q->dims[i]))
            return false;
    }
    for (int i = Q; i <= V; i++)
        if (a->inputs[i]->dtype != a->dtype)
            return false;
    return q->dims[rank - 2] >= QUERIES_MIN && v->dims[rank - 1] <= CHANNELS_MAX &&
           (!a->bounds_keys || q->dims[rank - 1] <= CHANNELS_MAX);
}

/* --- The node. --- */

static int compare_nodes(const void *a, const void *b)
{
    const struct node *first = *(struct node *const *)a, *second = *(struct node *const *)b;

    return first->index < second->index ? -1 : first->index > second->index;
}

/* The keys with their steps in front of their channels. NULL: no memory. */
static struct value *keys_in_order(struct attention *a)
{
    struct value *from = a->inputs[K], *to;
    struct shape shape = from->shape;

    if (!a->k_moves)
        return from;
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = from->shape.dims[a->k_order[i]];
    to = graph_add_value(a->graph, NULL, a->dtype, &shape, NULL);
    if (!to || !graph_add_node(a->graph, "Transpose", "", NULL, &from, 1, &to, 1) ||
        node_set_ints(to->producer, "perm", a->k_order, (size_t)shape.rank) < 0)
        return NULL;
    return to;
}

static int join(struct attention *a)
{
    struct node *node;
    int rc;

    qsort(a->nodes, a->node_count, sizeof(a->nodes[0]), compare_nodes);
    a->inputs[K] = keys_in_order(a);
    node = !a->inputs[K] ? NULL
                         : graph_merge_nodes(a->graph, a->nodes, a->node_count, "Attention",
                                             a->inputs, a->inputs[MASK] ? MASK + 1 : MASK);
    if (!node)
        return -ENOMEM;
    node->is_lowered = true;
    rc = node_set_float(node, "scale", (float)a->scale);
    if (rc == 0)
        rc = node_set_int(node, "unseen_is_nan", 1);
    if (rc == 0 && a->inputs[Q]->shape.rank == 3)
        rc = node_set_int(node, "q_num_heads", 1);
    if (rc == 0 && a->inputs[Q]->shape.rank == 3)
        rc = node_set_int(node, "kv_num_heads", 1);
    return rc < 0 ? rc : 1;
}

/* Where the search goes, and what for. */
struct search {
    struct graph *graph;
    bool takes_f32, takes_half;
};

static bool takes(const struct search *search, const struct node *softmax)
{
    return is_plain(softmax, "Softmax") &&
           (softmax->outputs[0]->dtype == DTYPE_F32 ? search->takes_f32 : search->takes_half);
}

static int find_attention(const struct search *search, struct node *softmax)
{
    struct attention a = {.graph = search->graph, .bounds_keys = search->takes_half, .scale = 1.0};
    struct node *scores, *product;
    bool is_alone = true;

    if (!takes(search, softmax) || !is_last_axis(&a, softmax) || !is_read_once(softmax->outputs[0]))
        return 0;
    a.dtype = softmax->outputs[0]->dtype;
    product = softmax->outputs[0]->consumers[0];
    if (!is_plain(product, "MatMul") || product->inputs[0] != softmax->outputs[0] ||
        !node_input(product, 1))
        return 0;
    scores = find_scores(&a, softmax->inputs[0]);
    if (!scores || !node_input(scores, 1) || !find_keys(&a, scores->inputs[1]))
        return 0;
    a.inputs[Q] = unscaled(&a, scores->inputs[0], &is_alone);
    a.inputs[V] = product->inputs[1];
    if (!have_fitting_sizes(&a, &product->outputs[0]->shape) || !take(&a, softmax) ||
        !take(&a, product))
        return 0;
    return join(&a);
}

static int join_all(const struct search *search, struct diag *diag)
{
    struct graph *graph = search->graph;
    uint32_t count = graph->node_count;
    int changed = 0;

    for (uint32_t i = 0; i < count; i++) {
        int rc = find_attention(search, graph->nodes[i]);

        if (rc < 0)
            return diag_set(diag, rc, "no memory to optimise the model");
        changed += rc;
    }
    return pass_settle(graph, changed, diag);
}

int pass_fuse_attention(struct graph *graph, struct diag *diag)
{
    return join_all(&(const struct search){graph, true, false}, diag);
}

int pass_fuse_half_attention(struct graph *graph, enum dtype half, struct diag *diag)
{
    return join_all(&(const struct search){graph, half != DTYPE_NONE, true}, diag);
}
