/* SPDX-License-Identifier: Apache-2.0 */
/* Operators between DequantizeLinear and QuantizeLinear, as quantisers write them, become operators
 * over integers: Conv, MatMul and Gemm their quantised forms, what only moves or compares elements
 * itself, functions of one operand a table of their results, sums, products and means some over bytes. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "runtime/ops/call/call.h"
#include "runtime/passes/pass.h"

static bool is_plain_op(const struct node *node, const char *op_type)
{
    return node && node->domain[0] == '\0' && strcmp(node->op_type, op_type) == 0 &&
           node->fused.activation == ACTIVATION_NONE && node_output(node, 0);
}

static bool is_byte(enum dtype dtype)
{
    return dtype == DTYPE_U8 || dtype == DTYPE_I8;
}

/* The one reader of a value that nobody else sees, or NULL. */
static struct node *only_reader(const struct value *value)
{
    return !value || value->is_output || value->consumer_count != 1 ? NULL : value->consumers[0];
}

/* Integers with constant scale and zero point: one side of a DequantizeLinear or QuantizeLinear. */
struct quantity {
    struct value *x;            /* the integers */
    struct value *scale, *zero; /* zero: NULL for 0 */
    int64_t count;              /* of scales: 1, or one for each place of the axis */
    int64_t axis;               /* where there are several */
};

/* Quantisers write one zero point as a scalar beside a scale of one dimension. */
static bool is_zero_of(const struct value *zero, const struct value *scale)
{
    return shape_equal(&zero->shape, &scale->shape) ||
           (zero->shape.rank <= 1 && shape_elements(&zero->shape) == 1 &&
            shape_elements(&scale->shape) == 1);
}

static bool take_quantity(const struct node *node, struct value *integers,
                          struct quantity *out_quantity)
{
    struct value *scale = node_input(node, 1), *zero = node_input(node, 2);
    int64_t axis = node_int(node, "axis", 1);

    if (!integers || !(is_byte(integers->dtype) || integers->dtype == DTYPE_I32) || !scale ||
        !scale->data || scale->dtype != DTYPE_F32 || scale->shape.rank > 1 ||
        (zero && (!zero->data || zero->dtype != integers->dtype || !is_zero_of(zero, scale))) ||
        node_int(node, "block_size", 0) != 0 || node_attribute(node, "precision"))
        return false;
    *out_quantity = (struct quantity){integers, scale, zero, shape_elements(&scale->shape),
                                      axis < 0 ? axis + integers->shape.rank : axis};
    return out_quantity->count >= 1;
}

/* What a value is made of, where that is integers. */
static bool find_source(const struct value *value, struct quantity *out_quantity)
{
    const struct node *node = value ? value->producer : NULL;

    return is_plain_op(node, "DequantizeLinear") && value->dtype == DTYPE_F32 &&
           take_quantity(node, node_input(node, 0), out_quantity);
}

static int64_t zero_of(const struct quantity *q)
{
    if (!q->zero)
        return 0;
    return q->zero->dtype == DTYPE_U8 ? *(const uint8_t *)q->zero->data
                                      : *(const int8_t *)q->zero->data;
}

/* Where a result goes: some nodes that do nothing to it beyond being quantised, and the
 * QuantizeLinear. */
struct end {
    struct node *nodes[2];
    uint32_t count;
    struct quantity y;
};

/* Relu or a constant Clip that cuts off nothing which the quantised type holds. */
static bool is_within_range(const struct node *node, const struct quantity *y)
{
    double scale = (double)*(const float *)y->scale->data, zero = (double)zero_of(y);
    bool is_signed = y->x->dtype == DTYPE_I8;
    double low = ((is_signed ? -128.0 : 0.0) - zero) * scale;
    double high = ((is_signed ? 127.0 : 255.0) - zero) * scale;
    const struct value *least = node_input(node, 1), *most = node_input(node, 2);

    if (is_plain_op(node, "Relu"))
        return low >= 0.0;
    if (!is_plain_op(node, "Clip") || node_attribute(node, "min") || node_attribute(node, "max"))
        return false;
    if ((least && (!least->data || least->dtype != DTYPE_F32)) ||
        (most && (!most->data || most->dtype != DTYPE_F32)))
        return false;
    return (!least || low >= (double)*(const float *)least->data - 0.25 * scale) &&
           (!most || high <= (double)*(const float *)most->data + 0.25 * scale);
}

