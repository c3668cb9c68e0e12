/* SPDX-License-Identifier: Apache-2.0 */
/* Resize and Upsample: which elements of the input each element of the result is made of. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <string.h>

#include "runtime/ops/resize.h"

/* Of one axis: elements of the result times those that each is made of. */
#define TERMS_MAX ((int64_t)1 << 32)

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

/* The terms of element o. */
static void make_taps(const struct kernel_resample_rule *rule, int64_t taps, int64_t o,
                      int64_t *places, double *weights)
{
    double x = resample_coordinate(rule, o), sum = 0.0;

    for (int64_t t = 0; t < taps; t++) {
        weights[t] = resample_term(rule, x, t, &places[t]);
        sum += weights[t];
    }
    for (int64_t t = 0; rule->mode != RESAMPLE_NEAREST && t < taps; t++)
        weights[t] /= sum;
    if (resample_is_outside(rule, x))
        places[0] = -1;
}

static const char *const transforms[] = {
    [RESAMPLE_HALF_PIXEL] = "half_pixel",
    [RESAMPLE_HALF_PIXEL_SYMMETRIC] = "half_pixel_symmetric",
    [RESAMPLE_PYTORCH_HALF_PIXEL] = "pytorch_half_pixel",
    [RESAMPLE_ALIGN_CORNERS] = "align_corners",
    [RESAMPLE_ASYMMETRIC] = "asymmetric",
    [RESAMPLE_TF_HALF_PIXEL] = "tf_half_pixel_for_nn",
    [RESAMPLE_TF_CROP] = "tf_crop_and_resize",
};
static const char *const roundings[] = {
    [RESAMPLE_BY_SCALE] = "",
    [RESAMPLE_PREFERS_FLOOR] = "round_prefer_floor",
    [RESAMPLE_PREFERS_CEIL] = "round_prefer_ceil",
    [RESAMPLE_FLOOR] = "floor",
    [RESAMPLE_CEIL] = "ceil",
};
static const char *const policies[] = {"stretch", "not_larger", "not_smaller"};

#define WORD_OF(word, words) find_word(word, words, (int)(sizeof(words) / sizeof((words)[0])))

/* Which of the words it is; -1: none. */
static int find_word(const char *word, const char *const *words, int count)
{
    int i = count - 1;

    while (i >= 0 && strcmp(words[i], word) != 0)
        i--;
    return i;
}

static int read_mode(const struct call_request *request, struct kernel_resample_rule *rule)
{
    const struct node *node = request->node;
    const char *mode = node_string(node, "mode", "nearest");
    bool is_old = graph_opset(request->graph, "") < 11 || strcmp(node->op_type, "Upsample") == 0;
    int transform = RESAMPLE_ASYMMETRIC, rounding = RESAMPLE_BY_SCALE;

    rule->mode = strcmp(mode, "cubic") == 0                                     ? RESAMPLE_CUBIC
                 : strcmp(mode, "linear") == 0 || strcmp(mode, "bilinear") == 0 ? RESAMPLE_LINEAR
                                                                                : RESAMPLE_NEAREST;
    if (rule->mode == RESAMPLE_NEAREST && strcmp(mode, "nearest") != 0)
        return call_refuse(request, -EINVAL, "attribute mode is '%s'", mode);
    if (!is_old) {
        transform =
            WORD_OF(node_string(node, "coordinate_transformation_mode", "half_pixel"), transforms);
        rounding = WORD_OF(node_string(node, "nearest_mode", "round_prefer_floor"), roundings);
    }
    if (transform < 0 || rounding < 0 || (!is_old && rounding == RESAMPLE_BY_SCALE) ||
        WORD_OF(node_string(node, "keep_aspect_ratio_policy", "stretch"), policies) < 0)
        return call_refuse(request, -EINVAL,
                           "one of coordinate_transformation_mode, nearest_mode and "
                           "keep_aspect_ratio_policy is no word of theirs");
    rule->transform = (enum kernel_resample_transform)transform;
    rule->rounding = (enum kernel_resample_rounding)rounding;
    rule->leaves_outside = node_int(node, "exclude_outside", 0) != 0;
    rule->antialias = node_int(node, "antialias", 0) != 0;
    rule->a = (double)node_float(node, "cubic_coeff_a", -0.75f);
    return 0;
}

/* A table for each axis, behind the parameters. */
static void make_tables(struct resize_params *p, const struct kernel_resample_axis *axes,
                        size_t terms)
{
    double *weights = p->tables;
    int64_t *places = (int64_t *)(void *)(p->tables + terms);

    for (int i = 0; i < p->shape.rank; i++) {
        int64_t taps = axes[i].taps;

        p->shape.axes[i].places = places;
        p->shape.axes[i].weights = weights;
        for (int64_t o = 0; o < axes[i].rule.out; o++, places += taps, weights += taps)
            make_taps(&axes[i].rule, taps, o, places, weights);
    }
}

int call_bind_resize(const struct call_request *request, struct call *call)
{
    const struct shape *x = &request->inputs[0].shape;
    struct kernel_resample_axis axes[SHAPE_MAX_RANK] = {0};
    struct resize_params *p;
    struct resize resize;
    size_t terms = 0;
    const char *why;
    int rc =
        resize_read(request->node, graph_opset(request->graph, ""), request->inputs, &resize, &why);

    if (rc < 0)
        return call_refuse(request, rc, "%s", why);
    for (int i = 0; i < x->rank; i++) {
        struct kernel_resample_rule *rule = &axes[i].rule;

        rc = read_mode(request, rule);
        if (rc < 0)
            return rc;
        rule->scale = resize.scales[i];
        rule->begin = resize.begin[i];
        rule->end = resize.end[i];
        rule->in = x->dims[i];
        rule->out = resize.dims[i];
        /* An axis that keeps its size has one term each. */
        if (rule->in == rule->out && rule->scale == 1.0 && rule->begin == 0.0 && rule->end == 1.0)
            rule->mode = RESAMPLE_NEAREST;
        axes[i].taps = resample_tap_count(rule);
        if (rule->out > 0 && axes[i].taps > TERMS_MAX / rule->out)
            return call_refuse(request, -ENOTSUP, "axis %d is made of too many elements", i);
        terms += (size_t)(rule->out * axes[i].taps);
    }
    if (request->on_device) /* it makes them itself */
        terms = 0;
    rc = call_params(request, call, sizeof(*p) + terms * (sizeof(double) + sizeof(int64_t)));
    if (rc < 0)
        return rc;
    p = call->params;
    if (!call_dtype(request->inputs[0].dtype, &p->shape.dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s",
                           dtype_name(request->inputs[0].dtype));
    p->shape.rank = x->rank;
    p->shape.outside = (double)node_float(request->node, "extrapolation_value", 0.0f);
    for (int i = 0; i < x->rank; i++) {
        p->shape.x_dims[i] = axes[i].rule.in;
        p->shape.y_dims[i] = axes[i].rule.out;
        p->shape.axes[i] = axes[i];
    }
    if (!request->on_device)
        make_tables(p, axes, terms);
    p->fn = request->kernels->resample.fn;
    call->version = request->kernels->resample.version;
    call->run = run_resize;
    return 0;
}
