/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of one operand that are worth a vector, in f32, and some in f64. The others are the
 * reference's. */
#include "kernels/cpu/functions.h"
#include "kernels/cpu/functions_wide.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/map_whole.h"
#include "kernels/cpu/math_f64.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

struct map {
    float *y;
    const float *x;
    float a, b;
    double bias, limit;   /* of Shrink; as they are, a and b */
    uint16_t plus, minus; /* infinities that count, in half precision */
};

enum { GRAIN = 1 << 14 };

#define MAP(kind, name, isa)                                                                       \
    ISA_TARGET_##isa static void name##_part_##isa(void *argument, int64_t begin, int64_t end)     \
    {                                                                                              \
        const struct map *m = argument;                                                            \
        float *y = m->y, a = m->a, b = m->b;                                                       \
        const float *x = m->x;                                                                     \
                                                                                                   \
        _Pragma("omp simd") for (int64_t i = begin; i < end; i++) y[i] = map_##name(x[i], a, b);   \
    }

/* Of other types, of x[i], a and b. */
#define MAP_TYPE(name, y_type, type, expression, isa)                                              \
    ISA_TARGET_##isa static void name##_part_##isa(void *argument, int64_t begin, int64_t end)     \
    {                                                                                              \
        const struct map *m = argument;                                                            \
        y_type *y = (void *)m->y;                                                                  \
        float a = m->a, b = m->b;                                                                  \
        double bias = m->bias, limit = m->limit;                                                   \
        uint16_t plus = m->plus, minus = m->minus;                                                 \
        const type *x = (const void *)m->x;                                                        \
                                                                                                   \
        (void)a, (void)b, (void)bias, (void)limit, (void)plus, (void)minus;                        \
        _Pragma("omp simd") for (int64_t i = begin; i < end; i++) y[i] = (expression);             \
    }

enum { BLOCK = 512 };

/* What is too large for the vector's reduction is the library's. */
#define MAP_TURN(name, type, expression, most, library, isa)                                       \
    ISA_TARGET_##isa static void name##_part_##isa(void *argument, int64_t begin, int64_t end)     \
    {                                                                                              \
        const struct map *m = argument;                                                            \
        const type *x = (const void *)m->x;                                                        \
        type *y = (void *)m->y, from[BLOCK];                                                       \
                                                                                                   \
        for (int64_t first = begin; first < end; first += BLOCK) {                                 \
            int64_t last = end - first < BLOCK ? end : first + BLOCK;                              \
            int any = 0;                                                                           \
                                                                                                   \
            _Pragma("omp simd reduction(| : any)") for (int64_t i = first; i < last; i++)          \
            {                                                                                      \
                type value = x[i];                                                                 \
                                                                                                   \
                from[i - first] = value;                                                           \
                any |= !(value * value <= (most) * (most));                                        \
                y[i] = (type)(expression);                                                         \
            }                                                                                      \
            for (int64_t i = first; any && i < last; i++)                                          \
                if (!(from[i - first] * from[i - first] <= (most) * (most)))                       \
                    y[i] = (type)library((double)from[i - first]);                                 \
        }                                                                                          \
    }

/* Of f32 in f64. */
#define MAP_WIDE(name, isa) MAP_TYPE(name, float, float, (float)wide_##name((double)x[i]), isa)

/* Of f64. */
#define MAP_F64(name, expression, isa) MAP_TYPE(f64_##name, double, double, expression, isa)

ISA_BODY float shrunk(float x, float bias, float limit)
{
    float y = x > limit ? x - bias : 0.0f;

    y = x < -limit ? x + bias : y;
    return x == x ? y : x;
}

/* Of integers in f64, which saturate; a NaN of a's making is 0. */
ISA_BODY double shrunk_f64(double x, double bias, double limit)
{
    double y = x > limit ? x - bias : 0.0;

    return x < -limit ? x + bias : y;
}

