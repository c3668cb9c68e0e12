/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that only move elements: each becomes one or more strided copies. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct copy_part {
    uint32_t input;
    int64_t x_offset, y_offset; /* bytes */
    struct kernel_copy shape;
};

struct copy_params {
    copy_fn *fn;
    uint32_t count;
    struct copy_part parts[];
};

static int run_copies(const struct call *call)
{
    const struct copy_params *p = call->params;

    for (uint32_t i = 0; i < p->count; i++) {
        const struct copy_part *part = &p->parts[i];

        p->fn((char *)call->outputs[0] + part->y_offset,
              (const char *)call->inputs[part->input] + part->x_offset, &part->shape);
    }
    return 0;
}

/* Room for `count` copies, with the element size filled in. */
static int make_copies(const struct call_request *request, struct call *call, uint32_t count,
                       struct copy_part **out_parts)
{
    struct copy_params *p;
    int rc;

    for (uint32_t i = 0; i < count; i++)
        if (!call_input(request, i) || request->inputs[i].dtype != request->outputs[0].dtype)
            return call_refuse(request, -EINVAL, "input and output differ in dtype");
    rc = call_params(request, call, sizeof(*p) + count * sizeof(p->parts[0]));
    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->copy.fn;
    p->count = count;
    for (uint32_t i = 0; i < count; i++) {
        p->parts[i].input = i;
        p->parts[i].shape.element_bytes = dtype_bytes(request->outputs[0].dtype);
    }
    call->version = request->kernels->copy.version;
    call->run = run_copies;
    *out_parts = p->parts;
    return 0;
}

/* The copy's axes so far are those of output 0, in its order: put them into the order of its
 * memory, so that the innermost one is the run that is written. */
static void order_axes(const struct call_request *request, struct kernel_copy *copy)
{
    struct layout layout = call_output_layout(request);
    struct kernel_copy given = *copy;

    for (int i = 0; i < layout.rank; i++) {
        copy->dims[i] = given.dims[layout.order[i]];
        copy->y_stride[i] = given.y_stride[layout.order[i]];
        copy->x_stride[i] = given.x_stride[layout.order[i]];
    }
}

/* The axes of output 0; x strides are left to the caller. */
static void copy_to_output(const struct call_request *request, struct kernel_copy *copy)
{
    const struct shape *y = &request->outputs[0].shape;

    copy->rank = y->rank;
    memcpy(copy->dims, y->dims, (size_t)y->rank * sizeof(y->dims[0]));
    call_output_strides(request, copy->y_stride);
}

int call_bind_reorder(const struct kernel_table *kernels, const struct tensor_view *tensor,
                      const struct layout *from, const struct layout *to, struct call *out_call)
{
    struct copy_params *p = calloc(1, sizeof(*p) + sizeof(p->parts[0]));
    int64_t x_stride[SHAPE_MAX_RANK], y_stride[SHAPE_MAX_RANK];
    struct kernel_copy *copy;

    if (!p)
        return -ENOMEM;
    layout_strides(from, &tensor->shape, x_stride);
    layout_strides(to, &tensor->shape, y_stride);
    p->fn = kernels->copy.fn;
    p->count = 1;
    copy = &p->parts[0].shape;
    copy->element_bytes = dtype_bytes(tensor->dtype);
    copy->rank = to->rank;
    for (int i = 0; i < to->rank; i++) {
        copy->dims[i] = tensor->shape.dims[to->order[i]];
        copy->x_stride[i] = x_stride[to->order[i]];
        copy->y_stride[i] = y_stride[to->order[i]];
    }
    *out_call = (struct call){.run = run_copies, .version = kernels->copy.version, .params = p};
    return 0;
}

int call_bind_view(const struct call_request *request, struct call *call)
{
    struct copy_part *part;
    const struct tensor_view *x = call_input(request, 0);
    int rc;

    if (!x || shape_elements(&x->shape) != shape_elements(&request->outputs[0].shape))
        return call_refuse(request, -EINVAL, "input and output differ in their number of elements");
    rc = make_copies(request, call, 1, &part);
    if (rc < 0)
        return rc;
    part->shape.rank = 1;
    part->shape.dims[0] = shape_elements(&x->shape);
    part->shape.x_stride[0] = part->shape.y_stride[0] = 1;
    return 0;
}

/* A copy of the bytes: no view, whose type would be that of its input. */
int call_bind_bit_cast(const struct call_request *request, struct call *call)
{
    struct tensor_view y = request->outputs[0];
    struct call_request untyped = *request;

    if (dtype_bytes(request->inputs[0].dtype) != dtype_bytes(y.dtype))
        return call_refuse(request, -EINVAL, "input and output differ in their bytes");
    y.dtype = request->inputs[0].dtype;
    untyped.outputs = &y;
    return call_bind_view(&untyped, call);
}

