/* SPDX-License-Identifier: Apache-2.0 */
/* One row times weights of half precision, which become floats in registers. */
#include "kernels/cpu/gemm_row.h"
#include "kernels/cpu/sum_eight.h"
#include "kernels/cpu/team.h"

#include <string.h>

#if defined(__x86_64__)

#define WIDENS __attribute__((target("avx2,fma,f16c")))

enum {
    LANES = 8,
    BLOCK = 2 * LANES, /* columns that a thread gets together */
    ROWS = 8,          /* of b that are read side by side */
    DOTS = 4,          /* lines of a transposed b, likewise */
    GRAIN = 1 << 16,   /* elements of b that are worth a second thread */
};

struct half_row {
    float *y;
    const float *a, *bias;
    const uint16_t *b;
    int64_t n, k;
};

/* is_bf16: a constant wherever this is inlined. */
WIDENS static inline __attribute__((always_inline)) __m256 widen(const uint16_t *x, bool is_bf16)
{
    __m128i halves = _mm_loadu_si128((const __m128i *)(const void *)x);

    if (is_bf16)
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
    return _mm256_cvtph_ps(halves);
}

WIDENS static inline __attribute__((always_inline)) float widen_one(uint16_t x, bool is_bf16)
{
    uint16_t some[LANES] = {x};

    return _mm256_cvtss_f32(widen(some, is_bf16));
}

/* y of the columns [j, end) += some rows of b, from p on; rows: ROWS or 1, a constant. */
WIDENS static inline __attribute__((always_inline)) void
add_rows(const struct half_row *h, int64_t p, int64_t j, int64_t end, int rows, bool is_bf16)
{
    const uint16_t *b = h->b + p * h->n;
    __m256 a[ROWS];

    for (int r = 0; r < rows; r++)
        a[r] = _mm256_set1_ps(h->a[p + r]);
    for (; j + LANES <= end; j += LANES) {
        __m256 sum = _mm256_loadu_ps(h->y + j), second = _mm256_setzero_ps();

        for (int r = 0; r < rows; r += 2) {
            sum = _mm256_fmadd_ps(a[r], widen(b + r * h->n + j, is_bf16), sum);
            if (r + 1 < rows)
                second = _mm256_fmadd_ps(a[r + 1], widen(b + (r + 1) * h->n + j, is_bf16), second);
        }
        _mm256_storeu_ps(h->y + j, _mm256_add_ps(sum, second));
    }
    for (; j < end; j++)
        for (int r = 0; r < rows; r++)
            h->y[j] += h->a[p + r] * widen_one(b[r * h->n + j], is_bf16);
}

/* b is [k, n]: blocks of columns [begin, end). */
WIDENS static inline __attribute__((always_inline)) void
columns(const struct half_row *h, int64_t begin, int64_t end, bool is_bf16)
{
    int64_t p = 0;

    begin *= BLOCK;
    end = end * BLOCK < h->n ? end * BLOCK : h->n;
    if (h->bias)
        memcpy(h->y + begin, h->bias + begin, (size_t)(end - begin) * sizeof(*h->y));
    else
        memset(h->y + begin, 0, (size_t)(end - begin) * sizeof(*h->y));
    for (; p + ROWS <= h->k; p += ROWS)
        add_rows(h, p, begin, end, ROWS, is_bf16);
    for (; p < h->k; p++)
        add_rows(h, p, begin, end, 1, is_bf16);
}

/* Dot products of a with `lines` lines of b: DOTS or 1, a constant. */
WIDENS static inline __attribute__((always_inline)) void
dot_lines(const struct half_row *h, int64_t line, int lines, bool is_bf16)
{
    const uint16_t *b = h->b + line * h->k;
    __m256 sums[DOTS], seconds[DOTS];
    int64_t i = 0;

    for (int r = 0; r < lines; r++)
        sums[r] = seconds[r] = _mm256_setzero_ps();
    for (; i + BLOCK <= h->k; i += BLOCK) {
        __m256 left = _mm256_loadu_ps(h->a + i), right = _mm256_loadu_ps(h->a + i + LANES);

        for (int r = 0; r < lines; r++) {
            const uint16_t *x = b + r * h->k + i;

            sums[r] = _mm256_fmadd_ps(left, widen(x, is_bf16), sums[r]);
            seconds[r] = _mm256_fmadd_ps(right, widen(x + LANES, is_bf16), seconds[r]);
        }
    }
    for (int r = 0; r < lines; r++) {
        float sum = sum_eight(_mm256_add_ps(sums[r], seconds[r]));

        for (int64_t j = i; j < h->k; j++)
            sum += h->a[j] * widen_one(b[r * h->k + j], is_bf16);
        h->y[line + r] = sum + (h->bias ? h->bias[line + r] : 0.0f);
    }
}

/* b is [n, k]: lines [begin, end). */
WIDENS static inline __attribute__((always_inline)) void
lines(const struct half_row *h, int64_t begin, int64_t end, bool is_bf16)
{
    for (; begin + DOTS <= end; begin += DOTS)
        dot_lines(h, begin, DOTS, is_bf16);
    for (; begin < end; begin++)
        dot_lines(h, begin, 1, is_bf16);
}

#define PART(name, function, is_bf16)                                                              \
    WIDENS static void name(void *argument, int64_t begin, int64_t end)                            \
    {                                                                                              \
        function(argument, begin, end, is_bf16);                                                   \
    }

PART(columns_f16, columns, false)
PART(columns_bf16, columns, true)
PART(lines_f16, lines, false)
PART(lines_bf16, lines, true)

void gemm_row_half(const struct gemm_row *row, float *y, const float *a, const void *b,
                   const float *bias)
{
    const struct kernel_gemm *s = &row->shape;
    bool is_bf16 = s->types.weights == KERNEL_BF16;
    struct half_row h = {.y = y, .a = a, .bias = bias, .b = b, .n = s->n, .k = s->k};

    if (s->trans_b)
        team_for(s->n, GRAIN / s->k + 1, is_bf16 ? lines_bf16 : lines_f16, &h);
    else
        team_for((s->n + BLOCK - 1) / BLOCK, GRAIN / (s->k * BLOCK) + 1,
                 is_bf16 ? columns_bf16 : columns_f16, &h);
}
#endif
