/* SPDX-License-Identifier: Apache-2.0 */
/* What rules are made of: nodes, attributes, constants. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/texts.h"
#include "runtime/ops/lower/rules.h"

/* Nodes and values */

struct value *lower_input(const struct lower *l, uint32_t i)
{
    return node_input(l->node, i);
}

bool lower_wants(const struct lower *l, uint32_t i)
{
    return node_output(l->node, i) != NULL;
}

static void check(struct lower *l, int rc)
{
    if (l->rc == 0 && rc < 0)
        l->rc = rc;
}

static struct value *new_value(struct lower *l, enum dtype dtype, const struct shape *shape)
{
    static const struct shape unknown = {.rank = -1};
    struct value *value = NULL;

    if (l->rc == 0)
        value = graph_add_value(l->graph, NULL, dtype, shape ? shape : &unknown, NULL);
    if (!value)
        check(l, -ENOMEM);
    return value;
}

void lower_many(struct lower *l, const char *op_type, struct value *const *inputs, uint32_t count,
                struct value **outputs, uint32_t output_count)
{
    const char *dot = strrchr(op_type, '.');
    char *name = NULL, domain[NODE_TYPE_BYTES] = "";

    if (dot)
        snprintf(domain, sizeof(domain), "%.*s", (int)(dot - op_type), op_type);
    op_type = dot ? dot + 1 : op_type;
    for (uint32_t i = 0; i < output_count; i++)
        outputs[i] = new_value(l, DTYPE_NONE, NULL);
    if (l->rc < 0)
        return;
    while (count > 0 && !inputs[count - 1])
        count--;
    if (asprintf(&name, "%s/%s", l->node->name, op_type) < 0) {
        check(l, -ENOMEM);
        return;
    }
    l->made = graph_add_node(l->graph, op_type, domain, name, inputs, count, outputs, output_count);
    free(name);
    if (l->made)
        l->made->is_lowered = true;
    check(l, l->made ? node_add_origins(l->made, l->node) : -ENOMEM);
}

struct value *lower_op(struct lower *l, const char *op_type, struct value *const *inputs,
                       uint32_t count)
{
    struct value *output = NULL;

    lower_many(l, op_type, inputs, count, &output, 1);
    return l->rc < 0 ? NULL : output;
}

struct value *lower_one(struct lower *l, const char *op_type, struct value *x)
{
    return lower_op(l, op_type, &x, 1);
}

struct value *lower_two(struct lower *l, const char *op_type, struct value *a, struct value *b)
{
    struct value *inputs[] = {a, b};

    return lower_op(l, op_type, inputs, 2);
}

void lower_int(struct lower *l, const char *name, int64_t i)
{
    if (l->rc == 0)
        check(l, node_set_int(l->made, name, i));
}

void lower_float(struct lower *l, const char *name, float f)
{
    if (l->rc == 0)
        check(l, node_set_float(l->made, name, f));
}

void lower_ints(struct lower *l, const char *name, const int64_t *ints, size_t count)
{
    if (l->rc == 0)
        check(l, node_set_ints(l->made, name, ints, count));
}

void lower_string(struct lower *l, const char *name, const char *s)
{
    if (l->rc == 0)
        check(l, node_set_string(l->made, name, s, strlen(s)));
}

void lower_floats(struct lower *l, const char *name, const float *floats, size_t count)
{
    if (l->rc == 0)
        check(l, node_set_floats(l->made, name, floats, count));
}

void lower_doubles(struct lower *l, const char *name, const double *doubles, size_t count)
{
    struct attribute a = {.type = ATTRIBUTE_TENSOR};

    a.tensor = (struct tensor_view){
        .dtype = DTYPE_F64, .shape = {1, {(int64_t)count}}, .data = (void *)(uintptr_t)doubles};
    if (l->rc == 0)
        check(l, node_copy_attribute(l->made, name, &a));
}

void lower_strings(struct lower *l, const char *name, const char *const *strings, size_t count)
{
    if (l->rc == 0)
        check(l, node_set_strings(l->made, name, strings, count));
}

bool lower_is_listed(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (; *list != '\0'; list += strcspn(list, " "), list += *list == ' ')
        if (strncmp(list, word, length) == 0 && (list[length] == ' ' || list[length] == '\0'))
            return true;
    return false;
}

void lower_copy(struct lower *l, const char *names)
{
    for (uint32_t i = 0; l->rc == 0 && i < l->node->attribute_count; i++) {
        const struct attribute *a = &l->node->attributes[i];

        if (lower_is_listed(names, a->name))
            check(l, node_copy_attribute(l->made, a->name, a));
    }
}

void lower_copy_as(struct lower *l, const char *from, const char *to)
{
    const struct attribute *a = node_attribute(l->node, from);

    if (l->rc == 0 && a)
        check(l, node_copy_attribute(l->made, to, a));
}

