/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of a product of bytes: some rows by some units of columns, summed in registers. Without
 * VNNI the products are made of 16-bit numbers, because the instruction that multiplies bytes
 * saturates. */
#include "kernels/cpu/int8.h"

#include <string.h>

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
            const uint8_t *line = at->b + at->offsets[p / INT8_QUAD] + p % INT8_QUAD;
            int32_t number = byte_at(at->a, r * at->a_line + p, at->a_is_signed);

            for (int c = 0; c < INT8_UNIT; c++)
                sums[c] += (uint32_t)(number * byte_at(line, c * INT8_QUAD, !at->a_is_signed));
        }
        memcpy(acc + (int64_t)r * INT8_LINE, sums, sizeof(sums));
    }
}

struct int8_tile int8_tile_portable(void)
{
    return (struct int8_tile){tile_portable, 4, 1};
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

/* Written out, not loops: what a compiler unrolls late stays an array in memory. */
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
#define EACH_ROW(count, DO)                                                                        \
    DO(0)                                                                                          \
    if ((count) > 1) {                                                                             \
        DO(1)                                                                                      \
    }                                                                                              \
    if ((count) > 2) {                                                                             \
        DO(2)                                                                                      \
    }                                                                                              \
    if ((count) > 3) {                                                                             \
        DO(3)                                                                                      \
    }                                                                                              \
    if ((count) > 4) {                                                                             \
        DO(4)                                                                                      \
    }                                                                                              \
    if ((count) > 5) {                                                                             \
        DO(5)                                                                                      \
    }

#define QUAD(bits, r) _mm##bits##_set1_epi32(quad_at(sides->a + (r)*sides->a_line + p, count))

/* Four k of all rows, `count` of which are there. */
INLINE(AVX2)
void add_avx2(__m256i sums[][2], const struct place *at, int64_t p, int64_t count)
{
    const struct int8_sides *sides = at->sides;
    const uint8_t *b = sides->b + sides->offsets[p / INT8_QUAD];
    __m256i low = _mm256_loadu_si256((const void *)b);
    __m256i high = _mm256_loadu_si256((const void *)(b + 32));
    __m256i low_even = EVEN(256, low, !at->a_is_signed), low_odd = ODD(256, low, !at->a_is_signed);
    __m256i high_even = EVEN(256, high, !at->a_is_signed);
    __m256i high_odd = ODD(256, high, !at->a_is_signed);

#define ADD_ROW(r)                                                                                 \
    {                                                                                              \
        __m256i quad = QUAD(256, r);                                                               \
        __m256i even = EVEN(256, quad, at->a_is_signed), odd = ODD(256, quad, at->a_is_signed);    \
                                                                                                   \
        sums[r][0] = ADD_QUAD(256, sums[r][0], even, odd, low_even, low_odd);                      \
        sums[r][1] = ADD_QUAD(256, sums[r][1], even, odd, high_even, high_odd);                    \
    }
    EACH_ROW(at->rows, ADD_ROW)
#undef ADD_ROW
}

INLINE(AVX512)
void add_avx512(__m512i sums[][2], const struct place *at, int64_t p, int64_t count)
{
    const struct int8_sides *sides = at->sides;
    const uint8_t *line = sides->b + sides->offsets[p / INT8_QUAD];
    __m512i even[2], odd[2];

#define LOAD(x, u)                                                                                 \
    even[u] = _mm512_loadu_si512((const void *)(line + (u)*sides->unit));                          \
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

#define LOAD(x, u) b[u] = _mm512_loadu_si512((const void *)(line + (u)*sides->unit));
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
#define ZERO_avx2(r)    EACH_2(2, ZERO_256, r)
#define STORE_avx2(r)   EACH_2(2, STORE_256, r)
#define ZERO_avx512(r)  EACH_2(place->units, ZERO_512, r)
#define STORE_avx512(r) EACH_2(place->units, STORE_512, r)
#define ZERO_vnni(r)    EACH_4(place->units, ZERO_512, r)
#define STORE_vnni(r)   EACH_4(place->units, STORE_512, r)

TILE(avx2, AVX2, __m256i, 2)
TILE(avx512, AVX512, __m512i, 2)
TILE(vnni, VNNI, __m512i, 4)

#define ROWS(name, n, wide)                                                                        \
    case n:                                                                                        \
        if (units == (wide) && at->a_is_signed)                                                    \
            sum_##name(acc, &(struct place){at, n, wide, true});                                   \
        else if (units == (wide))                                                                  \
            sum_##name(acc, &(struct place){at, n, wide, false});                                  \
        else if (at->a_is_signed)                                                                  \
            sum_##name(acc, &(struct place){at, n, 1, true});                                      \
        else                                                                                       \
            sum_##name(acc, &(struct place){at, n, 1, false});                                     \
        break;

/* units is 1 or as many as the tile has at most. */
#define SWITCH(name, features, wide, more)                                                         \
    __attribute__((target(features))) static void tile_##name(                                     \
        int32_t *acc, const struct int8_sides *at, int rows, int units)                            \
    {                                                                                              \
        switch (rows) {                                                                            \
            ROWS(name, 1, wide)                                                                    \
            ROWS(name, 2, wide)                                                                    \
            ROWS(name, 3, wide)                                                                    \
            ROWS(name, 4, wide)                                                                    \
            more                                                                                   \
        }                                                                                          \
    }

SWITCH(avx2, AVX2, 1, )
SWITCH(avx512, AVX512, 2, ROWS(avx512, 5, 2) ROWS(avx512, 6, 2))
SWITCH(vnni, VNNI, 4, ROWS(vnni, 5, 4) ROWS(vnni, 6, 4))

struct int8_tile int8_tile_avx2(void)
{
    return (struct int8_tile){tile_avx2, 4, 1};
}

struct int8_tile int8_tile_avx512bw(void)
{
    return (struct int8_tile){tile_avx512, 6, 2};
}

struct int8_tile int8_tile_avx512(void)
{
    return __builtin_cpu_supports("avx512vnni") ? (struct int8_tile){tile_vnni, 6, 4}
                                                : int8_tile_avx512bw();
}

#endif
