/* SPDX-License-Identifier: Apache-2.0 */
/* Mixtures of experts: products of rows by the matrices of the experts that they choose; or, on devices, of all rows by
 * all matrices, of which the chosen are taken. */
#include <math.h>
#include <string.h>

#include "runtime/graph/element.h"
#include "runtime/ops/lower/rules.h"

enum { FIRST, SECOND, GATE, LAYERS };

struct experts {
    struct value *weights
        [LAYERS]; /* [experts, inputs, outputs]; of the gate: NULL, where the first has it, or none */
    struct value *biases[LAYERS]; /* [experts, outputs], or NULL */
    int64_t hidden, outputs;      /* numbers of a token, and of the first product */
    bool is_shared; /* the chosen share all weight among them, whatever the attribute says */
};

static struct value *like(struct lower *l, float number, struct value *x)
{
    return lower_two(l, "CastLike", lower_number(l, number), x);
}

/* What a token chooses, and how much of it. */
struct route {
    struct value *experts; /* [tokens, choices] */
    struct value *weights; /* [tokens, choices, 1] */
};

static struct route route(struct lower *l, const struct experts *e, struct value *router)
{
    static const int64_t behind = 2;
    int64_t chosen = node_int(l->node, "k", 1);
    struct value *inputs[2], *outputs[2] = {NULL};

    inputs[0] = lower_one(l, "Softmax", router);
    lower_int(l, "axis", -1);
    inputs[1] = lower_list(l, &chosen, 1);
    lower_many(l, "TopK", inputs, 2, outputs, 2);
    if (e->is_shared || node_int(l->node, "normalize_routing_weights", 0) != 0)
        outputs[0] = lower_two(l, "Div", outputs[0], lower_sum(l, outputs[0], -1, true));
    return (struct route){outputs[1], lower_unsqueeze(l, outputs[0], &behind, 1)};
}

static struct value *layer(struct lower *l, const struct experts *e, int which, struct value *x,
                           const struct route *to)
{
    struct value *inputs[] = {x, to->experts, e->weights[which], e->biases[which]};

    return lower_op(l, "optrace.ExpertMatMul", inputs, 4);
}

static struct value *slice_last(struct lower *l, struct value *x, int64_t begin, int64_t end,
                                int64_t step)
{
    int64_t axis = -1;
    struct value *inputs[] = {x, lower_list(l, &begin, 1), lower_list(l, &end, 1),
                              lower_list(l, &axis, 1), lower_list(l, &step, 1)};

    return lower_op(l, "Slice", inputs, 5);
}

static struct value *clamp(struct lower *l, struct value *x, float limit, bool from_below)
{
    if (from_below)
        x = lower_two(l, "Max", x, like(l, -limit, x));
    return lower_two(l, "Min", x, like(l, limit, x));
}

/* min(gate, limit) * sigmoid(alpha * gate) * (up within +-limit + beta) */
static struct value *gate_up(struct lower *l, struct value *gate, struct value *up)
{
    const struct attribute *limit = node_attribute(l->node, "swiglu_limit");
    float beta = node_float(l->node, "activation_beta", 0.0f);

    if (node_int(l->node, "swiglu_limit_after_activation", 0) != 0)
        lower_refuse(l, "attribute swiglu_limit_after_activation is set");
    if (limit && isfinite(limit->f)) {
        gate = clamp(l, gate, limit->f, false);
        up = clamp(l, up, limit->f, true);
    }
    gate = lower_one(l, "Swish", gate);
    lower_float(l, "alpha", node_float(l->node, "activation_alpha", 1.0f));
    return lower_two(l, "Mul", gate,
                     beta == 0.0f ? up : lower_two(l, "Add", up, like(l, beta, up)));
}

/* Gate and other half of one product: beside each other, or one behind the other. */
static struct value *gate_fused(struct lower *l, struct value *x, int64_t fusion, int64_t outputs)
{
    int64_t half = outputs / 2;

    if (fusion == 1)
        return gate_up(l, slice_last(l, x, 0, INT64_MAX, 2), slice_last(l, x, 1, INT64_MAX, 2));
    return gate_up(l, slice_last(l, x, 0, half, 1), slice_last(l, x, half, INT64_MAX, 1));
}

