/* SPDX-License-Identifier: Apache-2.0 */
/* RNN, GRU and LSTM, the truth: one sequence after the other, one step after the other. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"

#include <math.h>
#include <string.h>

int kernel_cell_gates(enum kernel_cell cell)
{
    return cell == CELL_RNN ? 1 : cell == CELL_GRU ? 3 : 4;
}

static double apply(const struct kernel_gate *gate, double clip, double x)
{
    if (clip > 0.0)
        x = fmin(fmax(x, -clip), clip);
    switch (gate->kind) {
    case GATE_AFFINE:
        return gate->a * x + gate->b;
    case GATE_ELU:
        return x < 0.0 ? gate->a * expm1(x) : x;
    case GATE_HARD_SIGMOID:
        return fmin(fmax(gate->a * x + gate->b, 0.0), 1.0);
    case GATE_LEAKY_RELU:
        return x < 0.0 ? gate->a * x : x;
    case GATE_RELU:
        return x < 0.0 ? 0.0 : x;
    case GATE_SCALED_TANH:
        return gate->a * tanh(gate->b * x);
    case GATE_SIGMOID:
        return 1.0 / (1.0 + exp(-x));
    case GATE_SOFTPLUS:
        return x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x));
    case GATE_SOFTSIGN:
        return x / (1.0 + fabs(x));
    case GATE_TANH:
        return tanh(x);
    case GATE_THRESHOLDED_RELU:
        return x > gate->a ? x : 0.0;
    }
    return x;
}

/* One sequence in one direction. */
struct sequence {
    const struct kernel_recurrent_data *data;
    const struct kernel_recurrent *shape;
    int direction;
    double *x;     /* [inputs]: this step's */
    double *h, *c; /* [hidden]: the state */
    double *old_h; /* [hidden] */
    double *gates; /* [4][hidden] */
    double *reset; /* [hidden]: GRU, what the reset gate lets through */
};

static double dot(const void *w, enum kernel_dtype dtype, int64_t row, const double *v,
                  int64_t count)
{
    double sum = 0.0;

    if (dtype == KERNEL_F32) {
        const float *f = (const float *)w + row * count;

        for (int64_t i = 0; i < count; i++)
            sum += (double)f[i] * v[i];
        return sum;
    }
    for (int64_t i = 0; i < count; i++)
        sum += ref_get_f64(w, dtype, row * count + i) * v[i];
    return sum;
}

/* The row of gate g and hidden element i in weights that lie by direction. */
static int64_t row_of(const struct sequence *q, int g, int64_t i)
{
    return ((int64_t)q->direction * kernel_cell_gates(q->shape->cell) + g) * q->shape->hidden + i;
}

static double from_input(const struct sequence *q, int g, int64_t i)
{
    return dot(q->data->w, q->shape->dtype, row_of(q, g, i), q->x, q->shape->inputs);
}

static double from_state(const struct sequence *q, int g, int64_t i, const double *h)
{
    return dot(q->data->r, q->shape->dtype, row_of(q, g, i), h, q->shape->hidden);
}

/* part 0: the input's bias, 1: the state's. */
static double bias_of(const struct sequence *q, int g, int64_t i, int part)
{
    int gates = kernel_cell_gates(q->shape->cell);
    int64_t row = (2 * (int64_t)q->direction + part) * gates + g;

    return q->data->b ? ref_get_f64(q->data->b, q->shape->dtype, row * q->shape->hidden + i) : 0.0;
}

static double peephole(const struct sequence *q, int which, int64_t i)
{
    int64_t row = 3 * (int64_t)q->direction + which;

    return q->data->p ? ref_get_f64(q->data->p, q->shape->dtype, row * q->shape->hidden + i) : 0.0;
}

static double gate(const struct sequence *q, int function, double x)
{
    return apply(&q->shape->functions[q->direction][function], q->shape->clip, x);
}

/* All that goes into gate g from input, state and biases. */
static double gate_sum(const struct sequence *q, int g, int64_t i)
{
    return from_input(q, g, i) + from_state(q, g, i, q->old_h) + bias_of(q, g, i, 0) +
           bias_of(q, g, i, 1);
}

static void step_rnn(struct sequence *q)
{
    for (int64_t i = 0; i < q->shape->hidden; i++)
        q->h[i] = gate(q, 0, gate_sum(q, 0, i));
}

