/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a product of bytes: tiles, zero points taken out, quantised; and how b is packed. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/int8.h"
#include "kernels/cpu/isa.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

/* Packing */

/* Four rows of bytes become sixteen columns. */
static void pack_unit(uint8_t *out, const uint8_t *const rows[INT8_QUAD], uint8_t flip)
{
#if defined(__x86_64__)
    __m128i a = _mm_loadu_si128((const void *)rows[0]), b = _mm_loadu_si128((const void *)rows[1]);
    __m128i c = _mm_loadu_si128((const void *)rows[2]), d = _mm_loadu_si128((const void *)rows[3]);
    __m128i mask = _mm_set1_epi8((char)flip);
    __m128i ab[2] = {_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)};
    __m128i cd[2] = {_mm_unpacklo_epi8(c, d), _mm_unpackhi_epi8(c, d)};

    for (int half = 0; half < 2; half++) {
        __m128i low = _mm_unpacklo_epi16(ab[half], cd[half]);
        __m128i high = _mm_unpackhi_epi16(ab[half], cd[half]);

        _mm_storeu_si128((void *)(out + half * 32), _mm_xor_si128(low, mask));
        _mm_storeu_si128((void *)(out + half * 32 + 16), _mm_xor_si128(high, mask));
    }
#else
    for (int c = 0; c < INT8_UNIT; c++)
        for (int q = 0; q < INT8_QUAD; q++)
            out[c * INT8_QUAD + q] = rows[q][c] ^ flip;
#endif
}

void int8_pack_quad(uint8_t *out, const uint8_t *const rows[INT8_QUAD], int columns, uint8_t flip)
{
    if (columns == INT8_UNIT) {
        pack_unit(out, rows, flip);
        return;
    }
    memset(out, 0, INT8_LINE);
    for (int c = 0; c < columns; c++)
        for (int q = 0; q < INT8_QUAD; q++)
            out[c * INT8_QUAD + q] = rows[q][c] ^ flip;
}

/* Some k of one column, zeros behind them. */
static void pack_column(uint8_t *out, const uint8_t *b, int64_t k, uint8_t flip)
{
    for (int64_t p = 0; p < k; p++)
        out[p / INT8_QUAD * INT8_LINE + p % INT8_QUAD] = b[p] ^ flip;
}

static void pack_rows(uint8_t *out, const uint8_t *b, int64_t n, int64_t k, int columns,
                      uint8_t flip)
{
    uint8_t none[INT8_UNIT];

    memset(none, flip, sizeof(none)); /* 0 once it is flipped */
    for (int64_t p = 0; p < k; p += INT8_QUAD, out += INT8_LINE) {
        const uint8_t *rows[INT8_QUAD];

        for (int64_t q = 0; q < INT8_QUAD; q++)
            rows[q] = p + q < k ? b + (p + q) * n : none;
        int8_pack_quad(out, rows, columns, flip);
    }
}

void int8_pack(uint8_t *out, const uint8_t *b, int64_t n, int64_t k, bool trans, uint8_t flip)
{
    int64_t unit = int8_packed_bytes(1, k);

    for (int64_t first = 0; first < n; first += INT8_UNIT, out += unit) {
        int columns = (int)(n - first < INT8_UNIT ? n - first : INT8_UNIT);

        if (!trans) {
            pack_rows(out, b + first, n, k, columns, flip);
            continue;
        }
        memset(out, 0, (size_t)unit);
        for (int c = 0; c < columns; c++)
            pack_column(out + (int64_t)c * INT8_QUAD, b + (first + c) * k, k, flip);
    }
}

/* Sums */

static int32_t sum_row(const uint8_t *a, int64_t k, bool is_signed)
{
    uint32_t sum = 0;

    if (is_signed)
        for (int64_t p = 0; p < k; p++)
            sum += (uint32_t)(int8_t)a[p];
    else
        for (int64_t p = 0; p < k; p++)
            sum += a[p];
    return (int32_t)sum;
}

void int8_row_sums(int32_t *sums, const uint8_t *a, int64_t m, int64_t k, int64_t a_line,
                   bool is_signed)
{
    for (int64_t i = 0; i < m; i++)
        sums[i] = sum_row(a + i * a_line, k, is_signed);
}

void int8_column_sums(int32_t *sums, const uint8_t *packed, int64_t n, int64_t k, bool is_signed)
{
    int64_t unit = int8_packed_bytes(1, k);

    for (int64_t first = 0; first < n; first += INT8_UNIT, packed += unit) {
        int32_t line[INT8_LINE] = {0}; /* of each byte of a quad */

        if (is_signed)
            for (int64_t at = 0; at < unit; at += INT8_LINE)
                for (int i = 0; i < INT8_LINE; i++)
                    line[i] += (int8_t)packed[at + i];
        else
            for (int64_t at = 0; at < unit; at += INT8_LINE)
                for (int i = 0; i < INT8_LINE; i++)
                    line[i] += packed[at + i];
        for (int64_t c = 0; c < INT8_UNIT && first + c < n; c++)
            sums[first + c] = line[4 * c] + line[4 * c + 1] + line[4 * c + 2] + line[4 * c + 3];
    }
}

