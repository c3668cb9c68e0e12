/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of rows of unsigned bytes by narrow columns: eight k at a time meet in sums of 16 bits. */
#include <string.h>

#include "kernels/cpu/int8.h"
#include "kernels/cpu/int8_narrow.h"

#if defined(__x86_64__)
#include "kernels/cpu/int8_eights.h"
#endif

enum {
    TILE = INT8_NARROW_ROWS * INT8_EIGHT,
};

void int8_columns_lay(int16_t *out, const struct int8_sides *sides, int rows)
{
    int64_t whole = sides->k / INT8_EIGHT;

    for (int r = 0; r < INT8_NARROW_ROWS; r++) {
        uint8_t *to = (uint8_t *)out + (int64_t)r * INT8_EIGHT;
        const uint8_t *a = sides->a + (r < rows ? r : 0) * sides->a_line;

        for (int64_t i = 0; i < whole; i++, to += TILE)
            memcpy(to, a + i * INT8_EIGHT, INT8_EIGHT);
        if (sides->k % INT8_EIGHT == 0)
            continue;
        memset(to, 0, INT8_EIGHT);
        memcpy(to, a + whole * INT8_EIGHT, (size_t)(sides->k % INT8_EIGHT));
    }
}

static void add_products(int32_t *acc, const uint8_t *a, const int8_t *numbers, int rows)
{
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < INT8_EIGHT; i++)
            acc[r * INT8_LINE] += a[r * INT8_EIGHT + i] * numbers[i];
}

void int8_columns_portable(int32_t *acc, const uint8_t *rows_of_a, const uint8_t *b,
                           const struct int8_columns *columns, int64_t unit, int64_t k, int rows)
{
    int64_t quads = (k + INT8_QUAD - 1) / INT8_QUAD;

    for (int c = 0; c < INT8_UNIT; c++) {
        int64_t column = unit * INT8_UNIT + c;

        for (int r = 0; r < rows; r++)
            acc[r * INT8_LINE + c] = 0;
        for (int64_t i = 0; 2 * i < quads; i++) {
            int8_t numbers[INT8_EIGHT] = {0};
            const uint8_t *line = b + 2 * i * INT8_LINE + (int64_t)c * INT8_QUAD;

            memcpy(numbers, line, INT8_QUAD);
            if (2 * i + 1 < quads)
                memcpy(numbers + INT8_QUAD, line + INT8_LINE, INT8_QUAD);
            add_products(acc + c, rows_of_a + i * TILE, numbers, rows);
        }
        for (uint32_t e = columns->first[column]; e < columns->first[column + 1]; e++)
            add_products(acc + c, rows_of_a + (int64_t)columns->places[e] * TILE,
                         (const int8_t *)&columns->rest[e], rows);
    }
}

#if defined(__x86_64__)

#define AVX2 __attribute__((target("avx2,fma")))

#define ROWS(r)                                                                                    \
    case r:                                                                                        \
        int8_sum_eights(acc, numbers, b, NULL, quads, r, 2, true);                                 \
        break;

AVX2 static void sum_rows(int32_t *acc, const uint8_t *numbers, const uint8_t *b, int64_t quads,
                          int rows)
{
    switch (rows) {
        ROWS(1)
        ROWS(2)
        ROWS(3)
        ROWS(4)
    }
}

/* What was taken off one column, for all rows of a tile at once. */
AVX2 static void add_rest(int32_t *acc, const uint8_t *rows_of_a,
                          const struct int8_columns *columns, int64_t column, int rows)
{
    const __m256i one = _mm256_loadu_si256((const void *)int8_ones);
    __m256i two = _mm256_setzero_si256(); /* sums of each row */
    int32_t sums[2 * INT8_NARROW_ROWS];

    for (uint32_t e = columns->first[column]; e < columns->first[column + 1]; e++) {
        const uint8_t *a = rows_of_a + (int64_t)columns->places[e] * TILE;
        __m256i pairs = _mm256_maddubs_epi16(_mm256_loadu_si256((const void *)a),
                                             _mm256_set1_epi64x(columns->rest[e]));

        two = _mm256_add_epi32(two, _mm256_madd_epi16(pairs, one));
    }
    _mm256_storeu_si256((void *)sums, two);
    for (int r = 0; r < rows; r++)
        acc[r * INT8_LINE] += sums[2 * r] + sums[2 * r + 1];
}

AVX2 void int8_columns_avx2(int32_t *acc, const uint8_t *rows_of_a, const uint8_t *b,
                            const struct int8_columns *columns, int64_t unit, int64_t k, int rows)
{
    int64_t column = unit * INT8_UNIT;

    sum_rows(acc, rows_of_a, b, (k + INT8_QUAD - 1) / INT8_QUAD, rows);
    if (columns->first[column] == columns->first[column + INT8_UNIT])
        return;
    for (int c = 0; c < INT8_UNIT; c++)
        if (columns->first[column + c] < columns->first[column + c + 1])
            add_rest(acc + c, rows_of_a, columns, column + c, rows);
}

#endif
