/* SPDX-License-Identifier: Apache-2.0 */
/* The place of the largest or smallest element: along rows its value first, then where it is; along
 * other axes many columns at once. Types that are rare are the reference's. */
#include "kernels/cpu/extreme.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    COLUMNS = 256,   /* at a time */
    GRAIN = 1 << 14, /* elements that are worth a second thread */
    BLOCK = 64,      /* elements that are looked at together */
    SHORT = 16,      /* elements of a row, of which many are searched side by side */
};

struct search {
    int64_t *y;
    const void *x;
    const struct kernel_arg_reduce *shape;
};

static int64_t find_last(const float *x, int64_t count, float value)
{
    int64_t i = count - 1;

    while (i > 0 && x[i] != value)
        i--;
    return i;
}

ISA_BODY int64_t search_row_f32(const float *x, int64_t count, const struct kernel_arg_reduce *s)
{
    struct extremes found = extremes_of(x, count);
    float best = s->is_min ? found.low : found.high;

    if (s->takes_last && !found.has_nan)
        return find_last(x, count, best);
    return found.has_nan ? extreme_first(x, count, best, 1) : extreme_first(x, count, best, 0);
}

/* The place is looked for within the block that has it. */
#define PLACE_OF(name, type)                                                                       \
    ISA_BODY int64_t place_##name(const type *x, int64_t count, type best, int takes_last)         \
    {                                                                                              \
        int64_t i = 0;                                                                             \
                                                                                                   \
        if (takes_last) {                                                                          \
            for (i = count - 1; i > 0 && x[i] != best; i--)                                        \
                ;                                                                                  \
            return i;                                                                              \
        }                                                                                          \
        for (; i + BLOCK <= count; i += BLOCK) {                                                   \
            int any = 0;                                                                           \
                                                                                                   \
            for (int64_t j = 0; j < BLOCK; j++)                                                    \
                any |= x[i + j] == best;                                                           \
            if (any)                                                                               \
                break;                                                                             \
        }                                                                                          \
        while (i < count - 1 && x[i] != best)                                                      \
            i++;                                                                                   \
        return i;                                                                                  \
    }

#define SEARCH_ROW(name, type)                                                                     \
    PLACE_OF(name, type)                                                                           \
                                                                                                   \
    ISA_BODY int64_t search_row_##name(const type *x, int64_t count,                               \
                                       const struct kernel_arg_reduce *s)                          \
    {                                                                                              \
        type best = x[0];                                                                          \
                                                                                                   \
        if (s->is_min)                                                                             \
            for (int64_t i = 0; i < count; i++)                                                    \
                best = x[i] < best ? x[i] : best;                                                  \
        else                                                                                       \
            for (int64_t i = 0; i < count; i++)                                                    \
                best = x[i] > best ? x[i] : best;                                                  \
        return place_##name(x, count, best, s->takes_last);                                        \
    }

SEARCH_ROW(i32, int32_t)
SEARCH_ROW(i64, int64_t)
SEARCH_ROW(i8, int8_t)
SEARCH_ROW(u8, uint8_t)

/* The first place of all in a block at once, as its elements and places are of a size. */
ISA_BODY int64_t place_f64(const double *x, int64_t count, double best, int takes_last)
{
    enum { PART = 32 };
    int64_t i = 0;

    if (takes_last) {
        for (i = count - 1; i > 0 && x[i] != best; i--)
            ;
        return i;
    }
    for (; i + PART <= count; i += PART) {
        int64_t at = PART;

#pragma omp simd reduction(min : at)
        for (int64_t j = 0; j < PART; j++) {
            int64_t here = x[i + j] == best ? j : PART;

            at = here < at ? here : at;
        }
        if (at < PART)
            return i + at;
    }
    while (i < count - 1 && x[i] != best)
        i++;
    return i;
}

/* The first NaN where there is one. */
ISA_BODY int64_t search_row_f64(const double *x, int64_t count, const struct kernel_arg_reduce *s)
{
    double best = s->is_min ? extreme_f64(x, count, 0) : extreme_f64(x, count, 1);
    int64_t i = 0;

    if (best == best)
        return place_f64(x, count, best, s->takes_last);
    while (i < count - 1 && x[i] == x[i])
        i++;
    return i;
}

/* A NaN takes the place of a number, and nothing that of a NaN. */
#define SEARCH_COLUMNS_BY(type, place, beats)                                                      \
    for (int64_t k = 1; k < s->axis; k++) {                                                        \
        const type *row = x + k * down;                                                            \
                                                                                                   \
        _Pragma("omp simd") for (int64_t i = 0; i < columns; i++)                                  \
        {                                                                                          \
            type a = row[i * along], b = best[i];                                                  \
            int takes = (a beats b) | ((a != a) & (b == b));                                       \
                                                                                                   \
            best[i] = takes ? a : b;                                                               \
            at[i] = takes ? (place)k : at[i];                                                      \
        }                                                                                          \
    }

/* Lines that lie `along` apart, whose elements lie `down` apart; `place` has the size of the elements where that is
 * enough for the axis. */
