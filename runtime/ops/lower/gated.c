/* SPDX-License-Identifier: Apache-2.0 */
/* What ONNX Runtime's builder of language models writes beside attention: norms and sums with gates, linear
 * attention, convolutions that carry a state, positions of three kinds. */
#include <string.h>

#include "runtime/ops/lower/rules.h"

/* As many rows as there are of so many numbers as `like`, a list, has. */
static struct value *rows_like(struct lower *l, struct value *x, struct value *like)
{
    static const int64_t rest = -1;
    struct value *dims[] = {lower_list(l, &rest, 1), lower_one(l, "Shape", like)};
    struct value *shape = lower_op(l, "Concat", dims, 2);

    lower_int(l, "axis", 0);
    return lower_two(l, "Reshape", x, shape);
}

static void lower_gated_norm(struct lower *l)
{
    const char *name = node_string(l->node, "activation", "silu");
    struct value *x = lower_input(l, 0), *scale = lower_input(l, 1), *gate = lower_input(l, 2), *y;

    if (strcmp(name, "silu") != 0 && strcmp(name, "swish") != 0 && strcmp(name, "sigmoid") != 0)
        lower_refuse(l, "its activation is '%.40s'", name);
    y = lower_two(l, "RMSNormalization", rows_like(l, x, scale), scale);
    lower_float(l, "epsilon", node_float(l->node, "epsilon", 1e-5f));
    y = lower_shaped_like(l, y, x);
    gate = lower_one(l, strcmp(name, "sigmoid") == 0 ? "Sigmoid" : "Swish", gate);
    lower_done(l, 0, lower_two(l, "Mul", y, gate));
}

static void lower_gated_add(struct lower *l)
{
    struct value *y;

    if (lower_input(l, 3))
        lower_refuse(l, "its gate has weights");
    y = lower_two(l, "Mul", lower_input(l, 1), lower_input(l, 2));
    lower_done(l, 0, lower_two(l, "Add", lower_input(l, 0), y));
}

static void lower_scaled_silu(struct lower *l)
{
    static const int64_t none;
    struct value *x = lower_input(l, 0), *scale = lower_input(l, 1);

    if (!scale)
        scale = lower_number(l, node_float(l->node, "alpha", 1.0f));
    scale = lower_two(l, "CastLike", lower_reshape(l, scale, &none, 0), x);
    lower_done(l, 0, lower_one(l, "Swish", lower_two(l, "Mul", x, scale)));
}

static void lower_gates(struct lower *l)
{
    struct value *a = lower_input(l, 0), *b = lower_input(l, 3), *y;

    y = lower_two(l, "Add", lower_cast(l, a, DTYPE_F32), lower_input(l, 1));
    y = lower_two(l, "Mul", lower_one(l, "Softplus", y), lower_input(l, 2));
    lower_done(l, 0, lower_two(l, "CastLike", y, a));
    if (b)
        lower_done(l, 1, lower_one(l, "Sigmoid", b));
}

static void lower_linear_attention(struct lower *l)
{
    enum { INPUTS = 6 };
    struct value *inputs[INPUTS], *outputs[2] = {NULL};

    if (node_int(l->node, "state_window", 0) != 0)
        lower_refuse(l, "attribute state_window is set");
    for (uint32_t i = 0; i < INPUTS; i++)
        inputs[i] = lower_input(l, i);
    lower_many(l, "LinearAttention", inputs, INPUTS, outputs, 2);
    lower_copy(l, "chunk_size kv_num_heads q_num_heads scale update_rule");
    lower_done(l, 0, outputs[0]);
    lower_done(l, 1, outputs[1]);
}

static struct value *turned(struct lower *l, struct value *x)
{
    static const int64_t perm[] = {0, 2, 1};

    if (!x)
        return NULL;
    x = lower_one(l, "Transpose", x);
    lower_ints(l, "perm", perm, 3);
    return x;
}

static void lower_causal_conv(struct lower *l)
{
    static const char *const off[] = {"state_update_capacity", "state_window", "state_length",
                                      "input_channel_offset", "input_channels"};
    bool is_last = node_int(l->node, "channels_last", 0) != 0;
    struct value *inputs[4], *outputs[2] = {NULL};

    for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++)
        if (node_int(l->node, off[i], 0) != 0)
            lower_refuse(l, "attribute %s is set", off[i]);
    if (node_int(l->node, "dilation", 1) != 1 || node_int(l->node, "ndim", 1) != 1 ||
        (node_int(l->node, "state_channels_last", -1) != -1))
        lower_refuse(l, "it is dilated, or of several axes, or its state is laid out otherwise");
    if (is_last && lower_rank(lower_input(l, 0)) != 3)
        lower_refuse(l, "its input does not have three dimensions that are known");
    for (uint32_t i = 0; i < 4; i++)
        inputs[i] = lower_input(l, i);
    if (is_last) {
        inputs[0] = turned(l, inputs[0]);
        inputs[3] = turned(l, inputs[3]);
    }
    lower_many(l, "CausalConvWithState", inputs, 4, outputs, 2);
    lower_copy(l, "activation");
    for (uint32_t i = 0; i < 2; i++)
        lower_done(l, i, is_last ? turned(l, outputs[i]) : outputs[i]);
}

