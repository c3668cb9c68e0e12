/* SPDX-License-Identifier: Apache-2.0 */
/* GatedDeltaNet of com.microsoft: linear attention whose queries, keys and values come token by token, with what makes
 * decays and rates of their projections. Computed in float32. */
#include <math.h>
#include <string.h>

#include "runtime/ops/lower/rules.h"

enum { Q, K, V, BOUNDS, DECAY, BETA, STATE, A_LOG, DT_BIAS, CAPTURED, ACTIVE };

struct delta {
    int64_t heads, channels, v_channels; /* of values; of queries and keys */
    int axes;                            /* of the node's tokens: one, or of batches and steps */
    struct value *tokens;                /* [batch, steps] */
    struct value *x[3];
};

static struct value *whole(struct lower *l, int64_t number)
{
    return lower_list(l, &number, 1);
}

/* x as `shape`, behind which so many dims follow. */
static struct value *shaped(struct lower *l, struct value *x, struct value *shape,
                            const int64_t *dims, size_t count)
{
    shape = lower_two(l, "Concat", shape, lower_list(l, dims, count));
    lower_int(l, "axis", 0);
    x = lower_two(l, "Reshape", x, shape);
    for (size_t i = 0; i < count; i++)
        if (dims[i] < 0)
            return x;
    lower_int(l, "allowzero", 1); /* a 0 in the shape is one */
    return x;
}

/* The size of an axis, counted from the last one, 0; of what a Reshape makes, too. -1: not known. */
static int64_t size_of(const struct value *x, int64_t axis)
{
    struct tensor_view dims;

    if (x && x->shape.rank > axis)
        return x->shape.dims[x->shape.rank - 1 - axis];
    if (!x || !x->producer || strcmp(x->producer->op_type, "Reshape") != 0 ||
        !lower_content(node_input(x->producer, 1), &dims) || dims.dtype != DTYPE_I64 ||
        dims.shape.rank != 1 || dims.shape.dims[0] <= axis)
        return -1;
    axis = ((const int64_t *)dims.data)[dims.shape.dims[0] - 1 - axis];
    return axis > 0 ? axis : -1;
}

static int64_t known(int64_t a, int64_t b)
{
    return a > 0 ? a : b;
}

static void read_sizes(struct lower *l, struct delta *d)
{
    const struct value *state = lower_input(l, STATE);

    d->heads = known(size_of(state, 2), size_of(lower_input(l, V), 1));
    d->v_channels = known(size_of(state, 1), size_of(lower_input(l, V), 0));
    d->channels = known(size_of(state, 0), size_of(lower_input(l, K), 0));
    if (d->heads < 1 || d->channels < 1 || d->v_channels < 1)
        lower_refuse(l, "how many heads and channels it has is not known");
    if (lower_input(l, BOUNDS) && (!state || state->shape.rank != 4 || state->shape.dims[0] != 1))
        lower_refuse(l, "its sequences are of several lengths");
    if (node_int(l->node, "state_update_capacity", 0) != 0 || lower_input(l, CAPTURED))
        lower_refuse(l, "what its steps change is wanted");
    if (!lower_input(l, K) != !lower_input(l, V))
        lower_refuse(l, "its keys or values alone are left out");
}

/* Batches and their steps: the first two axes of four, or the first of three, of which each batch has as many. */
static void find_tokens(struct lower *l, struct delta *d)
{
    int rank = lower_rank(lower_input(l, Q)) + (lower_input(l, K) ? 0 : 1);
    struct value *shape = lower_one(l, "Shape", lower_input(l, Q)), *parts[2];

    if (rank != 3 && rank != 4)
        lower_refuse(l, "its queries do not have three or four axes that are known");
    if (rank == 3 && !lower_input(l, STATE))
        lower_refuse(l, "its state, which says how many batches there are, is left out");
    d->axes = rank - 2;
    d->tokens = lower_part(l, shape, 0, 2);
    if (rank == 4 || l->rc < 0)
        return;
    parts[0] = lower_dim(l, lower_input(l, STATE), 0);
    parts[1] = lower_two(l, "Div", lower_part(l, shape, 0, 1), parts[0]);
    d->tokens = lower_op(l, "Concat", parts, 2);
    lower_int(l, "axis", 0);
}

