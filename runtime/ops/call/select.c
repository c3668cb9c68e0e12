/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that pick, pad, convert or make elements. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Pad */

struct pad_params {
    pad_fn *fn;
    uint64_t value; /* room for one element of any dtype */
    bool has_input; /* the element is input 2, read on each run */
    struct kernel_pad shape;
};

static int run_pad(const struct call *call)
{
    const struct pad_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], p->has_input ? call->inputs[2] : &p->value, &p->shape);
    return 0;
}

static int pad_mode(const struct call_request *request, enum kernel_pad_mode *out_mode)
{
    const char *mode = node_string(request->node, "mode", "constant");

    if (strcmp(mode, "constant") == 0)
        *out_mode = KERNEL_PAD_CONSTANT;
    else if (strcmp(mode, "reflect") == 0)
        *out_mode = KERNEL_PAD_REFLECT;
    else if (strcmp(mode, "edge") == 0)
        *out_mode = KERNEL_PAD_EDGE;
    else if (strcmp(mode, "wrap") == 0)
        *out_mode = KERNEL_PAD_WRAP;
    else
        return call_refuse(request, -ENOTSUP, "no kernel for mode \"%s\"", mode);
    return 0;
}

/* Pads and their axes; the result's shape must agree. */
static int pad_sizes(const struct call_request *request, struct kernel_pad *shape)
{
    const struct shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    int64_t pads[CALL_MAX_INTS], axes[CALL_MAX_INTS], ends[SHAPE_MAX_RANK] = {0};
    const char *attribute = node_attribute(request->node, "pads") ? "pads" : "paddings";
    bool given, has_axes;
    int count = call_ints(request, 1, attribute, pads, &given);
    int axis_count = call_ints(request, 3, NULL, axes, &has_axes);

    if (count < 0 || axis_count < 0)
        return count < 0 ? count : axis_count;
    if (!has_axes)
        axis_count = x->rank;
    if (!given || count != 2 * axis_count || x->rank != y->rank)
        return call_refuse(request, -EINVAL, "pads must have two entries per axis");
    for (int i = 0; i < axis_count; i++) {
        int axis = has_axes ? call_axis(request, axes[i], x->rank) : i;

        if (axis < 0)
            return axis;
        shape->begin[axis] = pads[i];
        ends[axis] = pads[axis_count + i];
    }
    shape->rank = x->rank;
    for (int i = 0; i < x->rank; i++) {
        int64_t begin = shape->begin[i], dim = x->dims[i];
        int64_t left = dim + (begin < 0 ? begin : 0) + (ends[i] < 0 ? ends[i] : 0);
        bool reaches = shape->mode == KERNEL_PAD_CONSTANT || y->dims[i] == 0 || left > 0;

        if (begin > y->dims[i] || begin < -dim || ends[i] != y->dims[i] - dim - begin || !reaches)
            return call_refuse(request, -EINVAL, "the pads of axis %d do not fit", i);
        shape->x_dims[i] = dim;
        shape->y_dims[i] = y->dims[i];
    }
    return 0;
}

/* The constant: an input since opset 11, a float attribute before. */
static int pad_value(const struct call_request *request, uint64_t *out_value)
{
    const struct tensor_view *value = call_input(request, 2);
    enum dtype dtype = request->outputs[0].dtype;
    float number = node_float(request->node, "value", 0.0f);
    enum kernel_dtype to;

    *out_value = 0;
    if (!value) {
        if (number != 0.0f && !call_dtype(dtype, &to))
            return call_refuse(request, -ENOTSUP, "no kernel pads %s with %g", dtype_name(dtype),
                               (double)number);
        if (number != 0.0f)
            cast_ref(out_value, to, &number, KERNEL_F32, 1);
        return 0;
    }
    if (value->dtype != dtype || shape_elements(&value->shape) != 1)
        return call_refuse(request, -EINVAL, "the value is not one element of the input's dtype");
    return 0;
}

