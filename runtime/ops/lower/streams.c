/* SPDX-License-Identifier: Apache-2.0 */
/* Models whose layers have several streams beside each other: what mixes and norms them, gates of memories that are
 * looked up by hashes of the newest words, and routers of experts by groups. Computed in float32. */
#include <math.h>

#include "runtime/ops/lower/rules.h"

static struct value *wide(struct lower *l, struct value *x)
{
    return lower_cast(l, x, DTYPE_F32);
}

/* As input 0's type is. */
static struct value *narrow(struct lower *l, struct value *x)
{
    return lower_two(l, "CastLike", x, lower_input(l, 0));
}

/* The size of the last axis, -1 where it is not known. */
static int64_t last_of(const struct value *x)
{
    return x && x->shape.rank > 0 ? x->shape.dims[x->shape.rank - 1] : -1;
}

/* The last axis as so many streams: [..., streams, numbers]. */
static struct value *apart(struct lower *l, struct value *x, int64_t streams)
{
    int64_t all = last_of(lower_input(l, 0));
    struct value *count = lower_list(l, &streams, 1), *shape = lower_one(l, "Shape", x), *dims[3];

    if (streams < 1 || (all >= 0 && all % streams != 0)) {
        lower_refuse(l, "its last axis is not of %lld branches", (long long)streams);
        return NULL;
    }
    dims[0] = lower_part(l, shape, 0, -1);
    dims[1] = count;
    dims[2] = lower_two(l, "Div", lower_part(l, shape, -1, INT64_MAX), count);
    shape = lower_op(l, "Concat", dims, 3);
    lower_int(l, "axis", 0);
    x = lower_two(l, "Reshape", x, shape);
    lower_int(l, "allowzero", 1); /* a 0 in the shape is one */
    return x;
}

/* Input 0 with streams as its last axis but one, and how many axes it has then. */
static struct value *streams_of(struct lower *l, int *out_rank)
{
    int64_t streams = node_int(l->node, "num_branches", 0);
    struct value *x = wide(l, lower_input(l, 0));
    int rank = lower_rank(lower_input(l, 0));

    *out_rank = rank + (streams != 0);
    if (rank < (streams != 0 ? 1 : 2) || *out_rank > SHAPE_MAX_RANK)
        lower_refuse(l, "how many axes its input has is not known, or does not do");
    return streams != 0 ? apart(l, x, streams) : x;
}

/* Of each stream, or of each of its numbers, as an operand beside [..., streams, numbers]. */
static struct value *gates_of(struct lower *l, uint32_t i, int rank)
{
    static const int64_t last = -1;
    int64_t streams = node_int(l->node, "num_branches", 0);
    struct value *gates = wide(l, lower_input(l, i));
    int axes = lower_rank(lower_input(l, i));

    if (axes == rank)
        return gates;
    if (axes != rank - 1)
        lower_refuse(l, "the axes of input %u are not known, or do not fit its streams", i);
    return streams != 0 ? apart(l, gates, streams) : lower_unsqueeze(l, gates, &last, 1);
}

static void lower_reduced(struct lower *l)
{
    int rank;
    float scale = node_float(l->node, "reduction_scale", 1.0f);
    struct value *x = streams_of(l, &rank);
    struct value *y = lower_sum(l, lower_two(l, "Mul", x, gates_of(l, 1, rank)), -2, false);

    if (scale != 1.0f)
        y = lower_two(l, "Mul", y, lower_number(l, scale));
    lower_done(l, 0, narrow(l, y));
}

static void lower_mixed(struct lower *l)
{
    static const int64_t behind = -2;
    int64_t perm[SHAPE_MAX_RANK];
    int rank;
    struct value *x = streams_of(l, &rank), *y;

    if (l->rc == 0 && lower_input(l, 3)) {
        for (int i = 0; i < rank; i++)
            perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
        y = lower_one(l, "Transpose", wide(l, lower_input(l, 3)));
        lower_ints(l, "perm", perm, (size_t)rank);
        x = lower_two(l, "MatMul", y, x);
    }
    y = lower_unsqueeze(l, wide(l, lower_input(l, 1)), &behind, 1);
    y = lower_two(l, "Add", x, lower_two(l, "Mul", gates_of(l, 2, rank), y));
    lower_done(l, 0, narrow(l, lower_shaped_like(l, y, lower_input(l, 0))));
}

