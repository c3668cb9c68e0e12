/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of one operand that are worth a vector, in f32. The others are the
 * reference's. */
#include "kernels/cpu/functions.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/map_whole.h"
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

#define MAP_PART(kind, name, isa) [MAP_##kind] = name##_part_##isa,

#define ALL(isa)                                                                                   \
    MAP_TYPE(not, uint8_t, uint8_t, x[i] == 0, isa)                                                \
    MAP_TYPE(bit_not, uint8_t, uint8_t, (uint8_t)~x[i], isa)                                       \
    MAP_TYPE(is_inf, uint8_t, float, (x[i] == a) | (x[i] == b), isa)                               \
    MAP_TYPE(is_nan, uint8_t, float, x[i] != x[i], isa)                                            \
    MAP_SINE(sine, 0, sin, isa)                                                                    \
    MAP_SINE(cosine, 1, cos, isa)                                                                  \
    MAP_FUNCTIONS(MAP, isa)                                                                        \
                                                                                                   \
    void map_##isa(void *y, const void *x, size_t count, const struct kernel_map_args *args)       \
    {                                                                                              \
        static team_fn *const parts[MAP_COUNT] = {                                                 \
            MAP_FUNCTIONS(MAP_PART, isa)[MAP_SIN] = sine_part_##isa, [MAP_COS] =                   \
                                                                         cosine_part_##isa};       \
        struct map m = {y, x, (float)args->a, (float)args->b};                                     \
        /* What is equal to one of them; nothing is to a NaN. */                                   \
        struct map infinite = {y, x, args->a != 0.0 ? INFINITY : NAN,                              \
                               args->b != 0.0 ? -INFINITY : NAN};                                  \
                                                                                                   \
        if (map_whole_##isa(y, x, count, args))                                                    \
            return;                                                                                \
        if (args->op == MAP_NOT)                                                                   \
            team_for((int64_t)count, GRAIN, not_part_##isa, &m);                                   \
        else if (args->op == MAP_BIT_NOT)                                                          \
            team_for((int64_t)(count * kernel_dtype_bytes(args->dtype)), GRAIN,                    \
                     bit_not_part_##isa, &m);                                                      \
        else if (args->op == MAP_IS_INF && args->dtype == KERNEL_F32)                              \
            team_for((int64_t)count, GRAIN, is_inf_part_##isa, &infinite);                         \
        else if (args->op == MAP_IS_NAN && args->dtype == KERNEL_F32)                              \
            team_for((int64_t)count, GRAIN, is_nan_part_##isa, &m);                                \
        else if (args->dtype == KERNEL_F32 && parts[args->op])                                     \
            team_for((int64_t)count, GRAIN, parts[args->op], &m);                                  \
        else                                                                                       \
            map_ref(y, x, count, args);                                                            \
    }

ISA_VERSIONS(ALL)
