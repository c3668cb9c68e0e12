/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of one operand that are worth a vector, in f32, and some in f64. The others are the
 * reference's. */
#include "kernels/cpu/functions.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/map_whole.h"
#include "kernels/cpu/math_f64.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

struct map {
    float *y;
    const float *x;
    float a, b;
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
        const type *x = (const void *)m->x;                                                        \
                                                                                                   \
        (void)a, (void)b;                                                                          \
        _Pragma("omp simd") for (int64_t i = begin; i < end; i++) y[i] = (expression);             \
    }

enum { BLOCK = 512 };

/* What is too large for the vector's reduction is the library's. */
#define MAP_SINE(name, quarter, function, isa)                                                     \
    ISA_TARGET_##isa static void name##_part_##isa(void *argument, int64_t begin, int64_t end)     \
    {                                                                                              \
        const struct map *m = argument;                                                            \
                                                                                                   \
        for (int64_t first = begin; first < end; first += BLOCK) {                                 \
            int64_t last = end - first < BLOCK ? end : first + BLOCK;                              \
            const float *x = m->x;                                                                 \
            float *y = m->y, large[BLOCK];                                                         \
            int any = 0;                                                                           \
                                                                                                   \
            _Pragma("omp simd reduction(| : any)") for (int64_t i = first; i < last; i++)          \
            {                                                                                      \
                float value = x[i];                                                                \
                                                                                                   \
                large[i - first] = value;                                                          \
                any |= !(fabsf(value) <= MATH_SINE_MAX);                                           \
                y[i] = math_sine(value, quarter);                                                  \
            }                                                                                      \
            for (int64_t i = first; any && i < last; i++)                                          \
                if (!(fabsf(large[i - first]) <= MATH_SINE_MAX))                                   \
                    y[i] = (float)function((double)large[i - first]);                              \
        }                                                                                          \
    }

/* Of f64. */
#define MAP_F64(name, expression, isa) MAP_TYPE(f64_##name, double, double, expression, isa)

