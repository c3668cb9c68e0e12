/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention of float16 and bfloat16 by tensor cores, in one pass over the keys, 64 at a time. Scores, weights
 * and sums are float32 and stay in registers; weights are rounded to the type before they meet values.
 *
 * Many queries: a block has 64 of a head, each of its four warps 16. Few: a block has up to 16 rows,
 * which are all queries of the heads that share keys, and each warp a quarter of the keys of each tile;
 * what warps have is joined at the end. Of long sequences, blocks share the keys of a row, too, and
 * attention_join puts their parts together.
 *
 * A thread has of a warp's sixteen rows those at lane / 4 and 8 behind (see matrix.cuh). Tiles in shared memory
 * are rows of 64 or 128 channels in parts of 8, which change places by the row's number: neither the
 * 8 rows of a matrix nor the parts of a row meet in one bank.
 */
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/matrix.cuh"

enum {
    HALF_KEYS = CUDA_ATTEND_TILE,
    HALF_WARPS = CUDA_LINE_BLOCK / 32,
    HALF_ROWS = CUDA_ATTEND_ROWS, /* of a warp */
};

/* One row of scores. */
struct score_row {
    int first, end;    /* keys that it may see, whatever the mask says */
    int64_t mask_line; /* where its mask begins */
};

/* What all threads of a block know. */
struct half_block {
    struct block_of of; /* `h` and `step0`: of the first row */
    int64_t row0;       /* of few queries: the first among those of its heads */
    int64_t first, end; /* keys */
    float scale, cap;
    bool is_wide; /* each part of 8 channels can be read at once */
};

template <int PARTS>
static __device__ __forceinline__ struct quad *part_at(struct quad *tile, int row, int part)
{
    return tile + row * PARTS + (part ^ (row % 8));
}

/* Up to 8 numbers, one by one; those behind `count` are 0. */
static __device__ struct quad gather_part(const void *from, int64_t at, int64_t count)
{
    const uint16_t *numbers = (const uint16_t *)from + at;
    uint32_t words[4];
    struct quad part;

    UNROLL
    for (int i = 0; i < 4; i++)
        words[i] = (2 * i < count ? (uint32_t)numbers[2 * i] : 0) |
                   (2 * i + 1 < count ? (uint32_t)numbers[2 * i + 1] << 16 : 0);
    UNROLL
    for (int i = 0; i < 4; i++)
        part.part[i] = __int_as_float((int)words[i]);
    return part;
}

static __device__ __forceinline__ void begin_part(struct quad *to, const void *from, int64_t at,
                                                  int64_t count, bool is_there, bool is_wide)
{
    if (is_wide)
        copy_later(to, (const uint16_t *)from + (is_there ? at : 0), is_there);
    else
        *to = gather_part(from, is_there ? at : 0, is_there ? count : 0);
}

/* Keys or values [first, end) on their way; rows and channels behind are 0. */
template <int PARTS>
static __device__ __forceinline__ void begin_tile(struct quad *tile, const struct cache_lines *from,
                                                  int64_t first, int64_t end)
{
    int used = (int)(from->channels + 15) / 16 * 2; /* parts that products read */

    UNROLL_FOUR
    for (int i = threadIdx.x; i < HALF_KEYS * PARTS; i += CUDA_LINE_BLOCK) {
        int row = i / PARTS, part = i % PARTS;
        int64_t t = first + row, c = 8 * part;
        bool is_past = t < from->past_steps;

        if (part < used)
            begin_part(part_at<PARTS>(tile, row, part), is_past ? from->past : from->now,
                       is_past ? from->past_at + t * from->channels + c
                               : from->now_at + (t - from->past_steps) * from->step_stride + c,
                       from->channels - c, t < end && c < from->channels, from->is_quad);
    }
}

/* --- Rows. --- */

/* Row i of the block. */
template <bool IS_FEW>
static __device__ __forceinline__ void place_row(const struct kernel_attention *s,
                                                 const struct half_block *block, int i, int *head,
                                                 int64_t *step, bool *is_used)
{
    int64_t row = block->row0 + i;

    if (!IS_FEW) {
        *head = (int)block->of.h;
        *step = block->of.step0 + i;
        *is_used = *step < s->q_steps;
    } else {
        *is_used = row < s->heads / s->kv_heads * s->q_steps;
        row = *is_used ? row : 0;
        *head = (int)(block->of.kv_head * (s->heads / s->kv_heads) + row / s->q_steps);
        *step = row % s->q_steps;
    }
}

