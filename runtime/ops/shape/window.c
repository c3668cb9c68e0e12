/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: convolutions and pools, which move a window over the spatial dims. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/shape/infer.h"

int infer_window_list(struct infer *infer, const char *name, int count, int64_t minimum,
                      int64_t fallback, int64_t *to)
{
    size_t given;
    const int64_t *list = node_ints(infer->node, name, &given);

    if (list && given != (size_t)count)
        return infer_fail(infer, "attribute %s has %zu entries instead of %d", name, given, count);
    for (int i = 0; i < count; i++) {
        to[i] = list ? list[i] : fallback;
        if (to[i] < minimum || to[i] > INFER_WINDOW_MAX)
            return infer_fail(infer, "attribute %s holds %" PRId64, name, to[i]);
    }
    return 0;
}

static int64_t extent(const struct window *window, int i)
{
    return (window->kernel[i] - 1) * window->dilations[i] + 1;
}

/* SAME: the output has ceil(in / stride) positions; UPPER puts an odd pad at the end. */
static void pad_same(struct window *window, int i, int64_t in, bool upper)
{
    int64_t positions = (in + window->strides[i] - 1) / window->strides[i];
    int64_t total = (positions - 1) * window->strides[i] + extent(window, i) - in;

    if (total < 0)
        total = 0;
    window->pads[i] = upper ? total / 2 : total - total / 2;
    window->pads[window->spatial + i] = total - window->pads[i];
}

int infer_window(struct infer *infer, const struct shape *in, struct window *window)
{
    const char *auto_pad = node_string(infer->node, "auto_pad", "NOTSET");
    int rc;

    if (in->rank < 3 || in->rank - 2 > INFER_SPATIAL_MAX)
        return infer_unsupported(infer, "its input has %d dimensions; 3 to %d are supported",
                                 in->rank, INFER_SPATIAL_MAX + 2);
    window->spatial = in->rank - 2;
    for (int i = 0; i < window->spatial; i++) {
        if (window->kernel[i] < 1 || window->kernel[i] > INFER_WINDOW_MAX)
            return infer_fail(infer, "its kernel has the size %" PRId64, window->kernel[i]);
    }
    rc = infer_window_list(infer, "strides", window->spatial, 1, 1, window->strides);
    if (rc == 0)
        rc = infer_window_list(infer, "dilations", window->spatial, 1, 1, window->dilations);
    if (rc == 0)
        rc = infer_window_list(infer, "pads", 2 * window->spatial, 0, 0, window->pads);
    for (int i = 0; rc == 0 && i < window->spatial; i++) {
        if (window->kernel[i] > INFER_WINDOW_MAX / window->dilations[i])
            return infer_fail(infer, "its dilated kernel is too large");
        if (strcmp(auto_pad, "SAME_UPPER") == 0 || strcmp(auto_pad, "SAME_LOWER") == 0)
            pad_same(window, i, in->dims[2 + i], strcmp(auto_pad, "SAME_UPPER") == 0);
        else if (strcmp(auto_pad, "VALID") == 0)
            window->pads[i] = window->pads[window->spatial + i] = 0;
        else if (strcmp(auto_pad, "NOTSET") != 0)
            return infer_fail(infer, "attribute auto_pad is '%s'", auto_pad);
    }
    return rc;
}

/* Positions of the window along spatial dim i. */
static int count_positions(struct infer *infer, const struct window *window, int i, int64_t in,
                           bool ceil_mode, int64_t *out)
{
    int64_t begin = window->pads[i];
    int64_t room = in + begin + window->pads[window->spatial + i] - extent(window, i);
    int64_t stride = window->strides[i];

    if (room < 0)
        return infer_fail(infer,
                          "its window of %" PRId64 " is larger than the padded input of %" PRId64,
                          extent(window, i), room + extent(window, i));
    *out = (ceil_mode ? (room + stride - 1) / stride : room / stride) + 1;
    /* A window that would start in the padding behind the input does not count. */
    if (ceil_mode && (*out - 1) * stride >= in + begin)
        (*out)--;
    return 0;
}

