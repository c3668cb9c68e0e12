/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that pick and place elements by index. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <string.h>

static int64_t elements_between(const struct shape *shape, int first, int end)
{
    int64_t count = 1;

    for (int i = first; i < end; i++)
        count *= shape->dims[i];
    return count;
}

static int kernel_types(const struct call_request *request, enum kernel_dtype *out_dtype,
                        enum kernel_dtype *out_index_type)
{
    const struct tensor_view *x = call_input(request, 0), *indices = call_input(request, 1);

    if (!x || !indices)
        return call_refuse(request, -EINVAL, "an input is missing");
    if (!call_moved_dtype(x->dtype, out_dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s", dtype_name(x->dtype));
    if (!call_dtype(indices->dtype, out_index_type))
        return call_refuse(request, -ENOTSUP, "no kernel for indices of %s",
                           dtype_name(indices->dtype));
    return 0;
}

static int scatter_op(const struct call_request *request, enum kernel_scatter_op *out_op)
{
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    const char *name = node_string(request->node, "reduction", "none");

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            if (i > 0 && request->inputs[0].dtype == DTYPE_STRING)
                return call_refuse(request, -ENOTSUP, "no kernel for reductions of string");
            *out_op = (enum kernel_scatter_op)i;
            return 0;
        }
    }
    return call_refuse(request, -EINVAL, "attribute reduction is '%s'", name);
}

/* GatherElements, ScatterElements */

struct elements_params {
    gather_elements_fn *gather; /* one of the two */
    scatter_elements_fn *scatter;
    struct kernel_elements shape;
};

static int run_elements(const struct call *call)
{
    const struct elements_params *p = call->params;
    int rc = p->gather ? p->gather(call->outputs[0], call->inputs[0], call->inputs[1], &p->shape)
                       : p->scatter(call->outputs[0], call->inputs[0], call->inputs[1],
                                    call->inputs[2], &p->shape);

    return rc < 0 ? -EINVAL : 0;
}

int call_bind_elements(const struct call_request *request, struct call *call)
{
    bool is_gather = strcmp(request->node->op_type, "GatherElements") == 0;
    struct elements_params *p;
    const struct shape *x, *indices;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    rc = kernel_types(request, &p->shape.dtype, &p->shape.index_type);
    if (rc == 0)
        rc = scatter_op(request, &p->shape.op);
    if (rc < 0)
        return rc;
    x = &request->inputs[0].shape;
    indices = &request->inputs[1].shape;
    p->shape.rank = x->rank;
    rc = p->shape.axis = call_axis(request, node_int(request->node, "axis", 0), x->rank);
    if (rc < 0)
        return rc;
    for (int i = 0; i < x->rank; i++)
        if (indices->rank != x->rank || (i != p->shape.axis && indices->dims[i] > x->dims[i]))
            return call_refuse(request, -EINVAL, "the indices do not fit the input");
    memcpy(p->shape.x_dims, x->dims, sizeof(x->dims));
    memcpy(p->shape.dims, indices->dims, sizeof(x->dims));
    if (is_gather)
        p->gather = request->kernels->gather_elements.fn;
    else
        p->scatter = request->kernels->scatter_elements.fn;
    call->version = is_gather ? request->kernels->gather_elements.version
                              : request->kernels->scatter_elements.version;
    call->run = run_elements;
    return 0;
}

/* GatherND, ScatterND */

struct tuples_params {
    gather_nd_fn *gather; /* one of the two */
    scatter_nd_fn *scatter;
    struct kernel_tuples shape;
};

static int run_tuples(const struct call *call)
{
    const struct tuples_params *p = call->params;
    int rc = p->gather ? p->gather(call->outputs[0], call->inputs[0], call->inputs[1], &p->shape)
                       : p->scatter(call->outputs[0], call->inputs[0], call->inputs[1],
                                    call->inputs[2], &p->shape);

    return rc < 0 ? -EINVAL : 0;
}

int call_bind_tuples(const struct call_request *request, struct call *call)
{
    bool is_gather = strcmp(request->node->op_type, "GatherND") == 0;
    int64_t batch_dims = is_gather ? node_int(request->node, "batch_dims", 0) : 0;
    int batch_axes = batch_dims < 0 || batch_dims > SHAPE_MAX_RANK ? -1 : (int)batch_dims;
    struct tuples_params *p;
    const struct shape *x, *indices;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    rc = kernel_types(request, &p->shape.dtype, &p->shape.index_type);
    if (rc == 0)
        rc = scatter_op(request, &p->shape.op);
    if (rc < 0)
        return rc;
    x = &request->inputs[0].shape;
    indices = &request->inputs[1].shape;
    if (indices->rank < 1 || batch_axes < 0 || batch_axes >= indices->rank ||
        indices->dims[indices->rank - 1] > x->rank - batch_axes)
        return call_refuse(request, -EINVAL, "the indices do not fit the input");
    p->shape.depth = (int)indices->dims[indices->rank - 1];
    p->shape.batch = elements_between(x, 0, batch_axes);
    p->shape.tuples = elements_between(indices, batch_axes, indices->rank - 1);
    for (int i = 0; i < p->shape.depth; i++)
        p->shape.dims[i] = x->dims[batch_axes + i];
    p->shape.slice = elements_between(x, batch_axes + p->shape.depth, x->rank);
    if (is_gather)
        p->gather = request->kernels->gather_nd.fn;
    else
        p->scatter = request->kernels->scatter_nd.fn;
    call->version =
        is_gather ? request->kernels->gather_nd.version : request->kernels->scatter_nd.version;
    call->run = run_tuples;
    return 0;
}

