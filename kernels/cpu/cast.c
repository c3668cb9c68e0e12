/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between float32 and what tensors are stored in to save memory: half precision, by the
 * instructions for it (F16C), and bfloat16; conversions between these and other types by way of it, and those that C
 * knows. The others are the reference's. */
#include <float.h>
#include <string.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    BLOCK = 32,
    BLOCK_OF_HALVES = 512,
    GRAIN = 1 << 16, /* elements that are worth a second thread */
};

struct cast {
    void *y;
    const void *x;
    enum kernel_dtype to; /* of what is narrowed, and the largest number of that type */
    float most;
    team_fn *first, *second; /* of a conversion by way of f32 */
    size_t x_bytes, y_bytes;
};

/* --- bfloat16: the upper half of a float. --- */

ISA_BODY void widen_brain(float *y, const uint16_t *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)x[i] << 16;

        memcpy(&y[i], &bits, sizeof(bits));
    }
}

/* To nearest, ties to even; a NaN stays one. */
ISA_BODY void narrow_brain(uint16_t *y, const float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits, rounded;

        memcpy(&bits, &x[i], sizeof(bits));
        rounded = bits + 0x7fff + (bits >> 16 & 1);
        y[i] = (uint16_t)((bits & INT32_MAX) > 0x7f800000 ? bits >> 16 | 0x40 : rounded >> 16);
    }
}

/* Finite numbers stay so in a type whose largest number this is. */
ISA_BODY void saturate(float *restrict y, const float *restrict x, int64_t count, float most)
{
    for (int64_t i = 0; i < count; i++) {
        float size = __builtin_fabsf(x[i]);
        float least = __builtin_copysignf(most, x[i]);

        y[i] = ((size > most) & (size <= FLT_MAX)) ? least : x[i];
    }
}

/* --- Half precision. --- */

static void widen_half_portable(float *y, const uint16_t *x, int64_t count)
{
    cast_ref(y, KERNEL_F32, x, KERNEL_F16, (size_t)count);
}

static void narrow_half_portable(uint16_t *y, const float *x, int64_t count)
{
    cast_ref(y, KERNEL_F16, x, KERNEL_F32, (size_t)count);
}

#if defined(__x86_64__)
/* The last elements, fewer than `lanes`, go through a whole register, too. */
#define HALF(isa, features, lanes, load_half, store_half, load, store, widen, narrow)              \
    __attribute__((target(features))) static void widen_half_##isa(float *y, const uint16_t *x,    \
                                                                   int64_t count)                  \
    {                                                                                              \
        int64_t whole = count / (lanes) * (lanes), rest = count - whole;                           \
        uint16_t last_x[lanes] = {0};                                                              \
        float last_y[lanes];                                                                       \
                                                                                                   \
        for (int64_t i = 0; i < whole; i += (lanes))                                               \
            store(y + i, widen(load_half((const void *)(x + i))));                                 \
        if (rest == 0)                                                                             \
            return;                                                                                \
        memcpy(last_x, x + whole, (size_t)rest * sizeof(*x));                                      \
        store(last_y, widen(load_half((const void *)last_x)));                                     \
        memcpy(y + whole, last_y, (size_t)rest * sizeof(*y));                                      \
    }                                                                                              \
                                                                                                   \
    __attribute__((target(features))) static void narrow_half_##isa(uint16_t *y, const float *x,   \
                                                                    int64_t count)                 \
    {                                                                                              \
        int64_t whole = count / (lanes) * (lanes), rest = count - whole;                           \
        float last_x[lanes] = {0};                                                                 \
        uint16_t last_y[lanes];                                                                    \
                                                                                                   \
        for (int64_t i = 0; i < whole; i += (lanes))                                               \
            store_half((void *)(y + i), narrow(load(x + i), _MM_FROUND_TO_NEAREST_INT));           \
        if (rest == 0)                                                                             \
            return;                                                                                \
        memcpy(last_x, x + whole, (size_t)rest * sizeof(*x));                                      \
        store_half((void *)last_y, narrow(load(last_x), _MM_FROUND_TO_NEAREST_INT));               \
        memcpy(y + whole, last_y, (size_t)rest * sizeof(*y));                                      \
    }

HALF(avx2, "avx2,f16c", 8, _mm_loadu_si128, _mm_storeu_si128, _mm256_loadu_ps, _mm256_storeu_ps,
     _mm256_cvtph_ps, _mm256_cvtps_ph)