void *lower_data(struct lower *l, enum dtype dtype, const struct shape *shape,
                 struct value **out_value)
{
    struct value *value = new_value(l, dtype, shape);
    void *data = value ? graph_alloc_data(shape_bytes(shape, dtype)) : NULL;

    *out_value = NULL;
    if (!data) {
        check(l, -ENOMEM);
        return NULL;
    }
    value_set_data(value, data);
    *out_value = value;
    return data;
}

struct value *lower_number(struct lower *l, float number)
{
    struct value *value;
    float *data = lower_data(l, DTYPE_F32, &(struct shape){.rank = 0}, &value);

    if (data)
        *data = number;
    return value;
}

struct value *lower_double(struct lower *l, double number)
{
    struct value *value;
    double *data = lower_data(l, DTYPE_F64, &(struct shape){.rank = 0}, &value);

    if (data)
        *data = number;
    return value;
}

struct value *lower_list(struct lower *l, const int64_t *ints, size_t count)
{
    struct value *value;
    void *data =
        lower_data(l, DTYPE_I64, &(struct shape){.rank = 1, .dims = {(int64_t)count}}, &value);

    if (data)
        memcpy(data, ints, count * sizeof(*ints));
    return value;
}

struct value *lower_texts(struct lower *l, const char *const *texts, size_t count)
{
    struct value *value;
    int64_t *data =
        lower_data(l, DTYPE_STRING, &(struct shape){.rank = 1, .dims = {(int64_t)count}}, &value);

    for (size_t i = 0; data && i < count; i++) {
        data[i] = texts_number(texts[i], strlen(texts[i]));
        check(l, data[i] < 0 ? (int)data[i] : 0);
    }
    return value;
}

struct value *lower_labels(struct lower *l, const char *ints, size_t *out_count)
{
    const struct attribute *texts = node_attribute(l->node, "classlabels_strings");
    const int64_t *labels = node_ints(l->node, ints, out_count);

    if (texts && texts->type == ATTRIBUTE_STRINGS && texts->count > 0) {
        *out_count = texts->count;
        return lower_texts(l, (const char *const *)texts->strings, texts->count);
    }
    return labels && *out_count > 0 ? lower_list(l, labels, *out_count) : NULL;
}

/* What rules have in common */

struct value *lower_reshape(struct lower *l, struct value *x, const int64_t *dims, size_t count)
{
    return lower_two(l, "Reshape", x, lower_list(l, dims, count));
}

struct value *lower_unsqueeze(struct lower *l, struct value *x, const int64_t *axes, size_t count)
{
    bool is_input = graph_opset(l->graph, "") >= 13;
    struct value *y = is_input ? lower_two(l, "Unsqueeze", x, lower_list(l, axes, count))
                               : lower_one(l, "Unsqueeze", x);

    if (!is_input)
        lower_ints(l, "axes", axes, count);
    return y;
}

struct value *lower_squeeze(struct lower *l, struct value *x, int64_t axis)
{
    bool is_input = graph_opset(l->graph, "") >= 13;
    struct value *y =
        is_input ? lower_two(l, "Squeeze", x, lower_list(l, &axis, 1)) : lower_one(l, "Squeeze", x);

    if (!is_input)
        lower_ints(l, "axes", &axis, 1);
    return y;
}

struct value *lower_sum(struct lower *l, struct value *x, int64_t axis, bool keeps)
{
    bool is_input = graph_opset(l->graph, "") >= 13;
    struct value *y = is_input ? lower_two(l, "ReduceSum", x, lower_list(l, &axis, 1))
                               : lower_one(l, "ReduceSum", x);

    if (!is_input)
        lower_ints(l, "axes", &axis, 1);
    lower_int(l, "keepdims", keeps);
    return y;
}

void lower_split(struct lower *l, struct value *x, int64_t axis, const int64_t *sizes,
                 uint32_t count, struct value **parts)
{
    bool is_input = graph_opset(l->graph, "") >= 13;
    struct value *inputs[] = {x, is_input ? lower_list(l, sizes, count) : NULL};

    lower_many(l, "Split", inputs, 2, parts, count);
    lower_int(l, "axis", axis);
    if (!is_input)
        lower_ints(l, "split", sizes, count);
}

struct value *lower_cast(struct lower *l, struct value *x, enum dtype dtype)
{
    struct value *y = lower_one(l, "Cast", x);

    lower_int(l, "to", (int64_t)dtype);
    return y;
}

struct value *lower_dim(struct lower *l, struct value *x, int64_t axis)
{
    return lower_two(l, "Gather", lower_one(l, "Shape", x), lower_list(l, &axis, 1));
}

struct value *lower_part(struct lower *l, struct value *list, int64_t begin, int64_t end)
{
    struct value *inputs[] = {list, lower_list(l, &begin, 1), lower_list(l, &end, 1)};

