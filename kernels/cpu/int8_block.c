/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a product of bytes: tiles, zero points taken out, quantised; and how b is packed. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/int8.h"
#include "kernels/cpu/isa.h"

#if defined(__x86_64__)
#include <immintrin.h>
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

void int8_pack_line(uint8_t *out, const uint8_t *const rows[INT8_QUAD], int64_t count, uint8_t flip)
{
    int64_t i = 0;

    for (; i + INT8_UNIT <= count; i += INT8_UNIT, out += INT8_LINE) {
        const uint8_t *at[INT8_QUAD] = {rows[0] + i, rows[1] + i, rows[2] + i, rows[3] + i};

        pack_unit(out, at, flip);
    }
    for (; i < count; i++)
        for (int q = 0; q < INT8_QUAD; q++)
            *out++ = rows[q][i] ^ flip;
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

struct piece {
    int64_t to; /* from the beginning of y's row */
    int from, count;
};

struct panel {
    int64_t begin;
    int columns;
    bool is_finite, is_plain;       /* the scales */
    struct piece pieces[INT8_LINE]; /* that are kept */
    int piece_count;
    uint32_t zero[INT8_LINE];    /* of the column */
    uint32_t minus_a[INT8_LINE]; /* to be taken off for each unit of a's zero point */
    uint32_t add[INT8_LINE];     /* to the sums of each row, whatever is common to all */
    double scale[INT8_LINE];
    float scale_f32[INT8_LINE];
};

/* Which columns go where. */
static void find_pieces(const struct int8_product *p, struct panel *panel)
{
    int64_t pitch = p->pitch ? p->pitch : panel->begin + INT8_LINE;
    int64_t kept = p->pitch ? p->kept : pitch;

    for (int c = 0; c < panel->columns;) {
        int64_t line = (panel->begin + c) / pitch, at = (panel->begin + c) % pitch;
        int64_t left = pitch - at < panel->columns - c ? pitch - at : panel->columns - c;
        int64_t count = kept - at < left ? kept - at : left;

        if (count > 0)
            panel->pieces[panel->piece_count++] = (struct piece){line * kept + at, c, (int)count};
        c += (int)left;
    }
}

/* Numbers of the columns from `begin` on, 0 behind them; step: 0 or 1. */
static void take_columns(uint32_t *out, const int32_t *from, int64_t step, int columns)
{
    if (step == 1)
        memcpy(out, from, (size_t)columns * sizeof(*out));
    else
        for (int c = 0; c < columns; c++)
            out[c] = (uint32_t)*from;
    memset(out + columns, 0, (size_t)(INT8_LINE - columns) * sizeof(*out));
}

/* Whether f32 holds a scale as well as any other number. */
static bool is_plain(double scale)
{
    return scale > 1e-30 && scale < 1e30;
}

ISA_BODY void take_scales(const struct int8_product *p, struct panel *panel)
{
    const double *from = p->column_scale + panel->begin * p->column_scale_step;
    int columns = p->column_scale_step ? panel->columns : 1;

    for (int c = 0; c < INT8_LINE; c++) {
        panel->scale[c] = c < panel->columns ? from[c * p->column_scale_step] : 0.0;
        panel->scale_f32[c] = (float)panel->scale[c];
    }
    for (int c = 0; c < columns; c++) {
        panel->is_finite = panel->is_finite && isfinite(panel->scale[c]);
        panel->is_plain = panel->is_plain && is_plain(panel->scale[c]);
    }
}

static bool has_one_a_zero(const struct int8_product *p)
{
    return p->a_zero && p->a_zero_step == 0;
}

ISA_BODY void begin_panel(const struct int8_product *p, int64_t begin, int64_t end,
                          struct panel *panel)
{
    static const int32_t none = 0;

    panel->begin = begin;
    panel->columns = (int)(end - begin < INT8_LINE ? end - begin : INT8_LINE);
    panel->piece_count = 0;
    panel->is_finite = panel->is_plain = true;
    take_columns(panel->zero, p->b_zero ? p->b_zero + begin * p->b_zero_step : &none,
                 p->b_zero ? p->b_zero_step : 0, panel->columns);
    take_columns(panel->minus_a, p->b_sums ? p->b_sums + begin : &none, p->b_sums != NULL,
                 panel->columns);
    for (int c = 0; c < INT8_LINE; c++)
        panel->minus_a[c] -= (uint32_t)p->k * panel->zero[c];
    for (int c = 0; c < INT8_LINE; c++)
        panel->add[c] = has_one_a_zero(p) ? -(uint32_t)*p->a_zero * panel->minus_a[c] : 0;
    if (p->is_quantised)
        take_scales(p, panel);
    find_pieces(p, panel);
}

/* To the nearest, ties to even, within [low, high]: adding a large number rounds, in the lowest bits.
 * The scales are finite. */
ISA_BODY void quantise(int32_t *restrict out, const int32_t *restrict sums,
                       const struct panel *panel, double scale, int32_t zero, double low,
                       double high)
{
    const double magic = 0x1.8p52;

    for (int c = 0; c < INT8_LINE; c++) {
        double number = (double)sums[c] * (scale * panel->scale[c]);
        int64_t bits;

        number = number > low - zero ? number : low - zero;
        number = (number < high - zero ? number : high - zero) + magic;
        memcpy(&bits, &number, sizeof(bits));
        out[c] = (int32_t)bits + zero;
    }
}

/* The same in f32, of sums to which something is still to be added, unless one of them lies so near to
 * the middle between two integers that f32 may round it to the wrong one: five roundings of up to 383
 * make less than 1.2e-4. */
ISA_BODY bool quantise_f32(uint8_t *restrict out, const int32_t *restrict sums, uint32_t add,
                           const struct panel *restrict panel, float scale, int32_t zero, float low,
                           float high)
{
    const float magic = 0x1.8p23f, safe = 0.4998f;
    float least = low - (float)zero, most = high - (float)zero;
    int32_t none, most_bits, furthest = 0;

    memcpy(&none, &magic, sizeof(none));
    memcpy(&most_bits, &safe, sizeof(most_bits));
    for (int c = 0; c < INT8_LINE; c++) {
        int32_t sum = (int32_t)((uint32_t)sums[c] + panel->add[c] + add), bits;
        float number = (float)sum * (scale * panel->scale_f32[c]), rounded, distance;

        number = number < least ? least : number; /* NaN stays, and is no distance */
        number = number > most ? most : number;
        rounded = number + magic;
        memcpy(&bits, &rounded, sizeof(bits));
        out[c] = (uint8_t)(bits - none + zero);
        distance = __builtin_fabsf(number - (rounded - magic));
        memcpy(&bits, &distance, sizeof(bits)); /* ordered as distances are, NaN beyond all */
        furthest = bits > furthest ? bits : furthest;
    }
    return furthest <= most_bits;
}

typedef bool quantise_f32_fn(uint8_t *restrict out, const int32_t *restrict sums, uint32_t add,
                             const struct panel *restrict panel, float scale, int32_t zero,
                             float low, float high);

static quantise_f32_fn quantise_f32_portable;
static bool quantise_f32_portable(uint8_t *restrict out, const int32_t *restrict sums, uint32_t add,
                                  const struct panel *restrict panel, float scale, int32_t zero,
                                  float low, float high)
{
    return quantise_f32(out, sums, add, panel, scale, zero, low, high);
}

#if defined(__x86_64__)

/* Written out, because what gcc 12 makes of the loop keeps half of it in memory. What is no number, 0 times
 * scales beyond f32, is no distance, and becomes the integer whose lowest byte is 0, as is right. */
ISA_TARGET_avx512 static bool quantise_f32_avx512(uint8_t *restrict out,
                                                  const int32_t *restrict sums, uint32_t add,
                                                  const struct panel *restrict panel, float scale,
                                                  int32_t zero, float low, float high)
{
    enum { ABSOLUTE_MAXIMUM = 11, TO_NEAREST = 0 };
    const __m512 least = _mm512_set1_ps(low - (float)zero);
    const __m512 most = _mm512_set1_ps(high - (float)zero), scales = _mm512_set1_ps(scale);
    const __m512i adds = _mm512_set1_epi32((int32_t)add), zeros = _mm512_set1_epi32(zero);
    __m512 furthest = _mm512_setzero_ps();

    for (int c = 0; c < INT8_LINE; c += 16) {
        __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(sums + c), adds);
        __m512 number = _mm512_mul_ps(scales, _mm512_loadu_ps(panel->scale_f32 + c));

        sum = _mm512_add_epi32(sum, _mm512_loadu_si512(panel->add + c));
        number = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), number);
        number = _mm512_min_ps(most, _mm512_max_ps(least, number));
        furthest =
            _mm512_range_ps(furthest, _mm512_reduce_ps(number, TO_NEAREST), ABSOLUTE_MAXIMUM);
        sum = _mm512_add_epi32(_mm512_cvtps_epi32(number), zeros);
        _mm_storeu_si128((void *)(out + c), _mm512_cvtepi32_epi8(sum));
    }
    return _mm512_cmp_ps_mask(furthest, _mm512_set1_ps(0.4998f), _CMP_GT_OQ) == 0;
}

