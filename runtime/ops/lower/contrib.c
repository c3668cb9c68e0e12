/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of ONNX Runtime that say what newer standard ones do in other words, and those that the first
 * operator sets tried out. */
#include <math.h>
#include <string.h>

#include "runtime/ops/lower/rules.h"

static struct value *scalar_of(struct lower *l, struct value *x)
{
    static const int64_t none;

    return x ? lower_reshape(l, x, &none, 0) : NULL;
}

static struct value *flat(struct lower *l, struct value *x)
{
    static const int64_t rest = -1;

    return lower_reshape(l, x, &rest, 1);
}

/* The standard operator of the same name, with all attributes that the rule knows. */
static void lower_same_name(struct lower *l, const char *attributes)
{
    struct value *inputs[] = {lower_input(l, 0), lower_input(l, 1)};
    struct value *y = lower_op(l, l->node->op_type, inputs, 2);

    lower_copy(l, attributes);
    lower_done(l, 0, y);
}

static void lower_gather_nd(struct lower *l)
{
    lower_same_name(l, "");
}

static void lower_grid_sample(struct lower *l)
{
    lower_same_name(l, "align_corners mode padding_mode");
}

static void lower_trilu(struct lower *l)
{
    lower_same_name(l, "upper");
}

static void lower_expand_dims(struct lower *l)
{
    struct value *axis = flat(l, lower_cast(l, lower_input(l, 1), DTYPE_I64));

    lower_done(l, 0, lower_two(l, "Unsqueeze", lower_input(l, 0), axis));
}

static void lower_transposed_product(struct lower *l)
{
    struct value *y =
        lower_two(l, "com.microsoft.FusedMatMul", lower_input(l, 0), lower_input(l, 1));

    lower_copy(l, "alpha transA transB");
    lower_done(l, 0, y);
}

/* Sixteen bits each, as sums of 32. */
static void lower_wide_product(struct lower *l)
{
    struct value *a = lower_cast(l, lower_input(l, 0), DTYPE_I32);

    lower_done(l, 0, lower_two(l, "MatMul", a, lower_cast(l, lower_input(l, 1), DTYPE_I32)));
}

static void lower_pad(struct lower *l)
{
    struct value *inputs[] = {lower_input(l, 0), flat(l, lower_input(l, 1)),
                              scalar_of(l, lower_input(l, 2))};
    struct value *y = lower_op(l, "Pad", inputs, 3);

    lower_copy(l, "mode");
    lower_done(l, 0, y);
}

static void lower_range(struct lower *l)
{
    struct value *inputs[3], *step = lower_input(l, 2);

    if (!step)
        step = lower_two(l, "CastLike", lower_number(l, 1.0f), lower_input(l, 0));
    for (uint32_t i = 0; i < 2; i++)
        inputs[i] = scalar_of(l, lower_input(l, i));
    inputs[2] = scalar_of(l, step);
    lower_done(l, 0, lower_op(l, "Range", inputs, 3));
}

/* In the order in which they come first. */
static void lower_unique(struct lower *l)
{
    struct value *x = lower_input(l, 0), *outputs[4];

    lower_many(l, "Unique", &x, 1, outputs, 4);
    lower_int(l, "sorted", 0);
    lower_done(l, 0, outputs[0]);
    lower_done(l, 1, outputs[2]);
    lower_done(l, 2, outputs[3]);
}

static void lower_conv_transpose(struct lower *l)
{
    struct value *inputs[] = {lower_input(l, 0), lower_input(l, 1), lower_input(l, 3)}, *y;
    struct tensor_view pads = {.data = NULL};

    if (lower_input(l, 2) && (!lower_content(lower_input(l, 2), &pads) || pads.dtype != DTYPE_I64 ||
                              pads.shape.rank != 1)) {
        lower_refuse(l, "its pads are no constant list");
        return;
    }
    y = lower_op(l, "ConvTranspose", inputs, 3);
    lower_copy(l, "auto_pad dilations group kernel_shape output_padding strides");
    if (pads.data)
        lower_ints(l, "pads", pads.data, (size_t)pads.shape.dims[0]);
    lower_done(l, 0, y);
}

