/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that become those of a table. An instruction looks up 16 entries; of the 16 that it finds for a byte its
 * upper half chooses one. */
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { GRAIN = 1 << 15 };

struct lookup {
    uint8_t *y;
    const uint8_t *x, *table;
};

static void look_up_portable(const struct lookup *l, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++)
        l->y[i] = l->table[l->x[i]];
}

#if defined(__x86_64__)

#define AVX2 __attribute__((target("avx2,fma")))

/* What a line of the table has for the lower halves; of two, four and eight lines the one that a bit says, moved to bit 7. */
#define LINE(i)                                                                                    \
    _mm256_shuffle_epi8(                                                                           \
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)(table + (i)*16))), low)
#define TWO(i)   _mm256_blendv_epi8(LINE(i), LINE((i) + 1), by_16)
#define FOUR(i)  _mm256_blendv_epi8(TWO(i), TWO((i) + 2), by_32)
#define EIGHT(i) _mm256_blendv_epi8(FOUR(i), FOUR((i) + 4), by_64)

AVX2 static void look_up_avx2(const struct lookup *l, int64_t begin, int64_t end)
{
    enum { STEP = 32 };
    const __m256i fifteen = _mm256_set1_epi8(15);
    const uint8_t *table = l->table;

    for (; begin + STEP <= end; begin += STEP) {
        __m256i x = _mm256_loadu_si256((const void *)(l->x + begin));
        __m256i low = _mm256_and_si256(x, fifteen), by_16 = _mm256_slli_epi16(x, 3);
        __m256i by_32 = _mm256_slli_epi16(x, 2), by_64 = _mm256_slli_epi16(x, 1);

        x = _mm256_blendv_epi8(EIGHT(0), EIGHT(8), x);
        _mm256_storeu_si256((void *)(l->y + begin), x);
    }
    look_up_portable(l, begin, end);
}

#define look_up_avx512 look_up_avx2

#endif

#define LOOKUP(isa)                                                                                \
    static void look_up_part_##isa(void *argument, int64_t begin, int64_t end)                     \
    {                                                                                              \
        look_up_##isa(argument, begin, end);                                                       \
    }                                                                                              \
                                                                                                   \
    void lookup_##isa(uint8_t *y, const uint8_t *x, const uint8_t *table, size_t count)            \
    {                                                                                              \
        struct lookup l = {y, x, table};                                                           \
                                                                                                   \
        team_for((int64_t)count, GRAIN, look_up_part_##isa, &l);                                   \
    }

ISA_VERSIONS(LOOKUP)
