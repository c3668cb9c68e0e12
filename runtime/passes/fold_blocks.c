/* SPDX-License-Identifier: Apache-2.0 */
/* Products by weights of 4 bits that a DequantizeLinear makes real, by blocks, columns or all alike, take them as they
 * are: optrace.BlockMatMul, with what is added to each column. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/passes/pass.h"

enum {
    LEAST = 16, /* k of a block */
    MOST = 128,
    ALIKE = 64, /* where the model has none */
    SIDE = 32,  /* columns that are packed together, so that what is written stays in a cache */
};

static bool is_plain(const struct node *node, const char *op_type)
{
    return node && node->domain[0] == '\0' && strcmp(node->op_type, op_type) == 0 &&
           node->fused.activation == ACTIVATION_NONE && node->fused.residual_input < 0 &&
           node_output(node, 0);
}

/* Constant weights [k, n]: (x - zero) * scale. */
struct fours {
    const struct value *x, *scale, *zero; /* zero: NULL for 0 */
    int64_t k, n;
    int64_t run;                       /* k that share a scale */
    int64_t run_stride, column_stride; /* of scales */
    int64_t size, blocks;
    int offset; /* which makes whole numbers of them */
};

static bool is_constant(const struct value *value, enum dtype dtype)
{
    return value && value->data && !value->is_deferred && value->dtype == dtype;
}

/* Which scale belongs to which of the weights; false: one that no block has. */
static bool find_runs(const struct node *node, struct fours *w)
{
    const struct shape *scales = &w->scale->shape;
    int64_t axis = node_int(node, "axis", 1), block = node_int(node, "block_size", 0);
    int64_t count = shape_elements(scales);

    axis += axis < 0 ? 2 : 0;
    w->run = w->k;
    w->size = ALIKE;
    if (block > 0) {
        w->run = block;
        w->run_stride = w->n;
        w->column_stride = 1;
        w->size = block & -block;
        w->size = w->size > MOST ? MOST : w->size;
        return axis == 0 && w->size >= LEAST && scales->rank == 2 && scales->dims[1] == w->n &&
               scales->dims[0] == (w->k - 1) / block + 1;
    }
    w->column_stride = count == 1 ? 0 : 1;
    return scales->rank <= 1 && (count == 1 || (axis == 1 && count == w->n));
}

static bool take_fours(const struct value *value, struct fours *w)
{
    const struct node *node = value ? value->producer : NULL;

    if (!is_plain(node, "DequantizeLinear") || value->dtype != DTYPE_F32)
        return false;
    *w = (struct fours){node_input(node, 0), node_input(node, 1), node_input(node, 2)};
    if (!(is_constant(w->x, DTYPE_U4) || is_constant(w->x, DTYPE_I4)) || w->x->shape.rank != 2 ||
        !is_constant(w->scale, DTYPE_F32) ||
        (w->zero && (!is_constant(w->zero, w->x->dtype) ||
                     shape_elements(&w->zero->shape) != shape_elements(&w->scale->shape))))
        return false;
    w->k = w->x->shape.dims[0];
    w->n = w->x->shape.dims[1];
    w->offset = w->x->dtype == DTYPE_I4 ? 8 : 0;
    if (w->k < 1 || w->n < 1 || !find_runs(node, w))
        return false;
    w->blocks = (w->k - 1) / w->size + 1;
    return true;
}

/* Memory of a new constant, of zeros. NULL: there is none. */
static void *make(struct graph *graph, enum dtype dtype, const struct shape *shape,
                  struct value **out_value)
{
    size_t bytes = (size_t)shape_bytes(shape, dtype);
    void *data = graph_alloc_data(bytes);

    *out_value = data ? graph_add_value(graph, NULL, dtype, shape, NULL) : NULL;
    if (!*out_value) {
        free(data);
        return NULL;
    }
    memset(data, 0, bytes);
    value_set_data(*out_value, data);
    return data;
}

static int four_at(const struct fours *w, const struct value *value, int64_t i)
{
    return ((const int8_t *)value->data)[i] + w->offset;
}

static struct value *pack_quanta(struct graph *graph, const struct fours *w)
{
    struct value *value;
    int64_t bytes = w->blocks * (w->size / 2);
    uint8_t *y = make(graph, DTYPE_U8, &(struct shape){3, {w->n, w->blocks, w->size / 2}}, &value);

    for (int64_t first = 0; y && first < w->n; first += SIDE) {
        int64_t end = w->n - first < SIDE ? w->n : first + SIDE;

        for (int64_t k = 0; k < w->k; k++)
            for (int64_t j = first; j < end; j++)
                y[j * bytes + k / 2] =
                    (uint8_t)(y[j * bytes + k / 2] | four_at(w, w->x, k * w->n + j) << (k % 2 * 4));
    }
    return value;
}