template <bool IS_FEW>
static __device__ __forceinline__ struct score_row find_row(const struct kernel_attention_data *d,
                                                            const struct kernel_attention *s,
                                                            const struct half_block *block, int i)
{
    struct score_row row;
    struct reach r;
    int64_t step;
    bool is_used;
    int head;

    place_row<IS_FEW>(s, block, i, &head, &step, &is_used);
    r = reach_of(d, s, block->of.b, step);
    row.first = is_used ? (int)r.first : 0;
    row.end = is_used ? (int)r.end : 0;
    row.mask_line =
        block->of.b * s->mask_stride[0] + head * s->mask_stride[1] + step * s->mask_stride[2];
    return row;
}

/* Queries go through the tile of keys. */
template <int PARTS, bool IS_FEW>
static __device__ __forceinline__ void
load_queries(uint32_t (*queries)[4], struct quad *tile, const struct kernel_attention_data *d,
             const struct kernel_attention *s, const struct half_block *block)
{
    int lane = threadIdx.x % 32, warp = IS_FEW ? 0 : threadIdx.x / 32;
    int used = (int)(s->channels + 15) / 16 * 2;

    for (int i = threadIdx.x; i < (IS_FEW ? 1 : HALF_WARPS) * HALF_ROWS * PARTS;
         i += CUDA_LINE_BLOCK) {
        int row = i / PARTS, part = i % PARTS, head;
        int64_t step, c = 8 * part;
        bool is_used;

        place_row<IS_FEW>(s, block, row, &head, &step, &is_used);
        if (part < used)
            begin_part(part_at<PARTS>(tile, row, part), d->q,
                       lies_at(&s->q, block->of.b, head, step) + c, s->channels - c,
                       is_used && c < s->channels, block->is_wide);
    }
    wait_for_copies();
    __syncthreads();
    UNROLL
    for (int k = 0; k < PARTS / 2; k++) {
        if (16 * k < s->channels)
            LOAD_MATRICES(queries[k],
                          part_at<PARTS>(tile, HALF_ROWS * warp + lane / 8 % 2 * 8 + lane % 8,
                                         2 * k + lane / 16),
                          false);
    }
    __syncthreads(); /* the tile is free */
}

/* --- A tile of keys. --- */

/* Scores of 16 rows by 16 * SIXTEENS keys from `key` on: two of 8 columns for each 16. */
template <int DTYPE, int PARTS, int SIXTEENS>
static __device__ __forceinline__ void multiply_by_keys(float (*scores)[4], uint32_t (*queries)[4],
                                                        struct quad *keys, int key,
                                                        int64_t channels)
{
    int lane = threadIdx.x % 32;

    UNROLL
    for (int k = 0; k < PARTS / 2; k++) {
        if (16 * k >= channels)
            continue;
        UNROLL
        for (int n = 0; n < SIXTEENS; n++) {
            uint32_t b[4];

            LOAD_MATRICES(
                b,
                part_at<PARTS>(keys, key + 16 * n + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2),
                false);
            multiply_add<DTYPE>(scores[2 * n], queries[k], b[0], b[1]);
            multiply_add<DTYPE>(scores[2 * n + 1], queries[k], b[2], b[3]);
        }
    }
}

template <int DTYPE, int PARTS, int SIXTEENS>
static __device__ __forceinline__ void multiply_by_values(float (*sums)[4], uint32_t (*weights)[2],
                                                          struct quad *values, int key,
                                                          int64_t channels)
{
    int lane = threadIdx.x % 32;

    UNROLL
    for (int n = 0; n < PARTS / 2; n++) {
        if (16 * n >= channels)
            continue;
        UNROLL
        for (int k = 0; k < SIXTEENS; k++) {
            const uint32_t a[4] = {weights[2 * k][0], weights[2 * k][1], weights[2 * k + 1][0],
                                   weights[2 * k + 1][1]};
            uint32_t b[4];

            LOAD_MATRICES(b,
                          part_at<PARTS>(values, key + 16 * k + lane / 8 % 2 * 8 + lane % 8,
                                         2 * n + lane / 16),
                          true);
            multiply_add<DTYPE>(sums[2 * n], a, b[0], b[1]);
            multiply_add<DTYPE>(sums[2 * n + 1], a, b[2], b[3]);
        }
    }
}

