/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products by weights of 4 bits in blocks. Rows are rounded first, to 8 bits or to three parts of 8 bits; then tiles of
 * some rows by units of 16 columns multiply bytes, whose sums of a block are exact, and add them up as reals.
 *
 * Packed: unit by unit; of each its blocks one behind the other, and its zero points behind them. Eight k of a unit are
 * 64 bytes, [column][4]: the lower halves are the first four k, the upper ones the others. Behind them are the 16
 * scales. What fills up the last unit has scales of 0.
 */
#include "kernels/blocks.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/gemm_tile.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    UNIT = 16, /* columns */
    EIGHT = 8, /* k of a line */
    LINE = 64, /* bytes */
    SCALES = UNIT * (int)sizeof(float),
    MIDDLE = 8,     /* of 4 bits: the zero point that is not given */
    WORK = 1 << 18, /* products of numbers that are worth waking a helper */
};

static int64_t round_up(int64_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

static int64_t blocks_of(const struct kernel_blocks *s)
{
    return (s->k + s->size - 1) / s->size;
}

static int64_t units_of(const struct kernel_blocks *s)
{
    return (s->n + UNIT - 1) / UNIT;
}

static int64_t block_bytes(const struct kernel_blocks *s)
{
    return s->size / EIGHT * LINE + SCALES;
}

static int64_t unit_bytes(const struct kernel_blocks *s)
{
    return blocks_of(s) * block_bytes(s) + (s->has_zeros ? round_up(blocks_of(s) * UNIT) : 0);
}

size_t kernel_blocks_packed(const struct kernel_blocks *shape)
{
    return (size_t)(units_of(shape) * unit_bytes(shape));
}

/* A block of a column. */
static void pack_column(uint8_t *out, const uint8_t *quanta, int64_t size)
{
    for (int64_t i = 0; i < size / EIGHT; i++, out += LINE, quanta += 4) {
        out[0] = (uint8_t)((quanta[0] & 15) | quanta[2] << 4);
        out[1] = (uint8_t)(quanta[0] >> 4 | (quanta[2] & 0xf0));
        out[2] = (uint8_t)((quanta[1] & 15) | quanta[3] << 4);
        out[3] = (uint8_t)(quanta[1] >> 4 | (quanta[3] & 0xf0));
    }
}

void kernel_pack_blocks(void *packed, const struct kernel_blocks_weights *weights,
                        const struct kernel_blocks *shape)
{
    int64_t blocks = blocks_of(shape), lines = shape->size / EIGHT * LINE;

    if (shape->n % UNIT != 0)
        memset((uint8_t *)packed + shape->n / UNIT * unit_bytes(shape), 0,
               (size_t)unit_bytes(shape));
    for (int64_t j = 0; j < shape->n; j++) {
        uint8_t *unit = (uint8_t *)packed + j / UNIT * unit_bytes(shape);
        uint8_t *zeros = unit + blocks * block_bytes(shape);

        for (int64_t b = 0; b < blocks; b++) {
            uint8_t *block = unit + b * block_bytes(shape);
            int64_t at = j * blocks + b;

            pack_column(block + j % UNIT * 4, weights->quanta + at * (shape->size / 2),
                        shape->size);
            memcpy(block + lines + j % UNIT * (int64_t)sizeof(float), weights->scales + at,
                   sizeof(float));
            if (weights->zeros)
                zeros[b * UNIT + j % UNIT] =
                    weights->zeros[j * ((blocks + 1) / 2) + b / 2] >> (b % 2 * 4) & 15;
        }
    }
}

/* --- Rows of bytes --- */

static int64_t parts_of(const struct kernel_blocks *s)
{
    return s->is_rounded ? 1 : 3;
}

/* What the largest magnitude of a block becomes: in three parts, what float32 numbers hold behind the point, and what
 * multiplied by 4 bits and added up fits 32. */
static float top_of(const struct kernel_blocks *s)
{
    const int64_t most = (1 << 22) - 1, fits = (1 << 27) / s->size;

    return s->is_rounded ? 127.0f : (float)(fits < most ? fits : most);
}

/* Of each row, its parts, the highest first, and of each part its blocks filled up with 0; the scale and the sum of
 * each block; whether the row holds what is not finite. */
struct rounded {
    int8_t *bytes;
    float *scales;
    int32_t *sums;
    uint8_t *is_odd;
};

static size_t make_rounded(const struct kernel_blocks *s, void *workspace,
                           struct rounded *out_rounded)
{
    int64_t count = s->m * blocks_of(s);
    char *at = workspace, *start = at;

    out_rounded->bytes = (void *)at;
    out_rounded->scales = (void *)(at += round_up(count * s->size * parts_of(s)));
    out_rounded->sums = (void *)(at += round_up(count * (int64_t)sizeof(float)));
    out_rounded->is_odd = (void *)(at += round_up(count * (int64_t)sizeof(float)));
    return (size_t)(at - start + round_up(s->m));
}

size_t kernel_blocks_room(const struct kernel_blocks *shape)
{
    static char none; /* addresses alone are made of it */
    struct rounded rounded;

    return make_rounded(shape, &none, &rounded);
}

/* Magnitudes are compared as whole numbers, among which NaN is the largest. */
ISA_BODY float largest_of(const float *a, int64_t count)
{
    uint32_t top = 0;
    float largest;

    for (int64_t i = 0; i < count; i++) {
        uint32_t bits;

        memcpy(&bits, a + i, sizeof(bits));
        bits &= 0x7fffffffu;
        top = bits > top ? bits : top;
    }
    memcpy(&largest, &top, sizeof(largest));
    return largest;
}

/* What is added leaves no bits behind the point; in a loop of its own, since in one with the product the sum alone
 * would be rounded. */
ISA_BODY void round_numbers(int32_t *y, const float *a, float factor, int64_t count)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23 */
    float numbers[KERNEL_BLOCK_MAX];
    int32_t none;

    memcpy(&none, &shift, sizeof(none));
    for (int64_t i = 0; i < count; i++)
        numbers[i] = a[i] * factor;
    for (int64_t i = 0; i < count; i++) {
        float number = numbers[i] + shift;
        int32_t bits;

        memcpy(&bits, &number, sizeof(bits));
        y[i] = (int32_t)((uint32_t)bits - (uint32_t)none);
    }
}

