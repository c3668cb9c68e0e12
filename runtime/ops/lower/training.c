/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of training, ai.onnx.preview.training: for each tensor its next value, from its gradient and what
 * is kept of earlier ones. */
#include <string.h>

#include "runtime/ops/lower/rules.h"

/* Inputs: the rate, how many steps there were, all tensors, all gradients, then what is kept of each. */
struct step {
    struct value *rate, *turn; /* float64 */
    uint32_t count;            /* of tensors */
};

/* What becomes of one tensor. The rest belongs to it alone, too. */
struct one {
    struct value *x, *slope, *kept[2];
};

static struct value *input_of(const struct lower *l, const struct step *s, uint32_t group,
                              uint32_t i)
{
    return lower_input(l, 2 + group * s->count + i);
}

static struct value *scalar_of(struct lower *l, uint32_t i)
{
    static const int64_t none;

    return lower_cast(l, lower_reshape(l, lower_input(l, i), &none, 0), DTYPE_F64);
}

/* groups: of tensors that come in; one less goes out. */
static void read_step(struct lower *l, uint32_t groups, struct step *s)
{
    const struct node *node = l->node;

    if (node->input_count < 2 + groups || (node->input_count - 2) % groups != 0 ||
        node->output_count != (node->input_count - 2) / groups * (groups - 1)) {
        lower_refuse(l, "it has %u inputs and %u outputs", node->input_count, node->output_count);
        return;
    }
    for (uint32_t i = 0; i < node->input_count; i++)
        if (!node->inputs[i])
            lower_refuse(l, "input %u is left out", i);
    if (l->rc < 0)
        return;
    s->count = (node->input_count - 2) / groups;
    s->rate = scalar_of(l, 0);
    s->turn = scalar_of(l, 1);
}

/* A float64 in the type of x. */
static struct value *as(struct lower *l, struct value *number, struct value *x)
{
    return lower_two(l, "CastLike", number, x);
}

static struct value *times(struct lower *l, struct value *x, double number)
{
    return lower_two(l, "Mul", x, as(l, lower_double(l, number), x));
}

static double real_of(const struct lower *l, const char *name, float fallback)
{
    return (double)node_float(l->node, name, fallback);
}

static struct one read_one(struct lower *l, const struct step *s, uint32_t i, uint32_t kept)
{
    struct one one = {.x = input_of(l, s, 0, i)};
    double norm = real_of(l, "norm_coefficient", 0.0f);

    one.slope = input_of(l, s, 1, i);
    if (norm != 0.0)
        one.slope = lower_two(l, "Add", times(l, one.x, norm), one.slope);
    for (uint32_t k = 0; k < kept; k++)
        one.kept[k] = input_of(l, s, 2 + k, i);
    return one;
}

/* old * a + new * b */
static struct value *blend(struct lower *l, struct value *old, double a, struct value *fresh,
                           double b)
{
    return lower_two(l, "Add", times(l, old, a), times(l, fresh, b));
}

static struct value *root_of(struct lower *l, struct value *x)
{
    struct value *epsilon = lower_double(l, real_of(l, "epsilon", 1e-6f));

    return lower_two(l, "Add", lower_one(l, "Sqrt", x), as(l, epsilon, x));
}

static struct value *go_down(struct lower *l, struct value *x, struct value *rate,
                             struct value *direction)
{
    return lower_two(l, "Sub", x, lower_two(l, "Mul", as(l, rate, x), direction));
}

/* After the first step the one, before it the other. */
static struct value *later(struct lower *l, const struct step *s, struct value *one,
                           struct value *first)
{
    struct value *inputs[] = {lower_two(l, "Greater", s->turn, lower_double(l, 0.0)), one, first};

    return lower_op(l, "Where", inputs, 3);
}

static void give(struct lower *l, const struct step *s, uint32_t i, struct value *x,
                 struct value *const *kept, uint32_t kept_count)
{
    struct value *outputs[] = {x, kept[0], kept_count > 1 ? kept[1] : NULL};

    for (uint32_t k = 0; k <= kept_count && l->rc == 0; k++)
        if (lower_wants(l, k * s->count + i))
            lower_done(l, k * s->count + i, outputs[k]);
}