HALF(avx512, "avx2,f16c,avx512f", 16, _mm256_loadu_si256, _mm256_storeu_si256, _mm512_loadu_ps,
     _mm512_storeu_ps, _mm512_cvtph_ps, _mm512_cvtps_ph)
#endif

/* --- Other types: what C converts, and saturates where C says nothing. --- */

#define SAME(x)  (x)
#define TRUTH(x) ((x) != 0)
#define TO_I64(x)                                                                                  \
    ((x) != (x) ? 0 : (x) >= 0x1p63f ? INT64_MAX : (x) <= -0x1p63f ? INT64_MIN : (int64_t)(x))
#define TO_I32(x)                                                                                  \
    ((x) != (x) ? 0 : (x) >= 0x1p31f ? INT32_MAX : (x) <= -0x1p31f ? INT32_MIN : (int32_t)(x))

/* To a type that int32 holds: a minimum and a maximum of floats, which vectors have. */
#define TO_NARROW(x, least, most)                                                                  \
    ((int32_t)((x) != (x) ? 0 : (x) < (least) ? (least) : (x) > (most) ? (most) : (x)))
#define TO_U8(x)  TO_NARROW(x, 0, UINT8_MAX)
#define TO_I8(x)  TO_NARROW(x, INT8_MIN, INT8_MAX)
#define TO_U16(x) TO_NARROW(x, 0, UINT16_MAX)
#define TO_I16(x) TO_NARROW(x, INT16_MIN, INT16_MAX)

#define CONVERT(from, to, x_type, y_type, op, isa)                                                 \
    ISA_TARGET_##isa static void from##_to_##to##_##isa(void *argument, int64_t begin,             \
                                                        int64_t end)                               \
    {                                                                                              \
        const struct cast *c = argument;                                                           \
        y_type *restrict y = c->y;                                                                 \
        const x_type *restrict x = c->x;                                                           \
                                                                                                   \
        for (int64_t i = begin; i < end; i++)                                                      \
            y[i] = (y_type)op(x[i]);                                                               \
    }

/* Without AVX-512 nothing but int32 comes of a vector of floats: most numbers are within its range. */
#define FLOAT_TO_I64(isa)                                                                          \
    ISA_TARGET_##isa static void F32_to_I64_##isa(void *argument, int64_t begin, int64_t end)      \
    {                                                                                              \
        const struct cast *c = argument;                                                           \
        int64_t *restrict y = c->y;                                                                \
        const float *restrict x = c->x;                                                            \
                                                                                                   \
        for (; begin + BLOCK <= end; begin += BLOCK) {                                             \
            int is_wide = 0;                                                                       \
                                                                                                   \
            _Pragma("omp simd reduction(| : is_wide)") for (int64_t i = 0; i < BLOCK; i++)         \
                is_wide |= !(x[begin + i] > -0x1p31f && x[begin + i] < 0x1p31f);                   \
            if (is_wide)                                                                           \
                for (int64_t i = begin; i < begin + BLOCK; i++)                                    \
                    y[i] = TO_I64(x[i]);                                                           \
            else                                                                                   \
                _Pragma("omp simd") for (int64_t i = 0; i < BLOCK; i++) y[begin + i] =             \
                    (int32_t)x[begin + i];                                                         \
        }                                                                                          \
        for (; begin < end; begin++)                                                               \
            y[begin] = TO_I64(x[begin]);                                                           \
    }

/* To a float that is rounded once when it is rounded again to fewer bits: towards 0, its last bit set when something was
 * cut off. */
ISA_BODY float odd_float(double x)
{
    float y = (float)x;
    uint32_t bits;

    memcpy(&bits, &y, sizeof(bits));
    bits -= __builtin_fabs((double)y) > __builtin_fabs(x);
    bits |= (double)y != x;
    memcpy(&y, &bits, sizeof(y));
    return y;
}