/* Where a block of a row goes: its parts lie `stride` apart. */
struct place {
    int8_t *y;
    int64_t stride;
    float *scale;
    int32_t *sum;
};

/* Blocks that nothing is made of, since no quotient by their largest number is one: all is 0 then, but the scale of what
 * is not finite where it is rounded. Such a row is multiplied otherwise where it is not. */
ISA_BODY bool put_nothing(const struct place *to, int64_t count, float largest, bool is_rounded)
{
    const float smallest = 0x1p-100f;
    bool is_finite = largest < INFINITY;

    if (is_finite && largest >= smallest)
        return false;
    for (int part = 0; part < (is_rounded ? 1 : 3); part++)
        memset(to->y + part * to->stride, 0, (size_t)count);
    *to->scale = is_finite ? 0.0f : NAN;
    *to->sum = 0;
    return true;
}

/* A byte of a part is what the number leaves when divided by 256, from -128 to 127. */
ISA_BODY void put_block(const struct place *to, const float *a, int64_t count, float top,
                        bool is_rounded)
{
    int32_t numbers[KERNEL_BLOCK_MAX], total = 0;
    float largest = largest_of(a, count);
    int8_t *y = to->y;

    if (put_nothing(to, count, largest, is_rounded))
        return;
    round_numbers(numbers, a, top / largest, count);
    for (int64_t i = 0; i < count; i++)
        total += numbers[i];
    for (int part = is_rounded ? 0 : 2; part >= 0; part--)
        for (int64_t i = 0; i < count; i++) {
            y[part * to->stride + i] = (int8_t)numbers[i];
            numbers[i] = (numbers[i] + 128) >> 8;
        }
    *to->scale = largest / top;
    *to->sum = total;
}

struct job {
    const struct kernel_blocks *shape;
    const uint8_t *packed;
    const float *a, *bias;
    struct rounded rounded;
    float *y;
};

typedef void put_fn(const struct place *to, const float *a, int64_t count, float top,
                    bool is_rounded);

