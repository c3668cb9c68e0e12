/* SPDX-License-Identifier: Apache-2.0 */
/* Conv and the pools in f32, and which other kernels take what these cannot. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct conv_params {
    conv_f32_fn *fn;
    int residual_input;
    bool has_bias;
    char version[KERNEL_CONV_VERSION_BYTES]; /* of the plan that is made at each run */
    size_t added_bytes; /* of a residual, for that plan: it is added to what is there */
    struct kernel_conv shape;
};

static int run_conv(const struct call *call)
{
    const struct conv_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], call->inputs[1], p->has_bias ? call->inputs[2] : NULL,
          p->residual_input >= 0 ? call->inputs[p->residual_input] : NULL, &p->shape);
    return 0;
}

/* By weights that the model computes: they are laid out at each run. */
static int run_conv_anew(const struct call *call)
{
    const struct conv_params *p = call->params;
    bool adds = p->residual_input >= 0;
    struct kernel_conv_plan *plan = NULL;
    int rc = kernel_conv_plan_create(&p->shape, call->inputs[1],
                                     p->has_bias ? call->inputs[2] : NULL, adds, p->version, &plan);

    if (rc == 0 && adds && call->outputs[0] != call->inputs[p->residual_input])
        memcpy(call->outputs[0], call->inputs[p->residual_input], p->added_bytes);
    if (rc == 0)
        rc = kernel_conv_plan_run(plan, call->outputs[0], call->inputs[0], call->workspace);
    kernel_conv_plan_destroy(&plan);
    return rc;
}

bool call_is_large_conv(const struct call_request *request)
{
    enum { PRODUCTS_MIN = 1 << 18 };
    const bool is_transposed = strcmp(request->node->op_type, "ConvTranspose") == 0;
    const struct tensor_view *x = &request->inputs[0], *w = &request->inputs[1];
    const struct shape *windows = is_transposed ? &x->shape : &request->outputs[0].shape;

    return w->shape.rank > 2 && w->shape.dims[0] > 0 && x->dtype == DTYPE_F32 &&
           w->dtype == DTYPE_F32 &&
           shape_elements(windows) >
               PRODUCTS_MIN / (shape_elements(&w->shape) / w->shape.dims[0] + 1);
}

/* Whether a value is computed of constants alone, where folding was switched off: these are computed as the
 * reference has it, whose sums are the same in all channels. */
static bool is_unfolded(const struct value *value)
{
    const struct node *producer = value ? value->producer : NULL;

    for (uint32_t i = 0; producer && i < producer->input_count; i++)
        if (producer->inputs[i] && !producer->inputs[i]->data)
            return false;
    return producer != NULL;
}

/* What is thought fastest among those that give the same bits each time, and the scratch that it wants. Returns 1
 * when there is none. */
static int choose_anew(const struct call_request *request, struct conv_params *p,
                       size_t *out_workspace)
{
    struct kernel_conv_versions versions;
    struct kernel_conv_plan *plan = NULL;
    void *weights, *bias;
    bool adds = p->residual_input >= 0;
    int i = 0, rc;

    if (kernel_conv_plan_list(&p->shape, p->has_bias, adds, false, &versions) < 0)
        return 1;
    while (i < versions.count &&
           (!versions.items[i].is_reproducible || versions.items[i].is_reference))
        i++;
    if (i == versions.count)
        return 1;
    memcpy(p->version, versions.items[i].name, sizeof(p->version));
    weights = calloc(1, (size_t)shape_bytes(&request->inputs[1].shape, DTYPE_F32) + 1);
    bias = p->has_bias ? calloc(1, (size_t)shape_bytes(&request->inputs[2].shape, DTYPE_F32) + 1)
                       : NULL;
    rc = weights && (bias || !p->has_bias)
             ? kernel_conv_plan_create(&p->shape, weights, bias, adds, p->version, &plan)
             : -ENOMEM;
    if (rc == 0)
        *out_workspace = kernel_conv_plan_info(plan).workspace_bytes;
    kernel_conv_plan_destroy(&plan);
    free(weights);
    free(bias);
    return rc == -ENOTSUP ? 1 : rc;
}

/* As the images lie; with weights of one element per channel both are the same memory, which libraries
 * want to be called as the images are. */
static void take_layouts(const struct call_request *request, struct kernel_conv *shape)
{
    const struct layout *layouts = request->input_layouts;
    const struct shape *w = &request->inputs[1].shape;

    if (!layouts)
        return;
    shape->channels_last = call_plan_is_channels_last(request);
    shape->w_channels_last = layout_is_channels_last(&layouts[1], w) &&
                             (shape->channels_last || !layout_is_row_major(&layouts[1], w));
}

