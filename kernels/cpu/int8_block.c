/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a product of bytes: tiles, zero points taken out, quantised. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/int8.h"
#include "kernels/cpu/isa.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* What is done to the sums of a panel */

struct piece {
    int64_t to; /* from the beginning of y's row */
    int from, count;
    uint64_t mask; /* of these columns */
};

struct panel {
    int64_t begin;
    int columns;
    bool is_finite, is_plain;       /* the scales */
    bool is_even;                   /* all columns have one scale and add[] is 0 */
    double largest;                 /* scale */
    struct piece pieces[INT8_LINE]; /* that are kept */
    int piece_count;
    uint32_t zero[INT8_LINE];    /* of the column */
    uint32_t minus_a[INT8_LINE]; /* to be taken off for each unit of a's zero point */
    uint32_t add[INT8_LINE];     /* to the sums of each row, whatever is common to all */
    double scale[INT8_LINE];
    float scale_f32[INT8_LINE];
};

static struct piece piece_of(int64_t to, int from, int count)
{
    return (struct piece){to, from, count, UINT64_MAX >> (INT8_LINE - count) << from};
}

/* Which columns go where. */
static void find_pieces(const struct int8_product *p, struct panel *panel)
{
    int64_t pitch = p->pitch ? p->pitch : panel->begin + INT8_LINE;
    int64_t kept = p->pitch ? p->kept : pitch;

    panel->pieces[0].count = 0; /* where none is kept */
    for (int c = 0; c < panel->columns;) {
        int64_t line = (panel->begin + c) / pitch, at = (panel->begin + c) % pitch;
        int64_t left = pitch - at < panel->columns - c ? pitch - at : panel->columns - c;
        int64_t count = kept - at < left ? kept - at : left;

        if (count > 0)
            panel->pieces[panel->piece_count++] = piece_of(line * kept + at, c, (int)count);
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

    if (p->column_scale_step)
        memcpy(panel->scale, from, (size_t)columns * sizeof(*from));
    else
        for (int c = 0; c < INT8_LINE; c++)
            panel->scale[c] = *from;
    for (int c = p->column_scale_step ? columns : INT8_LINE; c < INT8_LINE; c++)
        panel->scale[c] = 0;
    for (int c = 0; c < INT8_LINE; c++)
        panel->scale_f32[c] = (float)panel->scale[c];
    for (int c = 0; c < columns; c++) {
        panel->is_finite = panel->is_finite && isfinite(panel->scale[c]);
        panel->is_plain = panel->is_plain && is_plain(panel->scale[c]);
        panel->largest = panel->scale[c] > panel->largest ? panel->scale[c] : panel->largest;
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
    panel->is_even = p->column_scale_step == 0 && !has_one_a_zero(p) && !p->column_bias;
    panel->largest = 0;
    take_columns(panel->zero, p->b_zero ? p->b_zero + begin * p->b_zero_step : &none,
                 p->b_zero ? p->b_zero_step : 0, panel->columns);
    take_columns(panel->minus_a, p->b_sums ? p->b_sums + begin : &none, p->b_sums != NULL,
                 panel->columns);
    for (int c = 0; c < INT8_LINE; c++)
        panel->minus_a[c] -= (uint32_t)p->k * panel->zero[c];
    for (int c = 0; c < INT8_LINE; c++)
        panel->add[c] = has_one_a_zero(p) ? -(uint32_t)*p->a_zero * panel->minus_a[c] : 0;
    for (int c = 0; p->column_bias && c < panel->columns; c++)
        panel->add[c] += (uint32_t)p->column_bias[begin + c];
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

/* The columns of a row that are kept, `bytes` each; y: of the row. */
static void keep(char *y, const struct panel *panel, const void *from, size_t bytes)
{
    for (int i = 0; i < panel->piece_count; i++) {
        const struct piece *piece = &panel->pieces[i];

        memcpy(y + (size_t)piece->to * bytes, (const char *)from + (size_t)piece->from * bytes,
               (size_t)piece->count * bytes);
    }
}

/* The same in f32, of sums to which something is still to be added, unless one of them lies so near to
 * the middle between two integers that f32 may round it to the wrong one: five roundings of up to 256
 * make less than 0.8e-4. */
ISA_BODY bool quantise_f32(uint8_t *restrict out, const int32_t *restrict sums, uint32_t add,
                           const struct panel *restrict panel, float scale, int32_t zero, float low,
                           float high)
{
    const float magic = 0x1.8p23f, safe = 0.4999f;
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

/* And what is kept of it to a row of y, or nothing and false. */
typedef bool quantise_f32_fn(char *restrict y, const int32_t *restrict sums, uint32_t add,
                             const struct panel *restrict panel, float scale, int32_t zero,
                             float low, float high);

static quantise_f32_fn quantise_f32_portable;
static bool quantise_f32_portable(char *restrict y, const int32_t *restrict sums, uint32_t add,
                                  const struct panel *restrict panel, float scale, int32_t zero,
                                  float low, float high)
{
    uint8_t bytes[INT8_LINE];
    bool is_exact = quantise_f32(bytes, sums, add, panel, scale, zero, low, high);

    if (is_exact)
        keep(y, panel, bytes, 1);
    return is_exact;
}

#if defined(__x86_64__)

enum { ABSOLUTE_MAXIMUM = 11, TO_NEAREST = 0 };

/* Sixteen numbers, and how far any of them was from an integer. */
struct sixteen {
    __m512 scale, least, most;
    __m512i add;
    __m512 furthest;
};

/* Written out, because what gcc 12 makes of the loop keeps half of it in memory. What is no number is 0 times
 * scales beyond f32. */
ISA_BODY ISA_TARGET_avx512 __m512i quantise_sixteen(const int32_t *sums, const struct panel *panel,
                                                    int c, bool is_even, bool is_small,
                                                    struct sixteen *lanes)
{
    __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(sums + c), lanes->add);
    __m512 number = lanes->scale;

    if (!is_even) {
        sum = _mm512_add_epi32(sum, _mm512_loadu_si512(panel->add + c));
        number = _mm512_mul_ps(number, _mm512_loadu_ps(panel->scale_f32 + c));
    }
    number = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), number);
    if (!is_small) {
        number = _mm512_min_ps(lanes->most, _mm512_max_ps(lanes->least, number));
        number = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(number, number, _CMP_ORD_Q), number);
    }
    lanes->furthest =
        _mm512_range_ps(lanes->furthest, _mm512_reduce_ps(number, TO_NEAREST), ABSOLUTE_MAXIMUM);
    return _mm512_cvtps_epi32(number);
}

