/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where ONNX Runtime's optimiser put channels: behind all other axes, or in blocks of as many as a
 * register of the processor holds, whose rest is zeros (the domain com.microsoft.nchwc). Values are
 * here as the standard operators have them, with the zeros; only weights are laid out anew.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/lower/rules.h"

static struct value *transpose(struct lower *l, struct value *x, const int64_t *perm, int rank)
{
    struct value *y;

    if (rank < 3) {
        lower_refuse(l, "how many axes its input has is not known when the model is read");
        return NULL;
    }
    y = lower_one(l, "Transpose", x);
    lower_ints(l, "perm", perm, (size_t)rank);
    return y;
}

static void set_last(int64_t *perm, int rank)
{
    perm[0] = 0;
    for (int i = 1; i < rank - 1; i++)
        perm[i] = i + 1;
    perm[rank - 1] = 1;
}

struct value *lower_before_channels_last(const struct value *x, int *out_rank)
{
    const struct node *node = x ? x->producer : NULL;
    int64_t wanted[SHAPE_MAX_RANK];
    const int64_t *perm;
    size_t rank;

    if (!node || node->domain[0] != '\0' || strcmp(node->op_type, "Transpose") != 0)
        return NULL;
    perm = node_ints(node, "perm", &rank);
    if (!perm || rank < 3 || rank > SHAPE_MAX_RANK)
        return NULL;
    set_last(wanted, (int)rank);
    *out_rank = (int)rank;
    return memcmp(perm, wanted, rank * sizeof(*perm)) == 0 ? node_input(node, 0) : NULL;
}

struct value *lower_channels_second(struct lower *l, struct value *x, int rank)
{
    int64_t perm[SHAPE_MAX_RANK] = {0, rank - 1};
    int other;
    struct value *before = lower_before_channels_last(x, &other);

    if (before && other == rank)
        return before;
    for (int i = 2; i < rank; i++)
        perm[i] = i - 1;
    return transpose(l, x, perm, rank);
}

struct value *lower_channels_last(struct lower *l, struct value *x, int rank)
{
    int64_t perm[SHAPE_MAX_RANK];

    set_last(perm, rank > 2 ? rank : 2);
    return transpose(l, x, perm, rank);
}

static void lower_qlinear_conv(struct lower *l)
{
    enum { INPUTS = 9 };
    bool is_last = node_int(l->node, "channels_last", 0) != 0;
    int rank = is_last ? lower_rank(lower_input(l, 3)) : 0; /* of the weights */
    struct value *inputs[INPUTS], *y;

    for (uint32_t i = 0; i < INPUTS; i++)
        inputs[i] = lower_input(l, i);
    if (is_last)
        inputs[0] = lower_channels_second(l, inputs[0], rank);
    y = lower_op(l, "QLinearConv", inputs, INPUTS);
    lower_copy(l, "auto_pad dilations group kernel_shape pads strides");
    lower_done(l, 0, is_last ? lower_channels_last(l, y, rank) : y);
}

enum { PLANE = 2 }; /* axes of a window beside which channels may be one */

/* Of a window that reaches over one more axis for one element: `parts` numbers for each of the others, and last. */
static void copy_window(struct lower *l, const char *name, size_t axes, size_t parts, int64_t last)
{
    size_t count;
    const int64_t *list = node_ints(l->node, name, &count);
    int64_t longer[2 * (PLANE + 1)];

    if (!list)
        return;
    if (count != axes * parts) {
        lower_refuse(l, "attribute %s has %zu numbers, not %zu", name, count, axes * parts);
        return;
    }
    for (size_t part = 0; part < parts; part++) {
        memcpy(longer + part * (axes + 1), list + part * axes, axes * sizeof(*list));
        longer[part * (axes + 1) + axes] = last;
    }
    lower_ints(l, name, longer, count + parts);
}

/* Channels are an axis of the image, over which no window reaches: nothing is transposed. */
static void pool_over_channels(struct lower *l, size_t axes)
{
    const int64_t second = 1;
    struct value *y = lower_one(l, "MaxPool", lower_unsqueeze(l, lower_input(l, 0), &second, 1));

    lower_copy(l, "auto_pad ceil_mode");
    copy_window(l, "kernel_shape", axes, 1, 1);
    copy_window(l, "strides", axes, 1, 1);
    copy_window(l, "dilations", axes, 1, 1);
    copy_window(l, "pads", axes, 2, 0);
    lower_done(l, 0, lower_squeeze(l, y, 1));
}

