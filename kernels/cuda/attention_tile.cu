/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention of f32, f16 and bf16, computed in float32: a block has 64 queries of a head, and goes over
 * the keys, 64 at a time. Scores, weights and sums stay on the processor.
 *
 * Tiles in shared memory are 64 rows of 64 numbers, of which a thread reads four at once. A row's
 * fours change places by its number, so that neither rows nor columns meet in one bank.
 */
#include "kernels/cuda/attention.cuh"

enum {
    TILE = CUDA_ATTEND_TILE,
    FOURS = TILE / 4,
    SIDE = 16,                      /* threads that share a query: each has every SIDEth key */
    EACH_KEY = TILE / SIDE,         /* keys of a thread */
    LINES = CUDA_LINE_BLOCK / SIDE, /* queries that threads work on at once */
    EACH_QUERY = TILE / LINES,      /* queries of a thread: every LINESth */
};

/* Where a thread stands among the results of its block. */
struct own_place {
    int tx, ty;
};

/* --- Tiles. --- */

static __device__ __forceinline__ struct quad *four_at(float *tile, int row, int part)
{
    return (struct quad *)(void *)(tile + row * TILE) + (part ^ (row % 8));
}

/* Up to four numbers from `at` on. */
static __device__ __forceinline__ struct quad take_four(const void *x, int dtype, int64_t at,
                                                        int64_t count, bool is_quad)
{
    struct quad four = {{0.0f, 0.0f, 0.0f, 0.0f}};

    if (is_quad && dtype == KERNEL_F32)
        return *(const struct quad *)(const void *)((const float *)x + at);
    UNROLL
    for (int e = 0; e < 4; e++)
        if (e < count)
            four.part[e] = get_f32(x, dtype, at + e);
    return four;
}

/* Rows from `first` and channels from c0 on; what lies beyond is 0. */
static __device__ void load_tile(float *tile, const struct cache_lines *from, int64_t first,
                                 int64_t end, int64_t c0)
{
    for (int i = threadIdx.x; i < TILE * FOURS; i += CUDA_LINE_BLOCK) {
        int row = i / FOURS, part = i % FOURS;
        int64_t t = first + row, c = c0 + 4 * part;
        struct quad four = {{0.0f, 0.0f, 0.0f, 0.0f}};

        if (t < end && c < from->channels)
            four = t < from->past_steps
                       ? take_four(from->past, from->dtype, from->past_at + t * from->channels + c,
                                   from->channels - c, from->is_quad)
                       : take_four(from->now, from->dtype,
                                   from->now_at + (t - from->past_steps) * from->step_stride + c,
                                   from->channels - c, from->is_quad);
        *four_at(tile, row, part) = four;
    }
}

/* --- A tile of keys. --- */

/* scores += queries by keys, over the channels that lie in the tiles */
static __device__ __forceinline__ void multiply_keys(float (*scores)[EACH_KEY], float *queries,
                                                     float *keys, struct own_place at)
{
    UNROLL_TWO
    for (int part = 0; part < FOURS; part++) {
        struct quad k[EACH_KEY];

        UNROLL
        for (int j = 0; j < EACH_KEY; j++)
            k[j] = *four_at(keys, at.tx + SIDE * j, part);
        UNROLL
        for (int i = 0; i < EACH_QUERY; i++) {
            struct quad q = *four_at(queries, at.ty + LINES * i, part);

            UNROLL
            for (int j = 0; j < EACH_KEY; j++) {
                UNROLL
                for (int e = 0; e < 4; e++)
                    scores[i][j] = fmaf(q.part[e], k[j].part[e], scores[i][j]);
            }
        }
    }
}

/* sums += weights by values; a thread has four channels that lie together */
static __device__ __forceinline__ void multiply_values(float (*sums)[4], float *weights,
                                                       float *values, struct own_place at)
{
    UNROLL_TWO
    for (int part = 0; part < FOURS; part++) {
        struct quad v[4];

        UNROLL
        for (int k = 0; k < 4; k++)
            v[k] = *four_at(values, 4 * part + k, at.tx);
        UNROLL
        for (int i = 0; i < EACH_QUERY; i++) {
            struct quad w = *four_at(weights, at.ty + LINES * i, part);

            UNROLL
            for (int k = 0; k < 4; k++) {
                UNROLL
                for (int e = 0; e < 4; e++)
                    sums[i][e] = fmaf(w.part[k], v[k].part[e], sums[i][e]);
            }
        }
    }
}

