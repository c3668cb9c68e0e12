/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: strides, dilations, pads and automatic padding, and the shapes that have them. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int call_axis_ints(const struct call_request *request, const char *name, size_t count,
                   int64_t lowest, int64_t fallback, int64_t *out_values)
{
    size_t given = 0;
    const int64_t *ints = node_ints(request->node, name, &given);

    if (ints && given != count)
        return call_refuse(request, -EINVAL, "%s has %zu entries, not %zu", name, given, count);
    for (size_t i = 0; i < count; i++) {
        out_values[i] = ints ? ints[i] : fallback;
        if (out_values[i] < lowest || out_values[i] > INT32_MAX)
            return call_refuse(request, -ENOTSUP, "%s holds %" PRId64, name, out_values[i]);
    }
    return 0;
}

/* Pads so that out = ceil(in / stride), the odd one at the end (UPPER) or the beginning (LOWER). */
static void pad_same(struct kernel_window *window, int axis, bool upper)
{
    int64_t reach = (window->kernel[axis] - 1) * window->dilation[axis] + 1;
    int64_t total = (window->out[axis] - 1) * window->stride[axis] + reach - window->in[axis];

    if (total < 0)
        total = 0;
    window->pad_begin[axis] = upper ? total / 2 : (total + 1) / 2;
    window->pad_end[axis] = total - window->pad_begin[axis];
}

static int set_pads(const struct call_request *request, int rank, struct kernel_window *window)
{
    const char *mode = node_string(request->node, "auto_pad", "NOTSET");
    bool upper = strcmp(mode, "SAME_UPPER") == 0;
    int64_t pads[2 * KERNEL_SPATIAL];
    int first = KERNEL_SPATIAL - rank;
    int rc;

    if (upper || strcmp(mode, "SAME_LOWER") == 0) {
        for (int i = 0; i < rank; i++)
            pad_same(window, first + i, upper);
        return 0;
    }
    if (strcmp(mode, "VALID") == 0)
        return 0;
    if (strcmp(mode, "NOTSET") != 0 && mode[0] != '\0')
        return call_refuse(request, -EINVAL, "auto_pad is \"%s\"", mode);
    rc = call_axis_ints(request, "pads", 2 * (size_t)rank, 0, 0, pads);
    for (int i = 0; rc == 0 && i < rank; i++) {
        window->pad_begin[first + i] = pads[i];
        window->pad_end[first + i] = pads[rank + i];
    }
    return rc;
}

/* x and y are [batch, channels, spatial...]. */
int call_window(const struct call_request *request, uint32_t x_index, const int64_t *kernel,
                struct kernel_window *out_window)
{
    const struct tensor_view *output =
        &request->outputs[request->node->outputs[0] || request->node->output_count < 2 ? 0 : 1];
    const struct shape *x = &request->inputs[x_index].shape, *y = &output->shape;
    int rank = x->rank - 2, first = KERNEL_SPATIAL - rank;
    int64_t strides[KERNEL_SPATIAL], dilations[KERNEL_SPATIAL];
    struct kernel_window window;
    int rc;

    if (rank < 1 || rank > KERNEL_SPATIAL || y->rank != x->rank)
        return call_refuse(request, -ENOTSUP, "no kernel for an input of rank %d", x->rank);
    rc = call_axis_ints(request, "strides", (size_t)rank, 1, 1, strides);
    if (rc == 0)
        rc = call_axis_ints(request, "dilations", (size_t)rank, 1, 1, dilations);
    if (rc < 0)
        return rc;
    for (int i = 0; i < KERNEL_SPATIAL; i++) {
        window.in[i] = window.out[i] = window.kernel[i] = 1;
        window.stride[i] = window.dilation[i] = 1;
        window.pad_begin[i] = window.pad_end[i] = 0;
    }
    for (int i = 0; i < rank; i++) {
        window.in[first + i] = x->dims[2 + i];
        window.out[first + i] = y->dims[2 + i];
        window.kernel[first + i] = kernel[i];
        window.stride[first + i] = strides[i];
        window.dilation[first + i] = dilations[i];
    }
    rc = set_pads(request, rank, &window);
    if (rc == 0)
        *out_window = window;
    return rc;
}

/* An innermost axis of one, as where sequences are images of one column, changes no address: the axis
 * before it takes its place, along which kernels take many elements at once. */