/* x / rms(x) along its last axis. */
static struct value *normed(struct lower *l, struct value *x)
{
    struct value *y = lower_two(l, "Expand", lower_number(l, 1.0f), lower_dim(l, x, -1));

    y = lower_two(l, "RMSNormalization", x, y);
    lower_float(l, "epsilon", node_float(l->node, "epsilon", 1e-5f));
    return y;
}

static void lower_normed(struct lower *l)
{
    static const int64_t rest = -1;
    int rank, axes;
    struct value *x = streams_of(l, &rank), *scale = lower_input(l, 1), *y = normed(l, x), *dims[2];

    axes = scale ? lower_rank(scale) : 2;
    if (axes != 1 && axes != 2)
        lower_refuse(l, "its scale does not have one or two axes that are known");
    if (axes == 1) { /* of a stream, or of all of them */
        dims[0] = lower_list(l, &rest, 1);
        dims[1] = lower_dim(l, x, -1);
        dims[0] = lower_op(l, "Concat", dims, 2);
        lower_int(l, "axis", 0);
        scale = lower_two(l, "Reshape", scale, dims[0]);
    }
    if (scale)
        y = lower_two(l, "Mul", y, wide(l, scale));
    lower_done(l, 0, narrow(l, lower_shaped_like(l, y, lower_input(l, 0))));
}

/* Gates of a memory by how alike its keys and the streams are: [batch, steps, streams, numbers]. */
static void lower_memory(struct lower *l)
{
    static const int64_t streams = 2;
    struct value *sides[2], *y, *size;

    for (uint32_t i = 0; i < 2; i++)
        sides[i] = lower_two(l, "Mul", normed(l, wide(l, lower_input(l, i))),
                             wide(l, lower_input(l, 3 + i)));
    size = lower_one(l, "Sqrt", wide(l, lower_dim(l, lower_input(l, 0), -1)));
    y = lower_sum(l, lower_two(l, "Mul", sides[0], sides[1]), -1, true);
    y = lower_two(l, "Div", y, size);
    size = lower_two(l, "Max", lower_one(l, "Abs", y), lower_number(l, 1e-6f));
    y = lower_two(l, "Mul", lower_one(l, "Sign", y), lower_one(l, "Sqrt", size));
    y = lower_two(l, "Mul", lower_one(l, "Sigmoid", y),
                  lower_unsqueeze(l, wide(l, lower_input(l, 2)), &streams, 1));
    lower_done(l, 0, narrow(l, y));
    if (!lower_wants(l, 1))
        return;
    if (!lower_input(l, 5))
        lower_refuse(l, "its second output is wanted without a scale");
    lower_done(l, 1, narrow(l, lower_two(l, "Mul", normed(l, y), wide(l, lower_input(l, 5)))));
}

/* --- Hashes of the newest words --- */

/* From place `begin` on as many as there are ids. */
static struct value *shifted(struct lower *l, struct value *words, int64_t begin)
{
    static const int64_t one = 1;
    struct value *inputs[] = {words, lower_list(l, &begin, 1), NULL, lower_list(l, &one, 1)};

    inputs[2] = lower_two(l, "Add", lower_dim(l, lower_input(l, 0), 1), inputs[1]);
    return lower_op(l, "Slice", inputs, 4);
}

/* Words before the first are those of the past, or all `pad_id`. */
static struct value *words_before(struct lower *l, int64_t count)
{
    struct value *dims[2], *pad;
    int64_t id = node_int(l->node, "pad_id", 0);

    if (lower_input(l, 3))
        return lower_input(l, 3);
    dims[0] = lower_dim(l, lower_input(l, 0), 0);
    dims[1] = lower_list(l, &count, 1);
    dims[0] = lower_op(l, "Concat", dims, 2);
    lower_int(l, "axis", 0);
    pad = lower_two(l, "CastLike", lower_list(l, &id, 1), lower_input(l, 0));
    return lower_two(l, "Expand", pad, dims[0]);
}

/* Whether the last axis of an input, as far as it is known, has at least, and where it has to, no more than so many. */
static bool has_numbers(const struct value *x, int rank, int64_t least, bool is_exact)
{
    int64_t given = last_of(x);

    return !x || ((x->shape.rank < 0 || x->shape.rank == rank) &&
                  (given < 0 || given == least || (given > least && !is_exact)));
}

