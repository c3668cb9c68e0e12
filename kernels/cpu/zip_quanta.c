/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and products of quanta, as quanta. Signed bytes become unsigned ones, and their zeros follow them. Sums in
 * y's quanta are a * k + b * m + c, products (a - zero) * (b - zero) * k, and either is a * k + c where b
 * stands still. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/broadcast_join.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { GRAIN = 1 << 16 };

/* What is done with a line of bytes, all of them unsigned after `flip`s. */
struct line {
    float a_zero, b_zero; /* of products */
    float k, m, c;
    int32_t zero; /* of y */
    uint8_t a_flip, b_flip, y_flip;
};

struct walk {
    uint8_t *y;
    const uint8_t *a, *b;
    const struct kernel_zip_quanta *args;
    struct kernel_broadcast shape; /* joined */
};

static uint8_t flip_of(const struct kernel_quanta *q)
{
    return q->is_signed ? 0x80 : 0;
}

static int32_t zero_of(const struct kernel_quanta *q)
{
    return q->zero + (q->is_signed ? 128 : 0);
}

static uint8_t to_byte(float number, const struct line *l)
{
    long rounded = lrintf(number) + l->zero;

    return (uint8_t)(rounded < 0 ? 0 : rounded > 255 ? 255 : rounded) ^ l->y_flip;
}

/* What becomes of the numbers a and b, by the line's kind. */
#define SUM(a, b)     FMA(a, k, FMA(b, m, c))
#define PRODUCT(a, b) TIMES(TIMES(LESS(a, a_zero), LESS(b, b_zero)), k)
#define SCALED(a, b)  FMA(a, k, c)

typedef void line_fn(uint8_t *y, const uint8_t *a, const uint8_t *b, int64_t count,
                     const struct line *l);

#define FMA(a, b, c) ((a) * (b) + (c))
#define TIMES(a, b)  ((a) * (b))
#define LESS(a, b)   ((a) - (b))

#define PORTABLE(name, OF)                                                                         \
    static void name##_portable(uint8_t *y, const uint8_t *a, const uint8_t *b, int64_t count,     \
                                const struct line *l)                                              \
    {                                                                                              \
        const float a_zero = l->a_zero, b_zero = l->b_zero, k = l->k, m = l->m, c = l->c;          \
                                                                                                   \
        (void)a_zero, (void)b_zero, (void)m, (void)c;                                              \
        for (int64_t i = 0; i < count; i++) {                                                      \
            float first = (float)(a[i] ^ l->a_flip), second = (float)(b[i] ^ l->b_flip);           \
                                                                                                   \
            (void)second;                                                                          \
            y[i] = to_byte(OF(first, second), l);                                                  \
        }                                                                                          \
    }

PORTABLE(sums, SUM)
PORTABLE(products, PRODUCT)
PORTABLE(scaled, SCALED)
#undef FMA
#undef TIMES
#undef LESS

#if defined(__x86_64__)

/* Four registers of integers, whose bytes packing leaves in the wrong order. */
ISA_TARGET_avx2 static inline void put_avx2(uint8_t *y, const __m256i *x, __m256i zero,
                                            __m256i flip)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i low = _mm256_adds_epi16(_mm256_packs_epi32(x[0], x[1]), zero);
    __m256i high = _mm256_adds_epi16(_mm256_packs_epi32(x[2], x[3]), zero);
    __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);

    _mm256_storeu_si256((void *)y, _mm256_xor_si256(bytes, flip));
}

ISA_TARGET_avx512 static inline void put_avx512(uint8_t *y, const __m512i *x, __m512i zero,
                                                __m512i flip)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(x[0], x[1]), zero);
    __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(x[2], x[3]), zero);
    __m512i bytes = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(low, high));

    _mm512_storeu_si512((void *)y, _mm512_xor_si512(bytes, flip));
}

ISA_TARGET_avx2 static inline __m256 take_avx2(const uint8_t *x, __m128i flip)
{
    return _mm256_cvtepi32_ps(
        _mm256_cvtepu8_epi32(_mm_xor_si128(_mm_loadl_epi64((const void *)x), flip)));
}

ISA_TARGET_avx512 static inline __m512 take_avx512(const uint8_t *x, __m128i flip)
{
    return _mm512_cvtepi32_ps(
        _mm512_cvtepu8_epi32(_mm_xor_si128(_mm_loadu_si128((const void *)x), flip)));
}

/* `count` bytes by blocks of four registers; the last ones by way of a block. */
#define LINE(name, OF, isa, bits)                                                                  \
    ISA_TARGET_##isa static void name##_##isa(uint8_t *y, const uint8_t *a, const uint8_t *b,      \
                                              int64_t count, const struct line *l)                 \
    {                                                                                              \
        enum { BLOCK = (bits) / 8, LANES = (bits) / 32 };                                          \
        const __m##bits a_zero = _mm##bits##_set1_ps(l->a_zero), k = _mm##bits##_set1_ps(l->k);    \
        const __m##bits b_zero = _mm##bits##_set1_ps(l->b_zero), m = _mm##bits##_set1_ps(l->m);    \
        const __m##bits c = _mm##bits##_set1_ps(l->c);                                             \
        const __m##bits##i zero = _mm##bits##_set1_epi16((short)l->zero);                          \
        const __m##bits##i y_flip = _mm##bits##_set1_epi8((char)l->y_flip);                        \
        const __m128i a_flip = _mm_set1_epi8((char)l->a_flip);                                     \
        const __m128i b_flip = _mm_set1_epi8((char)l->b_flip);                                     \
        uint8_t ends[3][BLOCK] = {{0}}, *left = NULL;                                              \
                                                                                                   \
        (void)a_zero, (void)b_zero, (void)m, (void)c;                                              \
        for (; count > 0; count -= BLOCK, y += BLOCK, a += BLOCK, b += BLOCK) {                    \
            __m##bits##i sums[4];                                                                  \
                                                                                                   \
            if (count < BLOCK) {                                                                   \
                memcpy(ends[0], a, (size_t)count);                                                 \
                memcpy(ends[1], b, (size_t)count);                                                 \
                left = y, y = ends[2], a = ends[0], b = ends[1];                                   \
            }                                                                                      \
            for (int i = 0; i < 4; i++) {                                                          \
                __m##bits first = take_##isa(a + i * LANES, a_flip);                               \
                __m##bits second = take_##isa(b + i * LANES, b_flip);                              \
                                                                                                   \
                (void)second;                                                                      \
                sums[i] = _mm##bits##_cvtps_epi32(OF(first, second));                              \
            }                                                                                      \
            put_##isa(y, sums, zero, y_flip);                                                      \
            if (left) {                                                                            \
                memcpy(left, ends[2], (size_t)count);                                              \
                break;                                                                             \
            }                                                                                      \
        }                                                                                          \
    }