/* X(from, to, x_type, y_type, op, isa): what has a loop of its own. */
#define CONVERSIONS(X, isa)                                                                        \
    X(U8, BOOL, uint8_t, uint8_t, TRUTH, isa)                                                      \
    X(U8, U16, uint8_t, uint16_t, SAME, isa)                                                       \
    X(U8, I16, uint8_t, int16_t, SAME, isa)                                                        \
    X(U8, I32, uint8_t, int32_t, SAME, isa)                                                        \
    X(U8, I64, uint8_t, int64_t, SAME, isa)                                                        \
    X(U8, F32, uint8_t, float, SAME, isa)                                                          \
    X(U8, F64, uint8_t, double, SAME, isa)                                                         \
    X(I8, BOOL, int8_t, uint8_t, TRUTH, isa)                                                       \
    X(I8, I32, int8_t, int32_t, SAME, isa)                                                         \
    X(I8, I64, int8_t, int64_t, SAME, isa)                                                         \
    X(I8, F32, int8_t, float, SAME, isa)                                                           \
    X(I8, F64, int8_t, double, SAME, isa)                                                          \
    X(U16, I32, uint16_t, int32_t, SAME, isa)                                                      \
    X(U16, I64, uint16_t, int64_t, SAME, isa)                                                      \
    X(U16, F32, uint16_t, float, SAME, isa)                                                        \
    X(I16, I32, int16_t, int32_t, SAME, isa)                                                       \
    X(I16, I64, int16_t, int64_t, SAME, isa)                                                       \
    X(I16, F32, int16_t, float, SAME, isa)                                                         \
    X(I32, BOOL, int32_t, uint8_t, TRUTH, isa)                                                     \
    X(I32, U8, int32_t, uint8_t, SAME, isa)                                                        \
    X(I32, I8, int32_t, int8_t, SAME, isa)                                                         \
    X(I32, I16, int32_t, int16_t, SAME, isa)                                                       \
    X(I32, I64, int32_t, int64_t, SAME, isa)                                                       \
    X(I32, F32, int32_t, float, SAME, isa)                                                         \
    X(I32, F64, int32_t, double, SAME, isa)                                                        \
    X(I64, BOOL, int64_t, uint8_t, TRUTH, isa)                                                     \
    X(I64, U8, int64_t, uint8_t, SAME, isa)                                                        \
    X(I64, I8, int64_t, int8_t, SAME, isa)                                                         \
    X(I64, I16, int64_t, int16_t, SAME, isa)                                                       \
    X(I64, I32, int64_t, int32_t, SAME, isa)                                                       \
    X(I64, F32, int64_t, float, SAME, isa)                                                         \
    X(I64, F64, int64_t, double, SAME, isa)                                                        \
    X(F32, BOOL, float, uint8_t, TRUTH, isa)                                                       \
    X(F32, U8, float, uint8_t, TO_U8, isa)                                                         \
    X(F32, I8, float, int8_t, TO_I8, isa)                                                          \
    X(F32, U16, float, uint16_t, TO_U16, isa)                                                      \
    X(F32, I16, float, int16_t, TO_I16, isa)                                                       \
    X(F32, I32, float, int32_t, TO_I32, isa)                                                       \
    X(F32, F64, float, double, SAME, isa)                                                          \
    X(F64, BOOL, double, uint8_t, TRUTH, isa)                                                      \
    X(F64, U8, double, uint8_t, TO_U8, isa)                                                        \
    X(F64, I8, double, int8_t, TO_I8, isa)                                                         \
    X(F64, I32, double, int32_t, TO_I32, isa)                                                      \
    X(F64, I64, double, int64_t, TO_I64, isa)                                                      \
    X(F64, F32, double, float, SAME, isa)

#define CONVERTS(isa)                                                                              \
    CONVERSIONS(CONVERT, isa)                                                                      \
    CONVERT(I32, ODD, int32_t, float, odd_float, isa)                                              \
    CONVERT(F64, ODD, double, float, odd_float, isa)                                               \
    FLOAT_TO_I64(isa)
#define CONVERT_PART(from, to, x_type, y_type, op, isa)                                            \
    [KERNEL_##from][KERNEL_##to] = from##_to_##to##_##isa,

/* --- Reals to integers of up to 32 bits: what is too large is made smaller before, and what is too small is the least
 * number already, as is a NaN, which is taken for 0. Compilers make masks of each comparison. --- */

#define saturated_portable(from, to) NULL
#define saturated_avx2(from, to)     NULL
#if defined(__x86_64__)
#define AVX512 __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")))

#define SATURATED(from, to, x_type, y_type, lanes, numbers, number, store)                         \
    AVX512 static void saturated_##from##_to_##to(void *argument, int64_t begin, int64_t end)      \
    {                                                                                              \
        const struct cast *c = argument;                                                           \
        y_type *y = c->y;                                                                          \
        const x_type *x = c->x;                                                                    \
                                                                                                   \
        for (; begin + (lanes) <= end; begin += (lanes))                                           \
            store((void *)(y + begin), numbers(x + begin));                                        \
        for (; begin < end; begin++)                                                               \
            y[begin] = (y_type)number(x[begin]);                                                   \
    }

AVX512 static inline __m256i numbers_of_f64(const double *from)
{
    __m512d x = _mm512_loadu_pd(from);
    __mmask8 is_number = _mm512_cmp_pd_mask(x, x, _CMP_ORD_Q);

    return _mm512_maskz_cvttpd_epi32(is_number, _mm512_min_pd(x, _mm512_set1_pd(INT32_MAX)));
}

/* The largest float below 2^31 is enough for what is narrowed further. */
AVX512 static inline __m512i numbers_of_f32(const float *from)
{
    __m512 x = _mm512_loadu_ps(from);
    __mmask16 is_number = _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q);

    return _mm512_maskz_cvttps_epi32(is_number, _mm512_min_ps(x, _mm512_set1_ps(0x1.fffffep+30f)));
}

