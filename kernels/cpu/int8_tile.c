/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of a product of bytes: some rows by some units of columns, summed in registers. Without
 * VNNI the products are made of 16-bit numbers, because the instruction that multiplies bytes
 * saturates; of one row of AVX2's they are made of bytes, of which none is large enough for that. */
#include "kernels/cpu/int8.h"

#include <string.h>

#include "kernels/cpu/gemm_tile.h"
#include "kernels/cpu/int8_pairs.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static int32_t byte_at(const uint8_t *x, int64_t i, bool is_signed)
{
    return is_signed ? (int8_t)x[i] : x[i];
}

static void tile_portable(int32_t *acc, const struct int8_sides *at, int rows, int units)
{
    (void)units; /* one */
    for (int r = 0; r < rows; r++) {
        uint32_t sums[INT8_UNIT] = {0};

        for (int64_t p = 0; p < at->k; p++) {
            const uint8_t *line = at->b + at->units[0] + at->offsets[p / INT8_QUAD] + p % INT8_QUAD;
            int32_t number = byte_at(at->a, r * at->a_line + p, at->a_is_signed);

            for (int c = 0; c < INT8_UNIT; c++)
                sums[c] += (uint32_t)(number * byte_at(line, c * INT8_QUAD, !at->a_is_signed));
        }
        memcpy(acc + (int64_t)r * INT8_LINE, sums, sizeof(sums));
    }
}

struct int8_tile int8_tile_portable(void)
{
    return (struct int8_tile){tile_portable, 4, 1, NULL, NULL};
}

#if defined(__x86_64__)

/* Four bytes of a row, fewer at its end. */
static inline __attribute__((always_inline)) int32_t quad_at(const uint8_t *a, int64_t count)
{
    int32_t quad = 0;

    memcpy(&quad, a, count >= INT8_QUAD ? INT8_QUAD : (size_t)count);
    return quad;
}

#define INLINE(features)                                                                           \
    __attribute__((always_inline)) __attribute__((target(features))) static inline
#define AVX2   "avx2,fma"
#define AVX512 "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl"
#define VNNI   AVX512 ",avx512vnni"

/* Bytes 0 and 2 of each four, and 1 and 3, as 16-bit numbers. */
#define EVEN(bits, x, is_signed)                                                                   \
    ((is_signed) ? _mm##bits##_srai_epi16(_mm##bits##_slli_epi16(x, 8), 8)                         \
                 : _mm##bits##_srli_epi16(_mm##bits##_slli_epi16(x, 8), 8))
#define ODD(bits, x, is_signed)                                                                    \
    ((is_signed) ? _mm##bits##_srai_epi16(x, 8) : _mm##bits##_srli_epi16(x, 8))

/* acc + the four products of each column. */
#define ADD_QUAD(bits, acc, a_even, a_odd, b_even, b_odd)                                          \
    _mm##bits##_add_epi32(acc, _mm##bits##_add_epi32(_mm##bits##_madd_epi16(a_even, b_even),       \
                                                     _mm##bits##_madd_epi16(a_odd, b_odd)))

/* A tile; rows, units and a_is_signed are constants wherever this is inlined. */
struct place {
    const struct int8_sides *sides;
    int rows, units;
    bool a_is_signed;
};

/* As EACH_ROW(), within one. */
#define EACH_2(count, DO, x)                                                                       \
    DO(x, 0)                                                                                       \
    if ((count) > 1) {                                                                             \
        DO(x, 1)                                                                                   \
    }
#define EACH_4(count, DO, x)                                                                       \
    EACH_2(count, DO, x)                                                                           \
    if ((count) > 2) {                                                                             \
        DO(x, 2)                                                                                   \
    }                                                                                              \
    if ((count) > 3) {                                                                             \
        DO(x, 3)                                                                                   \
    }

#define QUAD(bits, r) _mm##bits##_set1_epi32(quad_at(sides->a + (r)*sides->a_line + p, count))

/* Four numbers of each row side by side, then the next four; the first and third, the second and
 * fourth stand together, because a tile broadcasts two. */
enum { WIDE_QUAD = INT8_QUAD * INT8_MAX_ROWS };

/* Sixteen numbers of a row. */
INLINE(AVX2)
void widen_step(int16_t *out, const uint8_t *a, bool is_signed)
{
    const __m128i order = _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15);
    __m128i bytes = _mm_shuffle_epi8(_mm_loadu_si128((const void *)a), order);
    __m256i wide = is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
    __m128i half[2] = {_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1)};

    for (int i = 0; i < 2; i++, out += 2 * WIDE_QUAD) {
        _mm_storel_epi64((void *)out, half[i]);
        _mm_storel_epi64((void *)(out + WIDE_QUAD), _mm_unpackhi_epi64(half[i], half[i]));
    }
}