int call_bind_concat(const struct call_request *request, struct call *call)
{
    const struct shape *y = &request->outputs[0].shape;
    int64_t y_stride[SHAPE_MAX_RANK], filled = 0;
    struct copy_part *parts = NULL;
    /* Before opset 4 the axis could be left out and was 1. */
    int axis = call_axis(request, node_int(request->node, "axis", 1), y->rank);
    int rc = axis < 0 ? axis : make_copies(request, call, request->node->input_count, &parts);

    if (rc < 0)
        return rc;
    call_output_strides(request, y_stride);
    for (uint32_t i = 0; i < request->node->input_count; i++) {
        const struct shape *x = &request->inputs[i].shape;
        struct kernel_copy *copy = &parts[i].shape;

        for (int j = 0; j < y->rank; j++)
            if (x->rank != y->rank || (j != axis && x->dims[j] != y->dims[j]))
                return call_refuse(request, -EINVAL, "input %" PRIu32 " does not fit the result",
                                   i);
        copy->rank = x->rank;
        memcpy(copy->dims, x->dims, (size_t)x->rank * sizeof(x->dims[0]));
        memcpy(copy->y_stride, y_stride, (size_t)y->rank * sizeof(y_stride[0]));
        call_input_strides(request, i, copy->x_stride);
        order_axes(request, copy);
        parts[i].y_offset = filled * y_stride[axis] * (int64_t)copy->element_bytes;
        filled += x->dims[axis];
    }
    if (filled != y->dims[axis])
        return call_refuse(request, -EINVAL, "the inputs do not fill the result");
    return 0;
}

int call_bind_transpose(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0);
    const struct shape *y = &request->outputs[0].shape;
    int64_t x_stride[SHAPE_MAX_RANK];
    size_t count = 0;
    const int64_t *perm = node_ints(request->node, "perm", &count);
    struct copy_part *part;
    int rc = make_copies(request, call, 1, &part);

    if (rc < 0)
        return rc;
    if (x->shape.rank != y->rank || (perm && count != (size_t)y->rank))
        return call_refuse(request, -EINVAL, "perm, input and output differ in rank");
    copy_to_output(request, &part->shape);
    call_input_strides(request, 0, x_stride);
    for (int i = 0; i < y->rank; i++) {
        int64_t from = perm ? perm[i] : y->rank - 1 - i;

        if (from < 0 || from >= y->rank || x->shape.dims[from] != y->dims[i])
            return call_refuse(request, -EINVAL, "perm does not turn the input into the output");
        part->shape.x_stride[i] = x_stride[from];
    }
    order_axes(request, &part->shape);
    return 0;
}

struct slice {
    int64_t starts[CALL_MAX_INTS], ends[CALL_MAX_INTS];
    int64_t axes[CALL_MAX_INTS], steps[CALL_MAX_INTS];
    int count;
};

