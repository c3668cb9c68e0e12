/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of whole layers, of several heads, and rotary positions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/lower/rules.h"

/* What becomes inputs of the standard Attention. */
struct heads {
    struct value *q, *k, *v, *mask, *past_k, *past_v;
};

/* 0, 1, ..., below a list of one number. */
static struct value *count_up(struct lower *l, struct value *end)
{
    static const int64_t none, zero = 0, one = 1;
    struct value *inputs[] = {lower_list(l, &zero, 1), end, lower_list(l, &one, 1)};

    for (int i = 0; i < 3; i++) /* Range takes scalars */
        inputs[i] = lower_reshape(l, inputs[i], &none, 0);
    return lower_op(l, "Range", inputs, 3);
}

/* Axis 1 of keys [batch, keys, ...], and that axis of what is past. */
static struct value *count_keys(struct lower *l, struct value *keys, struct value *past,
                                int64_t axis)
{
    struct value *count = lower_dim(l, keys, 1);

    return past ? lower_two(l, "Add", count, lower_dim(l, past, axis)) : count;
}

/* The numbers of a list between two places, of which NULL is its end: a column for batches. */
static struct value *batches_of(struct lower *l, struct value *list, struct value *first,
                                struct value *end)
{
    static const int64_t column[] = {-1, 1, 1, 1}, all = INT64_MAX;
    struct value *inputs[] = {list, first, end ? end : lower_list(l, &all, 1)};

    return lower_reshape(l, lower_op(l, "Slice", inputs, 3), column, 4);
}

/* The first key of each batch that is seen: they stand behind the ends where there are two lists; else it is 0. */
static struct value *starts_of(struct lower *l, struct value *mask)
{
    static const int64_t zero = 0, two = 2;
    struct value *batch = lower_dim(l, lower_input(l, 0), 0), *all[2], *has_two;

    all[1] = lower_two(l, "Mul", batch, lower_list(l, &two, 1));
    has_two = lower_two(l, "Equal", lower_one(l, "Shape", mask), all[1]);
    all[0] = mask;
    all[1] = lower_two(l, "Expand", lower_list(l, &zero, 1), batch);
    mask = lower_op(l, "Concat", all, 2);
    lower_int(l, "axis", 0);
    all[1] = lower_two(l, "Mul", batch, lower_list(l, &two, 1));
    return lower_two(l, "Mul", batches_of(l, mask, batch, all[1]),
                     lower_cast(l, has_two, DTYPE_I64));
}

/* Keys below the end of each batch, and not before its start. Behind both lists others may stand. */
static struct value *length_mask(struct lower *l, struct value *mask, struct value *count)
{
    static const int64_t zero = 0;
    const struct shape *x = &lower_input(l, 0)->shape, *m = &mask->shape;
    int64_t batch = x->rank > 0 && m->rank == 1 ? x->dims[0] : -1;
    bool is_known = batch > 0 && m->dims[0] > 0, is_one_list = is_known && m->dims[0] == batch;
    struct value *places = count_up(l, count), *first = lower_list(l, &zero, 1), *seen, *starts;

    if (is_known && !is_one_list && m->dims[0] != 2 * batch && m->dims[0] != 3 * batch + 2)
        lower_refuse(l, "its mask has %lld lengths for %lld batches", (long long)m->dims[0],
                     (long long)batch);
    mask = lower_cast(l, mask, DTYPE_I64);
    if (is_one_list)
        return lower_two(l, "Less", places, batches_of(l, mask, first, NULL));
    starts = starts_of(l, mask);
    seen = batches_of(l, mask, first, lower_dim(l, lower_input(l, 0), 0));
    seen = lower_two(l, "Less", places, seen);
    return lower_two(l, "And", seen, lower_one(l, "Not", lower_two(l, "Less", places, starts)));
}

/* Keys that may be seen as bools [batch, 1, 1 or steps, keys]. `count`: how many keys there are, where each batch may
 * have a length. */
static struct value *key_mask(struct lower *l, struct value *mask, struct value *count)
{
    static const int64_t by_batch[] = {0, 1, 1, -1};
    int64_t axis = 1;

    switch (lower_rank(mask)) {
    case 2:
        return lower_reshape(l, lower_cast(l, mask, DTYPE_BOOL), by_batch, 4);
    case 3:
        return lower_unsqueeze(l, lower_cast(l, mask, DTYPE_BOOL), &axis, 1);
    case 1:
        if (count)
            return length_mask(l, mask, count);
        lower_refuse(l, "it has a mask of lengths");
        return NULL;
    default:
        lower_refuse(l, "its mask does not have one to three dimensions that are known");
        return NULL;
    }
}