static bool find_end(const struct value *value, struct end *out_end)
{
    struct node *reader = only_reader(value), *next;

    *out_end = (struct end){.count = 0};
    if (reader && !is_plain_op(reader, "QuantizeLinear")) {
        next = only_reader(node_output(reader, 0));
        if (!is_plain_op(next, "QuantizeLinear") ||
            !take_quantity(next, node_output(next, 0), &out_end->y) ||
            !is_within_range(reader, &out_end->y))
            return false;
        out_end->nodes[out_end->count++] = reader;
        reader = next;
    }
    if (!is_plain_op(reader, "QuantizeLinear") ||
        !take_quantity(reader, node_output(reader, 0), &out_end->y) || out_end->y.count != 1 ||
        !is_byte(out_end->y.x->dtype))
        return false;
    out_end->nodes[out_end->count++] = reader;
    return true;
}

/* The zero point, made where it is left out. NULL without memory. */
static struct value *zero_point(struct graph *graph, const struct quantity *q)
{
    struct value *zero = q->zero;
    void *data;

    if (zero)
        return zero;
    zero = graph_add_value(graph, NULL, q->x->dtype, &q->scale->shape, NULL);
    data = zero ? graph_alloc_data((size_t)q->count) : NULL;
    if (!data)
        return NULL;
    memset(data, 0, (size_t)q->count);
    value_set_data(zero, data);
    return zero;
}

static int copy_attributes(struct node *to, const struct node *from)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < from->attribute_count; i++)
        rc = node_copy_attribute(to, from->attributes[i].name, &from->attributes[i]);
    return rc;
}

/* `node` and what its result goes through become one node of another type. */
static int replace(struct graph *graph, struct node *node, const struct end *end,
                   const char *op_type, struct value **inputs, uint32_t input_count)
{
    struct node *nodes[3] = {node}, *made;

    memcpy(nodes + 1, end->nodes, end->count * sizeof(*nodes));
    made = graph_merge_nodes(graph, nodes, 1 + end->count, op_type, inputs, input_count);
    return !made || copy_attributes(made, node) < 0 ? -ENOMEM : 1;
}

/* A bias in units of what the products are counted in; absent is good, too. */
static bool find_bias(const struct node *conv, const struct quantity *x, const struct quantity *w,
                      struct value **out_value)
{
    const struct value *bias = node_input(conv, 2);
    const float *x_scale = x->scale->data, *w_scale = w->scale->data, *scale;
    struct quantity b;

    *out_value = NULL;
    if (!bias)
        return true;
    if (!find_source(bias, &b) || b.x->dtype != DTYPE_I32 || !b.x->data || b.x->shape.rank != 1 ||
        (b.count != 1 && b.count != b.x->shape.dims[0]))
        return false;
    for (int64_t i = 0; b.zero && i < b.count; i++)
        if (((const int32_t *)b.zero->data)[i] != 0)
            return false;
    scale = b.scale->data;
    for (int64_t i = 0; i < b.x->shape.dims[0]; i++) {
        double wanted = (double)*x_scale * (double)w_scale[w->count == 1 ? 0 : i];

        if (fabs((double)scale[b.count == 1 ? 0 : i] - wanted) > 1e-5 * wanted)
            return false;
    }
    *out_value = b.x;
    return true;
}

/* An operator over quantities needs all of its first eight inputs. */
static int quantise(struct graph *graph, struct node *node, const struct end *end,
                    const char *op_type, struct value **inputs, uint32_t input_count)
{
    for (uint32_t i = 0; i < 8; i++)
        if (!inputs[i])
            return -ENOMEM;
    return replace(graph, node, end, op_type, inputs, input_count);
}

