/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: comparisons, logic and arithmetic whose result is not of the first operand's
 * type, or of any number of operands. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "runtime/ops/shape/infer.h"

/* Float, or an integer or bool where the operator's version allows it: kernels decide. */
int shape_unary_any(struct infer *infer)
{
    return infer_same(infer);
}

/* IsInf, IsNaN. */
int shape_test_float(struct infer *infer)
{
    int rc = infer_float(infer, 0);

    return rc < 0 ? rc : infer_output(infer, 0, DTYPE_BOOL, infer_shape(infer, 0));
}

int shape_not(struct infer *infer)
{
    if (infer_dtype(infer, 0) != DTYPE_BOOL)
        return infer_fail(infer, "its input is %s, not bool", dtype_name(infer_dtype(infer, 0)));
    return infer_same(infer);
}

/* BitShift, and BitwiseAnd and its kin: of integers, the first one of unsigned ones before operator
 * set 28. */
int shape_bits(struct infer *infer)
{
    enum dtype dtype = infer_dtype(infer, 0);
    bool is_unsigned =
        dtype == DTYPE_U8 || dtype == DTYPE_U16 || dtype == DTYPE_U32 || dtype == DTYPE_U64;
    bool is_signed =
        dtype == DTYPE_I8 || dtype == DTYPE_I16 || dtype == DTYPE_I32 || dtype == DTYPE_I64;

    if (!is_unsigned &&
        (!is_signed || (infer->opset < 28 && strcmp(infer->node->op_type, "BitShift") == 0)))
        return infer_fail(infer, "its operands are %s, not integers of the kinds that it takes",
                          dtype_name(dtype));
    return infer->node->input_count == 1 ? infer_same(infer) : shape_binary(infer);
}

bool shape_is_logical(const char *op_type)
{
    return strcmp(op_type, "And") == 0 || strcmp(op_type, "Or") == 0 || strcmp(op_type, "Xor") == 0;
}

int shape_compare(struct infer *infer)
{
    enum dtype dtype = infer_dtype(infer, 0);
    int rc = shape_binary(infer);

    if (rc < 0)
        return rc;
    if (shape_is_logical(infer->node->op_type) && dtype != DTYPE_BOOL)
        return infer_fail(infer, "its operands are %s, not bool", dtype_name(dtype));
    return infer_output(infer, 0, DTYPE_BOOL, &infer->node->outputs[0]->shape);
}

/* The exponent may have any type. */
int shape_pow(struct infer *infer)
{
    struct shape shape = *infer_shape(infer, 0);
    int rc;

    if (infer->opset < 7)
        return shape_binary(infer);
    rc = infer_broadcast(infer, &shape, infer_shape(infer, 1));
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &shape);
}

/* The slope is broadcast to the input, never the other way round. */
int shape_prelu(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0);
    const struct shape *slope = infer_shape(infer, 1);
    struct shape shape = *x;
    bool is_per_channel =
        infer->opset < 7 && slope->rank == 1 && x->rank > 1 && slope->dims[0] == x->dims[1];
    int rc = infer_same_dtype(infer, 0, 1);

    if (rc == 0 && !is_per_channel) {
        rc = infer_broadcast(infer, &shape, slope);
        if (rc == 0 && !shape_equal(&shape, x))
            rc = infer_fail(infer, "its slopes are larger than its input");
    }
    return rc < 0 ? rc : infer_same(infer);
}

/* Max, Min, Mean: any number of operands; broadcast since operator set 8. */
int shape_many(struct infer *infer)
{
    struct shape shape = *infer_shape(infer, 0);
    int rc = 0;

    for (uint32_t i = 1; rc == 0 && i < infer->node->input_count; i++) {
        if (!infer_has(infer, i))
            return infer_fail(infer, "input %u is left out", i);
        rc = infer_same_dtype(infer, 0, i);
        if (rc == 0 && infer->opset < 8 && !shape_equal(&shape, infer_shape(infer, i)))
            rc = infer_fail(infer, "its operands differ in shape");
        if (rc == 0)
            rc = infer_broadcast(infer, &shape, infer_shape(infer, i));
    }
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &shape);
}

int shape_where(struct infer *infer)
{
    struct shape shape = *infer_shape(infer, 0);
    int rc = infer_same_dtype(infer, 1, 2);

    if (rc == 0 && infer_dtype(infer, 0) != DTYPE_BOOL)
        rc = infer_fail(infer, "its condition is %s, not bool", dtype_name(infer_dtype(infer, 0)));
    for (uint32_t i = 1; rc == 0 && i < 3; i++)
        rc = infer_broadcast(infer, &shape, infer_shape(infer, i));
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 1), &shape);
}

/* To the type of the second input, whatever that holds. */
int shape_cast_like(struct infer *infer)
{
    return infer_output(infer, 0, infer_dtype(infer, 1), infer_shape(infer, 0));
}