ISA_BODY void round_rows(const struct job *job, int64_t begin, int64_t end, put_fn *put)
{
    const struct kernel_blocks *s = job->shape;
    const struct rounded *rounded = &job->rounded;
    int64_t blocks = blocks_of(s), parts = parts_of(s), stride = blocks * s->size;
    float top = top_of(s);

    for (int64_t i = begin; i < end; i++) {
        int is_odd = 0;

        for (int64_t b = 0; b < blocks; b++) {
            int64_t at = i * blocks + b, left = s->k - b * s->size;
            int64_t count = left < s->size ? left : s->size;
            struct place to = {rounded->bytes + i * parts * stride + b * s->size, stride,
                               rounded->scales + at, rounded->sums + at};

            for (int64_t part = 0; part < parts && count < s->size; part++)
                memset(to.y + part * stride + count, 0, (size_t)(s->size - count));
            put(&to, job->a + i * s->k + b * s->size, count, top, s->is_rounded);
            is_odd |= *to.scale != *to.scale;
        }
        rounded->is_odd[i] = is_odd && !s->is_rounded;
    }
}

#define DEFINE_ROUND(isa)                                                                          \
    ISA_TARGET_##isa static void round_##isa(void *argument, int64_t begin, int64_t end)           \
    {                                                                                              \
        round_rows(argument, begin, end, put_block);                                               \
    }
DEFINE_ROUND(portable)
#if defined(__x86_64__)
DEFINE_ROUND(avx2)

/* The same by AVX-512, which makes bytes of 32-bit numbers by one instruction. */
ISA_TARGET_avx512 static inline void put_block_avx512(const struct place *to, const float *a,
                                                      int64_t count, float top, bool is_rounded)
{
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff), half = _mm512_set1_epi32(128);
    __m512i most = _mm512_setzero_si512(), sums = _mm512_setzero_si512();
    int8_t *y = to->y;
    uint32_t bits;
    __m512 factor;
    float largest;

    for (int64_t i = 0; i < count; i += UNIT) {
        __mmask16 mask = (__mmask16)(count - i < UNIT ? (1u << (count - i)) - 1 : 0xffff);

        most = _mm512_max_epu32(
            most,
            _mm512_and_si512(magnitude, _mm512_castps_si512(_mm512_maskz_loadu_ps(mask, a + i))));
    }
    bits = _mm512_reduce_max_epu32(most);
    memcpy(&largest, &bits, sizeof(largest));
    if (put_nothing(to, count, largest, is_rounded))
        return;
    factor = _mm512_set1_ps(top / largest);
    for (int64_t i = 0; i < count; i += UNIT, y += UNIT) {
        __mmask16 mask = (__mmask16)(count - i < UNIT ? (1u << (count - i)) - 1 : 0xffff);
        __m512i low = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_maskz_loadu_ps(mask, a + i), factor));

        sums = _mm512_add_epi32(sums, low);
        if (!is_rounded) {
            __m512i middle = _mm512_srai_epi32(_mm512_add_epi32(low, half), 8);
            __m512i high = _mm512_srai_epi32(_mm512_add_epi32(middle, half), 8);

            _mm512_mask_cvtepi32_storeu_epi8(y + 2 * to->stride, mask, low);
            _mm512_mask_cvtepi32_storeu_epi8(y + to->stride, mask, middle);
            low = high;
        }
        _mm512_mask_cvtepi32_storeu_epi8(y, mask, low);
    }
    *to->scale = largest / top;
    *to->sum = _mm512_reduce_add_epi32(sums);
}

ISA_TARGET_avx512 static void round_avx512(void *argument, int64_t begin, int64_t end)
{
    round_rows(argument, begin, end, put_block_avx512);
}
#endif

/* --- Tiles --- */

/* What a tile is the product of: rows from one on by a unit, and by those behind it. */
struct tile {
    const struct kernel_blocks *shape;
    const uint8_t *unit;
    const int8_t *bytes;
    const float *scales;
    const int32_t *sums;
    int64_t blocks, block_bytes, unit_bytes, row_bytes;
    int64_t parts, part_bytes; /* of a row: each is worth 256 of what follows */
    float (*out)[UNIT * 4];    /* of each row */
};

typedef void tile_fn(const struct tile *tile, int rows, int units);