static int fold_conv(struct graph *graph, struct node *conv)
{
    struct quantity x, w;
    struct value *bias;
    struct end end;

    if (!is_plain_op(conv, "Conv") || conv->fused.residual_input >= 0 ||
        !find_source(node_input(conv, 0), &x) || !find_source(node_input(conv, 1), &w) ||
        !is_byte(x.x->dtype) || !is_byte(w.x->dtype) || x.count != 1 || !w.x->data ||
        (w.count != 1 && (w.axis != 0 || w.count != w.x->shape.dims[0])) ||
        !find_bias(conv, &x, &w, &bias) || !find_end(conv->outputs[0], &end))
        return 0;
    return quantise(graph, conv, &end, "QLinearConv",
                    (struct value *[]){x.x, x.scale, zero_point(graph, &x), w.x, w.scale,
                                       zero_point(graph, &w), end.y.scale,
                                       zero_point(graph, &end.y), bias},
                    bias ? 9 : 8);
}

static int fold_matmul(struct graph *graph, struct node *product)
{
    struct quantity a, b;
    struct end end;

    if (!is_plain_op(product, "MatMul") || !find_source(node_input(product, 0), &a) ||
        !find_source(node_input(product, 1), &b) || !is_byte(a.x->dtype) || !is_byte(b.x->dtype) ||
        a.count != 1 ||
        (b.count != 1 && (b.x->shape.rank != 2 || b.axis != 1 || b.count != b.x->shape.dims[1])) ||
        !find_end(product->outputs[0], &end))
        return 0;
    return quantise(graph, product, &end, "QLinearMatMul",
                    (struct value *[]){a.x, a.scale, zero_point(graph, &a), b.x, b.scale,
                                       zero_point(graph, &b), end.y.scale,
                                       zero_point(graph, &end.y)},
                    8);
}

/* A constant matrix of bytes the other way round. NULL without memory. */
static struct value *turn(struct graph *graph, const struct value *x)
{
    int64_t rows = x->shape.dims[0], columns = x->shape.dims[1];
    struct value *turned =
        graph_add_value(graph, NULL, x->dtype, &(struct shape){2, {columns, rows}}, NULL);
    uint8_t *data = turned ? graph_alloc_data((size_t)(rows * columns)) : NULL;

    if (!data)
        return NULL;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            data[j * rows + i] = ((const uint8_t *)x->data)[i * columns + j];
    value_set_data(turned, data);
    return turned;
}

/* A product to whose sums something is added, which QLinearMatMul takes as its last input. */
static int fold_gemm(struct graph *graph, struct node *product)
{
    bool is_turned = node_int(product, "transB", 0) != 0;
    struct quantity a, b;
    struct value *bias;
    struct end end;

    if (!is_plain_op(product, "Gemm") || product->fused.residual_input >= 0 ||
        node_float(product, "alpha", 1.0f) != 1.0f || node_int(product, "transA", 0) != 0 ||
        (node_input(product, 2) && node_float(product, "beta", 1.0f) != 1.0f) ||
        !find_source(node_input(product, 0), &a) || !find_source(node_input(product, 1), &b) ||
        !is_byte(a.x->dtype) || !is_byte(b.x->dtype) || a.count != 1 || !b.x->data ||
        b.x->shape.rank != 2 || shape_elements(&b.x->shape) == 0 ||
        (b.count != 1 && (b.axis != !is_turned || b.count != b.x->shape.dims[!is_turned])) ||
        !find_bias(product, &a, &b, &bias) ||
        (bias && bias->shape.dims[0] != b.x->shape.dims[!is_turned]) ||
        !find_end(product->outputs[0], &end))
        return 0;
    return quantise(graph, product, &end, "QLinearMatMul",
                    (struct value *[]){a.x, a.scale, zero_point(graph, &a),
                                       is_turned ? turn(graph, b.x) : b.x, b.scale,
                                       zero_point(graph, &b), end.y.scale,
                                       zero_point(graph, &end.y), bias},
                    bias ? 9 : 8);
}

/* What gives of integers what it gives of the reals that they stand for. */
static bool moves_elements(const struct node *node)
{
    static const char *const movers[] = {"Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze"};

    for (size_t i = 0; i < sizeof(movers) / sizeof(movers[0]); i++)
        if (is_plain_op(node, movers[i]))
            return true;
    return is_plain_op(node, "MaxPool") && !node_output(node, 1);
}

