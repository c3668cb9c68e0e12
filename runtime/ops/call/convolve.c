/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and pools over every type, quantised convolutions, ConvTranspose. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The inputs by their role; -1: there is none. */
struct roles {
    int x, w, bias, x_zero, w_zero, y_zero, x_scale, w_scale, y_scale;
};

struct convolve_params {
    convolve_fn *fn;
    convolve_int8_fn *int8_fn; /* or NULL */
    void *packed;              /* for int8_fn, part of the params; or NULL */
    struct roles roles;
    struct kernel_convolve shape;
};

static const void *data_of(const struct call *call, int input)
{
    return input < 0 ? NULL : call->inputs[input];
}

static int run_convolve(const struct call *call)
{
    const struct convolve_params *p = call->params;
    struct kernel_convolve_data data = {
        .y = call->outputs[0],
        .x = data_of(call, p->roles.x),
        .w = data_of(call, p->roles.w),
        .bias = data_of(call, p->roles.bias),
        .x_zero = data_of(call, p->roles.x_zero),
        .w_zero = data_of(call, p->roles.w_zero),
        .y_zero = data_of(call, p->roles.y_zero),
        .x_scale = data_of(call, p->roles.x_scale),
        .w_scale = data_of(call, p->roles.w_scale),
        .y_scale = data_of(call, p->roles.y_scale),
    };

    if (p->int8_fn)
        p->int8_fn(&data, p->packed, &p->shape, call->workspace);
    else
        p->fn(&data, &p->shape);
    return 0;
}

static int take_type(const struct call_request *request, int input, enum kernel_dtype *out_dtype)
{
    if (input < 0 || call_dtype(request->inputs[input].dtype, out_dtype))
        return 0;
    return call_refuse(request, -ENOTSUP, "no kernel for %s in input %d",
                       dtype_name(request->inputs[input].dtype), input);
}

static int take_geometry(const struct call_request *request, const struct roles *roles,
                         struct kernel_convolve *s)
{
    const struct shape *x = &request->inputs[roles->x].shape;
    const struct shape *w = &request->inputs[roles->w].shape;
    const struct shape *y = &request->outputs[0].shape;

    s->groups = node_int(request->node, "group", 1);
    if (x->rank < 3 || w->rank != x->rank || y->rank != x->rank || s->groups < 1 ||
        x->dims[1] != w->dims[1] * s->groups || w->dims[0] % s->groups != 0)
        return call_refuse(request, -EINVAL, "channels, weights and group do not fit together");
    s->batch = x->dims[0];
    s->channels = x->dims[1];
    s->filters = w->dims[0];
    return call_conv_window(request, (uint32_t)roles->x, w->dims + 2, &s->window);
}

/* One number, or one per filter where `out_per_filter` is not NULL. */
static int check_count(const struct call_request *request, int input, int64_t filters,
                       bool *out_per_filter)
{
    const struct shape *s;

    if (input < 0)
        return 0;
    s = &request->inputs[input].shape;
    if (shape_elements(s) == 1)
        return 0;
    if (!out_per_filter || s->rank != 1 || s->dims[0] != filters)
        return call_refuse(request, -EINVAL, "input %d does not have one number%s", input,
                           out_per_filter ? ", nor one for each filter" : "");
    *out_per_filter = true;
    return 0;
}

static int check_quantities(const struct call_request *request, const struct roles *roles,
                            struct kernel_convolve *s)
{
    const int single[] = {roles->x_zero, roles->y_zero, roles->x_scale, roles->y_scale};
    int rc = check_count(request, roles->w_zero, s->filters, &s->has_filter_zeros);

    if (rc == 0)
        rc = check_count(request, roles->w_scale, s->filters, &s->has_filter_scales);
    for (size_t i = 0; rc == 0 && i < sizeof(single) / sizeof(single[0]); i++)
        rc = check_count(request, single[i], s->filters, NULL);
    return rc;
}

/* Those of 8 bits have kernels of their own; constant filters are packed once. */
static int bind_int8(const struct call_request *request, struct call *call)
{
    struct convolve_params *p = call->params;
    const void *w = request->inputs[p->roles.w].data;
    size_t packed = w ? kernel_convolve_int8_packed(&p->shape) : 0;
    size_t first = (sizeof(*p) + 63) / 64 * 64;

    if (packed > 0) {
        p = aligned_alloc(64, first + (packed + 63) / 64 * 64);
        if (!p)
            return call_refuse(request, -ENOMEM, "out of memory");
        *p = *(struct convolve_params *)call->params;
        free(call->params);
        call->params = p;
        p->packed = (char *)p + first;
        kernel_pack_filters_int8(p->packed, w, &p->shape);
    }
    p->int8_fn = request->kernels->convolve_int8.fn;
    call->version = request->kernels->convolve_int8.version;
    call->workspace_bytes = kernel_convolve_int8_room(&p->shape);
    return 0;
}