/* Eight lines at most: sums of 16 products of 4 bits by bytes are 16-bit numbers. */
static void add_lines(int32_t *dots, const uint8_t *lines, const int8_t *a, int64_t count)
{
    int16_t sums[LINE] = {0};

    for (int64_t line = 0; line < count; line++, lines += LINE, a += EIGHT) {
        int16_t first[EIGHT], second[EIGHT];

        for (int i = 0; i < EIGHT; i++) {
            first[i] = a[i % 4];
            second[i] = a[4 + i % 4];
        }
        for (int at = 0; at < LINE; at += EIGHT)
            for (int i = 0; i < EIGHT; i++)
                sums[at + i] = (int16_t)(sums[at + i] + (lines[at + i] & 15) * first[i] +
                                         (lines[at + i] >> 4) * second[i]);
    }
    for (int i = 0; i < LINE; i++)
        dots[i / 4] += sums[i];
}

/* One row by one unit. */
static void tile_portable(const struct tile *t, int rows, int units)
{
    int64_t lines = t->shape->size / EIGHT;

    (void)rows; /* one */
    (void)units;
    for (int c = 0; c < UNIT; c++)
        t->out[0][c] = 0.0f;
    for (int64_t b = 0; b < t->blocks; b++) {
        const uint8_t *block = t->unit + b * t->block_bytes;
        const uint8_t *zeros = t->unit + t->blocks * t->block_bytes + b * UNIT;
        const int8_t *a = t->bytes + b * t->shape->size;
        int32_t dots[UNIT] = {0};
        float scales[UNIT];

        for (int64_t part = 0; part < t->parts; part++, a += t->part_bytes) {
            for (int c = 0; c < UNIT; c++)
                dots[c] *= 256;
            for (int64_t line = 0; line < lines; line += EIGHT)
                add_lines(dots, block + line * LINE, a + line * EIGHT,
                          lines - line < EIGHT ? lines - line : EIGHT);
        }
        memcpy(scales, block + lines * LINE, sizeof(scales));
        for (int c = 0; c < UNIT; c++) {
            int32_t zero = t->shape->has_zeros ? zeros[c] : MIDDLE;

            t->out[0][c] += (float)(dots[c] - zero * t->sums[b]) * (scales[c] * t->scales[b]);
        }
    }
}

#if defined(__x86_64__)
#define INLINE(features)                                                                           \
    __attribute__((always_inline)) __attribute__((target(features))) static inline
#define AVX2 "avx2,fma"
#define VNNI "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"

static inline int32_t quad_at(const int8_t *a)
{
    int32_t quad;

    memcpy(&quad, a, sizeof(quad));
    return quad;
}

enum { VNNI_UNITS = 4 };