static int check_groups(struct infer *infer, const struct shape *x, const struct shape *w)
{
    int64_t group = node_int(infer->node, "group", 1);

    if (w->rank != x->rank || x->rank < 3)
        return infer_fail(infer, "its input has %d dimensions and its weights %d", x->rank,
                          w->rank);
    if (group < 1 || group > x->dims[1] || x->dims[1] % group != 0 || w->dims[0] % group != 0 ||
        w->dims[1] != x->dims[1] / group)
        return infer_fail(infer,
                          "weights for %" PRId64 " channels in each of %" PRId64
                          " groups do not fit an input with %" PRId64 " channels",
                          w->dims[1], group, x->dims[1]);
    return 0;
}

/* The shape of a convolution of input x with the weights in input w. */
static int conv_shape(struct infer *infer, uint32_t x_index, uint32_t w_index,
                      struct shape *out_shape)
{
    const struct shape *x = infer_shape(infer, x_index);
    const struct shape *w = infer_shape(infer, w_index);
    struct window window = {0};
    size_t given;
    const int64_t *kernel = node_ints(infer->node, "kernel_shape", &given);
    int rc = check_groups(infer, x, w);

    if (rc < 0)
        return rc;
    for (int i = 0; i < x->rank - 2; i++) {
        window.kernel[i] = w->dims[2 + i];
        if (kernel && (given != (size_t)x->rank - 2 || kernel[i] != window.kernel[i]))
            return infer_fail(infer, "attribute kernel_shape contradicts the weights");
    }
    *out_shape = *x;
    out_shape->dims[1] = w->dims[0];
    rc = infer_window(infer, x, &window);
    for (int i = 0; rc == 0 && i < window.spatial; i++)
        rc = count_positions(infer, &window, i, x->dims[2 + i], false, &out_shape->dims[2 + i]);
    return rc;
}

static int check_bias(struct infer *infer, uint32_t i, int64_t filters)
{
    if (infer_has(infer, i) &&
        (infer_shape(infer, i)->rank != 1 || infer_shape(infer, i)->dims[0] != filters))
        return infer_fail(infer, "its bias does not have %" PRId64 " elements", filters);
    return 0;
}

