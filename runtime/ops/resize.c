/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs and attributes of Resize and Upsample. */
#include "runtime/ops/resize.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "runtime/graph/element.h"

static int present(const struct node *node, uint32_t i)
{
    const struct value *value = node_input(node, i);

    return value && shape_elements(&value->shape) > 0 ? (int)i : -1;
}

struct resize_inputs resize_inputs(const struct node *node, int64_t opset)
{
    if (strcmp(node->op_type, "Upsample") == 0 || opset < 11)
        return (struct resize_inputs){present(node, 1), -1, -1};
    return (struct resize_inputs){present(node, 2), present(node, 3), present(node, 1)};
}

static double number(const struct tensor_view *view, int64_t i)
{
    return (double)element_get(view->data, view->dtype, i);
}

/* The axes that scales, sizes and region speak of, by their position. */
static int read_axes(const struct node *node, int rank, int *axes)
{
    size_t count;
    const int64_t *named = node_ints(node, "axes", &count);

    for (int i = 0; !named && i < rank; i++)
        axes[i] = i;
    if (!named)
        return rank;
    if (count > (size_t)rank)
        return -EINVAL;
    for (size_t i = 0; i < count; i++) {
        if (named[i] < -rank || named[i] >= rank)
            return -EINVAL;
        axes[i] = (int)(named[i] < 0 ? named[i] + rank : named[i]);
    }
    return (int)count;
}

/* The same scale for all axes, so that the result just covers the sizes, or stays within them. */
static void keep_ratio(const struct node *node, const struct shape *x, const int *axes, int count,
                       struct resize *out_resize)
{
    const char *policy = node_string(node, "keep_aspect_ratio_policy", "stretch");
    bool covers = strcmp(policy, "not_smaller") == 0;
    double scale = count > 0 ? out_resize->scales[axes[0]] : 1.0;

    if (strcmp(policy, "stretch") == 0)
        return;
    for (int i = 1; i < count; i++)
        scale = covers ? fmax(scale, out_resize->scales[axes[i]])
                       : fmin(scale, out_resize->scales[axes[i]]);
    for (int i = 0; i < count; i++) {
        out_resize->scales[axes[i]] = scale;
        out_resize->dims[axes[i]] = (int64_t)floor(scale * (double)x->dims[axes[i]] + 0.5);
    }
}

static int read_scales(const struct node *node, const struct tensor_view *inputs, int source,
                       const int *axes, int count, struct resize *out_resize)
{
    const struct attribute *given = node_attribute(node, "scales");
    const struct shape *x = &inputs[0].shape;

    if (source < 0 && (!given || given->type != ATTRIBUTE_FLOATS || given->count != (size_t)count))
        return -EINVAL;
    if (source >= 0 && shape_elements(&inputs[source].shape) != count)
        return -EINVAL;
    for (int i = 0; i < count; i++) {
        double scale = source >= 0 ? number(&inputs[source], i) : (double)given->floats[i];

        if (!(scale > 0x1p-31 && scale < 0x1p31))
            return -EINVAL;
        out_resize->scales[axes[i]] = scale;
        out_resize->dims[axes[i]] = (int64_t)floor((double)x->dims[axes[i]] * scale);
    }
    return 0;
}

static int read_sizes(const struct node *node, const struct tensor_view *inputs, int source,
                      const int *axes, int count, struct resize *out_resize)
{
    const struct shape *x = &inputs[0].shape;

    if (shape_elements(&inputs[source].shape) != count)
        return -EINVAL;
    for (int i = 0; i < count; i++) {
        double size = number(&inputs[source], i);

        if (!(size >= 0.0 && size < 0x1p31) || x->dims[axes[i]] == 0)
            return -EINVAL;
        out_resize->dims[axes[i]] = (int64_t)size;
        out_resize->scales[axes[i]] = size / (double)x->dims[axes[i]];
    }
    keep_ratio(node, x, axes, count, out_resize);
    return 0;
}

/* Whether the content of an input that is read now is there. */
static bool is_known(const struct tensor_view *inputs, int source)
{
    return source < 0 || inputs[source].data || shape_elements(&inputs[source].shape) == 0;
}

int resize_read(const struct node *node, int64_t opset, const struct tensor_view *inputs,
                struct resize *out_resize, const char **out_why)
{
    struct resize_inputs sources = resize_inputs(node, opset);
    const struct shape *x = &inputs[0].shape;
    int axes[SHAPE_MAX_RANK];
    int count = read_axes(node, x->rank, axes), rc;

    *out_why = "its axes are not those of its input";
    if (count < 0)
        return count;
    for (int i = 0; i < x->rank; i++) {
        out_resize->dims[i] = x->dims[i];
        out_resize->scales[i] = out_resize->end[i] = 1.0;
        out_resize->begin[i] = 0.0;
    }
    *out_why = "its scales, sizes and region are not known before the run";
    if (!is_known(inputs, sources.scales) || !is_known(inputs, sources.sizes) ||
        !is_known(inputs, sources.region))
        return -ENOTSUP;
    *out_why = "its scales or sizes do not fit its axes";
    rc = sources.sizes >= 0 ? read_sizes(node, inputs, sources.sizes, axes, count, out_resize)
                            : read_scales(node, inputs, sources.scales, axes, count, out_resize);
    if (rc < 0 || sources.region < 0)
        return rc;
    *out_why = "its region does not fit its axes";
    if (strcmp(node_string(node, "coordinate_transformation_mode", ""), "tf_crop_and_resize") != 0)
        return 0;
    if (shape_elements(&inputs[sources.region].shape) != 2 * count)
        return -EINVAL;
    for (int i = 0; i < count; i++) {
        out_resize->begin[axes[i]] = number(&inputs[sources.region], i);
        out_resize->end[axes[i]] = number(&inputs[sources.region], count + i);
    }
    return 0;
}