static int64_t scale_at(const struct fours *w, int64_t column, int64_t block)
{
    return block * w->size / w->run * w->run_stride + column * w->column_stride;
}

static struct value *copy_scales(struct graph *graph, const struct fours *w)
{
    struct value *value;
    float *y = make(graph, DTYPE_F32, &(struct shape){2, {w->n, w->blocks}}, &value);

    for (int64_t j = 0; y && j < w->n; j++)
        for (int64_t b = 0; b < w->blocks; b++)
            y[j * w->blocks + b] = ((const float *)w->scale->data)[scale_at(w, j, b)];
    return value;
}

static int zero_at(const struct fours *w, int64_t column, int64_t block)
{
    return w->zero ? four_at(w, w->zero, scale_at(w, column, block)) : w->offset;
}

/* Where all are in the middle none is given. */
static bool has_zeros(const struct fours *w)
{
    for (int64_t j = 0; j < w->n; j++)
        for (int64_t b = 0; b < w->blocks; b++)
            if (zero_at(w, j, b) != 8)
                return true;
    return false;
}

static struct value *pack_zeros(struct graph *graph, const struct fours *w)
{
    struct value *value;
    int64_t bytes = (w->blocks + 1) / 2;
    uint8_t *y = make(graph, DTYPE_U8, &(struct shape){2, {w->n, bytes}}, &value);

    for (int64_t j = 0; y && j < w->n; j++)
        for (int64_t b = 0; b < w->blocks; b++)
            y[j * bytes + b / 2] =
                (uint8_t)(y[j * bytes + b / 2] | zero_at(w, j, b) << (b % 2 * 4));
    return value;
}

/* The Add of a constant number for each column that alone reads a product, or NULL. */
static struct node *find_bias(const struct node *product, int64_t columns, struct value **out_bias)
{
    const struct value *y = product->outputs[0];
    struct node *node = y->is_output || y->consumer_count != 1 ? NULL : y->consumers[0];

    if (!is_plain(node, "Add") || node->input_count != 2 || node->inputs[0] == node->inputs[1])
        return NULL;
    *out_bias = node->inputs[node->inputs[0] == y];
    return is_constant(*out_bias, DTYPE_F32) && (*out_bias)->shape.rank == 1 &&
                   (*out_bias)->shape.dims[0] == columns
               ? node
               : NULL;
}

static int fold(struct graph *graph, struct node *product, int64_t least)
{
    struct value *inputs[5] = {NULL}, *bias = NULL;
    struct node *nodes[2] = {product}, *made;
    struct fours w;
    bool is_off;

    if (!is_plain(product, "MatMul") || product->input_count != 2 || !product->inputs[0] ||
        product->inputs[0]->dtype != DTYPE_F32 || product->inputs[0]->shape.rank < 1 ||
        !take_fours(product->inputs[1], &w) || w.k * w.n < least ||
        product->inputs[0]->shape.dims[product->inputs[0]->shape.rank - 1] != w.k)
        return 0;
    nodes[1] = find_bias(product, w.n, &bias);
    is_off = has_zeros(&w);
    inputs[0] = product->inputs[0];
    inputs[1] = pack_quanta(graph, &w);
    inputs[2] = copy_scales(graph, &w);
    inputs[3] = is_off ? pack_zeros(graph, &w) : NULL;
    inputs[4] = nodes[1] ? bias : NULL;
    if (!inputs[1] || !inputs[2] || (is_off && !inputs[3]))
        return -ENOMEM;
    made = graph_merge_nodes(graph, nodes, nodes[1] ? 2 : 1, "BlockMatMul", inputs,
                             nodes[1] ? 5
                             : is_off ? 4
                                      : 3);
    if (!made || node_set_int(made, "K", w.k) < 0 || node_set_int(made, "N", w.n) < 0 ||
        node_set_int(made, "block_size", w.size) < 0)
        return -ENOMEM;
    free(made->domain);
    made->domain = strdup("optrace");
    return made->domain ? 1 : -ENOMEM;
}

int pass_fold_blocks(struct graph *graph, int64_t least, struct diag *diag)
{
    uint32_t count = graph->node_count;
    int changed = 0;

    for (uint32_t i = 0; i < count; i++) {
        int rc = fold(graph, graph->nodes[i], least);

        if (rc < 0)
            return diag_set(diag, rc, "no memory to optimise the model");
        changed += rc;
    }
    return pass_settle(graph, changed, diag);
}
