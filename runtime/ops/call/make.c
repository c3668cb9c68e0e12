/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that make elements from little, or split and rearrange them: Range, EyeLike, Trilu,
 * Size, Split, DepthToSpace, CenterCropPad, Dropout with its mask. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <string.h>

/* Range */

struct range_params {
    range_fn *fn;
    enum kernel_dtype dtype;
    int64_t count;
};

static int run_range(const struct call *call)
{
    const struct range_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], call->inputs[2], p->dtype, p->count);
    return 0;
}

int call_bind_range(const struct call_request *request, struct call *call)
{
    struct range_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    if (!call_dtype(request->outputs[0].dtype, &p->dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s",
                           dtype_name(request->outputs[0].dtype));
    p->fn = request->kernels->range.fn;
    p->count = request->outputs[0].shape.dims[0];
    call->version = request->kernels->range.version;
    call->run = run_range;
    return 0;
}

/* EyeLike */

struct eye_params {
    eye_fn *fn;
    enum kernel_dtype dtype;
    int64_t rows, cols, k;
};

static int run_eye(const struct call *call)
{
    const struct eye_params *p = call->params;

    p->fn(call->outputs[0], p->dtype, p->rows, p->cols, p->k);
    return 0;
}

int call_bind_eye(const struct call_request *request, struct call *call)
{
    const struct tensor_view *y = &request->outputs[0];
    struct eye_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    if (!call_dtype(y->dtype, &p->dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s", dtype_name(y->dtype));
    p->fn = request->kernels->eye.fn;
    p->rows = y->shape.dims[0];
    p->cols = y->shape.dims[1];
    p->k = node_int(request->node, "k", 0);
    call->version = request->kernels->eye.version;
    call->run = run_eye;
    return 0;
}

/* Trilu: the diagonal is an input, read on each run where it is not constant. */

struct triangle_params {
    triangle_fn *fn;
    bool reads_k;
    int64_t k; /* where it is not read */
    struct kernel_triangle shape;
};

static int run_triangle(const struct call *call)
{
    const struct triangle_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], p->reads_k ? *(const int64_t *)call->inputs[1] : p->k,
          &p->shape);
    return 0;
}

int call_bind_triangle(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0), *k = call_input(request, 1);
    struct triangle_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    if (!x || x->shape.rank < 2 || (k && (k->dtype != DTYPE_I64 || shape_elements(&k->shape) != 1)))
        return call_refuse(request, -EINVAL, "it needs a matrix and one int64");
    p = call->params;
    p->reads_k = k && !k->data;
    if (k && k->data)
        memcpy(&p->k, k->data, sizeof(p->k));
    if (request->on_device && p->reads_k)
        return call_refuse(request, -ENOTSUP, "no kernel for a diagonal that is not constant");
    p->shape.element_bytes = dtype_bytes(x->dtype);
    p->shape.rows = x->shape.dims[x->shape.rank - 2];
    p->shape.cols = x->shape.dims[x->shape.rank - 1];
    p->shape.batch = 1;
    for (int i = 0; i < x->shape.rank - 2; i++)
        p->shape.batch *= x->shape.dims[i];
    p->shape.is_upper = node_int(request->node, "upper", 1) != 0;
    p->fn = request->kernels->triangle.fn;
    call->version = request->kernels->triangle.version;
    call->run = run_triangle;
    return 0;
}

/* Size */

static int run_size(const struct call *call)
{
    memcpy(call->outputs[0], call->params, sizeof(int64_t));
    return 0;
}

int call_bind_size(const struct call_request *request, struct call *call)
{
    int rc = call_params(request, call, sizeof(int64_t));

    if (rc < 0)
        return rc;
    if (!call_input(request, 0))
        return call_refuse(request, -EINVAL, "it has no input");
    *(int64_t *)call->params = shape_elements(&request->inputs[0].shape);
    call->version = "ref";
    call->run = run_size;
    return 0;
}

/* Split: output i is a copy of a part of input 0. */

struct split_part {
    int64_t x_offset; /* bytes */
    struct kernel_copy shape;
};

struct split_params {
    copy_fn *fn;
    uint32_t count;
    struct split_part parts[];
};

static int run_split(const struct call *call)
{
    const struct split_params *p = call->params;

    for (uint32_t i = 0; i < p->count; i++)
        if (call->outputs[i])
            p->fn(call->outputs[i], (const char *)call->inputs[0] + p->parts[i].x_offset,
                  &p->parts[i].shape);
    return 0;
}

/* Elements along the axis of output i, which may be left out. */
static int64_t split_size(const struct call_request *request, uint32_t i, int axis, int64_t left)
{
    const struct node *node = request->node;
    uint32_t parts = node->output_count;
    int64_t sizes[CALL_MAX_INTS], part;
    bool given;
    int count;

    if (node->outputs[i])
        return request->outputs[i].shape.dims[axis];
    count = call_ints(request, 1, "split", sizes, &given);
    if (count < 0)
        return count;
    if (given)
        return i < (uint32_t)count ? sizes[i] : 0;
    part = (request->inputs[0].shape.dims[axis] + parts - 1) / parts;
    return part < left ? part : left;
}