static int bind_convolve(const struct call_request *request, struct call *call,
                         const struct roles *roles)
{
    struct convolve_params *p;
    struct kernel_convolve *s;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    p->roles = *roles;
    s = &p->shape;
    s->channels_last = call_is_channels_last(request);
    rc = take_geometry(request, roles, s);
    if (rc == 0)
        rc = check_quantities(request, roles, s);
    if (rc == 0)
        rc = take_type(request, roles->x, &s->x_type);
    if (rc == 0)
        rc = take_type(request, roles->w, &s->w_type);
    if (rc == 0)
        rc = take_type(request, roles->bias, &s->bias_type);
    if (rc == 0)
        rc = take_type(request, roles->x_scale, &s->scale_type);
    if (rc == 0 && !call_dtype(request->outputs[0].dtype, &s->y_type))
        rc = call_refuse(request, -ENOTSUP, "no kernel for a result of %s",
                         dtype_name(request->outputs[0].dtype));
    p->fn = request->kernels->convolve.fn;
    call->version = request->kernels->convolve.version;
    call->run = run_convolve;
    if (rc < 0 || !request->kernels->convolve_int8.fn ||
        !kernel_convolve_int8_fits(s, roles->bias >= 0, roles->y_scale >= 0))
        return rc;
    return bind_int8(request, call);
}

int call_bind_conv_any(const struct call_request *request, struct call *call)
{
    struct roles roles = {0, 1, call_input(request, 2) ? 2 : -1, -1, -1, -1, -1, -1, -1};

    if (request->node->fused.residual_input >= 0 ||
        request->node->fused.activation != ACTIVATION_NONE)
        return call_refuse(request, -ENOTSUP, "no kernel fuses anything into %s",
                           dtype_name(request->outputs[0].dtype));
    return bind_convolve(request, call, &roles);
}

/* Whether these are images of bytes, filters of bytes that are known, and all scales float32. */
static bool has_byte_images(const struct node *node)
{
    if (strcmp(node->op_type, "QLinearConv") != 0 || node->domain[0] != '\0' ||
        node->input_count < 8 || node->output_count != 1)
        return false;
    for (uint32_t i = 0; i < 8; i++)
        if (!node->inputs[i])
            return false;
    return node->inputs[0]->shape.rank == 4 && node->inputs[3]->data &&
           node->inputs[1]->dtype == DTYPE_F32 && node->inputs[4]->dtype == DTYPE_F32 &&
           node->inputs[6]->dtype == DTYPE_F32;
}

enum call_conv_last call_conv_last(const struct graph *graph, const struct node *node)
{
    struct roles roles = {0, 3, node_input(node, 8) ? 8 : -1, 2, 5, 7, 1, 4, 6};
    struct tensor_view views[9] = {{0}}, output;
    struct call_request request = {
        .graph = graph, .node = node, .inputs = views, .outputs = &output};
    struct kernel_convolve s = {.channels_last = true, .scale_type = KERNEL_F32};

    if (!has_byte_images(node))
        return CONV_NEVER_LAST;
    for (uint32_t i = 0; i < 9 && i < node->input_count; i++)
        if (node->inputs[i])
            views[i] = (struct tensor_view){.dtype = node->inputs[i]->dtype,
                                            .shape = node->inputs[i]->shape};
    output =
        (struct tensor_view){.dtype = node->outputs[0]->dtype, .shape = node->outputs[0]->shape};
    if (take_geometry(&request, &roles, &s) < 0 || !call_dtype(views[0].dtype, &s.x_type) ||
        !call_dtype(views[3].dtype, &s.w_type) || !call_dtype(output.dtype, &s.y_type) ||
        take_type(&request, roles.bias, &s.bias_type) < 0 ||
        !kernel_convolve_int8_fits(&s, roles.bias >= 0, true))
        return CONV_NEVER_LAST;
    return kernel_convolve_int8_likes_last(&s) ? CONV_LIKES_LAST : CONV_TAKES_LAST;
}

