/* SPDX-License-Identifier: Apache-2.0 */
/* Resize and Upsample: which elements of the input each element of the result is made of. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "runtime/ops/resize.h"

enum mode { NEAREST, LINEAR, CUBIC };

/* Of one axis: elements of the result times those that each is made of. */
#define TERMS_MAX ((int64_t)1 << 32)

/* How one axis is resampled. */
struct axis {
    enum mode mode;
    const char *transform, *nearest; /* nearest: NULL before operator set 11, which named none */
    bool leaves_outside, antialias;
    double a; /* of the cubic */
    double scale, begin, end;
    int64_t in, out, taps;
};

struct resize_params {
    resample_fn *fn;
    struct kernel_resample shape;
    double tables[]; /* weights of all axes, then their places */
};

static int run_resize(const struct call *call)
{
    const struct resize_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], &p->shape);
    return 0;
}

/* Where element o of the result lies in the input. */
static double coordinate(const struct axis *axis, int64_t o)
{
    double in = (double)axis->in, out = (double)axis->out, at = (double)o;
    double half = (at + 0.5) / axis->scale - 0.5, exact = axis->scale * in;

    if (strcmp(axis->transform, "asymmetric") == 0)
        return at / axis->scale;
    if (strcmp(axis->transform, "align_corners") == 0)
        return exact == 1.0 || axis->out == 1 ? 0.0 : at * (in - 1.0) / (exact - 1.0);
    if (strcmp(axis->transform, "pytorch_half_pixel") == 0)
        return axis->out > 1 ? half : 0.0;
    if (strcmp(axis->transform, "half_pixel_symmetric") == 0)
        return (in - 1.0) / 2.0 + (at + 0.5 - out / 2.0) / axis->scale; /* from the middle */
    if (strcmp(axis->transform, "tf_half_pixel_for_nn") == 0)
        return half + 0.5;
    if (strcmp(axis->transform, "tf_crop_and_resize") == 0)
        return axis->out > 1 ? axis->begin * (in - 1.0) +
                                   at * (axis->end - axis->begin) * (in - 1.0) / (out - 1.0)
                             : 0.5 * (axis->begin + axis->end) * (in - 1.0);
    return half;
}

static double nearest(const struct axis *axis, double x)
{
    if (!axis->nearest)
        return axis->scale < 1.0 ? ceil(x) : floor(x);
    if (strcmp(axis->nearest, "floor") == 0)
        return floor(x);
    if (strcmp(axis->nearest, "ceil") == 0)
        return ceil(x);
    if (strcmp(axis->nearest, "round_prefer_ceil") == 0)
        return floor(x + 0.5);
    return ceil(x - 0.5);
}

/* Along a reduced axis, antialiasing stretches the filter over all that one element stands for. */
static double stretch(const struct axis *axis)
{
    return axis->antialias && axis->scale < 1.0 ? axis->scale : 1.0;
}

static double filter(const struct axis *axis, double x)
{
    double a = axis->a;

    x = fabs(x);
    if (axis->mode == LINEAR)
        return x < 1.0 ? 1.0 - x : 0.0;
    if (x <= 1.0)
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    return x < 2.0 ? ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a : 0.0;
}

static int64_t first_tap(const struct axis *axis)
{
    return (int64_t)floor((axis->mode == CUBIC ? -2.0 : -1.0) / stretch(axis)) + 1;
}

static int64_t tap_count(const struct axis *axis)
{
    return axis->mode == NEAREST ? 1 : 2 - 2 * first_tap(axis);
}

static int64_t clamp(double at, int64_t in)
{
    return at < 0.0 ? 0 : at > (double)(in - 1) ? in - 1 : (int64_t)at;
}

/* The terms of element o. */
static void make_taps(const struct axis *axis, int64_t o, int64_t *places, double *weights)
{
    double x = coordinate(axis, o), left = floor(x), sum = 0.0;

    if (axis->mode == NEAREST) {
        places[0] = clamp(nearest(axis, x), axis->in);
        weights[0] = 1.0;
    }
    for (int64_t t = 0; axis->mode != NEAREST && t < axis->taps; t++) {
        double at = left + (double)(first_tap(axis) + t);

        places[t] = clamp(at, axis->in);
        weights[t] = filter(axis, (at - x) * stretch(axis));
        if (axis->leaves_outside && (at < 0.0 || at > (double)(axis->in - 1)))
            weights[t] = 0.0;
        sum += weights[t];
    }
    for (int64_t t = 0; axis->mode != NEAREST && t < axis->taps; t++)
        weights[t] /= sum;
    if (strcmp(axis->transform, "tf_crop_and_resize") == 0 &&
        (x < 0.0 || x > (double)(axis->in - 1)))
        places[0] = -1;
}