/* Which of the three positions the number at this place of a row goes by. */
static int64_t stream_at(int64_t i, const int64_t *sections, bool is_interleaved)
{
    if (!is_interleaved)
        return i < sections[0] ? 0 : i < sections[0] + sections[1] ? 1 : 2;
    for (int64_t stream = 1; stream < 3; stream++)
        if (i % 3 == stream && i < 3 * sections[stream])
            return stream;
    return 0;
}

/* Rows of a table by three positions each [3, batch, steps], as one: [batch, steps, half]. */
static struct value *by_streams(struct lower *l, struct value *table, struct value *places,
                                const int64_t *sections, int64_t half)
{
    bool is_interleaved = node_int(l->node, "mrope_layout", 0) != 0;
    struct value *rows = lower_two(l, "Gather", table, places), *streams, *inputs[2], *y;
    int64_t *data = lower_data(l, DTYPE_I64, &(struct shape){4, {1, 1, 1, half}}, &streams);
    int64_t first = 0;

    for (int64_t i = 0; data && i < half; i++)
        data[i] = stream_at(i, sections, is_interleaved);
    y = lower_one(l, "Shape", lower_two(l, "Gather", rows, lower_list(l, &first, 1)));
    inputs[0] = rows;
    inputs[1] = lower_two(l, "Expand", streams, y);
    y = lower_op(l, "GatherElements", inputs, 2);
    lower_int(l, "axis", 0);
    return lower_squeeze(l, y, 0);
}

static void lower_many_positions(struct lower *l)
{
    size_t count;
    const int64_t *sections = node_ints(l->node, "mrope_section", &count);
    struct value *places = lower_input(l, 1), *tables[2] = {lower_input(l, 2), lower_input(l, 3)};
    struct value *inputs[3] = {lower_input(l, 0)}, *y;
    int64_t half = tables[0] && tables[0]->shape.rank == 2 ? tables[0]->shape.dims[1] : 0;

    for (size_t i = 0; sections && i < count; i++)
        count = sections[i] < 0 || sections[i] > half ? 0 : count;
    if (!sections || count != 3 || half < 1)
        lower_refuse(l, "its sections are not three, or its table is not known");
    if (node_float(l->node, "scale", 1.0f) != 1.0f ||
        node_int(l->node, "is_packed_batching", 0) != 0)
        lower_refuse(l, "attribute scale or is_packed_batching is set");
    if (l->rc < 0)
        return;
    for (int i = 0; i < 2; i++)
        inputs[1 + i] = by_streams(l, tables[i], places, sections, half);
    y = lower_op(l, "RotaryEmbedding", inputs, 3);
    lower_copy(l, "interleaved num_heads rotary_embedding_dim");
    lower_done(l, 0, y);
}

#define MICROSOFT(op, what)                                                                        \
    {                                                                                              \
        "com.microsoft." op, what                                                                  \
    }

const struct lower_rule lower_gated[] = {
    {MICROSOFT("CausalConvWithState", "CausalConvWithState"), 2, 4, 2,
     "activation channels_last dilation input_channel_offset input_channels ndim "
     "state_channels_last state_length state_update_capacity state_window",
     lower_causal_conv},
    {MICROSOFT("GatedAdd", "Mul, Add"), 3, 4, 1, "", lower_gated_add},
    {MICROSOFT("GatedRMSNorm", "RMSNormalization, Swish or Sigmoid, Mul"), 3, 3, 1,
     "activation epsilon", lower_gated_norm},
    {MICROSOFT("LinearAttention", "LinearAttention"), 3, 6, 2,
     "chunk_size kv_num_heads q_num_heads scale state_window update_rule", lower_linear_attention},
    {MICROSOFT("LinearAttentionGate", "Add, Softplus, Mul; Sigmoid"), 3, 4, 2, "", lower_gates},
    {MICROSOFT("MRotaryEmbedding", "Gather, GatherElements, RotaryEmbedding"), 4, 4, 1,
     "interleaved is_packed_batching mrope_layout mrope_section num_heads rotary_embedding_dim "
     "scale",
     lower_many_positions},
    {MICROSOFT("ScaledSiLU", "Mul, Swish"), 1, 2, 1, "alpha", lower_scaled_silu},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