static void skip_innermost_of_one(struct kernel_window *window)
{
    enum { INNERMOST = KERNEL_SPATIAL - 1 };
    int64_t *const axes[] = {window->in,       window->out,       window->kernel, window->stride,
                             window->dilation, window->pad_begin, window->pad_end};

    for (int step = 0; step < INNERMOST; step++) {
        if (window->in[INNERMOST] != 1 || window->out[INNERMOST] != 1 ||
            window->kernel[INNERMOST] != 1 || window->pad_begin[INNERMOST] != 0)
            return;
        for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++) {
            int64_t innermost = axes[i][INNERMOST];

            memmove(axes[i] + 1, axes[i], INNERMOST * sizeof(axes[i][0]));
            axes[i][0] = innermost;
        }
    }
}

int call_conv_window(const struct call_request *request, uint32_t x_index, const int64_t *kernel,
                     struct kernel_window *out_window)
{
    int rc = call_window(request, x_index, kernel, out_window);

    if (rc == 0)
        skip_innermost_of_one(out_window);
    return rc;
}

int call_conv_shape(const struct call_request *request, struct kernel_conv *out_shape)
{
    const struct tensor_view *x = call_input(request, 0), *w = call_input(request, 1);
    int residual = request->node->fused.residual_input;
    const struct tensor_view *bias = residual == 2 ? NULL : call_input(request, 2);
    const struct shape *y = &request->outputs[0].shape;
    int64_t groups = node_int(request->node, "group", 1);
    struct kernel_conv shape = {.groups = groups, .activation = call_activation(request->node)};
    int rc;

    if (!x || !w || x->shape.rank < 3 || w->shape.rank != x->shape.rank || y->rank != x->shape.rank)
        return call_refuse(request, -EINVAL,
                           "input and weights must have the same rank, 3 or more");
    if (groups < 1 || x->shape.dims[1] != w->shape.dims[1] * groups ||
        w->shape.dims[0] % groups != 0 || y->dims[0] != x->shape.dims[0] ||
        y->dims[1] != w->shape.dims[0])
        return call_refuse(request, -EINVAL, "channels, weights and group do not fit together");
    if (bias && (bias->shape.rank != 1 || bias->shape.dims[0] != w->shape.dims[0]))
        return call_refuse(request, -EINVAL, "the bias does not have one entry per filter");
    if (residual >= 0 && !shape_equal(&request->inputs[residual].shape, y))
        return call_refuse(request, -EINVAL, "the residual does not have the output's shape");
    shape.batch = y->dims[0];
    shape.channels = x->shape.dims[1];
    shape.filters = y->dims[1];
    shape.rank = x->shape.rank - 2;
    rc = call_conv_window(request, 0, w->shape.dims + 2, &shape.window);
    if (rc == 0)
        *out_shape = shape;
    return rc;
}

int call_pool_shape(const struct call_request *request, struct kernel_pool *out_shape,
                    bool *out_is_max)
{
    const char *op_type = request->node->op_type;
    const struct tensor_view *x = call_input(request, 0);
    const struct shape *y = &request->outputs[request->node->outputs[0] ? 0 : 1].shape;
    bool global = strncmp(op_type, "Global", 6) == 0;
    size_t given = 0;
    const int64_t *kernel = node_ints(request->node, "kernel_shape", &given);
    struct kernel_pool shape = {0};
    int rc;

    if (!x || x->shape.rank < 3 || y->rank != x->shape.rank || y->dims[0] != x->shape.dims[0] ||
        y->dims[1] != x->shape.dims[1])
        return call_refuse(request, -EINVAL, "input and output must have the same rank, 3 or more");
    if (global)
        kernel = x->shape.dims + 2;
    else if (!kernel || given != (size_t)x->shape.rank - 2)
        return call_refuse(request, -EINVAL, "kernel_shape must have one entry per spatial axis");
    for (int i = 0; i < x->shape.rank - 2; i++)
        if (kernel[i] < (global ? 0 : 1) || kernel[i] > INT32_MAX)
            return call_refuse(request, -EINVAL, "kernel_shape holds %" PRId64, kernel[i]);
    shape.batch = y->dims[0];
    shape.channels = y->dims[1];
    shape.rank = x->shape.rank - 2;
    shape.count_pads = node_int(request->node, "count_include_pad", 0) != 0;
    rc = call_window(request, 0, kernel, &shape.window);
    if (rc < 0)
        return rc;
    *out_shape = shape;
    *out_is_max = strstr(op_type, "Max") != NULL;
    return 0;
}