AVX512 static inline void store_i8_of_f64(void *y, __m256i numbers)
{
    _mm_storel_epi64(y, _mm256_cvtsepi32_epi8(numbers));
}

AVX512 static inline void store_u8_of_f64(void *y, __m256i numbers)
{
    numbers = _mm256_max_epi32(numbers, _mm256_setzero_si256());
    _mm_storel_epi64(y, _mm256_cvtusepi32_epi8(numbers));
}

AVX512 static inline void store_i8_of_f32(void *y, __m512i numbers)
{
    _mm_storeu_si128(y, _mm512_cvtsepi32_epi8(numbers));
}

AVX512 static inline void store_u8_of_f32(void *y, __m512i numbers)
{
    numbers = _mm512_max_epi32(numbers, _mm512_setzero_si512());
    _mm_storeu_si128(y, _mm512_cvtusepi32_epi8(numbers));
}

SATURATED(F64, I32, double, int32_t, 8, numbers_of_f64, TO_I32, _mm256_storeu_si256)
SATURATED(F64, I8, double, int8_t, 8, numbers_of_f64, TO_I8, store_i8_of_f64)
SATURATED(F64, U8, double, uint8_t, 8, numbers_of_f64, TO_U8, store_u8_of_f64)
SATURATED(F32, I8, float, int8_t, 16, numbers_of_f32, TO_I8, store_i8_of_f32)
SATURATED(F32, U8, float, uint8_t, 16, numbers_of_f32, TO_U8, store_u8_of_f32)

static team_fn *saturated_avx512(enum kernel_dtype from, enum kernel_dtype to)
{
    if (from == KERNEL_F64)
        return to == KERNEL_I32  ? saturated_F64_to_I32
               : to == KERNEL_I8 ? saturated_F64_to_I8
               : to == KERNEL_U8 ? saturated_F64_to_U8
                                 : NULL;
    if (from == KERNEL_F32)
        return to == KERNEL_I8 ? saturated_F32_to_I8 : to == KERNEL_U8 ? saturated_F32_to_U8 : NULL;
    return NULL;
}
#endif

/* Whether what f32 makes of it is what becomes of it in one step. Integers that f32 does not hold are beyond float16, but
 * not beyond bfloat16. */
static bool has_way(enum kernel_dtype from, enum kernel_dtype to)
{
    bool is_half = from == KERNEL_F16 || from == KERNEL_BF16;

    return is_half || to == KERNEL_F16 || (to == KERNEL_BF16 && from != KERNEL_I64);
}

/* Of bytes nothing changes but what they are called; a bool is 0 or 1. */
static bool is_same_byte(enum kernel_dtype from, enum kernel_dtype to)
{
    return (from == KERNEL_U8 || from == KERNEL_I8 || from == KERNEL_BOOL) &&
           (to == KERNEL_U8 || to == KERNEL_I8);
}

/* --- The versions. --- */