ISA_BODY int32_t shrunk_i32(int32_t x, double bias, double limit)
{
    double y = shrunk_f64((double)x, bias, limit);

    y = y == y ? y : 0.0;
    y = y > (double)INT32_MAX ? (double)INT32_MAX : y;
    return (int32_t)(y < (double)INT32_MIN ? (double)INT32_MIN : y);
}

ISA_BODY int64_t shrunk_i64(int64_t x, double bias, double limit)
{
    double y = shrunk_f64((double)x, bias, limit);
    double inside = y == y ? y : 0.0;
    int64_t number;

    inside = inside < 0x1p63 ? inside : 0x1.fffffffffffffp+62;
    number = (int64_t)(inside > -0x1p63 ? inside : -0x1p63);
    return y >= 0x1p63 ? INT64_MAX : number;
}

/* Of f16, and of bf16, the largest of which is less. */
ISA_BODY uint16_t sign_of_half(uint16_t x, uint16_t infinite, uint16_t one)
{
    uint16_t size = x & INT16_MAX, y = (uint16_t)((x & 0x8000) | one);

    y = size == 0 ? x : y;
    return size > infinite ? x : y;
}

ISA_BODY double clipped(double x, double low, double high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

ISA_BODY double sign_of(double x)
{
    double y = x > 0.0 ? 1.0 : x;

    return x < 0.0 ? -1.0 : y;
}

/* What is no normal number above 0 is the library's. */
#define MAP_F64_LOG(isa)                                                                           \
    ISA_TARGET_##isa static void f64_log_part_##isa(void *argument, int64_t begin, int64_t end)    \
    {                                                                                              \
        const struct map *m = argument;                                                            \
        const double *x = (const void *)m->x;                                                      \
        double *y = (void *)m->y, from[BLOCK];                                                     \
                                                                                                   \
        for (int64_t first = begin; first < end; first += BLOCK) {                                 \
            int64_t last = end - first < BLOCK ? end : first + BLOCK;                              \
            int any = 0;                                                                           \
                                                                                                   \
            _Pragma("omp simd reduction(| : any)") for (int64_t i = first; i < last; i++)          \
            {                                                                                      \
                double value = x[i];                                                               \
                int odd = !(value >= 0x1p-1022) | !(value <= 0x1.fffffffffffffp+1023);             \
                                                                                                   \
                from[i - first] = value;                                                           \
                any |= odd;                                                                        \
                y[i] = math_f64_log(odd ? 1.0 : value);                                            \
            }                                                                                      \
            for (int64_t i = first; any && i < last; i++) {                                        \
                double value = from[i - first];                                                    \
                                                                                                   \
                if (!(value >= 0x1p-1022) || !(value <= 0x1.fffffffffffffp+1023))                  \
                    y[i] = log(value);                                                             \
            }                                                                                      \
        }                                                                                          \
    }

/* What is equal to one of two is infinite, where it counts; nothing is equal to a NaN, and in half precision both are the
 * one that counts. */
static struct map begin_map(void *y, const void *x, const struct kernel_map_args *args)
{
    struct map m = {y, x, (float)args->a, (float)args->b, args->a, args->b, 0, 0};
    uint16_t infinite = args->dtype == KERNEL_F16 ? 0x7c00 : 0x7f80;

    if (args->op != MAP_IS_INF)
        return m;
    m.a = args->a != 0.0 ? INFINITY : NAN;
    m.b = args->b != 0.0 ? -INFINITY : NAN;
    m.plus = args->a != 0.0 ? infinite : infinite | 0x8000;
    m.minus = args->b != 0.0 ? infinite | 0x8000 : infinite;
    return m;
}

/* --- Exp where an instruction multiplies by 2^n: it gives what overflows and what is next to nothing, too. --- */

#define scaled_exp_portable NULL
#define scaled_exp_avx2     NULL

#if defined(__x86_64__)
/* e^x = 2^n * e^r with n in sixteenths: what they are powers of is chosen by the lowest bits of n, out of a register. A NaN
 * is neither of the limits. */
ISA_TARGET_avx512 static inline __m512 scaled_exp(__m512 x, __m512 powers)
{
    const __m512 limit = _mm512_set1_ps(128.0f), magic = _mm512_set1_ps(0x1.8p19f);
    __m512 z, n, r, p, q;

    x = _mm512_max_ps(-limit, _mm512_min_ps(limit, x));
    z = _mm512_fmadd_ps(x, _mm512_set1_ps(0x1.715476p+0f), magic); /* log2(e) */
    n = z - magic;
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0x1.62e4p-1f), x); /* ln(2), in two parts */
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0x1.7f7d1cp-20f), r);
    q = _mm512_fmadd_ps(r, _mm512_set1_ps(1.0f / 6.0f), _mm512_set1_ps(0.5f));
    q = _mm512_fmadd_ps(r, q, _mm512_set1_ps(1.0f));
    p = _mm512_permutexvar_ps(_mm512_castps_si512(z), powers);
    return _mm512_scalef_ps(_mm512_fmadd_ps(p * r, q, p), n);
}