static void lower_gemm_gelu(struct lower *l)
{
    struct value *y = lower_two(l, "MatMul", lower_input(l, 0), lower_input(l, 1));

    if (lower_input(l, 2))
        y = lower_two(l, "Add", y, lower_input(l, 2));
    y = lower_one(l, "Gelu", y);
    lower_string(l, "approximate", "tanh");
    lower_done(l, 0, y);
}

/* How the bias is broadcast is a hint. */
static void lower_bias_softmax(struct lower *l)
{
    int64_t axis = node_int(l->node, "axis", 1);
    int rank = lower_rank(lower_input(l, 0));
    struct value *y;

    if (axis != -1 && axis != rank - 1)
        lower_refuse(l, "its axis is not known to be the last one");
    y = lower_one(l, "Softmax", lower_two(l, "Add", lower_input(l, 0), lower_input(l, 1)));
    lower_int(l, "axis", -1);
    lower_done(l, 0, y);
}

/* Pairs of real and imaginary parts along the last axis. */
static void lower_complex_product(struct lower *l)
{
    static const int64_t ones[] = {1, 1};
    bool is_conjugate = strcmp(l->node->op_type, "ComplexMulConj") == 0;
    struct value *a[2], *b[2], *parts[2], *y;

    lower_split(l, lower_input(l, 0), -1, ones, 2, a);
    lower_split(l, lower_input(l, 1), -1, ones, 2, b);
    parts[0] = lower_two(l, is_conjugate ? "Add" : "Sub", lower_two(l, "Mul", a[0], b[0]),
                         lower_two(l, "Mul", a[1], b[1]));
    parts[1] =
        is_conjugate
            ? lower_two(l, "Sub", lower_two(l, "Mul", a[1], b[0]), lower_two(l, "Mul", a[0], b[1]))
            : lower_two(l, "Add", lower_two(l, "Mul", a[0], b[1]), lower_two(l, "Mul", a[1], b[0]));
    y = lower_op(l, "Concat", parts, 2);
    lower_int(l, "axis", -1);
    lower_done(l, 0, y);
}

/* --- Windows of lists --- */

/* Places of windows along an axis of `length`: [windows, size]. */
static struct value *windows_of(struct lower *l, struct value *length, int64_t size, int64_t step)
{
    static const int64_t column[] = {-1, 1};
    int64_t one = 1, zero = 0;
    struct value *inputs[3] = {scalar_of(l, lower_list(l, &zero, 1)), NULL,
                               scalar_of(l, lower_list(l, &step, 1))};
    struct value *first;

    size--;
    inputs[1] = scalar_of(l, lower_two(l, "Sub", length, lower_list(l, &size, 1)));
    size++;
    first = lower_reshape(l, lower_op(l, "Range", inputs, 3), column, 2);
    inputs[1] = scalar_of(l, lower_list(l, &size, 1));
    inputs[2] = scalar_of(l, lower_list(l, &one, 1));
    return lower_two(l, "Add", first, lower_op(l, "Range", inputs, 3));
}

static void lower_unfold(struct lower *l)
{
    struct value *x = lower_input(l, 0), *y;
    int64_t size = node_int(l->node, "size", 0), step = node_int(l->node, "step", 1);
    int64_t axis = node_int(l->node, "dim", -1), perm[SHAPE_MAX_RANK];
    int rank = lower_rank(x);

    axis += axis < 0 ? rank : 0;
    if (rank < 1 || rank >= SHAPE_MAX_RANK || axis < 0 || axis >= rank || size < 1 || step < 1) {
        lower_refuse(l, "its axis and its windows do not fit what is known of its input");
        return;
    }
    y = lower_two(l, "Gather", x, windows_of(l, lower_dim(l, x, axis), size, step));
    lower_int(l, "axis", axis);
    for (int i = 0; i <= rank; i++)
        perm[i] = i <= axis ? i : i + 1;
    perm[rank] = axis + 1;
    y = lower_one(l, "Transpose", y);
    lower_ints(l, "perm", perm, (size_t)rank + 1);
    lower_done(l, 0, y);
}

/* --- Regions of images --- */

