/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: operators that pick, place and order elements by index. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/element.h"
#include "runtime/ops/call/call.h"
#include "runtime/ops/shape/infer.h"

static int check_indices(struct infer *infer, uint32_t i)
{
    enum dtype dtype = infer_dtype(infer, i);

    if (dtype != DTYPE_I64 && dtype != DTYPE_I32)
        return infer_fail(infer, "its indices are %s", dtype_name(dtype));
    return 0;
}

/* GatherElements, ScatterElements: the indices have the input's rank, and are no larger than it but
 * along the axis. */
static int check_elements(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0), *indices = infer_shape(infer, 1);
    int axis;
    int rc = infer_axis(infer, node_int(infer->node, "axis", 0), x->rank, &axis);

    if (rc == 0)
        rc = check_indices(infer, 1);
    if (rc == 0 && indices->rank != x->rank)
        rc = infer_fail(infer, "its indices have %d dimensions and its input %d", indices->rank,
                        x->rank);
    for (int i = 0; rc == 0 && i < x->rank; i++) {
        if (i != axis && indices->dims[i] > x->dims[i])
            rc = infer_fail(infer, "its indices are larger than its input");
    }
    return rc;
}

int shape_gather_elements(struct infer *infer)
{
    int rc = check_elements(infer);

    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), infer_shape(infer, 1));
}

int shape_scatter_elements(struct infer *infer)
{
    int rc = check_elements(infer);

    if (rc == 0)
        rc = infer_same_dtype(infer, 0, 2);
    if (rc == 0 && !shape_equal(infer_shape(infer, 1), infer_shape(infer, 2)))
        rc = infer_fail(infer, "its indices and updates differ in shape");
    return rc < 0 ? rc : infer_same(infer);
}

/* The shape of what tuples of indices name: batch axes, the indices' own axes, the slices'. */
static int tuple_shape(struct infer *infer, int batch, struct shape *out_shape)
{
    const struct shape *x = infer_shape(infer, 0), *indices = infer_shape(infer, 1);
    int64_t depth = indices->rank > 0 ? indices->dims[indices->rank - 1] : 0;
    int rc = check_indices(infer, 1);

    if (rc < 0)
        return rc;
    if (indices->rank < 1 || x->rank < 1 || batch < 0 || batch >= indices->rank ||
        batch >= x->rank || depth < 0 || depth > x->rank - batch)
        return infer_fail(infer, "its indices do not fit its input");
    if (indices->rank - 1 + x->rank - batch - depth > SHAPE_MAX_RANK)
        return infer_unsupported(infer, "its output has more than %d dimensions", SHAPE_MAX_RANK);
    for (int i = 0; i < batch; i++) {
        if (x->dims[i] != indices->dims[i])
            return infer_fail(infer, "its batches differ in size");
    }
    out_shape->rank = 0;
    for (int i = 0; i < indices->rank - 1; i++)
        out_shape->dims[out_shape->rank++] = indices->dims[i];
    for (int i = batch + (int)depth; i < x->rank; i++)
        out_shape->dims[out_shape->rank++] = x->dims[i];
    return 0;
}