INLINE(AVX2)
void widen_rows(int16_t *out, const struct int8_sides *sides, int rows, bool is_signed)
{
    int64_t whole = sides->k / INT8_WIDE_STEP * INT8_WIDE_STEP;

    for (int r = 0; r < rows; r++, out += INT8_QUAD) {
        const uint8_t *a = sides->a + r * sides->a_line;
        uint8_t rest[INT8_WIDE_STEP] = {0};

        for (int64_t p = 0; p < whole; p += INT8_WIDE_STEP)
            widen_step(out + p * INT8_MAX_ROWS, a + p, is_signed);
        if (whole == sides->k)
            continue;
        memcpy(rest, a + whole, (size_t)(sides->k - whole));
        widen_step(out + whole * INT8_MAX_ROWS, rest, is_signed);
    }
}

/* Four bytes of the only row of a tile in the place of its four numbers: twice these halves, rounded down,
 * and then what is left, 0 or 1. */
INLINE(AVX2)
void halve_step(int16_t *out, const uint8_t *a, bool is_signed)
{
    const __m128i half = _mm_set1_epi8(is_signed ? 64 : 0);
    __m128i bytes = _mm_loadu_si128((const void *)a);
    __m128i rest = _mm_and_si128(bytes, _mm_set1_epi8(1)), parts[2];

    bytes = _mm_xor_si128(bytes, _mm_set1_epi8(is_signed ? INT8_MIN : 0));
    bytes = _mm_and_si128(_mm_srli_epi16(bytes, 1), _mm_set1_epi8(INT8_MAX));
    bytes = _mm_sub_epi8(bytes, half);
    parts[0] = _mm_unpacklo_epi32(bytes, rest);
    parts[1] = _mm_unpackhi_epi32(bytes, rest);
    for (int i = 0; i < 2; i++, out += 2 * WIDE_QUAD) {
        _mm_storel_epi64((void *)out, parts[i]);
        _mm_storel_epi64((void *)(out + WIDE_QUAD), _mm_unpackhi_epi64(parts[i], parts[i]));
    }
}

INLINE(AVX2)
void halve_row(int16_t *out, const struct int8_sides *sides, bool is_signed)
{
    uint8_t rest[INT8_WIDE_STEP] = {0};
    int64_t p = 0;

    for (; p + INT8_WIDE_STEP <= sides->k; p += INT8_WIDE_STEP)
        halve_step(out + p * INT8_MAX_ROWS, sides->a + p, is_signed);
    if (p == sides->k)
        return;
    memcpy(rest, sides->a + p, (size_t)(sides->k - p));
    halve_step(out + p * INT8_MAX_ROWS, rest, is_signed);
}

__attribute__((target(AVX2))) static void widen_avx2(int16_t *out, const struct int8_sides *sides,
                                                     int rows)
{
    if (rows == 1 && sides->a_is_signed)
        halve_row(out, sides, true);
    else if (rows == 1)
        halve_row(out, sides, false);
    else if (sides->a_is_signed)
        widen_rows(out, sides, rows, true);
    else
        widen_rows(out, sides, rows, false);
}

/* Each four k of a unit: numbers 0 and 2 of eight columns, of the other eight, and 1 and 3 likewise. Six rows
 * read a unit often enough that widening it for each of them would take as long as their products. */
