/* SPDX-License-Identifier: Apache-2.0 */
/* Linear attention of f32: columns of a head's state are independent of each other, so that a
 * thread takes some of them through all steps while they stay in its cache. Other types are the
 * reference's. */
#include <string.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    COLUMNS = 64,    /* of the state at a time */
    ROWS = 64,       /* whose decay is worked out at once */
    GRAIN = 1 << 14, /* numbers of the state, times steps, that are worth a second thread */
};

struct attending {
    const struct kernel_linear_attention_data *data;
    const struct kernel_linear_attention *shape;
    float *states; /* [batch, kv_heads, channels, v_channels] */
};

size_t kernel_linear_attention_room(const struct kernel_linear_attention *shape)
{
    size_t state = (size_t)(shape->channels * shape->v_channels);
    size_t plain = (state + (size_t)shape->v_channels) * sizeof(double);
    size_t fast = (size_t)(shape->batch * shape->kv_heads) * state * sizeof(float);

    return plain > fast ? plain : fast;
}

/* Some columns of one head. */
struct columns {
    float *state; /* the first of the columns; rows `line` apart */
    int64_t line, first;
};

/* What rows decay by. */
ISA_BODY void find_factors(float factors[ROWS], const float *decay, bool is_each, int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; i++)
        factors[i] = decay ? math_exp(decay[is_each ? i : 0]) : 1.0f;
}

/* `held` becomes what the state gives for the keys, when it has decayed. */
ISA_BODY void hold_rows(const struct columns *c, const float *k, const float *factors,
                        int64_t first, int64_t rows, float *restrict held, int64_t width)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *row = c->state + (first + i) * c->line;
        float key = k[first + i] * factors[i];

#pragma omp simd
        for (int64_t m = 0; m < width; m++)
            held[m] += key * row[m];
    }
}

/* The state decays, the keys' values are added, and one query reads. */
ISA_BODY void add_rows(const struct columns *c, const float *k, const float *q,
                       const float *factors, int64_t first, int64_t rows,
                       const float *restrict added, float *restrict sums, int64_t width)
{
    for (int64_t i = 0; i < rows; i++) {
        float *restrict row = c->state + (first + i) * c->line;
        float key = k[first + i], query = q[first + i], factor = factors[i];

#pragma omp simd
        for (int64_t m = 0; m < width; m++) {
            row[m] = row[m] * factor + key * added[m];
            sums[m] += query * row[m];
        }
    }
}

ISA_BODY void read_rows(const struct columns *c, const float *q, int64_t channels,
                        float *restrict sums, int64_t width)
{
    for (int64_t i = 0; i < channels; i++) {
        const float *row = c->state + i * c->line;
        float query = q[i];

#pragma omp simd
        for (int64_t m = 0; m < width; m++)
            sums[m] += query * row[m];
    }
}

ISA_BODY void do_step(const struct attending *a, const struct columns *c, int64_t step, int64_t h,
                      int64_t width)
{
    const struct kernel_linear_attention *s = a->shape;
    const struct kernel_linear_attention_data *d = a->data;
    int64_t line = step * s->kv_heads + h, group = s->heads / s->kv_heads;
    const float *k = (const float *)d->k + line * s->channels, *decay = d->decay, *beta = d->beta;
    const float *v = (const float *)d->v + line * s->v_channels + c->first;
    const float *q = (const float *)d->q + line * group * s->channels;
    float *y = (float *)d->y + line * group * s->v_channels + c->first;
    float held[COLUMNS] = {0.0f}, added[COLUMNS], factors[ROWS];
    bool is_each = s->decay_channels > 1, are_known = false;

    decay = decay ? decay + line * s->decay_channels : NULL;
    for (int64_t i = 0; beta && i < s->channels; i += ROWS) {
        int64_t rows = s->channels - i < ROWS ? s->channels - i : ROWS;

        find_factors(factors, decay ? decay + (is_each ? i : 0) : NULL, is_each, rows);
        hold_rows(c, k, factors, i, rows, held, width);
        are_known = rows == s->channels;
    }
    for (int64_t m = 0; m < width; m++)
        added[m] = beta ? beta[s->is_beta_shared ? step : line] * (v[m] - held[m]) : v[m];
    for (int64_t g = 0; g < group; g++, q += s->channels, y += s->v_channels) {
        float sums[COLUMNS] = {0.0f};

        for (int64_t i = 0; g == 0 && i < s->channels; i += ROWS) {
            int64_t rows = s->channels - i < ROWS ? s->channels - i : ROWS;

            if (!are_known)
                find_factors(factors, decay ? decay + (is_each ? i : 0) : NULL, is_each, rows);
            add_rows(c, k, q, factors, i, rows, added, sums, width);
        }
        if (g > 0)
            read_rows(c, q, s->channels, sums, width);
        for (int64_t m = 0; m < width; m++)
            y[m] = (float)s->scale * sums[m];
    }
}

/* Jobs: heads of keys and values, of each the blocks of columns. */
ISA_BODY void attend(const struct attending *a, int64_t begin, int64_t end)
{
    const struct kernel_linear_attention *s = a->shape;
    int64_t blocks = (s->v_channels + COLUMNS - 1) / COLUMNS;

    for (int64_t job = begin; job < end; job++) {
        int64_t head = job / blocks, first = job % blocks * COLUMNS;
        int64_t width = s->v_channels - first < COLUMNS ? s->v_channels - first : COLUMNS;
        struct columns c = {a->states + head * s->channels * s->v_channels + first, s->v_channels,
                            first};

        for (int64_t t = 0; t < s->steps; t++) {
            int64_t step = head / s->kv_heads * s->steps + t;

            if (width == COLUMNS)
                do_step(a, &c, step, head % s->kv_heads, COLUMNS);
            else
                do_step(a, &c, step, head % s->kv_heads, width);
        }
    }
}

static void linear_attention(const struct kernel_linear_attention_data *data,
                             const struct kernel_linear_attention *shape, team_fn *part)
{
    struct attending a = {data, shape, data->present ? data->present : data->workspace};
    int64_t size = shape->batch * shape->kv_heads * shape->channels * shape->v_channels;
    int64_t blocks = (shape->v_channels + COLUMNS - 1) / COLUMNS;

    if (shape->dtype != KERNEL_F32 || shape->state_type != KERNEL_F32) {
        linear_attention_ref(data, shape);
        return;
    }
    if (size > 0 && data->past)
        memcpy(a.states, data->past, (size_t)size * sizeof(float));
    else if (size > 0)
        memset(a.states, 0, (size_t)size * sizeof(float));
    team_for(shape->batch * shape->kv_heads * blocks,
             GRAIN / (shape->channels * COLUMNS * shape->steps + 1) + 1, part, &a);
}

#define LINEAR_ATTENTION(isa)                                                                      \
    ISA_TARGET_##isa static void attend_##isa(void *argument, int64_t begin, int64_t end)          \
    {                                                                                              \
        attend(argument, begin, end);                                                              \
    }                                                                                              \
                                                                                                   \
    void linear_attention_##isa(const struct kernel_linear_attention_data *data,                   \
                                const struct kernel_linear_attention *shape)                       \
    {                                                                                              \
        linear_attention(data, shape, attend_##isa);                                               \
    }

ISA_VERSIONS(LINEAR_ATTENTION)
