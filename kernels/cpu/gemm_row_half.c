/* SPDX-License-Identifier: Apache-2.0 */
/* One row, or a few, times weights of half precision, which become floats in registers. */
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
    int64_t m, n, k;
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

/* --- A few rows --- */

#define WIDE __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")))

enum {
    STRIP = 32, /* columns of a tile: two registers */
    TALL = 6,   /* rows of it */
    DEEP = 256, /* lines of b whose strip stays in the first cache for all rows */
    AHEAD = 12, /* lines of b that are fetched before they are read */
};

/* Lines [p, end) of b: two registers of columns from j on, of which the masks tell, by some rows of a from `row` on; rows: a
 * constant. */
WIDE static inline __attribute__((always_inline)) void
add_tile(const struct half_row *h, int64_t row, int rows, int64_t j, int64_t p, int64_t end)
{
    int64_t left = h->n - j;
    __mmask16 first = (__mmask16)(left < 16 ? (1u << left) - 1 : 0xffff);
    __mmask16 second = (__mmask16)(left < 16 ? 0 : left < STRIP ? (1u << (left - 16)) - 1 : 0xffff);
    float *y = h->y + row * h->n + j;
    const float *a = h->a + row * h->k;
    __m512 sums[TALL][2];

#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
        const float *from = p > 0 ? y + r * h->n : h->bias ? h->bias + j : NULL;

        sums[r][0] = from ? _mm512_maskz_loadu_ps(first, from) : _mm512_setzero_ps();
        sums[r][1] = from ? _mm512_maskz_loadu_ps(second, from + 16) : _mm512_setzero_ps();
    }
    for (; p < end; p++) {
        const uint16_t *b = h->b + p * h->n + j;
        __m512 low = _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first, b));
        __m512 high = _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(second, b + 16));

        if (p + AHEAD < h->k)
            __builtin_prefetch(b + AHEAD * h->n);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            __m512 x = _mm512_set1_ps(a[r * h->k + p]);

            sums[r][0] = _mm512_fmadd_ps(x, low, sums[r][0]);
            sums[r][1] = _mm512_fmadd_ps(x, high, sums[r][1]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
        _mm512_mask_storeu_ps(y + r * h->n, first, sums[r][0]);
        _mm512_mask_storeu_ps(y + r * h->n + 16, second, sums[r][1]);
    }
}

#define TILE_CASE(rows)                                                                            \
    case rows:                                                                                     \
        add_tile(h, row, rows, j, p, end);                                                         \
        break;

WIDE static void add_tile_of(const struct half_row *h, int64_t row, int64_t rows, int64_t j,
                             int64_t p, int64_t end)
{
    switch (rows) {
        TILE_CASE(1)
        TILE_CASE(2)
        TILE_CASE(3)
        TILE_CASE(4)
        TILE_CASE(5)
        TILE_CASE(6)
    default:
        break;
    }
}

/* Strips [begin, end) of columns, by tiles of about the same height. */
WIDE static void strips_f16(void *argument, int64_t begin, int64_t strip_end)
{
    const struct half_row *h = argument;
    int64_t tiles = (h->m + TALL - 1) / TALL, tall = (h->m + tiles - 1) / tiles;

    for (int64_t j = begin * STRIP; j < strip_end * STRIP; j += STRIP) {
        for (int64_t p = 0, end; p < h->k; p = end) {
            end = h->k - p < DEEP ? h->k : p + DEEP;
            for (int64_t row = 0; row < h->m; row += tall)
                add_tile_of(h, row, h->m - row < tall ? h->m - row : tall, j, p, end);
        }
    }
}

void gemm_row_half(const struct gemm_row *row, float *y, const float *a, const void *b,
                   const float *bias)
{
    const struct kernel_gemm *s = &row->shape;
    bool is_bf16 = s->types.weights == KERNEL_BF16;
    struct half_row h = {.y = y, .a = a, .bias = bias, .b = b, .m = s->m, .n = s->n, .k = s->k};

    if (s->m > 1)
        team_for((s->n + STRIP - 1) / STRIP, GRAIN / (s->k * STRIP) + 1, strips_f16, &h);
    else if (s->trans_b)
        team_for(s->n, GRAIN / s->k + 1, is_bf16 ? lines_bf16 : lines_f16, &h);
    else
        team_for((s->n + BLOCK - 1) / BLOCK, GRAIN / (s->k * BLOCK) + 1,
                 is_bf16 ? columns_bf16 : columns_f16, &h);
}
#endif
