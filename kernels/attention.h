/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of attention and rotary embedding, over f32, f64 and f16. What is common to all
 * contracts stands in kernels.h, which includes this. The reference takes sums in f64 and rounds once;
 * versions of attention compute f32 in f32 and agree with it to 1e-5 of the largest value. Those that compute
 * f16 and bf16 on a device keep scores and sums in f32, and round weights to the type: they agree to
 * 2^-10 of the largest value that is seen, of bf16 2^-7, and a unit in the last place of the result.
 */
#ifndef OPTRACE_KERNELS_ATTENTION_H
#define OPTRACE_KERNELS_ATTENTION_H

#include "kernels/dtype.h"

/** What is written to kernel_attention_data.scores. */
enum kernel_scores { SCORES_RAW, SCORES_CAPPED, SCORES_MASKED, SCORES_SOFTMAX };

/** Strides in elements of [batch, heads, sequence, channels], the channels being dense. */
struct kernel_heads {
    int64_t batch_stride, head_stride, step_stride;
};

struct kernel_attention {
    enum kernel_dtype dtype;
    enum kernel_dtype mask_type;    /* KERNEL_BOOL: true may be seen; else added to the scores */
    int64_t batch, heads, kv_heads; /* kv_heads divides heads: neighbours share one */
    int64_t q_steps, kv_steps, past_steps;
    int64_t channels, v_channels;
    struct kernel_heads q, k, v, y;
    int64_t mask_stride[3]; /* of batch, head, query step; the keys are dense */
    int64_t mask_steps;     /* keys behind them are not seen */
    /* The query of step s stands at key s + past_steps, without a past and with seen_steps at
     * s + seen_steps - q_steps. It sees that key and those before it (is_causal); where is_limited
     * says so, at most reach[0] keys before its own and reach[1] behind it. */
    bool is_causal, is_limited[2];
    int64_t reach[2];
    double scale;
    double softcap;     /* c * tanh(score / c); 0: none */
    bool unseen_is_nan; /* what a step gives that sees nothing: NaN, as a softmax does, not 0 */
    enum kernel_scores scores_mode;
};

/** Those said to be NULL may be. */
struct kernel_attention_data {
    void *y;
    void *present_k, *present_v; /* NULL; [batch, kv_heads, past + kv_steps, channels] */
    void *scores;                /* NULL; [batch, heads, q_steps, past + kv_steps] */
    const void *q, *k, *v;
    const void *mask;            /* NULL */
    const void *past_k, *past_v; /* NULL; [batch, kv_heads, past_steps, channels] */
    const int64_t *seen_steps;   /* NULL; per batch: keys from there on are not seen */
    void *workspace;             /* kernel_attention_room() bytes, 64-byte aligned */
};

/** Of seen_steps, as arithmetic bears it: what is below 0 sees nothing, either. */
KERNEL_SHARED int64_t attention_seen(const int64_t *seen_steps, int64_t b)
{
    const int64_t seen = seen_steps[b], most = INT64_MAX / 2;

    return seen < 0 ? 0 : seen < most ? seen : most;
}

/** In how many parts a device goes over the keys of few queries of f16 or bf16, so that it has enough to
 *  do at once: 1, or so many of which each has results in the workspace. */
int64_t kernel_attention_parts(const struct kernel_attention *shape);

/** For the calling thread's team, or for those parts. */
size_t kernel_attention_room(const struct kernel_attention *shape);

/** y = softmax(mask(cap(q k^T * scale))) v for each head. A step that sees nothing gives 0, or NaN. */
typedef void attention_fn(const struct kernel_attention_data *data,
                          const struct kernel_attention *shape);

struct kernel_rotary {
    enum kernel_dtype dtype;
    int64_t batch, heads, steps, channels;
    int64_t rotated;       /* channels that are turned, even; the others stay */
    struct kernel_heads x; /* of y too */
    /* Neighbours are a pair; else a channel and the one half of `rotated` on. */
    bool is_interleaved;
    int64_t positions; /* rows of the caches; 0: one row per batch and step */
    bool is_shared;    /* where positions is 0: one row per step, for all of the batch */
};

/** y = x with pairs of channels turned by the angle whose cosine and sine stand in the caches
 *  [positions, rotated / 2], in the row places[batch, step]. Returns 0, or -1 when a place is
 *  outside. places is NULL where positions is 0. y may be x. Versions of f32 agree with ref to 2e-7 * (|x1| + |x2|)
 *  of the pair, where sines and cosines are at most 1; of f16 and bf16 to that and a unit in the last place. */
typedef int rotary_fn(void *y, const void *x, const void *cosines, const void *sines,
                      const int64_t *places, const struct kernel_rotary *shape);

/** Tensors are [batch, steps, heads * channels]. */
struct kernel_linear_attention {
    enum kernel_dtype dtype, state_type;   /* real ones */
    int64_t batch, steps, heads, kv_heads; /* kv_heads divides heads: neighbours share one */
    int64_t channels, v_channels;
    int64_t decay_channels; /* of a head: 1, or `channels` */
    bool is_beta_shared;    /* one for all heads */
    double scale;
};

/** Those said to be NULL may be. */
struct kernel_linear_attention_data {
    void *y;       /* [batch, steps, heads * v_channels] */
    void *present; /* NULL; [batch, kv_heads, channels, v_channels] */
    const void *q, *k, *v;
    const void *past;  /* NULL: 0; like present */
    const void *decay; /* NULL: none; [batch, steps, kv_heads * decay_channels] */
    const void *beta;  /* NULL: what the keys give already stays; [batch, steps, kv_heads], or 1 */
    void *workspace;   /* kernel_linear_attention_room() bytes, 64-byte aligned */
};

size_t kernel_linear_attention_room(const struct kernel_linear_attention *shape);

/** Step by step the state of each head S is e^decay * S, then S += k (v - k S) * beta, or k v without
 *  beta; and y = scale * q S. In f32 agrees with ref to 1e-5 of the largest number of the state, where it
 *  does not grow. */
typedef void linear_attention_fn(const struct kernel_linear_attention_data *data,
                                 const struct kernel_linear_attention *shape);

/* See KERNEL_DECLARE(). */
#define ATTENTION_KERNELS(KERNEL)                                                                  \
    KERNEL(attention, EACH);                                                                       \
    KERNEL(linear_attention, EACH);                                                                \
    KERNEL(rotary, EACH)
ATTENTION_KERNELS(KERNEL_DECLARE);

#endif
