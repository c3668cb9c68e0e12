/* SPDX-License-Identifier: Apache-2.0 */
/* Small products of f32: panels of columns, and of each some rows that are summed in registers. */
#include "kernels/cpu/gemm_small.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/cpu/gemm_tile.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"

enum {
    ROWS = TILE_ROWS,
    DEPTH = 512,     /* rows of a panel */
    GRAIN = 1 << 17, /* products that are worth a second thread */
    WORTH = 1 << 26, /* products of one matrix */
    SMALL = 1 << 21, /* below that packing b does not matter */
    TIMES = 8,       /* columns for each row, at most, that are packed as fast as multiplied */
};

struct task {
    float *y;
    const float *a, *b, *c;
    const struct kernel_gemm *shape;
    int64_t panels;       /* of a matrix */
    int64_t a_row, a_col; /* from one element to the next */
    int64_t b_line, y_line;
};

/* A tile: rows of a from here on, a panel of b. */
struct tile {
    const float *a, *b;
    int64_t a_row, a_col, b_line, y_line, k;
};

bool gemm_small_fits(const struct kernel_gemm *s)
{
    return s->m > 0 && s->n > 0 && s->k > 0 && s->k <= DEPTH && s->m <= WORTH && s->n <= WORTH &&
           s->m * s->n <= WORTH / s->k &&
           (s->trans_b || s->n <= TIMES * s->m || s->m * s->n <= SMALL / s->k);
}

/* Four lines of b become columns, where there are so many; by blocks of 4x4 where a register holds four. */
static inline bool turn_four(float *restrict out, const float *restrict b, int64_t line,
                             int64_t lines, int64_t k, int64_t width)
{
    int64_t p = 0;

    if (lines < 4)
        return false;
#if defined(__x86_64__)
    for (; p + 4 <= k; p += 4) {
        __m128 r0 = _mm_loadu_ps(b + p), r1 = _mm_loadu_ps(b + line + p);
        __m128 r2 = _mm_loadu_ps(b + 2 * line + p), r3 = _mm_loadu_ps(b + 3 * line + p);

        _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
        _mm_storeu_ps(out + p * width, r0);
        _mm_storeu_ps(out + (p + 1) * width, r1);
        _mm_storeu_ps(out + (p + 2) * width, r2);
        _mm_storeu_ps(out + (p + 3) * width, r3);
    }
#endif
    for (; p < k; p++)
        for (int64_t i = 0; i < 4; i++)
            out[p * width + i] = b[i * line + p];
    return true;
}

/* Some columns of b, side by side, zeros behind them. */
ISA_BODY void pack_panel(float *restrict out, const struct task *t, const float *b, int64_t first,
                         int64_t count, int64_t width)
{
    int64_t k = t->shape->k;

    if (!t->shape->trans_b) {
        for (int64_t p = 0; p < k; p++, out += width) {
            memcpy(out, b + p * t->b_line + first, (size_t)count * sizeof(*out));
            memset(out + count, 0, (size_t)(width - count) * sizeof(*out));
        }
        return;
    }
    for (int64_t j = 0; j < width; j++) {
        const float *restrict column = b + (first + j) * t->b_line;

        if (turn_four(out + j, b + (first + j) * t->b_line, t->b_line, count - j, k, width)) {
            j += 3;
            continue;
        }
        for (int64_t p = 0; j < count && p < k; p++)
            out[p * width + j] = column[p];
        for (int64_t p = 0; j >= count && p < k; p++)
            out[p * width + j] = 0.0f;
    }
}

/* Rows of y out of the sums of a tile. */
ISA_BODY void finish(const struct task *t, float *y, const float *sums, int64_t width, int64_t row,
                     int rows, int64_t column, int64_t count)
{
    const struct kernel_gemm *s = t->shape;

    for (int r = 0; r < rows; r++, sums += width) {
        float *restrict out = y + (row + r) * t->y_line + column;

        if (!t->c) {
            for (int64_t j = 0; j < count; j++)
                out[j] = s->alpha * sums[j];
            continue;
        }
        for (int64_t j = 0; j < count; j++)
            out[j] = s->alpha * sums[j] +
                     s->beta * t->c[(row + r) * s->c_row_stride + (column + j) * s->c_col_stride];
    }
}

#define NO_SUM(r) sums[r][0] = sums[r][1] = zero;
#define ADD_ROW(r)                                                                                 \
    {                                                                                              \
        float number = t->a[(r)*t->a_row + p * t->a_col];                                          \
                                                                                                   \
        sums[r][0] += number * low;                                                                \
        if (is_wide)                                                                               \
            sums[r][1] += number * high;                                                           \
    }
#define STORE(r)                                                                                   \
    memcpy(y + (r)*t->y_line, &sums[r][0], sizeof(zero));                                          \
    if (is_wide)                                                                                   \
        memcpy(y + (r)*t->y_line + lanes, &sums[r][1], sizeof(zero));

