/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of f64: a query at a time, whose scores stay in a cache. With masks of other types it is the reference's. */
#include "kernels/cpu/attention_f64.h"

#include <float.h>
#include <math.h>

#include "kernels/cpu/attention_rows.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/math_f64.h"
#include "kernels/cpu/team.h"

enum { GRAIN = 1 << 16 }; /* products that are worth a second thread */

/* In how many shares queries are done: each has scores of its own. */
static int64_t share_count(const struct kernel_attention *s)
{
    int64_t rows = s->batch * s->heads * s->q_steps, shares = kernel_threads();
    int64_t products = (s->past_steps + s->kv_steps) * (s->channels + s->v_channels);

    shares = shares < rows ? shares : rows;
    return shares > 1 && products * rows / shares >= GRAIN ? shares : 1;
}

static size_t share_bytes(const struct kernel_attention *s)
{
    size_t bytes = (size_t)(s->past_steps + s->kv_steps) * sizeof(double);

    return (bytes + 63) / 64 * 64;
}

size_t kernel_attention_f64_room(const struct kernel_attention *shape)
{
    return (size_t)share_count(shape) * share_bytes(shape);
}

/* Keys or values of a head: those of the past lie dense. */
struct cache {
    const double *past, *now;
    int64_t past_steps, line, channels;
};

static struct cache cache_of(const void *past, const void *now, const struct kernel_heads *heads,
                             const struct row *row, int64_t channels,
                             const struct kernel_attention *s)
{
    int64_t kv = row->h / (s->heads / s->kv_heads), steps = s->past_steps;
    const double *before = past;

    return (struct cache){
        before && steps > 0 ? before + (row->b * s->kv_heads + kv) * steps * channels : NULL,
        (const double *)now + row->b * heads->batch_stride + kv * heads->head_stride, steps,
        heads->step_stride, channels};
}

/* Key t, behind which those up to *out_end lie one line apart. */
static inline const double *run_at(const struct cache *cache, int64_t t, int64_t end,
                                   int64_t *out_end, int64_t *out_line)
{
    if (t < cache->past_steps) {
        *out_end = end < cache->past_steps ? end : cache->past_steps;
        *out_line = cache->channels;
        return cache->past + t * cache->channels;
    }
    *out_end = end;
    *out_line = cache->line;
    return cache->now + (t - cache->past_steps) * cache->line;
}

/* Products of a query by `count` keys. */
ISA_BODY void multiply_keys(double *restrict scores, const double *q, const double *k, int64_t line,
                            int64_t count, int64_t channels)
{
    int64_t t = 0;

    for (; t + 4 <= count; t += 4, k += 4 * line) {
        double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;

#pragma omp simd reduction(+ : s0, s1, s2, s3)
        for (int64_t c = 0; c < channels; c++) {
            s0 += q[c] * k[c];
            s1 += q[c] * k[line + c];
            s2 += q[c] * k[2 * line + c];
            s3 += q[c] * k[3 * line + c];
        }
        scores[t] = s0;
        scores[t + 1] = s1;
        scores[t + 2] = s2;
        scores[t + 3] = s3;
    }
    for (; t < count; t++, k += line) {
        double sum = 0.0;

#pragma omp simd reduction(+ : sum)
        for (int64_t c = 0; c < channels; c++)
            sum += q[c] * k[c];
        scores[t] = sum;
    }
}

/* y += the sum of `count` values, weighed. */
ISA_BODY void add_values(double *restrict y, const double *weights, const double *v, int64_t line,
                         int64_t count, int64_t channels)
{
    int64_t t = 0;

    for (; t + 4 <= count; t += 4, v += 4 * line) {
        double w0 = weights[t], w1 = weights[t + 1], w2 = weights[t + 2], w3 = weights[t + 3];

#pragma omp simd
        for (int64_t c = 0; c < channels; c++)
            y[c] += (w0 * v[c] + w1 * v[line + c]) + (w2 * v[2 * line + c] + w3 * v[3 * line + c]);
    }
    for (; t < count; t++, v += line)
#pragma omp simd
        for (int64_t c = 0; c < channels; c++)
            y[c] += weights[t] * v[c];
}

