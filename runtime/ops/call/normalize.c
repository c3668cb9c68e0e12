/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations over groups of elements: Layer, RMS, Group, Instance, mean and variance. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <string.h>

enum { GROUPS_MAX = 1 << 20 }; /* of no channels there could be any number */

struct normalize_params {
    normalize_fn *fn;
    bool has_scale, has_bias;
    uint32_t outputs; /* of the node */
    struct kernel_normalize shape;
};

static int run_normalize(const struct call *call)
{
    const struct normalize_params *p = call->params;
    struct kernel_normalize_data data = {
        .y = call->outputs[0],
        .x = call->inputs[0],
        .scale = p->has_scale ? call->inputs[1] : NULL,
        .bias = p->has_bias ? call->inputs[2] : NULL,
    };

    p->fn(&data, &p->shape);
    return 0;
}

/* LayerNormalization also gives the mean and the inverse of the deviation; each may be left out. */
static int run_layer_norm(const struct call *call)
{
    const struct normalize_params *p = call->params;
    struct kernel_normalize_data data = {
        .y = call->outputs[0],
        .mean = p->outputs > 1 ? call->outputs[1] : NULL,
        .inverse = p->outputs > 2 ? call->outputs[2] : NULL,
        .x = call->inputs[0],
        .scale = call->inputs[1],
        .bias = p->has_bias ? call->inputs[2] : NULL,
    };

    p->fn(&data, &p->shape);
    return 0;
}

static int begin(const struct call_request *request, struct call *call,
                 struct normalize_params **out_params)
{
    const struct tensor_view *x = call_input(request, 0);
    struct normalize_params *p;
    int rc;

    if (!x || !shape_equal(&x->shape, &request->outputs[0].shape))
        return call_refuse(request, -EINVAL, "input and output differ in shape");
    for (uint32_t i = 1; i < 3; i++)
        if (call_input(request, i) && request->inputs[i].dtype != x->dtype)
            return call_refuse(request, -ENOTSUP, "no kernel for a scale or bias of %s",
                               dtype_name(request->inputs[i].dtype));
    rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = *out_params = call->params;
    if (!call_dtype(x->dtype, &p->shape.dtype) || !kernel_dtype_is_real(p->shape.dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s", dtype_name(x->dtype));
    p->fn = request->kernels->normalize.fn;
    if (!call_dtype((enum dtype)node_int(request->node, "stash_type", DTYPE_F32),
                    &p->shape.stat_dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for statistics of type %lld",
                           (long long)node_int(request->node, "stash_type", 0));
    p->shape.epsilon = (double)node_float(request->node, "epsilon", 1e-5f);
    p->has_scale = call_input(request, 1) != NULL;
    p->has_bias = call_input(request, 2) != NULL;
    call->version = request->kernels->normalize.version;
    call->run = run_normalize;
    return 0;
}

/* LayerNormalization, RMSNormalization: over all axes from `axis` on. */
int call_bind_layer_norm(const struct call_request *request, struct call *call)
{
    bool is_rms = strcmp(request->node->op_type, "RMSNormalization") == 0;
    struct normalize_params *p;
    const struct shape *x;
    int axis, rc = begin(request, call, &p);

    if (rc < 0)
        return rc;
    x = &request->inputs[0].shape;
    rc = axis = call_axis(request, node_int(request->node, "axis", -1), x->rank);
    if (rc < 0)
        return rc;
    p->shape.rank = x->rank;
    p->shape.keeps_mean = is_rms;
    memcpy(p->shape.dims, x->dims, sizeof(x->dims));
    for (int i = axis; i < x->rank; i++)
        p->shape.is_reduced[i] = true;
    for (uint32_t i = 1; rc >= 0 && i < 3; i++) {
        int64_t own[SHAPE_MAX_RANK];

        if (!call_input(request, i))
            continue;
        call_input_strides(request, i, own);
        rc = call_broadcast_strides(request, &request->inputs[i].shape, own,
                                    x->rank - request->inputs[i].shape.rank,
                                    i == 1 ? p->shape.scale_stride : p->shape.bias_stride);
    }
    if (rc < 0)
        return rc;
    p->outputs = request->node->output_count;
    call->run = run_layer_norm;
    return 0;
}

/* x as [batch, groups, channels of a group, plane]; the two last are reduced. */
static void group_shape(struct kernel_normalize *shape, const struct shape *x, int64_t groups)
{
    int64_t plane = 1;

    for (int i = 2; i < x->rank; i++)
        plane *= x->dims[i];
    shape->rank = 4;
    shape->dims[0] = x->dims[0];
    shape->dims[1] = groups;
    shape->dims[2] = groups ? x->dims[1] / groups : 0;
    shape->dims[3] = plane;
    shape->is_reduced[2] = shape->is_reduced[3] = true;
}

/* GroupNormalization has a scale per group before operator set 21, per channel since;
 * InstanceNormalization is a group for each channel. */
int call_bind_group_norm(const struct call_request *request, struct call *call)
{
    bool is_instance = strcmp(request->node->op_type, "InstanceNormalization") == 0;
    bool is_old = graph_opset(request->graph, "") < 21 && !request->node->is_lowered;
    struct normalize_params *p;
    const struct shape *x;
    int64_t groups, scales;
    int rc = begin(request, call, &p);

    if (rc < 0)
        return rc;
    x = &request->inputs[0].shape;
    groups = is_instance ? x->dims[1] : node_int(request->node, "num_groups", 0);
    scales = is_instance || is_old ? groups : x->dims[1];
    if (x->rank < 2 || groups < (is_instance ? 0 : 1) || (!is_instance && groups > GROUPS_MAX) ||
        (groups > 0 && x->dims[1] % groups != 0) || !p->has_scale || !p->has_bias ||
        shape_elements(&request->inputs[1].shape) != scales ||
        shape_elements(&request->inputs[2].shape) != scales)
        return call_refuse(request, -EINVAL, "groups, scale and bias do not fit the channels");
    group_shape(&p->shape, x, groups);
    p->shape.scale_stride[1] = scales == groups ? 1 : p->shape.dims[2];
    p->shape.scale_stride[2] = scales == groups ? 0 : 1;
    memcpy(p->shape.bias_stride, p->shape.scale_stride, sizeof(p->shape.bias_stride));
    return 0;
}

/* MeanVarianceNormalization: axes 0, 2, 3 unless they are named. */
int call_bind_mean_variance(const struct call_request *request, struct call *call)
{
    static const int64_t usual[] = {0, 2, 3};
    size_t count;
    const int64_t *axes = node_ints(request->node, "axes", &count);
    struct normalize_params *p;
    const struct shape *x;
    int rc = begin(request, call, &p);

    if (rc < 0)
        return rc;
    x = &request->inputs[0].shape;
    if (!axes) {
        axes = usual;
        count = 3;
    }
    p->shape.rank = x->rank;
    p->shape.adds_to_root = true;
    p->shape.epsilon = 1e-9;
    memcpy(p->shape.dims, x->dims, sizeof(x->dims));
    for (size_t i = 0; i < count; i++) {
        int axis = call_axis(request, axes[i], x->rank);

        if (axis < 0)
            return axis;
        p->shape.is_reduced[axis] = true;
    }
    return 0;
}