/* What is done to the sums of a panel */

struct panel {
    int64_t begin;
    int columns;
    uint32_t zero[INT8_LINE];    /* of the column */
    uint32_t minus_a[INT8_LINE]; /* to be taken off for each unit of a's zero point */
    double scale[INT8_LINE];
};

ISA_BODY void begin_panel(const struct int8_product *p, int64_t begin, int64_t end,
                          struct panel *out)
{
    *out = (struct panel){0};
    out->begin = begin;
    out->columns = (int)(end - begin < INT8_LINE ? end - begin : INT8_LINE);
    for (int c = 0; c < out->columns; c++) {
        out->zero[c] = p->b_zero ? (uint32_t)p->b_zero[(begin + c) * p->b_zero_step] : 0;
        out->minus_a[c] = p->b_sums ? (uint32_t)p->b_sums[begin + c] : 0;
        out->minus_a[c] -= (uint32_t)p->k * out->zero[c];
    }
    for (int c = 0; p->is_quantised && c < out->columns; c++)
        out->scale[c] = p->column_scale[(begin + c) * p->column_scale_step];
}

/* To the nearest, ties to even, within [low, high]. */
ISA_BODY void quantise(int32_t *restrict sums, const struct panel *panel, double scale, double zero,
                       double low, double high)
{
    for (int c = 0; c < INT8_LINE; c++) {
        double number = nearbyint((double)sums[c] * (scale * panel->scale[c])) + zero;

        number = number < low ? low : number;
        number = number > high ? high : number;
        sums[c] = number == number ? (int32_t)number : 0;
    }
}

/* A whole line each time, though not all of its columns may be there. */
ISA_BODY void finish_row(const struct int8_product *p, const struct panel *panel, int64_t row,
                         int32_t *restrict acc)
{
    uint32_t a_zero = p->a_zero ? (uint32_t)p->a_zero[row * p->a_zero_step] : 0;
    uint32_t a_sum = p->a_sums ? (uint32_t)p->a_sums[row] : 0;
    uint32_t bias = p->bias ? (uint32_t)p->bias[row] : 0;
    int64_t at = row * p->y_line + panel->begin;
    bool is_signed = p->y_type == KERNEL_I8;
    uint8_t bytes[INT8_LINE];

    for (int c = 0; c < INT8_LINE; c++)
        acc[c] = (int32_t)((uint32_t)acc[c] + bias - a_sum * panel->zero[c] -
                           a_zero * panel->minus_a[c]);
    if (!p->is_quantised && p->y_type == KERNEL_I32) {
        memcpy((int32_t *)p->y + at, acc, (size_t)panel->columns * sizeof(*acc));
        return;
    }
    if (p->is_quantised)
        quantise(acc, panel, p->row_scale[row * p->row_scale_step],
                 p->y_zero ? p->y_zero[row * p->y_zero_step] : 0, is_signed ? -128 : 0,
                 is_signed ? 127 : 255);
    for (int c = 0; c < INT8_LINE; c++)
        bytes[c] = (uint8_t)acc[c];
    memcpy((uint8_t *)p->y + at, bytes, (size_t)panel->columns);
}

ISA_BODY void do_panel(const struct int8_product *p, const struct int8_tile *tile, int64_t row,
                       int64_t row_end, const struct panel *panel)
{
    int64_t unit = int8_packed_bytes(1, p->k);
    int units = (panel->columns + INT8_UNIT - 1) / INT8_UNIT;
    int32_t acc[INT8_MAX_ROWS * INT8_LINE] = {0};

    for (; row < row_end; row += tile->rows) {
        int rows = (int)(row_end - row < tile->rows ? row_end - row : tile->rows);
        const uint8_t *a = p->a + row * p->a_line;
        const uint8_t *b = p->b + panel->begin / INT8_UNIT * unit;

        for (int u = 0; u < units;) {
            int width = units - u >= tile->units ? tile->units : 1;

            tile->fn(acc + (int64_t)u * INT8_UNIT, a, p->a_line, b + u * unit, p->k, rows, width,
                     p->a_is_signed);
            u += width;
        }
        for (int r = 0; r < rows; r++)
            finish_row(p, panel, row + r, acc + (int64_t)r * INT8_LINE);
    }
}

#define BLOCK(isa)                                                                                 \
    ISA_TARGET_##isa void int8_block_##isa(const struct int8_product *p, int64_t row,              \
                                           int64_t row_end, int64_t begin, int64_t end)            \
    {                                                                                              \
        struct int8_tile tile = int8_tile_##isa();                                                 \
                                                                                                   \
        for (; begin < end; begin += INT8_LINE) {                                                  \
            struct panel panel;                                                                    \
                                                                                                   \
            begin_panel(p, begin, end, &panel);                                                    \
            do_panel(p, &tile, row, row_end, &panel);                                              \
        }                                                                                          \
    }

ISA_VERSIONS(BLOCK)
