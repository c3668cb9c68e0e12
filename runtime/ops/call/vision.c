/* SPDX-License-Identifier: Apache-2.0 */
/* GridSample, AffineGrid, RoiAlign, NonMaxSuppression, Col2Im, MaxUnpool. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <string.h>

#include "runtime/ops/nms.h"

/* The position of an attribute's word in a list of words with meanings, or a refusal. */
struct word {
    const char *word;
    int meaning;
};

static int find_word(const struct call_request *request, const char *name, const char *fallback,
                     const struct word *words, size_t count)
{
    const char *given = node_string(request->node, name, fallback);

    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i].word, given) == 0)
            return words[i].meaning;
    return call_refuse(request, -EINVAL, "attribute %s is '%.40s'", name, given);
}

static int kernel_type(const struct call_request *request, uint32_t input,
                       enum kernel_dtype *out_dtype)
{
    if (call_dtype(request->inputs[input].dtype, out_dtype))
        return 0;
    return call_refuse(request, -ENOTSUP, "no kernel for %s",
                       dtype_name(request->inputs[input].dtype));
}

/* GridSample */

struct grid_params {
    grid_sample_fn *fn;
    struct kernel_grid_sample shape;
};

static int run_grid(const struct call *call)
{
    const struct grid_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], call->inputs[1], &p->shape);
    return 0;
}

/* Operator set 20 gave the modes other names. */
static int grid_attributes(const struct call_request *request, struct kernel_grid_sample *s)
{
    static const struct word modes[] = {
        {"nearest", SAMPLE_NEAREST}, {"linear", SAMPLE_LINEAR}, {"bilinear", SAMPLE_LINEAR},
        {"cubic", SAMPLE_CUBIC},     {"bicubic", SAMPLE_CUBIC},
    };
    static const struct word paddings[] = {
        {"zeros", OUTSIDE_ZERO}, {"border", OUTSIDE_BORDER}, {"reflection", OUTSIDE_REFLECT}};
    int mode = find_word(request, "mode", "linear", modes, sizeof(modes) / sizeof(modes[0]));
    int outside = mode < 0 ? mode
                           : find_word(request, "padding_mode", "zeros", paddings,
                                       sizeof(paddings) / sizeof(paddings[0]));

    if (outside < 0)
        return outside;
    s->mode = (enum kernel_sample_mode)mode;
    s->outside = (enum kernel_outside)outside;
    s->align_corners = node_int(request->node, "align_corners", 0) != 0;
    return 0;
}

int call_bind_grid_sample(const struct call_request *request, struct call *call)
{
    const struct shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    struct grid_params *p;
    struct kernel_grid_sample *s;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    s = &p->shape;
    rc = kernel_type(request, 0, &s->dtype);
    if (rc == 0)
        rc = kernel_type(request, 1, &s->grid_type);
    if (rc == 0)
        rc = grid_attributes(request, s);
    if (rc < 0)
        return rc;
    s->rank = x->rank - 2;
    if (s->rank < 1 || s->rank > KERNEL_SPATIAL)
        return call_refuse(request, -ENOTSUP, "no kernel for an input of rank %d", x->rank);
    s->batch = x->dims[0];
    s->channels = x->dims[1];
    s->points = 1;
    for (int i = 0; i < s->rank; i++) {
        s->in[i] = x->dims[2 + i];
        s->points *= y->dims[2 + i];
    }
    p->fn = request->kernels->grid_sample.fn;
    call->version = request->kernels->grid_sample.version;
    call->run = run_grid;
    return 0;
}

/* RoiAlign */

struct roi_params {
    roi_align_fn *fn;
    struct kernel_roi_align shape;
};

static int run_roi(const struct call *call)
{
    const struct roi_params *p = call->params;

    return p->fn(call->outputs[0], call->inputs[0], call->inputs[1], call->inputs[2], &p->shape) < 0
               ? -EINVAL
               : 0;
}

/* Operator set 16 introduced the half pixel and made it the default. */
static int roi_attributes(const struct call_request *request, struct kernel_roi_align *s)
{
    static const struct word modes[] = {{"avg", 0}, {"max", 1}};
    static const struct word transforms[] = {{"output_half_pixel", 0}, {"half_pixel", 1}};
    bool is_new = graph_opset(request->graph, "") >= 16;
    int mode = find_word(request, "mode", "avg", modes, 2);
    int transform = mode < 0 ? mode : 0;

    if (mode >= 0 && is_new)
        transform =
            find_word(request, "coordinate_transformation_mode", "half_pixel", transforms, 2);
    if (transform < 0)
        return transform;
    s->is_max = mode == 1;
    s->is_half_pixel = transform == 1;
    s->samples = node_int(request->node, "sampling_ratio", 0);
    s->scale = (double)node_float(request->node, "spatial_scale", 1.0f);
    if (s->samples < 0 || (double)s->samples > ROI_SAMPLES_MAX)
        return call_refuse(request, -EINVAL, "attribute sampling_ratio is %lld",
                           (long long)s->samples);
    return 0;
}

