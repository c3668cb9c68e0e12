/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: reductions and normalisations. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/element.h"
#include "runtime/ops/shape/infer.h"

static int reduce_axes(struct infer *infer, const int64_t *axes, size_t count, bool *is_reduced)
{
    int rank = infer_shape(infer, 0)->rank;

    for (size_t i = 0; i < count; i++) {
        int axis;
        int rc = infer_axis(infer, axes[i], rank, &axis);

        if (rc < 0)
            return rc;
        is_reduced[axis] = true;
    }
    for (int i = 0; count == 0 && i < rank; i++)
        is_reduced[i] = node_int(infer->node, "noop_with_empty_axes", 0) == 0;
    return 0;
}

/* The axes are an input since operator set 18; of ReduceSum since 13. */
int shape_reduce(struct infer *infer)
{
    int64_t since = strcmp(infer->node->op_type, "ReduceSum") == 0 ? 13 : 18;
    bool keeps = node_int(infer->node, "keepdims", 1) != 0;
    const struct shape *x = infer_shape(infer, 0);
    struct shape out = {.rank = 0};
    bool is_reduced[SHAPE_MAX_RANK] = {false};
    int64_t *axes;
    size_t count;
    int rc = infer_list(infer, "axes", 1, since, &axes, &count);

    if (rc == 0)
        rc = reduce_axes(infer, axes, count, is_reduced);
    free(axes);
    if (rc < 0)
        return rc;
    for (int i = 0; i < x->rank; i++) {
        if (!is_reduced[i] || keeps)
            out.dims[out.rank++] = is_reduced[i] ? 1 : x->dims[i];
    }
    return infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

int shape_arg(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0);
    struct shape out = {.rank = 0};
    int axis;
    int rc = infer_axis(infer, node_int(infer->node, "axis", 0), x->rank, &axis);

    if (rc < 0)
        return rc;
    if (x->dims[axis] == 0)
        return infer_fail(infer, "axis %d is empty", axis);
    for (int i = 0; i < x->rank; i++) {
        if (i != axis || node_int(infer->node, "keepdims", 1) != 0)
            out.dims[out.rank++] = i == axis ? 1 : x->dims[i];
    }
    return infer_output(infer, 0, DTYPE_I64, &out);
}

/* Outputs 1 and 2: mean and inverse deviation, of the axes before `axis`, with 1 for the others. */
int shape_layer_norm(struct infer *infer)
{
    struct shape stats = *infer_shape(infer, 0);
    int64_t stash = node_int(infer->node, "stash_type", DTYPE_F32);
    int axis;
    int rc = infer_float(infer, 0);

    if (rc == 0)
        rc = infer_axis(infer, node_int(infer->node, "axis", -1), stats.rank, &axis);
    if (rc == 0 && !element_is_float((enum dtype)stash))
        rc = infer_unsupported(infer, "its statistics are of type %" PRId64, stash);
    for (int i = rc == 0 ? axis : stats.rank; i < stats.rank; i++)
        stats.dims[i] = 1;
    for (uint32_t i = 1; rc == 0 && i < 3; i++)
        rc = infer_output(infer, i, (enum dtype)stash, &stats);
    return rc < 0 ? rc : infer_same(infer);
}

int shape_channels(struct infer *infer)
{
    int rc = infer_float(infer, 0);

    if (rc == 0 && infer_shape(infer, 0)->rank < 2)
        rc = infer_fail(infer, "its input has no channel dimension");
    return rc < 0 ? rc : infer_same(infer);
}

/* The axis is an input. */
int shape_cumulative(struct infer *infer)
{
    int64_t *axis;
    size_t count;
    int at;
    int rc = infer_ints(infer, 1, &axis, &count);

    if (rc < 0)
        return rc;
    if (count != 1)
        rc = infer_fail(infer, "its axis is not one number");
    else
        rc = infer_axis(infer, axis[0], infer_shape(infer, 0)->rank, &at);
    free(axis);
    return rc < 0 ? rc : infer_same(infer);
}

int shape_lp_norm(struct infer *infer)
{
    int64_t p = node_int(infer->node, "p", 2);
    int axis;
    int rc = infer_float(infer, 0);

    if (rc == 0)
        rc = infer_axis(infer, node_int(infer->node, "axis", -1), infer_shape(infer, 0)->rank,
                        &axis);
    if (rc == 0 && p != 1 && p != 2)
        rc = infer_fail(infer, "attribute p is %" PRId64 ", not 1 or 2", p);
    return rc < 0 ? rc : infer_same(infer);
}