/* What all numbers of a row have to do with, in each lane. */
struct lanes {
    __m256 scale, least, most, magic;
    __m256i add, bias; /* bias: from the bits of a rounded number to the integer */
    __m256i furthest;
};

/* Eight integers; written out, because what gcc 12 makes of the loop keeps half of it in memory. */
ISA_BODY ISA_TARGET_avx2 __m256i quantise_eight(const int32_t *sums, const uint32_t *add,
                                                const float *scales, struct lanes *lanes)
{
    __m256i sum = _mm256_add_epi32(_mm256_loadu_si256((const void *)sums), lanes->add);
    __m256 scale = _mm256_mul_ps(lanes->scale, _mm256_loadu_ps(scales));
    __m256 number, rounded, distance;

    sum = _mm256_add_epi32(sum, _mm256_loadu_si256((const void *)add));
    number = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), scale);
    number = _mm256_min_ps(lanes->most, _mm256_max_ps(lanes->least, number)); /* NaN stays */
    rounded = _mm256_add_ps(number, lanes->magic);
    distance = _mm256_sub_ps(number, _mm256_sub_ps(rounded, lanes->magic));
    distance = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), distance);
    lanes->furthest = _mm256_max_epi32(lanes->furthest, _mm256_castps_si256(distance));
    return _mm256_add_epi32(_mm256_castps_si256(rounded), lanes->bias);
}