static void lower_max_pool(struct lower *l)
{
    const struct attribute *kernel = node_attribute(l->node, "kernel_shape");
    int rank = kernel && kernel->count < SHAPE_MAX_RANK - 2 ? (int)kernel->count + 2 : -1, other;
    struct value *y;

    if (kernel && kernel->type == ATTRIBUTE_INTS && kernel->count >= 1 && kernel->count <= PLANE &&
        !lower_before_channels_last(lower_input(l, 0), &other)) {
        pool_over_channels(l, kernel->count);
        return;
    }
    y = lower_one(l, "MaxPool", lower_channels_second(l, lower_input(l, 0), rank));
    lower_copy(l, "auto_pad ceil_mode dilations kernel_shape pads strides");
    lower_done(l, 0, lower_channels_last(l, y, rank));
}

/* --- com.microsoft.nchwc --- */

static bool has_wide_registers(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx512f");
#else
    return false;
#endif
}

static bool is_blocked_conv(const struct node *node)
{
    char buffer[NODE_TYPE_BYTES];

    return strcmp(node_full_type(node, buffer), "com.microsoft.nchwc.Conv") == 0;
}

/* No file says of how many channels its blocks are. ONNX Runtime takes those of the processor that
 * it runs on; a convolution whose results are no multiple of 16 shows that they are 8. */
static int64_t find_block(struct lower *l)
{
    struct graph *graph = l->graph;

    if (graph->channel_block > 0)
        return graph->channel_block;
    graph->channel_block = has_wide_registers() ? 16 : 8;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct value *weights = node_input(graph->nodes[i], 1);

        if (is_blocked_conv(graph->nodes[i]) && weights && weights->shape.dims[0] % 16 != 0)
            graph->channel_block = 8;
    }
    return graph->channel_block;
}

/* Of a tile [places][inputs][outputs], so that what is written lies side by side. */
static void read_tile(float *to, const float *tile, int64_t inputs, int64_t outputs, int64_t line,
                      int64_t places)
{
    for (int64_t o = 0; o < outputs; o++)
        for (int64_t i = 0; i < inputs; i++)
            for (int64_t place = 0; place < places; place++)
                to[o * line + i * places + place] = tile[(place * inputs + i) * outputs + o];
}

/* From [outputs / block][inputs / block][places][block of inputs][block of outputs], where inputs
 * that are fewer than a block are one by one. room: of a tile. */
static void read_blocks(float *to, const struct value *blocked, int64_t block, float *room)
{
    const int64_t *dims = blocked->shape.dims;
    int64_t places = dims[2] * dims[3], inputs = dims[1] < block ? 1 : block;
    int64_t line = dims[1] * places;
    size_t count = (size_t)(places * inputs * block), at = 0;

    for (int64_t o = 0; o < dims[0]; o += block)
        for (int64_t i = 0; i < dims[1]; i += inputs, at += count)
            read_tile(to + o * line + i * places, value_read(blocked, at, count, room), inputs,
                      block, line, places);
    value_give_back(blocked, 0, at * sizeof(*to));
}

static struct value *read_weights(struct lower *l, const struct value *blocked)
{
    int64_t block = find_block(l);
    const int64_t *dims = blocked ? blocked->shape.dims : NULL;
    struct value *weights;
    float *data, *room;

    if (!blocked || !blocked->data || blocked->dtype != DTYPE_F32 || blocked->shape.rank != 4 ||
        dims[0] % block != 0 || (dims[1] >= block && dims[1] % block != 0)) {
        lower_refuse(l, "its weights are no constant blocks of %lld channels", (long long)block);
        return NULL;
    }
    data = lower_data(l, DTYPE_F32, &blocked->shape, &weights);
    room = malloc(
        (size_t)(dims[2] * dims[3] * (dims[1] < block ? 1 : block) * block) * sizeof(*room) + 1);
    if (data && room)
        read_blocks(data, blocked, block, room);
    else
        l->rc = -ENOMEM;
    free(room);
    return weights;
}

static void lower_blocked_conv(struct lower *l)
{
    struct value *blocked = lower_input(l, 1), *weights = read_weights(l, blocked);

    lower_conv_of(l, weights);
    /* At once: a model of blocks would be in memory twice. */
    if (weights && blocked->consumer_count == 1 && !blocked->is_output)
        value_release_data(blocked);
}