int call_bind_split(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0);
    const struct node *node = request->node;
    struct split_params *p;
    int64_t strides[SHAPE_MAX_RANK], filled = 0;
    int axis, rc;

    if (!x)
        return call_refuse(request, -EINVAL, "it has no input");
    rc = axis = call_axis(request, node_int(node, "axis", 0), x->shape.rank);
    if (rc >= 0)
        rc = call_params(request, call, sizeof(*p) + node->output_count * sizeof(p->parts[0]));
    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->copy.fn;
    p->count = node->output_count;
    call_input_strides(request, 0, strides);
    for (uint32_t i = 0; i < p->count; i++) {
        struct kernel_copy *copy = &p->parts[i].shape;
        const struct shape *y = &request->outputs[i].shape;
        int64_t size = split_size(request, i, axis, x->shape.dims[axis] - filled);
        int64_t stride = 1;

        if (size < 0)
            return (int)size;
        copy->element_bytes = dtype_bytes(x->dtype);
        copy->rank = node->outputs[i] ? y->rank : 0;
        for (int j = copy->rank - 1; j >= 0; j--) {
            copy->dims[j] = y->dims[j];
            copy->x_stride[j] = strides[j];
            copy->y_stride[j] = stride;
            stride *= y->dims[j];
        }
        p->parts[i].x_offset = filled * strides[axis] * (int64_t)copy->element_bytes;
        filled += size;
    }
    call->version = request->kernels->copy.version;
    call->run = run_split;
    return 0;
}

/* DepthToSpace, SpaceToDepth: one copy between [n, b, b, c, h, w] and [n, c, h, b, w, b]. */

struct block_params {
    copy_fn *fn;
    struct kernel_copy shape;
};

static int run_blocks(const struct call *call)
{
    const struct block_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], &p->shape);
    return 0;
}

int call_bind_blocks(const struct call_request *request, struct call *call)
{
    const struct node *node = request->node;
    bool to_depth = strcmp(node->op_type, "SpaceToDepth") == 0;
    bool is_crd = strcmp(node_string(node, "mode", "DCR"), "CRD") == 0;
    const struct shape *deep = to_depth ? &request->outputs[0].shape : &request->inputs[0].shape;
    int64_t b = node_int(node, "blocksize", 0), h, w, c;
    struct block_params *p;
    int rc;

    if (!is_crd && strcmp(node_string(node, "mode", "DCR"), "DCR") != 0)
        return call_refuse(request, -EINVAL, "attribute mode is '%.40s'",
                           node_string(node, "mode", ""));
    rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    h = deep->dims[2];
    w = deep->dims[3];
    c = deep->dims[1] / (b * b);
    p->fn = request->kernels->copy.fn;
    p->shape.element_bytes = dtype_bytes(request->outputs[0].dtype);
    p->shape.rank = 6;
    {
        /* n, c, h, row in the block, w, column in the block */
        const int64_t dims[] = {deep->dims[0], c, h, b, w, b};
        const int64_t wide[] = {c * h * b * w * b, h * b * w * b, b * w * b, w * b, b, 1};
        int64_t channel = is_crd ? b * b * h * w : h * w;
        int64_t row = is_crd ? b * h * w : b * c * h * w, column = is_crd ? h * w : c * h * w;
        const int64_t tall[] = {b * b * c * h * w, channel, w, row, 1, column};

        memcpy(p->shape.dims, dims, sizeof(dims));
        memcpy(to_depth ? p->shape.x_stride : p->shape.y_stride, wide, sizeof(wide));
        memcpy(to_depth ? p->shape.y_stride : p->shape.x_stride, tall, sizeof(tall));
    }
    call->version = request->kernels->copy.version;
    call->run = run_blocks;
    return 0;
}

/* CenterCropPad: zeros around the middle, or the middle alone. */

struct center_params {
    pad_fn *fn;
    struct kernel_pad shape;
};

static int run_center(const struct call *call)
{
    static const uint64_t zero;
    const struct center_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], &zero, &p->shape);
    return 0;
}

int call_bind_center(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0);
    const struct shape *y = &request->outputs[0].shape;
    struct center_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    if (!x || x->shape.rank != y->rank)
        return call_refuse(request, -EINVAL, "input and output differ in rank");
    p = call->params;
    p->shape.element_bytes = dtype_bytes(x->dtype);
    p->shape.mode = KERNEL_PAD_CONSTANT;
    p->shape.rank = y->rank;
    for (int i = 0; i < y->rank; i++) {
        p->shape.x_dims[i] = x->shape.dims[i];
        p->shape.y_dims[i] = y->dims[i];
        p->shape.begin[i] = (y->dims[i] - x->shape.dims[i]) / 2; /* towards 0 on both sides */
    }
    p->fn = request->kernels->pad.fn;
    call->version = request->kernels->pad.version;
    call->run = run_center;
    return 0;
}

/* Dropout in inference: the input, and a mask that is all true. */

struct dropout_params {
    fill_fn *fn;
    uint64_t one; /* in the mask's type */
    size_t mask_bytes, bytes, count;
};

static int run_dropout(const struct call *call)
{
    const struct dropout_params *p = call->params;

    memcpy(call->outputs[0], call->inputs[0], p->bytes);
    if (call->outputs[1])
        p->fn(call->outputs[1], &p->one, p->mask_bytes, p->count);
    return 0;
}

int call_bind_dropout(const struct call_request *request, struct call *call)
{
    static const uint8_t yes = 1;
    enum kernel_dtype dtype;
    struct dropout_params *p;
    int rc;

    if (!call_is_read(request->node, 1))
        return call_bind_view(request, call);
    rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    if (!call_dtype(request->outputs[1].dtype, &dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for a mask of %s",
                           dtype_name(request->outputs[1].dtype));
    if (request->on_device)
        return call_refuse(request, -ENOTSUP, "the CPU copies the mask");
    cast_ref(&p->one, dtype, &yes, KERNEL_BOOL, 1);
    p->fn = request->kernels->fill.fn;
    p->mask_bytes = kernel_dtype_bytes(dtype);
    p->count = (size_t)shape_elements(&request->outputs[0].shape);
    p->bytes = p->count * dtype_bytes(request->outputs[0].dtype);
    call->version = request->kernels->fill.version;
    call->run = run_dropout;
    return 0;
}