ISA_TARGET_avx512 static void scaled_exp_avx512(void *argument, int64_t begin, int64_t end)
{
    enum { LANES = 16 };
    static const float powers[LANES] = {
        0x1.000000p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f,
        0x1.306fe0p+0f, 0x1.3dea64p+0f, 0x1.4bfdaep+0f, 0x1.5ab07ep+0f,
        0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f,
        0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f,
    };
    const struct map *m = argument;
    __m512 p = _mm512_loadu_ps(powers);

    for (; begin + LANES <= end; begin += LANES)
        _mm512_storeu_ps(m->y + begin, scaled_exp(_mm512_loadu_ps(m->x + begin), p));
    if (begin < end) {
        __mmask16 mask = (__mmask16)((1U << (end - begin)) - 1);

        _mm512_mask_storeu_ps(m->y + begin, mask,
                              scaled_exp(_mm512_maskz_loadu_ps(mask, m->x + begin), p));
    }
}
#endif

/* What becomes of each byte, of functions of integers that take one. */
static bool fill_table(uint8_t *table, size_t count, const struct kernel_map_args *args)
{
    enum { BYTES = 256 };
    uint8_t bytes[BYTES];

    if ((args->dtype != KERNEL_U8 && args->dtype != KERNEL_I8) || count < BYTES)
        return false;
    for (int i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)i;
    map_ref(table, bytes, BYTES, args);
    return true;
}

#define MAP_PART(kind, name, isa) [MAP_##kind] = name##_part_##isa,

