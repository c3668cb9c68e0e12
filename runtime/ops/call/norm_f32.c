/* SPDX-License-Identifier: Apache-2.0 */
/* LRN, Softmax and BatchNormalization over f32, and over any type where they are not. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <inttypes.h>

/* Elements of the axes from `first` up to (without) `end`. */
static int64_t elements_between(const struct shape *shape, int first, int end)
{
    int64_t count = 1;

    for (int i = first; i < end; i++)
        count *= shape->dims[i];
    return count;
}

static int require_same_shape(const struct call_request *request, int lowest_rank)
{
    const struct tensor_view *x = call_input(request, 0);

    if (!x || x->shape.rank < lowest_rank || !shape_equal(&x->shape, &request->outputs[0].shape))
        return call_refuse(request, -EINVAL,
                           "input and output must have the same shape, of rank %d or more",
                           lowest_rank);
    return 0;
}

struct lrn_params {
    lrn_f32_fn *fn;
    struct kernel_lrn shape;
};

static int run_lrn(const struct call *call)
{
    const struct lrn_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], &p->shape);
    return 0;
}

struct lrn_any_params {
    lrn_fn *fn;
    struct kernel_lrn_any shape;
};

static int run_lrn_any(const struct call *call)
{
    const struct lrn_any_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], &p->shape);
    return 0;
}

static int bind_lrn_any(const struct call_request *request, struct call *call)
{
    const struct node *node = request->node;
    const struct shape *y = &request->outputs[0].shape;
    struct lrn_any_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    p->shape = (struct kernel_lrn_any){
        .batch = y->dims[0],
        .channels = y->dims[1],
        .plane = elements_between(y, 2, y->rank),
        .size = node_int(node, "size", 1),
        .alpha = (double)node_float(node, "alpha", 0.0001f),
        .beta = (double)node_float(node, "beta", 0.75f),
        .bias = (double)node_float(node, "bias", 1.0f),
    };
    if (!call_dtype(request->outputs[0].dtype, &p->shape.dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s",
                           dtype_name(request->outputs[0].dtype));
    if (call_is_channels_last(request))
        return call_refuse(request, -ENOTSUP, "no kernel for channels-last images");
    p->fn = request->kernels->lrn.fn;
    call->version = request->kernels->lrn.version;
    call->run = run_lrn_any;
    return 0;
}

int call_bind_lrn(const struct call_request *request, struct call *call)
{
    const struct node *node = request->node;
    const struct shape *y = &request->outputs[0].shape;
    int64_t size = node_int(node, "size", 0);
    struct lrn_params *p;
    int rc = require_same_shape(request, 2);

    if (rc == 0 && size < 1)
        rc = call_refuse(request, -EINVAL, "size is %" PRId64, size);
    if (rc == 0 && request->outputs[0].dtype != DTYPE_F32)
        return bind_lrn_any(request, call);
    if (rc == 0)
        rc = call_require_f32(request, 0, 0);
    if (rc == 0)
        rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->lrn_f32.fn;
    p->shape = (struct kernel_lrn){
        .batch = y->dims[0],
        .channels = y->dims[1],
        .plane = elements_between(y, 2, y->rank),
        .size = size,
        .channels_last = call_is_channels_last(request),
        .alpha = node_float(node, "alpha", 0.0001f),
        .beta = node_float(node, "beta", 0.75f),
        .bias = node_float(node, "bias", 1.0f),
    };
    call->version = request->kernels->lrn_f32.version;
    call->run = run_lrn;
    return 0;
}

struct softmax_params {
    softmax_f32_fn *fn;
    size_t outer, axis, inner;
};

static int run_softmax(const struct call *call)
{
    const struct softmax_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], p->outer, p->axis, p->inner);
    return 0;
}

int call_bind_softmax(const struct call_request *request, struct call *call)
{
    bool flattens = graph_opset(request->graph, "") < 13; /* all axes from `axis` on are one */
    const struct shape *y = &request->outputs[0].shape;
    struct softmax_params *p;
    int axis = 0, rc = require_same_shape(request, 0);

    if (rc == 0 && request->outputs[0].dtype != DTYPE_F32)
        return call_bind_softmax_any(request, call);
    /* A scalar is a row of one, and so is all behind the last axis. */
    if (rc == 0 && flattens && node_int(request->node, "axis", 1) == y->rank)
        axis = y->rank;
    else if (rc == 0 && y->rank > 0)
        rc = axis = call_axis(request, node_int(request->node, "axis", flattens ? 1 : -1), y->rank);
    if (rc >= 0)
        rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->softmax_f32.fn;
    p->outer = (size_t)elements_between(y, 0, axis);
    p->axis = (size_t)elements_between(y, axis, flattens || y->rank == 0 ? y->rank : axis + 1);
    p->inner = flattens ? 1 : (size_t)elements_between(y, axis + 1, y->rank);
    call->version = request->kernels->softmax_f32.version;
    call->run = run_softmax;
    return 0;
}