int shape_conv(struct infer *infer)
{
    struct shape out;
    int rc = infer_float(infer, 0);

    for (uint32_t i = 1; rc == 0 && i < 3; i++)
        rc = infer_same_dtype(infer, 0, i);
    if (rc == 0)
        rc = conv_shape(infer, 0, 1, &out);
    if (rc == 0)
        rc = check_bias(infer, 2, out.dims[1]);
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

/* Of offsets (parts: a number for each axis) or of the mask, for each element of the window. */
static int check_places(struct infer *infer, uint32_t i, const struct shape *out, int64_t parts)
{
    const struct shape *w = infer_shape(infer, 1), *x;
    int64_t channels = node_int(infer->node, "offset_group", 1) * parts;

    if (!infer_has(infer, i))
        return 0;
    x = infer_shape(infer, i);
    for (int k = 2; k < w->rank; k++)
        channels *= w->dims[k];
    if (x->rank != out->rank || x->dims[0] != out->dims[0] || x->dims[1] != channels)
        return infer_fail(infer,
                          "input %u does not have %" PRId64 " channels of %" PRId64 " images", i,
                          channels, out->dims[0]);
    for (int k = 2; k < out->rank; k++)
        if (x->dims[k] != out->dims[k])
            return infer_fail(infer,
                              "input %u has %" PRId64 " places along axis %d, its output %" PRId64,
                              i, x->dims[k], k, out->dims[k]);
    return 0;
}

/* x, weights, offsets, bias, mask. */
int shape_deform_conv(struct infer *infer)
{
    int64_t groups = node_int(infer->node, "offset_group", 1);
    struct shape out;
    int rc = infer_float(infer, 0);

    for (uint32_t i = 1; rc == 0 && i < 5; i++)
        rc = infer_same_dtype(infer, 0, i);
    if (rc == 0)
        rc = conv_shape(infer, 0, 1, &out);
    if (rc == 0 && (groups < 1 || groups > infer_shape(infer, 0)->dims[1] ||
                    infer_shape(infer, 0)->dims[1] % groups != 0))
        rc = infer_fail(infer, "attribute offset_group is %" PRId64 " for %" PRId64 " channels",
                        groups, infer_shape(infer, 0)->dims[1]);
    if (rc == 0)
        rc = check_bias(infer, 3, out.dims[1]);
    if (rc == 0)
        rc = check_places(infer, 2, &out, out.rank - 2);
    if (rc == 0)
        rc = check_places(infer, 4, &out, 1);
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

int shape_conv_integer(struct infer *infer)
{
    struct shape out;
    int rc = infer_quantised(infer, 0, 2);

    if (rc == 0)
        rc = infer_quantised(infer, 1, 3);
    if (rc == 0)
        rc = conv_shape(infer, 0, 1, &out);
    return rc < 0 ? rc : infer_output(infer, 0, DTYPE_I32, &out);
}

/* x, its scale and zero point, w, its scale and zero point, y's scale and zero point, bias. */
int shape_qlinear_conv(struct infer *infer)
{
    struct shape out;
    int rc = infer_quantised(infer, 0, 2);

    if (rc == 0)
        rc = infer_quantised(infer, 3, 5);
    if (rc == 0)
        rc = infer_byte(infer, 7);
    if (rc == 0)
        rc = conv_shape(infer, 0, 3, &out);
    if (rc == 0)
        rc = check_bias(infer, 8, out.dims[1]);
    if (rc == 0 && infer_has(infer, 8) && infer_dtype(infer, 8) != DTYPE_I32)
        rc = infer_fail(infer, "its bias is %s, not int32", dtype_name(infer_dtype(infer, 8)));
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 7), &out);
}

/* x, weights, bias, past: [batch, channels, steps], [channels, 1, taps]. */
int shape_causal_conv(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0), *w = infer_shape(infer, 1);
    const char *activation = node_string(infer->node, "activation", "none");
    struct shape state;
    int rc = infer_float(infer, 0);

    for (uint32_t i = 1; rc == 0 && i < 4; i++)
        rc = infer_same_dtype(infer, 0, i);
    if (rc < 0)
        return rc;
    if (x->rank != 3 || w->rank != 3 || w->dims[0] != x->dims[1] || w->dims[1] != 1 ||
        w->dims[2] < 1)
        return infer_fail(infer, "its weights do not fit an input of [batch, channels, steps]");
    if (strcmp(activation, "none") != 0 && strcmp(activation, "silu") != 0 &&
        strcmp(activation, "swish") != 0)
        return infer_fail(infer, "attribute activation is '%.40s'", activation);
    state = (struct shape){3, {x->dims[0], x->dims[1], w->dims[2] - 1}};
    if (infer_has(infer, 3) && !shape_equal(infer_shape(infer, 3), &state))
        return infer_fail(infer, "its past does not have %" PRId64 " steps of each channel",
                          state.dims[2]);
    rc = check_bias(infer, 2, x->dims[1]);
    if (rc == 0)
        rc = infer_output(infer, 1, infer_dtype(infer, 0), &state);
    return rc < 0 ? rc : infer_same(infer);
}

static int pool_shape(struct infer *infer, struct shape *out_shape)
{
    const struct shape *x = infer_shape(infer, 0);
    struct window window = {0};
    size_t given;
    const int64_t *kernel = node_ints(infer->node, "kernel_shape", &given);
    bool ceil_mode = node_int(infer->node, "ceil_mode", 0) != 0;
    int rc;

    *out_shape = *x;
    if (!kernel || x->rank < 3 || given != (size_t)x->rank - 2)
        return infer_fail(infer, "attribute kernel_shape does not fit an input of %d dimensions",
                          x->rank);
    memcpy(window.kernel, kernel, given * sizeof(*kernel));
    rc = infer_window(infer, x, &window);
    for (int i = 0; rc == 0 && i < window.spatial; i++)
        rc = count_positions(infer, &window, i, x->dims[2 + i], ceil_mode, &out_shape->dims[2 + i]);
    return rc;
}

