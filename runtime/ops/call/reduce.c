/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that sum up along axes: Reduce*, ArgMax and ArgMin, LogSoftmax, Hardmax, CumSum, ... */
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

static int kernel_type(const struct call_request *request, enum kernel_dtype *out_dtype)
{
    const struct tensor_view *x = call_input(request, 0);

    if (!x)
        return call_refuse(request, -EINVAL, "it has no input");
    if (!call_dtype(x->dtype, out_dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s", dtype_name(x->dtype));
    return 0;
}

/* Reduce* */

struct reduce_params {
    reduce_fn *fn;
    struct kernel_reduce shape;
};

static int run_reduce(const struct call *call)
{
    const struct reduce_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], &p->shape);
    return 0;
}

/* The axes are an input since operator set 18 (ReduceSum: 13). None means all, or nothing at all
 * where noop_with_empty_axes is set. */
static int reduced_axes(const struct call_request *request, struct kernel_reduce *shape)
{
    int64_t axes[CALL_MAX_INTS];
    bool given;
    int count = call_ints(request, 1, "axes", axes, &given);

    if (count < 0)
        return count;
    for (int i = 0; count == 0 && i < shape->rank; i++)
        shape->is_reduced[i] = node_int(request->node, "noop_with_empty_axes", 0) == 0;
    for (int i = 0; i < count; i++) {
        int axis = call_axis(request, axes[i], shape->rank);

        if (axis < 0)
            return axis;
        shape->is_reduced[axis] = true;
    }
    return 0;
}

int call_bind_reduce(const struct call_request *request, struct call *call)
{
    static const struct {
        const char *op_type;
        enum kernel_reduce_op op;
    } ops[] = {
        {"ReduceL1", REDUCE_L1},          {"ReduceL2", REDUCE_L2},
        {"ReduceLogSum", REDUCE_LOG_SUM}, {"ReduceLogSumExp", REDUCE_LOG_SUM_EXP},
        {"ReduceMax", REDUCE_MAX},        {"ReduceMean", REDUCE_MEAN},
        {"ReduceMin", REDUCE_MIN},        {"ReduceProd", REDUCE_PROD},
        {"ReduceSum", REDUCE_SUM},        {"ReduceSumSquare", REDUCE_SUM_SQUARE},
    };
    struct kernel_reduce shape = {0};
    struct reduce_params *p;
    size_t i = 0;
    int rc = kernel_type(request, &shape.dtype);

    if (rc < 0)
        return rc;
    while (strcmp(ops[i].op_type, request->node->op_type) != 0)
        i++;
    shape.op = ops[i].op;
    shape.rank = request->inputs[0].shape.rank;
    memcpy(shape.dims, request->inputs[0].shape.dims, sizeof(shape.dims));
    rc = reduced_axes(request, &shape);
    if (rc == 0)
        rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->reduce.fn;
    p->shape = shape;
    call->version = request->kernels->reduce.version;
    call->run = run_reduce;
    return 0;
}

/* ArgMax, ArgMin */

struct arg_params {
    arg_reduce_fn *fn;
    struct kernel_arg_reduce shape;
};

static int run_arg(const struct call *call)
{
    const struct arg_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], &p->shape);
    return 0;
}

int call_bind_arg(const struct call_request *request, struct call *call)
{
    const struct node *node = request->node;
    const struct shape *x;
    struct arg_params *p;
    enum kernel_dtype dtype;
    int axis, rc = kernel_type(request, &dtype);

    if (rc < 0)
        return rc;
    x = &request->inputs[0].shape;
    rc = axis = call_axis(request, node_int(node, "axis", 0), x->rank);
    if (rc >= 0)
        rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->arg_reduce.fn;
    p->shape = (struct kernel_arg_reduce){
        .dtype = dtype,
        .outer = elements_between(x, 0, axis),
        .axis = x->dims[axis],
        .inner = elements_between(x, axis + 1, x->rank),
        .is_min = strcmp(node->op_type, "ArgMin") == 0,
        .takes_last = node_int(node, "select_last_index", 0) != 0,
    };
    call->version = request->kernels->arg_reduce.version;
    call->run = run_arg;
    return 0;
}

/* Along one axis */

struct along_params {
    along_fn *fn;
    struct kernel_along shape;
};

static int run_along(const struct call *call)
{
    const struct along_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], &p->shape);
    return 0;
}

/* axis -1 is a scalar: a line of one. Where `flattens`, all axes from `axis` on are one. */
static int bind_along(const struct call_request *request, struct call *call,
                      const struct kernel_along *kind, int64_t axis, bool flattens)
{
    const struct shape *x;
    struct along_params *p;
    enum kernel_dtype dtype;
    int at = 0, rc = kernel_type(request, &dtype);

    if (rc < 0)
        return rc;
    x = &request->inputs[0].shape;
    if (x->rank > 0 && !(flattens && axis == x->rank))
        rc = at = call_axis(request, axis, x->rank);
    if (rc >= 0)
        rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->along.fn;
    p->shape = *kind;
    p->shape.dtype = dtype;
    p->shape.outer = elements_between(x, 0, at);
    p->shape.axis = elements_between(x, at, flattens || x->rank == 0 ? x->rank : at + 1);
    p->shape.inner = flattens ? 1 : elements_between(x, at + 1, x->rank);
    call->version = request->kernels->along.version;
    call->run = run_along;
    return 0;
}

int call_bind_softmax_any(const struct call_request *request, struct call *call)
{
    const char *op_type = request->node->op_type;
    bool flattens = graph_opset(request->graph, "") < 13;
    struct kernel_along kind = {.op = strcmp(op_type, "Softmax") == 0      ? ALONG_SOFTMAX
                                      : strcmp(op_type, "LogSoftmax") == 0 ? ALONG_LOG_SOFTMAX
                                                                           : ALONG_HARDMAX};

    return bind_along(request, call, &kind, node_int(request->node, "axis", flattens ? 1 : -1),
                      flattens);
}

int call_bind_lp_norm(const struct call_request *request, struct call *call)
{
    struct kernel_along kind = {.op = node_int(request->node, "p", 2) == 1 ? ALONG_L1_NORM
                                                                           : ALONG_L2_NORM};

    return bind_along(request, call, &kind, node_int(request->node, "axis", -1), false);
}

int call_bind_cumulative(const struct call_request *request, struct call *call)
{
    struct kernel_along kind = {
        .op = strcmp(request->node->op_type, "CumSum") == 0 ? ALONG_SUM : ALONG_PRODUCT,
        .is_exclusive = node_int(request->node, "exclusive", 0) != 0,
        .is_reverse = node_int(request->node, "reverse", 0) != 0,
    };
    int64_t axis[CALL_MAX_INTS];
    bool given;
    int count = call_ints(request, 1, NULL, axis, &given);

    if (count < 0)
        return count;
    if (count != 1)
        return call_refuse(request, -EINVAL, "its axis is not one number");
    return bind_along(request, call, &kind, axis[0], false);
}