/* TopK */

struct top_k_params {
    top_k_fn *fn;
    bool has_indices;
    struct kernel_top_k shape;
};

static int run_top_k(const struct call *call)
{
    const struct top_k_params *p = call->params;

    /* The kernel orders the indices, wanted or not. */
    p->fn(call->outputs[0], p->has_indices ? call->outputs[1] : call->workspace, call->inputs[0],
          &p->shape);
    return 0;
}

int call_bind_top_k(const struct call_request *request, struct call *call)
{
    const struct node *node = request->node;
    const struct tensor_view *x = call_input(request, 0);
    struct top_k_params *p;
    int axis, rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    if (!x || !call_dtype(x->dtype, &p->shape.dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s",
                           dtype_name(x ? x->dtype : DTYPE_NONE));
    rc = axis = call_axis(request, node_int(node, "axis", -1), x->shape.rank);
    if (rc < 0)
        return rc;
    p->shape.outer = elements_between(&x->shape, 0, axis);
    p->shape.axis = x->shape.dims[axis];
    p->shape.inner = elements_between(&x->shape, axis + 1, x->shape.rank);
    p->shape.k = node->outputs[0] ? request->outputs[0].shape.dims[axis]
                                  : request->outputs[1].shape.dims[axis];
    p->shape.is_smallest = node_int(node, "largest", 1) == 0;
    p->has_indices = call_is_read(node, 1); /* else the second output has no memory */
    if (!p->has_indices)
        call->workspace_bytes =
            (size_t)(p->shape.outer * p->shape.k * p->shape.inner) * sizeof(int64_t);
    p->fn = request->kernels->top_k.fn;
    call->version = request->kernels->top_k.version;
    call->run = run_top_k;
    return 0;
}

/* NonZero, Compress: how many they find was found out when the shape was inferred. */

struct nonzero_params {
    nonzero_fn *fn;
    struct kernel_nonzero shape;
};

static int run_nonzero(const struct call *call)
{
    const struct nonzero_params *p = call->params;

    return p->fn(call->outputs[0], call->inputs[0], &p->shape) < 0 ? -ESTALE : 0;
}

int call_bind_nonzero(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0);
    struct nonzero_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    if (!x || !call_dtype(x->dtype, &p->shape.dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s",
                           dtype_name(x ? x->dtype : DTYPE_NONE));
    p->shape.rank = x->shape.rank;
    memcpy(p->shape.dims, x->shape.dims, sizeof(x->shape.dims));
    p->shape.count = request->outputs[0].shape.dims[1];
    p->fn = request->kernels->nonzero.fn;
    call->version = request->kernels->nonzero.version;
    call->run = run_nonzero;
    return 0;
}

struct compress_params {
    compress_fn *fn;
    struct kernel_compress shape;
};

static int run_compress(const struct call *call)
{
    const struct compress_params *p = call->params;

    return p->fn(call->outputs[0], call->inputs[0], call->inputs[1], &p->shape) < 0 ? -ESTALE : 0;
}

/* Without an axis the input is one line. */
int call_bind_compress(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0), *condition = call_input(request, 1);
    bool has_axis = node_attribute(request->node, "axis") != NULL;
    struct compress_params *p;
    int axis = 0, rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    if (!x || !condition || condition->dtype != DTYPE_BOOL)
        return call_refuse(request, -EINVAL, "its condition is not bool");
    if (has_axis)
        rc = axis = call_axis(request, node_int(request->node, "axis", 0), x->shape.rank);
    if (rc < 0)
        return rc;
    p = call->params;
    p->shape.outer = has_axis ? elements_between(&x->shape, 0, axis) : 1;
    p->shape.axis = has_axis ? x->shape.dims[axis] : shape_elements(&x->shape);
    p->shape.inner_bytes = (int64_t)dtype_bytes(x->dtype) *
                           (has_axis ? elements_between(&x->shape, axis + 1, x->shape.rank) : 1);
    p->shape.conditions = shape_elements(&condition->shape);
    p->shape.count = request->outputs[0].shape.dims[axis];
    p->fn = request->kernels->compress.fn;
    call->version = request->kernels->compress.version;
    call->run = run_compress;
    return 0;
}

/* OneHot */