/* Keys that may be seen and what is added to their scores, as the latter. What hides a key is added, too: where all keys
 * of a step are hidden, it sees them as if none was. */
static struct value *join_masks(struct lower *l, struct value *seen, struct value *bias,
                                struct value *like)
{
    float hidden = node_float(l->node, "mask_filter_value", -10000.0f);
    struct value *inputs[] = {seen, NULL, NULL}, *mask;

    if (!seen)
        return bias;
    inputs[1] = lower_two(l, "CastLike", lower_number(l, 0.0f), like);
    inputs[2] = lower_two(l, "CastLike", lower_number(l, hidden), like);
    mask = lower_op(l, "Where", inputs, 3);
    return bias ? lower_two(l, "Add", mask, bias) : mask;
}

static void attend(struct lower *l, const struct heads *h)
{
    struct value *inputs[] = {h->q, h->k, h->v, h->mask, h->past_k, h->past_v};
    struct value *outputs[3] = {NULL};
    int64_t heads = node_int(l->node, "num_heads", 0);
    bool has_present = lower_wants(l, 1) || lower_wants(l, 2);
    float scale = node_float(l->node, "scale", 0.0f);

    lower_many(l, "Attention", inputs, 6, outputs, has_present ? 3 : 1);
    lower_int(l, "q_num_heads", heads);
    lower_int(l, "kv_num_heads", heads);
    lower_int(l, "is_causal", node_int(l->node, "unidirectional", 0));
    if (scale != 0.0f)
        lower_float(l, "scale", scale);
    lower_done(l, 0, outputs[0]);
    if (strcmp(l->node->op_type, "MultiHeadAttention") == 0) {
        lower_done(l, 1, outputs[1]);
        lower_done(l, 2, outputs[2]);
    } else if (has_present) { /* keys and values behind each other */
        int64_t axis = 0;
        struct value *both[2];

        for (int i = 0; i < 2; i++)
            both[i] = lower_unsqueeze(l, outputs[1 + i], &axis, 1);
        both[0] = lower_op(l, "Concat", both, 2);
        lower_int(l, "axis", 0);
        lower_done(l, 1, both[0]);
    }
}

/* Three parts of the last axis, as long as `sizes` says; NULL: all the same. */
static void split(struct lower *l, struct value *x, int axis, const int64_t *sizes,
                  struct value *parts[3])
{
    bool is_input = sizes && graph_opset(l->graph, "") >= 13;
    struct value *inputs[] = {x, is_input ? lower_list(l, sizes, 3) : NULL};

    lower_many(l, "Split", inputs, 2, parts, 3);
    lower_int(l, "axis", axis);
    if (sizes && !is_input)
        lower_ints(l, "split", sizes, 3);
    else if (!sizes && graph_opset(l->graph, "") >= 18)
        lower_int(l, "num_outputs", 3);
}

/* Queries, keys and values of a product; `bias` may be NULL. */
static void part(struct lower *l, struct value *all, struct value *bias, struct heads *out_heads)
{
    size_t count;
    const int64_t *sizes = node_ints(l->node, "qkv_hidden_sizes", &count);
    struct value *parts[3];

    if (sizes && count != 3)
        lower_refuse(l, "qkv_hidden_sizes has not three numbers");
    all = bias ? lower_two(l, "Add", all, bias) : all;
    split(l, all, 2, sizes, parts);
    out_heads->q = parts[0];
    out_heads->k = parts[1];
    out_heads->v = parts[2];
}

/* The two halves of a past [2, batch, heads, steps, channels]. */
static void take_past(struct lower *l, struct value *past, struct heads *h)
{
    struct value **halves[] = {&h->past_k, &h->past_v};

    for (int64_t i = 0; past && i < 2; i++) {
        int64_t none = 0;

        *halves[i] = lower_two(l, "Gather", past, lower_reshape(l, lower_list(l, &i, 1), &none, 0));
        lower_int(l, "axis", 0);
    }
}

static void check_switches(struct lower *l)
{
    if (node_int(l->node, "do_rotary", 0) != 0)
        lower_refuse(l, "attribute do_rotary is set");
    if (node_int(l->node, "past_present_share_buffer", 0) != 0)
        lower_refuse(l, "past and present share a buffer");
    if (node_int(l->node, "num_heads", 0) < 1)
        lower_refuse(l, "attribute num_heads is missing");
}