static bool is_same_quantity(const struct quantity *a, const struct quantity *b)
{
    return a->count == 1 && b->count == 1 && a->x->dtype == b->x->dtype &&
           *(const float *)a->scale->data == *(const float *)b->scale->data &&
           zero_of(a) == zero_of(b);
}

static int fold_move(struct graph *graph, struct node *node)
{
    struct value *inputs[2];
    struct quantity x;
    struct end end;

    if (!moves_elements(node) || node->input_count > 2 || !find_source(node_input(node, 0), &x) ||
        !is_byte(x.x->dtype) || !find_end(node->outputs[0], &end) || end.count != 1 ||
        !is_same_quantity(&x, &end.y))
        return 0;
    inputs[0] = x.x;
    inputs[1] = node_input(node, 1);
    return replace(graph, node, &end, node->op_type, inputs, node->input_count);
}

/* All of its parts count in the same quanta, as its result does. */
static int fold_concat(struct graph *graph, struct node *node)
{
    enum { PARTS = 64 };
    struct value *inputs[PARTS];
    struct quantity part;
    struct end end;

    if (!is_plain_op(node, "Concat") || node->input_count > PARTS ||
        !find_end(node->outputs[0], &end) || end.count != 1)
        return 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!find_source(node->inputs[i], &part) || !is_byte(part.x->dtype) ||
            !is_same_quantity(&part, &end.y))
            return 0;
        inputs[i] = part.x;
    }
    return replace(graph, node, &end, "Concat", inputs, node->input_count);
}

/* Functions */

/* Whether each element of its float32 result depends on that of its first input alone. */
static bool is_function(const struct node *node)
{
    const struct value *x = node_input(node, 0);

    if (!node || !is_plain_op(node, node->op_type) || !x || x->data || x->dtype != DTYPE_F32 ||
        node->output_count != 1 || node->outputs[0]->dtype != DTYPE_F32)
        return false;
    for (uint32_t i = 1; i < node->input_count; i++)
        if (node->inputs[i] && !node->inputs[i]->data)
            return false;
    return strcmp(node->op_type, "Clip") == 0 ||
           (node->input_count == 1 && call_map_takes(node->op_type, KERNEL_F32));
}

/* A node that does what `like` does, to 256 elements; second: in place of its second input, unless NULL. NULL without
 * memory. */
static struct value *repeat(struct graph *graph, const struct node *like, struct value *first,
                            struct value *second)
{
    struct value *inputs[3] = {first, second ? second : node_input(like, 1), node_input(like, 2)};
    struct value *y = graph_add_value(graph, NULL, like->outputs[0]->dtype, &first->shape, NULL);
    struct node *node =
        y ? graph_add_node(graph, like->op_type, "", NULL, inputs, like->input_count, &y, 1) : NULL;

    return node && copy_attributes(node, like) == 0 ? y : NULL;
}

/* All bytes. NULL without memory. */
static struct value *all_bytes(struct graph *graph, enum dtype dtype)
{
    struct value *value = graph_add_value(graph, NULL, dtype, &(struct shape){1, {256}}, NULL);
    uint8_t *bytes = value ? graph_alloc_data(256) : NULL;

    if (!bytes)
        return NULL;
    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    value_set_data(value, bytes);
    return value;
}

/* `nodes`, the last of which quantises, become a lookup in what is to be computed of constants; table: NULL
 * without memory. */
static int look_up(struct graph *graph, struct node *const *nodes, uint32_t count, struct value *x,
                   struct value *table)
{
    struct value *inputs[] = {x, table};

    return table && graph_merge_nodes(graph, nodes, count, LOOKUP_OP_TYPE, inputs, 2) ? 1 : -ENOMEM;
}

static bool is_byte_quantiser(const struct node *node)
{
    struct quantity y;

    return is_plain_op(node, "QuantizeLinear") && take_quantity(node, node->outputs[0], &y) &&
           y.count == 1 && is_byte(y.x->dtype);
}

static bool find_bytes(const struct value *value, struct quantity *out_quantity)
{
    return find_source(value, out_quantity) && is_byte(out_quantity->x->dtype) &&
           out_quantity->count == 1;
}

