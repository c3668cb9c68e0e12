/* SPDX-License-Identifier: Apache-2.0 */
/* GroupQueryAttention of com.microsoft: keys and values of a past that may be longer than what is used
 * of it, lengths of each batch, rotary positions. */
#include <math.h>
#include <string.h>

#include "runtime/ops/lower/rules.h"

enum {
    Q,
    K,
    V,
    PAST_K,
    PAST_V,
    LAST,
    TOTAL,
    COSINES,
    SINES,
    POSITIONS,
    BIAS,
    SINKS,
    NORMS = 14,
    NORMS_END = 16
};

struct grouped {
    int64_t heads, groups;
    struct value *x[3];  /* [batch, heads, steps, channels] */
    struct value *last;  /* place of the last step, by batch: [batch] */
    struct value *first; /* of the first new step */
    struct value *steps; /* how many are new: [1] */
};

static struct value *scalar_of(struct lower *l, struct value *value)
{
    static const int64_t none;

    return lower_reshape(l, value, &none, 0);
}

static struct value *whole(struct lower *l, int64_t number)
{
    return lower_list(l, &number, 1);
}

/* Axis `axis` of the value's shape: [1]. */
static struct value *dim_of(struct lower *l, struct value *value, int64_t axis)
{
    return lower_two(l, "Gather", lower_one(l, "Shape", value), whole(l, axis));
}

/* 0, 1, ... below a count. */
static struct value *count_up(struct lower *l, struct value *count)
{
    struct value *inputs[] = {scalar_of(l, whole(l, 0)), scalar_of(l, count),
                              scalar_of(l, whole(l, 1))};

    return lower_op(l, "Range", inputs, 3);
}

static void check_switches(struct lower *l, const struct grouped *g)
{
    static const char *const off[] = {"sliding_window_cache", "qk_output", "kv_cache_bit_width"};

    if (g->heads < 1 || g->groups < 1 || g->heads % g->groups != 0)
        lower_refuse(l, "its numbers of heads do not fit together");
    for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++)
        if (node_int(l->node, off[i], 0) > 0)
            lower_refuse(l, "attribute %s is set", off[i]);
    if (strcmp(node_string(l->node, "k_quant_type", "NONE"), "NONE") != 0 ||
        strcmp(node_string(l->node, "v_quant_type", "NONE"), "NONE") != 0)
        lower_refuse(l, "its past is quantised");
    for (uint32_t i = SINKS + 1; i < l->node->input_count; i++)
        if (lower_input(l, i) && (i < NORMS || i >= NORMS_END))
            lower_refuse(l, "input %u is given", i);
    if (!lower_input(l, NORMS) != !lower_input(l, NORMS + 1))
        lower_refuse(l, "it norms its queries or keys alone");
    if (node_int(l->node, "causal", 1) == 0 && node_int(l->node, "local_window_size", -1) > 0)
        lower_refuse(l, "attribute causal is not set, and there is a window");
    if (!lower_input(l, LAST) || !lower_input(l, TOTAL))
        lower_refuse(l, "its lengths are left out");
    if (!lower_input(l, PAST_K) != !lower_input(l, PAST_V))
        lower_refuse(l, "it has a past of keys or of values alone");
    if (!lower_input(l, K) != !lower_input(l, V))
        lower_refuse(l, "its keys or values alone are left out");
    if (node_int(l->node, "do_rotary", 0) != 0 &&
        (!lower_input(l, COSINES) || !lower_input(l, SINES)))
        lower_refuse(l, "its cosines or sines are left out");
}

/* [batch, steps, heads * channels] each, as [batch, steps, heads, channels]: of one input, or three. */
static void take_operands(struct lower *l, struct grouped *g)
{
    int64_t heads[] = {g->heads, g->groups, g->groups};

    if (!lower_input(l, K)) {
        int64_t dims[] = {0, 0, g->heads + 2 * g->groups, -1};

        lower_split(l, lower_reshape(l, lower_input(l, Q), dims, 4), 2, heads, 3, g->x);
        return;
    }
    for (uint32_t i = 0; i < 3; i++) {
        int64_t dims[] = {0, 0, heads[i], -1};

        g->x[i] = lower_reshape(l, lower_input(l, i), dims, 4);
    }
}

/* Queries and keys, by heads: [batch, steps, heads, channels]. */
static void norm_heads(struct lower *l, struct grouped *g)
{
    static const char *const names[] = {"q_norm_epsilon", "k_norm_epsilon"};
    float epsilon = node_float(l->node, "qk_norm_epsilon", 1e-6f);

    for (uint32_t i = Q; i <= K && lower_input(l, NORMS + i); i++) {
        g->x[i] = lower_two(l, "RMSNormalization", g->x[i], lower_input(l, NORMS + i));
        lower_float(l, "epsilon", node_float(l->node, names[i], epsilon));
    }
}

