/* SPDX-License-Identifier: Apache-2.0 */
/* Distances of rows, in f32: columns of y side by side in a register, some rows of a at a time, whose
 * rows of b are turned into a panel first. Other types are the reference's. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    ROWS = 4,        /* of a that go through a panel together */
    DEPTH = 256,     /* elements of a row that a panel has of it */
    LONG = 64,       /* elements of a row that are worth vectors of their own */
    GRAIN = 1 << 15, /* differences that are worth a second thread */
};

struct distances {
    float *y;
    const float *a, *b;
    const struct kernel_distances *shape;
};

/* Elements [from, from + depth) of `count` rows of b, side by side; zeros behind them. */
ISA_BODY void turn(float *restrict panel, const float *b, int64_t k, int64_t depth, int64_t count,
                   int64_t width)
{
    for (int64_t j = 0; j < width; j++) {
        const float *restrict row = b + j * k;

        for (int64_t p = 0; p < depth; p++)
            panel[p * width + j] = j < count ? row[p] : 0.0f;
    }
}

/* What a difference adds; is_absolute: a constant wherever this is inlined. */
ISA_BODY float term_of(float difference, bool is_absolute)
{
    return is_absolute ? fabsf(difference) : difference * difference;
}

/* Columns [begin, end) of few rows, whose elements are side by side already. */
ISA_BODY void do_alone(const struct distances *d, int64_t begin, int64_t end, bool is_absolute)
{
    const struct kernel_distances *s = d->shape;

    for (int64_t i = 0; i < s->m; i++) {
        for (int64_t j = begin; j < end; j++) {
            const float *a = d->a + i * s->k, *b = d->b + j * s->k;
            float sum = 0.0f;

#pragma omp simd reduction(+ : sum)
            for (int64_t p = 0; p < s->k; p++)
                sum += term_of(a[p] - b[p], is_absolute);
            d->y[i * s->n + j] = s->is_root ? sqrtf(sum) : sum;
        }
    }
}