int call_bind_roi_align(const struct call_request *request, struct call *call)
{
    const struct shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    struct roi_params *p;
    struct kernel_roi_align *s;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    s = &p->shape;
    rc = kernel_type(request, 0, &s->dtype);
    if (rc == 0)
        rc = kernel_type(request, 2, &s->index_type);
    if (rc == 0 && s->index_type != KERNEL_I64 && s->index_type != KERNEL_I32)
        rc = call_refuse(request, -ENOTSUP, "no kernel for image numbers of %s",
                         dtype_name(request->inputs[2].dtype));
    if (rc == 0)
        rc = roi_attributes(request, s);
    if (rc < 0)
        return rc;
    s->batch = x->dims[0];
    s->channels = x->dims[1];
    s->regions = y->dims[0];
    for (int i = 0; i < 2; i++) {
        s->in[i] = x->dims[2 + i];
        s->out[i] = y->dims[2 + i];
    }
    p->fn = request->kernels->roi_align.fn;
    call->version = request->kernels->roi_align.version;
    call->run = run_roi;
    return 0;
}

/* MaxRoiPool */

struct roi_max_params {
    roi_max_fn *fn;
    struct kernel_roi_max shape;
};

static int run_roi_max(const struct call *call)
{
    const struct roi_max_params *p = call->params;

    return p->fn(call->outputs[0], call->inputs[0], call->inputs[1], &p->shape) < 0 ? -EINVAL : 0;
}

int call_bind_roi_max(const struct call_request *request, struct call *call)
{
    const struct shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    struct roi_max_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    rc = kernel_type(request, 0, &p->shape.dtype);
    if (rc < 0)
        return rc;
    p->shape.scale = node_float(request->node, "spatial_scale", 1.0f);
    p->shape.batch = x->dims[0];
    p->shape.channels = x->dims[1];
    p->shape.regions = y->dims[0];
    for (int i = 0; i < 2; i++) {
        p->shape.in[i] = x->dims[2 + i];
        p->shape.out[i] = y->dims[2 + i];
    }
    p->fn = request->kernels->roi_max.fn;
    call->version = request->kernels->roi_max.version;
    call->run = run_roi_max;
    return 0;
}

/* NonMaxSuppression: how many boxes it keeps was found out when the shape was inferred. */

struct nms_params {
    nms_fn *fn;
    bool has[NMS_INPUTS];
    bool has_limits; /* in `shape`; else they are read by each run */
    int64_t count;
    struct kernel_nms shape;
};

static int run_nms(const struct call *call)
{
    const struct nms_params *p = call->params;
    struct nms_inputs in = {{NULL}};
    struct kernel_nms shape = p->shape;

    for (int i = 0; i < NMS_INPUTS; i++)
        in.data[i] = p->has[i] ? call->inputs[i] : NULL;
    if (!p->has_limits)
        nms_limits(&in, &shape);
    return p->fn(call->outputs[0], p->count, in.data[NMS_BOXES], in.data[NMS_SCORES],
                 call->workspace, &shape) == p->count
               ? 0
               : -ESTALE;
}

/* A device's kernel is given the limits as they were when the boxes were counted. */
static bool takes_limits(struct nms_params *p, const struct nms_inputs *in)
{
    for (int i = NMS_LIMIT; i < NMS_INPUTS; i++)
        if (p->has[i] && !in->data[i])
            return false;
    nms_limits(in, &p->shape);
    p->has_limits = true;
    return p->shape.boxes < INT32_MAX;
}

int call_bind_nms(const struct call_request *request, struct call *call)
{
    struct nms_inputs in = {{NULL}};
    struct nms_params *p;
    const char *problem;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    for (uint32_t i = 0; i < NMS_INPUTS; i++) {
        const struct tensor_view *view = call_input(request, i);

        p->has[i] = view != NULL;
        in.shapes[i] = view ? &view->shape : NULL;
        in.types[i] = view ? view->dtype : DTYPE_NONE;
        in.data[i] = view ? view->data : NULL;
    }
    problem = nms_check(request->node, &in, &p->shape);
    if (problem)
        return call_refuse(request, -EINVAL, "%s", problem);
    if (request->on_device && !takes_limits(p, &in))
        return call_refuse(request, -ENOTSUP, "no kernel for limits that are not constant");
    p->count = request->outputs[0].shape.dims[0];
    call->workspace_bytes =
        request->on_device ? kernel_nms_device_room(&p->shape) : kernel_nms_room(&p->shape);
    p->fn = request->kernels->nms.fn;
    call->version = request->kernels->nms.version;
    call->run = run_nms;
    return 0;
}