int call_bind_pad(const struct call_request *request, struct call *call)
{
    struct pad_params *p;
    int rc;

    if (!call_input(request, 0) || request->inputs[0].dtype != request->outputs[0].dtype)
        return call_refuse(request, -EINVAL, "input and output differ in dtype");
    rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->pad.fn;
    p->shape.element_bytes = dtype_bytes(request->outputs[0].dtype);
    call->version = request->kernels->pad.version;
    call->run = run_pad;
    rc = pad_mode(request, &p->shape.mode);
    if (rc == 0)
        rc = pad_sizes(request, &p->shape);
    if (rc == 0)
        rc = pad_value(request, &p->value);
    p->has_input = call_input(request, 2) != NULL;
    return rc;
}

/* Gather */

struct gather_params {
    gather_fn *fn;
    cast_fn *widen; /* NULL when the indices are int64 already */
    struct kernel_gather shape;
};

static int run_gather(const struct call *call)
{
    const struct gather_params *p = call->params;
    const int64_t *indices = call->inputs[1];

    if (p->widen) {
        p->widen(call->workspace, KERNEL_I64, call->inputs[1], KERNEL_I32, p->shape.index_count);
        indices = call->workspace;
    }
    return p->fn(call->outputs[0], call->inputs[0], indices, &p->shape) < 0 ? -EINVAL : 0;
}

int call_bind_gather(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0), *indices = call_input(request, 1);
    struct gather_params *p;
    int axis, rc;

    if (!x || !indices || x->dtype != request->outputs[0].dtype)
        return call_refuse(request, -EINVAL, "input and output differ in dtype");
    if (indices->dtype != DTYPE_I64 && indices->dtype != DTYPE_I32)
        return call_refuse(request, -EINVAL, "the indices are %s", dtype_name(indices->dtype));
    rc = axis = call_axis(request, node_int(request->node, "axis", 0), x->shape.rank);
    if (rc >= 0)
        rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->gather.fn;
    p->shape = (struct kernel_gather){
        .outer = 1,
        .axis = (size_t)x->shape.dims[axis],
        .inner_bytes = dtype_bytes(x->dtype),
        .index_count = (size_t)shape_elements(&indices->shape),
    };
    for (int i = 0; i < axis; i++)
        p->shape.outer *= (size_t)x->shape.dims[i];
    for (int i = axis + 1; i < x->shape.rank; i++)
        p->shape.inner_bytes *= (size_t)x->shape.dims[i];
    if (p->shape.outer * p->shape.index_count * p->shape.inner_bytes !=
        (size_t)shape_bytes(&request->outputs[0].shape, x->dtype))
        return call_refuse(request, -EINVAL, "the result has the wrong shape");
    if (indices->dtype == DTYPE_I32) {
        p->widen = request->kernels->cast.fn;
        call->workspace_bytes = p->shape.index_count * sizeof(int64_t);
    }
    call->version = request->kernels->gather.version;
    call->run = run_gather;
    return 0;
}

/* Cast */

struct cast_params {
    cast_fn *fn;
    enum kernel_dtype to, from;
    size_t count;
};

static int run_cast(const struct call *call)
{
    const struct cast_params *p = call->params;

    p->fn(call->outputs[0], p->to, call->inputs[0], p->from, p->count);
    return 0;
}

/* One of the types is only stored. */

struct small_params {
    cast_small_fn *fn;
    size_t count;
    struct kernel_cast_small shape;
};

static int run_cast_small(const struct call *call)
{
    const struct small_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], p->count, &p->shape);
    return 0;
}

static int bind_cast_small(const struct call_request *request, enum kernel_dtype from,
                           enum kernel_dtype to, struct call *call)
{
    static const char *const words[] = {
        [SMALL_NEAREST] = "nearest", [SMALL_UP] = "up", [SMALL_DOWN] = "down"};
    const char *word = node_string(request->node, "round_mode", "up");
    struct small_params *p;
    int rounding = SMALL_DOWN, rc;

