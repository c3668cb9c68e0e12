/* SPDX-License-Identifier: Apache-2.0 */
/* An LSTM of bytes, the truth: one sequence after the other, one step after the other. */
#include <math.h>
#include <string.h>

#include "kernels/lstm_int8.h"

enum { INPUT, OUTPUT, FORGET, CELL, GATES };

/* One sequence in one direction. */
struct sequence {
    const struct kernel_lstm_int8_data *data;
    const struct kernel_lstm_int8 *shape;
    int64_t direction;
    float h[KERNEL_LSTM_INT8_MOST];
    double c[KERNEL_LSTM_INT8_MOST];
    uint8_t quanta[KERNEL_LSTM_INT8_MOST]; /* of h */
    float scale;
    uint8_t zero;
};

static int64_t byte_at(const void *bytes, bool is_signed, int64_t i)
{
    return is_signed ? ((const int8_t *)bytes)[i] : ((const uint8_t *)bytes)[i];
}

/* Bytes `a` by a column of the weights. */
static double product(const struct sequence *q, const struct kernel_lstm_int8_bytes *b,
                      const struct kernel_lstm_int8_weights *how, const uint8_t *a, int64_t a_zero,
                      int64_t count, int64_t column)
{
    int64_t columns = GATES * q->shape->hidden, sum = 0;
    int64_t line = how->has_columns ? q->direction * columns + column : q->direction;
    int64_t zero = b->zero ? byte_at(b->zero, how->is_signed, line) : 0;

    for (int64_t i = 0; i < count; i++)
        sum += (a[i] - a_zero) *
               (byte_at(b->quanta, how->is_signed, (q->direction * count + i) * columns + column) -
                zero);
    return (double)sum * (double)b->scale[line];
}

static double gate_sum(const struct sequence *q, const uint8_t *x, int gate, int64_t i)
{
    const struct kernel_lstm_int8_data *d = q->data;
    const struct kernel_lstm_int8 *s = q->shape;
    int64_t column = gate * s->hidden + i, line = q->direction * 2 * GATES * s->hidden + column;
    double sum = d->b ? (double)d->b[line] + (double)d->b[line + GATES * s->hidden] : 0.0;

    sum += product(q, &d->w, &s->w, x, *d->x_zero, s->inputs, column) * (double)*d->x_scale;
    return sum + product(q, &d->r, &s->r, q->quanta, q->zero, s->hidden, column) * (double)q->scale;
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static void step(struct sequence *q, const uint8_t *x)
{
    quantize_dynamic_ref(q->quanta, &q->scale, &q->zero, q->h, (size_t)q->shape->hidden);
    for (int64_t i = 0; i < q->shape->hidden; i++) {
        q->c[i] = sigmoid(gate_sum(q, x, FORGET, i)) * q->c[i] +
                  sigmoid(gate_sum(q, x, INPUT, i)) * tanh(gate_sum(q, x, CELL, i));
        q->h[i] = (float)(sigmoid(gate_sum(q, x, OUTPUT, i)) * tanh(q->c[i]));
    }
}

static void run_sequence(struct sequence *q, int64_t b, int64_t length)
{
    const struct kernel_lstm_int8_data *d = q->data;
    const struct kernel_lstm_int8 *s = q->shape;
    int64_t state = (q->direction * s->batch + b) * s->hidden;
    size_t bytes = (size_t)s->hidden * sizeof(*q->h);

    for (int64_t i = 0; i < s->hidden; i++) {
        q->h[i] = d->initial_h ? d->initial_h[state + i] : 0.0f;
        q->c[i] = d->initial_c ? (double)d->initial_c[state + i] : 0.0;
    }
    for (int64_t i = 0; i < s->steps; i++) {
        int64_t t = s->is_reverse[q->direction] && i < length ? length - 1 - i : i;
        float *y =
            d->y ? d->y + ((t * s->directions + q->direction) * s->batch + b) * s->hidden : NULL;

        if (i < length)
            step(q, d->x + (t * s->batch + b) * s->inputs);
        if (y && i < length)
            memcpy(y, q->h, bytes);
        else if (y)
            memset(y, 0, bytes);
    }
    if (d->last_h)
        memcpy(d->last_h + state, q->h, bytes);
    for (int64_t i = 0; d->last_c && i < s->hidden; i++)
        d->last_c[state + i] = (float)q->c[i];
}

int lstm_int8_ref(const struct kernel_lstm_int8_data *data, const struct kernel_lstm_int8 *shape)
{
    struct sequence q = {.data = data, .shape = shape};

    for (int64_t b = 0; data->lengths && b < shape->batch; b++)
        if (data->lengths[b] < 0 || data->lengths[b] > shape->steps)
            return -1;
    for (q.direction = 0; q.direction < shape->directions; q.direction++)
        for (int64_t b = 0; b < shape->batch; b++)
            run_sequence(&q, b, data->lengths ? data->lengths[b] : shape->steps);
    return 0;
}