static void step_gru(struct sequence *q)
{
    enum { UPDATE, RESET, HIDDEN };
    int64_t hidden = q->shape->hidden;

    for (int64_t i = 0; i < hidden; i++) {
        q->gates[i] = gate(q, 0, gate_sum(q, UPDATE, i));
        q->reset[i] = gate(q, 0, gate_sum(q, RESET, i));
    }
    if (!q->shape->is_reset_last)
        for (int64_t i = 0; i < hidden; i++)
            q->reset[i] *= q->old_h[i];
    for (int64_t i = 0; i < hidden; i++) {
        double sum = from_input(q, HIDDEN, i) + bias_of(q, HIDDEN, i, 0);
        double bias = bias_of(q, HIDDEN, i, 1), made;

        if (q->shape->is_reset_last)
            sum += q->reset[i] * (from_state(q, HIDDEN, i, q->old_h) + bias);
        else
            sum += from_state(q, HIDDEN, i, q->reset) + bias;
        made = gate(q, 1, sum);
        q->h[i] = (1.0 - q->gates[i]) * made + q->gates[i] * q->old_h[i];
    }
}

static void step_lstm(struct sequence *q)
{
    enum { INPUT, OUTPUT, FORGET, CELL };
    enum { PEEP_INPUT, PEEP_OUTPUT, PEEP_FORGET };

    for (int64_t i = 0; i < q->shape->hidden; i++) {
        double in = gate(q, 0, gate_sum(q, INPUT, i) + peephole(q, PEEP_INPUT, i) * q->c[i]);
        double forget =
            q->shape->is_forget_one_minus
                ? 1.0 - in
                : gate(q, 0, gate_sum(q, FORGET, i) + peephole(q, PEEP_FORGET, i) * q->c[i]);
        double made = gate(q, 1, gate_sum(q, CELL, i)), out;

        q->c[i] = forget * q->c[i] + in * made;
        out = gate(q, 0, gate_sum(q, OUTPUT, i) + peephole(q, PEEP_OUTPUT, i) * q->c[i]);
        q->h[i] = out * gate(q, 2, q->c[i]);
    }
}

/* Where a state [hidden] of this sequence lies. */
static int64_t state_at(const struct sequence *q, int64_t b)
{
    const struct kernel_recurrent *s = q->shape;

    return (s->is_batch_first ? b * s->directions + q->direction : q->direction * s->batch + b) *
           s->hidden;
}

static int64_t y_at(const struct sequence *q, int64_t b, int64_t t)
{
    const struct kernel_recurrent *s = q->shape;

    return (s->is_batch_first ? (b * s->steps + t) * s->directions + q->direction
                              : (t * s->directions + q->direction) * s->batch + b) *
           s->hidden;
}

static void load(double *to, const void *from, enum kernel_dtype dtype, int64_t at, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = from ? ref_get_f64(from, dtype, at + i) : 0.0;
}

static void save(void *to, enum kernel_dtype dtype, int64_t at, const double *from, int64_t count)
{
    for (int64_t i = 0; to && i < count; i++)
        ref_set_f64(to, dtype, at + i, from ? from[i] : 0.0);
}

static void run_sequence(struct sequence *q, int64_t b, int64_t length)
{
    const struct kernel_recurrent_data *d = q->data;
    const struct kernel_recurrent *s = q->shape;

    load(q->h, d->initial_h, s->dtype, state_at(q, b), s->hidden);
    load(q->c, d->initial_c, s->dtype, state_at(q, b), s->hidden);
    for (int64_t i = 0; i < length; i++) {
        int64_t t = s->is_reverse[q->direction] ? length - 1 - i : i;
        int64_t x_row = s->is_batch_first ? b * s->steps + t : t * s->batch + b;

        load(q->x, d->x, s->dtype, x_row * s->inputs, s->inputs);
        memcpy(q->old_h, q->h, (size_t)s->hidden * sizeof(*q->h));
        if (s->cell == CELL_RNN)
            step_rnn(q);
        else if (s->cell == CELL_GRU)
            step_gru(q);
        else
            step_lstm(q);
        save(d->y, s->dtype, y_at(q, b, t), q->h, s->hidden);
    }
    for (int64_t t = length; t < s->steps; t++)
        save(d->y, s->dtype, y_at(q, b, t), NULL, s->hidden);
    save(d->last_h, s->dtype, state_at(q, b), q->h, s->hidden);
    save(d->last_c, s->dtype, state_at(q, b), q->c, s->hidden);
}

int recurrent_ref(const struct kernel_recurrent_data *data, const struct kernel_recurrent *shape)
{
    struct sequence q = {.data = data, .shape = shape, .x = data->workspace};

    q.h = q.x + shape->inputs;
    q.c = q.h + shape->hidden;
    q.old_h = q.c + shape->hidden;
    q.reset = q.old_h + shape->hidden;
    q.gates = q.reset + shape->hidden;
    for (int64_t b = 0; data->lengths && b < shape->batch; b++)
        if (data->lengths[b] < 0 || data->lengths[b] > shape->steps)
            return -1;
    for (q.direction = 0; q.direction < shape->directions; q.direction++)
        for (int64_t b = 0; b < shape->batch; b++)
            run_sequence(&q, b, data->lengths ? data->lengths[b] : shape->steps);
    return 0;
}