#define CASE(isa, n)                                                                               \
    case n:                                                                                        \
        if (is_wide)                                                                               \
            tile_##isa(y, t, n, true);                                                             \
        else                                                                                       \
            tile_##isa(y, t, n, false);                                                            \
        break;

#define SMALL(isa)                                                                                 \
    typedef float vector_##isa                                                                     \
        __attribute__((vector_size(ISA_BYTES_##isa), aligned(4), may_alias));                      \
                                                                                                   \
    /* rows and is_wide, two vectors of columns, are constants wherever this is inlined. */        \
    ISA_BODY void tile_##isa(float *y, const struct tile *t, int rows, bool is_wide)               \
    {                                                                                              \
        enum { lanes = ISA_BYTES_##isa / 4 };                                                      \
        const vector_##isa zero = {0};                                                             \
        vector_##isa sums[ROWS][2];                                                                \
                                                                                                   \
        EACH_ROW(rows, NO_SUM)                                                                     \
        for (int64_t p = 0; p < t->k; p++) {                                                       \
            const float *line = t->b + p * t->b_line;                                              \
            vector_##isa low = *(const vector_##isa *)line, high = zero;                           \
                                                                                                   \
            if (is_wide)                                                                           \
                high = *(const vector_##isa *)(line + lanes);                                      \
            EACH_ROW(rows, ADD_ROW)                                                                \
        }                                                                                          \
        EACH_ROW(rows, STORE)                                                                      \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void rows_##isa(float *y, const struct tile *t, int rows,              \
                                            bool is_wide)                                          \
    {                                                                                              \
        switch (rows) {                                                                            \
            EACH_HEIGHT(CASE, isa)                                                                 \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Panels [begin, end) of all matrices. */                                                     \
    ISA_TARGET_##isa static void panels_##isa(void *argument, int64_t begin, int64_t end)          \
    {                                                                                              \
        enum { WIDTH = ISA_BYTES_##isa / 2 }; /* two vectors of floats */                          \
        const struct task *task = argument;                                                        \
        const struct kernel_gemm *s = task->shape;                                                 \
        _Alignas(64) float packed[DEPTH * WIDTH], sums[ROWS * WIDTH];                              \
                                                                                                   \
        for (; begin < end; begin++) {                                                             \
            struct kernel_gemm_place at = kernel_gemm_place(s, begin / task->panels);              \
            int64_t first = begin % task->panels * WIDTH;                                          \
            int64_t count = s->n - first < WIDTH ? s->n - first : WIDTH;                           \
            bool is_plain = count == WIDTH && !task->c && s->alpha == 1.0f;                        \
            struct tile t = {.a_row = task->a_row, .a_col = task->a_col, .k = s->k};               \
                                                                                                   \
            t.b = task->b + at.b + first;                                                          \
            t.b_line = task->b_line;                                                               \
            if (count < WIDTH || s->trans_b) {                                                     \
                pack_panel(packed, task, task->b + at.b, first, count, WIDTH);                     \
                t.b = packed;                                                                      \
                t.b_line = WIDTH;                                                                  \
            }                                                                                      \
            for (int64_t row = 0; row < s->m; row += ROWS) {                                       \
                int rows = (int)(s->m - row < ROWS ? s->m - row : ROWS);                           \
                                                                                                   \
                t.a = task->a + at.a + row * task->a_row;                                          \
                t.y_line = is_plain ? task->y_line : WIDTH;                                        \
                rows_##isa(is_plain ? task->y + at.y + row * task->y_line + first : sums, &t,      \
                           rows, count > WIDTH / 2);                                               \
                if (!is_plain)                                                                     \
                    finish(task, task->y + at.y, sums, WIDTH, row, rows, first, count);            \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    void gemm_small_##isa(float *y, const float *a, const float *b, const float *c,                \
                          const struct kernel_gemm *s)                                             \
    {                                                                                              \
        multiply(y, a, b, c, s, ISA_BYTES_##isa / 2, panels_##isa);                                \
    }

static void multiply(float *y, const float *a, const float *b, const float *c,
                     const struct kernel_gemm *s, int64_t columns, team_fn *panels)
{
    int64_t line = kernel_gemm_a_line(s), count = 1;
    struct task t = {.y = y,
                     .a = a,
                     .b = b,
                     .c = c,
                     .shape = s,
                     .panels = (s->n + columns - 1) / columns,
                     .a_row = s->trans_a ? 1 : line,
                     .a_col = s->trans_a ? line : 1,
                     .b_line = kernel_gemm_b_line(s),
                     .y_line = kernel_gemm_y_line(s)};

    for (int i = 0; i < s->batch_rank; i++)
        count *= s->batch_dims[i];
    team_for(count * t.panels, GRAIN / (s->m * s->k * columns) + 1, panels, &t);
}

ISA_VERSIONS(SMALL)
