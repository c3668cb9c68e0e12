/* SPDX-License-Identifier: Apache-2.0 */
/* Abs, Neg, Relu and Sign of integers. What is negated wraps around. */
#include "kernels/cpu/map_whole.h"

#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"

struct map {
    void *y;
    const void *x;
};

enum { GRAIN = 1 << 15 };

#define NEGATIVE(type, bits, x) (type)((bits)0 - (bits)(x))

#define WHOLE(name, type, expression, isa)                                                         \
    ISA_TARGET_##isa static void name##_##isa(void *argument, int64_t begin, int64_t end)          \
    {                                                                                              \
        const struct map *m = argument;                                                            \
        type *y = m->y;                                                                            \
        const type *x = m->x;                                                                      \
                                                                                                   \
        _Pragma("omp simd") for (int64_t i = begin; i < end; i++)                                  \
        {                                                                                          \
            type a = x[i];                                                                         \
                                                                                                   \
            y[i] = (type)(expression);                                                             \
        }                                                                                          \
    }

#define WHOLES(name, type, bits, isa)                                                              \
    WHOLE(abs_##name, type, a < 0 ? NEGATIVE(type, bits, a) : a, isa)                              \
    WHOLE(neg_##name, type, NEGATIVE(type, bits, a), isa)                                          \
    WHOLE(relu_##name, type, a < 0 ? 0 : a, isa)                                                   \
    WHOLE(sign_##name, type, (a > 0) - (a < 0), isa)

#define OF_TYPES(name, isa)                                                                        \
    {                                                                                              \
        [KERNEL_I8] = name##_i8_##isa, [KERNEL_U8] = name##_u8_##isa,                              \
        [KERNEL_I32] = name##_i32_##isa, [KERNEL_I64] = name##_i64_##isa                           \
    }

#define MAP_WHOLE(isa)                                                                             \
    WHOLES(i8, int8_t, uint8_t, isa)                                                               \
    WHOLE(abs_u8, uint8_t, a, isa)                                                                 \
    WHOLE(neg_u8, uint8_t, 0 - a, isa)                                                             \
    WHOLE(relu_u8, uint8_t, a, isa)                                                                \
    WHOLE(sign_u8, uint8_t, a != 0, isa)                                                           \
    WHOLES(i32, int32_t, uint32_t, isa)                                                            \
    WHOLES(i64, int64_t, uint64_t, isa)                                                            \
                                                                                                   \
    bool map_whole_##isa(void *y, const void *x, size_t count, const struct kernel_map_args *args) \
    {                                                                                              \
        static team_fn *const parts[MAP_COUNT][KERNEL_DTYPES] = {[MAP_ABS] = OF_TYPES(abs, isa),   \
                                                                 [MAP_NEG] = OF_TYPES(neg, isa),   \
                                                                 [MAP_RELU] = OF_TYPES(relu, isa), \
                                                                 [MAP_SIGN] =                      \
                                                                     OF_TYPES(sign, isa)};         \
        team_fn *part = parts[args->op][args->dtype];                                              \
        struct map m = {y, x};                                                                     \
                                                                                                   \
        if (part)                                                                                  \
            team_for((int64_t)count, GRAIN, part, &m);                                             \
        return part != NULL;                                                                       \
    }

ISA_VERSIONS(MAP_WHOLE)