/* 64 integers plus zero as bytes, as near as they come. */
ISA_BODY ISA_TARGET_avx512 __m512i bytes_of(const __m512i part[4], int32_t zero, bool is_signed)
{
    const __m512i zeros = _mm512_set1_epi16((int16_t)zero);
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(part[0], part[1]), zeros);
    __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(part[2], part[3]), zeros);

    low = is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
    return _mm512_permutexvar_epi32(order, low);
}

/* is_small: no product is beyond int32, so that packing is what limits them. */
ISA_BODY ISA_TARGET_avx512 bool quantise_line(char *restrict y, const int32_t *restrict sums,
                                              const struct panel *restrict panel,
                                              struct sixteen lanes, int32_t zero, bool is_signed,
                                              bool is_even, bool is_small)
{
    __m512i part[4], bytes;

    lanes.furthest = _mm512_setzero_ps();
    part[0] = quantise_sixteen(sums, panel, 0, is_even, is_small, &lanes);
    part[1] = quantise_sixteen(sums, panel, 16, is_even, is_small, &lanes);
    part[2] = quantise_sixteen(sums, panel, 32, is_even, is_small, &lanes);
    part[3] = quantise_sixteen(sums, panel, 48, is_even, is_small, &lanes);
    if (_mm512_cmp_ps_mask(lanes.furthest, _mm512_set1_ps(0.4999f), _CMP_GT_OQ))
        return false;
    bytes = bytes_of(part, zero, is_signed);
    for (int i = 0; i < panel->piece_count; i++) {
        const struct piece *piece = &panel->pieces[i];

        _mm512_mask_storeu_epi8(y + (piece->to - piece->from), piece->mask, bytes);
    }
    return true;
}