static __device__ __forceinline__ void mask_row(const struct kernel_attention_data *d,
                                                const struct kernel_attention *s,
                                                const struct block_of *block, int64_t step,
                                                int64_t t0, float *scores)
{
    struct reach r = reach_of(d, s, block->b, step);
    int64_t line = mask_line(s, block, step);

    UNROLL
    for (int j = 0; j < EACH_KEY; j++) {
        int64_t t = t0 + SIDE * j;

        scores[j] = step < s->q_steps && t >= r.first && t < r.end
                        ? masked(d, s, scores[j], line, t)
                        : -INFINITY;
    }
}

static __device__ __forceinline__ float largest_of_row(float x)
{
    for (int d = SIDE / 2; d; d /= 2)
        x = fmaxf(x, __shfl_xor_sync(EVERY_LANE, x, d));
    return x;
}

static __device__ __forceinline__ float sum_of_row(float x)
{
    for (int d = SIDE / 2; d; d /= 2)
        x += __shfl_xor_sync(EVERY_LANE, x, d);
    return x;
}

/* What a thread has of its queries: of each the largest score so far, its own keys' weights summed
 * up, and sums for four channels of each tile of values. */
template <int CHUNKS>
struct row_sums {
    float largest[EACH_QUERY], weight[EACH_QUERY];
    float sums[CHUNKS][EACH_QUERY][4];
};

/* Scores become weights by the largest one so far, to which all that was summed up is scaled. */
template <int CHUNKS>
static __device__ __forceinline__ void
weigh(struct row_sums<CHUNKS> *row, float (*scores)[EACH_KEY], float *weights, struct own_place at)
{
    UNROLL
    for (int i = 0; i < EACH_QUERY; i++) {
        int line = at.ty + LINES * i;
        float largest = row->largest[i], factor;

        UNROLL
        for (int j = 0; j < EACH_KEY; j++)
            largest = fmaxf(largest, scores[i][j]);
        largest = largest_of_row(largest);
        factor = row->largest[i] > -INFINITY ? expf(row->largest[i] - largest) : 0.0f;
        row->largest[i] = largest;
        row->weight[i] *= factor;
        UNROLL
        for (int j = 0; j < EACH_KEY; j++) {
            int key = at.tx + SIDE * j;
            float score = scores[i][j];
            float weight = score != score        ? score
                           : largest > -INFINITY ? expf(score - largest)
                                                 : 0.0f;

            row->weight[i] += weight;
            four_at(weights, line, key / 4)->part[key % 4] = weight;
        }
        UNROLL
        for (int c = 0; c < CHUNKS; c++) {
            UNROLL
            for (int e = 0; e < 4; e++)
                row->sums[c][i][e] *= factor;
        }
    }
}

/* --- A block. --- */

/* Sums go through the tiles, so that what a thread has of them can stay in registers until then. */
template <int CHUNKS>
static __device__ __forceinline__ void hand_over(const struct row_sums<CHUNKS> *row, float *lines,
                                                 float *const *tiles, struct own_place at)
{
    UNROLL
    for (int i = 0; i < EACH_QUERY; i++) {
        int line = at.ty + LINES * i;

        float all = sum_of_row(row->weight[i]);

        if (at.tx == 0) {
            lines[2 * line] = row->largest[i];
            lines[2 * line + 1] = all;
        }
        UNROLL
        for (int c = 0; c < CHUNKS; c++) {
            struct quad four;

            UNROLL
            for (int e = 0; e < 4; e++)
                four.part[e] = row->sums[c][i][e];
            *four_at(tiles[c], line, at.tx) = four;
        }
    }
}

