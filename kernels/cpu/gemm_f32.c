/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products over f32: a row times a matrix, or a matrix times a column, reads that matrix once, at the speed of
 * memory; small ones are our own, the rest is oneDNN's. */
#include "kernels/cpu/gemm_small.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

#include <string.h>

#include <oneapi/dnnl/dnnl.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    ROWS = 4,        /* of b that are read side by side */
    GRAIN = 1 << 16, /* elements of b that are worth a second thread */
};

struct gemv {
    float *y;
    const float *a, *b, *c;
    const struct kernel_gemm *shape;
};

ISA_BODY float finish(const struct gemv *p, float sum, int64_t column)
{
    sum *= p->shape->alpha;
    if (p->c)
        sum += p->shape->beta * p->c[column * p->shape->c_col_stride];
    return sum;
}

/* The sum of each row. */
ISA_BODY void sum_fours(float sums[ROWS], const float fours[ROWS][4])
{
#if defined(__x86_64__)
    __m128 a = _mm_loadu_ps(fours[0]), b = _mm_loadu_ps(fours[1]);
    __m128 c = _mm_loadu_ps(fours[2]), d = _mm_loadu_ps(fours[3]);

    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(sums, _mm_add_ps(_mm_add_ps(a, b), _mm_add_ps(c, d)));
#else
    for (int r = 0; r < ROWS; r++)
        sums[r] = (fours[r][0] + fours[r][1]) + (fours[r][2] + fours[r][3]);
#endif
}

/* Of a register. Memory is no faster by larger ones, and sums of their numbers take longer. */
#define GEMV_BYTES_portable 16
#define GEMV_BYTES_avx2     32
#define GEMV_BYTES_avx512   32

