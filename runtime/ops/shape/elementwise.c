/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: operators whose output has the shape of an input, or of all of them broadcast.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "runtime/graph/element.h"
#include "runtime/ops/shape/infer.h"

int shape_same(struct infer *infer)
{
    return infer_same(infer);
}

int shape_unary_float(struct infer *infer)
{
    int rc = infer_float(infer, 0);

    return rc < 0 ? rc : infer_same(infer);
}

/* Training that drops nothing is like inference; else it is random. */
static int check_training(struct infer *infer)
{
    const void *training, *ratio = NULL;
    int rc;

    if (infer_dtype(infer, 2) != DTYPE_BOOL || shape_elements(infer_shape(infer, 2)) != 1)
        return infer_fail(infer, "training_mode must be one bool");
    rc = infer_content(infer, 2, &training);
    if (rc < 0 || *(const uint8_t *)training == 0)
        return rc;
    if (infer_has(infer, 1) && shape_elements(infer_shape(infer, 1)) == 1)
        rc = infer_content(infer, 1, &ratio);
    if (rc == 0 && (!ratio || element_get(ratio, infer_dtype(infer, 1), 0) != 0.0L))
        rc = infer_unsupported(infer, "only inference is supported, not training mode");
    return rc;
}

/* Is training mode switched on? Input 2 from operator set 12 on; an attribute is_test that must be
 * set before 7, which all runners take as inference. */
int shape_dropout(struct infer *infer)
{
    int rc = infer_float(infer, 0);

    if (rc == 0 && infer_has(infer, 2))
        rc = check_training(infer);
    if (rc == 0)
        rc = infer_same(infer);
    if (rc == 0)
        rc = infer_output(infer, 1, infer->opset >= 10 ? DTYPE_BOOL : infer_dtype(infer, 0),
                          infer_shape(infer, 0));
    return rc;
}

/* min and max are inputs from operator set 11 on, attributes before. */
int shape_clip(struct infer *infer)
{
    if (infer->opset < 11 && infer->node->input_count > 1)
        return infer_fail(infer, "min and max are attributes in operator set %" PRId64,
                          infer->opset);
    for (uint32_t i = 1; i < 3; i++) {
        int rc = infer_same_dtype(infer, 0, i);

        if (rc < 0)
            return rc;
        if (infer_has(infer, i) && shape_elements(infer_shape(infer, i)) != 1)
            return infer_fail(infer, "%s is not a scalar", i == 1 ? "min" : "max");
    }
    return infer_same(infer);
}

int shape_softmax(struct infer *infer)
{
    int rank = infer_shape(infer, 0)->rank;
    int axis;
    int rc = infer_float(infer, 0);

    /* Before operator set 13, axis may also be one past the end: one row. */
    if (rc == 0 && !(infer->opset < 13 && node_int(infer->node, "axis", 1) == rank))
        rc = infer_axis(infer, node_int(infer->node, "axis", infer->opset < 13 ? 1 : -1), rank,
                        &axis);
    return rc < 0 ? rc : infer_same(infer);
}

int shape_lrn(struct infer *infer)
{
    int rc = infer_float(infer, 0);

    if (rc == 0 && infer_shape(infer, 0)->rank < 2)
        rc = infer_fail(infer, "its input has no channel dimension");
    if (rc == 0 && node_int(infer->node, "size", 0) < 1)
        rc = infer_fail(infer, "attribute size must be at least 1");
    return rc < 0 ? rc : infer_same(infer);
}

/* Outputs beside the first: the statistics of training, since operator set 14. */
static int batch_norm_statistics(struct infer *infer)
{
    bool is_training = node_int(infer->node, "training_mode", 0) != 0;
    int rc = 0;

    for (uint32_t i = 1; rc == 0 && i < infer->node->output_count; i++) {
        const struct value *value = infer->node->outputs[i];

        if (!is_training && value && (value->consumer_count > 0 || value->is_output))
            return infer_unsupported(infer, "output %u exists in training mode only", i);
        rc = infer_output(infer, i, infer_dtype(infer, 3), infer_shape(infer, 3));
    }
    return rc;
}

int shape_batch_norm(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0);
    bool is_spatial = node_int(infer->node, "spatial", 1) != 0;
    int64_t want;
    int rc = infer_float(infer, 0);

    if (rc == 0)
        rc = infer_same_dtype(infer, 1, 2);
    if (rc == 0)
        rc = infer_same_dtype(infer, 3, 4);
    if (rc < 0)
        return rc;
    if (x->rank < 2)
        return infer_fail(infer, "its input has no channel dimension");
    want = x->dims[1];
    for (int i = 2; !is_spatial && i < x->rank; i++)
        want *= x->dims[i];
    for (uint32_t i = 1; i < 5; i++) {
        if (shape_elements(infer_shape(infer, i)) != want)
            return infer_fail(infer, "input %u has %" PRId64 " elements for %" PRId64 " channels",
                              i, shape_elements(infer_shape(infer, i)), want);
    }
    rc = batch_norm_statistics(infer);
    return rc < 0 ? rc : infer_same(infer);
}

/* Before operator set 7 the second operand was put at an axis of the first (by default the last
 * ones), and the result had the shape of the first. */
static int legacy_broadcast(struct infer *infer)
{
    char text[SHAPE_TEXT_BYTES], b_text[SHAPE_TEXT_BYTES];
    const struct shape *a = infer_shape(infer, 0);
    const struct shape *b = infer_shape(infer, 1);
    int64_t first = node_int(infer->node, "axis", a->rank - b->rank);
    bool fits;

    first += first < 0 && node_attribute(infer->node, "axis") ? a->rank : 0;
    fits = first >= 0 && first <= a->rank - b->rank;
    for (int i = 0; fits && i < b->rank; i++)
        fits = b->dims[i] == 1 || b->dims[i] == a->dims[first + i];
    if (!fits)
        return infer_fail(infer, "shape %s cannot be broadcast to %s", shape_text(b, b_text),
                          shape_text(a, text));
    return infer_same(infer);
}

int shape_binary(struct infer *infer)
{
    struct shape shape = *infer_shape(infer, 0);
    int rc = infer_same_dtype(infer, 0, 1);

    if (rc == 0 && infer->opset < 7)
        return legacy_broadcast(infer);
    if (rc == 0)
        rc = infer_broadcast(infer, &shape, infer_shape(infer, 1));
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &shape);
}

int shape_sum(struct infer *infer)
{
    struct shape shape = *infer_shape(infer, 0);
    int rc = infer_float(infer, 0);

    for (uint32_t i = 1; rc == 0 && i < infer->node->input_count; i++) {
        if (!infer_has(infer, i))
            return infer_fail(infer, "input %u is left out", i);
        rc = infer_same_dtype(infer, 0, i);
        if (rc == 0)
            rc = infer_broadcast(infer, &shape, infer_shape(infer, i));
    }
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &shape);
}