ISA_TARGET_avx2 static bool quantise_f32_avx2(uint8_t *restrict out, const int32_t *restrict sums,
                                              uint32_t add, const struct panel *restrict panel,
                                              float scale, int32_t zero, float low, float high)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i byte = _mm256_set1_epi32(0xff);
    const __m256 magic = _mm256_set1_ps(0x1.8p23f), safe = _mm256_set1_ps(0.4998f);
    struct lanes lanes = {.scale = _mm256_set1_ps(scale),
                          .least = _mm256_set1_ps(low - (float)zero),
                          .most = _mm256_set1_ps(high - (float)zero),
                          .magic = magic,
                          .add = _mm256_set1_epi32((int32_t)add),
                          .bias =
                              _mm256_sub_epi32(_mm256_set1_epi32(zero), _mm256_castps_si256(magic)),
                          .furthest = _mm256_setzero_si256()};

    for (int c = 0; c < INT8_LINE; c += 32) {
        __m256i part[4], low_half, high_half;

        for (int i = 0; i < 4; i++) {
            int at = c + 8 * i;

            part[i] = quantise_eight(sums + at, panel->add + at, panel->scale_f32 + at, &lanes);
            part[i] = _mm256_and_si256(part[i], byte); /* of what is signed the lowest */
        }
        low_half = _mm256_packus_epi32(part[0], part[1]);
        high_half = _mm256_packus_epi32(part[2], part[3]);
        low_half = _mm256_packus_epi16(low_half, high_half);
        _mm256_storeu_si256((void *)(out + c), _mm256_permutevar8x32_epi32(low_half, order));
    }
    return _mm256_testz_si256(_mm256_cmpgt_epi32(lanes.furthest, _mm256_castps_si256(safe)),
                              _mm256_set1_epi32(-1));
}