INLINE(AVX2)
void spread_unit(int16_t *out, const struct int8_sides *sides, bool is_signed)
{
    const uint8_t *b = sides->b + sides->units[0];

    for (int64_t p = 0; p < sides->k; p += INT8_QUAD, out += INT8_LINE) {
        const uint8_t *line = b + sides->offsets[p / INT8_QUAD];
        __m256i low = _mm256_loadu_si256((const void *)line);
        __m256i high = _mm256_loadu_si256((const void *)(line + 32));

        _mm256_store_si256((void *)out, EVEN(256, low, is_signed));
        _mm256_store_si256((void *)(out + 16), EVEN(256, high, is_signed));
        _mm256_store_si256((void *)(out + 32), ODD(256, low, is_signed));
        _mm256_store_si256((void *)(out + 48), ODD(256, high, is_signed));
    }
}

__attribute__((target(AVX2))) static void spread_avx2(int16_t *out, const struct int8_sides *sides)
{
    if (sides->a_is_signed)
        spread_unit(out, sides, false);
    else
        spread_unit(out, sides, true);
}

/* Four k of fewer rows than six. */
INLINE(AVX2)
void add_avx2(__m256i sums[][2], const struct place *at, const int16_t *wide, const int16_t *b)
{
#define ADD_ROW(r)                                                                                 \
    ADD_PAIRS(sums[r][0], sums[r][1], *(const int16_t(*)[2])(wide + (r)*INT8_QUAD), low, high)
    for (int half = 0; half < 2; half++, b += INT8_LINE / 2, wide += 2) {
        __m256i low = _mm256_load_si256((const void *)b);
        __m256i high = _mm256_load_si256((const void *)(b + INT8_UNIT));

        EACH_ROW(at->rows, ADD_ROW)
    }
#undef ADD_ROW
}

INLINE(AVX512)
void add_avx512(__m512i sums[][2], const struct place *at, int64_t p, int64_t count)
{
    const struct int8_sides *sides = at->sides;
    const uint8_t *line = sides->b + sides->offsets[p / INT8_QUAD];
    __m512i even[2], odd[2];

#define LOAD(x, u)                                                                                 \
    even[u] = _mm512_loadu_si512((const void *)(line + sides->units[u]));                          \
    odd[u] = ODD(512, even[u], !at->a_is_signed);                                                  \
    even[u] = EVEN(512, even[u], !at->a_is_signed);
    EACH_2(at->units, LOAD, )
#undef LOAD
#define ADD_UNIT(r, u) sums[r][u] = ADD_QUAD(512, sums[r][u], a_even, a_odd, even[u], odd[u]);
#define ADD_ROW(r)                                                                                 \
    {                                                                                              \
        __m512i quad = QUAD(512, r);                                                               \
        __m512i a_even = EVEN(512, quad, at->a_is_signed),                                         \
                a_odd = ODD(512, quad, at->a_is_signed);                                           \
                                                                                                   \
        EACH_2(at->units, ADD_UNIT, r)                                                             \
    }
    EACH_ROW(at->rows, ADD_ROW)
#undef ADD_ROW
#undef ADD_UNIT
}

/* gcc 12 copies the sums to other registers and back around the intrinsic. */
#define DOT(sum, bytes, signed_bytes)                                                              \
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(bytes), "v"(signed_bytes))

INLINE(VNNI)
void add_vnni(__m512i sums[][4], const struct place *at, int64_t p, int64_t count)
{
    const struct int8_sides *sides = at->sides;
    const uint8_t *line = sides->b + sides->offsets[p / INT8_QUAD];
    __m512i b[4];

#define LOAD(x, u) b[u] = _mm512_loadu_si512((const void *)(line + sides->units[u]));
    EACH_4(at->units, LOAD, )
#undef LOAD
#define ADD_UNIT(r, u)                                                                             \
    if (at->a_is_signed)                                                                           \
        DOT(sums[r][u], b[u], quad);                                                               \
    else                                                                                           \
        DOT(sums[r][u], quad, b[u]);
#define ADD_ROW(r)                                                                                 \
    {                                                                                              \
        __m512i quad = QUAD(512, r);                                                               \
                                                                                                   \
        EACH_4(at->units, ADD_UNIT, r)                                                             \
    }
    EACH_ROW(at->rows, ADD_ROW)
#undef ADD_ROW
#undef ADD_UNIT
}