    return lower_op(l, "Slice", inputs, 3);
}

struct value *lower_shaped_like(struct lower *l, struct value *x, struct value *like)
{
    x = lower_two(l, "Reshape", x, lower_one(l, "Shape", like));
    if (graph_opset(l->graph, "") >= 14)
        lower_int(l, "allowzero", 1); /* a 0 in the shape is one */
    return x;
}

/* What is copied, and not a copy. */
static const struct value *source_of(const struct value *value)
{
    for (int step = 0;
         step < 64 && value && value->producer && value->producer->domain[0] == '\0' &&
         strcmp(value->producer->op_type, "Identity") == 0;
         step++)
        value = node_input(value->producer, 0);
    return value;
}

bool lower_content(const struct value *value, struct tensor_view *out_view)
{
    const struct attribute *a;

    value = source_of(value);
    if (value && value->data) {
        *out_view = (struct tensor_view){value->dtype, value->shape, value->data};
        return true;
    }
    if (!value || !value->producer || value->producer->domain[0] != '\0' ||
        strcmp(value->producer->op_type, "Constant") != 0 || value->producer->attribute_count != 1)
        return false;
    a = value->producer->attributes;
    if (strcmp(a->name, "value") == 0 && a->type == ATTRIBUTE_TENSOR)
        *out_view = a->tensor;
    else if (strcmp(a->name, "value_int") == 0 && a->type == ATTRIBUTE_INT)
        *out_view = (struct tensor_view){DTYPE_I64, {.rank = 0}, (void *)&a->i};
    else if (strcmp(a->name, "value_ints") == 0 && a->type == ATTRIBUTE_INTS)
        *out_view = (struct tensor_view){DTYPE_I64, {1, {(int64_t)a->count}}, a->ints};
    else if (strcmp(a->name, "value_float") == 0 && a->type == ATTRIBUTE_FLOAT)
        *out_view = (struct tensor_view){DTYPE_F32, {.rank = 0}, (void *)&a->f};
    else if (strcmp(a->name, "value_floats") == 0 && a->type == ATTRIBUTE_FLOATS)
        *out_view = (struct tensor_view){DTYPE_F32, {1, {(int64_t)a->count}}, a->floats};
    else
        return false;
    return out_view->data != NULL;
}

void lower_settle(struct lower *l)
{
    for (uint32_t i = 0; l->rc == 0 && i < l->node->input_count; i++) {
        struct value *value = l->node->inputs[i];
        struct tensor_view view;
        int64_t bytes;
        void *data;

        if (!value || !value->producer || strcmp(value->producer->op_type, "Constant") != 0 ||
            !lower_content(value, &view))
            continue;
        bytes = shape_bytes(&view.shape, view.dtype);
        data = bytes < 0 ? NULL : graph_alloc_data((size_t)bytes);
        if (!data) {
            l->rc = -ENOMEM;
            return;
        }
        memcpy(data, view.data, (size_t)bytes);
        value->dtype = view.dtype;
        value->shape = view.shape;
        value->producer->outputs[0] = NULL;
        graph_detach_node(value->producer);
        value->producer = NULL;
        value_set_data(value, data);
    }
}

bool lower_given(struct value *value, struct tensor_view *out_view)
{
    struct value *source = (struct value *)source_of(value);

    if (!source || !source->is_input || !source->known)
        return lower_content(value, out_view);
    source->decides_nodes = true;
    *out_view = (struct tensor_view){source->dtype, source->shape, source->known};
    return true;
}

/* The rank of what comes out is the greatest of those that go in. */
static bool keeps_rank(const struct node *node)
{
    return node && node->domain[0] == '\0' &&
           lower_is_listed(
               "Abs Add And AveragePool BatchNormalization Cast Ceil Celu Clip Concat Conv "
               "ConvTranspose Cos CumSum DequantizeLinear Div Dropout Elu Equal Erf Exp Floor "
               "GatherElements Gelu GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual "
               "GroupNormalization HardSigmoid HardSwish Hardmax Identity InstanceNormalization "
               "IsInf IsNaN LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax "
               "LpNormalization Max MaxPool Mean Min Mish Mod Mul Neg Not Or PRelu Pad Pow "
               "QuantizeLinear RMSNormalization Reciprocal Relu Resize Round Selu Sigmoid Sign Sin "
               "Slice Softmax Softplus Softsign Split Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu "
               "Tile TopK Transpose Trilu Where Xor",
               node->op_type);
}

/* What is given as constant axes, or as a constant shape; -1: it is not known how many. */
static int count_listed(const struct node *node, const char *attribute)
{
    struct tensor_view view;
    size_t count;

    if (node_ints(node, attribute, &count))
        return count <= SHAPE_MAX_RANK ? (int)count : -1;
    return node->input_count > 1 && lower_content(node_input(node, 1), &view) &&
                   view.shape.rank == 1 && view.shape.dims[0] <= SHAPE_MAX_RANK
               ? (int)view.shape.dims[0]
               : -1;
}