#endif

/* The same where a scale is infinite or no number. */
static void quantise_any(int32_t *out, const int32_t *sums, const struct panel *panel, double scale,
                         int32_t zero, double low, double high)
{
    for (int c = 0; c < INT8_LINE; c++) {
        double number = nearbyint((double)sums[c] * (scale * panel->scale[c])) + zero;

        number = number < low ? low : number;
        number = number > high ? high : number;
        out[c] = isnan(number) ? 0 : (int32_t)number;
    }
}

/* The columns of a row that are kept, `bytes` each. */
static void store_row(const struct int8_product *p, const struct panel *panel, int64_t row,
                      const void *from, size_t bytes)
{
    char *y = (char *)p->y + (size_t)(row * p->y_line) * bytes;

    for (int i = 0; i < panel->piece_count; i++) {
        const struct piece *piece = &panel->pieces[i];

        memcpy(y + (size_t)piece->to * bytes, (const char *)from + (size_t)piece->from * bytes,
               (size_t)piece->count * bytes);
    }
}

/* Sums that are not quantised. */
ISA_BODY void store_sums(const struct int8_product *p, const struct panel *panel, int64_t row,
                         const int32_t *restrict acc)
{
    uint8_t bytes[INT8_LINE];

    if (p->y_type == KERNEL_I32) {
        store_row(p, panel, row, acc, sizeof(*acc));
        return;
    }
    for (int c = 0; c < INT8_LINE; c++)
        bytes[c] = (uint8_t)acc[c];
    store_row(p, panel, row, bytes, 1);
}

/* What is not common to all rows or all columns of a panel; returns what is to be added to each sum of
 * the row, beside panel->add. */
ISA_BODY uint32_t begin_row(const struct int8_product *p, const struct panel *panel, int64_t row,
                            int32_t *restrict acc)
{
    uint32_t add = p->bias ? (uint32_t)p->bias[row] : 0;
    uint32_t a_sum = p->a_sums ? (uint32_t)p->a_sums[row] : 0;
    uint32_t a_zero =
        p->a_zero && !has_one_a_zero(p) ? (uint32_t)p->a_zero[row * p->a_zero_step] : 0;

    if (p->b_zero_step == 0)
        add -= a_sum * panel->zero[0];
    else if (a_sum)
        for (int c = 0; c < INT8_LINE; c++)
            acc[c] = (int32_t)((uint32_t)acc[c] - a_sum * panel->zero[c]);
    if (a_zero)
        for (int c = 0; c < INT8_LINE; c++)
            acc[c] = (int32_t)((uint32_t)acc[c] - a_zero * panel->minus_a[c]);
    return add;
}

/* A whole line each time, though not all of its columns may be there. */
ISA_BODY void finish_row(const struct int8_product *p, const struct panel *panel, int64_t row,
                         int32_t *restrict acc, quantise_f32_fn *quantise_row)
{
    uint32_t add = begin_row(p, panel, row, acc);
    int32_t y_zero = p->y_zero ? p->y_zero[row * p->y_zero_step] : 0;
    bool is_signed = p->y_type == KERNEL_I8;
    double low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
    double scale = p->is_quantised ? p->row_scale[row * p->row_scale_step] : 0;
    int32_t numbers[INT8_LINE];
    uint8_t bytes[INT8_LINE];

    if (p->is_quantised && panel->is_plain && is_plain(scale) &&
        quantise_row(bytes, acc, add, panel, (float)scale, y_zero, (float)low, (float)high)) {
        store_row(p, panel, row, bytes, 1);
        return;
    }
    for (int c = 0; c < INT8_LINE; c++)
        acc[c] = (int32_t)((uint32_t)acc[c] + panel->add[c] + add);
    if (!p->is_quantised) {
        store_sums(p, panel, row, acc);
        return;
    }
    if (panel->is_finite && isfinite(scale))
        quantise(numbers, acc, panel, scale, y_zero, low, high);
    else
        quantise_any(numbers, acc, panel, scale, y_zero, low, high);
    for (int c = 0; c < INT8_LINE; c++)
        bytes[c] = (uint8_t)numbers[c];
    store_row(p, panel, row, bytes, 1);
}