#define SEARCH_COLUMNS(name, type, place)                                                          \
    ISA_BODY void search_lines_##name(int64_t *y, const type *x, int64_t columns, int64_t along,   \
                                      int64_t down, const struct kernel_arg_reduce *s)             \
    {                                                                                              \
        type best[COLUMNS];                                                                        \
        place at[COLUMNS];                                                                         \
                                                                                                   \
        for (int64_t i = 0; i < columns; i++) {                                                    \
            best[i] = x[i * along];                                                                \
            at[i] = 0;                                                                             \
        }                                                                                          \
        if (s->is_min && s->takes_last)                                                            \
            SEARCH_COLUMNS_BY(type, place, <=)                                                     \
        else if (s->is_min)                                                                        \
            SEARCH_COLUMNS_BY(type, place, <)                                                      \
        else if (s->takes_last)                                                                    \
            SEARCH_COLUMNS_BY(type, place, >=)                                                     \
        else                                                                                       \
            SEARCH_COLUMNS_BY(type, place, >)                                                      \
        for (int64_t i = 0; i < columns; i++)                                                      \
            y[i] = at[i];                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Columns, or short rows side by side. */                                                     \
    ISA_BODY void search_columns_##name(int64_t *y, const type *x, int64_t columns,                \
                                        const struct kernel_arg_reduce *s)                         \
    {                                                                                              \
        if (s->inner == 1)                                                                         \
            search_lines_##name(y, x, columns, s->axis, 1, s);                                     \
        else                                                                                       \
            search_lines_##name(y, x, columns, 1, s->inner, s);                                    \
    }

SEARCH_COLUMNS(f32, float, int32_t)
SEARCH_COLUMNS(f64, double, int64_t)
SEARCH_COLUMNS(i32, int32_t, int32_t)
SEARCH_COLUMNS(i64, int64_t, int64_t)
SEARCH_COLUMNS(i8, int8_t, uint8_t)
SEARCH_COLUMNS(u8, uint8_t, uint8_t)
SEARCH_COLUMNS(long_i8, int8_t, int32_t)
SEARCH_COLUMNS(long_u8, uint8_t, int32_t)

/* Rows, or blocks of columns, [begin, end). */
#define SEARCH_PART(name, type, columns_name, isa)                                                 \
    ISA_TARGET_##isa static void search_##columns_name##_##isa(void *argument, int64_t begin,      \
                                                               int64_t end)                        \
    {                                                                                              \
        const struct search *p = argument;                                                         \
        const struct kernel_arg_reduce *s = p->shape;                                              \
        int64_t blocks = (s->inner + COLUMNS - 1) / COLUMNS;                                       \
        const type *x = p->x;                                                                      \
                                                                                                   \
        for (; s->inner == 1 && s->axis <= SHORT && begin < end; begin += COLUMNS)                 \
            search_columns_##columns_name(p->y + begin, x + begin * s->axis,                       \
                                          end - begin < COLUMNS ? end - begin : COLUMNS, s);       \
        for (int64_t i = begin; i < end; i++) {                                                    \
            int64_t outer = i / blocks, first = i % blocks * COLUMNS, left = s->inner - first;     \
                                                                                                   \
            if (s->inner == 1)                                                                     \
                p->y[i] = search_row_##name(x + i * s->axis, s->axis, s);                          \
            else                                                                                   \
                search_columns_##columns_name(p->y + outer * s->inner + first,                     \
                                              x + outer * s->axis * s->inner + first,              \
                                              left < COLUMNS ? left : COLUMNS, s);                 \
        }                                                                                          \
    }

#define ARG_REDUCE(isa)                                                                            \
    SEARCH_PART(f32, float, f32, isa)                                                              \
    SEARCH_PART(f64, double, f64, isa)                                                             \
    SEARCH_PART(i32, int32_t, i32, isa)                                                            \
    SEARCH_PART(i64, int64_t, i64, isa)                                                            \
    SEARCH_PART(i8, int8_t, i8, isa)                                                               \
    SEARCH_PART(u8, uint8_t, u8, isa)                                                              \
    SEARCH_PART(i8, int8_t, long_i8, isa)                                                          \
    SEARCH_PART(u8, uint8_t, long_u8, isa)                                                         \
                                                                                                   \
    void arg_reduce_##isa(int64_t *y, const void *x, const struct kernel_arg_reduce *s)            \
    {                                                                                              \
        static team_fn *const parts[KERNEL_DTYPES] = {                                             \
            [KERNEL_F32] = search_f32_##isa, [KERNEL_F64] = search_f64_##isa,                      \
            [KERNEL_I32] = search_i32_##isa, [KERNEL_I64] = search_i64_##isa,                      \
            [KERNEL_I8] = search_i8_##isa,   [KERNEL_U8] = search_u8_##isa};                       \
        team_fn *part = parts[s->dtype];                                                           \
        struct search p = {y, x, s};                                                               \
        int64_t width = s->inner < COLUMNS ? s->inner : COLUMNS;                                   \
                                                                                                   \
        if (s->axis > UINT8_MAX && (s->dtype == KERNEL_I8 || s->dtype == KERNEL_U8))               \
            part = s->dtype == KERNEL_I8 ? search_long_i8_##isa : search_long_u8_##isa;            \
        if (part && s->inner > 0 && s->axis <= INT32_MAX)                                          \
            team_for(s->outer *((s->inner + COLUMNS - 1) / COLUMNS),                               \
                     GRAIN / (s->axis * width) + 1, part, &p);                                     \
        else                                                                                       \
            arg_reduce_ref(y, x, s);                                                               \
    }

ISA_VERSIONS(ARG_REDUCE)