/* What is not seen counts nothing, even where it is not a number: such rows are summed again. */
static void mend_values(double *y, const double *weights, const struct cache *values,
                        const struct row *row)
{
    for (int64_t c = 0; c < values->channels; c++)
        y[c] = 0.0;
    for (int64_t t = row->first, end, line; t < row->end; t = end) {
        const double *v = run_at(values, t, row->end, &end, &line);

        for (int64_t i = t; i < end; i++, v += line)
            for (int64_t c = 0; weights[i] != 0.0 && c < values->channels; c++)
                y[c] += weights[i] * v[c];
    }
}

/* The scores of the keys in reach, with what is added to them. */
ISA_BODY void mask_scores(const struct kernel_attention_data *d, const struct kernel_attention *s,
                          const struct row *row, double *restrict scores)
{
    int64_t at =
        row->b * s->mask_stride[0] + row->h * s->mask_stride[1] + row->s * s->mask_stride[2];

    if (d->mask && s->mask_type == KERNEL_BOOL) {
        const uint8_t *mask = (const uint8_t *)d->mask + at;

        for (int64_t t = row->first; t < row->end; t++)
            scores[t] = mask[t] ? scores[t] : scores[t] - (double)INFINITY;
    } else if (d->mask) {
        const double *mask = (const double *)d->mask + at;

#pragma omp simd
        for (int64_t t = row->first; t < row->end; t++)
            scores[t] += mask[t];
    }
}

/* Of the keys in reach. False, and all are 0, where nothing is seen. */
ISA_BODY bool softmax_row(double *restrict scores, const struct row *row)
{
    double largest = -(double)INFINITY, sum = 0.0;

#pragma omp simd reduction(max : largest)
    for (int64_t t = row->first; t < row->end; t++)
        largest = scores[t] > largest ? scores[t] : largest;
    if (largest == -DBL_MAX) { /* with which clang begins: it may not be among them */
        largest = -(double)INFINITY;
        for (int64_t t = row->first; t < row->end; t++)
            largest = scores[t] > largest ? scores[t] : largest;
    }
    if (largest == -(double)INFINITY) {
        for (int64_t t = row->first; t < row->end; t++)
            scores[t] = 0.0;
        return false;
    }
#pragma omp simd reduction(+ : sum)
    for (int64_t t = row->first; t < row->end; t++) {
        double below = scores[t] - largest, power = math_f64_exp_below(below);

        power = below < -745.0 ? 0.0 : power;
        scores[t] = power;
        sum += power;
    }
#pragma omp simd
    for (int64_t t = row->first; t < row->end; t++)
        scores[t] /= sum;
    return true;
}

struct job {
    const struct kernel_attention_data *data;
    const struct kernel_attention *shape;
    int64_t shares;
};

static void keep_scores(const struct job *job, int64_t index, const double *scores,
                        enum kernel_scores mode)
{
    const struct kernel_attention *s = job->shape;
    int64_t total = s->past_steps + s->kv_steps;

    if (job->data->scores && s->scores_mode == mode)
        memcpy((double *)job->data->scores + index * total, scores,
               (size_t)total * sizeof(*scores));
}

/* From products to weights. False where nothing is seen. */
ISA_BODY bool weigh_keys(const struct job *job, int64_t index, const struct row *row,
                         double *restrict scores)
{
    const struct kernel_attention *s = job->shape;
    bool has_all = job->data->scores != NULL, is_seen;
    int64_t total = s->past_steps + s->kv_steps;
    int64_t first = has_all ? 0 : row->first, end = has_all ? total : row->end;

#pragma omp simd
    for (int64_t t = first; t < end; t++)
        scores[t] *= s->scale;
    keep_scores(job, index, scores, SCORES_RAW);
    if (s->softcap != 0.0)
#pragma omp simd
        for (int64_t t = first; t < end; t++)
            scores[t] = s->softcap * math_f64_tanh(scores[t] / s->softcap);
    keep_scores(job, index, scores, SCORES_CAPPED);
    mask_scores(job->data, s, row, scores);
    for (int64_t t = first; t < row->first; t++)
        scores[t] -= (double)INFINITY;
    for (int64_t t = row->end; t < end; t++)
        scores[t] -= (double)INFINITY;
    keep_scores(job, index, scores, SCORES_MASKED);
    is_seen = softmax_row(scores, row);
    for (int64_t t = first; t < row->first; t++)
        scores[t] = 0.0;
    for (int64_t t = row->end; t < end; t++)
        scores[t] = 0.0;
    keep_scores(job, index, scores, SCORES_SOFTMAX);
    return is_seen;
}

