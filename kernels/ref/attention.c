/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and rotary embedding, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"

#include <math.h>
#include <string.h>

/* One row of scores at work: a query step of a head. */
struct row {
    int64_t b, h, s;
    int64_t kv_head, total;
};

static int64_t heads_at(const struct kernel_heads *heads, int64_t b, int64_t h, int64_t s)
{
    return b * heads->batch_stride + h * heads->head_stride + s * heads->step_stride;
}

/* Channel c of key or value t: from the past, or from this call. */
static double cached(const void *past, const void *now, const struct kernel_heads *heads,
                     const struct row *row, int64_t t, int64_t c, int64_t channels,
                     const struct kernel_attention *s)
{
    int64_t line = row->b * s->kv_heads + row->kv_head;

    if (t < s->past_steps)
        return ref_get_f64(past, s->dtype, (line * s->past_steps + t) * channels + c);
    return ref_get_f64(now, s->dtype, heads_at(heads, row->b, row->kv_head, t - s->past_steps) + c);
}

/* Whether key t may be seen whatever the mask says. */
static bool is_in_reach(const struct kernel_attention_data *d, const struct kernel_attention *s,
                        const struct row *row, int64_t t)
{
    int64_t ahead = t - row->s - s->past_steps; /* of the query's own place among the keys */

    if (d->seen_steps && t >= attention_seen(d->seen_steps, row->b))
        return false;
    /* The keys of a buffer end with those of the query's own steps. */
    if (d->seen_steps && !d->past_k)
        ahead = t - (row->s - s->q_steps) - attention_seen(d->seen_steps, row->b);
    return !(s->is_causal && ahead > 0) && !(s->is_limited[0] && -ahead > s->reach[0]) &&
           !(s->is_limited[1] && ahead > s->reach[1]);
}

static double mask_of(const struct kernel_attention_data *d, const struct kernel_attention *s,
                      const struct row *row, int64_t t)
{
    int64_t at =
        row->b * s->mask_stride[0] + row->h * s->mask_stride[1] + row->s * s->mask_stride[2] + t;

    if (!is_in_reach(d, s, row, t))
        return -(double)INFINITY;
    if (!d->mask)
        return 0.0;
    if (t >= s->mask_steps)
        return -(double)INFINITY;
    if (s->mask_type == KERNEL_BOOL)
        return ((const uint8_t *)d->mask)[at] ? 0.0 : -(double)INFINITY;
    return ref_get_f64(d->mask, s->mask_type, at);
}

static void keep_scores(const struct kernel_attention_data *d, const struct kernel_attention *s,
                        const struct row *row, enum kernel_scores mode)
{
    int64_t base = ((row->b * s->heads + row->h) * s->q_steps + row->s) * row->total;

    for (int64_t t = 0; d->scores && s->scores_mode == mode && t < row->total; t++)
        ref_set_f64(d->scores, s->dtype, base + t, ((double *)d->workspace)[t]);
}

/* Returns the sum that each was divided by; 0: nothing is seen. */
static double softmax(double *x, int64_t count)
{
    double largest = -(double)INFINITY, sum = 0.0;

    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, x[i]);
    for (int64_t i = 0; i < count; i++) {
        x[i] = largest > -(double)INFINITY ? exp(x[i] - largest) : 0.0;
        sum += x[i];
    }
    for (int64_t i = 0; sum != 0.0 && i < count; i++)
        x[i] /= sum;
    return sum;
}