#define CAST(isa)                                                                                  \
    CONVERTS(isa)                                                                                  \
                                                                                                   \
    static void half_to_float_##isa(void *argument, int64_t begin, int64_t end)                    \
    {                                                                                              \
        const struct cast *c = argument;                                                           \
                                                                                                   \
        widen_half_##isa((float *)c->y + begin, (const uint16_t *)c->x + begin, end - begin);      \
    }                                                                                              \
                                                                                                   \
    static void float_to_half_##isa(void *argument, int64_t begin, int64_t end)                    \
    {                                                                                              \
        const struct cast *c = argument;                                                           \
                                                                                                   \
        narrow_half_##isa((uint16_t *)c->y + begin, (const float *)c->x + begin, end - begin);     \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void brain_to_float_##isa(void *argument, int64_t begin, int64_t end)  \
    {                                                                                              \
        const struct cast *c = argument;                                                           \
                                                                                                   \
        widen_brain((float *)c->y + begin, (const uint16_t *)c->x + begin, end - begin);           \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void float_to_brain_##isa(void *argument, int64_t begin, int64_t end)  \
    {                                                                                              \
        const struct cast *c = argument;                                                           \
                                                                                                   \
        narrow_brain((uint16_t *)c->y + begin, (const float *)c->x + begin, end - begin);          \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void narrow_part_##isa(void *argument, int64_t begin, int64_t end)     \
    {                                                                                              \
        const struct cast *c = argument;                                                           \
        float block[BLOCK_OF_HALVES];                                                              \
                                                                                                   \
        while (begin < end) {                                                                      \
            int64_t count = end - begin < BLOCK_OF_HALVES ? end - begin : BLOCK_OF_HALVES;         \
                                                                                                   \
            saturate(block, (const float *)c->x + begin, count, c->most);                          \
            if (c->to == KERNEL_F16)                                                               \
                narrow_half_##isa((uint16_t *)c->y + begin, block, count);                         \
            else                                                                                   \
                narrow_brain((uint16_t *)c->y + begin, block, count);                              \
            begin += count;                                                                        \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    void narrow_##isa(void *y, enum kernel_dtype to, const float *x, size_t count)                 \
    {                                                                                              \
        struct cast c = {y, x, to, to == KERNEL_F16 ? 0x1.ffcp15f : 0x1.fep127f};                  \
                                                                                                   \
        team_for((int64_t)count, GRAIN, narrow_part_##isa, &c);                                    \
    }                                                                                              \
                                                                                                   \
    static void by_way_part_##isa(void *argument, int64_t begin, int64_t end)                      \
    {                                                                                              \
        const struct cast *c = argument;                                                           \
        float block[BLOCK_OF_HALVES];                                                              \
                                                                                                   \
        while (begin < end) {                                                                      \
            int64_t count = end - begin < BLOCK_OF_HALVES ? end - begin : BLOCK_OF_HALVES;         \
            struct cast there = {.y = block,                                                       \
                                 .x = (const char *)c->x + (size_t)begin * c->x_bytes};            \
            struct cast back = {.y = (char *)c->y + (size_t)begin * c->y_bytes, .x = block};       \
                                                                                                   \
            c->first(&there, 0, count);                                                            \
            c->second(&back, 0, count);                                                            \
            begin += count;                                                                        \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    void cast_##isa(void *y, enum kernel_dtype to, const void *x, enum kernel_dtype from,          \
                    size_t count)                                                                  \
    {                                                                                              \
        static team_fn *const parts[KERNEL_DTYPES][KERNEL_DTYPES] = {                              \
            CONVERSIONS(CONVERT_PART, isa)[KERNEL_F32][KERNEL_I64] = F32_to_I64_##isa,             \
            [KERNEL_F16][KERNEL_F32] = half_to_float_##isa,                                        \
            [KERNEL_F32][KERNEL_F16] = float_to_half_##isa,                                        \
            [KERNEL_BF16][KERNEL_F32] = brain_to_float_##isa,                                      \
            [KERNEL_F32][KERNEL_BF16] = float_to_brain_##isa,                                      \
        };                                                                                         \
        enum kernel_dtype stored = from == KERNEL_BOOL ? KERNEL_U8 : from;                         \
        struct cast c = {.y = y,                                                                   \
                         .x = x,                                                                   \
                         .first = parts[stored][KERNEL_F32],                                       \
                         .second = parts[KERNEL_F32][to],                                          \
                         .x_bytes = kernel_dtype_bytes(from),                                      \
                         .y_bytes = kernel_dtype_bytes(to)};                                       \
        team_fn *saturated = saturated_##isa(stored, to);                                          \
        team_fn *part = saturated ? saturated : parts[stored][to];                                 \
                                                                                                   \
        if (from == KERNEL_F64)                                                                    \
            c.first = F64_to_ODD_##isa;                                                            \
        else if (from == KERNEL_I32 && to == KERNEL_BF16)                                          \
            c.first = I32_to_ODD_##isa;                                                            \
        if (!part && has_way(from, to) && c.first && c.second)                                     \
            part = by_way_part_##isa;                                                              \
        if (count > 0 && (from == to || is_same_byte(from, to)))                                   \
            memcpy(y, x, count *kernel_dtype_bytes(to));                                           \
        else if (part)                                                                             \
            team_for((int64_t)count, GRAIN, part, &c);                                             \
        else                                                                                       \
            cast_ref(y, to, x, from, count);                                                       \
    }

ISA_VERSIONS(CAST)
