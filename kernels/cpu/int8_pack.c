/* SPDX-License-Identifier: Apache-2.0 */
/* How the right side of a product of bytes is packed, and sums of its rows and columns. */
#include <string.h>

#include "kernels/cpu/int8.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#define OFFSETS_1(i) (i) * INT8_LINE
#define OFFSETS_8(i)                                                                               \
    OFFSETS_1(i), OFFSETS_1(i + 1), OFFSETS_1(i + 2), OFFSETS_1(i + 3), OFFSETS_1(i + 4),          \
        OFFSETS_1(i + 5), OFFSETS_1(i + 6), OFFSETS_1(i + 7)
#define OFFSETS_64(i)                                                                              \
    OFFSETS_8(i), OFFSETS_8(i + 8), OFFSETS_8(i + 16), OFFSETS_8(i + 24), OFFSETS_8(i + 32),       \
        OFFSETS_8(i + 40), OFFSETS_8(i + 48), OFFSETS_8(i + 56)
#define OFFSETS_512(i)                                                                             \
    OFFSETS_64(i), OFFSETS_64(i + 64), OFFSETS_64(i + 128), OFFSETS_64(i + 192),                   \
        OFFSETS_64(i + 256), OFFSETS_64(i + 320), OFFSETS_64(i + 384), OFFSETS_64(i + 448)
#define OFFSETS_4096(i)                                                                            \
    OFFSETS_512(i), OFFSETS_512(i + 512), OFFSETS_512(i + 1024), OFFSETS_512(i + 1536),            \
        OFFSETS_512(i + 2048), OFFSETS_512(i + 2560), OFFSETS_512(i + 3072), OFFSETS_512(i + 3584)

const int32_t int8_packed_offsets[INT8_MAX_K / INT8_QUAD] = {OFFSETS_4096(0), OFFSETS_4096(4096)};

/* Packing */

/* Sixteen columns of four rows: the four bytes of each side by side. */
struct unit {
#if defined(__x86_64__)
    __m128i part[4];
#else
    uint8_t bytes[INT8_LINE];
#endif
};

static inline struct unit load_unit(const uint8_t *const rows[INT8_QUAD], int64_t at, uint8_t flip)
{
    struct unit unit;

#if defined(__x86_64__)
    __m128i a = _mm_loadu_si128((const void *)(rows[0] + at));
    __m128i b = _mm_loadu_si128((const void *)(rows[1] + at));
    __m128i c = _mm_loadu_si128((const void *)(rows[2] + at));
    __m128i d = _mm_loadu_si128((const void *)(rows[3] + at));
    __m128i mask = _mm_set1_epi8((char)flip);
    __m128i ab[2] = {_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)};
    __m128i cd[2] = {_mm_unpacklo_epi8(c, d), _mm_unpackhi_epi8(c, d)};

    for (int half = 0; half < 2; half++) {
        unit.part[2 * half] = _mm_xor_si128(_mm_unpacklo_epi16(ab[half], cd[half]), mask);
        unit.part[2 * half + 1] = _mm_xor_si128(_mm_unpackhi_epi16(ab[half], cd[half]), mask);
    }
#else
    for (int c = 0; c < INT8_UNIT; c++)
        for (int q = 0; q < INT8_QUAD; q++)
            unit.bytes[c * INT8_QUAD + q] = rows[q][at + c] ^ flip;
#endif
    return unit;
}

static inline void pack_unit(uint8_t *out, const uint8_t *const rows[INT8_QUAD], int64_t at,
                             uint8_t flip)
{
    struct unit unit = load_unit(rows, at, flip);

    memcpy(out, &unit, sizeof(unit));
}

/* Columns 0, 2, ... to one place and 1, 3, ... to another. */
static inline void pack_halves(uint8_t *even, uint8_t *odd, const uint8_t *const rows[INT8_QUAD],
                               int64_t at, uint8_t flip)
{
    struct unit unit = load_unit(rows, at, flip);

#if defined(__x86_64__)
    for (int half = 0; half < 2; half++) {
        __m128 low = _mm_castsi128_ps(unit.part[2 * half]);
        __m128 high = _mm_castsi128_ps(unit.part[2 * half + 1]);

        _mm_storeu_ps((void *)(even + half * 16), _mm_shuffle_ps(low, high, 0x88));
        _mm_storeu_ps((void *)(odd + half * 16), _mm_shuffle_ps(low, high, 0xdd));
    }
#else
    for (int c = 0; c < INT8_UNIT; c++)
        memcpy((c % 2 ? odd : even) + c / 2 * INT8_QUAD, unit.bytes + c * INT8_QUAD, INT8_QUAD);
#endif
}

/* Of which `columns` are there. */
static inline void pack_quad(uint8_t *out, const uint8_t *const rows[INT8_QUAD], int64_t at,
                             int columns, uint8_t flip)
{
    if (columns == INT8_UNIT) {
        pack_unit(out, rows, at, flip);
        return;
    }
    memset(out, 0, INT8_LINE);
    for (int c = 0; c < columns; c++)
        for (int q = 0; q < INT8_QUAD; q++)
            out[c * INT8_QUAD + q] = rows[q][at + c] ^ flip;
}