static void attend(const struct kernel_attention_data *d, const struct kernel_attention *s,
                   const struct row *row)
{
    double *scores = d->workspace, unseen;

    for (int64_t t = 0; t < row->total; t++) {
        scores[t] = 0.0;
        for (int64_t c = 0; c < s->channels; c++)
            scores[t] += ref_get_f64(d->q, s->dtype, heads_at(&s->q, row->b, row->h, row->s) + c) *
                         cached(d->past_k, d->k, &s->k, row, t, c, s->channels, s);
        scores[t] *= s->scale;
    }
    keep_scores(d, s, row, SCORES_RAW);
    for (int64_t t = 0; s->softcap != 0.0 && t < row->total; t++)
        scores[t] = s->softcap * tanh(scores[t] / s->softcap);
    keep_scores(d, s, row, SCORES_CAPPED);
    for (int64_t t = 0; t < row->total; t++)
        scores[t] += mask_of(d, s, row, t);
    keep_scores(d, s, row, SCORES_MASKED);
    unseen = softmax(scores, row->total) == 0.0 && s->unseen_is_nan ? NAN : 0.0;
    keep_scores(d, s, row, SCORES_SOFTMAX);
    for (int64_t c = 0; c < s->v_channels; c++) {
        double sum = unseen;

        /* What is not seen counts nothing, even where it is not a number. */
        for (int64_t t = 0; t < row->total; t++)
            if (scores[t] != 0.0)
                sum += scores[t] * cached(d->past_v, d->v, &s->v, row, t, c, s->v_channels, s);
        ref_set_f64(d->y, s->dtype, heads_at(&s->y, row->b, row->h, row->s) + c, sum);
    }
}

/* The past, then this call's. */
static void keep_present(void *present, const void *past, const void *now,
                         const struct kernel_heads *heads, int64_t channels,
                         const struct kernel_attention *s)
{
    size_t bytes = (size_t)channels * kernel_dtype_bytes(s->dtype);
    int64_t total = s->past_steps + s->kv_steps;
    char *to = present;

    for (int64_t i = 0; present && i < s->batch * s->kv_heads * total; i++, to += bytes) {
        int64_t line = i / total, t = i % total;
        int64_t at = heads_at(heads, line / s->kv_heads, line % s->kv_heads, t - s->past_steps);

        if (t < s->past_steps)
            memcpy(to, (const char *)past + (size_t)(line * s->past_steps + t) * bytes, bytes);
        else
            memcpy(to, (const char *)now + (size_t)at * kernel_dtype_bytes(s->dtype), bytes);
    }
}

void attention_ref(const struct kernel_attention_data *data, const struct kernel_attention *shape)
{
    struct row row = {.total = shape->past_steps + shape->kv_steps};

    keep_present(data->present_k, data->past_k, data->k, &shape->k, shape->channels, shape);
    keep_present(data->present_v, data->past_v, data->v, &shape->v, shape->v_channels, shape);
    for (row.b = 0; row.b < shape->batch; row.b++) {
        for (row.h = 0; row.h < shape->heads; row.h++) {
            row.kv_head = row.h / (shape->heads / shape->kv_heads);
            for (row.s = 0; row.s < shape->q_steps; row.s++)
                attend(data, shape, &row);
        }
    }
}

/* One line of channels, turned by row `angle` of the caches. */
static void rotate(void *y, const void *x, const void *cosines, const void *sines, int64_t angle,
                   int64_t at, const struct kernel_rotary *s)
{
    int64_t half = s->rotated / 2;

    for (int64_t c = s->rotated; c < s->channels; c++)
        ref_set_f64(y, s->dtype, at + c, ref_get_f64(x, s->dtype, at + c));
    for (int64_t i = 0; i < half; i++) {
        int64_t first = at + (s->is_interleaved ? 2 * i : i);
        int64_t second = first + (s->is_interleaved ? 1 : half);
        double a = ref_get_f64(x, s->dtype, first), b = ref_get_f64(x, s->dtype, second);
        double cosine = ref_get_f64(cosines, s->dtype, angle * half + i);
        double sine = ref_get_f64(sines, s->dtype, angle * half + i);

        ref_set_f64(y, s->dtype, first, cosine * a - sine * b);
        ref_set_f64(y, s->dtype, second, sine * a + cosine * b);
    }
}

int rotary_ref(void *y, const void *x, const void *cosines, const void *sines,
               const int64_t *places, const struct kernel_rotary *shape)
{
    for (int64_t i = 0; i < shape->batch * shape->heads * shape->steps; i++) {
        int64_t step = i % shape->steps, line = i / shape->steps;
        int64_t b = line / shape->heads;
        int64_t angle = (shape->is_shared ? 0 : b * shape->steps) + step;

        if (shape->positions) {
            angle = places[angle];
            if (angle < 0 || angle >= shape->positions)
                return -1;
        }
        rotate(y, x, cosines, sines, angle, heads_at(&shape->x, b, line % shape->heads, step),
               shape);
    }
    return 0;
}