#define ALL(isa)                                                                                   \
    MAP_TYPE(not, uint8_t, uint8_t, x[i] == 0, isa)                                                \
    MAP_TYPE(bit_not, uint8_t, uint8_t, (uint8_t)~x[i], isa)                                       \
    MAP_TYPE(is_inf, uint8_t, float, (x[i] == a) | (x[i] == b), isa)                               \
    MAP_TYPE(is_nan, uint8_t, float, x[i] != x[i], isa)                                            \
    MAP_TYPE(f64_is_inf, uint8_t, double, (x[i] == (double)a) | (x[i] == (double)b), isa)          \
    MAP_TYPE(f64_is_nan, uint8_t, double, x[i] != x[i], isa)                                       \
    MAP_TYPE(half_is_inf, uint8_t, uint16_t, (x[i] == plus) | (x[i] == minus), isa)                \
    MAP_TYPE(f16_is_nan, uint8_t, uint16_t, (x[i] & INT16_MAX) > 0x7c00, isa)                      \
    MAP_TYPE(bf16_is_nan, uint8_t, uint16_t, (x[i] & INT16_MAX) > 0x7f80, isa)                     \
    MAP_TYPE(f16_sign, uint16_t, uint16_t, sign_of_half(x[i], 0x7c00, 0x3c00), isa)                \
    MAP_TYPE(bf16_sign, uint16_t, uint16_t, sign_of_half(x[i], 0x7f80, 0x3f80), isa)               \
    MAP_TYPE(shrink, float, float, shrunk(x[i], a, b), isa)                                        \
    MAP_TYPE(i32_shrink, int32_t, int32_t, shrunk_i32(x[i], bias, limit), isa)                     \
    MAP_TYPE(i64_shrink, int64_t, int64_t, shrunk_i64(x[i], bias, limit), isa)                     \
    MAP_TURN(sine, float, math_sine(value, 0), MATH_SINE_MAX, sin, isa)                            \
    MAP_TURN(cosine, float, math_sine(value, 1), MATH_SINE_MAX, cos, isa)                          \
    MAP_TURN(tangent, float, wide_tan((double)value), 0x1p20f, tan, isa)                           \
    MAP_TURN(f64_sine, double, math_f64_sine(value, 0), MATH_F64_TURN_MAX, sin, isa)               \
    MAP_TURN(f64_cosine, double, math_f64_sine(value, 1), MATH_F64_TURN_MAX, cos, isa)             \
    MAP_WIDE(cosh, isa)                                                                            \
    MAP_WIDE(sinh, isa)                                                                            \
    MAP_WIDE(acosh, isa)                                                                           \
    MAP_WIDE(asinh, isa)                                                                           \
    MAP_WIDE(atanh, isa)                                                                           \
    MAP_FUNCTIONS(MAP, isa)                                                                        \
    MAP_F64(abs, __builtin_fabs(x[i]), isa)                                                        \
    MAP_F64(ceil, __builtin_ceil(x[i]), isa)                                                       \
    MAP_F64(clip, clipped(x[i], bias, limit), isa)                                                 \
    MAP_F64(exp, math_f64_exp(x[i]), isa)                                                          \
    MAP_F64(floor, __builtin_floor(x[i]), isa)                                                     \
    MAP_F64(gelu_tanh, math_f64_gelu_tanh(x[i]), isa)                                              \
    MAP_F64_LOG(isa)                                                                               \
    MAP_F64(neg, -x[i], isa)                                                                       \
    MAP_F64(reciprocal, 1.0 / x[i], isa)                                                           \
    MAP_F64(relu, x[i] < 0.0 ? 0.0 : x[i], isa)                                                    \
    MAP_F64(round, __builtin_nearbyint(x[i]), isa)                                                 \
    MAP_F64(shrink, x[i] == x[i] ? shrunk_f64(x[i], bias, limit) : x[i], isa)                      \
    MAP_F64(sigmoid, math_f64_sigmoid(x[i]), isa)                                                  \
    MAP_F64(sign, sign_of(x[i]), isa)                                                              \
    MAP_F64(sqrt, __builtin_sqrt(x[i]), isa)                                                       \
    MAP_F64(tanh, math_f64_tanh(x[i]), isa)                                                        \
                                                                                                   \
    static team_fn *map_part_##isa(const struct kernel_map_args *args)                             \
    {                                                                                              \
        static team_fn *const any[KERNEL_DTYPES][MAP_COUNT] = {                                    \
            [KERNEL_F32] = {MAP_FUNCTIONS(MAP_PART, isa)[MAP_ACOSH] = acosh_part_##isa,            \
                            [MAP_ASINH] = asinh_part_##isa, [MAP_ATANH] = atanh_part_##isa,        \
                            [MAP_COS] = cosine_part_##isa, [MAP_COSH] = cosh_part_##isa,           \
                            [MAP_IS_INF] = is_inf_part_##isa, [MAP_IS_NAN] = is_nan_part_##isa,    \
                            [MAP_SHRINK] = shrink_part_##isa, [MAP_SIN] = sine_part_##isa,         \
                            [MAP_SINH] = sinh_part_##isa, [MAP_TAN] = tangent_part_##isa},         \
            [KERNEL_F64] = {[MAP_ABS] = f64_abs_part_##isa,                                        \
                            [MAP_CEIL] = f64_ceil_part_##isa,                                      \
                            [MAP_CLIP] = f64_clip_part_##isa,                                      \
                            [MAP_COS] = f64_cosine_part_##isa,                                     \
                            [MAP_EXP] = f64_exp_part_##isa,                                        \
                            [MAP_FLOOR] = f64_floor_part_##isa,                                    \
                            [MAP_GELU_TANH] = f64_gelu_tanh_part_##isa,                            \
                            [MAP_IS_INF] = f64_is_inf_part_##isa,                                  \
                            [MAP_IS_NAN] = f64_is_nan_part_##isa,                                  \
                            [MAP_LOG] = f64_log_part_##isa,                                        \
                            [MAP_NEG] = f64_neg_part_##isa,                                        \
                            [MAP_RECIPROCAL] = f64_reciprocal_part_##isa,                          \
                            [MAP_RELU] = f64_relu_part_##isa,                                      \
                            [MAP_ROUND] = f64_round_part_##isa,                                    \
                            [MAP_SHRINK] = f64_shrink_part_##isa,                                  \
                            [MAP_SIGMOID] = f64_sigmoid_part_##isa,                                \
                            [MAP_SIGN] = f64_sign_part_##isa,                                      \
                            [MAP_SIN] = f64_sine_part_##isa,                                       \
                            [MAP_SQRT] = f64_sqrt_part_##isa,                                      \
                            [MAP_TANH] = f64_tanh_part_##isa},                                     \
            [KERNEL_F16] = {[MAP_IS_INF] = half_is_inf_part_##isa,                                 \
                            [MAP_IS_NAN] = f16_is_nan_part_##isa,                                  \
                            [MAP_SIGN] = f16_sign_part_##isa},                                     \
            [KERNEL_BF16] = {[MAP_IS_INF] = half_is_inf_part_##isa,                                \
                             [MAP_IS_NAN] = bf16_is_nan_part_##isa,                                \
                             [MAP_SIGN] = bf16_sign_part_##isa},                                   \
            [KERNEL_I32] = {[MAP_SHRINK] = i32_shrink_part_##isa},                                 \
            [KERNEL_I64] = {[MAP_SHRINK] = i64_shrink_part_##isa},                                 \
            [KERNEL_BOOL] = {[MAP_NOT] = not_part_##isa},                                          \
        };                                                                                         \
        team_fn *scaled = scaled_exp_##isa;                                                        \
                                                                                                   \
        if (scaled && args->dtype == KERNEL_F32 && args->op == MAP_EXP)                            \
            return scaled;                                                                         \
        return any[args->dtype][args->op];                                                         \
    }                                                                                              \
                                                                                                   \
    void map_##isa(void *y, const void *x, size_t count, const struct kernel_map_args *args)       \
    {                                                                                              \
        struct map m = begin_map(y, x, args);                                                      \
        team_fn *part = map_part_##isa(args);                                                      \
        uint8_t table[256];                                                                        \
                                                                                                   \
        if (map_whole_##isa(y, x, count, args))                                                    \
            return;                                                                                \
        if (count > 0 && args->op == MAP_IS_INF && args->a == 0.0 && args->b == 0.0)               \
            memset(y, 0, count);                                                                   \
        else if (args->op == MAP_BIT_NOT)                                                          \
            team_for((int64_t)(count * kernel_dtype_bytes(args->dtype)), GRAIN,                    \
                     bit_not_part_##isa, &m);                                                      \
        else if (part)                                                                             \
            team_for((int64_t)count, GRAIN, part, &m);                                             \
        else if (fill_table(table, count, args))                                                   \
            lookup_##isa(y, x, table, count);                                                      \
        else                                                                                       \
            map_ref(y, x, count, args);                                                            \
    }

ISA_VERSIONS(ALL)