/* Inputs since opset 10, attributes before. */
static int read_slice(const struct call_request *request, struct slice *out_slice)
{
    bool given, has_axes, has_steps;
    int starts = call_ints(request, 1, "starts", out_slice->starts, &given);
    int ends = call_ints(request, 2, "ends", out_slice->ends, &given);
    int axes = call_ints(request, 3, "axes", out_slice->axes, &has_axes);
    int steps = call_ints(request, 4, NULL, out_slice->steps, &has_steps);

    if (starts < 0 || ends < 0 || axes < 0 || steps < 0)
        return starts < 0 ? starts : ends < 0 ? ends : axes < 0 ? axes : steps;
    if (ends != starts || (has_axes && axes != starts) || (has_steps && steps != starts))
        return call_refuse(request, -EINVAL, "starts, ends, axes and steps differ in length");
    for (int i = 0; i < starts; i++) {
        if (!has_axes)
            out_slice->axes[i] = i;
        if (!has_steps)
            out_slice->steps[i] = 1;
    }
    out_slice->count = starts;
    return 0;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* One sliced axis: where it starts, and how many elements it keeps. Counts from the end are
 * resolved and everything is clamped first, so that no sum can overflow. */
static int64_t slice_axis(int64_t dim, int64_t start, int64_t end, int64_t step, int64_t *out_count)
{
    if (start < 0)
        start = start < -dim ? -1 : start + dim;
    if (end < 0)
        end = end < -dim ? -1 : end + dim;
    if (dim == 0) {
        *out_count = 0;
        return 0;
    }
    if (step > 0) {
        start = clamp(start, 0, dim);
        end = clamp(end, start, dim);
        *out_count = end > start ? (end - start - 1) / step + 1 : 0;
    } else {
        start = clamp(start, 0, dim - 1);
        end = clamp(end, -1, start);
        *out_count = start > end ? (start - end - 1) / -step + 1 : 0;
    }
    return start;
}

int call_bind_slice(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0);
    const struct shape *y = &request->outputs[0].shape;
    struct copy_part *part;
    struct slice slice;
    int rc = make_copies(request, call, 1, &part);

    if (rc == 0)
        rc = read_slice(request, &slice);
    if (rc == 0 && x->shape.rank != y->rank)
        rc = call_refuse(request, -EINVAL, "input and output differ in rank");
    if (rc < 0)
        return rc;
    copy_to_output(request, &part->shape);
    call_input_strides(request, 0, part->shape.x_stride);
    for (int i = 0; i < slice.count; i++) {
        int axis = call_axis(request, slice.axes[i], y->rank);
        int64_t step = slice.steps[i], start, count;

        if (axis < 0)
            return axis;
        if (step == 0)
            return call_refuse(request, -EINVAL, "a step is 0");
        step += step == INT64_MIN; /* no dimension tells them apart */
        start = slice_axis(x->shape.dims[axis], slice.starts[i], slice.ends[i], step, &count);
        if (count != y->dims[axis])
            return call_refuse(request, -EINVAL, "axis %d keeps %" PRId64 " elements, not %" PRId64,
                               axis, count, y->dims[axis]);
        if (count == 0) /* nothing is read: offset and stride do not matter */
            continue;
        part->x_offset += start * part->shape.x_stride[axis] * (int64_t)part->shape.element_bytes;
        part->shape.x_stride[axis] *= count > 1 ? step : 1;
    }
    order_axes(request, &part->shape);
    return 0;
}

/* How often each axis of the input stands in the output. */
static int tile_repeats(const struct call_request *request, int64_t repeats[CALL_MAX_INTS])
{
    const struct shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    bool given;
    int count = x->rank;

    if (graph_opset(request->graph, "") < 6) /* one axis and its count, of any type */
        for (int i = 0; i < x->rank; i++)
            repeats[i] = x->dims[i] > 0 ? y->dims[i] / x->dims[i] : 0;
    else
        count = call_ints(request, 1, NULL, repeats, &given);
    if (count < 0)
        return count;
    if (count != x->rank || y->rank != x->rank)
        return call_refuse(request, -EINVAL, "repeats must have one entry per axis");
    return 0;
}

int call_bind_tile(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0);
    const struct shape *y = &request->outputs[0].shape;
    int64_t repeats[CALL_MAX_INTS], x_stride[SHAPE_MAX_RANK], y_stride[SHAPE_MAX_RANK];
    struct copy_part *part;
    int rc;

    rc = tile_repeats(request, repeats);
    if (rc == 0)
        rc = make_copies(request, call, 1, &part);
    if (rc < 0)
        return rc;
    call_input_strides(request, 0, x_stride);
    call_output_strides(request, y_stride);
    part->shape.rank = 2 * y->rank;
    for (int i = 0; i < y->rank; i++) {
        int64_t dim = x->shape.dims[i];

        if (dim == 0 ? y->dims[i] != 0 : y->dims[i] % dim != 0 || y->dims[i] / dim != repeats[i])
            return call_refuse(request, -EINVAL, "repeats do not turn the input into the output");
        part->shape.dims[2 * i] = repeats[i];
        part->shape.dims[2 * i + 1] = dim;
        part->shape.y_stride[2 * i] = dim * y_stride[i];
        part->shape.y_stride[2 * i + 1] = y_stride[i];
        part->shape.x_stride[2 * i] = 0;
        part->shape.x_stride[2 * i + 1] = x_stride[i];
    }
    return 0;
}

int call_bind_expand(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0);
    const struct shape *y = &request->outputs[0].shape;
    int64_t x_stride[SHAPE_MAX_RANK];
    struct copy_part *part;
    int rc = make_copies(request, call, 1, &part);
    int first;

    if (rc < 0)
        return rc;
    first = y->rank - x->shape.rank;
    if (first < 0)
        return call_refuse(request, -EINVAL, "the input has more axes than the output");
    copy_to_output(request, &part->shape);
    call_input_strides(request, 0, x_stride);
    for (int i = 0; i < x->shape.rank; i++) {
        if (x->shape.dims[i] != 1 && x->shape.dims[i] != y->dims[first + i])
            return call_refuse(request, -EINVAL, "the input cannot be broadcast to the output");
        part->shape.x_stride[first + i] = x->shape.dims[i] == 1 ? 0 : x_stride[i];
    }
    return 0;
}