/* registers: of a row. */
#define TILE(name, features, vector, registers)                                                    \
    INLINE(features)                                                                               \
    void sum_##name(int32_t *acc, const struct place *place)                                       \
    {                                                                                              \
        vector sums[INT8_MAX_ROWS][registers];                                                     \
        int64_t k = place->sides->k, whole = k / INT8_QUAD * INT8_QUAD;                            \
                                                                                                   \
        EACH_ROW(place->rows, ZERO_##name)                                                         \
        for (int64_t p = 0; p < whole; p += INT8_QUAD)                                             \
            add_##name(sums, place, p, INT8_QUAD);                                                 \
        if (whole < k)                                                                             \
            add_##name(sums, place, whole, k - whole);                                             \
        EACH_ROW(place->rows, STORE_##name)                                                        \
    }

#define ZERO_256(r, i)  sums[r][i] = _mm256_setzero_si256();
#define ZERO_512(r, i)  sums[r][i] = _mm512_setzero_si512();
#define STORE_256(r, i) _mm256_storeu_si256((void *)(acc + (r)*INT8_LINE + (i)*8), sums[r][i]);
#define STORE_512(r, i) _mm512_storeu_si512((void *)(acc + (r)*INT8_LINE + (i)*16), sums[r][i]);
#define LOAD_256(r, i)  sums[r][i] = _mm256_loadu_si256((const void *)(acc + (r)*INT8_LINE + (i)*8));
#define LOAD_avx2(r)    EACH_2(2, LOAD_256, r)
#define ZERO_avx2(r)    EACH_2(2, ZERO_256, r)
#define STORE_avx2(r)   EACH_2(2, STORE_256, r)
#define ZERO_avx512(r)  EACH_2(place->units, ZERO_512, r)
#define STORE_avx512(r) EACH_2(place->units, STORE_512, r)
#define ZERO_vnni(r)    EACH_4(place->units, ZERO_512, r)
#define STORE_vnni(r)   EACH_4(place->units, STORE_512, r)

INLINE(AVX2)
void sum_avx2(int32_t *acc, const struct place *place)
{
    const struct int8_sides *sides = place->sides;
    const int16_t *wide = sides->wide, *b = sides->spread;
    __m256i sums[INT8_MAX_ROWS][2];

    if (sides->is_begun) {
        EACH_ROW(place->rows, LOAD_avx2)
    } else {
        EACH_ROW(place->rows, ZERO_avx2)
    }
    for (int64_t p = 0; p < sides->k; p += INT8_QUAD, wide += WIDE_QUAD, b += INT8_LINE)
        add_avx2(sums, place, wide, b);
    EACH_ROW(place->rows, STORE_avx2)
}

/* A row whose pair of numbers is at `from`: its sums in two registers. */
#define SIX_ADD(from, low, high)                                                                   \
    "vpbroadcastd " #from "(%[a]), %%ymm14\n\t"                                                    \
    "vpmaddwd %%ymm12, %%ymm14, %%ymm15\n\t"                                                       \
    "vpmaddwd %%ymm13, %%ymm14, %%ymm14\n\t"                                                       \
    "vpaddd %%ymm15, %%ymm" #low ", %%ymm" #low "\n\t"                                             \
    "vpaddd %%ymm14, %%ymm" #high ", %%ymm" #high "\n\t"
#define SIX_LOAD(from, low, high)                                                                  \
    "vmovdqu " #from "(%[acc]), %%ymm" #low "\n\t"                                                 \
    "vmovdqu " #from "+32(%[acc]), %%ymm" #high "\n\t"
#define SIX_ZERO(from, low, high)                                                                  \
    "vpxor %%ymm" #low ", %%ymm" #low ", %%ymm" #low "\n\t"                                        \
    "vpxor %%ymm" #high ", %%ymm" #high ", %%ymm" #high "\n\t"
#define SIX_STORE(to, low, high)                                                                   \
    "vmovdqu %%ymm" #low ", " #to "(%[acc])\n\t"                                                   \
    "vmovdqu %%ymm" #high ", " #to "+32(%[acc])\n\t"
#define SIX(DO, at, step)                                                                          \
    DO(at, 0, 1)                                                                                   \
    DO(at + step, 2, 3)                                                                            \
    DO(at + 2 * step, 4, 5)                                                                        \
    DO(at + 3 * step, 6, 7)                                                                        \
    DO(at + 4 * step, 8, 9)                                                                        \
    DO(at + 5 * step, 10, 11)
#define SIX_B(from)                                                                                \
    "vmovdqa " #from "(%[b]), %%ymm12\n\t"                                                         \
    "vmovdqa " #from "+32(%[b]), %%ymm13\n\t"

/* Six rows, which are nearly all, in an order that is not the compiler's: with its own, or with a pointer moved
 * in between, Zen 3 takes up to half as long again. */
#define SUM_SIX(BEGIN)                                                                             \
    __asm__ volatile(SIX(BEGIN, 0, 256) "1:\n\t" SIX_B(0) SIX(SIX_ADD, 0, 8) SIX_B(64)             \
                         SIX(SIX_ADD, 4, 8) "add $48, %[a]\n\t"                                    \
                                            "add $128, %[b]\n\t"                                   \
                                            "dec %[quads]\n\t"                                     \
                                            "jnz 1b\n\t" SIX(SIX_STORE, 0, 256)                    \
                     : [a] "+r"(a), [b] "+r"(b), [quads] "+r"(quads)                               \
                     : [acc] "r"(acc)                                                              \
                     : "memory", "cc", "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6",     \
                       "ymm7", "ymm8", "ymm9", "ymm10", "ymm11", "ymm12", "ymm13", "ymm14",        \
                       "ymm15")

__attribute__((target(AVX2))) static void sum_six_avx2(int32_t *acc, const struct int8_sides *sides)
{
    const int16_t *a = sides->wide, *b = sides->spread;
    int64_t quads = (sides->k + INT8_QUAD - 1) / INT8_QUAD;

    _Static_assert(INT8_LINE == 64 && WIDE_QUAD == 24 && INT8_MAX_ROWS == 6, "as SIX() has them");
    if (sides->is_begun)
        SUM_SIX(SIX_LOAD);
    else
        SUM_SIX(SIX_ZERO);
}

/* Pairs of a by those of b, whichever of them is signed. */
#define PAIRS(a, b, a_is_signed)                                                                   \
    ((a_is_signed) ? _mm256_maddubs_epi16(b, a) : _mm256_maddubs_epi16(a, b))

/* Four k of one row: products of its halves to `sums`, of its bits to `bits`. */
INLINE(AVX2)
void add_halves(__m256i sums[2], __m256i bits[2], const int16_t *wide, const uint8_t *line,
                bool a_is_signed)
{
    const __m256i twos = _mm256_set1_epi16(2);
    __m256i half_quad = _mm256_broadcastd_epi32(_mm_loadu_si32(wide));
    __m256i bit_quad = _mm256_broadcastd_epi32(_mm_loadu_si32(wide + 2));

    for (int i = 0; i < 2; i++) {
        __m256i b = _mm256_loadu_si256((const void *)(line + (int64_t)32 * i));
        __m256i pairs = PAIRS(half_quad, b, a_is_signed);

        sums[i] = _mm256_add_epi32(sums[i], _mm256_madd_epi16(pairs, twos));
        bits[i] = _mm256_add_epi16(bits[i], PAIRS(bit_quad, b, a_is_signed));
    }
}

/* One row reads as much of b as six do, and would spend its time on widening that. No pair of halves by b
 * is beyond 16 bits, nor are 64 pairs of bits: so nothing is widened. */
INLINE(AVX2)
void sum_row_avx2(int32_t *acc, const struct int8_sides *sides, bool a_is_signed)
{
    enum { FITTING = 64 };
    const __m256i ones = _mm256_set1_epi16(1);
    const int16_t *wide = sides->wide;
    const int32_t *offsets = sides->offsets;
    const uint8_t *b = sides->b + sides->units[0];
    __m256i sums[1][2];

    if (sides->is_begun) {
        LOAD_avx2(0)
    } else {
        ZERO_avx2(0)
    }
    for (int64_t left = (sides->k + INT8_QUAD - 1) / INT8_QUAD, count; left > 0; left -= count) {
        __m256i bits[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        int64_t i = 0;

        count = left < FITTING ? left : FITTING;
        for (; i + 2 <= count; i += 2, wide += 2 * WIDE_QUAD) {
            add_halves(sums[0], bits, wide, b + offsets[i], a_is_signed);
            add_halves(sums[0], bits, wide + WIDE_QUAD, b + offsets[i + 1], a_is_signed);
        }
        if (i < count)
            add_halves(sums[0], bits, wide, b + offsets[i], a_is_signed);
        offsets += count;
        sums[0][0] = _mm256_add_epi32(sums[0][0], _mm256_madd_epi16(bits[0], ones));
        sums[0][1] = _mm256_add_epi32(sums[0][1], _mm256_madd_epi16(bits[1], ones));
    }
    STORE_avx2(0)
}

TILE(avx512, AVX512, __m512i, 2)
TILE(vnni, VNNI, __m512i, 4)

#define UNITS(name, n, count)                                                                      \
    if (units == (count) && at->a_is_signed)                                                       \
        sum_##name(acc, &(struct place){at, n, count, true});                                      \
    else if (units == (count))                                                                     \
        sum_##name(acc, &(struct place){at, n, count, false});

#define UNITS_avx2(n) sum_avx2(acc, &(struct place){at, n, 1, false});
#define UNITS_avx512(n)                                                                            \
    UNITS(avx512, n, 1)                                                                            \
    else UNITS(avx512, n, 2)
#define UNITS_vnni(n)                                                                              \
    UNITS(vnni, n, 1)                                                                              \
    else UNITS(vnni, n, 2) else UNITS(vnni, n, 4)

#define ROWS(name, n)                                                                              \
    case n:                                                                                        \
        UNITS_##name(n) break;

#define ROWS_1_avx2                                                                                \
    case 1:                                                                                        \
        if (at->a_is_signed)                                                                       \
            sum_row_avx2(acc, at, true);                                                           \
        else                                                                                       \
            sum_row_avx2(acc, at, false);                                                          \
        break;
#define ROWS_1_avx512 ROWS(avx512, 1)
#define ROWS_1_vnni   ROWS(vnni, 1)

#define ROWS_6_avx2                                                                                \
    case 6:                                                                                        \
        sum_six_avx2(acc, at);                                                                     \
        break;
#define ROWS_6_avx512 ROWS(avx512, 6)
#define ROWS_6_vnni   ROWS(vnni, 6)

#define SWITCH(name, features)                                                                     \
    __attribute__((target(features))) static void tile_##name(                                     \
        int32_t *acc, const struct int8_sides *at, int rows, int units)                            \
    {                                                                                              \
        (void)units;                                                                               \
        switch (rows) {                                                                            \
            ROWS_1_##name ROWS(name, 2) ROWS(name, 3) ROWS(name, 4) ROWS(name, 5) ROWS_6_##name    \
        }                                                                                          \
    }

SWITCH(avx2, AVX2)
SWITCH(avx512, AVX512)
SWITCH(vnni, VNNI)

struct int8_tile int8_tile_avx2(void)
{
    return (struct int8_tile){tile_avx2, 6, 1, widen_avx2, spread_avx2};
}

struct int8_tile int8_tile_avx512bw(void)
{
    return (struct int8_tile){tile_avx512, 6, 2, NULL, NULL};
}

struct int8_tile int8_tile_avx512(void)
{
    return __builtin_cpu_supports("avx512vnni") ? (struct int8_tile){tile_vnni, 6, 4, NULL, NULL}
                                                : int8_tile_avx512bw();
}

#endif