ISA_BODY void do_panel(const struct int8_product *p, const struct int8_tile *tile, int64_t row,
                       int64_t row_end, const struct panel *panel, quantise_f32_fn *quantise_row)
{
    int units = (panel->columns + INT8_UNIT - 1) / INT8_UNIT;
    int32_t acc[INT8_MAX_ROWS * INT8_LINE] = {0};
    int16_t wide[INT8_WIDE] __attribute__((aligned(64)));
    bool widens = tile->widen && !p->wide;
    int64_t step = tile->widen ? INT8_WIDE_K : p->k;
    const int32_t *offsets = p->offsets ? p->offsets : int8_packed_offsets;
    struct int8_sides sides = {.a_line = p->a_line,
                               .unit = p->offsets ? INT8_LINE : int8_packed_bytes(1, p->k),
                               .wide = wide,
                               .a_is_signed = p->a_is_signed};
    const uint8_t *b = p->b + panel->begin / INT8_UNIT * sides.unit;

    for (; row < row_end; row += tile->rows) {
        int rows = (int)(row_end - row < tile->rows ? row_end - row : tile->rows);
        int64_t tiles = (row - p->wide_row) / INT8_MAX_ROWS;
        int64_t before = tiles * int8_wide_bytes(1, p->k) / (int64_t)sizeof(*wide);

        for (int64_t at = 0; at < p->k; at += step) {
            sides.a = p->a + row * p->a_line + at;
            sides.k = p->k - at < step ? p->k - at : step;
            sides.offsets = offsets + at / INT8_QUAD;
            sides.is_begun = at > 0;
            if (widens)
                tile->widen(wide, &sides, rows);
            else if (tile->widen)
                sides.wide = p->wide + before + at * INT8_MAX_ROWS;
            for (int u = 0; u < units;) {
                int width = units - u >= tile->units ? tile->units : 1;

                sides.b = b + u * sides.unit;
                tile->fn(acc + (int64_t)u * INT8_UNIT, &sides, rows, width);
                u += width;
            }
        }
        for (int r = 0; r < rows; r++)
            finish_row(p, panel, row + r, acc + (int64_t)r * INT8_LINE, quantise_row);
    }
}

/* The columns of a panel have one scale, that of column 0. */
ISA_BODY void finish_line(const struct int8_product *p, int64_t row, int64_t at, int32_t *sums,
                          int64_t count, quantise_f32_fn *quantise_row)
{
    struct panel panel;
    struct int8_product line = *p;

    memset(panel.zero, 0, sizeof(panel.zero));
    memset(panel.minus_a, 0, sizeof(panel.minus_a));
    memset(panel.add, 0, sizeof(panel.add));
    panel.begin = 0;
    panel.columns = INT8_LINE;
    panel.piece_count = 1;
    panel.is_finite = panel.is_plain = true;
    line.y_line = 0;
    line.column_scale_step = 0;
    if (p->is_quantised)
        take_scales(&line, &panel);
    for (int64_t first = 0; first < count; first += INT8_LINE) {
        int64_t columns = count - first < INT8_LINE ? count - first : INT8_LINE;

        panel.columns = (int)columns;
        panel.pieces[0] = (struct piece){at + first, 0, (int)columns};
        finish_row(&line, &panel, row, sums + first, quantise_row);
    }
}

#define FINISH(isa)                                                                                \
    ISA_TARGET_##isa void int8_finish_##isa(const struct int8_product *p, int64_t row, int64_t at, \
                                            int32_t *sums, int64_t count)                          \
    {                                                                                              \
        finish_line(p, row, at, sums, count, quantise_f32_##isa);                                  \
    }

ISA_VERSIONS(FINISH)

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
            do_panel(p, &tile, row, row_end, &panel, quantise_f32_##isa);                          \
        }                                                                                          \
    }

ISA_VERSIONS(BLOCK)