static void lower_attention(struct lower *l)
{
    struct value *mask = lower_input(l, 3), *past = lower_input(l, 4);
    struct heads h = {NULL};

    check_switches(l);
    if (lower_input(l, 6))
        lower_refuse(l, "input 6 is given");
    part(l, lower_two(l, "MatMul", lower_input(l, 0), lower_input(l, 1)), lower_input(l, 2), &h);
    if (mask)
        mask = key_mask(l, mask, count_keys(l, lower_input(l, 0), past, 3));
    h.mask = join_masks(l, mask, lower_input(l, 5), h.q);
    take_past(l, past, &h);
    attend(l, &h);
}

/* A product of bytes, as numbers. */
static struct value *multiply_quanta(struct lower *l)
{
    struct value *inputs[] = {lower_input(l, 0), lower_input(l, 1), lower_input(l, 6),
                              lower_input(l, 7)};
    struct value *sums = lower_cast(l, lower_op(l, "MatMulInteger", inputs, 4), DTYPE_F32);

    return lower_two(l, "Mul", sums, lower_two(l, "Mul", lower_input(l, 3), lower_input(l, 4)));
}

static void lower_attention_quantised(struct lower *l)
{
    struct value *mask = lower_input(l, 5), *past = lower_input(l, 8);
    struct heads h = {NULL};

    check_switches(l);
    part(l, multiply_quanta(l), lower_input(l, 2), &h);
    if (mask)
        mask = key_mask(l, mask, count_keys(l, lower_input(l, 0), past, 3));
    h.mask = join_masks(l, mask, NULL, h.q);
    take_past(l, past, &h);
    attend(l, &h);
}

/* [batch, steps, heads, count, channels], as so many of [batch, steps, heads * channels]. */
static void unpack(struct lower *l, struct value *packed, uint32_t count, struct value **parts)
{
    static const int64_t ones[] = {1, 1, 1}, flat[] = {0, 0, -1};

    lower_split(l, packed, 3, ones, count, parts);
    for (uint32_t i = 0; i < count; i++)
        parts[i] = lower_reshape(l, parts[i], flat, 3);
}

/* [batch, heads, steps, channels] as [batch, steps, heads * channels] */
static struct value *merge_heads(struct lower *l, struct value *x)
{
    static const int64_t perm[] = {0, 2, 1, 3}, flat[] = {0, 0, -1};

    x = lower_one(l, "Transpose", x);
    lower_ints(l, "perm", perm, 4);
    return lower_reshape(l, x, flat, 3);
}

/* The same; of three axes it stays. */
static struct value *join_heads(struct lower *l, struct value *x)
{
    return lower_rank(x) == 4 ? merge_heads(l, x) : x;
}

/* Keys and values may be packed behind each other's heads, queries, too. */
static void take_operands(struct lower *l, struct heads *h)
{
    struct value *parts[3] = {lower_input(l, 0), lower_input(l, 1), lower_input(l, 2)};

    if (!parts[1] && parts[2])
        lower_refuse(l, "its keys are left out");
    else if (!parts[1])
        unpack(l, parts[0], 3, parts);
    else if (!parts[2])
        unpack(l, parts[1], 2, parts + 1);
    h->q = parts[0];
    h->k = join_heads(l, parts[1]);
    h->v = join_heads(l, parts[2]);
    h->past_k = lower_input(l, 6);
    h->past_v = lower_input(l, 7);
}

/* Parts of a bias for queries, keys and values, as long as their last axes: values may be wider or narrower. */
static void split_bias(struct lower *l, struct value *bias, const struct heads *h,
                       struct value *parts[3])
{
    struct value *const operands[] = {h->q, h->k, h->v};
    struct value *inputs[] = {bias, NULL}, *counts[3];
    int64_t sizes[3] = {0}, last = -1;
    bool is_known;

    for (int i = 0; i < 3 && operands[i]; i++)
        if (operands[i]->shape.rank > 0)
            sizes[i] = operands[i]->shape.dims[operands[i]->shape.rank - 1];
    is_known = sizes[0] > 0 && sizes[1] > 0 && sizes[2] > 0;
    if (is_known || graph_opset(l->graph, "") < 13) {
        split(l, bias, 0, is_known ? sizes : NULL, parts);
        return;
    }
    for (int i = 0; i < 3; i++)
        counts[i] =
            lower_two(l, "Gather", lower_one(l, "Shape", operands[i]), lower_list(l, &last, 1));
    inputs[1] = lower_op(l, "Concat", counts, 3);
    lower_int(l, "axis", 0);
    lower_many(l, "Split", inputs, 2, parts, 3);
    lower_int(l, "axis", 0);
}