/* Decays that are bounded, as of Kimi's attention. */
static bool is_bounded(const struct lower *l)
{
    const char *name = node_string(l->node, "gate_activation", "none");

    return strcmp(name, "sigmoid") == 0 || strcmp(name, "kda") == 0;
}

/* x / sqrt(sum of squares + epsilon) along the last axis. ONNX Runtime has another epsilon of bounded decays. */
static struct value *normed(struct lower *l, const struct delta *d, struct value *x)
{
    struct value *scale;
    float *data = lower_data(l, DTYPE_F32, &(struct shape){1, {d->channels}}, &scale);

    for (int64_t i = 0; data && i < d->channels; i++)
        data[i] = 1.0f / sqrtf((float)d->channels);
    x = lower_two(l, "RMSNormalization", x, scale);
    lower_float(l, "epsilon", (is_bounded(l) ? 1e-6f : 1e-12f) / (float)d->channels);
    return x;
}

/* How many heads keys have; -1 where that is not known. */
static int64_t count_keys(const struct lower *l, const struct delta *d)
{
    int64_t all = size_of(lower_input(l, Q), 0) - d->heads * d->v_channels;

    if (lower_input(l, K))
        return size_of(lower_input(l, K), 1);
    return all > 0 && all % (2 * d->channels) == 0 ? all / (2 * d->channels) : -1;
}

/* Queries or keys, [batch, steps, heads, channels], as those of all heads of values, of which neighbours share one. */
static struct value *repeated(struct lower *l, const struct delta *d, struct value *x)
{
    static const int64_t behind = 3;
    const int64_t flat = d->heads * d->channels;
    int64_t heads = count_keys(l, d);
    struct value *dims[4];

    if (heads != d->heads) {
        dims[1] = lower_dim(l, x, 2);
        dims[2] = lower_two(l, "Div", whole(l, d->heads), dims[1]);
        dims[0] = d->tokens;
        dims[3] = whole(l, d->channels);
        dims[0] = lower_op(l, "Concat", dims, 4);
        lower_int(l, "axis", 0);
        x = lower_two(l, "Expand", lower_unsqueeze(l, x, &behind, 1), dims[0]);
    }
    return shaped(l, x, d->tokens, &flat, 1);
}

/* Queries, keys and values as [batch, steps, heads * channels]. */
static void take_operands(struct lower *l, struct delta *d)
{
    const int64_t v_flat = d->heads * d->v_channels;
    struct value *all = lower_cast(l, lower_input(l, Q), DTYPE_F32), *count, *inputs[2];
    bool is_packed = !lower_input(l, K);

    d->x[Q] = all;
    if (is_packed) { /* queries and keys have as many channels each */
        count = lower_two(l, "Sub", lower_dim(l, all, -1), whole(l, v_flat));
        count = lower_two(l, "Div", count, whole(l, 2));
        inputs[1] = whole(l, v_flat);
        inputs[0] = lower_op(l, "Concat", (struct value *[]){count, count, inputs[1]}, 3);
        lower_int(l, "axis", 0);
        lower_many(l, "Split", (struct value *[]){all, inputs[0]}, 2, d->x, 3);
        lower_int(l, "axis", -1);
    }
    for (uint32_t i = Q; i <= V; i++) {
        if (!is_packed)
            d->x[i] = lower_cast(l, lower_input(l, i), DTYPE_F32);
        if (i == V) {
            d->x[i] = shaped(l, d->x[i], d->tokens, &v_flat, 1);
            continue;
        }
        d->x[i] =
            shaped(l, d->x[i], d->tokens, (const int64_t[]){count_keys(l, d), d->channels}, 2);
        if (node_int(l->node, "qk_l2_norm", 0) != 0)
            d->x[i] = normed(l, d, d->x[i]);
        d->x[i] = repeated(l, d, d->x[i]);
    }
}

/* Logarithms of what is left of the state after a step: [batch, steps, heads, 1 or channels], then flat. */
static struct value *decay_of(struct lower *l, const struct delta *d)
{
    const char *name = node_string(l->node, "gate_activation", "none");
    int behind = lower_rank(lower_input(l, DECAY)) - d->axes;
    const int64_t column[] = {d->heads, 1};
    const int64_t wide[] = {d->heads, behind == 1 ? 1 : behind == 2 ? d->channels : -1};
    const int64_t flat = wide[1] < 0 ? -1 : d->heads * wide[1];
    struct value *x = lower_input(l, DECAY), *rate = lower_input(l, A_LOG);
    struct value *bias = lower_input(l, DT_BIAS);
    bool is_softplus = strcmp(name, "softplus") == 0 || strcmp(name, "qwen") == 0;