static __device__ __forceinline__ float score_of(const struct kernel_attention_data *d,
                                                 const struct kernel_attention *s,
                                                 const struct half_block *block,
                                                 const struct score_row *row, float product, int t)
{
    float score = product * block->scale;

    if (block->cap != 0.0f)
        score = block->cap * tanhf(score / block->cap);
    if (!d->mask)
        return score;
    if (s->mask_type == KERNEL_BOOL)
        return ((const uint8_t *)d->mask)[row->mask_line + t] ? score : -INFINITY;
    return score + get_f32(d->mask, s->mask_type, row->mask_line + t);
}

/* Products become scores: of two rows, of keys from t0 on. */
template <int SIXTEENS>
static __device__ __forceinline__ void
score_tile(const struct kernel_attention_data *d, const struct kernel_attention *s,
           const struct half_block *block, const struct score_row *rows, int t0, float (*scores)[4])
{
    int lane = threadIdx.x % 32;

    UNROLL
    for (int n = 0; n < 2 * SIXTEENS; n++) {
        UNROLL
        for (int e = 0; e < 4; e++) {
            const struct score_row *row = &rows[e / 2];
            int t = t0 + 8 * n + 2 * (lane % 4) + e % 2;

            scores[n][e] = t >= row->first && t < row->end
                               ? score_of(d, s, block, row, scores[n][e], t)
                               : -INFINITY;
        }
    }
}

/* What a thread has of its two rows: of each the largest score so far, its own keys' weights summed up, and
 * sums of channels. */
template <int PARTS>
struct half_sums {
    float largest[2], all[2];
    float sums[PARTS][4];
};

static __device__ __forceinline__ float weight_of(float score, float base)
{
    return power_of_two((score - base) * 1.44269504088896341f);
}

/* Scores become weights by the largest one so far, to which all that was summed up is scaled. What a
 * row sums up are its weights as they are rounded. */