static void lower_multi_head(struct lower *l)
{
    struct value *bias = lower_input(l, 3), *mask = lower_input(l, 4);
    struct heads h = {NULL};

    check_switches(l);
    take_operands(l, &h);
    for (uint32_t i = 8; i < l->node->input_count; i++)
        if (lower_input(l, i))
            lower_refuse(l, "input %u is given", i);
    if (bias) {
        struct value *parts[3];

        split_bias(l, bias, &h, parts);
        h.q = lower_two(l, "Add", h.q, parts[0]);
        h.k = lower_two(l, "Add", h.k, parts[1]);
        h.v = lower_two(l, "Add", h.v, parts[2]);
    }
    if (mask)
        mask = key_mask(l, mask, count_keys(l, h.k, h.past_k, 2));
    h.mask = join_masks(l, mask, lower_input(l, 5), h.q);
    attend(l, &h);
}

/* The place of each step, [batch, steps]; given as such, or as that of the first one. */
static struct value *places_of(struct lower *l, struct value *x, struct value *places)
{
    static const int64_t none, zero = 0, one = 1;
    int rank = lower_rank(places), axes = lower_rank(x);
    const int64_t axis =
        axes - 2; /* of the steps: [batch, steps, ...] or [batch, heads, steps, ...] */
    struct value *shape, *steps, *inputs[3];

    if (rank == 2)
        return places;
    if (rank != 1 || (axes != 3 && axes != 4)) {
        lower_refuse(l, "its positions do not have one or two dimensions that are known");
        return NULL;
    }
    shape = lower_one(l, "Shape", x);
    steps = lower_two(l, "Gather", shape, lower_list(l, &axis, 1));
    inputs[0] = lower_reshape(l, lower_list(l, &zero, 1), &none, 0);
    inputs[1] = lower_reshape(l, steps, &none, 0);
    inputs[2] = lower_reshape(l, lower_list(l, &one, 1), &none, 0);
    places = lower_two(l, "Add", places, lower_op(l, "Range", inputs, 3));
    inputs[0] = lower_two(l, "Gather", shape, lower_list(l, &zero, 1));
    inputs[1] = steps;
    shape = lower_op(l, "Concat", inputs, 2);
    lower_int(l, "axis", 0);
    return lower_two(l, "Expand", places, shape);
}

/* [batch, steps, heads * channels] as [batch, heads, steps, channels] */
static struct value *part_heads(struct lower *l, struct value *x, int64_t channels)
{
    static const int64_t perm[] = {0, 2, 1, 3};
    const int64_t dims[] = {0, 0, -1, channels};

    x = lower_one(l, "Transpose", lower_reshape(l, x, dims, 4));
    lower_ints(l, "perm", perm, 4);
    return x;
}

/* Where nothing says how many heads there are, a head is as long as the cosines say. */
static void lower_rotary(struct lower *l)
{
    const struct value *cosines = lower_input(l, 2);
    struct value *x = lower_input(l, 0), *places = places_of(l, x, lower_input(l, 1));
    struct value *inputs[] = {x, lower_input(l, 2), lower_input(l, 3), places}, *y;
    bool is_parted = node_int(l->node, "num_heads", 0) == 0 &&
                     node_int(l->node, "rotary_embedding_dim", 0) == 0 && lower_rank(x) == 3 &&
                     cosines && cosines->shape.rank == 2 && cosines->shape.dims[1] > 0;

    if (node_float(l->node, "scale", 1.0f) != 1.0f)
        lower_refuse(l, "attribute scale is not 1");
    if (node_int(l->node, "is_packed_batching", 0) != 0)
        lower_refuse(l, "attribute is_packed_batching is set");
    if (is_parted)
        inputs[0] = part_heads(l, x, 2 * cosines->shape.dims[1]);
    y = lower_op(l, "RotaryEmbedding", inputs, 4);
    lower_copy(l, "interleaved num_heads rotary_embedding_dim");
    lower_done(l, 0, is_parted ? merge_heads(l, y) : y);
}

/* --- One step of a decoder --- */

enum { STEP_MASK = 3, STEP_BIAS, STEP_PAST, STEP_PLACE = 7, STEP_BEAMS, STEP_ORIGINS, STEP_ROW };