/* Query `index` of all heads. */
ISA_BODY void attend(const struct job *job, int64_t index, double *scores)
{
    const struct kernel_attention_data *d = job->data;
    const struct kernel_attention *s = job->shape;
    int64_t line = index / s->q_steps, total = s->past_steps + s->kv_steps, end, step;
    struct row row = {.b = line / s->heads, .h = line % s->heads, .s = index % s->q_steps};
    struct cache keys = cache_of(d->past_k, d->k, &s->k, &row, s->channels, s);
    struct cache values = cache_of(d->past_v, d->v, &s->v, &row, s->v_channels, s);
    const double *q = (const double *)d->q + row.b * s->q.batch_stride + row.h * s->q.head_stride +
                      row.s * s->q.step_stride;
    double *y = (double *)d->y + row.b * s->y.batch_stride + row.h * s->y.head_stride +
                row.s * s->y.step_stride;
    double odd = 0.0, unseen = s->unseen_is_nan ? (double)NAN : 0.0;
    bool is_seen;

    find_reach(d, s, &row);
    for (int64_t t = d->scores ? 0 : row.first, last = d->scores ? total : row.end; t < last;
         t = end) {
        const double *k = run_at(&keys, t, last, &end, &step);

        multiply_keys(scores + t, q, k, step, end - t, s->channels);
    }
    is_seen = weigh_keys(job, index, &row, scores);
    for (int64_t c = 0; c < s->v_channels; c++)
        y[c] = is_seen ? 0.0 : unseen;
    for (int64_t t = row.first; is_seen && t < row.end; t = end) {
        const double *v = run_at(&values, t, row.end, &end, &step);

        add_values(y, scores + t, v, step, end - t, s->v_channels);
    }
#pragma omp simd reduction(+ : odd)
    for (int64_t c = 0; c < s->v_channels; c++)
        odd += y[c] - y[c];
    if (is_seen && odd != 0.0)
        mend_values(y, scores, &values, &row);
}

ISA_BODY void attend_shares(const struct job *job, int64_t begin, int64_t end)
{
    const struct kernel_attention *s = job->shape;
    int64_t all = s->batch * s->heads * s->q_steps;

    for (; begin < end; begin++) {
        char *room = (char *)job->data->workspace + (size_t)begin * share_bytes(s);

        for (int64_t i = all * begin / job->shares; i < all * (begin + 1) / job->shares; i++)
            attend(job, i, (double *)(void *)room);
    }
}

#define ATTENTION_F64(isa)                                                                         \
    ISA_TARGET_##isa static void shares_##isa(void *argument, int64_t begin, int64_t end)          \
    {                                                                                              \
        attend_shares(argument, begin, end);                                                       \
    }                                                                                              \
                                                                                                   \
    void attention_f64_##isa(const struct kernel_attention_data *d,                                \
                             const struct kernel_attention *s)                                     \
    {                                                                                              \
        struct job job = {d, s, share_count(s)};                                                   \
                                                                                                   \
        if (d->mask && s->mask_type != KERNEL_BOOL && s->mask_type != KERNEL_F64) {                \
            attention_ref(d, s);                                                                   \
            return;                                                                                \
        }                                                                                          \
        keep_present(d->present_k, d->past_k, d->k, &s->k, s->channels, s);                        \
        keep_present(d->present_v, d->past_v, d->v, &s->v, s->v_channels, s);                      \
        team_for(job.shares, 1, shares_##isa, &job);                                               \
    }

ISA_VERSIONS(ATTENTION_F64)
