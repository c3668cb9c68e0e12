/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: operators that pick, repeat or join elements: Concat, Tile, Expand, Slice, Pad,
 * Gather. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/element.h"
#include "runtime/ops/shape/infer.h"

/* Sizes are added and multiplied below; this keeps every step within int64. */
#define DIM_MAX ((int64_t)1 << 31)

int shape_concat(struct infer *infer)
{
    char a[SHAPE_TEXT_BYTES], b[SHAPE_TEXT_BYTES];
    struct shape out = *infer_shape(infer, 0);
    int axis;
    int rc = 0;

    if (infer->opset >= 4 && !node_attribute(infer->node, "axis"))
        return infer_fail(infer, "attribute axis is missing");
    rc = infer_axis(infer, node_int(infer->node, "axis", 1), out.rank, &axis);
    for (uint32_t i = 1; rc == 0 && i < infer->node->input_count; i++) {
        const struct shape *with;
        struct shape same;

        if (!infer_has(infer, i))
            return infer_fail(infer, "input %u is left out", i);
        with = infer_shape(infer, i);
        same = *with;
        rc = infer_same_dtype(infer, 0, i);
        if (rc == 0 && with->rank == out.rank)
            same.dims[axis] = out.dims[axis];
        if (rc == 0 && !shape_equal(&same, &out))
            rc = infer_fail(infer, "%s cannot be joined to %s along axis %d", shape_text(with, b),
                            shape_text(&out, a), axis);
        if (rc == 0)
            out.dims[axis] += with->dims[axis];
    }
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

/* Before operator set 6: the only number in input i, which has the type of the data. */
static int tile_number(struct infer *infer, uint32_t i, int64_t *out_number)
{
    const void *data;
    long double number;
    int rc;

    if (!infer_has(infer, i) || shape_elements(infer_shape(infer, i)) != 1)
        return infer_fail(infer, "it needs one axis and one count");
    rc = infer_content(infer, i, &data);
    if (rc < 0)
        return rc;
    number = element_get(data, infer_dtype(infer, i), 0);
    if (!(number >= -SHAPE_MAX_RANK && number <= DIM_MAX) || number != truncl(number))
        return infer_fail(infer, "input %u is %Lg", i, number);
    *out_number = (int64_t)number;
    return 0;
}

static int tile_axis(struct infer *infer, int axis, int64_t count, struct shape *out_shape)
{
    if (count < 0 || count > DIM_MAX || out_shape->dims[axis] > DIM_MAX)
        return infer_fail(infer, "it repeats axis %d %" PRId64 " times", axis, count);
    out_shape->dims[axis] *= count;
    return 0;
}

static int tile_one_axis(struct infer *infer, struct shape *out_shape)
{
    int64_t count = 0, at = 0;
    int axis;
    int rc = tile_number(infer, 1, &count);

    if (rc == 0)
        rc = tile_number(infer, 2, &at);
    if (rc == 0)
        rc = infer_axis(infer, at, out_shape->rank, &axis);
    return rc < 0 ? rc : tile_axis(infer, axis, count, out_shape);
}

static int tile_all_axes(struct infer *infer, struct shape *out_shape)
{
    int64_t *tiles = NULL;
    size_t count;
    int rc = infer_ints(infer, 1, &tiles, &count);

    if (rc == 0 && (infer->node->input_count > 2 || count != (size_t)out_shape->rank))
        rc = infer_fail(infer, "it has %zu repeats for %d dimensions", count, out_shape->rank);
    for (int i = 0; rc == 0 && i < out_shape->rank; i++)
        rc = tile_axis(infer, i, tiles[i], out_shape);
    free(tiles);
    return rc;
}

/* Operator set 1: one axis and how often, both scalars in inputs. Since 6: a count per axis. */
int shape_tile(struct infer *infer)
{
    struct shape out = *infer_shape(infer, 0);
    int rc = infer->opset < 6 ? tile_one_axis(infer, &out) : tile_all_axes(infer, &out);

    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

/* NumPy's rule in both directions: a wanted 1 keeps the input's dimension. */
int shape_expand(struct infer *infer)
{
    struct shape out = *infer_shape(infer, 0);
    struct shape wanted = {.rank = 0};
    int64_t *dims;
    size_t count;
    int rc = infer_ints(infer, 1, &dims, &count);

    if (rc < 0)
        return rc;
    if (count > SHAPE_MAX_RANK)
        rc = infer_unsupported(infer, "its output has %zu dimensions", count);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (dims[i] < 0)
            rc = infer_fail(infer, "it asks for the dimension %" PRId64, dims[i]);
        wanted.dims[wanted.rank++] = dims[i];
    }
    free(dims);
    if (rc == 0)
        rc = infer_broadcast(infer, &out, &wanted);
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

/* The four lists of a Slice. */
struct slice {
    int64_t *lists[4]; /* starts, ends, axes, steps */
    size_t counts[4];
};

enum { STARTS, ENDS, AXES, STEPS };

static int read_slice(struct infer *infer, struct slice *slice)
{
    static const char *const names[] = {"starts", "ends", "axes", "steps"};

    for (uint32_t i = 0; i < 4; i++) {
        int rc = 0;

        /* Attributes before operator set 10 (and no steps); inputs 1 to 4 since. */
        if (i < STEPS || infer->opset >= 10 || infer->node->is_lowered || infer_has(infer, i + 1))
            rc = infer_list(infer, names[i], i + 1, 10, &slice->lists[i], &slice->counts[i]);
        if (rc < 0)
            return rc;
        if (!slice->lists[i] && i < AXES)
            return infer_fail(infer, "its %s are missing", names[i]);
        if (slice->lists[i] && slice->counts[i] != slice->counts[STARTS])
            return infer_fail(infer, "it has %zu starts and %zu %s", slice->counts[STARTS],
                              slice->counts[i], names[i]);
    }
    return 0;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* How many elements start, start + step, ... are, up to and without end. Counts from the end of the
 * dimension are resolved and everything is clamped first, as the specification says: start into the
 * dimension, end up to one element outside of it. */
static int64_t slice_count(int64_t dim, int64_t start, int64_t end, int64_t step)
{
    if (start < 0)
        start = start < -dim ? -1 : start + dim;
    if (end < 0)
        end = end < -dim ? -1 : end + dim;
    if (dim == 0)
        return 0;
    if (step > 0) {
        start = clamp(start, 0, dim);
        end = clamp(end, 0, dim);
        return end <= start ? 0 : (end - start - 1) / step + 1;
    }
    start = clamp(start, 0, dim - 1);
    end = clamp(end, -1, dim - 1);
    return end >= start ? 0 : (start - end - 1) / -step + 1;
}

static int apply_slice(struct infer *infer, const struct slice *slice, struct shape *out_shape)
{
    for (size_t i = 0; i < slice->counts[STARTS]; i++) {
        int64_t step = slice->lists[STEPS] ? slice->lists[STEPS][i] : 1;
        int axis;
        int rc = infer_axis(infer, slice->lists[AXES] ? slice->lists[AXES][i] : (int64_t)i,
                            out_shape->rank, &axis);

        if (rc < 0)
            return rc;
        if (step == 0)
            return infer_fail(infer, "its step along axis %d is 0", axis);
        if (step == INT64_MIN)
            step++;
        out_shape->dims[axis] = slice_count(infer_shape(infer, 0)->dims[axis],
                                            slice->lists[STARTS][i], slice->lists[ENDS][i], step);
    }
    return 0;
}

int shape_slice(struct infer *infer)
{
    struct slice slice = {0};
    struct shape out = *infer_shape(infer, 0);
    int rc = read_slice(infer, &slice);

    if (rc == 0)
        rc = apply_slice(infer, &slice, &out);
    for (int i = 0; i < 4; i++)
        free(slice.lists[i]);
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

/* The dims that `pads` speaks of: the axes in input 3 (since operator set 18), else all. */
static int pad_axes(struct infer *infer, int rank, int *axes, size_t *out_count)
{
    int64_t *list;
    int rc = 0;

    *out_count = (size_t)rank;
    for (int i = 0; i < rank; i++)
        axes[i] = i;
    if (!infer_has(infer, 3))
        return 0;
    rc = infer_ints(infer, 3, &list, out_count);
    if (rc < 0)
        return rc;
    if (*out_count > (size_t)rank)
        rc = infer_fail(infer, "it names %zu axes of %d", *out_count, rank);
    for (size_t i = 0; rc == 0 && i < *out_count; i++)
        rc = infer_axis(infer, list[i], rank, &axes[i]);
    free(list);
    return rc;
}

int shape_pad(struct infer *infer)
{
    struct shape out = *infer_shape(infer, 0);
    const char *mode = node_string(infer->node, "mode", "constant");
    int axes[SHAPE_MAX_RANK];
    int64_t *pads;
    size_t count, axis_count;
    int rc = infer_list(infer, infer->opset == 1 ? "paddings" : "pads", 1, 11, &pads, &count);

    if (rc < 0)
        return rc;
    rc = pad_axes(infer, out.rank, axes, &axis_count);
    if (rc == 0 && (!pads || count != 2 * axis_count))
        rc = infer_fail(infer, "it has %zu pads for %zu dimensions", count, axis_count);
    if (rc == 0 && strcmp(mode, "constant") != 0 && strcmp(mode, "edge") != 0 &&
        strcmp(mode, "reflect") != 0 && strcmp(mode, "wrap") != 0)
        rc = infer_unsupported(infer, "mode '%s' is not supported", mode);
    for (size_t i = 0; rc == 0 && i < axis_count; i++) {
        int64_t before = pads[i];
        int64_t after = pads[axis_count + i];

        if (before < -DIM_MAX || before > DIM_MAX || after < -DIM_MAX || after > DIM_MAX ||
            out.dims[axes[i]] + before + after < 0)
            rc = infer_fail(infer, "it pads a dimension of %" PRId64 " by %" PRId64 " and %" PRId64,
                            out.dims[axes[i]], before, after);
        else
            out.dims[axes[i]] += before + after;
    }
    free(pads);
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

int shape_gather(struct infer *infer)
{
    const struct shape *data = infer_shape(infer, 0);
    const struct shape *indices = infer_shape(infer, 1);
    struct shape out = {.rank = 0};
    int axis;
    int rc = infer_axis(infer, node_int(infer->node, "axis", 0), data->rank, &axis);

    if (rc < 0)
        return rc;
    if (infer_dtype(infer, 1) != DTYPE_I64 && infer_dtype(infer, 1) != DTYPE_I32)
        return infer_fail(infer, "its indices are %s", dtype_name(infer_dtype(infer, 1)));
    if (data->rank - 1 + indices->rank > SHAPE_MAX_RANK)
        return infer_unsupported(infer, "its output has more than %d dimensions", SHAPE_MAX_RANK);
    for (int i = 0; i < axis; i++)
        out.dims[out.rank++] = data->dims[i];
    for (int i = 0; i < indices->rank; i++)
        out.dims[out.rank++] = indices->dims[i];
    for (int i = axis + 1; i < data->rank; i++)
        out.dims[out.rank++] = data->dims[i];
    return infer_output(infer, 0, infer_dtype(infer, 0), &out);
}
