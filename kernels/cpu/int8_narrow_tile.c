/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of narrow rows by columns of unsigned bytes: eight k at a time meet in sums of 16 bits. */
#include "kernels/cpu/int8.h"
#include "kernels/cpu/int8_narrow.h"

#if defined(__x86_64__)
#include "kernels/cpu/int8_eights.h"
#endif

enum {
    LANES = 8, /* columns of a vector */
    HALF = LANES * INT8_QUAD,
    TILE = INT8_NARROW_ROWS * INT8_EIGHT,
};

static const int8_t *tile_of(const struct int8_narrow *n, int64_t row)
{
    return n->rows + row / INT8_NARROW_ROWS * n->eights * TILE +
           row % INT8_NARROW_ROWS * INT8_EIGHT;
}

/* Vector v of the columns. */
static inline const uint8_t *vector_of(const struct int8_narrow_sides *at, int v)
{
    return at->b + at->units[v / 2] + (int64_t)(v % 2) * HALF;
}

static void add_quad(int32_t *acc, const struct int8_narrow_sides *at, const int8_t *numbers,
                     int64_t quad)
{
    for (int v = 0; v < at->vectors; v++) {
        const uint8_t *line = vector_of(at, v) + at->offsets[quad];

        for (int c = 0; c < LANES; c++)
            for (int q = 0; q < INT8_QUAD; q++)
                acc[v * LANES + c] += numbers[q] * line[c * INT8_QUAD + q];
    }
}

void int8_narrow_portable(int32_t *acc, const struct int8_narrow_sides *at, int64_t row, int rows)
{
    const struct int8_narrow *n = at->narrow;

    for (int r = 0; r < rows; r++, row++, acc += INT8_LINE) {
        const int8_t *numbers = tile_of(n, row);

        for (int c = 0; c < at->vectors * LANES; c++)
            acc[c] = 0;
        for (int64_t quad = 0; quad < n->quads; quad++)
            add_quad(acc, at, numbers + quad / 2 * TILE + quad % 2 * INT8_QUAD, quad);
        for (uint32_t i = n->first[row]; i < n->first[row + 1]; i++)
            add_quad(acc, at, (const int8_t *)&n->rest[i], n->places[i]);
    }
}

#if defined(__x86_64__)

#define AVX2 __attribute__((target("avx2,fma")))

#define ROWS(r)                                                                                    \
    case r:                                                                                        \
        if (vectors > 1)                                                                           \
            int8_sum_eights(acc, numbers, b, offsets, n->quads, r, 2, false);                      \
        else                                                                                       \
            int8_sum_eights(acc, numbers, b, offsets, n->quads, r, 1, false);                      \
        break;

AVX2 static void sum_rows(int32_t *acc, const struct int8_narrow *n, const int8_t *numbers,
                          const uint8_t *b, const int32_t *offsets, int rows, int vectors)
{
    switch (rows) {
        ROWS(1)
        ROWS(2)
        ROWS(3)
        ROWS(4)
    }
}

/* What was taken off one row, for four vectors of columns, some of which may not be needed. */
AVX2 static void add_rest(int32_t *acc, const struct int8_narrow_sides *at, int64_t row, int v)
{
    enum { ACROSS = 4 };
    const struct int8_narrow *n = at->narrow;
    const __m256i one = _mm256_loadu_si256((const void *)int8_ones);
    __m256i sums[ACROSS];
    const uint8_t *b[ACROSS];

    for (int i = 0; i < ACROSS; i++) {
        b[i] = vector_of(at, v + i < at->vectors ? v + i : v);
        sums[i] = _mm256_loadu_si256((const void *)(acc + (int64_t)i * LANES));
    }
    for (uint32_t e = n->first[row]; e < n->first[row + 1]; e++) {
        __m256i numbers = _mm256_set1_epi32(n->rest[e]);
        int64_t offset = at->offsets[n->places[e]];

        for (int i = 0; i < ACROSS; i++) {
            __m256i line = _mm256_loadu_si256((const void *)(b[i] + offset));

            sums[i] = _mm256_add_epi32(sums[i],
                                       _mm256_madd_epi16(_mm256_maddubs_epi16(line, numbers), one));
        }
    }
    for (int i = 0; i < ACROSS; i++)
        _mm256_storeu_si256((void *)(acc + (int64_t)i * LANES), sums[i]);
}

AVX2 void int8_narrow_avx2(int32_t *acc, const struct int8_narrow_sides *at, int64_t row, int rows)
{
    const struct int8_narrow *n = at->narrow;

    for (int v = 0; v < at->vectors; v += 2)
        sum_rows(acc + v * LANES, n, tile_of(n, row), at->b + at->units[v / 2], at->offsets, rows,
                 at->vectors - v < 2 ? 1 : 2);
    if (n->first[row] == n->first[row + rows])
        return;
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < at->vectors; v += 4)
            add_rest(acc + (int64_t)r * INT8_LINE + (int64_t)v * LANES, at, row + r, v);
}

#endif