/* [batch, 1, heads * channels], as input i is, as [batch, heads, 1, channels] */
static struct value *step_heads(struct lower *l, struct value *x, uint32_t i)
{
    const struct value *input = lower_input(l, i);
    int64_t heads = node_int(l->node, "num_heads", 0);
    bool is_known = input && input->shape.rank == 3 && input->shape.dims[2] > 0 && heads > 0;
    const int64_t dims[] = {0, heads, 1, is_known ? input->shape.dims[2] / heads : -1};

    return lower_reshape(l, x, dims, 4);
}

/* Each beam's keys or values: those of the beams that its earlier steps came from, by the batch's list of them. */
static struct value *of_beams(struct lower *l, struct value *past, struct value *place)
{
    static const int64_t rows[] = {-1, 1}, one = 1, zero = 0, outer[] = {1, 3};
    struct value *beams = lower_cast(l, lower_input(l, STEP_BEAMS), DTYPE_I64);
    struct value *origins = lower_cast(l, lower_input(l, STEP_ORIGINS), DTYPE_I64);
    struct value *own = lower_reshape(l, count_up(l, lower_dim(l, past, 0)), rows, 2), *first;
    struct value *slice[4], *choice[3], *dims[2];

    beams = lower_reshape(l, beams, &one, 1);
    dims[0] = lower_list(l, rows, 1);
    dims[1] = lower_dim(l, origins, 2);
    dims[0] = lower_op(l, "Concat", dims, 2);
    lower_int(l, "axis", 0);
    slice[0] = lower_two(l, "Reshape", origins, dims[0]);
    slice[1] = lower_list(l, &zero, 1);
    slice[2] = lower_dim(l, past, 2);
    slice[3] = lower_list(l, &one, 1);
    first = lower_two(l, "Mul", lower_two(l, "Div", own, beams), beams);
    choice[0] = lower_two(l, "Less", count_up(l, slice[2]), place);
    choice[1] = lower_two(l, "Add", first, lower_op(l, "Slice", slice, 4));
    choice[2] = own;
    origins = lower_unsqueeze(l, lower_op(l, "Where", choice, 3), outer, 2);
    origins = lower_two(l, "Expand", origins, lower_one(l, "Shape", past));
    past = lower_two(l, "GatherElements", past, origins);
    lower_int(l, "axis", 0);
    return past;
}

/* Keys and values, of which each input is a step or, where they are not this sequence's own, all. */
static bool take_step(struct lower *l, struct heads *h)
{
    static const int64_t zero = 0;
    struct value *parts[] = {lower_input(l, 0), lower_input(l, 1), lower_input(l, 2)};
    struct value *row = lower_input(l, STEP_ROW), *added[3];
    bool is_cross = parts[1] && lower_rank(parts[1]) == 4;

    if (!parts[1] != !parts[2])
        lower_refuse(l, "its keys or values alone are left out");
    if (parts[1] && !is_cross && lower_rank(parts[1]) != 3)
        lower_refuse(l, "its keys do not have three or four dimensions that are known");
    if (!parts[1])
        split(l, parts[0], 2, NULL, parts);
    h->q = parts[0];
    h->k = parts[1];
    h->v = parts[2];
    if (!row)
        return is_cross;
    if (is_cross) { /* keys and values have theirs */
        struct value *inputs[] = {row, lower_list(l, &zero, 1), lower_dim(l, h->q, 2)};

        h->q = lower_two(l, "Add", h->q, lower_op(l, "Slice", inputs, 3));
        return true;
    }
    split_bias(l, row, h, added);
    h->q = lower_two(l, "Add", h->q, added[0]);
    h->k = lower_two(l, "Add", h->k, added[1]);
    h->v = lower_two(l, "Add", h->v, added[2]);
    return false;
}

/* The step is written into a past that has room for it. Returns how many steps there are then. */
static struct value *write_step(struct lower *l, struct heads *h, struct value **presents)
{
    static const int64_t one = 1;
    struct value *place = lower_cast(l, lower_input(l, STEP_PLACE), DTYPE_I64), *inputs[3];
    struct value **halves[] = {&h->k, &h->v};