    while (rounding >= 0 && strcmp(words[rounding], word) != 0)
        rounding--;
    if (rounding < 0)
        return call_refuse(request, -EINVAL, "attribute round_mode is '%.40s'", word);
    rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->cast_small.fn;
    p->count = (size_t)shape_elements(&request->inputs[0].shape);
    p->shape = (struct kernel_cast_small){from, to, node_int(request->node, "saturate", 1) != 0,
                                          (enum kernel_small_round)rounding};
    call->version = request->kernels->cast_small.version;
    call->run = run_cast_small;
    return 0;
}

int call_bind_cast(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0), *y = &request->outputs[0];
    struct cast_params *p;
    enum kernel_dtype from, to;
    int rc;

    if (!x || !shape_equal(&x->shape, &y->shape))
        return call_refuse(request, -EINVAL, "input and output differ in shape");
    if (x->dtype == DTYPE_STRING && y->dtype == DTYPE_STRING)
        from = to = KERNEL_I64; /* their numbers */
    else if (x->dtype == DTYPE_STRING || y->dtype == DTYPE_STRING)
        return call_bind_cast_text(request, call);
    else if (!call_stored_dtype(x->dtype, &from) || !call_stored_dtype(y->dtype, &to))
        return call_refuse(request, -ENOTSUP, "no kernel from %s to %s", dtype_name(x->dtype),
                           dtype_name(y->dtype));
    if (from >= KERNEL_DTYPES || to >= KERNEL_DTYPES)
        return bind_cast_small(request, from, to, call);
    rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    *p = (struct cast_params){request->kernels->cast.fn, to, from,
                              (size_t)shape_elements(&x->shape)};
    call->version = request->kernels->cast.version;
    call->run = run_cast;
    return 0;
}

/* ConstantOfShape and Shape: what they make is known when they are bound. */

struct fill_params {
    fill_fn *fn;
    uint64_t value; /* room for one element of any dtype */
    size_t element_bytes, count;
};

static int run_fill(const struct call *call)
{
    const struct fill_params *p = call->params;

    p->fn(call->outputs[0], &p->value, p->element_bytes, p->count);
    return 0;
}

int call_bind_constant_of_shape(const struct call_request *request, struct call *call)
{
    const struct attribute *value = node_attribute(request->node, "value");
    const struct tensor_view *y = &request->outputs[0];
    struct fill_params *p;
    int rc;

    if (value ? value->type != ATTRIBUTE_TENSOR || value->tensor.dtype != y->dtype ||
                    shape_elements(&value->tensor.shape) != 1
              : y->dtype != DTYPE_F32)
        return call_refuse(request, -EINVAL, "value is not one element of the output's dtype");
    rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->fill.fn;
    p->element_bytes = dtype_bytes(y->dtype);
    p->count = (size_t)shape_elements(&y->shape);
    if (value)
        memcpy(&p->value, value->tensor.data, p->element_bytes);
    call->version = request->kernels->fill.version;
    call->run = run_fill;
    return 0;
}

struct shape_params {
    size_t count;
    int64_t dims[SHAPE_MAX_RANK];
};

static int run_shape(const struct call *call)
{
    const struct shape_params *p = call->params;

    memcpy(call->outputs[0], p->dims, p->count * sizeof(p->dims[0]));
    return 0;
}

static int64_t clamp_axis(int64_t axis, int rank)
{
    if (axis < 0)
        axis = axis < -rank ? 0 : axis + rank;
    return axis > rank ? rank : axis;
}

int call_bind_shape(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0), *y = &request->outputs[0];
    struct shape_params *p;
    int64_t start, end;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    if (!x)
        return call_refuse(request, -EINVAL, "it has no input");
    p = call->params;
    start = clamp_axis(node_int(request->node, "start", 0), x->shape.rank);
    end = clamp_axis(node_int(request->node, "end", x->shape.rank), x->shape.rank);
    for (int64_t i = start; i < end; i++)
        p->dims[p->count++] = x->shape.dims[i];
    if (y->dtype != DTYPE_I64 || y->shape.rank != 1 || y->shape.dims[0] != (int64_t)p->count)
        return call_refuse(request, -EINVAL, "the result has the wrong shape");
    call->version = "ref";
    call->run = run_shape;
    return 0;
}