void int8_pack_units(uint8_t *out, const uint8_t *const rows[INT8_QUAD], int64_t columns,
                     int64_t unit, uint8_t flip)
{
    for (int64_t first = 0; first < columns; first += INT8_UNIT, out += unit)
        pack_quad(out, rows, first,
                  (int)(columns - first < INT8_UNIT ? columns - first : INT8_UNIT), flip);
}

void int8_pack_line(uint8_t *out, const uint8_t *const rows[INT8_QUAD], int64_t count, uint8_t flip)
{
    int64_t i = 0;

    for (; i + INT8_UNIT <= count; i += INT8_UNIT)
        pack_unit(out + i * INT8_QUAD, rows, i, flip);
    if (i < count && count > INT8_UNIT) { /* some of them once more */
        pack_unit(out + (count - INT8_UNIT) * INT8_QUAD, rows, count - INT8_UNIT, flip);
        return;
    }
    for (; i < count; i++)
        for (int q = 0; q < INT8_QUAD; q++)
            out[i * INT8_QUAD + q] = rows[q][i] ^ flip;
}

void int8_pack_halves(uint8_t *even, uint8_t *odd, const uint8_t *const rows[INT8_QUAD],
                      int64_t count, uint8_t flip)
{
    int64_t i = 0, last = count - INT8_UNIT;

    for (; i <= last; i += INT8_UNIT)
        pack_halves(even + i / 2 * INT8_QUAD, odd + i / 2 * INT8_QUAD, rows, i, flip);
    if (i < count && last > 0) {
        if (last % 2)
            pack_halves(odd + last / 2 * INT8_QUAD, even + (last + 1) / 2 * INT8_QUAD, rows, last,
                        flip);
        else
            pack_halves(even + last / 2 * INT8_QUAD, odd + last / 2 * INT8_QUAD, rows, last, flip);
        return;
    }
    for (; i < count; i++)
        for (int q = 0; q < INT8_QUAD; q++)
            (i % 2 ? odd : even)[i / 2 * INT8_QUAD + q] = rows[q][i] ^ flip;
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
        pack_quad(out, rows, 0, columns, flip);
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
    int64_t p = 0;

#if defined(__x86_64__)
    const __m128i flip = _mm_set1_epi8(is_signed ? INT8_MIN : 0);
    __m128i sums = _mm_setzero_si128();

    for (; p + 16 <= k; p += 16) {
        __m128i x = _mm_xor_si128(_mm_loadu_si128((const void *)(a + p)), flip);

        sums = _mm_add_epi64(sums, _mm_sad_epu8(x, _mm_setzero_si128()));
    }
    sum = (uint32_t)_mm_cvtsi128_si32(_mm_add_epi64(sums, _mm_unpackhi_epi64(sums, sums)));
    sum -= is_signed ? 128 * (uint32_t)p : 0;
#endif
    for (; p < k; p++)
        sum += is_signed ? (uint32_t)(int8_t)a[p] : a[p];
    return (int32_t)sum;
}

void int8_row_sums(int32_t *sums, const uint8_t *a, int64_t m, int64_t k, int64_t a_line,
                   bool is_signed)
{
    for (int64_t i = 0; i < m; i++)
        sums[i] = sum_row(a + i * a_line, k, is_signed);
}

/* Of the columns of one unit. */
static void sum_unit(int32_t sums[INT8_UNIT], const uint8_t *packed, int64_t bytes, bool is_signed)
{
#if defined(__x86_64__)
    const __m128i flip = _mm_set1_epi8(is_signed ? INT8_MIN : 0), low = _mm_set1_epi16(0xff);
    const __m128i one = _mm_set1_epi16(1);
    __m128i parts[4];

    for (int i = 0; i < 4; i++) /* what is turned round counts 128 too much */
        parts[i] = _mm_set1_epi32(is_signed ? (int)(-128 * (bytes / INT8_UNIT)) : 0);
    for (int64_t at = 0; at < bytes; at += INT8_LINE) {
        for (int i = 0; i < 4; i++) {
            __m128i x = _mm_loadu_si128((const void *)(packed + at + (int64_t)i * 16));

            x = _mm_xor_si128(x, flip);
            x = _mm_add_epi16(_mm_and_si128(x, low), _mm_srli_epi16(x, 8));
            parts[i] = _mm_add_epi32(parts[i], _mm_madd_epi16(x, one));
        }
    }
    memcpy(sums, parts, sizeof(parts));
#else
    memset(sums, 0, INT8_UNIT * sizeof(*sums));
    for (int64_t at = 0; at < bytes; at++)
        sums[at % INT8_LINE / INT8_QUAD] += is_signed ? (int8_t)packed[at] : packed[at];
#endif
}

void int8_column_sums(int32_t *sums, const uint8_t *packed, int64_t n, int64_t k, bool is_signed)
{
    int64_t unit = int8_packed_bytes(1, k);

    for (int64_t first = 0; first < n; first += INT8_UNIT, packed += unit) {
        int64_t columns = n - first < INT8_UNIT ? n - first : INT8_UNIT;
        int32_t line[INT8_UNIT];

        sum_unit(line, packed, unit, is_signed);
        memcpy(sums + first, line, (size_t)columns * sizeof(*line));
    }
}