int shape_gather_nd(struct infer *infer)
{
    struct shape out;
    int64_t batch_dims = node_int(infer->node, "batch_dims", 0);
    int rc = batch_dims < 0 || batch_dims > SHAPE_MAX_RANK
                 ? infer_fail(infer, "attribute batch_dims is %" PRId64, batch_dims)
                 : tuple_shape(infer, (int)batch_dims, &out);

    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

int shape_scatter_nd(struct infer *infer)
{
    struct shape updates;
    int rc = tuple_shape(infer, 0, &updates);

    if (rc == 0)
        rc = infer_same_dtype(infer, 0, 2);
    if (rc == 0 && !shape_equal(&updates, infer_shape(infer, 2)))
        rc = infer_fail(infer, "its updates do not have the shape that its indices name");
    return rc < 0 ? rc : infer_same(infer);
}

/* k: an attribute before operator set 10. */
int shape_top_k(struct infer *infer)
{
    struct shape out = *infer_shape(infer, 0);
    int64_t k = node_int(infer->node, "k", 0);
    int64_t *ints;
    size_t count;
    int axis;
    int rc = infer_axis(infer, node_int(infer->node, "axis", -1), out.rank, &axis);

    if (rc == 0 && infer->opset >= 10) {
        rc = infer_has(infer, 1) ? infer_ints(infer, 1, &ints, &count)
                                 : infer_fail(infer, "it does not say how many");
        if (rc < 0)
            return rc;
        k = count == 1 ? ints[0] : -1;
        free(ints);
    }
    if (rc == 0 && (k < 0 || k > out.dims[axis]))
        rc = infer_fail(infer, "it wants %" PRId64 " of %" PRId64 " elements", k, out.dims[axis]);
    if (rc < 0)
        return rc;
    out.dims[axis] = k;
    rc = infer_output(infer, 1, DTYPE_I64, &out);
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

/* As many columns as elements are not zero. */
int shape_nonzero(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0);
    struct shape out = {.rank = 2, .dims = {x->rank, 0}};
    const void *data;
    int rc = infer_content(infer, 0, &data);

    if (rc < 0)
        return rc;
    for (int64_t i = 0; i < shape_elements(x); i++)
        out.dims[1] += element_get(data, infer_dtype(infer, 0), i) != 0;
    return infer_output(infer, 0, DTYPE_I64, &out);
}

int shape_compress(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0);
    bool has_axis = node_attribute(infer->node, "axis") != NULL;
    struct shape out = {.rank = 1};
    int64_t length = shape_elements(x), given = shape_elements(infer_shape(infer, 1));
    const void *data;
    int axis = 0;
    int rc = infer_content(infer, 1, &data);

    if (rc == 0 && infer_dtype(infer, 1) != DTYPE_BOOL)
        rc = infer_fail(infer, "its condition is not bool");
    if (rc == 0 && has_axis) {
        rc = infer_axis(infer, node_int(infer->node, "axis", 0), x->rank, &axis);
        out = *x;
        length = rc == 0 ? x->dims[axis] : 0;
    }
    if (rc < 0)
        return rc;
    out.dims[axis] = 0;
    for (int64_t i = 0; i < given && i < length; i++)
        out.dims[axis] += ((const uint8_t *)data)[i] != 0;
    return infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

/* The depth, an input of any type, is inserted at the axis. */
int shape_one_hot(struct infer *infer)
{
    const struct shape *indices = infer_shape(infer, 0);
    struct shape out = {.rank = 0};
    const void *data;
    int64_t depth;
    int axis;
    int rc = infer_axis(infer, node_int(infer->node, "axis", -1), indices->rank + 1, &axis);

    if (rc == 0)
        rc = infer_content(infer, 1, &data);
    if (rc < 0)
        return rc;
    if (shape_elements(infer_shape(infer, 1)) != 1 || shape_elements(infer_shape(infer, 2)) != 2)
        return infer_fail(infer, "it needs one depth and two values");
    if (indices->rank == SHAPE_MAX_RANK)
        return infer_unsupported(infer, "its output has more than %d dimensions", SHAPE_MAX_RANK);
    depth = (int64_t)element_get(data, infer_dtype(infer, 1), 0);
    if (depth < 0)
        return infer_fail(infer, "its depth is %" PRId64, depth);
    for (int i = 0; i <= indices->rank; i++)
        out.dims[out.rank++] = i == axis ? depth : indices->dims[i - (i > axis)];
    return infer_output(infer, 0, infer_dtype(infer, 2), &out);
}

/* As many slices as differ. */
int shape_unique(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0);
    bool has_axis = node_attribute(infer->node, "axis") != NULL;
    struct kernel_unique slices = {.outer = 1, .axis = shape_elements(x), .inner = 1};
    struct shape out = {.rank = 1}, line = {.rank = 1};
    const void *data;
    void *scratch;
    int axis = 0;
    int rc = has_axis ? infer_axis(infer, node_int(infer->node, "axis", 0), x->rank, &axis) : 0;

    if (rc == 0 && !call_moved_dtype(infer_dtype(infer, 0), &slices.dtype))
        rc = infer_unsupported(infer, "input 0 is %s", dtype_name(infer_dtype(infer, 0)));
    if (rc == 0)
        rc = infer_content(infer, 0, &data);
    if (rc < 0)
        return rc;
    if (has_axis)
        out = *x;
    for (int i = 0; has_axis && i < x->rank; i++)
        *(i < axis ? &slices.outer : &slices.inner) *= i == axis ? 1 : x->dims[i];
    slices.axis = has_axis ? x->dims[axis] : slices.axis;
    scratch = malloc(kernel_unique_room(&slices) + 1);
    if (!scratch)
        return -ENOMEM;
    out.dims[axis] = unique_ref(NULL, data, scratch, &slices);
    free(scratch);
    line.dims[0] = out.dims[axis];
    rc = infer_output(infer, 1, DTYPE_I64, &line);
    if (rc == 0)
        rc = infer_output(infer, 3, DTYPE_I64, &line);
    line.dims[0] = slices.axis;
    if (rc == 0)
        rc = infer_output(infer, 2, DTYPE_I64, &line);
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

/* Trilu, ReverseSequence, TensorScatter: like the first input. */
int shape_square(struct infer *infer)
{
    if (infer_shape(infer, 0)->rank < 2)
        return infer_fail(infer, "its input has fewer than 2 dimensions");
    return infer_same(infer);
}