static const char *const transforms[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
    "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL};
static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil",
                                        NULL};
static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

static int read_mode(const struct call_request *request, struct axis *axis)
{
    const struct node *node = request->node;
    const char *mode = node_string(node, "mode", "nearest");
    bool is_old = graph_opset(request->graph, "") < 11 || strcmp(node->op_type, "Upsample") == 0;

    axis->mode = strcmp(mode, "cubic") == 0                                     ? CUBIC
                 : strcmp(mode, "linear") == 0 || strcmp(mode, "bilinear") == 0 ? LINEAR
                                                                                : NEAREST;
    if (axis->mode == NEAREST && strcmp(mode, "nearest") != 0)
        return call_refuse(request, -EINVAL, "attribute mode is '%s'", mode);
    axis->transform =
        is_old ? "asymmetric" : node_string(node, "coordinate_transformation_mode", "half_pixel");
    axis->nearest = is_old ? NULL : node_string(node, "nearest_mode", "round_prefer_floor");
    if (!is_one_of(axis->transform, transforms) ||
        (axis->nearest && !is_one_of(axis->nearest, roundings)) ||
        !is_one_of(node_string(node, "keep_aspect_ratio_policy", "stretch"), policies))
        return call_refuse(request, -EINVAL,
                           "one of coordinate_transformation_mode, nearest_mode and "
                           "keep_aspect_ratio_policy is no word of theirs");
    axis->leaves_outside = node_int(node, "exclude_outside", 0) != 0;
    axis->antialias = node_int(node, "antialias", 0) != 0;
    axis->a = (double)node_float(node, "cubic_coeff_a", -0.75f);
    return 0;
}

int call_bind_resize(const struct call_request *request, struct call *call)
{
    const struct shape *x = &request->inputs[0].shape;
    struct axis axes[SHAPE_MAX_RANK];
    struct resize_params *p;
    struct resize resize;
    size_t terms = 0;
    const char *why;
    int rc =
        resize_read(request->node, graph_opset(request->graph, ""), request->inputs, &resize, &why);

    if (rc < 0)
        return call_refuse(request, rc, "%s", why);
    for (int i = 0; i < x->rank; i++) {
        rc = read_mode(request, &axes[i]);
        if (rc < 0)
            return rc;
        axes[i].scale = resize.scales[i];
        axes[i].begin = resize.begin[i];
        axes[i].end = resize.end[i];
        axes[i].in = x->dims[i];
        axes[i].out = resize.dims[i];
        /* An axis that keeps its size has one term each. */
        if (axes[i].in == axes[i].out && axes[i].scale == 1.0 && axes[i].begin == 0.0 &&
            axes[i].end == 1.0)
            axes[i].mode = NEAREST;
        axes[i].taps = tap_count(&axes[i]);
        if (axes[i].out > 0 && axes[i].taps > TERMS_MAX / axes[i].out)
            return call_refuse(request, -ENOTSUP, "axis %d is made of too many elements", i);
        terms += (size_t)(axes[i].out * axes[i].taps);
    }
    rc = call_params(request, call, sizeof(*p) + terms * (sizeof(double) + sizeof(int64_t)));
    if (rc < 0)
        return rc;
    p = call->params;
    if (!call_dtype(request->inputs[0].dtype, &p->shape.dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s",
                           dtype_name(request->inputs[0].dtype));
    p->shape.rank = x->rank;
    p->shape.outside = (double)node_float(request->node, "extrapolation_value", 0.0f);
    double *weights = p->tables;
    int64_t *places = (int64_t *)(void *)(p->tables + terms);

    for (int i = 0; i < x->rank; i++) {
        p->shape.x_dims[i] = axes[i].in;
        p->shape.y_dims[i] = axes[i].out;
        p->shape.axes[i] = (struct kernel_resample_axis){axes[i].taps, places, weights};
        for (int64_t o = 0; o < axes[i].out; o++, places += axes[i].taps, weights += axes[i].taps)
            make_taps(&axes[i], o, places, weights);
    }
    p->fn = request->kernels->resample.fn;
    call->version = request->kernels->resample.version;
    call->run = run_resize;
    return 0;
}
