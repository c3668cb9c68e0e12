/* SPDX-License-Identifier: Apache-2.0 */
/* GroupQueryAttention and SparseAttention of com.microsoft: keys and values of a past that may be longer than what is
 * used of it, lengths of each batch, rotary positions, blocks of keys that a head sees. */
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
    struct value *cosines, *sines, *places; /* inputs of the node; NULL: left out */
    struct value *total; /* how many steps there are at most; NULL: the past has room for them */
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

/* 0, 1, ... below a count. */
static struct value *count_up(struct lower *l, struct value *count)
{
    struct value *inputs[] = {scalar_of(l, whole(l, 0)), scalar_of(l, count),
                              scalar_of(l, whole(l, 1))};

    return lower_op(l, "Range", inputs, 3);
}

static struct value *flat_list(struct lower *l, struct value *value)
{
    static const int64_t flat = -1;

    return lower_cast(l, lower_reshape(l, value, &flat, 1), DTYPE_I64);
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

/* How many of its last axis each of so many heads has; -1 where that is not known, which of no batches does not say. */
static int64_t channels_of(const struct value *x, int64_t heads)
{
    return x && x->shape.rank == 3 && x->shape.dims[2] > 0 && x->shape.dims[2] % heads == 0
               ? x->shape.dims[2] / heads
               : -1;
}

/* [batch, steps, heads * channels] each, as [batch, steps, heads, channels]: of one input, or three. */
static void take_operands(struct lower *l, struct grouped *g)
{
    int64_t heads[] = {g->heads, g->groups, g->groups};

    if (!lower_input(l, K)) {
        int64_t all = g->heads + 2 * g->groups;
        int64_t dims[] = {0, 0, all, channels_of(lower_input(l, Q), all)};

        lower_split(l, lower_reshape(l, lower_input(l, Q), dims, 4), 2, heads, 3, g->x);
        return;
    }
    for (uint32_t i = 0; i < 3; i++) {
        int64_t dims[] = {0, 0, heads[i], channels_of(lower_input(l, i), heads[i])};

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
static void find_first(struct lower *l, struct grouped *g, struct value *last)
{
    g->last = last;
    g->steps = lower_dim(l, g->x[Q], 1);
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

static struct value *turn(struct lower *l, const struct grouped *g, struct value *x,
                          struct value *places)
{
    struct value *inputs[] = {x, g->cosines, g->sines, places};
    const struct value *cosines = g->cosines;
    struct value *y = lower_op(l, "RotaryEmbedding", inputs, 4);

    lower_int(l, "interleaved", node_int(l->node, "rotary_interleaved", 0));
    if (cosines->shape.rank == 2 && cosines->shape.dims[1] > 0)
        lower_int(l, "rotary_embedding_dim", 2 * cosines->shape.dims[1]);
    return y;
}

static void place_operands(struct lower *l, struct grouped *g)
{
    static const int64_t perm[] = {0, 2, 1, 3};
    struct value *places = g->places;

    for (uint32_t i = 0; i < 3; i++) {
        g->x[i] = lower_one(l, "Transpose", g->x[i]);
        lower_ints(l, "perm", perm, 4);
    }
    if (node_int(l->node, "do_rotary", 0) == 0)
        return;
    places = places ? places : places_of(l, g);
    for (uint32_t i = Q; i <= K; i++)
        g->x[i] = turn(l, g, g->x[i], places);
}

/* The past with room for all steps behind it. */
static struct value *grow_past(struct lower *l, struct value *past, struct value *total)
{
    static const int64_t before[] = {0, 0, 0, 0, 0, 0}, after[] = {0}, one = 1;
    struct value *pads[3], *inputs[2];

    total = lower_reshape(l, lower_cast(l, total, DTYPE_I64), &one, 1);
    total = lower_two(l, "Sub", total, lower_dim(l, past, 2));
    total = lower_two(l, "Mul", total, /* not below 0 */
                      lower_cast(l, lower_two(l, "Greater", total, whole(l, 0)), DTYPE_I64));
    pads[0] = lower_list(l, before, 6);
    pads[1] = total;
    pads[2] = lower_list(l, after, 1);
    inputs[0] = past;
    inputs[1] = lower_op(l, "Concat", pads, 3);
    lower_int(l, "axis", 0);
    return lower_op(l, "Pad", inputs, 2);
}

/* The new steps written into the past, which grows where all steps do not fit. */
static struct value *present_of(struct lower *l, const struct grouped *g, struct value *past,
                                struct value *now)
{
    struct value *inputs[] = {past, now, g->first};

    if (!past)
        return now;
    if (g->total)
        inputs[0] = grow_past(l, past, g->total);
    past = lower_op(l, "TensorScatter", inputs, 3);
    lower_int(l, "axis", 2);
    return past;
}

/* Keys that each step sees: those up to its place, and not behind the last, of a window no more than
 * so many: [batch, 1, steps, keys]. */
static struct value *seen_of(struct lower *l, const struct grouped *g, struct value *keys)
{
    static const int64_t around[] = {1, 3}, batches[] = {-1, 1, 1, 1};
    int64_t window = node_int(l->node, "local_window_size", -1);
    struct value *places = lower_unsqueeze(l, places_of(l, g), around, 2);
    struct value *last = lower_reshape(l, g->last, batches, 4);
    struct value *key = count_up(l, lower_dim(l, keys, 2));
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
    struct value *sinks = lower_input(l, SINKS), *count = lower_dim(l, inputs[0], 2), *mask;
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

/* [batch, heads, steps, channels] as [batch, steps, heads * channels] */
static struct value *merge_heads(struct lower *l, const struct grouped *g, struct value *y)
{
    static const int64_t perm[] = {0, 2, 1, 3};
    const struct value *v = lower_input(l, V);
    int64_t channels =
        v ? channels_of(v, g->groups) : channels_of(lower_input(l, Q), g->heads + 2 * g->groups);
    const int64_t dims[] = {0, 0, channels > 0 ? g->heads * channels : -1};

    y = lower_one(l, "Transpose", y);
    lower_ints(l, "perm", perm, 4);
    return lower_reshape(l, y, dims, 3);
}

static void lower_grouped(struct lower *l)
{
    struct grouped g = {.heads = node_int(l->node, "num_heads", 0),
                        .groups = node_int(l->node, "kv_num_heads", 0),
                        .total = lower_input(l, TOTAL),
                        .cosines = lower_input(l, COSINES),
                        .sines = lower_input(l, SINES),
                        .places = lower_input(l, POSITIONS)};
    float scale = node_float(l->node, "scale", 0.0f), cap = node_float(l->node, "softcap", 0.0f);
    struct value *inputs[4], *keys, *values, *y;

    check_switches(l, &g);
    if (l->rc < 0)
        return;
    take_operands(l, &g);
    norm_heads(l, &g);
    find_first(l, &g, flat_list(l, lower_input(l, LAST)));
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
    lower_done(l, 0, merge_heads(l, &g, y));
    lower_done(l, 1, keys);
    lower_done(l, 2, values);
}

/* --- Blocks of keys --- */

enum { BLOCK_ROWS = 5, BLOCK_COLUMNS, BLOCK_TOTAL, BLOCK_TOTALS, BLOCK_COSINES, BLOCK_SINES };

/* Parts of the second of two axes. */
static struct value *slice_rows(struct lower *l, struct value *x, int64_t begin, int64_t end)
{
    struct value *inputs[] = {x, whole(l, begin), whole(l, end), whole(l, 1)};

    return lower_op(l, "Slice", inputs, 4);
}

static struct value *not_less(struct lower *l, struct value *a, struct value *b)
{
    return lower_one(l, "Not", lower_two(l, "Less", a, b));
}

/* Which blocks of keys each block of steps sees: [layouts, blocks, blocks]. Those of a step stand in the list of
 * columns from the number that the list of rows has for it up to the next one. */
static struct value *layouts_of(struct lower *l)
{
    static const int64_t last = 2;
    struct value *rows = lower_cast(l, lower_input(l, BLOCK_ROWS), DTYPE_I64);
    struct value *columns = lower_cast(l, lower_input(l, BLOCK_COLUMNS), DTYPE_I64);
    struct value *place = count_up(l, lower_dim(l, columns, 1)), *begins, *ends, *blocks;

    begins = lower_unsqueeze(l, slice_rows(l, rows, 0, -1), &last, 1);
    ends = lower_unsqueeze(l, slice_rows(l, rows, 1, INT64_MAX), &last, 1);
    rows = lower_two(l, "And", not_less(l, place, begins), lower_two(l, "Less", place, ends));
    blocks = count_up(l, lower_dim(l, begins, 1));
    columns = lower_two(l, "Equal", lower_unsqueeze(l, columns, &last, 1), blocks);
    rows =
        lower_two(l, "MatMul", lower_cast(l, rows, DTYPE_F32), lower_cast(l, columns, DTYPE_F32));
    return lower_two(l, "Greater", rows, lower_number(l, 0.0f));
}

/* The block of each place; those behind the last block are in it. */
static struct value *block_of(struct lower *l, struct value *place, struct value *blocks)
{
    int64_t size = node_int(l->node, "sparse_block_size", 0);
    struct value *last = lower_two(l, "Sub", blocks, whole(l, 1));

    return lower_two(l, "Min", lower_two(l, "Div", place, whole(l, size)), last);
}

/* Keys whose block each step sees by its head: [batch, heads, steps, keys]. Heads take the layouts in turn. */
static struct value *blocks_seen(struct lower *l, const struct grouped *g, struct value *keys)
{
    static const int64_t perm[] = {1, 0, 2, 3};
    struct value *layouts = layouts_of(l), *blocks = lower_dim(l, layouts, 1), *seen, *layout;

    layout = lower_two(l, "Mod", count_up(l, whole(l, g->heads)), lower_dim(l, layouts, 0));
    seen = lower_two(l, "Gather", layouts, block_of(l, count_up(l, lower_dim(l, keys, 2)), blocks));
    lower_int(l, "axis", 2);
    seen = lower_two(l, "Gather", seen, layout);
    seen = lower_two(l, "Gather", seen, block_of(l, places_of(l, g), blocks));
    lower_int(l, "axis", 1);
    seen = lower_one(l, "Transpose", seen);
    lower_ints(l, "perm", perm, 4);
    return seen;
}

/* Whether what is known of them is as many layouts. */
static bool has_layouts(const struct value *rows, const struct value *columns)
{
    const struct shape *r = &rows->shape, *c = &columns->shape;

    return (r->rank < 0 || r->rank == 2) && (c->rank < 0 || c->rank == 2) &&
           (r->rank < 0 || c->rank < 0 || r->dims[0] < 0 || c->dims[0] < 0 ||
            r->dims[0] == c->dims[0]);
}

static void check_sparse(struct lower *l, const struct grouped *g)
{
    if (g->heads < 1 || g->groups < 1 || g->heads % g->groups != 0)
        lower_refuse(l, "its numbers of heads do not fit together");
    if (node_int(l->node, "sparse_block_size", 0) < 1)
        lower_refuse(l, "attribute sparse_block_size is no size");
    if (!lower_input(l, K) != !lower_input(l, V))
        lower_refuse(l, "its keys or values alone are left out");
    if (node_int(l->node, "do_rotary", 0) != 0 && (!g->cosines || !g->sines))
        lower_refuse(l, "its cosines or sines are left out");
    for (uint32_t i = PAST_K; i <= BLOCK_TOTALS; i++)
        if (!lower_input(l, i))
            lower_refuse(l, "input %u is left out", i);
    if (l->rc == 0 && !has_layouts(lower_input(l, BLOCK_ROWS), lower_input(l, BLOCK_COLUMNS)))
        lower_refuse(l, "its rows and columns of blocks do not fit together");
}

static void lower_sparse(struct lower *l)
{
    struct grouped g = {.heads = node_int(l->node, "num_heads", 0),
                        .groups = node_int(l->node, "kv_num_heads", 0),
                        .cosines = lower_input(l, BLOCK_COSINES),
                        .sines = lower_input(l, BLOCK_SINES)};
    float scale = node_float(l->node, "scale", 0.0f);
    struct value *inputs[4], *y, *last;

    check_sparse(l, &g);
    if (l->rc < 0)
        return;
    take_operands(l, &g);
    last = lower_two(l, "Sub", flat_list(l, lower_input(l, BLOCK_TOTALS)), whole(l, 1));
    find_first(l, &g, last);
    place_operands(l, &g);
    inputs[0] = g.x[Q];
    inputs[1] = present_of(l, &g, lower_input(l, PAST_K), g.x[K]);
    inputs[2] = present_of(l, &g, lower_input(l, PAST_V), g.x[V]);
    inputs[3] = lower_two(l, "And", seen_of(l, &g, inputs[1]), blocks_seen(l, &g, inputs[1]));
    y = lower_op(l, "Attention", inputs, 4);
    if (scale != 0.0f)
        lower_float(l, "scale", scale);
    lower_done(l, 0, merge_heads(l, &g, y));
    lower_done(l, 1, inputs[1]);
    lower_done(l, 2, inputs[2]);
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
    {{"com.microsoft.SparseAttention", "RotaryEmbedding, TensorScatter, Attention"},
     9,
     11,
     3,
     "do_rotary kv_num_heads num_heads rotary_interleaved scale sparse_block_size",
     lower_sparse},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
