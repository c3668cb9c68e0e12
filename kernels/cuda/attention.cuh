/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of attention that work on tiles have in common: which keys a query sees, where these
 * lie, and what becomes of a product by them. */
#ifndef OPTRACE_KERNELS_CUDA_ATTENTION_CUH
#define OPTRACE_KERNELS_CUDA_ATTENTION_CUH

#include "kernels/cuda/device.cuh"

/* A head's queries that a block works on, and the keys that any of them may see. */
struct block_of {
    int64_t b, h, kv_head, step0;
    int64_t first, end;
};

/* The keys that a query may see whatever the mask says. */
struct reach {
    int64_t first, end;
};

static __device__ __forceinline__ int64_t lies_at(const struct kernel_heads *heads, int64_t b,
                                                  int64_t h, int64_t step)
{
    return b * heads->batch_stride + h * heads->head_stride + step * heads->step_stride;
}

static __device__ __forceinline__ int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static __device__ struct reach reach_of(const struct kernel_attention_data *d,
                                        const struct kernel_attention *s, int64_t b, int64_t step)
{
    int64_t total = s->past_steps + s->kv_steps, own = step + s->past_steps;
    int64_t seen = d->seen_steps ? attention_seen(d->seen_steps, b) : total;
    struct reach r = {0, smaller(seen, total)};

    /* The keys of a buffer end with those of the query's own steps. */
    if (d->seen_steps && !d->past_k)
        own = step - s->q_steps + seen;
    if (s->is_limited[0] && own > s->reach[0])
        r.first = own - s->reach[0];
    if (d->mask)
        r.end = smaller(r.end, s->mask_steps);
    if (s->is_causal)
        r.end = smaller(r.end, own + 1);
    if (s->is_limited[1])
        r.end = smaller(r.end, own + s->reach[1] + 1);
    return r;
}

/* Steps [first, end) of a line of a cache, which may begin with what is past. */
struct cache_lines {
    const void *past, *now;
    int64_t past_steps, past_at, now_at, step_stride, channels;
    int dtype;
    bool is_quad;
};

static __device__ struct cache_lines cache_of(const void *past, const void *now,
                                              const struct kernel_heads *heads, int64_t channels,
                                              const struct kernel_attention *s,
                                              const struct block_of *block, bool is_quad)
{
    int64_t line = block->b * s->kv_heads + block->kv_head;

    return {past,
            now,
            s->past_steps,
            line * s->past_steps * channels,
            lies_at(heads, block->b, block->kv_head, 0),
            heads->step_stride,
            channels,
            s->dtype,
            is_quad};
}

/* The score of one key, from what its product is. */
static __device__ __forceinline__ float masked(const struct kernel_attention_data *d,
                                               const struct kernel_attention *s, float score,
                                               int64_t mask_at, int64_t t)
{
    score *= (float)s->scale;
    if (s->softcap != 0.0)
        score = (float)s->softcap * tanhf(score / (float)s->softcap);
    if (!d->mask)
        return score;
    if (s->mask_type == KERNEL_BOOL)
        return ((const uint8_t *)d->mask)[mask_at + t] ? score : -INFINITY;
    return score + get_f32(d->mask, s->mask_type, mask_at + t);
}

static __device__ __forceinline__ int64_t mask_line(const struct kernel_attention *s,
                                                    const struct block_of *block, int64_t step)
{
    return block->b * s->mask_stride[0] + block->h * s->mask_stride[1] + step * s->mask_stride[2];
}

/* Blocks of queries one after the other, then heads, then the batch. */
static __device__ struct block_of find_block(const struct kernel_attention_data *d,
                                             const struct kernel_attention *s, int64_t index)
{
    int64_t count = (s->q_steps + CUDA_ATTEND_TILE - 1) / CUDA_ATTEND_TILE, line = index / count;
    struct block_of block = {
        line / s->heads, line % s->heads, 0, index % count * CUDA_ATTEND_TILE, 0, 0};
    int64_t last = smaller(block.step0 + CUDA_ATTEND_TILE, s->q_steps) - 1;

    /* Later queries see later keys. */
    block.kv_head = block.h / (s->heads / s->kv_heads);
    block.first = reach_of(d, s, block.b, block.step0).first;
    block.end = reach_of(d, s, block.b, last).end;
    return block;
}

/* What a step gives that sees nothing. */
static __device__ __forceinline__ float unseen_of(const struct kernel_attention *s)
{
    return s->unseen_is_nan ? (float)NAN : 0.0f;
}

/* Whether a sum has to be made again, of weights that are `all` together. */
static __device__ __forceinline__ bool is_lost(float sum, float all)
{
    return !(fabsf(sum) <= 3.402823466e38f) && all > 0.0f;
}

/* What is not seen counts nothing, even where it is not a number, and a mean of large numbers is none that is
 * too large: such a result is made again, with weights that are divided first. */
static __device__ float mean_again(const struct kernel_attention_data *d,
                                   const struct kernel_attention *s, const struct block_of *block,
                                   int64_t step, int64_t channel, float largest, float all)
{
    struct reach r = reach_of(d, s, block->b, step);
    struct cache_lines k = cache_of(d->past_k, d->k, &s->k, s->channels, s, block, false);
    struct cache_lines v = cache_of(d->past_v, d->v, &s->v, s->v_channels, s, block, false);
    int64_t query = lies_at(&s->q, block->b, block->h, step);
    float sum = 0.0f, share = 1.0f / all;

    for (int64_t t = r.first; t < r.end; t++) {
        bool is_past = t < s->past_steps;
        const void *key = is_past ? k.past : k.now, *value = is_past ? v.past : v.now;
        int64_t k_at =
            is_past ? k.past_at + t * s->channels : k.now_at + (t - s->past_steps) * k.step_stride;
        int64_t v_at = is_past ? v.past_at + t * s->v_channels
                               : v.now_at + (t - s->past_steps) * v.step_stride;
        float score = 0.0f, weight;

        for (int64_t c = 0; c < s->channels; c++)
            score =
                fmaf(get_f32(d->q, s->dtype, query + c), get_f32(key, s->dtype, k_at + c), score);
        weight = expf(masked(d, s, score, mask_line(s, block, step), t) - largest) * share;
        if (weight != 0.0f)
            sum = fmaf(weight, get_f32(value, s->dtype, v_at + channel), sum);
    }
    return sum;
}

#endif