static void check_hashes(struct lower *l, int64_t most, int64_t heads)
{
    static const struct {
        uint32_t input;
        int rank;
    } lists[] = {{1, 1}, {2, 1}, {3, 2}, {4, 1}};
    const int64_t counts[] = {most, (most - 1) * heads, most - 1, (most - 1) * heads};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        if (!has_numbers(lower_input(l, lists[i].input), lists[i].rank, counts[i], i > 0))
            lower_refuse(l, "input %u does not have %lld numbers", lists[i].input,
                         (long long)counts[i]);
    if (lower_input(l, 5) || lower_input(l, 6))
        lower_refuse(l, "it has words or segments that end what is before them");
}

static void lower_hashes(struct lower *l)
{
    enum { MOST = 64 };
    static const int64_t last = -1, end = INT64_MAX;
    int64_t most = node_int(l->node, "max_ngram_size", 0);
    int64_t heads = node_int(l->node, "n_head_per_ngram", 0);
    struct value *inputs[4], *parts[MOST], *words, *mix, *y;

    if (most < 2 || most > MOST || heads < 1 || heads > INT32_MAX)
        lower_refuse(l, "its attributes max_ngram_size and n_head_per_ngram are no sizes");
    else
        check_hashes(l, most, heads);
    if (l->rc < 0)
        return;
    inputs[0] = words_before(l, most - 1);
    inputs[1] = lower_input(l, 0);
    words = lower_op(l, "Concat", inputs, 2);
    lower_int(l, "axis", 1);
    mix = lower_two(l, "Mul", lower_input(l, 0), lower_part(l, lower_input(l, 1), 0, 1));
    for (int64_t i = 1; i < most; i++) {
        y = lower_two(l, "Mul", shifted(l, words, most - 1 - i),
                      lower_part(l, lower_input(l, 1), i, i + 1));
        mix = lower_two(l, "BitwiseXor", mix, y);
        y = lower_part(l, lower_input(l, 2), (i - 1) * heads, i * heads);
        y = lower_two(l, "Mod", lower_unsqueeze(l, mix, &last, 1), y);
        if (lower_input(l, 4))
            y = lower_two(l, "Add", y,
                          lower_part(l, lower_input(l, 4), (i - 1) * heads, i * heads));
        parts[i - 1] = y;
    }
    y = lower_op(l, "Concat", parts, (uint32_t)most - 1);
    lower_int(l, "axis", 2);
    lower_done(l, 0, y);
    inputs[0] = words;
    inputs[1] = lower_list(l, (const int64_t[]){1 - most}, 1);
    inputs[2] = lower_list(l, &end, 1);
    inputs[3] = lower_list(l, (const int64_t[]){1}, 1);
    lower_done(l, 1, lower_op(l, "Slice", inputs, 4));
}

/* --- Experts by groups --- */

/* The `count` largest along the last axis: they, and their places. */
static void largest(struct lower *l, struct value *x, int64_t count, struct value *outputs[2])
{
    struct value *inputs[] = {x, lower_list(l, &count, 1)};

    lower_many(l, "TopK", inputs, 2, outputs, 2);
    lower_int(l, "axis", -1);
}

/* Numbers put at places of the last of two axes of `onto`. */
static struct value *put(struct lower *l, struct value *onto, struct value *places,
                         struct value *numbers)
{
    struct value *inputs[] = {onto, places, numbers},
                 *y = lower_op(l, "ScatterElements", inputs, 3);

    lower_int(l, "axis", 1);
    return y;
}

static struct value *filled(struct lower *l, float number, struct value *like)
{
    return lower_two(l, "Expand", lower_number(l, number), lower_one(l, "Shape", like));
}

/* The experts of groups that are not chosen are -inf. */
static struct value *of_groups(struct lower *l, struct value *scores, int64_t groups, int64_t each)
{
    static const int64_t last = -1;
    int64_t top = node_int(l->node, "group_topk", 2), chosen = node_int(l->node, "topk_group", 1);
    const int64_t dims[] = {0, groups, each};
    struct value *outputs[2], *y, *inputs[3];