ISA_TARGET_avx512 static bool quantise_f32_avx512(char *restrict y, const int32_t *restrict sums,
                                                  uint32_t add, const struct panel *restrict panel,
                                                  float scale, int32_t zero, float low, float high)
{
    struct sixteen lanes = {.scale = _mm512_set1_ps(scale), .add = _mm512_set1_epi32((int32_t)add)};

    if ((double)scale * panel->largest > 0.25) {
        lanes.least = _mm512_set1_ps(low - (float)zero);
        lanes.most = _mm512_set1_ps(high - (float)zero);
        return quantise_line(y, sums, panel, lanes, zero, low < 0, false, false);
    }
    if (!panel->is_even)
        return quantise_line(y, sums, panel, lanes, zero, low < 0, false, true);
    lanes.scale = _mm512_set1_ps(scale * panel->scale_f32[0]);
    return quantise_line(y, sums, panel, lanes, zero, low < 0, true, true);
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

/* Eight of them where no product is beyond int32, so that packing is what limits them. */
ISA_BODY ISA_TARGET_avx2 __m256i quantise_small(const int32_t *sums, const struct panel *panel,
                                                int c, bool is_even, struct lanes *lanes)
{
    __m256i sum = _mm256_add_epi32(_mm256_loadu_si256((const void *)(sums + c)), lanes->add), whole;
    __m256 number = lanes->scale, distance;

    if (!is_even) {
        sum = _mm256_add_epi32(sum, _mm256_loadu_si256((const void *)(panel->add + c)));
        number = _mm256_mul_ps(number, _mm256_loadu_ps(panel->scale_f32 + c));
    }
    number = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), number);
    whole = _mm256_cvtps_epi32(number);
    distance = _mm256_sub_ps(number, _mm256_cvtepi32_ps(whole));
    distance = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), distance);
    lanes->furthest = _mm256_max_epi32(lanes->furthest, _mm256_castps_si256(distance));
    return whole;
}

ISA_BODY ISA_TARGET_avx2 void quantise_small_line(uint8_t *restrict out,
                                                  const int32_t *restrict sums,
                                                  const struct panel *restrict panel, int32_t zero,
                                                  bool is_signed, bool is_even, struct lanes *lanes)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i zeros = _mm256_set1_epi16((int16_t)zero);

    for (int c = 0; c < INT8_LINE; c += 32) {
        __m256i low = _mm256_packs_epi32(quantise_small(sums, panel, c, is_even, lanes),
                                         quantise_small(sums, panel, c + 8, is_even, lanes));
        __m256i high = _mm256_packs_epi32(quantise_small(sums, panel, c + 16, is_even, lanes),
                                          quantise_small(sums, panel, c + 24, is_even, lanes));

        low = _mm256_adds_epi16(low, zeros);
        high = _mm256_adds_epi16(high, zeros);
        low = is_signed ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
        _mm256_storeu_si256((void *)(out + c), _mm256_permutevar8x32_epi32(low, order));
    }
}

ISA_BODY ISA_TARGET_avx2 void quantise_large_line(uint8_t *restrict out,
                                                  const int32_t *restrict sums,
                                                  const struct panel *restrict panel,
                                                  struct lanes *lanes)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i byte = _mm256_set1_epi32(0xff);

    for (int c = 0; c < INT8_LINE; c += 32) {
        __m256i part[4], low_half, high_half;

        for (int i = 0; i < 4; i++) {
            int at = c + 8 * i;

            part[i] = quantise_eight(sums + at, panel->add + at, panel->scale_f32 + at, lanes);
            part[i] = _mm256_and_si256(part[i], byte); /* of what is signed the lowest */
        }
        low_half = _mm256_packus_epi32(part[0], part[1]);
        high_half = _mm256_packus_epi32(part[2], part[3]);
        low_half = _mm256_packus_epi16(low_half, high_half);
        _mm256_storeu_si256((void *)(out + c), _mm256_permutevar8x32_epi32(low_half, order));
    }
}