/* y: what the first layer makes of x. */
static struct value *activate(struct lower *l, const struct experts *e, struct value *x,
                              struct value *y, const struct route *to)
{
    const char *name = node_string(l->node, "activation_type", "relu");
    int64_t fusion = node_int(l->node, "swiglu_fusion", 0);
    struct value *more = e->weights[GATE] ? layer(l, e, GATE, x, to) : NULL;

    if (strcmp(name, "swiglu") == 0) {
        if ((fusion != 1 && fusion != 2) == !more)
            lower_refuse(l, "its gates are in no product, or in two");
        return more ? gate_up(l, y, more) : gate_fused(l, y, fusion, e->outputs);
    }
    if (strcmp(name, "relu") == 0) {
        y = lower_one(l, "Relu", y);
    } else if (strcmp(name, "silu") == 0) {
        y = lower_one(l, "Swish", y);
    } else if (strcmp(name, "gelu") == 0) {
        y = lower_one(l, "Gelu", y);
        lower_string(l, "approximate", "tanh");
    } else if (strcmp(name, "identity") != 0) {
        lower_refuse(l, "its activation is '%.40s'", name);
    }
    return more ? lower_two(l, "Mul", y, more) : y;
}

static void mix(struct lower *l, const struct experts *e)
{
    int64_t rows[] = {-1, e->hidden};
    struct value *x = lower_input(l, 0), *flat, *y;
    struct route to;

    if (node_int(l->node, "use_sparse_mixer", 0) != 0)
        lower_refuse(l, "attribute use_sparse_mixer is set");
    if (l->rc < 0)
        return;
    flat = lower_reshape(l, x, rows, 2);
    to = route(l, e, lower_input(l, 1));
    y = activate(l, e, flat, layer(l, e, FIRST, flat, &to), &to);
    y = lower_two(l, "Mul", layer(l, e, SECOND, y, &to), to.weights);
    y = lower_two(l, "Reshape", lower_sum(l, y, 1, false), lower_one(l, "Shape", x));
    if (graph_opset(l->graph, "") >= 14)
        lower_int(l, "allowzero", 1); /* a 0 in the shape is one */
    lower_done(l, 0, y);
}

/* --- Of devices --- */

/* Of all experts' rows, which lie one expert behind the other, those that are chosen. */
static struct value *places_of(struct lower *l, struct value *chosen, int64_t tokens)
{
    struct value *first, *each;
    int64_t *data = lower_data(l, DTYPE_I64, &(struct shape){2, {tokens, 1}}, &first);
    int64_t *size = lower_data(l, DTYPE_I64, &(struct shape){.rank = 0}, &each);

    if (!data || !size)
        return NULL;
    *size = tokens;
    for (int64_t i = 0; i < tokens; i++)
        data[i] = i;
    return lower_two(l, "Add", lower_two(l, "Mul", chosen, each), first);
}

/* Rows of the choices [tokens, choices, inputs] as rows of all experts, where they are; 0 elsewhere. */
static struct value *spread_rows(struct lower *l, struct value *x, struct value *places,
                                 const int64_t sizes[3])
{
    static const int64_t last = 2;
    int64_t rows[] = {sizes[0] * sizes[1], sizes[2]};
    struct value *zeros = lower_one(l, "ConstantOfShape", lower_list(l, rows, 2)), *inputs[3];

    inputs[0] = lower_two(l, "CastLike", zeros, x);
    inputs[1] = lower_unsqueeze(l, places, &last, 1);
    inputs[2] = x;
    return lower_op(l, "ScatterND", inputs, 3);
}

