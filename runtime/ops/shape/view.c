/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: operators that only name the same elements anew: Reshape, Flatten, Squeeze,
 * Unsqueeze, Transpose. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "runtime/ops/shape/infer.h"

/* Fills *out_shape from the wanted dims: 0 copies the input's (unless allowzero), one -1 takes the
 * rest.
 */
static int resolve_reshape(struct infer *infer, const int64_t *wanted, size_t count,
                           struct shape *out_shape)
{
    const struct shape *in = infer_shape(infer, 0);
    bool allow_zero = node_int(infer->node, "allowzero", 0) != 0;
    int64_t elements = shape_elements(in);
    int64_t rest;
    int open = -1;

    if (count > SHAPE_MAX_RANK)
        return infer_unsupported(infer, "its output has %zu dimensions", count);
    out_shape->rank = (int)count;
    for (int i = 0; i < out_shape->rank; i++) {
        out_shape->dims[i] = wanted[i];
        if (wanted[i] == 0 && !allow_zero) {
            if (i >= in->rank)
                return infer_fail(infer, "it copies dimension %d of an input with %d", i, in->rank);
            out_shape->dims[i] = in->dims[i];
        }
        if (wanted[i] < -1 || (wanted[i] == -1 && open >= 0))
            return infer_fail(infer, "it asks for dimension %" PRId64 "%s", wanted[i],
                              wanted[i] == -1 ? " twice" : "");
        if (wanted[i] == -1)
            open = i;
    }
    if (open >= 0) {
        out_shape->dims[open] = 1;
        rest = shape_elements(out_shape);
        if (rest <= 0 || elements % rest != 0)
            return infer_fail(infer, "%" PRId64 " elements cannot be divided by %" PRId64, elements,
                              rest);
        out_shape->dims[open] = elements / rest;
    }
    return 0;
}

int shape_reshape(struct infer *infer)
{
    char from[SHAPE_TEXT_BYTES], to[SHAPE_TEXT_BYTES];
    struct shape out;
    int64_t *wanted;
    size_t count;
    int rc = infer_list(infer, "shape", 1, 5, &wanted, &count);

    if (rc < 0)
        return rc;
    if (!wanted)
        return infer_fail(infer, "it does not say which shape it wants");
    rc = resolve_reshape(infer, wanted, count, &out);
    free(wanted);
    if (rc == 0 && shape_elements(&out) != shape_elements(infer_shape(infer, 0)))
        rc = infer_fail(infer, "%s cannot become %s", shape_text(infer_shape(infer, 0), from),
                        shape_text(&out, to));
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

int shape_flatten(struct infer *infer)
{
    const struct shape *in = infer_shape(infer, 0);
    int64_t axis = node_int(infer->node, "axis", 1);
    struct shape out = {.rank = 2, .dims = {1, 1}};

    if (axis < 0 && infer->opset >= 11)
        axis += in->rank;
    if (axis < 0 || axis > in->rank)
        return infer_fail(infer, "axis %" PRId64 " is outside of the %d dimensions", axis,
                          in->rank);
    for (int i = 0; i < in->rank; i++)
        out.dims[i >= axis] *= in->dims[i];
    return infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

/* The bit of each axis in the list; each may stand there once. */
static int read_axes(struct infer *infer, const int64_t *axes, size_t count, int rank,
                     unsigned *out_bits)
{
    *out_bits = 0;
    for (size_t i = 0; i < count; i++) {
        int axis;
        int rc = infer_axis(infer, axes[i], rank, &axis);

        if (rc < 0)
            return rc;
        if (*out_bits >> axis & 1)
            return infer_fail(infer, "it names axis %d twice", axis);
        *out_bits |= 1u << axis;
    }
    return 0;
}

int shape_squeeze(struct infer *infer)
{
    const struct shape *in = infer_shape(infer, 0);
    struct shape out = {.rank = 0};
    int64_t *axes;
    size_t count;
    unsigned bits = 0;
    bool all;
    int rc = infer_list(infer, "axes", 1, 13, &axes, &count);

    if (rc < 0)
        return rc;
    all = !axes;
    rc = read_axes(infer, axes, count, in->rank, &bits);
    free(axes);
    for (int i = 0; rc == 0 && i < in->rank; i++) {
        bool named = bits >> i & 1;

        if (named && in->dims[i] != 1)
            return infer_fail(infer, "dimension %d is %" PRId64 ", not 1", i, in->dims[i]);
        if (!named && !(all && in->dims[i] == 1))
            out.dims[out.rank++] = in->dims[i];
    }
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

int shape_unsqueeze(struct infer *infer)
{
    const struct shape *in = infer_shape(infer, 0);
    struct shape out;
    int64_t *axes;
    size_t count;
    unsigned bits = 0;
    int next = 0;
    int rc = infer_list(infer, "axes", 1, 13, &axes, &count);

    if (rc < 0)
        return rc;
    if (!axes)
        return infer_fail(infer, "it does not say which axes it inserts");
    if (count + (size_t)in->rank > SHAPE_MAX_RANK) {
        free(axes);
        return infer_unsupported(infer, "its output has more than %d dimensions", SHAPE_MAX_RANK);
    }
    out.rank = in->rank + (int)count;
    rc = read_axes(infer, axes, count, out.rank, &bits);
    free(axes);
    for (int i = 0; rc == 0 && i < out.rank; i++)
        out.dims[i] = bits >> i & 1 ? 1 : in->dims[next++];
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

int shape_transpose(struct infer *infer)
{
    const struct shape *in = infer_shape(infer, 0);
    struct shape out = {.rank = in->rank};
    size_t count;
    const int64_t *perm = node_ints(infer->node, "perm", &count);
    unsigned bits;
    int rc;

    if (perm) {
        if (count != (size_t)in->rank)
            return infer_fail(infer, "attribute perm has %zu entries for %d dimensions", count,
                              in->rank);
        rc = read_axes(infer, perm, count, in->rank, &bits);
        if (rc < 0)
            return rc;
    }
    for (int i = 0; i < in->rank; i++) {
        int64_t from = !perm ? in->rank - 1 - i : perm[i];

        if (from < 0) /* as other axes may; nobody behind this asks again */
            return infer_fail(infer, "attribute perm has %" PRId64 ", which is no axis", from);
        out.dims[i] = in->dims[from];
    }
    return infer_output(infer, 0, infer_dtype(infer, 0), &out);
}
