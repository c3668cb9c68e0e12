/* SPDX-License-Identifier: Apache-2.0 */
/* Attention in one pass over the keys, and rotary embedding. */
#include "kernels/cuda/attention.cuh"

/* A query step of a head. */
struct query {
    int64_t b, h, step, kv_head, total;
};

static __device__ int64_t heads_at(const struct kernel_heads *heads, int64_t b, int64_t h,
                                   int64_t step)
{
    return b * heads->batch_stride + h * heads->head_stride + step * heads->step_stride;
}

/* Channel c of key or value t: from the past, or from this call. */
static __device__ double cached(const void *past, const void *now, const struct kernel_heads *heads,
                                const struct query *q, int64_t t, int64_t c, int64_t channels,
                                const struct kernel_attention *s)
{
    int64_t line = q->b * s->kv_heads + q->kv_head;

    if (t < s->past_steps)
        return get_f64(past, s->dtype, (line * s->past_steps + t) * channels + c);
    return get_f64(now, s->dtype, heads_at(heads, q->b, q->kv_head, t - s->past_steps) + c);
}

static __device__ double mask_at(const struct kernel_attention_data *d,
                                 const struct kernel_attention *s, const struct query *q, int64_t t)
{
    int64_t at =
        q->b * s->mask_stride[0] + q->h * s->mask_stride[1] + q->step * s->mask_stride[2] + t;
    int64_t ahead = t - q->step - s->past_steps; /* of the query's own place among the keys */

    if (d->seen_steps && t >= attention_seen(d->seen_steps, q->b))
        return -(double)INFINITY;
    /* The keys of a buffer end with those of the query's own steps. */
    if (d->seen_steps && !d->past_k)
        ahead = t - (q->step - s->q_steps) - attention_seen(d->seen_steps, q->b);
    if ((s->is_causal && ahead > 0) || (s->is_limited[0] && -ahead > s->reach[0]) ||
        (s->is_limited[1] && ahead > s->reach[1]))
        return -(double)INFINITY;
    if (!d->mask)
        return 0.0;
    if (t >= s->mask_steps)
        return -(double)INFINITY;
    if (s->mask_type == KERNEL_BOOL)
        return ((const uint8_t *)d->mask)[at] ? 0.0 : -(double)INFINITY;
    return get_f64(d->mask, s->mask_type, at);
}

static __device__ void keep_score(const struct kernel_attention_data *d,
                                  const struct kernel_attention *s, const struct query *q,
                                  int64_t t, int mode, double score)
{
    if (d->scores && s->scores_mode == mode)
        set_f64(d->scores, s->dtype,
                ((q->b * s->heads + q->h) * s->q_steps + q->step) * q->total + t, score);
}

static __device__ double score_at(const struct kernel_attention_data *d,
                                  const struct kernel_attention *s, const struct query *q,
                                  int64_t t)
{
    int64_t from = heads_at(&s->q, q->b, q->h, q->step);
    double score = 0.0;

    for (int64_t c = 0; c < s->channels; c++)
        score += get_f64(d->q, s->dtype, from + c) *
                 cached(d->past_k, d->k, &s->k, q, t, c, s->channels, s);
    score *= s->scale;
    keep_score(d, s, q, t, SCORES_RAW, score);
    if (s->softcap != 0.0)
        score = s->softcap * tanh(score / s->softcap);
    keep_score(d, s, q, t, SCORES_CAPPED, score);
    score += mask_at(d, s, q, t);
    keep_score(d, s, q, t, SCORES_MASKED, score);
    return score;
}

enum { VALUES_EACH = 4, VALUES_AT_ONCE = VALUES_EACH * CUDA_LINE_BLOCK };

/* What a thread has of the row that its block works on. */
struct sofar {
    double largest, sum;
    double values[VALUES_EACH]; /* channels first, first + CUDA_LINE_BLOCK, ... */
    bool has_nan;
};

/* One more tile of keys: what was summed up is scaled anew where a larger score comes. */
static __device__ void attend_tile(const struct kernel_attention_data *d,
                                   const struct kernel_attention *s, const struct query *q,
                                   int64_t t0, int64_t first, double *weights, double *partial,
                                   struct sofar *row)
{
    int tid = threadIdx.x;
    double score = t0 + tid < q->total ? score_at(d, s, q, t0 + tid) : -(double)INFINITY;
    double largest =
        fmax(row->largest, block_reduce(partial, score, larger_of(), -(double)INFINITY));
    double factor = row->largest > -(double)INFINITY ? exp(row->largest - largest) : 0.0;
    double weight = largest > -(double)INFINITY && !is_nan(score) ? exp(score - largest) : 0.0;
    int64_t keys = q->total - t0 < CUDA_LINE_BLOCK ? q->total - t0 : (int64_t)CUDA_LINE_BLOCK;