/* rows * units: at most twelve. All loops over them are unrolled, and what they hold is in registers. */
INLINE(VNNI) void tile_of_vnni(const struct tile *t, int rows, int units)
{
    const __m512i lower = _mm512_set1_epi8(15);
    __m512 sums[TILE_ROWS][VNNI_UNITS];

#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int u = 0; u < units; u++)
            sums[r][u] = _mm512_setzero_ps();
    for (int64_t b = 0; b < t->blocks; b++) {
        const uint8_t *block = t->unit + b * t->block_bytes;
        const uint8_t *zeros = t->unit + t->blocks * t->block_bytes + b * UNIT;
        const int8_t *a = t->bytes + b * t->shape->size;
        __m512i dots[TILE_ROWS][VNNI_UNITS];

#pragma GCC unroll 6
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int u = 0; u < units; u++)
                dots[r][u] = _mm512_setzero_si512();
        for (int64_t part = 0; part < t->parts; part++, a += t->part_bytes) {
            const uint8_t *line = block;

            if (part > 0) {
#pragma GCC unroll 6
                for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
                    for (int u = 0; u < units; u++)
                        dots[r][u] = _mm512_slli_epi32(dots[r][u], 8);
            }
            for (int64_t k = 0; k < t->shape->size; k += EIGHT, line += LINE) {
#pragma GCC unroll 4
                for (int u = 0; u < units; u++) {
                    __m512i both = _mm512_load_si512(line + u * t->unit_bytes);
                    __m512i first = _mm512_and_si512(both, lower);
                    __m512i second = _mm512_and_si512(_mm512_srli_epi16(both, 4), lower);

#pragma GCC unroll 6
                    for (int r = 0; r < rows; r++) {
                        const int8_t *row = a + r * t->row_bytes + k;

                        dots[r][u] =
                            _mm512_dpbusd_epi32(dots[r][u], first, _mm512_set1_epi32(quad_at(row)));
                        dots[r][u] = _mm512_dpbusd_epi32(dots[r][u], second,
                                                         _mm512_set1_epi32(quad_at(row + 4)));
                    }
                }
            }
        }
#pragma GCC unroll 4
        for (int u = 0; u < units; u++) {
            __m512i zero = _mm512_set1_epi32(-MIDDLE);

            if (t->shape->has_zeros)
                zero = _mm512_sub_epi32(_mm512_setzero_si512(),
                                        _mm512_cvtepu8_epi32(_mm_loadu_si128(
                                            (const __m128i *)(zeros + u * t->unit_bytes))));
#pragma GCC unroll 6
            for (int r = 0; r < rows; r++)
                dots[r][u] = _mm512_add_epi32(
                    dots[r][u],
                    _mm512_mullo_epi32(zero, _mm512_set1_epi32(t->sums[r * t->blocks + b])));
        }
        block += t->shape->size / EIGHT * LINE;
#pragma GCC unroll 4
        for (int u = 0; u < units; u++) {
            __m512 scale = _mm512_load_ps(block + u * t->unit_bytes);

#pragma GCC unroll 6
            for (int r = 0; r < rows; r++)
                sums[r][u] = _mm512_fmadd_ps(
                    _mm512_cvtepi32_ps(dots[r][u]),
                    _mm512_mul_ps(scale, _mm512_set1_ps(t->scales[r * t->blocks + b])), sums[r][u]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int u = 0; u < units; u++)
            _mm512_storeu_ps(t->out[r] + u * UNIT, sums[r][u]);
}

#define VNNI_CASE(isa, height)                                                                     \
    case height:                                                                                   \
        if (units == 1)                                                                            \
            tile_of_vnni(t, height, 1);                                                            \
        else if (units == 2)                                                                       \
            tile_of_vnni(t, height, 2);                                                            \
        else                                                                                       \
            tile_of_vnni(t, height, height <= 2 ? VNNI_UNITS : 2);                                 \
        break;

__attribute__((target(VNNI))) static void tile_vnni(const struct tile *t, int rows, int units)
{
    switch (rows) {
        EACH_HEIGHT(VNNI_CASE, vnni)
    default:
        break;
    }
}

/* Two registers are a unit: the products of 4 bits by bytes, of which two are added, fill no 16 bits. */
INLINE(AVX2) void tile_of_avx2(const struct tile *t, int rows)
{
    const __m256i lower = _mm256_set1_epi8(15), ones = _mm256_set1_epi16(1);
    __m256 sums[2][2];

#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        sums[i / 2][i % 2] = _mm256_setzero_ps();
    for (int64_t b = 0; b < t->blocks; b++) {
        const uint8_t *block = t->unit + b * t->block_bytes;
        const uint8_t *zeros = t->unit + t->blocks * t->block_bytes + b * UNIT;
        const int8_t *a = t->bytes + b * t->shape->size;
        __m256i dots[2][2];

#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            dots[i / 2][i % 2] = _mm256_setzero_si256();
        for (int64_t part = 0; part < t->parts; part++, a += t->part_bytes) {
            const uint8_t *line = block;

            if (part > 0) {
#pragma GCC unroll 4
                for (int i = 0; i < 4; i++)
                    dots[i / 2][i % 2] = _mm256_slli_epi32(dots[i / 2][i % 2], 8);
            }
            for (int64_t k = 0; k < t->shape->size; k += EIGHT, line += LINE) {
#pragma GCC unroll 2
                for (int h = 0; h < 2; h++) {
                    __m256i both = _mm256_load_si256((const __m256i *)(line + h * LINE / 2));
                    __m256i first = _mm256_and_si256(both, lower);
                    __m256i second = _mm256_and_si256(_mm256_srli_epi16(both, 4), lower);

#pragma GCC unroll 2
                    for (int r = 0; r < rows; r++) {
                        const int8_t *row = a + r * t->row_bytes + k;
                        __m256i sixteens = _mm256_add_epi16(
                            _mm256_maddubs_epi16(first, _mm256_set1_epi32(quad_at(row))),
                            _mm256_maddubs_epi16(second, _mm256_set1_epi32(quad_at(row + 4))));

                        dots[r][h] =
                            _mm256_add_epi32(dots[r][h], _mm256_madd_epi16(sixteens, ones));
                    }
                }
            }
        }
        block += t->shape->size / EIGHT * LINE;
#pragma GCC unroll 2
        for (int h = 0; h < 2; h++) {
            __m256 scale = _mm256_load_ps((const float *)(const void *)(block + h * LINE / 2));
            __m256i zero = _mm256_set1_epi32(MIDDLE);

            if (t->shape->has_zeros)
                zero =
                    _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(zeros + h * UNIT / 2)));
#pragma GCC unroll 2
            for (int r = 0; r < rows; r++) {
                int64_t at = r * t->blocks + b;
                __m256i off = _mm256_mullo_epi32(zero, _mm256_set1_epi32(t->sums[at]));

                sums[r][h] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(dots[r][h], off)),
                                             _mm256_mul_ps(scale, _mm256_set1_ps(t->scales[at])),
                                             sums[r][h]);
            }
        }
    }