int shape_max_pool(struct infer *infer)
{
    struct shape out;
    int rc = pool_shape(infer, &out);

    if (rc == 0)
        rc = infer_output(infer, 0, infer_dtype(infer, 0), &out);
    return rc < 0 ? rc : infer_output(infer, 1, DTYPE_I64, &out);
}

/* What a pool of this window made x of, at least. */
static int unpooled_shape(struct infer *infer, struct shape *out_shape)
{
    const struct shape *x = infer_shape(infer, 0);
    int64_t kernel[SHAPE_MAX_RANK], strides[SHAPE_MAX_RANK], pads[2 * SHAPE_MAX_RANK];
    int rank = x->rank - 2, rc;

    if (!node_attribute(infer->node, "kernel_shape"))
        return infer_fail(infer, "it has no attribute kernel_shape");
    rc = infer_window_list(infer, "kernel_shape", rank, 1, 1, kernel);
    if (rc == 0)
        rc = infer_window_list(infer, "strides", rank, 1, 1, strides);
    if (rc == 0)
        rc = infer_window_list(infer, "pads", 2 * rank, 0, 0, pads);
    for (int i = 0; rc == 0 && i < rank; i++) {
        int64_t steps = x->dims[2 + i] - 1, *dim = &out_shape->dims[2 + i];

        if (steps > INFER_WINDOW_MAX / strides[i])
            return infer_fail(infer, "its output is too large");
        *dim = steps * strides[i] - pads[i] - pads[rank + i] + kernel[i];
        if (*dim < 0)
            return infer_fail(infer, "its output has %" PRId64 " places along axis %d", *dim,
                              2 + i);
    }
    return rc;
}

int shape_max_unpool(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0);
    struct shape out = *x;
    int64_t *dims = NULL;
    size_t count;
    int rc = infer_float(infer, 0);

    if (rc == 0 && x->rank < 3)
        rc = infer_fail(infer, "its input has %d dimensions", x->rank);
    if (rc == 0 && (!shape_equal(x, infer_shape(infer, 1)) || infer_dtype(infer, 1) != DTYPE_I64))
        rc = infer_fail(infer, "it does not have an int64 index for each element");
    if (rc == 0)
        rc = unpooled_shape(infer, &out);
    if (rc == 0 && infer_has(infer, 2)) {
        rc = infer_ints(infer, 2, &dims, &count);
        if (rc == 0 && count != (size_t)x->rank)
            rc =
                infer_fail(infer, "its output_shape has %zu numbers instead of %d", count, x->rank);
        for (int i = 0; rc == 0 && i < x->rank; i++) {
            if (dims[i] < 0 || (i < 2 && dims[i] != x->dims[i]))
                rc =
                    infer_fail(infer, "its output_shape holds %" PRId64 " for axis %d", dims[i], i);
            out.dims[i] = dims[i];
        }
        free(dims);
    }
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

int shape_average_pool(struct infer *infer)
{
    struct shape out;
    int rc = infer_float(infer, 0);

    if (rc == 0)
        rc = pool_shape(infer, &out);
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

int shape_lp_pool(struct infer *infer)
{
    int64_t p = node_int(infer->node, "p", 2);

    if (infer->opset < 2)
        return infer_unsupported(infer, "its form of operator set 1 is not supported");
    return p < 1 ? infer_fail(infer, "attribute p is %" PRId64, p) : shape_average_pool(infer);
}

int shape_global_pool(struct infer *infer)
{
    struct shape out = *infer_shape(infer, 0);
    int rc = infer_float(infer, 0);

    if (rc == 0 && out.rank < 3)
        rc = infer_fail(infer, "its input has no spatial dimension");
    for (int i = 2; i < out.rank; i++)
        out.dims[i] = 1;
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}