template <int DTYPE, int PARTS, int SIXTEENS>
static __device__ __forceinline__ void weigh_tile(struct half_sums<PARTS> *have, float (*scores)[4],
                                                  uint32_t (*weights)[2], int64_t channels)
{
    float factor[2];

    UNROLL
    for (int r = 0; r < 2; r++) {
        float largest = have->largest[r], base;

        UNROLL
        for (int n = 0; n < 2 * SIXTEENS; n++)
            largest = fmaxf(largest, fmaxf(scores[n][2 * r], scores[n][2 * r + 1]));
        largest = fmaxf(largest, __shfl_xor_sync(EVERY_LANE, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(EVERY_LANE, largest, 2));
        base = largest > -INFINITY ? largest : 0.0f;
        factor[r] = weight_of(have->largest[r], base);
        have->largest[r] = largest;
        have->all[r] *= factor[r];
        UNROLL
        for (int n = 0; n < 2 * SIXTEENS; n++) {
            uint32_t two = both_of<DTYPE>(weight_of(scores[n][2 * r], base),
                                          weight_of(scores[n][2 * r + 1], base));

            have->all[r] += first_of<DTYPE>(two) + second_of<DTYPE>(two);
            weights[n][r] = two;
        }
    }
    UNROLL
    for (int n = 0; n < PARTS; n++) {
        if (8 * n >= channels)
            continue;
        UNROLL
        for (int e = 0; e < 4; e++)
            have->sums[n][e] *= factor[e / 2];
    }
}

/* All keys of the block, of which a warp takes those from `key` on of each tile. */
template <int DTYPE, int PARTS, bool IS_FEW>
static __device__ __forceinline__ void
attend_keys(const struct kernel_attention_data *d, const struct kernel_attention *s,
            const struct half_block *block, struct half_sums<PARTS> *have, struct quad *keys,
            struct quad *values)
{
    enum { SIXTEENS = IS_FEW ? 1 : HALF_KEYS / 16 };
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int key = IS_FEW ? 16 * warp : 0, row0 = IS_FEW ? 0 : HALF_ROWS * warp;
    const struct score_row rows[2] = {find_row<IS_FEW>(d, s, block, row0 + lane / 4),
                                      find_row<IS_FEW>(d, s, block, row0 + lane / 4 + 8)};
    uint32_t queries[PARTS / 2][4];
    struct cache_lines k =
        cache_of(d->past_k, d->k, &s->k, s->channels, s, &block->of, block->is_wide);
    struct cache_lines v =
        cache_of(d->past_v, d->v, &s->v, s->v_channels, s, &block->of, block->is_wide);

    load_queries<PARTS, IS_FEW>(queries, keys, d, s, block);
    if (block->first < block->end)
        begin_tile<PARTS>(keys, &k, block->first, block->end);
    for (int64_t t0 = block->first; t0 < block->end; t0 += HALF_KEYS) {
        float scores[2 * SIXTEENS][4] = {};
        uint32_t weights[2 * SIXTEENS][2];

        wait_for_copies();
        __syncthreads(); /* the keys are there, and nobody reads values any more */
        begin_tile<PARTS>(values, &v, t0, block->end);
        multiply_by_keys<DTYPE, PARTS, SIXTEENS>(scores, queries, keys, key, s->channels);
        score_tile<SIXTEENS>(d, s, block, rows, (int)t0 + key, scores);
        weigh_tile<DTYPE, PARTS, SIXTEENS>(have, scores, weights, s->v_channels);
        wait_for_copies();
        if (BUG != 41)
            __syncthreads(); /* the values are there, and nobody reads keys any more */
        if (t0 + HALF_KEYS < block->end)
            begin_tile<PARTS>(keys, &k, t0 + HALF_KEYS, block->end);
        multiply_by_values<DTYPE, PARTS, SIXTEENS>(have->sums, weights, values, key, s->v_channels);
    }
    UNROLL
    for (int r = 0; r < 2; r++) {
        have->all[r] += __shfl_xor_sync(EVERY_LANE, have->all[r], 1);
        have->all[r] += __shfl_xor_sync(EVERY_LANE, have->all[r], 2);
    }
}

template <int PARTS>
static __device__ __forceinline__ void begin_sums(struct half_sums<PARTS> *have)
{
    UNROLL
    for (int r = 0; r < 2; r++) {
        have->largest[r] = -INFINITY;
        have->all[r] = 0.0f;
    }
    UNROLL
    for (int n = 0; n < PARTS; n++) {
        UNROLL
        for (int e = 0; e < 4; e++)
            have->sums[n][e] = 0.0f;
    }
}

/* --- Results. --- */

static __device__ __forceinline__ void store_mean(const struct kernel_attention_data *d,
                                                  const struct kernel_attention *s,
                                                  const struct block_of *block, int head,
                                                  int64_t step, int64_t channel, float sum,
                                                  float largest, float all)
{
    struct block_of of = *block;

    of.h = head;
    sum = is_lost(sum, all) ? mean_again(d, s, &of, step, channel, largest, all)
          : all != 0.0f     ? sum / all
                            : unseen_of(s);
    set_f32(d->y, s->dtype, lies_at(&s->y, of.b, head, step) + channel, sum, false);
}

static __device__ __forceinline__ bool starts_at_wide(const struct kernel_attention_data *d)
{
    return (((uintptr_t)d->q | (uintptr_t)d->k | (uintptr_t)d->v | (uintptr_t)d->past_k |
             (uintptr_t)d->past_v) %
            16) == 0;
}

static __device__ __forceinline__ bool is_in_parts(const struct kernel_heads *heads,
                                                   int64_t channels)
{
    return ((heads->batch_stride | heads->head_stride | heads->step_stride | channels) & 7) == 0;
}

static __device__ struct half_block describe_block(const struct kernel_attention_data *d,
                                                   const struct kernel_attention *s)
{
    struct half_block block = {{0, 0, 0, 0, 0, 0}, 0,    0, 0, (float)s->scale,
                               (float)s->softcap,  false};

    block.is_wide = starts_at_wide(d) && is_in_parts(&s->q, s->channels) &&
                    is_in_parts(&s->k, s->channels) && is_in_parts(&s->v, s->v_channels);
    return block;
}

/* What a warp, or a block, has of a row, in memory: its sums, then the largest score and all weights. */
static __device__ __forceinline__ float *part_of_row(float *parts, int64_t row, int64_t channels)
{
    return parts + row * (channels + 2);
}

/* Parts of a row, `count` of them `apart` from each other, as one: what was summed up is scaled to the
 * largest score of all. */
static __device__ __forceinline__ float join_parts(const float *parts, int count, int64_t apart,
                                                   int64_t channels, int64_t channel,
                                                   float *out_largest, float *out_all)
{
    float largest = -INFINITY, all = 0.0f, sum = 0.0f;

    for (int i = 0; i < count; i++)
        largest = fmaxf(largest, parts[i * apart + channels]);
    for (int i = 0; i < count; i++) {
        float weights = parts[i * apart + channels + 1];
        /* A part that has seen nothing has nothing, whatever its sums are. */
        float factor = weights == 0.0f ? 0.0f : weight_of(parts[i * apart + channels], largest);

        if (BUG == 42)
            factor = 1.0f;
        all += weights * factor;
        if (factor != 0.0f)
            sum += parts[i * apart + channel] * factor;
    }
    *out_largest = largest;
    *out_all = all;
    return sum;
}

/* What the warps of a block have, to `tiles`; from there, of few queries joined, to y, or to the block's
 * part. */
template <int PARTS, bool IS_FEW>
static __device__ __forceinline__ void
store_sums(const struct kernel_attention_data *d, const struct kernel_attention *s,
           const struct half_block *block, const struct half_sums<PARTS> *have, float *tiles,
           float *own_part)
{
    enum { CHANNELS = 8 * PARTS, ROWS = IS_FEW ? HALF_ROWS : HALF_WARPS * HALF_ROWS };
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    __syncthreads(); /* nobody reads the tiles any more */
    UNROLL
    for (int r = 0; r < 2; r++) {
        float *to = part_of_row(tiles, HALF_ROWS * warp + lane / 4 + 8 * r, CHANNELS);

        UNROLL
        for (int n = 0; n < PARTS; n++) {
            to[8 * n + 2 * (lane % 4)] = have->sums[n][2 * r];
            to[8 * n + 2 * (lane % 4) + 1] = have->sums[n][2 * r + 1];
        }
        if (lane % 4 == 0) { /* the other three have the same */
            to[CHANNELS] = have->largest[r];
            to[CHANNELS + 1] = have->all[r];
        }
    }
    __syncthreads();
    UNROLL_NOT
    for (int i = threadIdx.x; i < ROWS * CHANNELS; i += CUDA_LINE_BLOCK) {
        int row = i / CHANNELS, channel = i % CHANNELS, head;
        float largest, all, sum;
        int64_t step;
        bool is_used;

        place_row<IS_FEW>(s, block, row, &head, &step, &is_used);
        if (!is_used || channel >= s->v_channels)
            continue;
        sum = join_parts(part_of_row(tiles, row, CHANNELS), IS_FEW ? HALF_WARPS : 1,
                         HALF_ROWS * (CHANNELS + 2), CHANNELS, channel, &largest, &all);
        if (!IS_FEW || !own_part) {
            store_mean(d, s, &block->of, head, step, channel, sum, largest, all);
            continue;
        }
        part_of_row(own_part, row, s->v_channels)[channel] = sum;
        if (channel == 0) {
            part_of_row(own_part, row, s->v_channels)[s->v_channels] = largest;
            part_of_row(own_part, row, s->v_channels)[s->v_channels + 1] = all;
        }
    }
    __syncthreads(); /* the tiles are free */
}

template <int DTYPE, int PARTS, bool IS_FEW>
static __device__ __forceinline__ void
attend_half(const struct kernel_attention_data *d, const struct kernel_attention *s,
            const struct half_block *block, struct quad *tiles, float *own_part)
{
    struct half_sums<PARTS> have;

    begin_sums(&have);
    attend_keys<DTYPE, PARTS, IS_FEW>(d, s, block, &have, tiles, tiles + HALF_KEYS * PARTS);
    store_sums<PARTS, IS_FEW>(d, s, block, &have, tiles[0].part, own_part);
}

/* The tiles of keys and values, and the sums behind them, share their memory. */
#define HALF_TILES(parts) (2 * HALF_KEYS * (parts) + HALF_WARPS * HALF_ROWS / 2)

#define ATTENTION_HALF(name, dtype, parts)                                                         \
    extern "C" __global__ void __launch_bounds__(CUDA_LINE_BLOCK, CUDA_RESIDENT)                   \
        name(const __grid_constant__ struct kernel_attention_data d,                               \
             const __grid_constant__ struct kernel_attention s, int64_t blocks)                    \
    {                                                                                              \
        __shared__ struct quad tiles[HALF_TILES(parts)];                                           \
        struct half_block block = describe_block(&d, &s);                                          \
                                                                                                   \
        for (int64_t i = blockIdx.x; i < blocks; i += gridDim.x) {                                 \
            block.of = find_block(&d, &s, i);                                                      \
            block.first = block.of.first;                                                          \
            block.end = block.of.end;                                                              \
            attend_half<dtype, parts, false>(&d, &s, &block, tiles, NULL);                         \
        }                                                                                          \
    }                                                                                              \
    KERNEL_EXPORT(name)

ATTENTION_HALF(attention_f16_64, KERNEL_F16, 8)
ATTENTION_HALF(attention_f16_128, KERNEL_F16, 16)
ATTENTION_HALF(attention_bf16_64, KERNEL_BF16, 8)
ATTENTION_HALF(attention_bf16_128, KERNEL_BF16, 16)

/* --- Few queries. --- */

/* Which rows and keys: parts of the keys one after the other, then rows, then heads of keys, then the
 * batch. */
static __device__ void find_few(const struct kernel_attention_data *d,
                                const struct kernel_attention *s, int64_t index, int parts,
                                struct half_block *block)
{
    int64_t group = s->heads / s->kv_heads, rows = group * s->q_steps;
    int64_t tiles = (rows + HALF_ROWS - 1) / HALF_ROWS, line = index / parts / tiles, each;

    block->row0 = index / parts % tiles * HALF_ROWS;
    block->of.b = line / s->kv_heads;
    block->of.kv_head = line % s->kv_heads;
    block->first = reach_of(d, s, block->of.b, 0).first;
    block->end = reach_of(d, s, block->of.b, s->q_steps - 1).end;
    each = (block->end - block->first + parts - 1) / parts;
    each = each > 0 ? (each + HALF_KEYS - 1) / HALF_KEYS * HALF_KEYS : 0;
    block->first += index % parts * each;
    block->end = smaller(block->end, block->first + each);
}

#define ATTENTION_FEW(name, dtype, parts)                                                          \
    extern "C" __global__ void __launch_bounds__(CUDA_LINE_BLOCK, CUDA_RESIDENT)                   \
        name(const __grid_constant__ struct kernel_attention_data d,                               \
             const __grid_constant__ struct kernel_attention s, int64_t blocks, int split)         \
    {                                                                                              \
        __shared__ struct quad tiles[HALF_TILES(parts)];                                           \
        struct half_block block = describe_block(&d, &s);                                          \
        int64_t room = HALF_ROWS * (s.v_channels + 2);                                             \
                                                                                                   \
        for (int64_t i = blockIdx.x; i < blocks; i += gridDim.x) {                                 \
            find_few(&d, &s, i, split, &block);                                                    \
            attend_half<dtype, parts, true>(&d, &s, &block, tiles,                                 \
                                            split > 1 ? (float *)d.workspace + i * room : NULL);   \
        }                                                                                          \
    }                                                                                              \
    KERNEL_EXPORT(name)

ATTENTION_FEW(attention_few_f16_64, KERNEL_F16, 8)
ATTENTION_FEW(attention_few_f16_128, KERNEL_F16, 16)
ATTENTION_FEW(attention_few_bf16_64, KERNEL_BF16, 8)
ATTENTION_FEW(attention_few_bf16_128, KERNEL_BF16, 16)

/* A block per sixteen rows, whose keys `split` blocks had. */
extern "C" __global__ void __launch_bounds__(CUDA_LINE_BLOCK, CUDA_RESIDENT)
    attention_join(const __grid_constant__ struct kernel_attention_data d,
                   const __grid_constant__ struct kernel_attention s, int64_t tiles, int split)
{
    struct half_block block = describe_block(&d, &s);
    int64_t room = HALF_ROWS * (s.v_channels + 2);

    for (int64_t i = blockIdx.x; i < tiles; i += gridDim.x) {
        const float *parts = (const float *)d.workspace + i * split * room;

        find_few(&d, &s, i * split, split, &block);
        for (int64_t at = threadIdx.x; at < HALF_ROWS * s.v_channels; at += CUDA_LINE_BLOCK) {
            int64_t channel = at % s.v_channels, step;
            int row = (int)(at / s.v_channels), head;
            float largest, all, sum;
            bool is_used;

            place_row<true>(&s, &block, row, &head, &step, &is_used);
            if (!is_used)
                continue;
            sum = join_parts(parts + row * (s.v_channels + 2), split, room, s.v_channels, channel,
                             &largest, &all);
            store_mean(&d, &s, &block.of, head, step, channel, sum, largest, all);
        }
    }
}
KERNEL_EXPORT(attention_join)