int call_bind_conv(const struct call_request *request, struct call *call)
{
    struct conv_params *p;
    struct kernel_conv shape;
    int rc = call_conv_shape(request, &shape);

    if (rc == 0 && request->on_device)
        take_layouts(request, &shape);
    if (rc == 0 && request->on_device && call_is_half(request->inputs[1].dtype))
        return call_bind_conv_half(request, call, &shape);
    if (rc == 0 && request->outputs[0].dtype != DTYPE_F32)
        return call_bind_conv_any(request, call);
    if (rc == 0 && request->node->input_count > 0)
        rc = call_require_f32(request, 0, request->node->input_count - 1);
    if (rc == 0)
        rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->conv_f32.fn;
    p->shape = shape;
    p->residual_input = request->node->fused.residual_input;
    p->has_bias = call_input(request, 2) && p->residual_input != 2;
    call->version = request->kernels->conv_f32.version;
    call->run = run_conv;
    if (request->on_device || request->kernels->level == KERNEL_LEVEL_REF ||
        request->inputs[1].data || is_unfolded(request->node->inputs[1]) ||
        !call_is_large_conv(request))
        return 0;
    p->added_bytes = (size_t)shape_bytes(&request->outputs[0].shape, DTYPE_F32);
    rc = choose_anew(request, p, &call->workspace_bytes);
    if (rc == 0) {
        call->version = p->version;
        call->run = run_conv_anew;
    }
    return rc < 0 ? call_refuse(request, rc, "out of memory") : 0;
}

static int run_conv_plan(const struct call *call)
{
    return kernel_conv_plan_run(call->plan, call->outputs[0], call->inputs[0], call->workspace);
}

bool call_plan_is_channels_last(const struct call_request *request)
{
    const struct shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    struct layout layout = layout_channels_last(x->rank);

    if (!request->input_layouts)
        return true;
    /* With one channel, or one pixel, both are the same memory: then the other side tells. */
    if (!layout_is_row_major(&request->input_layouts[0], x) ||
        (request->output_layouts && !layout_is_row_major(&request->output_layouts[0], y)))
        return true;
    if (!layout_is_channels_last(&request->input_layouts[0], x) ||
        (request->output_layouts && !layout_is_channels_last(&request->output_layouts[0], y)))
        return false;
    /* As it was chosen where neither does: kernels still differ. */
    return memcmp(request->input_layouts[0].order, layout.order, (size_t)layout.rank) == 0;
}

int call_bind_conv_plan(const struct call_request *request, struct call *out_call)
{
    struct kernel_plan_types types;
    const struct tensor_view *w = call_plan_weights(request, &types);
    int residual = request->node->fused.residual_input;
    const struct tensor_view *bias = residual == 2 ? NULL : call_input(request, 2);
    struct call call = {.run = run_conv_plan};
    bool is_transposed = strcmp(request->node->op_type, "ConvTranspose") == 0;
    struct kernel_conv shape;
    int rc = is_transposed ? call_conv_transpose_shape(request, &shape)
                           : call_conv_shape(request, &shape);

    if (rc < 0)
        return rc;
    if (request->inputs[0].dtype != DTYPE_F32 || !w->data ||
        (w->dtype != DTYPE_F32 && types.weights == KERNEL_F32) ||
        (bias && (bias->dtype != DTYPE_F32 || !bias->data)) ||
        shape_elements(&request->outputs[0].shape) == 0 ||
        shape_elements(&request->inputs[0].shape) == 0)
        return 1;
    shape.channels_last = call_plan_is_channels_last(request);
    shape.types = types;
    rc = kernel_conv_plan_create(&shape, w->data, bias ? bias->data : NULL, residual >= 0,
                                 request->version, &call.plan);
    if (rc == -ENOTSUP)
        return 1;
    if (rc < 0)
        return call_refuse(request, rc, "out of memory");
    call.version = kernel_conv_plan_info(call.plan).version;
    call.workspace_bytes = kernel_conv_plan_info(call.plan).workspace_bytes;
    *out_call = call;
    return 0;
}

struct pool_params {
    pool_f32_fn *fn;
    struct kernel_pool shape;
};

static int run_pool(const struct call *call)
{
    const struct pool_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], &p->shape);
    return 0;
}

int call_bind_pool(const struct call_request *request, struct call *call)
{
    struct kernel_pool shape;
    bool is_max;
    struct pool_params *p;
    int rc;

    if (!request->node->outputs[0] || request->outputs[0].dtype != DTYPE_F32 ||
        call_is_read(request->node, 1))
        return call_bind_pool_any(request, call);
    rc = call_pool_shape(request, &shape, &is_max);
    if (rc == 0)
        rc = call_require_f32(request, 0, 0);
    if (rc == 0)
        rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    p->shape = shape;
    p->shape.channels_last = call_is_channels_last(request);
    p->fn = is_max ? request->kernels->max_pool_f32.fn : request->kernels->average_pool_f32.fn;
    call->version = is_max ? request->kernels->max_pool_f32.version
                           : request->kernels->average_pool_f32.version;
    call->run = run_pool;
    return 0;
}