static __device__ void store_tile(const struct kernel_attention_data *d,
                                  const struct kernel_attention *s, const struct block_of *block,
                                  const float *lines, float *tile, int64_t c0)
{
    for (int i = threadIdx.x; i < TILE * FOURS; i += CUDA_LINE_BLOCK) {
        int line = i / FOURS, part = i % FOURS;
        int64_t step = block->step0 + line;
        int64_t to = lies_at(&s->y, block->b, block->h, step);
        struct quad four = *four_at(tile, line, part);
        float largest = lines[2 * line], all = lines[2 * line + 1];

        for (int e = 0; e < 4 && step < s->q_steps; e++) {
            int64_t channel = c0 + 4 * part + e;
            float sum = four.part[e];

            if (channel >= s->v_channels)
                break;
            sum = is_lost(sum, all) ? mean_again(d, s, block, step, channel, largest, all)
                  : all != 0.0f     ? sum / all
                                    : unseen_of(s);
            set_f32(d->y, s->dtype, to + channel, sum, false);
        }
    }
}

template <int CHUNKS>
static __device__ __forceinline__ void attend_tiles(const struct kernel_attention_data *d,
                                                    const struct kernel_attention *s,
                                                    const struct block_of *block, bool is_quad,
                                                    float *queries, float *cache, float *weights)
{
    struct own_place at = {(int)threadIdx.x % SIDE, (int)threadIdx.x / SIDE};
    struct row_sums<CHUNKS> row = {};
    struct cache_lines q = {
        NULL,        d->q,     0,      0, lies_at(&s->q, block->b, block->h, 0), s->q.step_stride,
        s->channels, s->dtype, is_quad};
    struct cache_lines k = cache_of(d->past_k, d->k, &s->k, s->channels, s, block, is_quad);
    struct cache_lines v = cache_of(d->past_v, d->v, &s->v, s->v_channels, s, block, is_quad);

    UNROLL
    for (int i = 0; i < EACH_QUERY; i++)
        row.largest[i] = -INFINITY;
    for (int64_t t0 = block->first; t0 < block->end; t0 += TILE) {
        float scores[EACH_QUERY][EACH_KEY] = {};

        for (int64_t c0 = 0; c0 < s->channels; c0 += TILE) {
            /* One tile of channels stays where it is. */
            if (t0 == block->first || s->channels > TILE)
                load_tile(queries, &q, block->step0, s->q_steps, c0);
            load_tile(cache, &k, t0, block->end, c0);
            __syncthreads();
            multiply_keys(scores, queries, cache, at);
            __syncthreads();
        }
        UNROLL
        for (int i = 0; i < EACH_QUERY; i++)
            mask_row(d, s, block, block->step0 + at.ty + LINES * i, t0 + at.tx, scores[i]);
        weigh<CHUNKS>(&row, scores, weights, at);
        UNROLL
        for (int c = 0; c < CHUNKS; c++) {
            load_tile(cache, &v, t0, block->end, c * TILE);
            if (BUG != 29)
                __syncthreads();
            multiply_values(row.sums[c], weights, cache, at);
            __syncthreads();
        }
    }
    {
        float *const tiles[2] = {weights, cache};

        hand_over<CHUNKS>(&row, queries, tiles, at);
        __syncthreads();
        for (int c = 0; c < CHUNKS; c++)
            store_tile(d, s, block, queries, c == 0 ? weights : cache, c * TILE);
    }
}

#define ATTENTION_TILE(name, chunks)                                                               \
    extern "C" __global__ void __launch_bounds__(CUDA_LINE_BLOCK, CUDA_RESIDENT) name(             \
        struct kernel_attention_data d, struct kernel_attention s, int64_t blocks, bool is_quad)   \
    {                                                                                              \
        __shared__ struct quad tiles[3][TILE * FOURS];                                             \
        float *queries = tiles[0][0].part, *cache = tiles[1][0].part, *weights = tiles[2][0].part; \
                                                                                                   \
        for (int64_t i = blockIdx.x; i < blocks; i += gridDim.x) {                                 \
            struct block_of block = find_block(&d, &s, i);                                         \
                                                                                                   \
            attend_tiles<chunks>(&d, &s, &block, is_quad, queries, cache, weights);                \
            __syncthreads(); /* all have read the tiles */                                         \
        }                                                                                          \
    }                                                                                              \
    KERNEL_EXPORT(name)

ATTENTION_TILE(attention_tile_64, 1)
ATTENTION_TILE(attention_tile_128, 2)