/* A token chooses no expert twice. */
static void lower_kept(struct lower *l)
{
    static const int64_t middle = 1;
    struct value *x = lower_input(l, 0), *chosen = lower_input(l, 1), *w = lower_input(l, 2);
    struct value *bias = lower_input(l, 3), *places, *y;
    int64_t sizes[3] = {w->shape.dims[0], chosen->shape.dims[0], w->shape.dims[1]};
    int64_t rows[] = {sizes[0] * sizes[1], w->shape.dims[2]};

    places = places_of(l, chosen, sizes[1]);
    if (x->shape.rank == 3)
        x = spread_rows(l, x, places, sizes);
    else
        sizes[0] = 1;
    y = lower_two(l, "MatMul", lower_two(l, "Reshape", x, lower_list(l, sizes, 3)), w);
    if (bias)
        y = lower_two(l, "Add", y, lower_unsqueeze(l, bias, &middle, 1));
    y = lower_two(l, "Gather", lower_two(l, "Reshape", y, lower_list(l, rows, 2)), places);
    lower_done(l, 0, y);
}

const struct lower_rule lower_kept_experts = {
    {"optrace.ExpertMatMul", "MatMul, Add, Gather"}, 3, 4, 1, "", lower_kept};

/* --- MoE: weights as numbers --- */

/* [experts, outputs, inputs] the other way round. */
static struct value *turn(struct lower *l, struct value *weights)
{
    static const int64_t perm[] = {0, 2, 1};

    if (!weights)
        return NULL;
    weights = lower_one(l, "Transpose", weights);
    lower_ints(l, "perm", perm, 3);
    return weights;
}

static void lower_moe(struct lower *l)
{
    static const uint32_t places[LAYERS] = {2, 4, 6};
    const struct value *first = lower_input(l, 2);
    struct experts e = {.hidden = 0};

    if (!first || !lower_input(l, 4) || first->shape.rank != 3 || first->shape.dims[1] < 1 ||
        first->shape.dims[2] < 1) {
        lower_refuse(l, "the shape of its weights is not known");
        return;
    }
    e.outputs = first->shape.dims[1];
    e.hidden = first->shape.dims[2];
    for (int i = 0; i < LAYERS; i++) {
        e.weights[i] = turn(l, lower_input(l, places[i]));
        e.biases[i] = lower_input(l, places[i] + 1);
    }
    mix(l, &e);
}

/* --- QMoE: weights of a few bits --- */

struct quanta {
    int64_t experts, outputs, inputs, bits, block, blocks;
    const struct value *quanta, *scales, *zeros;
};

static int64_t quantum_at(const uint8_t *bytes, int64_t bits, int64_t i)
{
    return bytes[i * bits >> 3] >> (i * bits & 7) & ((1 << bits) - 1);
}

static int64_t packed_bytes(int64_t count, int64_t bits)
{
    return (count * bits + 7) / 8;
}

static bool is_constant(const struct value *value, int64_t count)
{
    return value && value->data && shape_elements(&value->shape) == count;
}

/* Zero points lie behind each other for the blocks of a row, or for the rows of an expert. */
static float zero_of(const struct quanta *q, int64_t row, int64_t block)
{
    const uint8_t *bytes = q->zeros ? q->zeros->data : NULL;
    int64_t expert = row / q->outputs;

    if (!bytes)
        return (float)((int64_t)1 << (q->bits - 1));
    if (q->blocks > 1 || q->block > 0)
        return (float)quantum_at(bytes + row * packed_bytes(q->blocks, q->bits), q->bits, block);
    return (float)quantum_at(bytes + expert * packed_bytes(q->outputs, q->bits), q->bits,
                             row % q->outputs);
}

static bool read_quanta(struct lower *l, struct quanta *q)
{
    int64_t rows;

    if (!q->quanta || !q->quanta->data || q->quanta->dtype != DTYPE_U8 ||
        q->quanta->shape.rank != 3 || (q->bits != 2 && q->bits != 4 && q->bits != 8))
        return false;
    q->experts = q->quanta->shape.dims[0];
    q->outputs = q->quanta->shape.dims[1];
    q->inputs = q->quanta->shape.dims[2] * (8 / q->bits);
    q->block = node_int(l->node, "block_size", 0);
    if (q->experts < 1 || q->outputs < 1 || q->inputs < 1 || q->block < 0 ||
        (q->block > 0 && q->inputs % q->block != 0))
        return false;
    q->blocks = q->block > 0 ? q->inputs / q->block : 1;
    rows = q->experts * q->outputs;
    if (!is_constant(q->scales, rows * q->blocks) || !element_is_float(q->scales->dtype) ||
        q->scales->dtype == DTYPE_F64)
        return false;
    return !q->zeros ||
           (q->zeros->dtype == DTYPE_U8 &&
            is_constant(q->zeros, q->block > 0 ? rows * packed_bytes(q->blocks, q->bits)
                                               : q->experts * packed_bytes(q->outputs, q->bits)));
}