#pragma GCC unroll 2
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int h = 0; h < 2; h++)
            _mm256_storeu_ps(t->out[r] + h * UNIT / 2, sums[r][h]);
}

__attribute__((target(AVX2))) static void tile_avx2(const struct tile *t, int rows, int units)
{
    (void)units; /* one */
    if (rows == 1)
        tile_of_avx2(t, 1);
    else
        tile_of_avx2(t, 2);
}
#endif

/* --- The product --- */

/* A row that holds what is not finite, as float32 multiplies it. */
static void multiply_odd(const struct tile *t, const float *a, int64_t columns, float *y)
{
    const struct kernel_blocks *s = t->shape;

    for (int64_t c = 0; c < columns; c++) {
        const uint8_t *unit = t->unit + c / UNIT * t->unit_bytes;
        const uint8_t *zeros = unit + t->blocks * t->block_bytes + c % UNIT;

        y[c] = 0.0f;
        for (int64_t k = 0; k < s->k; k++) {
            int64_t b = k / s->size, in = k % s->size;
            const uint8_t *block = unit + b * t->block_bytes;
            int quantum = block[in / EIGHT * LINE + c % UNIT * 4 + in % 4] >> (in % EIGHT / 4 * 4);
            float scale;

            memcpy(&scale, block + s->size / EIGHT * LINE + c % UNIT * 4, sizeof(scale));
            y[c] += a[k] *
                    (scale * (float)((quantum & 15) - (s->has_zeros ? zeros[b * UNIT] : MIDDLE)));
        }
    }
}

static void store_rows(const struct job *job, float (*out)[UNIT * 4], int64_t row, int rows,
                       int64_t begin, int64_t columns)
{
    for (int r = 0; r < rows; r++) {
        float *y = job->y + (row + r) * job->shape->n + begin;

        for (int64_t c = 0; c < columns; c++)
            y[c] = out[r][c] + (job->bias ? job->bias[begin + c] : 0.0f);
    }
}

/* Of an instruction set. */
struct steps {
    team_fn *round;
    tile_fn *tile;
    int rows, units; /* of a tile, at most */
    int row_units;   /* of one of one or two rows */
};

struct work {
    struct job job;
    struct steps steps;
    int tile_rows, tile_units;
};

