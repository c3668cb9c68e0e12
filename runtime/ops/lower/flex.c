/* SPDX-License-Identifier: Apache-2.0 */
/* FlexAttention of ai.onnx.preview: what it does to scores and to probabilities are bodies of its own. Without
 * them it is Attention; with them it is spelled out as exporters spell attention, which passes know. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/lower/rules.h"

struct flex {
    struct value *q, *k, *v; /* [batch, heads, steps, size] */
    const struct graph *score, *prob;
    enum dtype inner; /* of scores; DTYPE_NONE: as the inputs, whose type is not known */
    bool is_wider;    /* scores have another type than the inputs */
    bool is_grouped; /* heads of queries may share keys: q has an axis for them, scores behind it */
};

/* What is known of a type before types are inferred. */
static enum dtype type_of(const struct value *value)
{
    static const char *const same =
        "Add Clip Concat Div Dropout Expand Flatten Gather Identity MatMul Mul Pad "
        "Reshape Slice Split Squeeze Sub Transpose Unsqueeze";

    for (int step = 0; step < 64 && value; step++) {
        const struct node *node = value->producer;

        if (value->dtype != DTYPE_NONE || !node)
            return value->dtype;
        if (node->domain[0] == '\0' && strcmp(node->op_type, "Cast") == 0)
            return (enum dtype)node_int(node, "to", DTYPE_NONE);
        if (node->domain[0] != '\0' || !lower_is_listed(same, node->op_type))
            return DTYPE_NONE;
        value = node_input(node, 0);
    }
    return DTYPE_NONE;
}

/* Each stands once, takes one tensor and gives one. */
static const struct graph *modifier(struct lower *l, const char *name)
{
    const struct attribute *a = node_attribute(l->node, name);

    if (!a)
        return NULL;
    if (a->type != ATTRIBUTE_GRAPH || a->graph->input_count - a->graph->capture_count != 1 ||
        a->graph->output_count != 1) {
        lower_refuse(l, "attribute %s does not make one tensor of one", name);
        return NULL;
    }
    return a->graph;
}

static void read_flex(struct lower *l, struct flex *f)
{
    int64_t precision = node_int(l->node, "softmax_precision", DTYPE_NONE);
    int64_t heads[2] = {-1, -1};
    enum dtype dtype;

    *f = (struct flex){.q = lower_input(l, 0), .k = lower_input(l, 1), .v = lower_input(l, 2)};
    f->score = modifier(l, "score_mod");
    f->prob = modifier(l, "prob_mod");
    if (!f->q || !f->k || !f->v || l->node->input_count - l->node->captured_count != 3) {
        lower_refuse(l, "it does not have queries, keys and values");
        return;
    }
    dtype = type_of(f->q);
    if (node_attribute(l->node, "softmax_precision")) {
        if (precision != DTYPE_F32 && precision != DTYPE_F16 && precision != DTYPE_BF16 &&
            precision != DTYPE_F64)
            lower_refuse(l, "attribute softmax_precision is %lld", (long long)precision);
        f->inner = (enum dtype)precision;
    } else if (dtype != DTYPE_NONE) {
        f->inner = dtype == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32;
    }
    f->is_wider = f->inner != dtype;
    if (f->q->shape.rank == 4)
        heads[0] = f->q->shape.dims[1];
    if (f->k->shape.rank == 4)
        heads[1] = f->k->shape.dims[1];
    f->is_grouped = heads[0] < 1 || heads[0] != heads[1];
}

/* Dimensions of a value, from one to before another. */
static struct value *dims(struct lower *l, struct value *value, int64_t start, int64_t end)
{
    struct value *y = lower_one(l, "Shape", value);

    lower_int(l, "start", start);
    lower_int(l, "end", end);
    return y;
}

/* The shape of these dimensions, one behind the other. */
static struct value *shaped(struct lower *l, struct value *x, struct value *const *parts,
                            uint32_t count)
{
    struct value *shape = lower_op(l, "Concat", parts, count);

    lower_int(l, "axis", 0);
    return lower_two(l, "Reshape", x, shape);
}

/* A half of the scale belongs to queries, the other to keys. */
static struct value *root_of_scale(struct lower *l, const struct flex *f)
{
    struct value *size;

    if (node_attribute(l->node, "scale")) {
        float scale = node_float(l->node, "scale", 1.0f);

        if (!(scale >= 0.0f))
            lower_refuse(l, "attribute scale is below 0");
        return lower_two(l, "CastLike", lower_number(l, sqrtf(scale)), f->q);
    }
    size = lower_cast(l, dims(l, f->q, 3, 4), DTYPE_F32);
    size = lower_one(l, "Reciprocal", lower_one(l, "Sqrt", lower_one(l, "Sqrt", size)));
    return lower_two(l, "CastLike", size, f->q);
}

static struct value *scores_of(struct lower *l, const struct flex *f)
{
    static const int64_t turned[] = {0, 1, 3, 2}, third = 2;
    struct value *root = root_of_scale(l, f), *q = f->q, *k = lower_one(l, "Transpose", f->k), *y;

    lower_ints(l, "perm", turned, 4);
    if (f->is_grouped) { /* [batch, heads of keys, those that share one, steps, size] */
        struct value *parts[] = {dims(l, f->k, 0, 2), lower_list(l, &(int64_t){-1}, 1),
                                 dims(l, f->q, 2, 4)};

        q = shaped(l, q, parts, 3);
        k = lower_unsqueeze(l, k, &third, 1);
    }
    y = lower_two(l, "MatMul", lower_two(l, "Mul", q, root), lower_two(l, "Mul", k, root));
    return f->inner == DTYPE_NONE ? y : lower_cast(l, y, f->inner);
}

/* x as the body makes it; of the type of scores again. */
static struct value *modified(struct lower *l, const struct graph *body, struct value *x)
{
    struct value *y = x;

    if (body && l->rc == 0)
        lower_inline(l, body, &x, &y);
    return y;
}

static void spell_out(struct lower *l, const struct flex *f)
{
    static const int64_t third = 2;
    struct value *scores = scores_of(l, f), *whole = scores, *v = f->v, *y;
    struct value *parts[] = {dims(l, f->q, 0, 3), lower_list(l, &(int64_t){-1}, 1)};

    if (f->is_grouped)
        whole = shaped(l, scores, parts, 2);
    y = lower_one(l, "Softmax", modified(l, f->score, whole));
    lower_int(l, "axis", -1);
    y = modified(l, f->prob, y);
    if (f->inner != DTYPE_NONE)
        v = lower_cast(l, v, f->inner);
    if (f->is_grouped) {
        y = lower_two(l, "Reshape", y, lower_one(l, "Shape", scores));
        v = lower_unsqueeze(l, v, &third, 1);
    }
    y = lower_two(l, "MatMul", y, v);
    if (f->is_grouped)
        y = shaped(l, y, parts, 2);
    lower_done(l, 0, lower_two(l, "CastLike", y, f->v));
}

static void lower_flex(struct lower *l)
{
    struct flex f;

    read_flex(l, &f);
    if (l->rc < 0)
        return;
    if (f.score || f.prob || f.is_wider) {
        spell_out(l, &f);
        return;
    }
    lower_done(l, 0, lower_op(l, "Attention", (struct value *[]){f.q, f.k, f.v}, 3));
    lower_copy(l, "scale");
}

const struct lower_rule lower_flexible[] = {
    {{"ai.onnx.preview.FlexAttention", "Attention; or MatMul, its bodies, Softmax, MatMul"},
     3,
     LOWER_ANY,
     1,
     "prob_mod scale score_mod softmax_precision",
     lower_flex},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
