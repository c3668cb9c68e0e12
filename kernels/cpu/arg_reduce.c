/* SPDX-License-Identifier: Apache-2.0 */
/* The place of the largest or smallest f32: along rows its value first, then where it is; along
 * other axes many columns at once. Other types are the reference's. */
#include "kernels/cpu/extreme.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    COLUMNS = 256,   /* at a time */
    GRAIN = 1 << 14, /* elements that are worth a second thread */
};

struct search {
    int64_t *y;
    const float *x;
    const struct kernel_arg_reduce *shape;
};

static int64_t find_last(const float *x, int64_t count, float value)
{
    int64_t i = count - 1;

    while (i > 0 && x[i] != value)
        i--;
    return i;
}

ISA_BODY int64_t search_row(const float *x, int64_t count, const struct kernel_arg_reduce *s)
{
    struct extremes found = extremes_of(x, count);
    float best = s->is_min ? found.low : found.high;

    if (s->takes_last && !found.has_nan)
        return find_last(x, count, best);
    return found.has_nan ? extreme_first(x, count, best, 1) : extreme_first(x, count, best, 0);
}

/* A NaN takes the place of a number, and nothing that of a NaN. */
#define SEARCH_COLUMNS(beats)                                                                      \
    for (int64_t k = 1; k < s->axis; k++) {                                                        \
        const float *row = x + k * s->inner;                                                       \
                                                                                                   \
        _Pragma("omp simd") for (int64_t i = 0; i < columns; i++)                                  \
        {                                                                                          \
            float a = row[i], b = best[i];                                                         \
            int takes = (a beats b) | ((a != a) & (b == b));                                       \
                                                                                                   \
            best[i] = takes ? a : b;                                                               \
            at[i] = takes ? (int32_t)k : at[i];                                                    \
        }                                                                                          \
    }

ISA_BODY void search_columns(int64_t *y, const float *x, int64_t columns,
                             const struct kernel_arg_reduce *s)
{
    float best[COLUMNS];
    int32_t at[COLUMNS];

    for (int64_t i = 0; i < columns; i++) {
        best[i] = x[i];
        at[i] = 0;
    }
    if (s->is_min && s->takes_last)
        SEARCH_COLUMNS(<=)
    else if (s->is_min)
        SEARCH_COLUMNS(<)
    else if (s->takes_last)
        SEARCH_COLUMNS(>=)
    else
        SEARCH_COLUMNS(>)
    for (int64_t i = 0; i < columns; i++)
        y[i] = at[i];
}

/* Rows, or blocks of columns, [begin, end). */
ISA_BODY void search_part(const struct search *p, int64_t begin, int64_t end)
{
    const struct kernel_arg_reduce *s = p->shape;
    int64_t blocks = (s->inner + COLUMNS - 1) / COLUMNS;

    for (int64_t i = begin; i < end; i++) {
        int64_t outer = i / blocks, first = i % blocks * COLUMNS, left = s->inner - first;

        if (s->inner == 1)
            p->y[i] = search_row(p->x + i * s->axis, s->axis, s);
        else
            search_columns(p->y + outer * s->inner + first,
                           p->x + outer * s->axis * s->inner + first,
                           left < COLUMNS ? left : COLUMNS, s);
    }
}

#define ARG_REDUCE(isa)                                                                            \
    ISA_TARGET_##isa static void search_part_##isa(void *argument, int64_t begin, int64_t end)     \
    {                                                                                              \
        search_part(argument, begin, end);                                                         \
    }                                                                                              \
                                                                                                   \
    void arg_reduce_##isa(int64_t *y, const void *x, const struct kernel_arg_reduce *s)            \
    {                                                                                              \
        struct search p = {y, x, s};                                                               \
        int64_t width = s->inner < COLUMNS ? s->inner : COLUMNS;                                   \
                                                                                                   \
        if (s->dtype == KERNEL_F32 && s->inner > 0 && s->axis <= INT32_MAX)                        \
            team_for(s->outer *((s->inner + COLUMNS - 1) / COLUMNS),                               \
                     GRAIN / (s->axis * width) + 1, search_part_##isa, &p);                        \
        else                                                                                       \
            arg_reduce_ref(y, x, s);                                                               \
    }

ISA_VERSIONS(ARG_REDUCE)