/* ConvInteger, QLinearConv */
int call_bind_conv_quantised(const struct call_request *request, struct call *call)
{
    struct roles roles = {0, 3, call_input(request, 8) ? 8 : -1, 2, 5, 7, 1, 4, 6};

    if (strcmp(request->node->op_type, "ConvInteger") == 0)
        roles = (struct roles){
            0,  1,  -1, call_input(request, 2) ? 2 : -1, call_input(request, 3) ? 3 : -1, -1,
            -1, -1, -1};
    for (int i = 1; roles.y_scale >= 0 && i <= 6; i += i == 1 ? 3 : 2)
        if (request->inputs[i].dtype != DTYPE_F32)
            return call_refuse(request, -ENOTSUP, "no kernel for a scale of %s",
                               dtype_name(request->inputs[i].dtype));
    return bind_convolve(request, call, &roles);
}

/* ConvTranspose */

struct transpose_params {
    conv_transpose_fn *fn;
    bool has_bias;
    struct kernel_conv_transpose shape;
};

static int run_transpose(const struct call *call)
{
    const struct transpose_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], call->inputs[1], p->has_bias ? call->inputs[2] : NULL,
          &p->shape);
    return 0;
}

/* Pads such that the output has the size that was worked out. Operator set 11 turned round which
 * side gets the odd one where the size is asked for. */
static int transpose_pads(const struct call_request *request, int rank, struct kernel_window *w)
{
    const char *mode = node_string(request->node, "auto_pad", "NOTSET");
    bool is_upper = strcmp(mode, "SAME_UPPER") == 0;
    bool is_asked = node_attribute(request->node, "output_shape") != NULL;
    int first = KERNEL_SPATIAL - rank;
    int64_t pads[2 * KERNEL_SPATIAL], more[KERNEL_SPATIAL];
    int rc = call_axis_ints(request, "pads", 2 * (size_t)rank, 0, 0, pads);

    if (rc == 0)
        rc = call_axis_ints(request, "output_padding", (size_t)rank, 0, 0, more);
    if (is_asked && graph_opset(request->graph, "") < 11)
        is_upper = !is_upper;
    for (int i = 0; rc == 0 && i < rank; i++) {
        int axis = first + i;
        int64_t reach = (w->kernel[axis] - 1) * w->dilation[axis] + 1;
        int64_t total = (w->out[axis] - 1) * w->stride[axis] + more[i] + reach - w->in[axis];

        if (!is_asked && strncmp(mode, "SAME", 4) != 0) {
            bool is_valid = strcmp(mode, "VALID") == 0;

            w->pad_begin[axis] = is_valid ? 0 : pads[i];
            w->pad_end[axis] = is_valid ? 0 : pads[rank + i];
            continue;
        }
        total = total > 0 ? total : 0;
        w->pad_begin[axis] = is_upper ? total / 2 : total - total / 2;
        w->pad_end[axis] = total - w->pad_begin[axis];
    }
    return rc;
}

static int transpose_window(const struct call_request *request, struct kernel_window *w)
{
    const struct shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    const struct shape *weights = &request->inputs[1].shape;
    int rank = x->rank - 2, first = KERNEL_SPATIAL - rank;
    int64_t strides[KERNEL_SPATIAL], dilations[KERNEL_SPATIAL];
    int rc;

    if (rank < 1 || rank > KERNEL_SPATIAL || weights->rank != x->rank || y->rank != x->rank)
        return call_refuse(request, -ENOTSUP, "no kernel for an input of rank %d", x->rank);
    rc = call_axis_ints(request, "strides", (size_t)rank, 1, 1, strides);
    if (rc == 0)
        rc = call_axis_ints(request, "dilations", (size_t)rank, 1, 1, dilations);
    if (rc < 0)
        return rc;
    for (int i = 0; i < KERNEL_SPATIAL; i++) {
        bool is_used = i >= first;

        w->in[i] = is_used ? y->dims[2 + i - first] : 1;
        w->out[i] = is_used ? x->dims[2 + i - first] : 1;
        w->kernel[i] = is_used ? weights->dims[2 + i - first] : 1;
        w->stride[i] = is_used ? strides[i - first] : 1;
        w->dilation[i] = is_used ? dilations[i - first] : 1;
        w->pad_begin[i] = w->pad_end[i] = 0;
        if (w->kernel[i] > INT32_MAX || w->in[i] > INT32_MAX || w->out[i] > INT32_MAX)
            return call_refuse(request, -ENOTSUP, "no kernel for images that large");
    }
    return transpose_pads(request, rank, w);
}