#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define TIMES(a, b)  _mm256_mul_ps(a, b)
#define LESS(a, b)   _mm256_sub_ps(a, b)
LINE(sums, SUM, avx2, 256)
LINE(products, PRODUCT, avx2, 256)
LINE(scaled, SCALED, avx2, 256)
#undef FMA
#undef TIMES
#undef LESS
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define TIMES(a, b)  _mm512_mul_ps(a, b)
#define LESS(a, b)   _mm512_sub_ps(a, b)
LINE(sums, SUM, avx512, 512)
LINE(products, PRODUCT, avx512, 512)
LINE(scaled, SCALED, avx512, 512)

#endif

/* A line whose b is one byte; swapped: whose a is, and x is b. */
static void fix_one(struct line *l, const struct kernel_zip_quanta *args, uint8_t byte,
                    bool is_swapped)
{
    const struct kernel_quanta *x = is_swapped ? &args->b : &args->a;
    const struct kernel_quanta *one = is_swapped ? &args->a : &args->b;
    double number = (double)one->scale * ((byte ^ flip_of(one)) - zero_of(one));
    double k = (double)x->scale / (double)args->y.scale;

    l->a_flip = flip_of(x);
    l->b_flip = 0;
    k *= args->is_product ? number : 1.0;
    l->k = (float)k;
    l->c =
        (float)((args->is_product ? 0.0 : number / (double)args->y.scale) - (double)zero_of(x) * k);
}

static void set_both(struct line *l, const struct kernel_zip_quanta *args)
{
    double k = (double)args->a.scale / (double)args->y.scale;
    double m = (double)args->b.scale / (double)args->y.scale;

    l->a_zero = (float)zero_of(&args->a);
    l->b_zero = (float)zero_of(&args->b);
    l->a_flip = flip_of(&args->a);
    l->b_flip = flip_of(&args->b);
    l->k = (float)(args->is_product ? k * (double)args->b.scale : k);
    l->m = (float)m;
    l->c = (float)(-k * zero_of(&args->a) - m * zero_of(&args->b));
}

struct kinds {
    line_fn *sums, *products, *scaled;
};

/* Results [begin, end). */
static void do_walk(const struct walk *w, int64_t begin, int64_t end, const struct kinds *kinds)
{
    const struct kernel_zip_quanta *args = w->args;
    const struct kernel_broadcast *s = &w->shape;
    int inner = s->rank - 1;
    int64_t line = s->dims[inner], a_step = s->a_stride[inner], b_step = s->b_stride[inner];
    struct line l = {.zero = zero_of(&args->y), .y_flip = flip_of(&args->y)};

    set_both(&l, args);
    while (begin < end) {
        int64_t rest = begin / line, first = begin % line;
        int64_t count = line - first < end - begin ? line - first : end - begin;
        const uint8_t *a = w->a + first * a_step, *b = w->b + first * b_step;

        for (int i = inner - 1; i >= 0; rest /= s->dims[i--]) {
            a += rest % s->dims[i] * s->a_stride[i];
            b += rest % s->dims[i] * s->b_stride[i];
        }
        if (a_step == 1 && b_step == 1) {
            (args->is_product ? kinds->products : kinds->sums)(w->y + begin, a, b, count, &l);
        } else {
            const uint8_t *x = b_step == 0 ? a : b;

            fix_one(&l, args, b_step == 0 ? *b : *a, b_step != 0);
            count = a_step == b_step ? 1 : count; /* both stand still */
            kinds->scaled(w->y + begin, x, x, count, &l);
        }
        begin += count;
    }
}

#define ZIP(isa)                                                                                   \
    static void do_walk_##isa(void *argument, int64_t begin, int64_t end)                          \
    {                                                                                              \
        static const struct kinds kinds = {sums_##isa, products_##isa, scaled_##isa};              \
                                                                                                   \
        do_walk(argument, begin, end, &kinds);                                                     \
    }                                                                                              \
                                                                                                   \
    void zip_quanta_##isa(void *y, const void *a, const void *b,                                   \
                          const struct kernel_zip_quanta *args)                                    \
    {                                                                                              \
        struct walk w = {y, a, b, args, broadcast_join(&args->shape)};                             \
        int64_t count = 1;                                                                         \
                                                                                                   \
        for (int i = 0; i < w.shape.rank; i++)                                                     \
            count *= w.shape.dims[i];                                                              \
        team_for(count, GRAIN, do_walk_##isa, &w);                                                 \
    }

ISA_VERSIONS(ZIP)
