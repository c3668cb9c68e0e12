/* SPDX-License-Identifier: Apache-2.0 */
/* What ONNX Runtime's optimiser writes into image generators: convolutions and norms of groups whose channels are
 * the last axis, additions with a bias, a gate. */
#include <math.h>
#include <string.h>

#include "runtime/ops/lower/rules.h"

enum { IMAGE_RANK = 4 };

static void lower_nhwc_conv(struct lower *l)
{
    const struct attribute *kernel = node_attribute(l->node, "kernel_shape");
    int rank = lower_rank(lower_input(l, 1));
    struct value *inputs[3], *y;

    if (rank < 0 && kernel && kernel->count + 2 <= SHAPE_MAX_RANK)
        rank = (int)kernel->count + 2;
    inputs[0] = lower_channels_second(l, lower_input(l, 0), rank);
    inputs[1] = lower_channels_second(l, lower_input(l, 1), rank);
    inputs[2] = lower_input(l, 2);
    y = lower_op(l, "Conv", inputs, 3);
    lower_copy(l, "auto_pad dilations group kernel_shape pads strides");
    lower_done(l, 0, lower_channels_last(l, y, rank));
}

/* Groups of channels of an image, with the activation that the attributes name. */
static void normalise_groups(struct lower *l, struct value *x)
{
    bool is_last = node_int(l->node, "channels_last", 1) != 0;
    struct value *inputs[3] = {is_last ? lower_channels_second(l, x, IMAGE_RANK) : x}, *y;

    for (uint32_t i = 1; i < 3; i++)
        inputs[i] = lower_two(l, "CastLike", lower_input(l, i), x);
    y = lower_op(l, "GroupNormalization", inputs, 3);
    lower_copy(l, "epsilon");
    lower_copy_as(l, "groups", "num_groups");
    if (node_int(l->node, "activation", 0) != 0)
        y = lower_one(l, "Swish", y);
    lower_done(l, 0, is_last ? lower_channels_last(l, y, IMAGE_RANK) : y);
}

static void lower_group_norm(struct lower *l)
{
    normalise_groups(l, lower_input(l, 0));
}

/* What is added has the shape of the image, or [batch, channels], or ones between these. */
static struct value *as_image(struct lower *l, struct value *skip)
{
    static const int64_t zero = 0, one = 1, most = INT64_MAX, rank = IMAGE_RANK;
    struct value *dims, *first, *count, *slice[3], *parts[3];
    bool is_last = node_int(l->node, "channels_last", 1) != 0;

    if (lower_rank(skip) == IMAGE_RANK)
        return skip;
    dims = lower_one(l, "Shape", skip);
    first = lower_two(l, "Gather", dims, lower_list(l, &zero, 1));
    slice[0] = dims;
    slice[1] = lower_list(l, &one, 1);
    slice[2] = lower_list(l, &most, 1);
    count = lower_two(l, "Sub", lower_list(l, &rank, 1), lower_one(l, "Shape", dims));
    count = lower_two(l, "Expand", lower_list(l, &one, 1), count);
    parts[0] = first;
    parts[is_last ? 1 : 2] = count;
    parts[is_last ? 2 : 1] = lower_op(l, "Slice", slice, 3);
    dims = lower_op(l, "Concat", parts, 3);
    lower_int(l, "axis", 0);
    return lower_two(l, "Reshape", skip, dims);
}

static void lower_skip_group_norm(struct lower *l)
{
    static const int64_t behind[] = {1, 2};
    struct value *bias = lower_input(l, 4), *sum;
    bool is_last = node_int(l->node, "channels_last", 1) != 0;

    sum = lower_two(l, "Add", lower_input(l, 0), as_image(l, lower_input(l, 3)));
    if (bias)
        sum = lower_two(l, "Add", sum, is_last ? bias : lower_unsqueeze(l, bias, behind, 2));
    normalise_groups(l, sum);
    lower_done(l, 1, sum);
}

static void lower_bias_add(struct lower *l)
{
    struct value *sum = lower_two(l, "Add", lower_input(l, 0), lower_input(l, 1));

    lower_done(l, 0, lower_two(l, "Add", sum, lower_input(l, 2)));
}

/* The first half of the channels times the GELU of the second one. */
static void lower_split_gelu(struct lower *l)
{
    struct value *sum = lower_two(l, "Add", lower_input(l, 0), lower_input(l, 1)), *halves[2];

    lower_many(l, "Split", &sum, 1, halves, 2);
    lower_int(l, "axis", -1);
    if (graph_opset(l->graph, "") >= 18)
        lower_int(l, "num_outputs", 2);
    lower_done(l, 0, lower_two(l, "Mul", halves[0], lower_one(l, "Gelu", halves[1])));
}

const struct lower_rule lower_diffusion[] = {
    {{"com.microsoft.BiasAdd", "Add"}, 3, 3, 1, "", lower_bias_add},
    {{"com.microsoft.BiasSplitGelu", "Add, Split, Gelu, Mul"}, 2, 2, 1, "", lower_split_gelu},
    {{"com.microsoft.GroupNorm", "Transpose, GroupNormalization, Swish"},
     3,
     3,
     1,
     "activation channels_last epsilon groups",
     lower_group_norm},
    {{"com.microsoft.NhwcConv", "Transpose, Conv"},
     2,
     3,
     1,
     "auto_pad dilations group kernel_shape pads strides",
     lower_nhwc_conv},
    {{"com.microsoft.SkipGroupNorm", "Add, Transpose, GroupNormalization, Swish"},
     4,
     5,
     2,
     "activation channels_last epsilon groups",
     lower_skip_group_norm},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