    place = lower_reshape(l, place, &one, 1);
    inputs[2] = lower_two(l, "Expand", place, lower_dim(l, h->q, 0));
    for (uint32_t i = 0; i < 2; i++) {
        inputs[0] = lower_input(l, STEP_PAST + i);
        inputs[1] = *halves[i];
        presents[i] = lower_op(l, "TensorScatter", inputs, 3);
        lower_int(l, "axis", 2);
        *halves[i] = lower_input(l, STEP_BEAMS) && lower_input(l, STEP_ORIGINS)
                         ? of_beams(l, presents[i], place)
                         : presents[i];
    }
    return lower_two(l, "Add", inputs[2], lower_list(l, &one, 1));
}

/* What is added to scores is in those that the node tells; there are as many as steps. */
static void tell_scores(struct lower *l, struct value *scores, struct value *steps)
{
    static const int64_t zero = 0, last = 3;
    struct value *inputs[] = {scores, lower_list(l, &zero, 1), NULL, lower_list(l, &last, 1)};

    if (steps) {
        inputs[2] = lower_two(l, "Gather", steps, lower_list(l, &zero, 1));
        scores = lower_op(l, "Slice", inputs, 4);
    }
    lower_done(l, 3, scores);
}

static void lower_step(struct lower *l)
{
    enum { MASKED = 2 };
    struct value *mask = lower_input(l, STEP_MASK), *presents[2] = {NULL}, *outputs[4] = {NULL};
    struct value *seen = NULL;
    bool shares = node_int(l->node, "past_present_share_buffer", 0) != 0, is_cross;
    float scale = node_float(l->node, "scale", 0.0f);
    struct heads h = {NULL};

    if (node_int(l->node, "num_heads", 0) < 1)
        lower_refuse(l, "attribute num_heads is missing");
    is_cross = take_step(l, &h);
    if (!is_cross) {
        h.k = step_heads(l, h.k, 1);
        h.v = step_heads(l, h.v, 2);
    }
    if (shares && !is_cross) {
        if (!lower_input(l, STEP_PAST) || !lower_input(l, STEP_PAST + 1) ||
            !lower_input(l, STEP_PLACE))
            lower_refuse(l, "its past or how long that is is left out");
        seen = write_step(l, &h, presents);
    } else if (!is_cross) {
        h.past_k = lower_input(l, STEP_PAST);
        h.past_v = lower_input(l, STEP_PAST + 1);
    }
    mask = mask ? key_mask(l, mask, NULL) : NULL;
    h.mask = join_masks(l, mask, lower_input(l, STEP_BIAS), h.q);
    struct value *inputs[] = {h.q, h.k, h.v, h.mask, h.past_k, h.past_v, seen};

    lower_many(l, "Attention", inputs, 7, outputs, lower_wants(l, 3) ? 4 : h.past_k ? 3 : 1);
    lower_int(l, "q_num_heads", node_int(l->node, "num_heads", 0));
    if (scale != 0.0f)
        lower_float(l, "scale", scale);
    if (lower_wants(l, 3))
        lower_int(l, "qk_matmul_output_mode", MASKED);
    lower_done(l, 0, outputs[0]);
    for (uint32_t i = 0; i < 2; i++)
        lower_done(l, 1 + i,
                   presents[i] ? presents[i]
                   : h.past_k  ? outputs[1 + i]
                   : i == 0    ? h.k
                               : h.v);
    if (lower_wants(l, 3))
        tell_scores(l, outputs[3], seen);
}

const struct lower_rule lower_attentions[] = {
    {{"com.microsoft.Attention", "MatMul, Add, Split, Attention"},
     2,
     7,
     2,
     "do_rotary mask_filter_value num_heads past_present_share_buffer qkv_hidden_sizes scale "
     "unidirectional",
     lower_attention},
    {{"com.microsoft.DecoderMaskedMultiHeadAttention", "Add, TensorScatter, Attention"},
     1,
     11,
     4,
     "mask_filter_value num_heads output_qk past_present_share_buffer scale",
     lower_step},
    {{"com.microsoft.MultiHeadAttention", "Add, Attention"},
     1,
     10,
     3,
     "mask_filter_value num_heads scale unidirectional",
     lower_multi_head},
    {{"com.microsoft.QAttention", "MatMulInteger, Mul, Add, Split, Attention"},
     5,
     9,
     2,
     "do_rotary mask_filter_value num_heads past_present_share_buffer scale unidirectional",
     lower_attention_quantised},
    {{"com.microsoft.RotaryEmbedding", "RotaryEmbedding"},
     4,
     4,
     1,
     "interleaved is_packed_batching num_heads rotary_embedding_dim scale",
     lower_rotary},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