/* Adds a vector of differences, squared or without their signs; is_absolute: a constant wherever this is used. */
#define ADD_TERM(isa, sum, d)                                                                      \
    do {                                                                                           \
        if (is_absolute)                                                                           \
            sum += (vector_##isa)((bits_##isa)(d)&INT32_MAX);                                      \
        else                                                                                       \
            sum += (d) * (d);                                                                      \
    } while (0)

#define DISTANCES(isa)                                                                             \
    typedef float vector_##isa                                                                     \
        __attribute__((vector_size(ISA_BYTES_##isa), aligned(4), may_alias));                      \
    typedef int32_t bits_##isa                                                                     \
        __attribute__((vector_size(ISA_BYTES_##isa), aligned(4), may_alias));                      \
                                                                                                   \
    enum { WIDTH_##isa = ISA_BYTES_##isa / 4 };                                                    \
                                                                                                   \
    /* Both add to sums. */                                                                        \
    ISA_BODY void four_##isa(float *sums, const float *a, int64_t k, const float *panel,           \
                             int64_t depth, bool is_absolute)                                      \
    {                                                                                              \
        enum { width = WIDTH_##isa };                                                              \
        const vector_##isa zero = {0};                                                             \
        vector_##isa s0 = zero, s1 = zero, s2 = zero, s3 = zero;                                   \
        vector_##isa *to = (vector_##isa *)sums;                                                   \
                                                                                                   \
        for (int64_t p = 0; p < depth; p++) {                                                      \
            vector_##isa b = *(const vector_##isa *)(panel + p * width);                           \
            vector_##isa d0 = b - a[p], d1 = b - a[k + p];                                         \
            vector_##isa d2 = b - a[2 * k + p], d3 = b - a[3 * k + p];                             \
                                                                                                   \
            ADD_TERM(isa, s0, d0);                                                                 \
            ADD_TERM(isa, s1, d1);                                                                 \
            ADD_TERM(isa, s2, d2);                                                                 \
            ADD_TERM(isa, s3, d3);                                                                 \
        }                                                                                          \
        to[0] = to[0] + s0;                                                                        \
        to[1] = to[1] + s1;                                                                        \
        to[2] = to[2] + s2;                                                                        \
        to[3] = to[3] + s3;                                                                        \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void one_##isa(float *sums, const float *a, const float *panel, int64_t depth,        \
                            bool is_absolute)                                                      \
    {                                                                                              \
        enum { width = WIDTH_##isa };                                                              \
        const vector_##isa zero = {0};                                                             \
        vector_##isa even = zero, odd = zero, *to = (vector_##isa *)sums;                          \
        int64_t p = 0;                                                                             \
                                                                                                   \
        for (; p + 2 <= depth; p += 2) {                                                           \
            vector_##isa d = *(const vector_##isa *)(panel + p * width) - a[p];                    \
            vector_##isa e = *(const vector_##isa *)(panel + (p + 1) * width) - a[p + 1];          \
                                                                                                   \
            ADD_TERM(isa, even, d);                                                                \
            ADD_TERM(isa, odd, e);                                                                 \
        }                                                                                          \
        for (; p < depth; p++) {                                                                   \
            vector_##isa d = *(const vector_##isa *)(panel + p * width) - a[p];                    \
                                                                                                   \
            ADD_TERM(isa, even, d);                                                                \
        }                                                                                          \
        *to = *to + even + odd;                                                                    \
    }                                                                                              \
                                                                                                   \
    /* The sums of some rows, ROWS of them or fewer. */                                            \
    ISA_BODY void sum_##isa(float *sums, const float *a, int64_t rows, int64_t k,                  \
                            const float *panel, int64_t depth, bool is_absolute)                   \
    {                                                                                              \
        enum { width = WIDTH_##isa };                                                              \
                                                                                                   \
        if (rows == ROWS)                                                                          \
            four_##isa(sums, a, k, panel, depth, is_absolute);                                     \
        for (int64_t r = 0; rows < ROWS && r < rows; r++)                                          \
            one_##isa(sums + r * width, a + r * k, panel, depth, is_absolute);                     \
    }                                                                                              \
                                                                                                   \
    /* Rows [row, row + ROWS) of y and `count` columns from `first` on, of which `panel` has \
     * elements [from, from + depth): what was summed before stands in y. */     \
    ISA_TARGET_##isa static void tile_##isa(const struct distances *d, const float *panel,         \
                                            int64_t row, int64_t first, int64_t count,             \
                                            int64_t from, int64_t depth)                           \
    {                                                                                              \
        enum { width = WIDTH_##isa };                                                              \
        const struct kernel_distances *s = d->shape;                                               \
        int64_t rows = s->m - row < ROWS ? s->m - row : ROWS;                                      \
        const float *a = d->a + row * s->k + from;                                                 \
        float *y = d->y + row * s->n + first;                                                      \
        bool is_root = s->is_root && from + depth == s->k;                                         \
        _Alignas(64) float sums[ROWS * width] = {0};                                               \
                                                                                                   \
        for (int64_t r = 0; from > 0 && r < rows; r++)                                             \
            memcpy(sums + r * width, y + r * s->n, (size_t)count * sizeof(*y));                    \
        if (s->is_absolute)                                                                        \
            sum_##isa(sums, a, rows, s->k, panel, depth, true);                                    \
        else                                                                                       \
            sum_##isa(sums, a, rows, s->k, panel, depth, false);                                   \
        for (int64_t r = 0; is_root && r < ROWS * width; r++)                                      \
            sums[r] = sqrtf(sums[r]);                                                              \
        for (int64_t r = 0; r < rows; r++) {                                                       \
            if (count == width)                                                                    \
                memcpy(y + r * s->n, sums + r * width, width * sizeof(*y));                        \
            else                                                                                   \
                memcpy(y + r * s->n, sums + r * width, (size_t)count * sizeof(*y));                \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Panels [begin, end). */                                                                     \
    ISA_TARGET_##isa static void columns_##isa(void *argument, int64_t begin, int64_t end)         \
    {                                                                                              \
        enum { width = WIDTH_##isa };                                                              \
        const struct distances *d = argument;                                                      \
        const struct kernel_distances *s = d->shape;                                               \
        _Alignas(64) float panel[DEPTH * width];                                                   \
                                                                                                   \
        if (s->k == 0 || (s->m < ROWS && s->k >= LONG)) {                                          \
            int64_t last = end * width < s->n ? end * width : s->n;                                \
                                                                                                   \
            if (s->is_absolute)                                                                    \
                do_alone(d, begin *width, last, true);                                             \
            else                                                                                   \
                do_alone(d, begin *width, last, false);                                            \
            return;                                                                                \
        }                                                                                          \
        for (int64_t first = begin * width; first < end * width && first < s->n; first += width) { \
            int64_t count = s->n - first < width ? s->n - first : width;                           \
                                                                                                   \
            for (int64_t from = 0; from < s->k; from += DEPTH) {                                   \
                int64_t depth = s->k - from < DEPTH ? s->k - from : DEPTH;                         \
                                                                                                   \
                turn(panel, d->b + first * s->k + from, s->k, depth, count, width);                \
                for (int64_t row = 0; row < s->m; row += ROWS)                                     \
                    tile_##isa(d, panel, row, first, count, from, depth);                          \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    void distances_##isa(void *y, const void *a, const void *b,                                    \
                         const struct kernel_distances *shape)                                     \
    {                                                                                              \
        struct distances d = {y, a, b, shape};                                                     \
        int64_t panels = (shape->n + WIDTH_##isa - 1) / WIDTH_##isa;                               \
        int64_t each = (shape->m + 1) * (shape->k + 1) * WIDTH_##isa;                              \
                                                                                                   \
        if (shape->dtype == KERNEL_F32)                                                            \
            team_for(panels, GRAIN / each + 1, columns_##isa, &d);                                 \
        else                                                                                       \
            distances_ref(y, a, b, shape);                                                         \
    }

ISA_VERSIONS(DISTANCES)