/* Zeros behind the channels, up to whole blocks. */
static void lower_reorder_input(struct lower *l)
{
    static const int64_t second[] = {1}, before[] = {0, 0, 0, 0, 0}, after[] = {0, 0};
    int64_t block = find_block(l);
    struct value *x = lower_input(l, 0), *count, *pads[3], *inputs[2];

    if (node_int(l->node, "channels_last", 0) != 0)
        x = lower_channels_second(l, x, 4);
    count = lower_two(l, "Gather", lower_one(l, "Shape", x), lower_list(l, second, 1));
    pads[0] = lower_list(l, before, 5);
    pads[1] = lower_two(l, "Mod", lower_one(l, "Neg", count), lower_list(l, &block, 1));
    pads[2] = lower_list(l, after, 2);
    inputs[0] = x;
    inputs[1] = lower_op(l, "Concat", pads, 3);
    lower_int(l, "axis", 0);
    lower_done(l, 0, lower_op(l, "Pad", inputs, 2));
}

/* Without the zeros. */
static void lower_reorder_output(struct lower *l)
{
    int64_t count = node_int(l->node, "channels", 0), first = 0, axis = 1;
    struct value *inputs[] = {lower_input(l, 0), lower_list(l, &first, 1), lower_list(l, &count, 1),
                              lower_list(l, &axis, 1)};
    struct value *y = lower_op(l, "Slice", inputs, 4);

    if (node_int(l->node, "channels_last", 0) != 0)
        y = lower_channels_last(l, y, 4);
    lower_done(l, 0, y);
}

static void lower_same(struct lower *l)
{
    struct value *y = lower_one(l, l->node->op_type, lower_input(l, 0));

    lower_copy(l, "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides");
    lower_done(l, 0, y);
}

static void lower_upsample(struct lower *l)
{
    const struct attribute *list = node_attribute(l->node, "scales");
    struct value *inputs[3] = {lower_input(l, 0)}, *y;
    float *scales = lower_data(l, DTYPE_F32, &(struct shape){1, {4}}, &inputs[2]);

    if (graph_opset(l->graph, "") < 11)
        lower_refuse(l, "the model's operator set is older than 11");
    if (!list || list->type != ATTRIBUTE_INTS || list->count != 4) {
        lower_refuse(l, "attribute scales is no list of four");
        return;
    }
    for (int i = 0; scales && i < 4; i++)
        scales[i] = (float)list->ints[i];
    y = lower_op(l, "Resize", inputs, 3);
    lower_copy(l, "coordinate_transformation_mode mode");
    lower_string(l, "nearest_mode", "floor");
    lower_done(l, 0, y);
}

#define BLOCKED(op, what)                                                                          \
    {                                                                                              \
        "com.microsoft.nchwc." op, what                                                            \
    }

const struct lower_rule lower_channels[] = {
    {{"com.microsoft.NhwcMaxPool", "MaxPool; or Transpose, MaxPool"},
     1,
     1,
     1,
     "auto_pad ceil_mode dilations kernel_shape pads strides",
     lower_max_pool},
    {{"com.microsoft.QLinearConv", "Transpose, QLinearConv"},
     8,
     9,
     1,
     "auto_pad channels_last dilations group kernel_shape pads strides",
     lower_qlinear_conv},
    {BLOCKED("AveragePool", "AveragePool"), 1, 1, 1,
     "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides", lower_same},
    {BLOCKED("Conv", "Conv, Add, its activation"), 2, 4, 1,
     "activation activation_params auto_pad dilations group kernel_shape pads strides",
     lower_blocked_conv},
    {BLOCKED("GlobalAveragePool", "GlobalAveragePool"), 1, 1, 1, "", lower_same},
    {BLOCKED("GlobalMaxPool", "GlobalMaxPool"), 1, 1, 1, "", lower_same},
    {BLOCKED("MaxPool", "MaxPool"), 1, 1, 1,
     "auto_pad ceil_mode dilations kernel_shape pads storage_order strides", lower_same},
    {BLOCKED("ReorderInput", "Pad"), 1, 1, 1, "channels_last", lower_reorder_input},
    {BLOCKED("ReorderOutput", "Slice"), 1, 1, 1, "channels channels_last", lower_reorder_output},
    {BLOCKED("Upsample", "Resize"), 1, 1, 1, "coordinate_transformation_mode mode scales",
     lower_upsample},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