    if (!x)
        return NULL;
    x = shaped(l, lower_cast(l, x, DTYPE_F32), d->tokens, wide, 2);
    if (strcmp(name, "none") == 0)
        return shaped(l, x, d->tokens, &flat, 1);
    if (!is_softplus && !is_bounded(l))
        lower_refuse(l, "attribute gate_activation is '%.40s'", name);
    if (!rate)
        lower_refuse(l, "its a_log is left out");
    if (l->rc < 0)
        return NULL;
    rate = lower_one(l, "Exp", lower_reshape(l, rate, column, 2));
    if (bias)
        x = lower_two(l, "Add", x, lower_reshape(l, bias, (const int64_t[]){d->heads, -1}, 2));
    if (is_softplus) {
        x = lower_two(l, "Mul", lower_one(l, "Neg", rate), lower_one(l, "Softplus", x));
    } else {
        x = lower_one(l, "Sigmoid", lower_two(l, "Mul", rate, x));
        x = lower_two(l, "Mul", x, lower_number(l, node_float(l->node, "gate_lower_bound", -5.0f)));
    }
    return shaped(l, x, d->tokens, &flat, 1);
}

static struct value *beta_of(struct lower *l, const struct delta *d)
{
    const char *name = node_string(l->node, "beta_activation", "none");
    struct value *x = lower_input(l, BETA);

    if (!x)
        return NULL;
    x = shaped(l, lower_cast(l, x, DTYPE_F32), d->tokens, &d->heads, 1);
    if (strcmp(name, "none") == 0)
        return x;
    if (strcmp(name, "sigmoid") != 0)
        lower_refuse(l, "attribute beta_activation is '%.40s'", name);
    return lower_one(l, "Sigmoid", x);
}

/* States have channels of values first here. */
static struct value *turned(struct lower *l, struct value *x)
{
    static const int64_t perm[] = {0, 1, 3, 2};

    if (!x)
        return NULL;
    x = lower_one(l, "Transpose", x);
    lower_ints(l, "perm", perm, 4);
    return x;
}

static void lower_delta(struct lower *l)
{
    const char *rule = node_string(l->node, "update_rule", "gated_delta");
    float scale = node_float(l->node, "scale", 0.0f);
    struct delta d = {0};
    struct value *outputs[2], *y, *shape;

    read_sizes(l, &d);
    if (l->rc == 0)
        find_tokens(l, &d);
    if (l->rc < 0)
        return;
    take_operands(l, &d);
    struct value *inputs[] = {d.x[Q],
                              d.x[K],
                              d.x[V],
                              turned(l, lower_input(l, STATE)),
                              strncmp(rule, "gated", 5) == 0 ? decay_of(l, &d) : NULL,
                              strstr(rule, "delta") ? beta_of(l, &d) : NULL};

    lower_many(l, "LinearAttention", inputs, 6, outputs, 2);
    lower_int(l, "q_num_heads", d.heads);
    lower_int(l, "kv_num_heads", d.heads);
    lower_string(l, "update_rule", rule);
    if (scale != 0.0f)
        lower_float(l, "scale", scale);
    y = lower_two(l, "CastLike", outputs[0], lower_input(l, Q));
    shape = lower_one(l, "Shape", lower_input(l, Q));
    shape = lower_part(l, shape, 0, lower_input(l, K) ? -2 : -1);
    lower_done(l, 0, shaped(l, y, shape, (const int64_t[]){d.heads, d.v_channels}, 2));
    lower_done(l, 1, turned(l, outputs[1]));
}

const struct lower_rule lower_deltas[] = {
    {{"com.microsoft.GatedDeltaNet",
      "Split, RMSNormalization, Expand, Exp, Softplus, Mul, LinearAttention"},
     1,
     11,
     2,
     "beta_activation chunk_size gate_activation gate_lower_bound qk_l2_norm scale "
     "state_update_capacity update_rule",
     lower_delta},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