ISA_BODY float shrunk(float x, float bias, float limit)
{
    float y = x > limit ? x - bias : 0.0f;

    return x < -limit ? x + bias : y;
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

#define MAP_PART(kind, name, isa) [MAP_##kind] = name##_part_##isa,

#define ALL(isa)                                                                                   \
    MAP_TYPE(not, uint8_t, uint8_t, x[i] == 0, isa)                                                \
    MAP_TYPE(bit_not, uint8_t, uint8_t, (uint8_t)~x[i], isa)                                       \
    MAP_TYPE(is_inf, uint8_t, float, (x[i] == a) | (x[i] == b), isa)                               \
    MAP_TYPE(is_nan, uint8_t, float, x[i] != x[i], isa)                                            \
    MAP_TYPE(f64_is_inf, uint8_t, double, (x[i] == (double)a) | (x[i] == (double)b), isa)          \
    MAP_TYPE(f64_is_nan, uint8_t, double, x[i] != x[i], isa)                                       \
    MAP_TYPE(shrink, float, float, shrunk(x[i], a, b), isa)                                        \
    MAP_SINE(sine, 0, sin, isa)                                                                    \
    MAP_SINE(cosine, 1, cos, isa)                                                                  \
    MAP_FUNCTIONS(MAP, isa)                                                                        \
    MAP_F64(abs, __builtin_fabs(x[i]), isa)                                                        \
    MAP_F64(ceil, __builtin_ceil(x[i]), isa)                                                       \
    MAP_F64(exp, math_f64_exp(x[i]), isa)                                                          \
    MAP_F64(floor, __builtin_floor(x[i]), isa)                                                     \
    MAP_F64_LOG(isa)                                                                               \
    MAP_F64(neg, -x[i], isa)                                                                       \
    MAP_F64(reciprocal, 1.0 / x[i], isa)                                                           \
    MAP_F64(relu, x[i] < 0.0 ? 0.0 : x[i], isa)                                                    \
    MAP_F64(round, __builtin_nearbyint(x[i]), isa)                                                 \
    MAP_F64(sigmoid, math_f64_sigmoid(x[i]), isa)                                                  \
    MAP_F64(sign, sign_of(x[i]), isa)                                                              \
    MAP_F64(sqrt, __builtin_sqrt(x[i]), isa)                                                       \
    MAP_F64(tanh, math_f64_tanh(x[i]), isa)                                                        \
                                                                                                   \
    void map_##isa(void *y, const void *x, size_t count, const struct kernel_map_args *args)       \
    {                                                                                              \
        static team_fn *const parts[MAP_COUNT] = {                                                 \
            MAP_FUNCTIONS(MAP_PART, isa)[MAP_SIN] = sine_part_##isa,                               \
            [MAP_COS] = cosine_part_##isa, [MAP_SHRINK] = shrink_part_##isa};                      \
        static team_fn *const f64_parts[MAP_COUNT] = {                                             \
            [MAP_ABS] = f64_abs_part_##isa,                                                        \
            [MAP_CEIL] = f64_ceil_part_##isa,                                                      \
            [MAP_EXP] = f64_exp_part_##isa,                                                        \
            [MAP_FLOOR] = f64_floor_part_##isa,                                                    \
            [MAP_LOG] = f64_log_part_##isa,                                                        \
            [MAP_NEG] = f64_neg_part_##isa,                                                        \
            [MAP_RECIPROCAL] = f64_reciprocal_part_##isa,                                          \
            [MAP_RELU] = f64_relu_part_##isa,                                                      \
            [MAP_ROUND] = f64_round_part_##isa,                                                    \
            [MAP_SIGMOID] = f64_sigmoid_part_##isa,                                                \
            [MAP_SIGN] = f64_sign_part_##isa,                                                      \
            [MAP_SQRT] = f64_sqrt_part_##isa,                                                      \
            [MAP_TANH] = f64_tanh_part_##isa,                                                      \
        };                                                                                         \
        struct map m = {y, x, (float)args->a, (float)args->b};                                     \
        /* What is equal to one of them; nothing is to a NaN. */                                   \
        struct map infinite = {y, x, args->a != 0.0 ? INFINITY : NAN,                              \
                               args->b != 0.0 ? -INFINITY : NAN};                                  \
        team_fn *is_inf = args->dtype == KERNEL_F64 ? f64_is_inf_part_##isa : is_inf_part_##isa;   \
        team_fn *is_nan = args->dtype == KERNEL_F64 ? f64_is_nan_part_##isa : is_nan_part_##isa;   \
        bool is_wide = args->dtype == KERNEL_F32 || args->dtype == KERNEL_F64;                     \
                                                                                                   \
        if (map_whole_##isa(y, x, count, args))                                                    \
            return;                                                                                \
        if (args->op == MAP_NOT)                                                                   \
            team_for((int64_t)count, GRAIN, not_part_##isa, &m);                                   \
        else if (args->op == MAP_BIT_NOT)                                                          \
            team_for((int64_t)(count * kernel_dtype_bytes(args->dtype)), GRAIN,                    \
                     bit_not_part_##isa, &m);                                                      \
        else if (args->op == MAP_IS_INF && is_wide)                                                \
            team_for((int64_t)count, GRAIN, is_inf, &infinite);                                    \
        else if (args->op == MAP_IS_NAN && is_wide)                                                \
            team_for((int64_t)count, GRAIN, is_nan, &m);                                           \
        else if (args->dtype == KERNEL_F32 && parts[args->op])                                     \
            team_for((int64_t)count, GRAIN, parts[args->op], &m);                                  \
        else if (args->dtype == KERNEL_F64 && f64_parts[args->op])                                 \
            team_for((int64_t)count, GRAIN, f64_parts[args->op], &m);                              \
        else                                                                                       \
            map_ref(y, x, count, args);                                                            \
    }

ISA_VERSIONS(ALL)