/* b is [n, k]: dot products with a, `ROWS` rows at once, each summed in two registers. */
#define GEMV_ROWS(isa)                                                                             \
    typedef float lanes_##isa                                                                      \
        __attribute__((vector_size(GEMV_BYTES_##isa), aligned(4), may_alias));                     \
                                                                                                   \
    /* The numbers of each of four registers, in fours. */                                         \
    ISA_BODY void sum_lanes_##isa(float sums[ROWS], const lanes_##isa v[ROWS])                     \
    {                                                                                              \
        float fours[ROWS][4];                                                                      \
                                                                                                   \
        for (int r = 0; r < ROWS; r++) {                                                           \
            float all[GEMV_BYTES_##isa / 4];                                                       \
                                                                                                   \
            memcpy(all, &v[r], sizeof(all));                                                       \
            for (int i = 0; i < 4; i++)                                                            \
                fours[r][i] = all[i];                                                              \
            for (int j = 4; j < GEMV_BYTES_##isa / 4; j += 4)                                      \
                for (int i = 0; i < 4; i++)                                                        \
                    fours[r][i] += all[j + i];                                                     \
        }                                                                                          \
        sum_fours(sums, fours);                                                                    \
    }                                                                                              \
                                                                                                   \
    /* rows: 1 or ROWS, a number that the compiler knows. */                                       \
    ISA_BODY void dot_rows_##isa(float *sums, const float *x, const float *b, int64_t k, int rows) \
    {                                                                                              \
        enum { LANES = GEMV_BYTES_##isa / 4 };                                                     \
        int64_t i = 0;                                                                             \
        lanes_##isa s00 = {0}, s01 = {0}, s10 = {0}, s11 = {0};                                    \
        lanes_##isa s20 = {0}, s21 = {0}, s30 = {0}, s31 = {0};                                    \
                                                                                                   \
        for (; i + 2 * LANES <= k; i += 2 * LANES) {                                               \
            lanes_##isa left = *(const lanes_##isa *)(x + i);                                      \
            lanes_##isa right = *(const lanes_##isa *)(x + i + LANES);                             \
                                                                                                   \
            s00 += left * *(const lanes_##isa *)(b + i);                                           \
            s01 += right * *(const lanes_##isa *)(b + i + LANES);                                  \
            if (rows == 1)                                                                         \
                continue;                                                                          \
            s10 += left * *(const lanes_##isa *)(b + k + i);                                       \
            s11 += right * *(const lanes_##isa *)(b + k + i + LANES);                              \
            s20 += left * *(const lanes_##isa *)(b + 2 * k + i);                                   \
            s21 += right * *(const lanes_##isa *)(b + 2 * k + i + LANES);                          \
            s30 += left * *(const lanes_##isa *)(b + 3 * k + i);                                   \
            s31 += right * *(const lanes_##isa *)(b + 3 * k + i + LANES);                          \
        }                                                                                          \
        sum_lanes_##isa(sums,                                                                      \
                        (const lanes_##isa[ROWS]){s00 + s01, s10 + s11, s20 + s21, s30 + s31});    \
        for (; i < k; i++)                                                                         \
            for (int r = 0; r < rows; r++)                                                         \
                sums[r] += x[i] * b[r * k + i];                                                    \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void gemv_rows_##isa(const struct gemv *p, int64_t row, int64_t end)                  \
    {                                                                                              \
        int64_t k = p->shape->k;                                                                   \
        float sums[ROWS];                                                                          \
                                                                                                   \
        for (; row + ROWS <= end; row += ROWS) {                                                   \
            dot_rows_##isa(sums, p->a, p->b + row * k, k, ROWS);                                   \
            for (int r = 0; r < ROWS; r++)                                                         \
                p->y[row + r] = finish(p, sums[r], row + r);                                       \
        }                                                                                          \
        for (; row < end; row++) {                                                                 \
            dot_rows_##isa(sums, p->a, p->b + row * k, k, 1);                                      \
            p->y[row] = finish(p, sums[0], row);                                                   \
        }                                                                                          \
    }

/* b is [k, n]: sums of its rows, `ROWS` at once, for the columns [begin, end). */
ISA_BODY void gemv_columns(const struct gemv *p, int64_t begin, int64_t end)
{
    int64_t n = p->shape->n, k = p->shape->k, row = 0;
    float *restrict y = p->y;

    for (int64_t j = begin; j < end; j++)
        y[j] = 0.0f;
    for (; row + ROWS <= k; row += ROWS) {
        const float *restrict a = p->a + row, *restrict b = p->b + row * n;

        for (int64_t j = begin; j < end; j++)
            y[j] += (a[0] * b[j] + a[1] * b[n + j]) + (a[2] * b[2 * n + j] + a[3] * b[3 * n + j]);
    }
    for (; row < k; row++)
        for (int64_t j = begin; j < end; j++)
            y[j] += p->a[row] * p->b[row * n + j];
    for (int64_t j = begin; j < end; j++)
        y[j] = finish(p, y[j], j);
}

/* y = c, broadcast, for a product that is then added to it. */
static void spread_c(float *y, const float *c, const struct kernel_gemm *s)
{
    int64_t line = kernel_gemm_y_line(s);

    for (int64_t i = 0; i < s->m; i++) {
        const float *row = c + i * s->c_row_stride;

        if (s->c_col_stride == 1)
            memcpy(y + i * line, row, (size_t)s->n * sizeof(*y));
        else
            for (int64_t j = 0; j < s->n; j++)
                y[i * line + j] = row[j * s->c_col_stride];
    }
}

static void gemm_dnnl(float *y, const float *a, const float *b, const float *c,
                      const struct kernel_gemm *s)
{
    int64_t line = kernel_gemm_y_line(s);

    if (c)
        spread_c(y, c, s);
    if (s->k == 0) { /* only beta * c is left */
        for (int64_t i = 0; i < s->m; i++)
            for (int64_t j = 0; j < s->n; j++)
                y[i * line + j] = c ? s->beta * y[i * line + j] : 0.0f;
        return;
    }
    /* It refuses only sizes and transpositions that cannot come up here. */
    dnnl_sgemm(s->trans_a ? 'T' : 'N', s->trans_b ? 'T' : 'N', s->m, s->n, s->k, s->alpha, a,
               kernel_gemm_a_line(s), b, kernel_gemm_b_line(s), c ? s->beta : 0.0f, y, line);
}

/* A matrix times a column is the row times the matrix transposed, where all is in one piece. */
static bool turn_column(struct kernel_gemm *turned, const struct kernel_gemm *s)
{
    if (s->n != 1 || s->m == 1 || s->a_line || s->b_line || s->y_line)
        return false;
    *turned = *s;
    turned->m = 1;
    turned->n = s->m;
    turned->trans_a = false;
    turned->trans_b = !s->trans_a;
    turned->c_row_stride = 0;
    turned->c_col_stride = s->c_row_stride;
    memcpy(turned->a_batch_stride, s->b_batch_stride, sizeof(s->b_batch_stride));
    memcpy(turned->b_batch_stride, s->a_batch_stride, sizeof(s->a_batch_stride));
    return true;
}

static void gemm_batch(float *y, const float *a, const float *b, const float *c,
                       const struct kernel_gemm *s, team_fn *rows, team_fn *columns,
                       gemm_small_fn *small)
{
    struct kernel_gemm turned;

    if (turn_column(&turned, s)) {
        gemm_batch(y, b, a, c, &turned, rows, columns, small);
        return;
    }
    struct gemv p = {.c = s->beta != 0.0f ? c : NULL, .shape = s};
    bool is_vector = s->m == 1 && !s->a_line && !s->b_line; /* in one piece */
    int64_t count = 1;

    for (int i = 0; i < s->batch_rank; i++)
        count *= s->batch_dims[i];
    if (s->m == 0 || s->n == 0)
        return;
    if (!is_vector && gemm_small_fits(s)) {
        small(y, a, b, p.c, s);
        return;
    }
    for (int64_t index = 0; index < count; index++) {
        struct kernel_gemm_place at = kernel_gemm_place(s, index);

        p.y = y + at.y;
        p.a = a + at.a;
        p.b = b + at.b;
        if (!is_vector)
            gemm_dnnl(p.y, p.a, p.b, p.c, s);
        else
            team_for(s->n, GRAIN / (s->k + 1) + 1, s->trans_b ? rows : columns, &p);
    }
}

#define GEMM(isa)                                                                                  \
    GEMV_ROWS(isa)                                                                                 \
                                                                                                   \
    ISA_TARGET_##isa static void rows_##isa(void *argument, int64_t begin, int64_t end)            \
    {                                                                                              \
        gemv_rows_##isa(argument, begin, end);                                                     \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void columns_##isa(void *argument, int64_t begin, int64_t end)         \
    {                                                                                              \
        gemv_columns(argument, begin, end);                                                        \
    }                                                                                              \
                                                                                                   \
    void gemm_f32_##isa(float *y, const float *a, const float *b, const float *c,                  \
                        const struct kernel_gemm *shape)                                           \
    {                                                                                              \
        gemm_batch(y, a, b, c, shape, rows_##isa, columns_##isa, gemm_small_##isa);                \
    }

ISA_VERSIONS(GEMM)