int call_conv_transpose_shape(const struct call_request *request, struct kernel_conv *out_shape)
{
    const struct shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    struct kernel_conv shape = {.is_transposed = true, .rank = x->rank - 2};
    int rc = transpose_window(request, &shape.window);

    if (rc < 0)
        return rc;
    shape.batch = x->dims[0];
    shape.channels = x->dims[1];
    shape.filters = y->dims[1];
    shape.groups = node_int(request->node, "group", 1);
    *out_shape = shape;
    return 0;
}

int call_bind_conv_transpose(const struct call_request *request, struct call *call)
{
    struct transpose_params *p;
    struct kernel_conv shape;
    int rc = call_conv_transpose_shape(request, &shape);

    if (rc == 0 && request->on_device && call_is_half(request->inputs[1].dtype))
        return call_bind_conv_half(request, call, &shape);
    if (rc == 0)
        rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    rc = take_type(request, 0, &p->shape.dtype);
    if (rc < 0)
        return rc;
    p->shape.window = shape.window;
    p->shape.batch = shape.batch;
    p->shape.channels = shape.channels;
    p->shape.filters = shape.filters;
    p->shape.groups = shape.groups;
    p->has_bias = call_input(request, 2) != NULL;
    p->fn = request->kernels->conv_transpose.fn;
    call->version = request->kernels->conv_transpose.version;
    call->run = run_transpose;
    return 0;
}

/* Pools */

struct pool_params {
    pool_fn *fn;
    bool has_indices;
    struct kernel_pool_any shape;
};

static int run_pool(const struct call *call)
{
    const struct pool_params *p = call->params;

    p->fn(call->outputs[0] ? call->outputs[0] : call->workspace,
          p->has_indices ? call->outputs[1] : NULL, call->inputs[0], &p->shape);
    return 0;
}

static void move_axis(int64_t *axes, int64_t last)
{
    axes[0] = axes[1];
    axes[1] = axes[2];
    axes[2] = last;
}

/* Channels that lie innermost are one more axis, over which the window reaches for one. False: images
 * with depth leave no room for it. */
static bool take_channels_last(struct kernel_pool_any *shape)
{
    struct kernel_window *w = &shape->window;

    if (w->in[0] != 1 || w->out[0] != 1 || w->kernel[0] != 1 || w->pad_begin[0] != 0 ||
        w->pad_end[0] != 0)
        return false;
    move_axis(w->in, shape->channels);
    move_axis(w->out, shape->channels);
    move_axis(w->kernel, 1);
    move_axis(w->stride, 1);
    move_axis(w->dilation, 1);
    move_axis(w->pad_begin, 0);
    move_axis(w->pad_end, 0);
    shape->channels = 1;
    return true;
}

int call_bind_pool_any(const struct call_request *request, struct call *call)
{
    const struct node *node = request->node;
    struct pool_params *p;
    struct kernel_pool geometry;
    bool is_max;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    rc = call_pool_shape(request, &geometry, &is_max);
    if (rc == 0)
        rc = take_type(request, 0, &p->shape.dtype);
    if (rc < 0)
        return rc;
    p->shape.op = is_max ? POOL_MAX : strstr(node->op_type, "Lp") ? POOL_LP : POOL_AVERAGE;
    p->shape.batch = geometry.batch;
    p->shape.channels = geometry.channels;
    p->shape.window = geometry.window;
    p->shape.count_pads = geometry.count_pads;
    p->shape.is_column_major = node_int(node, "storage_order", 0) != 0;
    p->shape.p = (double)node_int(node, "p", 2);
    if (p->shape.p < 1.0)
        return call_refuse(request, -EINVAL, "p is %g", p->shape.p);
    if (call_is_channels_last(request) && !take_channels_last(&p->shape))
        return call_refuse(request, -ENOTSUP, "no kernel for channels-last images with depth");
    p->has_indices = is_max && call_is_read(node, 1);
    if (!node->outputs[0])
        call->workspace_bytes = (size_t)shape_bytes(&request->outputs[1].shape, DTYPE_F64);
    p->fn = request->kernels->pool.fn;
    call->version = request->kernels->pool.version;
    call->run = run_pool;
    return 0;
}