static void lower_adagrad(struct lower *l)
{
    double decay = real_of(l, "decay_factor", 0.0f);
    struct value *rate;
    struct step s = {0};

    read_step(l, 3, &s);
    if (l->rc < 0)
        return;
    rate = lower_two(l, "Mul", s.turn, lower_double(l, decay));
    rate = lower_two(l, "Div", s.rate, lower_two(l, "Add", rate, lower_double(l, 1.0)));
    for (uint32_t i = 0; i < s.count && l->rc == 0; i++) {
        struct one one = read_one(l, &s, i, 1);
        struct value *sum = lower_two(l, "Mul", one.slope, one.slope), *x;

        sum = lower_two(l, "Add", one.kept[0], sum);
        x = go_down(l, one.x, rate, lower_two(l, "Div", one.slope, root_of(l, sum)));
        give(l, &s, i, x, &sum, 1);
    }
}

static void lower_momentum(struct lower *l)
{
    static const char *const needed[] = {"alpha", "beta", "norm_coefficient", "mode"};
    const char *mode = node_string(l->node, "mode", "");
    const bool looks_ahead = strcmp(mode, "nesterov") == 0;
    struct value *weight;
    struct step s = {0};

    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
        if (!node_attribute(l->node, needed[i]))
            lower_refuse(l, "it has no attribute %s", needed[i]);
    if (!looks_ahead && strcmp(mode, "standard") != 0)
        lower_refuse(l, "attribute mode is '%.40s'", mode);
    read_step(l, 3, &s);
    if (l->rc < 0)
        return;
    weight = later(l, &s, lower_double(l, real_of(l, "beta", 0.0f)), lower_double(l, 1.0));
    for (uint32_t i = 0; i < s.count && l->rc == 0; i++) {
        struct one one = read_one(l, &s, i, 1);
        double alpha = real_of(l, "alpha", 0.0f);
        struct value *way = lower_two(l, "Mul", one.slope, as(l, weight, one.x)), *ahead;

        way = lower_two(l, "Add", times(l, one.kept[0], alpha), way);
        ahead = looks_ahead ? lower_two(l, "Add", one.slope, times(l, way, alpha)) : way;
        give(l, &s, i, go_down(l, one.x, s.rate, ahead), &way, 1);
    }
}

/* 1 - base^turn */
static struct value *share_of(struct lower *l, const struct step *s, double base)
{
    return lower_two(l, "Sub", lower_double(l, 1.0),
                     lower_two(l, "Pow", lower_double(l, base), s->turn));
}

static void lower_adam(struct lower *l)
{
    const double alpha = real_of(l, "alpha", 0.9f), beta = real_of(l, "beta", 0.999f);
    const double after = real_of(l, "norm_coefficient_post", 0.0f);
    struct value *rate;
    struct step s = {0};

    read_step(l, 4, &s);
    if (l->rc < 0)
        return;
    rate = lower_two(l, "Mul", s.rate, lower_one(l, "Sqrt", share_of(l, &s, beta)));
    rate = later(l, &s, lower_two(l, "Div", rate, share_of(l, &s, alpha)), s.rate);
    for (uint32_t i = 0; i < s.count && l->rc == 0; i++) {
        struct one one = read_one(l, &s, i, 2);
        struct value *square = lower_two(l, "Mul", one.slope, one.slope), *x;
        struct value *kept[] = {blend(l, one.kept[0], alpha, one.slope, 1.0 - alpha),
                                blend(l, one.kept[1], beta, square, 1.0 - beta)};

        x = go_down(l, one.x, rate, lower_two(l, "Div", kept[0], root_of(l, kept[1])));
        if (after != 0.0)
            x = times(l, x, 1.0 - after);
        give(l, &s, i, x, kept, 2);
    }
}

#define TRAINING "ai.onnx.preview.training."

const struct lower_rule lower_training[] = {
    {{TRAINING "Adagrad", "Mul, Add, Sqrt, Div, Sub"},
     5,
     LOWER_ANY,
     LOWER_ANY,
     "decay_factor epsilon norm_coefficient",
     lower_adagrad},
    {{TRAINING "Adam", "Mul, Add, Sqrt, Div, Sub, Pow, Where"},
     6,
     LOWER_ANY,
     LOWER_ANY,
     "alpha beta epsilon norm_coefficient norm_coefficient_post",
     lower_adam},
    {{TRAINING "Momentum", "Mul, Add, Sub, Where"},
     5,
     LOWER_ANY,
     LOWER_ANY,
     "alpha beta mode norm_coefficient",
     lower_momentum},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