/* Where the samples of each region lie along an axis, and which of them lie in the image. */
struct samples {
    struct value *places, *are_inside; /* [regions, count] */
};

/* From `begin` to `end`, parts of the axis, whose last place is `last`; one sample alone lies in the middle. */
static struct samples samples_of(struct lower *l, struct value *begin, struct value *end,
                                 struct value *last, struct value *count)
{
    struct value *zero = lower_number(l, 0.0f), *one = lower_number(l, 1.0f), *steps, *first,
                 *scale;
    struct value *ends[3] = {lower_cast(l, zero, DTYPE_I64), count, lower_cast(l, one, DTYPE_I64)};
    struct samples s;

    for (int i = 0; i < 3; i++)
        ends[i] = scalar_of(l, ends[i]);
    steps = lower_cast(l, lower_op(l, "Range", ends, 3), DTYPE_F32);
    count = lower_two(l, "Sub", lower_cast(l, count, DTYPE_F32), one);
    ends[0] = lower_two(l, "Greater", count, zero);
    ends[1] = begin;
    ends[2] = lower_two(l, "Mul", lower_two(l, "Add", begin, end), lower_number(l, 0.5f));
    first = lower_two(l, "Mul", lower_op(l, "Where", ends, 3), last);
    scale = lower_two(l, "Mul", lower_two(l, "Sub", end, begin), last);
    scale = lower_two(l, "Div", scale, lower_two(l, "Max", count, one));
    s.places = lower_two(l, "Add", first, lower_two(l, "Mul", steps, scale));
    s.are_inside = lower_two(l, "And", lower_one(l, "Not", lower_two(l, "Less", s.places, zero)),
                             lower_one(l, "Not", lower_two(l, "Greater", s.places, last)));
    return s;
}

/* As GridSample counts them: from -1 to 1. */
static struct value *grid_places(struct lower *l, struct value *places, struct value *last)
{
    bool is_nearest = strcmp(node_string(l->node, "mode", "bilinear"), "nearest") == 0;
    struct value *one = lower_number(l, 1.0f);

    if (is_nearest)
        places = lower_one(l, "Floor", lower_two(l, "Add", places, lower_number(l, 0.5f)));
    places = lower_two(l, "Mul", places, lower_number(l, 2.0f));
    return lower_two(l, "Sub", lower_two(l, "Div", places, lower_two(l, "Max", last, one)), one);
}

static void lower_crop_and_resize(struct lower *l)
{
    enum { SIDES = 4 };
    static const int64_t sizes[SIDES] = {1, 1, 1, 1}, before = 1, behind = 2, innermost = 3;
    const char *mode = node_string(l->node, "mode", "bilinear");
    struct value *x = lower_input(l, 0), *sides[SIDES], *grid[2], *inputs[3], *counts, *y;
    struct samples samples[2];

    if (strcmp(mode, "bilinear") != 0 && strcmp(mode, "nearest") != 0)
        lower_refuse(l, "its mode is '%.40s', not bilinear or nearest", mode);
    lower_split(l, lower_cast(l, lower_input(l, 1), DTYPE_F32), 1, sizes, SIDES, sides);
    counts = lower_cast(l, lower_input(l, 3), DTYPE_I64);
    for (int64_t i = 0; i < 2; i++) {
        struct value *last = lower_cast(l, lower_dim(l, x, 2 + i), DTYPE_F32);

        last = lower_two(l, "Sub", last, lower_number(l, 1.0f));
        samples[i] = samples_of(l, sides[i], sides[2 + i], last,
                                lower_two(l, "Gather", counts, lower_list(l, &i, 1)));
        grid[i] = lower_unsqueeze(l, grid_places(l, samples[i].places, last),
                                  i == 0 ? &behind : &before, 1);
        samples[i].are_inside =
            lower_unsqueeze(l, samples[i].are_inside, i == 0 ? &behind : &before, 1);
    }
    for (int i = 0; i < 2; i++) /* as wide and as high as both */
        inputs[i] =
            lower_two(l, "Add", grid[1 - i], lower_two(l, "Mul", grid[i], lower_number(l, 0.0f)));
    for (int i = 0; i < 2; i++)
        inputs[i] = lower_unsqueeze(l, inputs[i], &innermost, 1);
    grid[0] = lower_op(l, "Concat", inputs, 2);
    lower_int(l, "axis", 3);
    y = lower_two(l, "GridSample", lower_two(l, "Gather", x, lower_input(l, 2)),
                  lower_two(l, "CastLike", grid[0], x));
    lower_int(l, "align_corners", 1);
    lower_string(l, "padding_mode", "border");
    inputs[0] = lower_unsqueeze(
        l, lower_two(l, "And", samples[0].are_inside, samples[1].are_inside), &before, 1);
    inputs[1] = y;
    inputs[2] = lower_two(l, "CastLike",
                          lower_number(l, node_float(l->node, "extrapolation_value", 0.0f)), x);
    lower_done(l, 0, lower_op(l, "Where", inputs, 3));
}

