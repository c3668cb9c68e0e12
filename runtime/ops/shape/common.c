/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: what the rules of several operators share. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/element.h"
#include "runtime/ops/shape/infer.h"

static int fail(struct infer *infer, int error, const char *format, va_list args)
{
    char text[300];

    vsnprintf(text, sizeof(text), format, args);
    return diag_set(infer->diag, error, "node \"%s\" (%s, opset %" PRId64 "): %s",
                    infer->node->name, infer->node->op_type, infer->opset, text);
}

int infer_fail(struct infer *infer, const char *format, ...)
{
    va_list args;
    int rc;

    va_start(args, format);
    rc = fail(infer, -EINVAL, format, args);
    va_end(args);
    return rc;
}

int infer_unsupported(struct infer *infer, const char *format, ...)
{
    va_list args;
    int rc;

    va_start(args, format);
    rc = fail(infer, -ENOTSUP, format, args);
    va_end(args);
    return rc;
}

bool infer_has(const struct infer *infer, uint32_t i)
{
    return node_input(infer->node, i) != NULL;
}

const struct shape *infer_shape(const struct infer *infer, uint32_t i)
{
    return &infer->node->inputs[i]->shape;
}

enum dtype infer_dtype(const struct infer *infer, uint32_t i)
{
    return infer_has(infer, i) ? infer->node->inputs[i]->dtype : DTYPE_NONE;
}

int infer_output(struct infer *infer, uint32_t i, enum dtype dtype, const struct shape *shape)
{
    struct value *value = node_output(infer->node, i);
    char text[SHAPE_TEXT_BYTES];

    if (!value)
        return 0;
    if (shape_bytes(shape, dtype) < 0)
        return infer_fail(infer, "its output is too large: %s", shape_text(shape, text));
    value->dtype = dtype;
    value->shape = *shape;
    return 0;
}

int infer_same(struct infer *infer)
{
    return infer_output(infer, 0, infer_dtype(infer, 0), infer_shape(infer, 0));
}

int infer_same_dtype(struct infer *infer, uint32_t i, uint32_t k)
{
    if (infer_has(infer, i) && infer_has(infer, k) &&
        infer_dtype(infer, i) != infer_dtype(infer, k))
        return infer_fail(infer, "inputs %u and %u are %s and %s, which must be the same", i, k,
                          dtype_name(infer_dtype(infer, i)), dtype_name(infer_dtype(infer, k)));
    return 0;
}

int infer_float(struct infer *infer, uint32_t i)
{
    enum dtype dtype = infer_dtype(infer, i);

    if (!element_is_float(dtype))
        return infer_unsupported(infer, "input %u is %s", i, dtype_name(dtype));
    return 0;
}

int infer_byte(struct infer *infer, uint32_t i)
{
    enum dtype dtype = infer_dtype(infer, i);

    if (dtype != DTYPE_I8 && dtype != DTYPE_U8)
        return infer_unsupported(infer, "input %u is %s", i, dtype_name(dtype));
    return 0;
}

int infer_quantised(struct infer *infer, uint32_t i, uint32_t zero)
{
    int rc = infer_byte(infer, i);

    return rc < 0 ? rc : infer_same_dtype(infer, i, zero);
}

int infer_axis(struct infer *infer, int64_t axis, int rank, int *out_axis)
{
    if (axis < -rank || axis >= rank)
        return infer_fail(infer, "axis %" PRId64 " is outside of the %d dimensions", axis, rank);
    *out_axis = (int)(axis < 0 ? axis + rank : axis);
    return 0;
}

int infer_broadcast(struct infer *infer, struct shape *to, const struct shape *with)
{
    char a[SHAPE_TEXT_BYTES], b[SHAPE_TEXT_BYTES];
    struct shape result;

    result.rank = to->rank > with->rank ? to->rank : with->rank;
    for (int i = 0; i < result.rank; i++) {
        int t = i - (result.rank - to->rank);
        int w = i - (result.rank - with->rank);
        int64_t x = t < 0 ? 1 : to->dims[t];
        int64_t y = w < 0 ? 1 : with->dims[w];

        if (x != y && x != 1 && y != 1)
            return infer_fail(infer, "shapes %s and %s cannot be broadcast to each other",
                              shape_text(to, a), shape_text(with, b));
        result.dims[i] = x == 1 ? y : x;
    }
    *to = result;
    return 0;
}