/* Where each batch's new steps begin: its last step's place, less those before it; 0 of a prompt. */
static void find_first(struct lower *l, struct grouped *g)
{
    static const int64_t flat = -1;
    struct value *last = lower_cast(l, lower_reshape(l, lower_input(l, LAST), &flat, 1), DTYPE_I64);

    g->last = last;
    g->steps = dim_of(l, g->x[Q], 1);
    last = lower_two(l, "Sub", lower_two(l, "Add", last, whole(l, 1)), g->steps);
    g->first = lower_two(l, "Mul", last,
                         lower_cast(l, lower_two(l, "Greater", last, whole(l, 0)), DTYPE_I64));
}

/* The place of each new step: [batch, steps]. */
static struct value *places_of(struct lower *l, const struct grouped *g)
{
    static const int64_t column[] = {-1, 1};

    return lower_two(l, "Add", lower_reshape(l, g->first, column, 2), count_up(l, g->steps));
}

static struct value *turn(struct lower *l, struct value *x, struct value *places)
{
    struct value *inputs[] = {x, lower_input(l, COSINES), lower_input(l, SINES), places};
    const struct value *cosines = inputs[1];
    struct value *y = lower_op(l, "RotaryEmbedding", inputs, 4);

    lower_int(l, "interleaved", node_int(l->node, "rotary_interleaved", 0));
    if (cosines->shape.rank == 2 && cosines->shape.dims[1] > 0)
        lower_int(l, "rotary_embedding_dim", 2 * cosines->shape.dims[1]);
    return y;
}

static void place_operands(struct lower *l, struct grouped *g)
{
    static const int64_t perm[] = {0, 2, 1, 3};
    struct value *places = lower_input(l, POSITIONS);

    for (uint32_t i = 0; i < 3; i++) {
        g->x[i] = lower_one(l, "Transpose", g->x[i]);
        lower_ints(l, "perm", perm, 4);
    }
    if (node_int(l->node, "do_rotary", 0) == 0)
        return;
    places = places ? places : places_of(l, g);
    for (uint32_t i = Q; i <= K; i++)
        g->x[i] = turn(l, g->x[i], places);
}

/* The new steps written into the past, which grows where all steps do not fit. */
static struct value *present_of(struct lower *l, const struct grouped *g, struct value *past,
                                struct value *now)
{
    struct value *total = lower_cast(l, lower_input(l, TOTAL), DTYPE_I64), *pads[3], *inputs[3];
    static const int64_t before[] = {0, 0, 0, 0, 0, 0}, after[] = {0};
    int64_t one = 1;

    if (!past)
        return now;
    total = lower_reshape(l, total, &one, 1);
    total = lower_two(l, "Sub", total, dim_of(l, past, 2));
    total = lower_two(l, "Mul", total, /* not below 0 */
                      lower_cast(l, lower_two(l, "Greater", total, whole(l, 0)), DTYPE_I64));
    pads[0] = lower_list(l, before, 6);
    pads[1] = total;
    pads[2] = lower_list(l, after, 1);
    inputs[0] = past;
    inputs[1] = lower_op(l, "Concat", pads, 3);
    lower_int(l, "axis", 0);
    past = lower_op(l, "Pad", inputs, 2);
    inputs[0] = past;
    inputs[1] = now;
    inputs[2] = g->first;
    past = lower_op(l, "TensorScatter", inputs, 3);
    lower_int(l, "axis", 2);
    return past;
}

/* Keys that each step sees: those up to its place, and not behind the last, of a window no more than
 * so many: [batch, 1, steps, keys]. */
static struct value *seen_of(struct lower *l, const struct grouped *g, struct value *keys)
{
    static const int64_t rows[] = {0, 1, -1, 1}, batches[] = {-1, 1, 1, 1};
    int64_t window = node_int(l->node, "local_window_size", -1);
    struct value *places = lower_reshape(l, places_of(l, g), rows, 4);
    struct value *last = lower_reshape(l, g->last, batches, 4);
    struct value *key = count_up(l, dim_of(l, keys, 2));
    struct value *end = node_int(l->node, "causal", 1) ? lower_two(l, "Min", places, last) : last;
    struct value *seen = lower_one(l, "Not", lower_two(l, "Greater", key, end));

    if (window > 0)
        seen =
            lower_two(l, "And", seen,
                      lower_two(l, "Greater", key, lower_two(l, "Sub", places, whole(l, window))));
    return seen;
}