static struct value *slice_last(struct lower *l, struct value *x, int64_t begin, int64_t end)
{
    int64_t axis = -1;
    struct value *inputs[] = {x, lower_list(l, &begin, 1), lower_list(l, &end, 1),
                              lower_list(l, &axis, 1)};

    return lower_op(l, "Slice", inputs, 4);
}

/* As many words that are none before those of each row as can be asked for: a row may be shorter. */
static struct value *pad_front(struct lower *l, struct value *ids, int64_t count)
{
    const int64_t pads[] = {0, count, 0, 0};
    struct value *inputs[] = {ids, lower_list(l, pads, 4),
                              lower_two(l, "CastLike", lower_number(l, -1.0f), ids)};

    return lower_op(l, "Pad", inputs, 3);
}

/* Words that would make the newest words of a row repeat so many of it are scored down to -inf. */
static void lower_repeats(struct lower *l)
{
    int64_t size = node_int(l->node, "ngram_size", 0), one = 1;
    struct value *ids = lower_input(l, 0), *scores = lower_input(l, 1), *all, *same, *inputs[3];

    if (size < 1 || size > TENSOR_MAX_BYTES / 8) {
        lower_refuse(l, "attribute ngram_size is no length");
        return;
    }
    ids = pad_front(l, ids, size - 1);
    /* [batch, windows, size], of which the last word is banned where those before it are the newest. */
    all = lower_two(l, "Gather", ids, windows_of(l, lower_dim(l, ids, 1), size, 1));
    lower_int(l, "axis", 1);
    same = slice_last(l, ids, size > 1 ? 1 - size : INT64_MAX, INT64_MAX);
    same =
        lower_two(l, "Equal", slice_last(l, all, 0, size - 1), lower_unsqueeze(l, same, &one, 1));
    same = lower_cast(l, lower_one(l, "Not", same), DTYPE_F32);
    same = lower_sum(l, same, -1, false);
    inputs[0] = lower_one(l, "ConstantOfShape", lower_one(l, "Shape", scores));
    inputs[1] = lower_squeeze(l, slice_last(l, all, size - 1, INT64_MAX), -1);
    inputs[2] = lower_cast(l, lower_two(l, "Equal", same, lower_number(l, 0.0f)), DTYPE_F32);
    same = lower_op(l, "ScatterElements", inputs, 3);
    lower_int(l, "axis", 1);
    lower_string(l, "reduction", "add");
    inputs[0] = lower_two(l, "Greater", same, lower_number(l, 0.0f));
    inputs[1] = lower_two(l, "CastLike", lower_number(l, -INFINITY), scores);
    inputs[2] = scores;
    lower_done(l, 0, lower_op(l, "Where", inputs, 3));
}

/* --- Words of characters --- */

enum { WORD_IDS, WORD_FILTERS, WORD_BIAS, WORD_TABLE };

/* Whether two sizes are the same, as far as they are known. */
static bool fits(int64_t a, int64_t b)
{
    return a < 0 || b < 0 || a == b;
}

/* The size of an axis of an input, -1 where it is not known. */
static int64_t size_of(struct lower *l, uint32_t i, int rank, int axis)
{
    const struct value *x = lower_input(l, i);

    if (!x || (x->shape.rank >= 0 && x->shape.rank != rank))
        lower_refuse(l, "input %u does not have %d dimensions", i, rank);
    return x && x->shape.rank == rank ? x->shape.dims[axis] : -1;
}