/* Col2Im */

struct col2im_params {
    col2im_fn *fn;
    struct kernel_col2im shape;
};

static int run_col2im(const struct call *call)
{
    const struct col2im_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], &p->shape);
    return 0;
}

/* The window moves over the image that is made. */
static int col2im_window(const struct call_request *request, struct kernel_window *w)
{
    const struct shape *y = &request->outputs[0].shape;
    int64_t strides[KERNEL_SPATIAL], dilations[KERNEL_SPATIAL], pads[2 * KERNEL_SPATIAL];
    int64_t block[CALL_MAX_INTS];
    int rank = y->rank - 2, first = KERNEL_SPATIAL - rank;
    bool given;
    int rc = call_ints(request, 2, NULL, block, &given);

    if (rc >= 0)
        rc = rc == rank ? call_axis_ints(request, "strides", (size_t)rank, 1, 1, strides) : -EINVAL;
    if (rc == 0)
        rc = call_axis_ints(request, "dilations", (size_t)rank, 1, 1, dilations);
    if (rc == 0)
        rc = call_axis_ints(request, "pads", 2 * (size_t)rank, 0, 0, pads);
    if (rc < 0)
        return rc;
    for (int i = 0; i < KERNEL_SPATIAL; i++) {
        w->in[i] = w->out[i] = w->kernel[i] = w->stride[i] = w->dilation[i] = 1;
        w->pad_begin[i] = w->pad_end[i] = 0;
    }
    for (int i = 0; i < rank; i++) {
        int at = first + i;

        w->in[at] = y->dims[2 + i];
        w->kernel[at] = block[i];
        w->stride[at] = strides[i];
        w->dilation[at] = dilations[i];
        w->pad_begin[at] = pads[i];
        w->pad_end[at] = pads[rank + i];
        w->out[at] = (w->in[at] + pads[i] + pads[rank + i] - dilations[i] * (block[i] - 1) - 1) /
                         strides[i] +
                     1;
    }
    return 0;
}

int call_bind_col2im(const struct call_request *request, struct call *call)
{
    const struct shape *y = &request->outputs[0].shape;
    struct col2im_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    rc = kernel_type(request, 0, &p->shape.dtype);
    if (rc == 0)
        rc = col2im_window(request, &p->shape.window);
    if (rc < 0)
        return rc;
    p->shape.images = y->dims[0] * y->dims[1];
    p->fn = request->kernels->col2im.fn;
    call->version = request->kernels->col2im.version;
    call->run = run_col2im;
    return 0;
}

/* AffineGrid */

struct affine_params {
    affine_grid_fn *fn;
    struct kernel_affine_grid shape;
};

static int run_affine_grid(const struct call *call)
{
    const struct affine_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], &p->shape);
    return 0;
}

int call_bind_affine_grid(const struct call_request *request, struct call *call)
{
    const struct shape *y = &request->outputs[0].shape;
    struct affine_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    rc = kernel_type(request, 0, &p->shape.dtype);
    if (rc < 0)
        return rc;
    p->shape.align_corners = node_int(request->node, "align_corners", 0) != 0;
    p->shape.batch = y->dims[0];
    p->shape.rank = y->rank - 2;
    for (int i = 0; i < p->shape.rank; i++)
        p->shape.out[i] = y->dims[1 + i];
    p->fn = request->kernels->affine_grid.fn;
    call->version = request->kernels->affine_grid.version;
    call->run = run_affine_grid;
    return 0;
}

/* MaxUnpool */

struct unpool_params {
    max_unpool_fn *fn;
    struct kernel_max_unpool shape;
};

static int run_max_unpool(const struct call *call)
{
    const struct unpool_params *p = call->params;

    return p->fn(call->outputs[0], call->inputs[0], call->inputs[1], &p->shape) < 0 ? -EINVAL : 0;
}

int call_bind_max_unpool(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0);
    struct unpool_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    p->shape.element_bytes = dtype_bytes(x->dtype);
    p->shape.x_count = shape_elements(&x->shape);
    p->shape.y_count = shape_elements(&request->outputs[0].shape);
    p->fn = request->kernels->max_unpool.fn;
    call->version = request->kernels->max_unpool.version;
    call->run = run_max_unpool;
    return 0;
}
