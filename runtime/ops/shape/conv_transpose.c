/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: ConvTranspose. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "runtime/ops/shape/infer.h"

/* One spatial dim: what would come out without pads, then pads or the size that is asked for. */
static int transposed_size(struct infer *infer, const struct window *window, int i, int64_t in,
                           int64_t more, const int64_t *wanted, int64_t *out_size)
{
    const char *auto_pad = node_string(infer->node, "auto_pad", "NOTSET");
    int64_t extent = (window->kernel[i] - 1) * window->dilations[i] + 1;
    int64_t full = in > 0 ? window->strides[i] * (in - 1) + more + extent : 0;

    if (wanted)
        *out_size = wanted[i];
    else if (strncmp(auto_pad, "SAME", 4) == 0)
        *out_size = in * window->strides[i];
    else
        *out_size = full - window->pads[i] - window->pads[window->spatial + i];
    if (*out_size < 0 || *out_size > INFER_WINDOW_MAX)
        return infer_fail(infer, "its output has a dimension of %" PRId64, *out_size);
    return 0;
}

static int check_weights(struct infer *infer, const struct shape *x, const struct shape *w,
                         int64_t group, int64_t *out_filters)
{
    if (w->rank != x->rank || x->rank < 3)
        return infer_fail(infer, "its input has %d dimensions and its weights %d", x->rank,
                          w->rank);
    if (group < 1 || group > x->dims[1] || x->dims[1] != w->dims[0] || x->dims[1] % group != 0 ||
        w->dims[1] > INFER_WINDOW_MAX / group)
        return infer_fail(infer,
                          "weights for %" PRId64 " channels in %" PRId64
                          " groups do not fit an input with %" PRId64 " channels",
                          w->dims[0], group, x->dims[1]);
    *out_filters = w->dims[1] * group;
    if (infer_has(infer, 2) &&
        (infer_shape(infer, 2)->rank != 1 || infer_shape(infer, 2)->dims[0] != *out_filters))
        return infer_fail(infer, "its bias does not have %" PRId64 " elements", *out_filters);
    return 0;
}

int shape_conv_transpose(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0), *w = infer_shape(infer, 1);
    struct window window = {0};
    struct shape out = *x;
    int64_t more[SHAPE_MAX_RANK];
    size_t kernels, given;
    const int64_t *kernel = node_ints(infer->node, "kernel_shape", &kernels);
    const int64_t *wanted = node_ints(infer->node, "output_shape", &given);
    int rc = infer_float(infer, 0);

    for (uint32_t i = 1; rc == 0 && i < 3; i++)
        rc = infer_same_dtype(infer, 0, i);
    if (rc == 0)
        rc = check_weights(infer, x, w, node_int(infer->node, "group", 1), &out.dims[1]);
    if (rc < 0)
        return rc;
    for (int i = 0; i < x->rank - 2; i++) {
        window.kernel[i] = w->dims[2 + i];
        if (kernel && (kernels != (size_t)x->rank - 2 || kernel[i] != window.kernel[i]))
            return infer_fail(infer, "attribute kernel_shape contradicts the weights");
    }
    /* Some models name all dimensions of the output. */
    if (wanted && given == (size_t)x->rank)
        wanted += 2;
    else if (wanted && given != (size_t)x->rank - 2)
        return infer_fail(infer, "attribute output_shape has %zu entries instead of %d", given,
                          x->rank - 2);
    rc = infer_window(infer, x, &window);
    if (rc == 0)
        rc = infer_window_list(infer, "output_padding", window.spatial, 0, 0, more);
    for (int i = 0; rc == 0 && i < window.spatial; i++)
        rc = transposed_size(infer, &window, i, x->dims[2 + i], more[i], wanted, &out.dims[2 + i]);
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}
