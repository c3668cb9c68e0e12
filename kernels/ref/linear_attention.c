/* SPDX-License-Identifier: Apache-2.0 */
/* Linear attention, the truth: step by step, the state of a head at a time. */
#include <math.h>

#include "kernels/kernels.h"
#include "kernels/ref/number.h"

/* A head of keys and values at work. */
struct head {
    int64_t b, h;
    double *state; /* [channels, v_channels] */
    double *added; /* [v_channels] */
};

static void decay_state(const struct kernel_linear_attention_data *d,
                        const struct kernel_linear_attention *s, const struct head *head,
                        int64_t step)
{
    int64_t line = (step * s->kv_heads + head->h) * s->decay_channels;

    for (int64_t i = 0; i < s->channels; i++) {
        double g = ref_get_f64(d->decay, s->dtype, line + (s->decay_channels > 1 ? i : 0));

        for (int64_t m = 0; m < s->v_channels; m++)
            head->state[i * s->v_channels + m] *= exp(g);
    }
}

/* What the keys give already is taken off their values; the rest counts as much as beta says. */
static void correct(const struct kernel_linear_attention_data *d,
                    const struct kernel_linear_attention *s, const struct head *head, int64_t step,
                    int64_t k)
{
    int64_t at = s->is_beta_shared ? step : step * s->kv_heads + head->h;

    for (int64_t m = 0; m < s->v_channels; m++) {
        double held = 0.0;

        for (int64_t i = 0; i < s->channels; i++)
            held += head->state[i * s->v_channels + m] * ref_get_f64(d->k, s->dtype, k + i);
        head->added[m] = ref_get_f64(d->beta, s->dtype, at) * (head->added[m] - held);
    }
}

static void do_step(const struct kernel_linear_attention_data *d,
                    const struct kernel_linear_attention *s, const struct head *head, int64_t t)
{
    int64_t step = head->b * s->steps + t, group = s->heads / s->kv_heads;
    int64_t line = step * s->kv_heads + head->h;

    for (int64_t m = 0; m < s->v_channels; m++)
        head->added[m] = ref_get_f64(d->v, s->dtype, line * s->v_channels + m);
    if (d->decay)
        decay_state(d, s, head, step);
    if (d->beta)
        correct(d, s, head, step, line * s->channels);
    for (int64_t i = 0; i < s->channels; i++)
        for (int64_t m = 0; m < s->v_channels; m++)
            head->state[i * s->v_channels + m] +=
                ref_get_f64(d->k, s->dtype, line * s->channels + i) * head->added[m];
    for (int64_t q = line * group; q < (line + 1) * group; q++) {
        for (int64_t m = 0; m < s->v_channels; m++) {
            double sum = 0.0;

            for (int64_t i = 0; i < s->channels; i++)
                sum += ref_get_f64(d->q, s->dtype, q * s->channels + i) *
                       head->state[i * s->v_channels + m];
            ref_set_f64(d->y, s->dtype, q * s->v_channels + m, s->scale * sum);
        }
    }
}

void linear_attention_ref(const struct kernel_linear_attention_data *data,
                          const struct kernel_linear_attention *shape)
{
    int64_t size = shape->channels * shape->v_channels;
    struct head head = {.state = data->workspace};

    head.added = head.state + size;
    for (int64_t line = 0; line < shape->batch * shape->kv_heads; line++) {
        head.b = line / shape->kv_heads;
        head.h = line % shape->kv_heads;
        for (int64_t i = 0; i < size; i++)
            head.state[i] =
                data->past ? ref_get_f64(data->past, shape->state_type, line * size + i) : 0.0;
        for (int64_t t = 0; t < shape->steps; t++)
            do_step(data, shape, &head, t);
        for (int64_t i = 0; data->present && i < size; i++)
            ref_set_f64(data->present, shape->state_type, line * size + i, head.state[i]);
    }
}
