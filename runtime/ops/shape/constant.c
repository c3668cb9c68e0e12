/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: Cast, and operators whose output follows from attributes and shapes alone:
 * Constant, Shape. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/shape/infer.h"
#include "runtime/ops/shape/shape.h"

/* Before operator set 6 the type is a word. */
static enum dtype cast_word(const char *word)
{
    static const struct {
        const char *word;
        enum dtype dtype;
    } words[] = {
        {"FLOAT", DTYPE_F32},     {"DOUBLE", DTYPE_F64}, {"FLOAT16", DTYPE_F16},
        {"INT8", DTYPE_I8},       {"INT16", DTYPE_I16},  {"INT32", DTYPE_I32},
        {"INT64", DTYPE_I64},     {"UINT8", DTYPE_U8},   {"UINT16", DTYPE_U16},
        {"UINT32", DTYPE_U32},    {"UINT64", DTYPE_U64}, {"BOOL", DTYPE_BOOL},
        {"STRING", DTYPE_STRING},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(word, words[i].word) == 0)
            return words[i].dtype;
    }
    return DTYPE_NONE;
}

int shape_cast(struct infer *infer)
{
    int64_t to = infer->opset < 6 ? (int64_t)cast_word(node_string(infer->node, "to", ""))
                                  : node_int(infer->node, "to", 0);

    if (to <= 0 || to >= DTYPE_END || dtype_bytes((enum dtype)to) == 0)
        return infer_unsupported(infer, "it casts to type %" PRId64, to);
    return infer_output(infer, 0, (enum dtype)to, infer_shape(infer, 0));
}

/* The bytes of an element stay as they are. Those of small types are not the file's here, and a bool
 * has two values. */
int shape_bit_cast(struct infer *infer)
{
    int64_t to = node_int(infer->node, "to", 0);
    enum dtype from = infer_dtype(infer, 0);

    if (to <= 0 || to >= DTYPE_END || dtype_bytes((enum dtype)to) == 0)
        return infer_unsupported(infer, "it casts to type %" PRId64, to);
    if (dtype_file_bits((enum dtype)to) != dtype_file_bits(from))
        return infer_fail(infer, "%s and %s have not as many bits", dtype_name(from),
                          dtype_name((enum dtype)to));
    if ((enum dtype)to != from && (to == DTYPE_BOOL || to == DTYPE_STRING || from == DTYPE_STRING ||
                                   dtype_file_bits(from) < 8))
        return infer_unsupported(infer, "it casts from %s to %s", dtype_name(from),
                                 dtype_name((enum dtype)to));
    return infer_output(infer, 0, (enum dtype)to, infer_shape(infer, 0));
}

/* The one attribute of a Constant that holds its value, as a tensor over the attribute's memory. */
static int constant_view(const struct node *node, struct tensor_view *out_view)
{
    const struct attribute *a;

    if (node->attribute_count != 1)
        return -EINVAL;
    a = &node->attributes[0];
    *out_view = (struct tensor_view){.shape = {.rank = 0}};
    if (strcmp(a->name, "value") == 0 && a->type == ATTRIBUTE_TENSOR) {
        *out_view = a->tensor;
    } else if (strcmp(a->name, "value_float") == 0 && a->type == ATTRIBUTE_FLOAT) {
        out_view->dtype = DTYPE_F32;
        out_view->data = (void *)&a->f;
    } else if (strcmp(a->name, "value_int") == 0 && a->type == ATTRIBUTE_INT) {
        out_view->dtype = DTYPE_I64;
        out_view->data = (void *)&a->i;
    } else if (strcmp(a->name, "value_floats") == 0 && a->type == ATTRIBUTE_FLOATS) {
        *out_view = (struct tensor_view){DTYPE_F32, {1, {(int64_t)a->count}}, a->floats};
    } else if (strcmp(a->name, "value_ints") == 0 && a->type == ATTRIBUTE_INTS) {
        *out_view = (struct tensor_view){DTYPE_I64, {1, {(int64_t)a->count}}, a->ints};
    } else {
        return -EINVAL;
    }
    return 0;
}

int shape_constant(struct infer *infer)
{
    struct tensor_view view;

    if (constant_view(infer->node, &view) < 0)
        return infer_unsupported(infer, "it does not hold exactly one tensor or number");
    return infer_output(infer, 0, view.dtype, &view.shape);
}

/* start and end of a Shape (since operator set 15), wrapped and clamped to [0, rank]. */
static void shape_range(const struct node *node, int rank, int *out_start, int *out_end)
{
    int64_t from = node_int(node, "start", 0);
    int64_t to = node_int(node, "end", rank);

    from = from < 0 ? from + rank : from;
    to = to < 0 ? to + rank : to;
    *out_start = from < 0 ? 0 : from > rank ? rank : (int)from;
    *out_end = to < *out_start ? *out_start : to > rank ? rank : (int)to;
}

int shape_shape(struct infer *infer)
{
    struct shape out = {.rank = 1};
    int start, end;

    shape_range(infer->node, infer_shape(infer, 0)->rank, &start, &end);
    out.dims[0] = end - start;
    return infer_output(infer, 0, DTYPE_I64, &out);
}

int shape_evaluate(const struct node *node, const struct tensor_view *output)
{
    struct tensor_view view;
    int start, end;

    if (strcmp(node->op_type, "Constant") == 0 && constant_view(node, &view) == 0) {
        memcpy(output->data, view.data, (size_t)shape_bytes(&view.shape, view.dtype));
        return 0;
    }
    if (strcmp(node->op_type, "Shape") != 0)
        return -ENOTSUP;
    shape_range(node, node->inputs[0]->shape.rank, &start, &end);
    for (int i = start; i < end; i++)
        ((int64_t *)output->data)[i - start] = node->inputs[0]->shape.dims[i];
    return 0;
}
