/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of f32: of each head a block of queries at a time, whose scores stay in a cache: a
 * product by the keys, softmax, a product by the values. f64 is attention_f64.c's; where scores are wanted,
 * and for other types, it is the reference's. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/attention_f64.h"
#include "kernels/cpu/attention_rows.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    SCORES = 1 << 16, /* of a block, about */
    QUERIES = 16,     /* of a block, at least */
    GRAIN = 1 << 17,  /* products that are worth a second thread */

    /* Of few queries on a device, in half precision. */
    PART_ROWS = 16,    /* that are worked on together */
    PART_KEYS = 256,   /* at least */
    PARTS_MAX = 64,    /* of the keys of a row */
    PART_BLOCKS = 512, /* that are enough to do at once */
};

/* Queries of a block. */
static int64_t block_queries(const struct kernel_attention *s)
{
    int64_t rows = SCORES / (s->past_steps + s->kv_steps + 1);

    rows = rows < QUERIES ? QUERIES : rows;
    return rows < s->q_steps ? rows : s->q_steps;
}

static int64_t block_count(const struct kernel_attention *s)
{
    int64_t rows = block_queries(s);

    return rows == 0 ? 0 : (s->q_steps + rows - 1) / rows * s->batch * s->heads;
}

/* In how many shares blocks are done: each has scores of its own. Where there is one, threads share
 * products. */
static int64_t share_count(const struct kernel_attention *s)
{
    int64_t products = s->q_steps * (s->past_steps + s->kv_steps) * (s->channels + s->v_channels);
    int64_t shares = kernel_threads(), blocks = block_count(s);

    shares = shares < blocks ? shares : blocks;
    return shares > 1 && products * s->batch * s->heads / shares >= GRAIN ? shares : 1;
}

static size_t share_bytes(const struct kernel_attention *s)
{
    size_t bytes = (size_t)((s->past_steps + s->kv_steps) * block_queries(s)) * sizeof(float);

    return (bytes + 63) / 64 * 64;
}

/* Blocks of rows of a device that share keys. */
static int64_t part_blocks(const struct kernel_attention *s)
{
    int64_t rows = s->kv_heads > 0 ? s->heads / s->kv_heads * s->q_steps : 0;

    return s->batch * s->kv_heads * ((rows + PART_ROWS - 1) / PART_ROWS);
}