/* [words, characters], [filters, 1, window, channels], [filters], [letters, channels], as far as they are known. */
static void check_words(struct lower *l)
{
    int64_t filters = size_of(l, WORD_FILTERS, 4, 0), window = size_of(l, WORD_FILTERS, 4, 2);
    int64_t channels = size_of(l, WORD_TABLE, 2, 1), length = size_of(l, WORD_IDS, 2, 1);
    const struct {
        const char *name;
        int64_t size;
    } sizes[] = {{"embedding_size", filters},
                 {"conv_window_size", window},
                 {"char_embedding_size", channels}};

    if (length >= 0 && length < window)
        lower_refuse(l, "its words are shorter than its window");
    if (!fits(size_of(l, WORD_FILTERS, 4, 1), 1) || !fits(size_of(l, WORD_FILTERS, 4, 3), channels))
        lower_refuse(l, "its filters do not fit its table of characters");
    if (!fits(size_of(l, WORD_BIAS, 1, 0), filters))
        lower_refuse(l, "its bias does not have a number for each filter");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (!fits(node_int(l->node, sizes[i].name, -1), sizes[i].size))
            lower_refuse(l, "attribute %s is not %lld, which its inputs have", sizes[i].name,
                         (long long)sizes[i].size);
}

/* 0, 1, ..., below a list of one number. */
static struct value *count_up(struct lower *l, struct value *end)
{
    static const int64_t one = 1, zero = 0;
    struct value *inputs[] = {scalar_of(l, lower_list(l, &zero, 1)), scalar_of(l, end),
                              scalar_of(l, lower_list(l, &one, 1))};

    return lower_op(l, "Range", inputs, 3);
}

static struct value *join(struct lower *l, struct value *a, struct value *b)
{
    struct value *y = lower_two(l, "Concat", a, b);

    lower_int(l, "axis", 0);
    return y;
}

/* What each filter makes of each window of a word: [words, windows, filters]. first: places of windows. */
static struct value *windows_by_filters(struct lower *l, struct value *first, struct value *window)
{
    static const int64_t turned[] = {1, 0}, same[] = {0, 0}, behind = 1;
    struct value *filters = lower_input(l, WORD_FILTERS), *x, *w, *size;

    size = lower_two(l, "Mul", window, lower_dim(l, filters, 3));
    x = lower_two(l, "Add", lower_unsqueeze(l, first, &behind, 1), count_up(l, window));
    x = lower_two(l, "Gather", lower_input(l, WORD_IDS), x);
    lower_int(l, "axis", 1);
    x = lower_two(l, "Gather", lower_input(l, WORD_TABLE), x);
    x = lower_two(l, "Reshape", x, join(l, lower_list(l, same, 2), size));
    w = lower_two(l, "Reshape", filters, join(l, lower_list(l, same, 1), size));
    w = lower_one(l, "Transpose", w);
    lower_ints(l, "perm", turned, 2);
    return lower_two(l, "Add", lower_two(l, "MatMul", x, w), lower_input(l, WORD_BIAS));
}

/* Which windows are behind the characters of each word, those above 0: [words, windows, 1]. */
static struct value *windows_behind(struct lower *l, struct value *is_letter, struct value *first,
                                    struct value *window)
{
    static const int64_t zero = 0, last = 2;
    struct value *count = lower_sum(l, lower_cast(l, is_letter, DTYPE_I64), 1, true);

    count = lower_two(l, "Max", lower_two(l, "Sub", count, window), lower_list(l, &zero, 1));
    return lower_unsqueeze(l, lower_two(l, "Greater", first, count), &last, 1);
}

/* The largest of a convolution over the characters of each word, or over as many as its window has. A word that begins
 * with none is zeros. */