static struct value *add_bias(struct lower *l, struct value *seen)
{
    struct value *bias = lower_input(l, BIAS), *inputs[3];

    if (!bias)
        return seen;
    inputs[0] = seen;
    inputs[1] = bias;
    inputs[2] = lower_two(l, "CastLike", lower_number(l, -INFINITY), bias);
    return lower_op(l, "Where", inputs, 3);
}

/* Zeros before and behind along one axis of four; `before` is a list of one number. */
static struct value *pad_axis(struct lower *l, struct value *x, int64_t axis, struct value *before,
                              int64_t behind)
{
    static const int64_t zeros[] = {0, 0, 0, 0};
    struct value *pads[] = {lower_list(l, zeros, (size_t)axis), before, lower_list(l, zeros, 3),
                            whole(l, behind),
                            axis < 3 ? lower_list(l, zeros, (size_t)(3 - axis)) : NULL};
    struct value *inputs[] = {x, NULL};

    inputs[1] = lower_op(l, "Concat", pads, 5);
    lower_int(l, "axis", 0);
    return lower_op(l, "Pad", inputs, 2);
}

/* What softmax divides by has one more term, e to the sink of each head, or 1: as of a key more, of zeros, whose
 * value is zeros, too. inputs: of Attention, from the keys on. */
static void add_sinks(struct lower *l, struct value **inputs)
{
    static const int64_t by_head[] = {1, -1, 1, 1};
    struct value *sinks = lower_input(l, SINKS), *count = dim_of(l, inputs[0], 2), *mask;
    struct value *choice[3] = {inputs[2]};

    mask = lower_two(l, "CastLike", lower_number(l, 0.0f), inputs[0]);
    if (!lower_input(l, BIAS)) { /* of truths so far */
        choice[1] = mask;
        choice[2] = lower_two(l, "CastLike", lower_number(l, -INFINITY), inputs[0]);
        inputs[2] = lower_op(l, "Where", choice, 3);
    }
    for (int i = 0; i < 2; i++)
        inputs[i] = pad_axis(l, inputs[i], 2, whole(l, 0), 1);
    inputs[2] = pad_axis(l, inputs[2], 3, whole(l, 0), 1);
    if (!sinks)
        return;
    sinks = lower_two(l, "CastLike", lower_reshape(l, sinks, by_head, 4), inputs[0]);
    inputs[2] = lower_two(l, "Add", inputs[2], pad_axis(l, sinks, 3, count, 0));
}

static void lower_grouped(struct lower *l)
{
    static const int64_t perm[] = {0, 2, 1, 3}, dims[] = {0, 0, -1};
    struct grouped g = {.heads = node_int(l->node, "num_heads", 0),
                        .groups = node_int(l->node, "kv_num_heads", 0)};
    float scale = node_float(l->node, "scale", 0.0f), cap = node_float(l->node, "softcap", 0.0f);
    struct value *inputs[4], *keys, *values, *y;

    check_switches(l, &g);
    if (l->rc < 0)
        return;
    take_operands(l, &g);
    norm_heads(l, &g);
    find_first(l, &g);
    place_operands(l, &g);
    inputs[0] = g.x[Q];
    inputs[1] = present_of(l, &g, lower_input(l, PAST_K), g.x[K]);
    inputs[2] = present_of(l, &g, lower_input(l, PAST_V), g.x[V]);
    keys = inputs[1];
    values = inputs[2];
    inputs[3] = add_bias(l, seen_of(l, &g, inputs[1]));
    if (lower_input(l, SINKS) || node_int(l->node, "smooth_softmax", 0) > 0)
        add_sinks(l, inputs + 1);
    y = lower_op(l, "Attention", inputs, 4);
    if (scale != 0.0f)
        lower_float(l, "scale", scale);
    if (cap != 0.0f)
        lower_float(l, "softcap", cap);
    y = lower_one(l, "Transpose", y);
    lower_ints(l, "perm", perm, 4);
    lower_done(l, 0, lower_reshape(l, y, dims, 3));
    lower_done(l, 1, keys);
    lower_done(l, 2, values);
}

const struct lower_rule lower_groups[] = {
    {{"com.microsoft.GroupQueryAttention", "RotaryEmbedding, TensorScatter, Attention"},
     7,
     17,
     3,
     "causal do_rotary k_norm_epsilon k_quant_type kv_cache_bit_width kv_num_heads "
     "local_window_size num_heads q_norm_epsilon qk_norm_epsilon qk_output rotary_interleaved scale "
     "sliding_window_cache smooth_softmax softcap v_quant_type",
     lower_grouped},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