int64_t kernel_attention_parts(const struct kernel_attention *shape)
{
    int64_t blocks = part_blocks(shape);
    int64_t parts = (shape->past_steps + shape->kv_steps) / PART_KEYS;
    int64_t wanted = blocks > 0 ? (PART_BLOCKS + blocks - 1) / blocks : 1;

    if ((shape->dtype != KERNEL_F16 && shape->dtype != KERNEL_BF16) || shape->q_steps >= PART_ROWS)
        return 1;
    parts = parts < wanted ? parts : wanted;
    parts = parts < PARTS_MAX ? parts : PARTS_MAX;
    return parts > 1 ? parts : 1;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t kernel_attention_room(const struct kernel_attention *shape)
{
    int64_t total = shape->past_steps + shape->kv_steps, parts = kernel_attention_parts(shape);
    size_t plain = shape->dtype == KERNEL_F64 ? kernel_attention_f64_room(shape)
                                              : (size_t)total * sizeof(double);
    size_t fast = (size_t)share_count(shape) * share_bytes(shape);
    /* Of each row its sums, the largest score and all weights. */
    size_t joined =
        parts == 1 ? 0
                   : (size_t)(parts * part_blocks(shape) * PART_ROWS * (shape->v_channels + 2)) *
                         sizeof(float);

    return larger(larger(plain, fast), joined);
}

/* Whether there is more to scores than products, which are scaled. */
static bool is_masked(const struct kernel_attention_data *d, const struct kernel_attention *s)
{
    return d->mask || s->softcap != 0.0 || !(s->scale > 0.0);
}

/* The scores of the keys in reach, made of products, with what is added to them. */
ISA_BODY void mask_scores(const struct kernel_attention_data *d, const struct kernel_attention *s,
                          const struct row *row, float *restrict scores)
{
    int64_t at =
        row->b * s->mask_stride[0] + row->h * s->mask_stride[1] + row->s * s->mask_stride[2];

    float scale = (float)s->scale;

    if (s->softcap != 0.0) {
        float cap = (float)s->softcap;

#pragma omp simd
        for (int64_t t = row->first; t < row->end; t++)
            scores[t] = cap * math_tanh(scale * scores[t] / cap);
        scale = 1.0f;
    }
    if (d->mask && s->mask_type == KERNEL_BOOL) {
        const uint8_t *mask = (const uint8_t *)d->mask + at;

#pragma omp simd
        for (int64_t t = row->first; t < row->end; t++)
            scores[t] = mask[t] ? scale * scores[t] : -INFINITY;
    } else if (d->mask) {
        const float *mask = (const float *)d->mask + at;

#pragma omp simd
        for (int64_t t = row->first; t < row->end; t++)
            scores[t] = scale * scores[t] + mask[t];
    } else if (scale != 1.0f) {
#pragma omp simd
        for (int64_t t = row->first; t < row->end; t++)
            scores[t] *= scale;
    }
}

/* Softmax of the keys in reach, times factor > 0; the others, of `total`, get 0. Of no key in reach nothing
 * is NaN. */
ISA_BODY void softmax_row(float *restrict scores, const struct row *row, int64_t total,
                          float factor, bool unseen_is_nan)
{
    float largest = -INFINITY, sum = 0.0f, least = math_least(), scale;

#pragma omp simd reduction(max : largest)
    for (int64_t t = row->first; t < row->end; t++)
        largest = scores[t] > largest ? scores[t] : largest;
    if (largest == -FLT_MAX) { /* with which clang begins: it may not be among them */
        largest = -INFINITY;
        for (int64_t t = row->first; t < row->end; t++)
            largest = scores[t] > largest ? scores[t] : largest;
    }
    for (int64_t t = 0; t < row->first; t++)
        scores[t] = 0.0f;
    for (int64_t t = row->end; t < total; t++)
        scores[t] = 0.0f;
    if (largest == -INFINITY) {
        bool is_number = true;

        for (int64_t t = row->first; t < row->end; t++)
            is_number = is_number && scores[t] == scores[t];
        for (int64_t t = row->first; t < row->end; t++)
            scores[t] = is_number && !unseen_is_nan ? 0.0f : NAN;
        return;
    }
#pragma omp simd reduction(+ : sum)
    for (int64_t t = row->first; t < row->end; t++) {
        scores[t] = math_exp_below(factor * (scores[t] - largest), least);
        sum += scores[t];
    }
    scale = 1.0f / sum;
#pragma omp simd
    for (int64_t t = row->first; t < row->end; t++)
        scores[t] *= scale;
}

/* What is not seen counts nothing, even where it is not a number: such rows are summed again. */
ISA_BODY void mend_row(float *y, const float *scores, const float *v, int64_t v_line,
                       int64_t channels, const struct row *row)
{
    float sum = 0.0f;

#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < channels; c++)
        sum += y[c] - y[c];
    if (sum == 0.0f)
        return;
    for (int64_t c = 0; c < channels; c++) {
        y[c] = 0.0f;
        for (int64_t t = row->first; t < row->end; t++)
            if (scores[t] != 0.0f)
                y[c] += scores[t] * v[t * v_line + c];
    }
}

/* A matrix of one head: rows `line` elements apart. */
struct matrix {
    const float *x;
    int64_t line;
};

static struct matrix head_of(const void *x, const struct kernel_heads *heads, int64_t b, int64_t h)
{
    return (struct matrix){(const float *)x + b * heads->batch_stride + h * heads->head_stride,
                           heads->step_stride};
}

/* Keys or values of one head: all of them where there is a past, too. */
static struct matrix cached_of(const void *now, const void *present,
                               const struct kernel_heads *heads, int64_t b, int64_t h,
                               int64_t channels, const struct kernel_attention *s)
{
    int64_t total = s->past_steps + s->kv_steps;

    if (s->past_steps == 0)
        return head_of(now, heads, b, h);
    return (struct matrix){(const float *)present + (b * s->kv_heads + h) * total * channels,
                           channels};
}

/* Lines that are dense are said to be, which a product of one row is faster for. */
static int64_t line_of(int64_t line, int64_t dense)
{
    return line == dense ? 0 : line;
}

typedef void finish_fn(const struct kernel_attention_data *d, const struct kernel_attention *s,
                       const struct row *first, float *scores, int64_t count, int64_t wide);
typedef void mend_fn(float *y, const float *scores, const float *v, int64_t v_line,
                     int64_t channels, const struct row *row);

struct steps {
    attention_fn *f64;
    gemm_f32_fn *gemm;
    finish_fn *finish;
    mend_fn *mend;
};

static void fill_unseen(float *y, const struct kernel_attention *s)
{
    for (int64_t c = 0; c < s->v_channels; c++)
        y[c] = s->unseen_is_nan ? NAN : 0.0f;
}

/* Queries [first->s, first->s + count) of a head. */
static void do_block(const struct kernel_attention_data *d, const struct kernel_attention *s,
                     const struct row *first, int64_t count, const struct steps *steps,
                     float *scores)
{
    int64_t kv = first->h / (s->heads / s->kv_heads), wide = 0;
    struct matrix q = head_of(d->q, &s->q, first->b, first->h);
    struct matrix k = cached_of(d->k, d->present_k, &s->k, first->b, kv, s->channels, s);
    struct matrix v = cached_of(d->v, d->present_v, &s->v, first->b, kv, s->v_channels, s);
    struct matrix out = head_of(d->y, &s->y, first->b, first->h);
    float *y = (float *)out.x + first->s * out.line;
    struct kernel_gemm by_keys = {.m = count,
                                  .k = s->channels,
                                  .trans_b = true,
                                  .alpha = 1.0f, /* they are scaled later */
                                  .a_line = line_of(q.line, s->channels),
                                  .b_line = line_of(k.line, s->channels)};
    struct kernel_gemm by_values = {.m = count,
                                    .n = s->v_channels,
                                    .alpha = 1.0f,
                                    .b_line = line_of(v.line, s->v_channels),
                                    .y_line = line_of(out.line, s->v_channels)};

    for (int64_t i = 0; i < count; i++) { /* how far the one that sees furthest sees */
        struct row row = *first;

        row.s += i;
        find_reach(d, s, &row);
        wide = row.end > wide ? row.end : wide;
    }
    by_keys.n = by_values.k = wide;
    steps->gemm(scores, q.x + first->s * q.line, k.x, NULL, &by_keys);
    steps->finish(d, s, first, scores, count, wide);
    steps->gemm(y, scores, v.x, NULL, &by_values);
    for (int64_t i = 0; i < count; i++) {
        struct row row = *first;

        row.s += i;
        find_reach(d, s, &row);
        if (row.end > row.first)
            steps->mend(y + i * out.line, scores + i * wide, v.x, v.line, s->v_channels, &row);
        else
            fill_unseen(y + i * out.line, s);
    }
}

struct job {
    const struct kernel_attention_data *data;
    const struct kernel_attention *shape;
    const struct steps *steps;
    int64_t shares;
};

static void do_shares(void *argument, int64_t begin, int64_t end)
{
    const struct job *job = argument;
    const struct kernel_attention *s = job->shape;
    int64_t rows = block_queries(s), each = (s->q_steps + rows - 1) / rows; /* blocks of a head */
    int64_t all = block_count(s);

    for (; begin < end; begin++) {
        float *scores =
            (float *)(void *)((char *)job->data->workspace + (size_t)begin * share_bytes(s));

        for (int64_t i = all * begin / job->shares; i < all * (begin + 1) / job->shares; i++) {
            struct row row = {
                .b = i / each / s->heads, .h = i / each % s->heads, .s = i % each * rows};

            do_block(job->data, s, &row, s->q_steps - row.s < rows ? s->q_steps - row.s : rows,
                     job->steps, scores);
        }
    }
}

static void attend(const struct kernel_attention_data *d, const struct kernel_attention *s,
                   const struct steps *steps)
{
    bool has_all = s->past_steps == 0 || (d->present_k && d->present_v);
    struct job job = {d, s, steps, share_count(s)};

    if (s->dtype == KERNEL_F64) {
        steps->f64(d, s);
        return;
    }
    if (s->dtype != KERNEL_F32 || d->scores || !has_all ||
        (d->mask && s->mask_type != KERNEL_BOOL && s->mask_type != KERNEL_F32)) {
        attention_ref(d, s);
        return;
    }
    keep_present(d->present_k, d->past_k, d->k, &s->k, s->channels, s);
    keep_present(d->present_v, d->past_v, d->v, &s->v, s->v_channels, s);
    if (block_count(s) > 0)
        team_for(job.shares, 1, do_shares, &job);
}

#define ATTENTION(isa)                                                                             \
    ISA_TARGET_##isa static void finish_##isa(                                                     \
        const struct kernel_attention_data *d, const struct kernel_attention *s,                   \
        const struct row *first, float *scores, int64_t count, int64_t wide)                       \
    {                                                                                              \
        struct row row = *first;                                                                   \
                                                                                                   \
        for (int64_t i = 0; i < count; i++, row.s++, scores += wide) {                             \
            find_reach(d, s, &row);                                                                \
            if (is_masked(d, s))                                                                   \
                mask_scores(d, s, &row, scores);                                                   \
            softmax_row(scores, &row, wide, is_masked(d, s) ? 1.0f : (float)s->scale,              \
                        s->unseen_is_nan);                                                         \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void mend_##isa(float *y, const float *scores, const float *v,         \
                                            int64_t v_line, int64_t channels,                      \
                                            const struct row *row)                                 \
    {                                                                                              \
        mend_row(y, scores, v, v_line, channels, row);                                             \
    }                                                                                              \
                                                                                                   \
    void attention_##isa(const struct kernel_attention_data *data,                                 \
                         const struct kernel_attention *shape)                                     \
    {                                                                                              \
        attend(                                                                                    \
            data, shape,                                                                           \
            &(const struct steps){attention_f64_##isa, gemm_f32_##isa, finish_##isa, mend_##isa}); \
    }

ISA_VERSIONS(ATTENTION)
