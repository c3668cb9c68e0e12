/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of parts of a signal, and what is drawn by chance. */
#include <string.h>

#include "runtime/ops/lower/rules.h"

static struct value *whole(struct lower *l, int64_t number)
{
    struct value *value;
    int64_t *data = lower_data(l, DTYPE_I64, &(struct shape){.rank = 0}, &value);

    if (data)
        *data = number;
    return value;
}

/* Input i as an int64 without axes. */
static struct value *scalar(struct lower *l, uint32_t i)
{
    static const int64_t none;

    return lower_reshape(l, lower_cast(l, lower_input(l, i), DTYPE_I64), &none, 0);
}

static struct value *dim_of(struct lower *l, struct value *x, int64_t axis)
{
    struct value *y = lower_two(l, "Gather", lower_one(l, "Shape", x), whole(l, axis));

    lower_int(l, "axis", 0);
    return y;
}

/* 0, 1, ..., before the end. */
static struct value *range(struct lower *l, struct value *end)
{
    struct value *inputs[] = {whole(l, 0), end, whole(l, 1)};

    return lower_op(l, "Range", inputs, 3);
}

/* Where the numbers of each part stand in the signal: [parts, length]. */
static struct value *places(struct lower *l, struct value *signal, struct value *length)
{
    static const int64_t behind = 1;
    struct value *step = scalar(l, 1), *parts;

    parts = lower_two(l, "Div", lower_two(l, "Sub", dim_of(l, signal, 1), length), step);
    parts = lower_two(l, "Mul", range(l, lower_two(l, "Add", parts, whole(l, 1))), step);
    return lower_two(l, "Add", lower_unsqueeze(l, parts, &behind, 1), range(l, length));
}

static void lower_stft(struct lower *l)
{
    static const int64_t column[] = {-1, 1}, three[] = {0, 0, -1};
    struct value *signal = lower_input(l, 0), *window = lower_input(l, 2), *length, *y;
    bool is_axis_input = graph_opset(l->graph, "") >= 20;
    struct value *inputs[3] = {NULL};

    if (!lower_input(l, 1))
        lower_refuse(l, "input 1 is left out");
    /* Of real numbers ONNX Runtime takes those, too, that have no axis for their one part. */
    if (lower_rank(signal) != 3)
        signal = lower_reshape(l, signal, three, 3);
    length = lower_input(l, 3) ? scalar(l, 3)
             : window          ? dim_of(l, window, 0)
                               : dim_of(l, signal, 1);
    y = lower_two(l, "Gather", signal, places(l, signal, length));
    lower_int(l, "axis", 1);
    if (window)
        y = lower_two(l, "Mul", y, lower_reshape(l, window, column, 2));
    inputs[0] = y;
    if (is_axis_input)
        inputs[2] = whole(l, 2);
    y = lower_op(l, "DFT", inputs, 3);
    if (!is_axis_input)
        lower_int(l, "axis", 2);
    lower_int(l, "onesided", node_int(l->node, "onesided", 1));
    lower_done(l, 0, y);
}

/* Numbers from 0 to 1, as many as x has elements. */
static struct value *chance(struct lower *l, struct value *x, float low)
{
    struct value *y = lower_one(l, "RandomUniformLike", x);

    lower_int(l, "dtype", DTYPE_F64);
    lower_float(l, "low", low);
    lower_copy(l, "seed");
    return y;
}

static void lower_bernoulli(struct lower *l)
{
    struct value *x = lower_input(l, 0), *wide = lower_cast(l, x, DTYPE_F64);
    struct value *y = lower_two(l, "Less", chance(l, wide, 0.0f), wide);
    int64_t to = node_int(l->node, "dtype", 0);

    lower_done(l, 0, to ? lower_cast(l, y, (enum dtype)to) : lower_two(l, "CastLike", y, x));
}

/* The largest of the logarithms, each with noise of Gumbel's distribution, is drawn as often as its
 * probability says. */
static void lower_multinomial(struct lower *l)
{
    static const int64_t middle = 1;
    int64_t to = node_int(l->node, "dtype", DTYPE_I32);
    int64_t dims[] = {1, node_int(l->node, "sample_size", 1), 1};
    struct value *x = lower_unsqueeze(l, lower_cast(l, lower_input(l, 0), DTYPE_F64), &middle, 1);
    struct value *noise, *y;

    if (dims[1] < 0)
        lower_refuse(l, "attribute sample_size is %lld", (long long)dims[1]);
    if (to != DTYPE_I32 && to != DTYPE_I64)
        lower_refuse(l, "its result has element type %lld", (long long)to);
    x = lower_two(l, "Expand", x, lower_list(l, dims, 3));
    noise = lower_one(l, "Log", lower_one(l, "Neg", lower_one(l, "Log", chance(l, x, 1e-30f))));
    y = lower_one(l, "ArgMax", lower_two(l, "Sub", x, noise));
    lower_int(l, "axis", 2);
    lower_int(l, "keepdims", 0);
    lower_done(l, 0, lower_cast(l, y, (enum dtype)to));
}

const struct lower_rule lower_signals[] = {
    {{"Bernoulli", "RandomUniformLike, Less, Cast"}, 1, 1, 1, "dtype seed", lower_bernoulli},
    {{"Multinomial", "RandomUniformLike, Log, ArgMax"},
     1,
     1,
     1,
     "dtype sample_size seed",
     lower_multinomial},
    {{"STFT", "Reshape, Range, Gather, Mul, DFT"}, 2, 4, 1, "onesided", lower_stft},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