/* Functions of one operand, from the first on. */
static int fold_functions(struct graph *graph, struct node *first)
{
    enum { MOST = 16 };
    struct node *nodes[MOST + 1], *node = first;
    struct value *table;
    struct quantity x;
    uint32_t count = 0;

    if (!is_function(first) || !find_bytes(first->inputs[0], &x))
        return 0;
    for (; count < MOST && node && is_function(node); node = only_reader(node->outputs[0]))
        nodes[count++] = node;
    if (!is_byte_quantiser(node))
        return 0;
    nodes[count++] = node;
    table = all_bytes(graph, x.x->dtype);
    table = table ? repeat(graph, first->inputs[0]->producer, table, NULL) : NULL;
    for (uint32_t i = 0; table && i < count; i++)
        table = repeat(graph, nodes[i], table, NULL);
    return look_up(graph, nodes, count, x.x, table);
}

static bool is_lookup_of(const struct value *value, const struct value *x)
{
    return is_plain_op(value->producer, LOOKUP_OP_TYPE) && value->producer->inputs[0] == x;
}

/* What part of an operator is of all bytes of x. NULL without memory. */
static struct value *table_of(struct graph *graph, const struct value *part,
                              const struct quantity *q, const struct value *x)
{
    struct value *bytes = q->x == x ? all_bytes(graph, x->dtype) : q->x->producer->inputs[1];

    return bytes ? repeat(graph, part->producer, bytes, NULL) : NULL;
}

/* A tensor with what was looked up of its own elements, as in x * sigmoid(x): one lookup. */
static int fold_with_lookup(struct graph *graph, struct node *node)
{
    struct quantity a, b;
    struct value *x, *tables[2], *table = NULL;
    struct node *nodes[2] = {node};

    if (!(is_plain_op(node, "Mul") || is_plain_op(node, "Add")) || node->input_count != 2 ||
        !find_bytes(node->inputs[0], &a) || !find_bytes(node->inputs[1], &b))
        return 0;
    x = is_lookup_of(b.x, a.x) ? a.x : is_lookup_of(a.x, b.x) ? b.x : NULL;
    nodes[1] = only_reader(node->outputs[0]);
    if (!x || !is_byte_quantiser(nodes[1]))
        return 0;
    tables[0] = table_of(graph, node->inputs[0], &a, x);
    tables[1] = table_of(graph, node->inputs[1], &b, x);
    if (tables[0] && tables[1])
        table = repeat(graph, node, tables[0], tables[1]);
    if (table)
        table = repeat(graph, nodes[1], table, NULL);
    return look_up(graph, nodes, 2, x, table);
}

/* Sums, products and means of bytes */

static double scale_of(const struct quantity *q)
{
    return (double)*(const float *)q->scale->data;
}

/* What a kernel may divide by, and that a number of so many quanta of y stays an integer. */
static bool is_bounded(double most, const struct quantity *y)
{
    return scale_of(y) > 1e-30 && most >= 0.0 && most / scale_of(y) < 1e9;
}

/* As residuals and gates have them. */
static int fold_zip(struct graph *graph, struct node *node)
{
    bool is_sum = is_plain_op(node, "Add");
    struct quantity a, b;
    struct end end;
    double most;

    if (!(is_sum || is_plain_op(node, "Mul")) || node->input_count != 2 ||
        !find_bytes(node->inputs[0], &a) || !find_bytes(node->inputs[1], &b) ||
        !find_end(node->outputs[0], &end))
        return 0;
    most = is_sum ? 255.0 * (scale_of(&a) + scale_of(&b))
                  : 255.0 * 255.0 * scale_of(&a) * scale_of(&b);
    if (!(scale_of(&a) > 0.0 && scale_of(&b) > 0.0) || !is_bounded(most, &end.y))
        return 0;
    return quantise(graph, node, &end, is_sum ? QUANTA_ADD_OP_TYPE : QUANTA_MUL_OP_TYPE,
                    (struct value *[]){a.x, a.scale, zero_point(graph, &a), b.x, b.scale,
                                       zero_point(graph, &b), end.y.scale,
                                       zero_point(graph, &end.y)},
                    8);
}

