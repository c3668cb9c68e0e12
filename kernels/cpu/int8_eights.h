/* SPDX-License-Identifier: Apache-2.0 */
/* Eight products of unsigned by narrow bytes (int8_narrow.h), added up with AVX2. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_INT8_EIGHTS_H
#define OPTRACE_KERNELS_CPU_INT8_EIGHTS_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/cpu/gemm_tile.h"
#include "kernels/cpu/int8.h"
#include "kernels/cpu/int8_narrow.h"

static const int16_t int8_ones[16]
    __attribute__((aligned(32))) = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* Four numbers of a row in each column. */
#define INT8_FOUR_OF(numbers) _mm256_broadcastd_epi32(_mm_loadu_si32(numbers))

/* sum + eight products of each column: unsigned bytes by narrow ones, twice. */
#define INT8_ADD_EIGHT(sum, a, b, c, d, one)                                                       \
    (sum) = _mm256_add_epi32(                                                                      \
        sum, _mm256_madd_epi16(                                                                    \
                 _mm256_add_epi16(_mm256_maddubs_epi16(a, b), _mm256_maddubs_epi16(c, d)), one))

/* Sums of some rows by one or two vectors of eight columns; all but the first five are constants wherever this is
 * inlined.
 *
 * numbers      [quads / 2][INT8_NARROW_ROWS][INT8_EIGHT], zeros where there is no second quad
 * b_is_narrow  and quads of b are INT8_LINE apart; else the rows are narrow, and b is unsigned
 * offsets      else, of each quad in b
 */
__attribute__((target("avx2,fma"), always_inline)) static inline void
int8_sum_eights(int32_t *acc, const void *numbers, const uint8_t *b, const int32_t *offsets,
                int64_t quads, int rows, int vectors, bool b_is_narrow)
{
    enum { LANES = INT8_UNIT / 2, HALF = LANES * INT8_QUAD };
    const __m256i one = _mm256_loadu_si256((const void *)int8_ones);
    const uint8_t *a = numbers;
    __m256i sums[INT8_NARROW_ROWS][2], low[2], high[2];

#define ZERO(r) sums[r][0] = sums[r][1] = _mm256_setzero_si256();
#define ADD_VECTOR(r, v)                                                                           \
    if (b_is_narrow)                                                                               \
        INT8_ADD_EIGHT(sums[r][v], first_four, low[v], second_four, high[v], one);                 \
    else                                                                                           \
        INT8_ADD_EIGHT(sums[r][v], low[v], first_four, high[v], second_four, one);
#define ADD(r)                                                                                     \
    {                                                                                              \
        __m256i first_four = INT8_FOUR_OF(a + (r)*INT8_EIGHT);                                     \
        __m256i second_four = INT8_FOUR_OF(a + (r)*INT8_EIGHT + INT8_QUAD);                        \
                                                                                                   \
        ADD_VECTOR(r, 0)                                                                           \
        if (vectors > 1) {                                                                         \
            ADD_VECTOR(r, 1)                                                                       \
        }                                                                                          \
    }
#define STORE(r)                                                                                   \
    _mm256_storeu_si256((void *)(acc + (r)*INT8_LINE), sums[r][0]);                                \
    if (vectors > 1)                                                                               \
        _mm256_storeu_si256((void *)(acc + (r)*INT8_LINE + LANES), sums[r][1]);
    EACH_FOURTH(rows, ZERO)
    for (int64_t quad = 0; quad < quads; quad += 2, a += INT8_NARROW_ROWS * INT8_EIGHT) {
        const int64_t last = quad + 1 < quads ? quad + 1 : quad;
        const uint8_t *first = b + (b_is_narrow ? quad * INT8_LINE : offsets[quad]);
        const uint8_t *second = b + (b_is_narrow ? last * INT8_LINE : offsets[last]);

        low[0] = _mm256_loadu_si256((const void *)first);
        high[0] = _mm256_loadu_si256((const void *)second);
        low[1] = vectors > 1 ? _mm256_loadu_si256((const void *)(first + HALF)) : low[0];
        high[1] = vectors > 1 ? _mm256_loadu_si256((const void *)(second + HALF)) : high[0];
        EACH_FOURTH(rows, ADD)
    }
    EACH_FOURTH(rows, STORE)
#undef ZERO
#undef ADD_VECTOR
#undef ADD
#undef STORE
}

#endif