static void lower_words(struct lower *l)
{
    static const int64_t windows = 1; /* axis 1, and the number 1 */
    bool is_input = graph_opset(l->graph, "") >= 18;
    struct value *ids = lower_input(l, WORD_IDS), *inputs[3], *is_letter, *first, *window, *y;

    check_words(l);
    window = lower_dim(l, lower_input(l, WORD_FILTERS), 2);
    first = lower_two(l, "Sub", lower_dim(l, ids, 1), window);
    first = count_up(l, lower_two(l, "Add", first, lower_list(l, &windows, 1)));
    is_letter = lower_two(l, "Greater", ids, lower_cast(l, lower_number(l, 0.0f), DTYPE_I32));
    inputs[0] = windows_behind(l, is_letter, first, window);
    inputs[1] = lower_number(l, -INFINITY);
    inputs[2] = windows_by_filters(l, first, window);
    inputs[0] = lower_op(l, "Where", inputs, 3);
    inputs[1] = is_input ? lower_list(l, &windows, 1) : NULL;
    y = lower_op(l, "ReduceMax", inputs, 2);
    if (!is_input)
        lower_ints(l, "axes", &windows, 1);
    lower_int(l, "keepdims", 0);
    inputs[0] = slice_last(l, is_letter, 0, 1);
    inputs[1] = lower_one(l, "Tanh", y);
    inputs[2] = lower_number(l, 0.0f);
    lower_done(l, 0, lower_op(l, "Where", inputs, 3));
}

/* --- What the first operator sets tried out --- */

/* alpha * x + beta */
static void lower_affine(struct lower *l)
{
    struct value *y =
        lower_two(l, "Mul", lower_input(l, 0), lower_number(l, node_float(l->node, "alpha", 1.0f)));

    lower_done(l, 0, lower_two(l, "Add", y, lower_number(l, node_float(l->node, "beta", 0.0f))));
}

static void lower_scale(struct lower *l)
{
    struct value *by = lower_number(l, node_float(l->node, "scale", 1.0f));

    lower_done(l, 0, lower_two(l, "Mul", lower_input(l, 0), by));
}

/* alpha * tanh(beta * x), or alpha * softplus(beta * x) */
static void lower_scaled(struct lower *l)
{
    bool is_tanh = strcmp(l->node->op_type, "ScaledTanh") == 0;
    struct value *y =
        lower_two(l, "Mul", lower_input(l, 0), lower_number(l, node_float(l->node, "beta", 0.0f)));

    y = lower_one(l, is_tanh ? "Tanh" : "Softplus", y);
    lower_done(l, 0, lower_two(l, "Mul", y, lower_number(l, node_float(l->node, "alpha", 0.0f))));
}

/* Each channel's number is added to the scaled image. */
static void lower_image_scaler(struct lower *l)
{
    const struct attribute *bias = node_attribute(l->node, "bias");
    struct value *y =
        lower_two(l, "Mul", lower_input(l, 0), lower_number(l, node_float(l->node, "scale", 1.0f)));
    struct value *column;
    float *data;

    if (!bias || bias->type != ATTRIBUTE_FLOATS || bias->count < 1) {
        lower_refuse(l, "attribute bias is no list");
        return;
    }
    data = lower_data(l, DTYPE_F32, &(struct shape){3, {(int64_t)bias->count, 1, 1}}, &column);
    if (data)
        memcpy(data, bias->floats, bias->count * sizeof(*data));
    lower_done(l, 0, lower_two(l, "Add", y, column));
}

/* Without so many rows and columns at its edges, or so large as `scale` says from there on. */
static void lower_crop(struct lower *l)
{
    static const int64_t axes[] = {2, 3};
    size_t count, scale_count = 0;
    const int64_t *border = node_ints(l->node, "border", &count);
    const int64_t *scale = node_ints(l->node, "scale", &scale_count);
    struct value *inputs[4] = {lower_input(l, 0)};
    int64_t ends[2];

    if (!border || count != 4 || (scale && scale_count != 2)) {
        lower_refuse(l, "attribute border has not four numbers, or scale not two");
        return;
    }
    for (int i = 0; i < 2; i++) { /* left, top, right, bottom; height, width */
        int64_t from = border[1 - i], left = border[3 - i];

        ends[i] = left > 0 ? -left : INT64_MAX;
        if (scale && __builtin_add_overflow(from, scale[i], &ends[i]))
            lower_refuse(l, "its border and scale do not fit an image");
    }
    inputs[1] = lower_list(l, (const int64_t[]){border[1], border[0]}, 2);
    inputs[2] = lower_list(l, ends, 2);
    inputs[3] = lower_list(l, axes, 2);
    lower_done(l, 0, lower_op(l, "Slice", inputs, 4));
}

