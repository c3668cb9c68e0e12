/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of one operand that are worth a vector: those of transformers, in f32. The
 * others are the reference's. */
#include "kernels/cpu/isa.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

#include <math.h>

struct map {
    float *y;
    const float *x;
};

enum { GRAIN = 1 << 14 };

ISA_BODY float square_root(float x)
{
    return sqrtf(x);
}

ISA_BODY float reciprocal(float x)
{
    return 1.0f / x;
}

ISA_BODY float negative(float x)
{
    return -x;
}

#define MAP(name, function, isa)                                                                   \
    ISA_TARGET_##isa static void name##_part_##isa(void *argument, int64_t begin, int64_t end)     \
    {                                                                                              \
        const struct map *m = argument;                                                            \
        float *y = m->y;                                                                           \
        const float *x = m->x;                                                                     \
                                                                                                   \
        for (int64_t i = begin; i < end; i++)                                                      \
            y[i] = function(x[i]);                                                                 \
    }

#define ALL(isa)                                                                                   \
    MAP(erf, math_erf, isa)                                                                        \
    MAP(gelu, math_gelu, isa)                                                                      \
    MAP(sqrt, square_root, isa)                                                                    \
    MAP(reciprocal, reciprocal, isa)                                                               \
    MAP(neg, negative, isa)                                                                        \
                                                                                                   \
    void map_##isa(void *y, const void *x, size_t count, const struct kernel_map_args *args)       \
    {                                                                                              \
        static team_fn *const parts[MAP_COUNT] = {                                                 \
            [MAP_ERF] = erf_part_##isa,   [MAP_GELU] = gelu_part_##isa,                            \
            [MAP_SQRT] = sqrt_part_##isa, [MAP_RECIPROCAL] = reciprocal_part_##isa,                \
            [MAP_NEG] = neg_part_##isa,                                                            \
        };                                                                                         \
        struct map m = {y, x};                                                                     \
                                                                                                   \
        if (args->dtype == KERNEL_F32 && parts[args->op])                                          \
            team_for((int64_t)count, GRAIN, parts[args->op], &m);                                  \
        else                                                                                       \
            map_ref(y, x, count, args);                                                            \
    }

ISA_VERSIONS(ALL)