    if (groups == 1)
        return scores;
    y = lower_reshape(l, scores, dims, 3);
    largest(l, y, top < each ? top : each, outputs);
    outputs[0] = lower_sum(l, outputs[0], -1, false);
    inputs[0] = filled(l, 0.0f, outputs[0]);
    largest(l, outputs[0], chosen, outputs);
    inputs[0] = put(l, inputs[0], outputs[1], filled(l, 1.0f, outputs[1]));
    inputs[0] = lower_unsqueeze(l, lower_cast(l, inputs[0], DTYPE_BOOL), &last, 1);
    inputs[1] = y;
    inputs[2] = lower_number(l, -INFINITY);
    return lower_shaped_like(l, lower_op(l, "Where", inputs, 3), scores);
}

/* How many experts there are; -1 where that is not known, which groups have to. */
static int64_t count_experts(struct lower *l)
{
    int64_t experts = last_of(lower_input(l, 1)), groups = node_int(l->node, "n_group", 1);
    int64_t top = node_int(l->node, "top_k", 0), chosen = node_int(l->node, "topk_group", 1);
    bool is_wrong = groups < 1 || chosen < 1 || chosen > groups || top < 1 ||
                    node_int(l->node, "group_topk", 2) < 1;

    if (is_wrong || (experts >= 0 && (experts % groups != 0 || top > experts / groups * chosen)))
        lower_refuse(l, "its experts, groups and how many are chosen do not fit together");
    else if (experts < 0 && groups > 1)
        lower_refuse(l, "how many experts its groups have is not known");
    return experts;
}

static void lower_router(struct lower *l)
{
    static const int64_t turned[] = {1, 0}, rest = -1;
    int64_t experts = count_experts(l), groups = node_int(l->node, "n_group", 1);
    struct value *x = wide(l, lower_input(l, 0)), *scores, *y, *outputs[2], *rows[2];

    if (l->rc < 0)
        return;
    if (lower_input(l, 2)) {
        struct value *weights = lower_one(l, "Transpose", wide(l, lower_input(l, 2)));

        lower_ints(l, "perm", turned, 2);
        x = lower_two(l, "MatMul", x, weights);
    }
    rows[0] = lower_list(l, &rest, 1);
    rows[1] = lower_dim(l, lower_input(l, 1), 0);
    rows[0] = lower_op(l, "Concat", rows, 2);
    lower_int(l, "axis", 0);
    x = lower_one(l, "Sigmoid", lower_two(l, "Reshape", x, rows[0]));
    scores = lower_two(l, "Add", x, lower_input(l, 1));
    lower_done(l, 1, scores);
    lower_done(l, 2, x);
    if (!lower_wants(l, 0))
        return;
    y = of_groups(l, scores, groups, experts / groups);
    largest(l, y, node_int(l->node, "top_k", 0), outputs);
    y = lower_two(l, "GatherElements", x, outputs[1]);
    lower_int(l, "axis", 1);
    y = lower_one(l, "Log", lower_two(l, "Max", y, lower_number(l, 1e-20f)));
    x = filled(l, node_float(l->node, "router_sentinel", -10000.0f), x);
    lower_done(l, 0, narrow(l, put(l, x, outputs[1], y)));
}

#define MICROSOFT(op, what)                                                                        \
    {                                                                                              \
        "com.microsoft." op, what                                                                  \
    }

const struct lower_rule lower_streams[] = {
    {MICROSOFT("BranchwiseRMSNorm", "RMSNormalization, Mul"), 1, 2, 1, "epsilon num_branches",
     lower_normed},
    {MICROSOFT("EngramGate", "RMSNormalization, Mul, ReduceSum, Sqrt, Sigmoid"), 5, 6, 2, "epsilon",
     lower_memory},
    {MICROSOFT("HyperConnectionPostMix", "MatMul, Mul, Add"), 3, 4, 1, "num_branches", lower_mixed},
    {MICROSOFT("HyperConnectionPreMix", "Mul, ReduceSum"), 2, 2, 1, "num_branches reduction_scale",
     lower_reduced},
    {MICROSOFT("MoEGroupRouter", "Sigmoid, Add, TopK, ScatterElements, Log"), 2, 3, LOWER_ANY,
     "group_topk n_group router_sentinel top_k topk_group", lower_router},
    {MICROSOFT("NGramHashMapping", "Concat, Slice, Mul, BitwiseXor, Mod"), 3, 7, 2,
     "max_ngram_size n_head_per_ngram pad_id reset_on_eos", lower_hashes},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