static void widen_row(float *to, const struct quanta *q, int64_t row)
{
    const uint8_t *bytes =
        (const uint8_t *)q->quanta->data + row * packed_bytes(q->inputs, q->bits);
    int64_t size = q->inputs / q->blocks;

    for (int64_t block = 0; block < q->blocks; block++) {
        float scale =
            (float)element_get(q->scales->data, q->scales->dtype, row * q->blocks + block);
        float zero = zero_of(q, row, block);

        for (int64_t i = block * size; i < (block + 1) * size; i++)
            to[i * q->outputs] = scale * ((float)quantum_at(bytes, q->bits, i) - zero);
    }
}

static struct value *widen(struct lower *l, struct quanta *q, bool is_needed)
{
    struct value *y;
    float *data;

    if (!q->quanta && !is_needed)
        return NULL;
    if (!read_quanta(l, q)) {
        lower_refuse(l, "its weights are not constant whole numbers of 2, 4 or 8 bits with scales");
        return NULL;
    }
    data = lower_data(l, DTYPE_F32, &(struct shape){3, {q->experts, q->inputs, q->outputs}}, &y);
    for (int64_t row = 0; data && row < q->experts * q->outputs; row++)
        widen_row(data + row / q->outputs * q->inputs * q->outputs + row % q->outputs, q, row);
    return y;
}

static void check_quantised(struct lower *l)
{
    if (strcmp(node_string(l->node, "quant_type", "int"), "int") != 0)
        lower_refuse(l, "its weights are no whole numbers");
    if (node_int(l->node, "weights_prepacked", -1) == 1)
        lower_refuse(l, "its weights are laid out for a device");
    for (uint32_t i = 14; i < l->node->input_count; i++)
        if (lower_input(l, i))
            lower_refuse(l, "input %u is given", i);
}

static void lower_quantised_moe(struct lower *l)
{
    static const char *const widths[LAYERS] = {"fc1_expert_weight_bits", "fc2_expert_weight_bits",
                                               "fc3_expert_weight_bits"};
    int64_t bits = node_int(l->node, "expert_weight_bits", 4);
    struct experts e = {.is_shared = true};

    check_quantised(l);
    for (uint32_t i = 0; i < LAYERS; i++) {
        struct quanta q = {.quanta = lower_input(l, 2 + 3 * i),
                           .scales = lower_input(l, 3 + 3 * i),
                           .zeros = lower_input(l, 11 + i),
                           .bits = node_int(l->node, widths[i], bits)};

        e.weights[i] = widen(l, &q, i != GATE);
        e.biases[i] = lower_input(l, 4 + 3 * i);
        if (e.weights[i] && q.scales->dtype != DTYPE_F32)
            e.weights[i] = lower_two(l, "CastLike", e.weights[i], lower_input(l, 0));
        e.hidden = i == FIRST ? q.inputs : e.hidden;
        e.outputs = i == FIRST ? q.outputs : e.outputs;
    }
    mix(l, &e);
}

#define ROUTED                                                                                     \
    "activation_alpha activation_beta activation_type k normalize_routing_weights swiglu_fusion "  \
    "swiglu_limit swiglu_limit_after_activation use_sparse_mixer"
#define BECOMES "ExpertMatMul, its activation, Softmax, TopK, ReduceSum"

const struct lower_rule lower_experts[] = {
    {{"com.microsoft.MoE", BECOMES}, 5, 8, 1, ROUTED, lower_moe},
    {{"com.microsoft.QMoE", BECOMES},
     6,
     21,
     1,
     ROUTED " accuracy_level block_size expert_weight_bits fc1_expert_weight_bits "
            "fc2_expert_weight_bits fc3_expert_weight_bits quant_type weights_prepacked",
     lower_quantised_moe},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