/* The axes that a mean is taken of, where they follow each other. */
static bool find_mean_axes(const struct node *node, int rank, int64_t out_axes[2])
{
    const struct value *list = node_input(node, 1);
    size_t count = 0;
    const int64_t *axes = list ? list->data : node_ints(node, "axes", &count);
    bool is_of[SHAPE_MAX_RANK] = {false};

    if (list && (!list->data || list->dtype != DTYPE_I64))
        return false;
    count = list ? (size_t)shape_elements(&list->shape) : count;
    if (is_plain_op(node, "GlobalAveragePool")) {
        out_axes[0] = 2;
        out_axes[1] = rank;
        return rank > 2;
    }
    if (!is_plain_op(node, "ReduceMean") || count == 0)
        return false;
    out_axes[0] = rank;
    out_axes[1] = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t axis = axes[i] + (axes[i] < 0 ? rank : 0);

        if (axis < 0 || axis >= rank || is_of[axis])
            return false;
        is_of[axis] = true;
        out_axes[0] = axis < out_axes[0] ? axis : out_axes[0];
        out_axes[1] = axis + 1 > out_axes[1] ? axis + 1 : out_axes[1];
    }
    return out_axes[1] - out_axes[0] == (int64_t)count;
}

/* What reads a mean, as most networks go on with it, and leaves its elements in their order; or NULL. */
static struct node *view_behind(const struct node *node)
{
    static const char *const views[] = {"Reshape", "Flatten", "Squeeze", "Unsqueeze"};
    struct node *reader = only_reader(node_output(node, 0));

    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
        if (is_plain_op(reader, views[i]) && node_input(reader, 0) == node->outputs[0])
            return reader;
    return NULL;
}

static int fold_mean(struct graph *graph, struct node *node)
{
    struct node *nodes[4] = {node}, *view, *made;
    uint32_t count = 1;
    struct value *zeros[2];
    struct quantity x;
    struct end end;
    int64_t axes[2];

    if (!node || node->input_count < 1 || !find_bytes(node->inputs[0], &x) ||
        !find_mean_axes(node, x.x->shape.rank, axes))
        return 0;
    view = view_behind(node);
    if (view)
        nodes[count++] = view;
    if (!find_end(nodes[count - 1]->outputs[0], &end) || !(scale_of(&x) > 0.0) ||
        !is_bounded(255.0 * scale_of(&x), &end.y))
        return 0;
    for (int64_t i = axes[0]; i < axes[1]; i++)
        if (x.x->shape.dims[i] < 1)
            return 0;
    zeros[0] = zero_point(graph, &x);
    zeros[1] = zero_point(graph, &end.y);
    if (!zeros[0] || !zeros[1])
        return -ENOMEM;
    memcpy(nodes + count, end.nodes, end.count * sizeof(*nodes));
    made = graph_merge_nodes(graph, nodes, count + end.count, QUANTA_MEAN_OP_TYPE,
                             (struct value *[]){x.x, x.scale, zeros[0], end.y.scale, zeros[1]}, 5);
    return !made || node_set_ints(made, "axes", axes, 2) < 0 ? -ENOMEM : 1;
}

int pass_fold_quantised(struct graph *graph, bool looks_up, struct diag *diag)
{
    uint32_t count = graph->node_count;
    int changed = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct node *node = graph->nodes[i];
        int rc = fold_conv(graph, node);

        rc = rc == 0 ? fold_matmul(graph, node) : rc;
        rc = rc == 0 ? fold_gemm(graph, node) : rc;
        rc = rc == 0 ? fold_move(graph, node) : rc;
        rc = rc == 0 ? fold_concat(graph, node) : rc;
        rc = rc == 0 && looks_up ? fold_functions(graph, node) : rc;
        rc = rc == 0 && looks_up ? fold_with_lookup(graph, node) : rc;
        rc = rc == 0 && looks_up ? fold_zip(graph, node) : rc;
        rc = rc == 0 && looks_up ? fold_mean(graph, node) : rc;
        if (rc < 0)
            return diag_set(diag, rc, "no memory to optimise the model");
        changed += rc;
    }
    return pass_settle(graph, changed, diag);
}