struct one_hot_params {
    one_hot_fn *fn;
    struct kernel_one_hot shape;
};

static int run_one_hot(const struct call *call)
{
    const struct one_hot_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], call->inputs[2], &p->shape);
    return 0;
}

int call_bind_one_hot(const struct call_request *request, struct call *call)
{
    const struct tensor_view *indices = call_input(request, 0);
    const struct shape *y = &request->outputs[0].shape;
    struct one_hot_params *p;
    int axis, rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    if (!indices || !call_dtype(indices->dtype, &p->shape.index_type))
        return call_refuse(request, -ENOTSUP, "no kernel for such indices");
    rc = axis = call_axis(request, node_int(request->node, "axis", -1), y->rank);
    if (rc < 0)
        return rc;
    p->shape.element_bytes = dtype_bytes(request->outputs[0].dtype);
    p->shape.outer = elements_between(y, 0, axis);
    p->shape.depth = y->dims[axis];
    p->shape.inner = elements_between(y, axis + 1, y->rank);
    p->fn = request->kernels->one_hot.fn;
    call->version = request->kernels->one_hot.version;
    call->run = run_one_hot;
    return 0;
}

/* ReverseSequence */

struct reverse_params {
    reverse_fn *fn;
    struct kernel_reverse shape;
};

static int run_reverse(const struct call *call)
{
    const struct reverse_params *p = call->params;

    return p->fn(call->outputs[0], call->inputs[0], call->inputs[1], &p->shape) < 0 ? -EINVAL : 0;
}

int call_bind_reverse(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0);
    int64_t batch_axis = node_int(request->node, "batch_axis", 1);
    int64_t time_axis = node_int(request->node, "time_axis", 0);
    struct reverse_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    if (!x || x->shape.rank < 2 || batch_axis < 0 || batch_axis > 1 || time_axis != 1 - batch_axis)
        return call_refuse(request, -EINVAL, "its axes are not 0 and 1");
    if (!call_input(request, 1) || request->inputs[1].dtype != DTYPE_I64 ||
        shape_elements(&request->inputs[1].shape) != x->shape.dims[batch_axis])
        return call_refuse(request, -EINVAL, "it has not one int64 length for each sequence");
    p = call->params;
    p->shape = (struct kernel_reverse){
        .batch = x->shape.dims[batch_axis],
        .time = x->shape.dims[time_axis],
        .inner_bytes =
            (int64_t)dtype_bytes(x->dtype) * elements_between(&x->shape, 2, x->shape.rank),
        .is_time_first = time_axis == 0,
    };
    p->fn = request->kernels->reverse.fn;
    call->version = request->kernels->reverse.version;
    call->run = run_reverse;
    return 0;
}

/* TensorScatter */

struct cache_params {
    cache_write_fn *fn;
    bool has_places;
    struct kernel_cache_write shape;
};

static int run_cache_write(const struct call *call)
{
    const struct cache_params *p = call->params;

    return p->fn(call->outputs[0], call->inputs[0], call->inputs[1],
                 p->has_places ? call->inputs[2] : NULL, &p->shape) < 0
               ? -EINVAL
               : 0;
}

int call_bind_cache_write(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0), *update = call_input(request, 1);
    const char *mode = node_string(request->node, "mode", "linear");
    struct cache_params *p;
    int axis, rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    if (strcmp(mode, "linear") != 0 && strcmp(mode, "circular") != 0)
        return call_refuse(request, -EINVAL, "attribute mode is '%.40s'", mode);
    if (!x || !update || update->dtype != x->dtype || update->shape.rank != x->shape.rank)
        return call_refuse(request, -EINVAL, "cache and update do not fit together");
    rc = axis = call_axis(request, node_int(request->node, "axis", -2), x->shape.rank);
    if (rc < 0)
        return rc;
    for (int i = 0; i < x->shape.rank; i++)
        if (i != axis && update->shape.dims[i] != x->shape.dims[i])
            return call_refuse(request, -EINVAL, "cache and update do not fit together");
    p = call->params;
    p->has_places = call_input(request, 2) != NULL;
    if (axis == 0 ||
        (p->has_places && (request->inputs[2].dtype != DTYPE_I64 ||
                           shape_elements(&request->inputs[2].shape) != x->shape.dims[0])))
        return call_refuse(request, -EINVAL, "it has not one int64 place for each batch");
    p->shape = (struct kernel_cache_write){
        .batch = x->shape.dims[0],
        .outer = elements_between(&x->shape, 1, axis),
        .places = x->shape.dims[axis],
        .steps = update->shape.dims[axis],
        .inner_bytes =
            (int64_t)dtype_bytes(x->dtype) * elements_between(&x->shape, axis + 1, x->shape.rank),
        .is_circular = strcmp(mode, "circular") == 0,
    };
    p->fn = request->kernels->cache_write.fn;
    call->version = request->kernels->cache_write.version;
    call->run = run_cache_write;
    return 0;
}