ISA_TARGET_avx2 static bool quantise_f32_avx2(char *restrict y, const int32_t *restrict sums,
                                              uint32_t add, const struct panel *restrict panel,
                                              float scale, int32_t zero, float low, float high)
{
    bool is_whole = panel->pieces[0].count == INT8_LINE;
    uint8_t bytes[INT8_LINE], *out = is_whole ? (uint8_t *)y + panel->pieces[0].to : bytes;
    const __m256 magic = _mm256_set1_ps(0x1.8p23f), safe = _mm256_set1_ps(0.4999f);
    struct lanes lanes = {.scale = _mm256_set1_ps(scale),
                          .least = _mm256_set1_ps(low - (float)zero),
                          .most = _mm256_set1_ps(high - (float)zero),
                          .magic = magic,
                          .add = _mm256_set1_epi32((int32_t)add),
                          .bias =
                              _mm256_sub_epi32(_mm256_set1_epi32(zero), _mm256_castps_si256(magic)),
                          .furthest = _mm256_setzero_si256()};

    if ((double)scale * panel->largest > 0.25) {
        quantise_large_line(out, sums, panel, &lanes);
    } else if (!panel->is_even) {
        quantise_small_line(out, sums, panel, zero, low < 0, false, &lanes);
    } else {
        lanes.scale = _mm256_set1_ps(scale * panel->scale_f32[0]);
        quantise_small_line(out, sums, panel, zero, low < 0, true, &lanes);
    }
    if (!_mm256_testz_si256(_mm256_cmpgt_epi32(lanes.furthest, _mm256_castps_si256(safe)),
                            _mm256_set1_epi32(-1)))
        return false;
    if (!is_whole)
        keep(y, panel, bytes, 1);
    return true;
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

static void store_row(const struct int8_product *p, const struct panel *panel, int64_t row,
                      const void *from, size_t bytes)
{
    keep((char *)p->y + (size_t)(row * p->y_line) * bytes, panel, from, bytes);
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

/* Where f32 does not tell enough. */
ISA_BODY void finish_exactly(const struct int8_product *p, const struct panel *panel, int64_t row,
                             uint32_t add, int32_t *restrict acc)
{
    int32_t y_zero = p->y_zero ? p->y_zero[row * p->y_zero_step] : 0;
    bool is_signed = p->y_type == KERNEL_I8;
    double low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
    double scale = p->row_scale[row * p->row_scale_step];
    int32_t numbers[INT8_LINE];
    uint8_t bytes[INT8_LINE];

    for (int c = 0; c < INT8_LINE; c++)
        acc[c] = (int32_t)((uint32_t)acc[c] + panel->add[c] + add);
    if (panel->is_finite && isfinite(scale))
        quantise(numbers, acc, panel, scale, y_zero, low, high);
    else
        quantise_any(numbers, acc, panel, scale, y_zero, low, high);
    for (int c = 0; c < INT8_LINE; c++)
        bytes[c] = (uint8_t)numbers[c];
    store_row(p, panel, row, bytes, 1);
}

typedef void finish_exactly_fn(const struct int8_product *p, const struct panel *panel, int64_t row,
                               uint32_t add, int32_t *restrict acc);

/* Not inlined: few rows come here, and all others would be slower. */
#define EXACTLY(isa)                                                                               \
    ISA_TARGET_##isa __attribute__((noinline)) static void finish_exactly_##isa(                   \
        const struct int8_product *p, const struct panel *panel, int64_t row, uint32_t add,        \
        int32_t *restrict acc)                                                                     \
    {                                                                                              \
        finish_exactly(p, panel, row, add, acc);                                                   \
    }

ISA_VERSIONS(EXACTLY)

/* How an instruction set quantises a row. */
struct quantise {
    quantise_f32_fn *quickly;
    finish_exactly_fn *exactly;
};

#define QUANTISE(isa) ((struct quantise){quantise_f32_##isa, finish_exactly_##isa})

/* A whole line each time, though not all of its columns may be there. */
ISA_BODY void finish_row(const struct int8_product *p, const struct panel *panel, int64_t row,
                         int32_t *restrict acc, struct quantise quantise)
{
    uint32_t add = begin_row(p, panel, row, acc);
    int32_t y_zero = p->y_zero ? p->y_zero[row * p->y_zero_step] : 0;
    bool is_signed = p->y_type == KERNEL_I8;
    double scale = p->is_quantised ? p->row_scale[row * p->row_scale_step] : 0;

    if (!p->is_quantised && p->y_type == KERNEL_I32 && panel->pieces[0].count == INT8_LINE) {
        int32_t *restrict y = (int32_t *)p->y + row * p->y_line + panel->pieces[0].to;

        for (int c = 0; c < INT8_LINE; c++)
            y[c] = (int32_t)((uint32_t)acc[c] + panel->add[c] + add);
    } else if (!p->is_quantised) {
        for (int c = 0; c < INT8_LINE; c++)
            acc[c] = (int32_t)((uint32_t)acc[c] + panel->add[c] + add);
        store_sums(p, panel, row, acc);
    } else if (!panel->is_plain || !is_plain(scale) ||
               !quantise.quickly((char *)p->y + row * p->y_line, acc, add, panel, (float)scale,
                                 y_zero, is_signed ? -128.0f : 0.0f, is_signed ? 127.0f : 255.0f)) {
        quantise.exactly(p, panel, row, add, acc);
    }
}

/* Units of the next tile. One of all of them is faster than two of fewer: what is not there is the last
 * unit once more. */
static int width_of(const struct int8_tile *tile, int left)
{
    return left >= tile->units || left > 2 ? tile->units : left;
}

/* Where unit i of b begins. */
static int64_t unit_at(const struct int8_product *p, int64_t i)
{
    int64_t in_row = p->pitch / INT8_UNIT;

    if (!p->offsets)
        return i * int8_packed_bytes(1, p->k);
    if (!p->row_bytes)
        return i * INT8_LINE;
    return i / in_row * p->row_bytes + i % in_row * INT8_LINE;
}

static void place_units(const struct int8_product *p, const struct panel *panel,
                        int64_t places[INT8_MAX_UNITS])
{
    int last = (panel->columns - 1) / INT8_UNIT;

    for (int u = 0; u < INT8_MAX_UNITS; u++)
        places[u] = unit_at(p, panel->begin / INT8_UNIT + (u < last ? u : last));
}

ISA_BODY void do_panel(const struct int8_product *p, const struct int8_tile *tile, int64_t row,
                       int64_t row_end, const struct panel *panel, struct quantise quantise)
{
    int units = (panel->columns + INT8_UNIT - 1) / INT8_UNIT;
    int64_t places[INT8_MAX_UNITS];
    int32_t acc[INT8_MAX_ROWS * INT8_LINE] = {0};
    struct int8_sides sides = {.a_line = p->a_line,
                               .k = p->k,
                               .b = p->b,
                               .offsets = p->offsets ? p->offsets : int8_packed_offsets,
                               .a_is_signed = p->a_is_signed};

    place_units(p, panel, places);
    for (; row < row_end; row += tile->rows) {
        int rows = (int)(row_end - row < tile->rows ? row_end - row : tile->rows);

        sides.a = p->a + row * p->a_line;
        for (int u = 0; u < units;) {
            int width = width_of(tile, units - u);

            sides.units = places + u;
            tile->fn(acc + (int64_t)u * INT8_UNIT, &sides, rows, width);
            u += width;
        }
        for (int r = 0; r < rows; r++)
            finish_row(p, panel, row + r, acc + (int64_t)r * INT8_LINE, quantise);
    }
}

enum { GROUP = 16 * INT8_MAX_ROWS }; /* rows whose sums wait until all columns are added up */

/* Tiles of some rows, unit by unit: what is widened of one stays in the first cache for all of them. */
static void do_tiles(const struct int8_tile *tile, struct int8_sides *sides, int64_t wide_step,
                     int rows, int units, int32_t *acc)
{
    int16_t spread[INT8_SPREAD] __attribute__((aligned(64)));
    const int16_t *wide = sides->wide;
    const int64_t *places = sides->units;

    sides->spread = spread;
    for (int u = 0; u < units; u++, acc += INT8_UNIT) {
        sides->units = places + u;
        sides->wide = wide;
        if (rows > 1)
            tile->spread(spread, sides);
        for (int r = 0; r < rows; r += INT8_MAX_ROWS, sides->wide += wide_step)
            tile->fn(acc + (int64_t)r * INT8_LINE, sides,
                     rows - r < INT8_MAX_ROWS ? rows - r : INT8_MAX_ROWS, 1);
    }
    sides->units = places;
}

/* The same with a tile that wants both sides widened. */
ISA_BODY void do_wide_panel(const struct int8_product *p, const struct int8_tile *tile, int64_t row,
                            int64_t row_end, const struct panel *panel, struct quantise quantise)
{
    int units = (panel->columns + INT8_UNIT - 1) / INT8_UNIT;
    int64_t places[INT8_MAX_UNITS], group = p->wide ? GROUP : INT8_MAX_ROWS;
    int64_t wide_step = int8_wide_bytes(1, p->k) / (int64_t)sizeof(*p->wide);
    const int32_t *offsets = p->offsets ? p->offsets : int8_packed_offsets;
    int32_t acc[GROUP * INT8_LINE];
    int16_t wide[INT8_WIDE] __attribute__((aligned(64)));
    struct int8_sides sides = {
        .a_line = p->a_line, .b = p->b, .units = places, .a_is_signed = p->a_is_signed};

    place_units(p, panel, places);
    if (panel->columns < INT8_LINE) /* whole lines are finished, of which no more are summed */
        memset(acc, 0, sizeof(acc));
    for (; row < row_end; row += group) {
        int rows = (int)(row_end - row < group ? row_end - row : group);
        int64_t tiles = (row - p->wide_row) / INT8_MAX_ROWS;

        for (int64_t at = 0; at < p->k; at += INT8_WIDE_K) {
            sides.a = p->a + row * p->a_line + at;
            sides.k = p->k - at < INT8_WIDE_K ? p->k - at : INT8_WIDE_K;
            sides.offsets = offsets + at / INT8_QUAD;
            sides.is_begun = at > 0;
            sides.wide = p->wide ? p->wide + tiles * wide_step + at * INT8_MAX_ROWS : wide;
            if (!p->wide)
                tile->widen(wide, &sides, rows);
            do_tiles(tile, &sides, wide_step, rows, units, acc);
        }
        for (int r = 0; r < rows; r++)
            finish_row(p, panel, row + r, acc + (int64_t)r * INT8_LINE, quantise);
    }
}

/* The same of narrow rows. */
ISA_BODY void do_narrow_panel(const struct int8_product *p, int8_narrow_fn *sum, int64_t row,
                              int64_t row_end, const struct panel *panel, struct quantise quantise)
{
    int64_t places[INT8_MAX_UNITS];
    int32_t acc[INT8_NARROW_ROWS * INT8_LINE] = {0};
    struct int8_narrow_sides sides = {.narrow = p->narrow,
                                      .b = p->b,
                                      .units = places,
                                      .offsets = p->offsets ? p->offsets : int8_packed_offsets,
                                      .vectors = (panel->columns + 7) / 8};

    place_units(p, panel, places);
    for (; row < row_end; row += INT8_NARROW_ROWS) {
        int rows = (int)(row_end - row < INT8_NARROW_ROWS ? row_end - row : INT8_NARROW_ROWS);

        sum(acc, &sides, row, rows);
        for (int r = 0; r < rows; r++)
            finish_row(p, panel, row + r, acc + (int64_t)r * INT8_LINE, quantise);
    }
}

/* The same of narrow columns, with rows that were laid out for all of them. */
ISA_BODY void do_column_panel(const struct int8_product *p, int8_columns_fn *sum, int64_t row,
                              int64_t row_end, const struct panel *panel, struct quantise quantise)
{
    int64_t first = panel->begin / INT8_UNIT;
    int units = (panel->columns + INT8_UNIT - 1) / INT8_UNIT;
    int32_t acc[INT8_NARROW_ROWS * INT8_LINE] = {0};

    for (; row < row_end; row += INT8_NARROW_ROWS) {
        int rows = (int)(row_end - row < INT8_NARROW_ROWS ? row_end - row : INT8_NARROW_ROWS);
        int64_t tiles = (row - p->wide_row) / INT8_NARROW_ROWS;
        const uint8_t *a = (const uint8_t *)p->wide + tiles * int8_columns_laid(p->k);

        for (int u = 0; u < units; u++)
            sum(acc + (int64_t)u * INT8_UNIT, a, p->b + unit_at(p, first + u), p->columns,
                first + u, p->k, rows);
        for (int r = 0; r < rows; r++)
            finish_row(p, panel, row + r, acc + (int64_t)r * INT8_LINE, quantise);
    }
}

/* The columns of a panel have one scale, that of column 0. */
ISA_BODY void finish_line(const struct int8_product *p, int64_t row, int64_t at, int32_t *sums,
                          int64_t count, struct quantise quantise)
{
    struct panel panel;
    struct int8_product line = *p;

    memset(panel.zero, 0, sizeof(panel.zero));
    memset(panel.minus_a, 0, sizeof(panel.minus_a));
    memset(panel.add, 0, sizeof(panel.add));
    panel.begin = 0;
    panel.columns = INT8_LINE;
    panel.piece_count = 1;
    panel.is_finite = panel.is_plain = panel.is_even = true;
    panel.largest = 0;
    line.y_line = 0;
    line.column_scale_step = 0;
    if (p->is_quantised)
        take_scales(&line, &panel);
    for (int64_t first = 0; first < count; first += INT8_LINE) {
        int64_t columns = count - first < INT8_LINE ? count - first : INT8_LINE;

        panel.columns = (int)columns;
        panel.pieces[0] = piece_of(at + first, 0, (int)columns);
        finish_row(&line, &panel, row, sums + first, quantise);
    }
}

#define FINISH(isa)                                                                                \
    ISA_TARGET_##isa void int8_finish_##isa(const struct int8_product *p, int64_t row, int64_t at, \
                                            int32_t *sums, int64_t count)                          \
    {                                                                                              \
        finish_line(p, row, at, sums, count, QUANTISE(isa));                                       \
    }

