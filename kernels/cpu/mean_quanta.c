/* SPDX-License-Identifier: Apache-2.0 */
/* Means of quanta, as quanta: bytes are summed as integers. Signed ones become unsigned first. */
#include <math.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { GRAIN = 1 << 17, COLUMNS = 64 };

struct mean {
    uint8_t *y;
    const uint8_t *x;
    const struct kernel_mean_quanta *args;
    uint8_t flip;
};

static int64_t sum_portable(const uint8_t *x, int64_t count, uint8_t flip)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < count; i++)
        sum += x[i] ^ flip;
    return sum;
}

#if defined(__x86_64__)

ISA_TARGET_avx2 static int64_t sum_avx2(const uint8_t *x, int64_t count, uint8_t flip)
{
    enum { STEP = 32 };
    const __m256i flips = _mm256_set1_epi8((char)flip), none = _mm256_setzero_si256();
    __m256i sums = none;
    __m128i half;
    int64_t i = 0;

    for (; i + STEP <= count; i += STEP) {
        __m256i bytes = _mm256_loadu_si256((const void *)(x + i));

        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(_mm256_xor_si256(bytes, flips), none));
    }
    half = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    return _mm_extract_epi64(half, 0) + _mm_extract_epi64(half, 1) +
           sum_portable(x + i, count - i, flip);
}

#define sum_avx512 sum_avx2

#endif

/* Of `sum` bytes, which are unsigned. */
static uint8_t mean_of(int64_t sum, const struct kernel_mean_quanta *args)
{
    const struct kernel_quanta *x = &args->x, *y = &args->y;
    int64_t zero = args->count * (x->zero + (x->is_signed ? 128 : 0));
    double mean = (double)(sum - zero) * (double)x->scale / (double)args->count;
    double number = nearbyint((double)((float)mean / y->scale)) + (double)y->zero;
    double low = y->is_signed ? -128.0 : 0.0, high = low + 255.0;

    return (uint8_t)(int)(number < low ? low : number > high ? high : number);
}

/* Columns of one matrix, at most COLUMNS. So many rows at a time that sums of 16 bits hold them. */
ISA_BODY void mean_columns(uint8_t *y, const uint8_t *x, int64_t columns, const struct mean *m)
{
    enum { ROWS = 256 };
    uint16_t sums[COLUMNS];
    int64_t all[COLUMNS] = {0}, inner = m->args->inner;
    const uint8_t flip = m->flip;

    for (int64_t first = 0; first < m->args->count; first += ROWS) {
        int64_t left = m->args->count - first, rows = left < ROWS ? left : ROWS;

        for (int64_t i = 0; i < COLUMNS; i++)
            sums[i] = 0;
        for (; rows >= 4 && columns == COLUMNS; rows -= 4, x += 4 * inner)
            for (int64_t i = 0; i < COLUMNS; i++)
                sums[i] = (uint16_t)(sums[i] + ((x[i] ^ flip) + (x[inner + i] ^ flip)) +
                                     ((x[2 * inner + i] ^ flip) + (x[3 * inner + i] ^ flip)));
        for (; rows > 0; rows--, x += inner)
            for (int64_t i = 0; i < columns; i++)
                sums[i] = (uint16_t)(sums[i] + (x[i] ^ flip));
        for (int64_t i = 0; i < columns; i++)
            all[i] += sums[i];
    }
    for (int64_t i = 0; i < columns; i++)
        y[i] = mean_of(all[i], m->args);
}

#define MEAN(isa)                                                                                  \
    static void lines_##isa(void *argument, int64_t begin, int64_t end)                            \
    {                                                                                              \
        const struct mean *m = argument;                                                           \
                                                                                                   \
        for (; begin < end; begin++)                                                               \
            m->y[begin] = mean_of(                                                                 \
                sum_##isa(m->x + begin * m->args->count, m->args->count, m->flip), m->args);       \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void blocks_##isa(void *argument, int64_t begin, int64_t end)          \
    {                                                                                              \
        const struct mean *m = argument;                                                           \
        int64_t inner = m->args->inner, blocks = (inner + COLUMNS - 1) / COLUMNS;                  \
                                                                                                   \
        for (; begin < end; begin++) {                                                             \
            int64_t outer = begin / blocks, first = begin % blocks * COLUMNS;                      \
            int64_t left = inner - first, columns = left < COLUMNS ? left : COLUMNS;               \
            const uint8_t *x = m->x + outer * m->args->count * inner + first;                      \
                                                                                                   \
            mean_columns(m->y + outer * inner + first, x, columns, m);                             \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    void mean_quanta_##isa(void *y, const void *x, const struct kernel_mean_quanta *args)          \
    {                                                                                              \
        struct mean m = {y, x, args, args->x.is_signed ? 0x80 : 0};                                \
        int64_t blocks = (args->inner + COLUMNS - 1) / COLUMNS;                                    \
                                                                                                   \
        if (args->inner == 1)                                                                      \
            team_for(args->outer, GRAIN / args->count + 1, lines_##isa, &m);                       \
        else                                                                                       \
            team_for(args->outer *blocks, GRAIN / (args->count * COLUMNS) + 1, blocks_##isa, &m);  \
    }

ISA_VERSIONS(MEAN)
