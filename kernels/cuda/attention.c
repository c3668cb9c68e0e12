/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers of attention.cu. */
#include <limits.h>

#include "kernels/cuda.h"
#include "kernels/cuda/launch.h"

static void make_present(void *present, const void *past, const void *now,
                         const struct kernel_heads *heads, int64_t channels,
                         const struct kernel_attention *shape)
{
    struct kernel_attention given = *shape;
    struct kernel_heads lies = *heads;
    int bytes = (int)kernel_dtype_bytes(shape->dtype);
    int64_t total = shape->past_steps + shape->kv_steps;
    int64_t count = shape->batch * shape->kv_heads * total * channels;

    if (present)
        cuda_launch_elements(
            CUDA_KERNEL_present_any, count,
            (void *[]){&present, &past, &now, &lies, &channels, &bytes, &count, &given});
}

/* Whether tiles take it: float32 or half precision, nothing but the result wanted, and no more channels
 * than a thread can sum up. */
static bool fits_tiles(const struct kernel_attention_data *d, const struct kernel_attention *s)
{
    bool has_type = s->dtype == KERNEL_F32 || s->dtype == KERNEL_F16 || s->dtype == KERNEL_BF16;

    return has_type && !d->scores && s->q_steps >= CUDA_ATTEND_QUERIES &&
           s->v_channels <= CUDA_ATTEND_CHANNELS &&
           (!d->mask || s->mask_type == KERNEL_BOOL || s->mask_type == s->dtype);
}

static bool are_fours(const struct kernel_heads *heads, int64_t channels)
{
    return channels % 4 == 0 && heads->step_stride % 4 == 0 && heads->head_stride % 4 == 0 &&
           heads->batch_stride % 4 == 0;
}

/* Whether each row of channels can be read four at a time. */
static bool has_quads(const struct kernel_attention_data *d, const struct kernel_attention *s)
{
    const void *const pointers[] = {d->q, d->k, d->v, d->past_k, d->past_v};

    return s->dtype == KERNEL_F32 && cuda_are_aligned(pointers, 5) &&
           are_fours(&s->q, s->channels) && are_fours(&s->k, s->channels) &&
           are_fours(&s->v, s->v_channels);
}

static void attend_tiles(const struct kernel_attention_data *data,
                         const struct kernel_attention *shape)
{
    struct kernel_attention_data pointers = *data;
    struct kernel_attention given = *shape;
    int64_t each = (shape->q_steps + CUDA_ATTEND_TILE - 1) / CUDA_ATTEND_TILE;
    int64_t blocks = shape->batch * shape->heads * each;
    bool is_quad = has_quads(data, shape);

    cuda_launch_lines(shape->v_channels <= CUDA_ATTEND_TILE ? CUDA_KERNEL_attention_tile_64
                                                            : CUDA_KERNEL_attention_tile_128,
                      blocks, (void *[]){&pointers, &given, &blocks, &is_quad});
}

/* --- In half precision, by tensor cores --- */

/* Keys are counted in int there. */
static bool fits_half(const struct kernel_attention_data *d, const struct kernel_attention *s)
{
    bool is_half = s->dtype == KERNEL_F16 || s->dtype == KERNEL_BF16;

    return is_half && !d->scores && s->channels <= CUDA_ATTEND_CHANNELS &&
           s->v_channels <= CUDA_ATTEND_CHANNELS && s->past_steps + s->kv_steps <= INT_MAX / 2 &&
           (!d->mask || s->mask_type == KERNEL_BOOL || s->mask_type == s->dtype ||
            s->mask_type == KERNEL_F32);
}

/* By type, then channels. */
static enum cuda_kernel half_kernel(const struct kernel_attention *s,
                                    const enum cuda_kernel (*kernels)[2])
{
    bool is_large = s->channels > CUDA_ATTEND_TILE || s->v_channels > CUDA_ATTEND_TILE;

    return kernels[s->dtype == KERNEL_BF16][is_large];
}

static void attend_many(const struct kernel_attention_data *data,
                        const struct kernel_attention *shape)
{
    static const enum cuda_kernel kernels[2][2] = {
        {CUDA_KERNEL_attention_f16_64, CUDA_KERNEL_attention_f16_128},
        {CUDA_KERNEL_attention_bf16_64, CUDA_KERNEL_attention_bf16_128}};
    struct kernel_attention_data pointers = *data;
    struct kernel_attention given = *shape;
    int64_t each = (shape->q_steps + CUDA_ATTEND_TILE - 1) / CUDA_ATTEND_TILE;
    int64_t blocks = shape->batch * shape->heads * each;

    cuda_launch_lines(half_kernel(shape, kernels), blocks, (void *[]){&pointers, &given, &blocks});
}

/* Sixteen rows of the heads that share keys at a time, whose keys may be worked on in parts. */
static void attend_few(const struct kernel_attention_data *data,
                       const struct kernel_attention *shape)
{
    static const enum cuda_kernel kernels[2][2] = {
        {CUDA_KERNEL_attention_few_f16_64, CUDA_KERNEL_attention_few_f16_128},
        {CUDA_KERNEL_attention_few_bf16_64, CUDA_KERNEL_attention_few_bf16_128}};
    struct kernel_attention_data pointers = *data;
    struct kernel_attention given = *shape;
    int64_t rows = shape->kv_heads > 0 ? shape->heads / shape->kv_heads * shape->q_steps : 0;
    int64_t tiles =
        shape->batch * shape->kv_heads * ((rows + CUDA_ATTEND_ROWS - 1) / CUDA_ATTEND_ROWS);
    int parts = (int)kernel_attention_parts(shape);
    int64_t blocks = tiles * parts;

    cuda_launch_lines(half_kernel(shape, kernels), blocks,
                      (void *[]){&pointers, &given, &blocks, &parts});
    if (parts > 1)
        cuda_launch_lines(CUDA_KERNEL_attention_join, tiles,
                          (void *[]){&pointers, &given, &tiles, &parts});
}

static void attention_cuda(const struct kernel_attention_data *data,
                           const struct kernel_attention *shape)
{
    struct kernel_attention_data pointers = *data;
    struct kernel_attention given = *shape;
    int64_t rows = shape->batch * shape->heads * shape->q_steps;

    make_present(data->present_k, data->past_k, data->k, &shape->k, shape->channels, shape);
    make_present(data->present_v, data->past_v, data->v, &shape->v, shape->v_channels, shape);
    if (fits_half(data, shape))
        (shape->q_steps >= CUDA_ATTEND_QUERIES ? attend_many : attend_few)(data, shape);
    else if (fits_tiles(data, shape))
        attend_tiles(data, shape);
    else
        cuda_launch_lines(CUDA_KERNEL_attention_any, rows, (void *[]){&pointers, &given, &rows});
}

static int rotary_cuda(void *y, const void *x, const void *cosines, const void *sines,
                       const int64_t *places, const struct kernel_rotary *shape)
{
    struct kernel_rotary given = *shape;
    struct cuda_fault fault = cuda_fault_place();
    int64_t lines = shape->batch * shape->heads * shape->steps;

    cuda_launch_elements(CUDA_KERNEL_rotary_any, lines,
                         (void *[]){&y, &x, &cosines, &sines, &places, &lines, &given, &fault});
    return cuda_fault_result();
}

void cuda_table_attention(struct kernel_table *table)
{
    CUDA_USE(attention, attention_cuda);
    CUDA_USE(rotary, rotary_cuda);
}