static void lower_dynamic_slice(struct lower *l)
{
    struct value *inputs[4];

    for (uint32_t i = 0; i < 4; i++)
        inputs[i] = lower_input(l, i);
    lower_done(l, 0, lower_op(l, "Slice", inputs, 4));
}

#define MICROSOFT(op, what)                                                                        \
    {                                                                                              \
        "com.microsoft." op, what                                                                  \
    }

const struct lower_rule lower_contrib[] = {
    {{"Affine", "Mul, Add"}, 1, 1, 1, "alpha beta", lower_affine},
    {{"Crop", "Slice"}, 1, 1, 1, "border scale", lower_crop},
    {{"DynamicSlice", "Slice"}, 3, 4, 1, "", lower_dynamic_slice},
    {{"ImageScaler", "Mul, Add"}, 1, 1, 1, "bias scale", lower_image_scaler},
    {{"ParametricSoftplus", "Mul, Softplus"}, 1, 1, 1, "alpha beta", lower_scaled},
    {{"Scale", "Mul"}, 1, 1, 1, "scale", lower_scale},
    {{"ScaledTanh", "Mul, Tanh"}, 1, 1, 1, "alpha beta", lower_scaled},
    {MICROSOFT("BiasSoftmax", "Add, Softmax"), 2, 2, 1, "axis is_inner_broadcast",
     lower_bias_softmax},
    {MICROSOFT("ComplexMul", "Split, Mul, Sub, Add, Concat"), 2, 2, 1, "", lower_complex_product},
    {MICROSOFT("ComplexMulConj", "Split, Mul, Add, Sub, Concat"), 2, 2, 1, "",
     lower_complex_product},
    {MICROSOFT("ConvTransposeWithDynamicPads", "ConvTranspose"), 2, 4, 1,
     "auto_pad dilations group kernel_shape output_padding strides", lower_conv_transpose},
    {MICROSOFT("CropAndResize", "Gather, GridSample, Where"), 4, 4, 1, "extrapolation_value mode",
     lower_crop_and_resize},
    {MICROSOFT("ExpandDims", "Unsqueeze"), 2, 2, 1, "", lower_expand_dims},
    {MICROSOFT("GatherND", "GatherND"), 2, 2, 1, "", lower_gather_nd},
    {MICROSOFT("GemmFastGelu", "MatMul, Add, Gelu"), 2, 3, 1, "", lower_gemm_gelu},
    {MICROSOFT("GridSample", "GridSample"), 2, 2, 1, "align_corners mode padding_mode",
     lower_grid_sample},
    {MICROSOFT("MatMulInteger16", "Cast, MatMul"), 2, 2, 1, "", lower_wide_product},
    {MICROSOFT("NGramRepeatBlock", "Gather, Equal, ScatterElements, Where"), 2, 2, 1, "ngram_size",
     lower_repeats},
    {MICROSOFT("Pad", "Pad"), 2, 3, 1, "mode", lower_pad},
    {MICROSOFT("Range", "Range"), 2, 3, 1, "", lower_range},
    {MICROSOFT("TransposeMatMul", "com.microsoft.FusedMatMul"), 2, 2, 1, "alpha transA transB",
     lower_transposed_product},
    {MICROSOFT("Trilu", "Trilu"), 1, 2, 1, "upper", lower_trilu},
    {MICROSOFT("UnfoldTensor", "Gather, Transpose"), 1, 1, 1, "dim size step", lower_unfold},
    {MICROSOFT("Unique", "Unique"), 1, 1, 3, "", lower_unique},
    {MICROSOFT("WordConvEmbedding", "Gather, MatMul, Add, Where, ReduceMax, Tanh"), 4, 4, 1,
     "char_embedding_size conv_window_size embedding_size", lower_words},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