static int find_rank(const struct value *value, int *steps);

/* Of a product, whose operands of one axis give it none. */
static int rank_of_product(const struct node *node, int *steps)
{
    int a = find_rank(node_input(node, 0), steps), b = find_rank(node_input(node, 1), steps);

    if (a < 1 || b < 1)
        return -1;
    return a == 1 && b == 1 ? 0 : (a > b ? a : b) - (a == 1 || b == 1);
}

/* Of operators that give another rank than they take; -1: not known. */
static int rank_of_result(const struct node *node, int *steps)
{
    bool is_sum = strncmp(node->op_type, "Reduce", 6) == 0;
    int change = strcmp(node->op_type, "Unsqueeze") == 0 ? 1 : -1, count, rank;

    if (node->domain[0] != '\0')
        return -1;
    if (strcmp(node->op_type, "Shape") == 0)
        return 1;
    if (lower_is_listed("Flatten Gemm NonZero", node->op_type))
        return 2;
    if (strcmp(node->op_type, "MatMul") == 0)
        return rank_of_product(node, steps);
    if (strcmp(node->op_type, "Reshape") == 0)
        return count_listed(node, "shape");
    if (strcmp(node->op_type, "Gather") == 0) {
        rank = find_rank(node_input(node, 0), steps);
        count = find_rank(node_input(node, 1), steps);
        return rank > 0 && count >= 0 && rank + count - 1 <= SHAPE_MAX_RANK ? rank + count - 1 : -1;
    }
    if (!is_sum && change < 0 && strcmp(node->op_type, "Squeeze") != 0)
        return -1;
    rank = find_rank(node_input(node, 0), steps);
    if (rank < 0 || (is_sum && node_int(node, "keepdims", 1) != 0))
        return rank;
    count = count_listed(node, "axes");
    rank += change * count;
    return count > 0 && rank >= 0 && rank <= SHAPE_MAX_RANK ? rank : -1;
}

/* -1: its attributes do not say. */
static int rank_by_attributes(const struct node *node)
{
    const struct attribute *perm = node_attribute(node, "perm");
    const struct attribute *kernel = node_attribute(node, "kernel_shape");

    if (perm && strcmp(node->op_type, "Transpose") == 0)
        return perm->count <= SHAPE_MAX_RANK ? (int)perm->count : -1;
    return kernel && kernel->count + 2 <= SHAPE_MAX_RANK ? (int)kernel->count + 2 : -1;
}

/* Not too far back: nobody has looked for circles yet. */
static int find_rank(const struct value *value, int *steps)
{
    int rank = value ? value->shape.rank : -1;

    if (value && rank < 0 && value->producer)
        rank = rank_by_attributes(value->producer);
    if (!value || rank >= 0 || !value->producer || --*steps < 0)
        return rank;
    if (value != node_output(value->producer, 0) &&
        !lower_is_listed("Dropout Split TopK", value->producer->op_type))
        return -1;
    if (!keeps_rank(value->producer))
        return rank_of_result(value->producer, steps);
    for (uint32_t i = 0; i < value->producer->input_count; i++) {
        int other;

        if (!node_input(value->producer, i)) /* it is left out */
            continue;
        other = find_rank(node_input(value->producer, i), steps);
        if (other < 0)
            return -1;
        rank = other > rank ? other : rank;
    }
    return rank;
}

int lower_rank(const struct value *value)
{
    int steps = 64;

    return find_rank(value, &steps);
}

/* Readers of `value`, others of the new nodes perhaps among them, read the old node's output. */
void lower_done(struct lower *l, uint32_t i, struct value *value)
{
    struct value *output = node_output(l->node, i);
    struct node *producer = value ? value->producer : NULL;

    if (!output || !value || l->rc < 0)
        return;
    if (!producer || producer->index < l->first) { /* it is there without the old node, too */
        value = lower_one(l, "Identity", value);
        producer = value ? value->producer : NULL;
    }
    for (uint32_t k = 0; producer && k < producer->output_count; k++) {
        if (producer->outputs[k] != value)
            continue;
        node_take_output(producer, k, output);
        check(l, graph_replace_uses(l->graph, value, output));
        return;
    }
}

void lower_keep(struct lower *l)
{
    l->is_kept = true;
}

void lower_refuse(struct lower *l, const char *format, ...)
{
    char text[200], type[NODE_TYPE_BYTES];
    va_list arguments;

    if (l->rc < 0)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    l->rc = diag_set(l->diag, -ENOTSUP, "operator %s of node \"%s\" is not supported: %s",
                     node_full_type(l->node, type), l->node->name, text);
}