struct batch_norm_params {
    batch_norm_f32_fn *fn;
    float epsilon;
    size_t batch, channels, plane;
};

static int run_batch_norm(const struct call *call)
{
    const struct batch_norm_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], call->inputs[1], call->inputs[2], call->inputs[3],
          call->inputs[4], p->epsilon, p->batch, p->channels, p->plane);
    return 0;
}

struct batch_norm_any_params {
    batch_norm_fn *fn;
    bool is_training;
    uint32_t outputs; /* of the node */
    struct kernel_batch_norm shape;
};

static int run_batch_norm_any(const struct call *call)
{
    const struct batch_norm_any_params *p = call->params;
    struct kernel_batch_norm_data data = {
        .y = call->outputs[0],
        .x = call->inputs[0],
        .scale = call->inputs[1],
        .bias = call->inputs[2],
        .mean = call->inputs[3],
        .variance = call->inputs[4],
    };

    /* An output that nobody reads has no memory; the statistics are made nevertheless. */
    if (p->is_training) {
        data.new_mean = call->workspace;
        data.new_variance = (double *)call->workspace + p->shape.channels * p->shape.plane_stats;
        if (p->outputs > 1 && call->outputs[1])
            data.new_mean = call->outputs[1];
        if (p->outputs > 2 && call->outputs[2])
            data.new_variance = call->outputs[2];
    }
    p->fn(&data, &p->shape);
    return 0;
}

/* Other types than f32, mixed ones, training, and statistics for each place of a channel. */
static int bind_batch_norm_any(const struct call_request *request, struct call *call)
{
    const struct node *node = request->node;
    const struct shape *y = &request->outputs[0].shape;
    struct batch_norm_any_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    p->shape = (struct kernel_batch_norm){
        .batch = y->dims[0],
        .channels = y->dims[1],
        .plane = elements_between(y, 2, y->rank),
        .plane_stats = 1,
        .epsilon = (double)node_float(node, "epsilon", 1e-5f),
        .momentum = (double)node_float(node, "momentum", 0.9f),
    };
    if (node_int(node, "spatial", 1) == 0)
        p->shape.plane_stats = p->shape.plane;
    if (call_is_channels_last(request)) { /* each pixel is an image, with its channels */
        p->shape.batch *= p->shape.plane;
        p->shape.plane = 1;
    }
    if (!call_dtype(request->inputs[0].dtype, &p->shape.dtype) ||
        !call_dtype(request->inputs[1].dtype, &p->shape.scale_dtype) ||
        !call_dtype(request->inputs[3].dtype, &p->shape.stat_dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s",
                           dtype_name(request->inputs[0].dtype));
    p->is_training = node_int(node, "training_mode", 0) != 0;
    if (p->is_training)
        call->workspace_bytes =
            (size_t)(p->shape.channels * p->shape.plane_stats) * 2 * sizeof(double);
    p->outputs = node->output_count;
    p->fn = request->kernels->batch_norm.fn;
    call->version = request->kernels->batch_norm.version;
    call->run = run_batch_norm_any;
    return 0;
}

static bool is_plain(const struct call_request *request)
{
    bool is_plain = node_int(request->node, "training_mode", 0) == 0 &&
                    node_int(request->node, "spatial", 1) == 1;

    for (uint32_t i = 0; i < 5; i++)
        is_plain = is_plain && request->inputs[i].dtype == DTYPE_F32;
    return is_plain;
}

int call_bind_batch_norm(const struct call_request *request, struct call *call)
{
    const struct node *node = request->node;
    const struct shape *y = &request->outputs[0].shape;
    bool is_spatial = node_int(node, "spatial", 1) != 0;
    struct batch_norm_params *p;
    int rc;

    if (!node->outputs[0])
        return call_refuse(request, -EINVAL, "it has no output");
    rc = require_same_shape(request, 2);
    for (uint32_t i = 1; rc == 0 && i < 5; i++)
        if (!call_input(request, i) || shape_elements(&request->inputs[i].shape) !=
                                           elements_between(y, 1, is_spatial ? 2 : y->rank))
            rc =
                call_refuse(request, -EINVAL, "input %" PRIu32 " has not one entry per channel", i);
    if (rc == 0 && !is_plain(request))
        return bind_batch_norm_any(request, call);
    if (rc == 0)
        rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->batch_norm_f32.fn;
    p->epsilon = node_float(node, "epsilon", 1e-5f);
    p->batch = (size_t)y->dims[0];
    p->channels = (size_t)y->dims[1];
    p->plane = (size_t)elements_between(y, 2, y->rank);
    if (call_is_channels_last(request)) {
        p->batch *= p->plane;
        p->plane = 1;
    }
    call->version = request->kernels->batch_norm_f32.version;
    call->run = run_batch_norm;
    return 0;
}