/* Some units by all rows: what is read of them stays in the first cache. */
static void multiply_units(const struct work *work, int64_t first, int64_t units)
{
    const struct kernel_blocks *s = work->job.shape;
    int64_t blocks = blocks_of(s), columns = s->n - first * UNIT;
    float out[TILE_ROWS][UNIT * 4];
    struct tile tile = {
        .shape = s,
        .unit = work->job.packed + first * unit_bytes(s),
        .blocks = blocks,
        .block_bytes = block_bytes(s),
        .unit_bytes = unit_bytes(s),
        .row_bytes = blocks * s->size * parts_of(s),
        .parts = parts_of(s),
        .part_bytes = blocks * s->size,
        .out = out,
    };

    columns = columns < units * UNIT ? columns : units * UNIT;
    for (int64_t row = 0; row < s->m; row += work->tile_rows) {
        int rows = s->m - row < work->tile_rows ? (int)(s->m - row) : work->tile_rows;

        tile.bytes = work->job.rounded.bytes + row * tile.row_bytes;
        tile.scales = work->job.rounded.scales + row * blocks;
        tile.sums = work->job.rounded.sums + row * blocks;
        work->steps.tile(&tile, rows, (int)units);
        for (int r = 0; r < rows; r++)
            if (work->job.rounded.is_odd[row + r])
                multiply_odd(&tile, work->job.a + (row + r) * s->k, columns, out[r]);
        store_rows(&work->job, out, row, rows, first * UNIT, columns);
    }
}

static void multiply_part(void *argument, int64_t begin, int64_t end)
{
    const struct work *work = argument;
    int64_t all = units_of(work->job.shape);

    for (int64_t i = begin; i < end; i++) {
        int64_t first = i * work->tile_units, left = all - first;

        /* Tiles have one, two or as many as they can have. */
        while (left > 0 && first < (i + 1) * work->tile_units) {
            int64_t units = left >= work->tile_units && first == i * work->tile_units
                                ? work->tile_units
                            : left >= 2 && work->tile_units >= 2 ? 2
                                                                 : 1;

            multiply_units(work, first, units);
            first += units;
            left -= units;
        }
    }
}

static int64_t grain_of(int64_t each)
{
    return each >= WORK ? 1 : WORK / (each > 0 ? each : 1) + 1;
}

static void run(const struct job *job, const struct steps *steps, void *workspace)
{
    const struct kernel_blocks *s = job->shape;
    struct work work = {.job = *job, .steps = *steps};
    int64_t groups;

    make_rounded(s, workspace, &work.job.rounded);
    work.tile_rows = s->m < steps->rows ? (int)s->m : steps->rows;
    work.tile_units = work.tile_rows <= 2 ? steps->row_units : steps->units;
    groups = (units_of(s) + work.tile_units - 1) / work.tile_units;
    team_for(s->m, grain_of(s->k * UNIT), steps->round, &work.job);
    team_for(groups, grain_of(s->m * s->k * parts_of(s) * UNIT * work.tile_units / 4),
             multiply_part, &work);
}

static void multiply_portable(float *y, const float *a, const void *packed, const float *bias,
                              const struct kernel_blocks *shape, void *workspace)
{
    run(&(struct job){.shape = shape, .packed = packed, .a = a, .bias = bias, .y = y},
        &(struct steps){round_portable, tile_portable, 1, 1, 1}, workspace);
}

#if defined(__x86_64__)
static void multiply_avx2(float *y, const float *a, const void *packed, const float *bias,
                          const struct kernel_blocks *shape, void *workspace)
{
    run(&(struct job){.shape = shape, .packed = packed, .a = a, .bias = bias, .y = y},
        &(struct steps){round_avx2, tile_avx2, 2, 1, 1}, workspace);
}

static void multiply_vnni(float *y, const float *a, const void *packed, const float *bias,
                          const struct kernel_blocks *shape, void *workspace)
{
    run(&(struct job){.shape = shape, .packed = packed, .a = a, .bias = bias, .y = y},
        &(struct steps){round_avx512, tile_vnni, TILE_ROWS, 2, VNNI_UNITS}, workspace);
}
#endif

product_blocks_fn *kernel_product_blocks(enum kernel_level level, const char **out_version)
{
    *out_version = "ref";
    if (level == KERNEL_LEVEL_REF)
        return NULL;
#if defined(__x86_64__)
    *out_version = "vnni";
    if (level >= KERNEL_LEVEL_AVX512 && __builtin_cpu_supports("avx512vnni"))
        return multiply_vnni;
    *out_version = "avx2";
    if (level >= KERNEL_LEVEL_AVX2)
        return multiply_avx2;
#endif
    *out_version = "portable";
    return multiply_portable;
}

bool kernel_blocks_pay(void)
{
#if defined(__x86_64__)
    return kernel_best_level() >= KERNEL_LEVEL_AVX512 && __builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

bool kernel_blocks_yield_to_bf16(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}