    row->has_nan = row->has_nan || is_nan(score);
    row->largest = largest;
    row->sum = row->sum * factor + weight;
    weights[tid] = weight;
    if (BUG != 20)
        __syncthreads();
    for (int e = 0; e < VALUES_EACH; e++) {
        int64_t c = first + tid + e * CUDA_LINE_BLOCK;

        if (c >= s->v_channels)
            break;
        row->values[e] = factor == 0.0 ? 0.0 : row->values[e] * factor;
        for (int64_t j = 0; j < keys; j++)
            if (weights[j] != 0.0)
                row->values[e] +=
                    weights[j] * cached(d->past_v, d->v, &s->v, q, t0 + j, c, s->v_channels, s);
    }
    __syncthreads(); /* nobody writes `weights` again before all have read them */
}

static __device__ void attend(const struct kernel_attention_data *d,
                              const struct kernel_attention *s, const struct query *q,
                              int64_t first, double *weights, double *partial)
{
    struct sofar row = {-(double)INFINITY, 0.0, {}, false};
    int64_t to = heads_at(&s->y, q->b, q->h, q->step);
    double sum;

    for (int64_t t0 = 0; t0 < q->total; t0 += CUDA_LINE_BLOCK)
        attend_tile(d, s, q, t0, first, weights, partial, &row);
    sum = block_reduce(partial, row.has_nan && row.largest > -(double)INFINITY ? NAN : row.sum,
                       sum_of(), 0.0);
    for (int e = 0; e < VALUES_EACH; e++) {
        int64_t c = first + threadIdx.x + e * CUDA_LINE_BLOCK;

        if (c < s->v_channels)
            set_f64(d->y, s->dtype, to + c,
                    sum != 0.0 ? row.values[e] / sum : (double)unseen_of(s));
    }
    if (!d->scores || s->scores_mode != SCORES_SOFTMAX || first > 0)
        return;
    for (int64_t t = threadIdx.x; t < q->total; t += CUDA_LINE_BLOCK)
        keep_score(d, s, q, t, SCORES_SOFTMAX,
                   sum != 0.0 ? exp(score_at(d, s, q, t) - row.largest) / sum : 0.0);
}

/* A block per query step. */
extern "C" __global__ void __launch_bounds__(CUDA_LINE_BLOCK, CUDA_RESIDENT)
    attention_any(struct kernel_attention_data d, struct kernel_attention s, int64_t rows)
{
    __shared__ double weights[CUDA_LINE_BLOCK], partial[CUDA_LINE_BLOCK / 32];

    for (int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
        struct query q = {i / s.q_steps / s.heads, i / s.q_steps % s.heads, i % s.q_steps, 0,
                          s.past_steps + s.kv_steps};

        q.kv_head = q.h / (s.heads / s.kv_heads);
        for (int64_t first = 0; first == 0 || first < s.v_channels; first += VALUES_AT_ONCE)
            attend(&d, &s, &q, first, weights, partial);
    }
}
KERNEL_EXPORT(attention_any)

/* The past, then this call's. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    present_any(void *present, const void *past, const void *now, struct kernel_heads heads,
                int64_t channels, int bytes, int64_t count, struct kernel_attention s)
{
    int64_t total = s.past_steps + s.kv_steps;

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t c = i % channels, t = i / channels % total, line = i / channels / total;
        int64_t at = heads_at(&heads, line / s.kv_heads, line % s.kv_heads, t - s.past_steps) + c;

        if (t < s.past_steps)
            move_element(present, i, past, (line * s.past_steps + t) * channels + c, bytes);
        else
            move_element(present, i, now, at, bytes);
    }
}
KERNEL_EXPORT(present_any)

/* A thread per line of channels. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    rotary_any(void *y, const void *x, const void *cosines, const void *sines,
               const int64_t *places, int64_t lines, struct kernel_rotary s,
               struct cuda_fault fault)
{
    int64_t half = s.rotated / 2;

    for (int64_t i = grid_index(); i < lines; i += grid_step()) {
        int64_t step = i % s.steps, line = i / s.steps, b = line / s.heads;
        int64_t angle = (s.is_shared ? 0 : b * s.steps) + step;
        int64_t at = heads_at(&s.x, b, line % s.heads, step);

        if (s.positions) {
            angle = places[angle];
            if (angle < 0 || angle >= s.positions) {
                atomicCAS(fault.word, 0u, fault.mark);
                continue;
            }
        }
        for (int64_t c = s.rotated; c < s.channels; c++)
            set_f64(y, s.dtype, at + c, get_f64(x, s.dtype, at + c));
        for (int64_t pair = 0; pair < half; pair++) {
            int64_t first = at + (s.is_interleaved ? 2 * pair : pair);
            int64_t second = first + (s.is_interleaved ? 1 : half);
            double a = get_f64(x, s.dtype, first), b2 = get_f64(x, s.dtype, second);
            double cosine = get_f64(cosines, s.dtype, angle * half + pair);
            double sine = get_f64(sines, s.dtype, angle * half + pair);

            set_f64(y, s.dtype, first, cosine * a - sine * b2);
            set_f64(y, s.dtype, second, (BUG == 21 ? -sine : sine) * a + cosine * b2);
        }
    }
}
KERNEL_EXPORT(rotary_any)