ISA_VERSIONS(FINISH)

#define FINISH_ROWS(isa)                                                                           \
    ISA_TARGET_##isa void int8_finish_rows_##isa(const struct int8_product *p, int64_t row,        \
                                                 int64_t row_end, int64_t begin, int64_t end,      \
                                                 int32_t *sums)                                    \
    {                                                                                              \
        struct panel panel;                                                                        \
                                                                                                   \
        begin_panel(p, begin, end, &panel);                                                        \
        for (; row < row_end; row++, sums += INT8_LINE)                                            \
            finish_row(p, &panel, row, sums, QUANTISE(isa));                                       \
    }

ISA_VERSIONS(FINISH_ROWS)

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
            if (p->narrow)                                                                         \
                do_narrow_panel(p, int8_narrow_##isa, row, row_end, &panel, QUANTISE(isa));        \
            else if (p->columns)                                                                   \
                do_column_panel(p, int8_columns_##isa, row, row_end, &panel, QUANTISE(isa));       \
            else if (tile.widen)                                                                   \
                do_wide_panel(p, &tile, row, row_end, &panel, QUANTISE(isa));                      \
            else                                                                                   \
                do_panel(p, &tile, row, row_end, &panel, QUANTISE(isa));                           \
        }                                                                                          \
    }

ISA_VERSIONS(BLOCK)
