/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of integers, bools and f64, along the last axes or along axes with others behind them. Sums
 * of integers wrap around, so that those of 32 bits are summed up in 32, unless they are divided. */
#include "kernels/cpu/reduce_any.h"

#include "kernels/cpu/extreme.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/norm_rows.h"
#include "kernels/cpu/reduce_real.h"
#include "kernels/cpu/team.h"

#include <math.h>

enum {
    COLUMNS = 256,   /* at a time */
    GRAIN = 1 << 14, /* elements that are worth a second thread */
    SHORT = 16,      /* elements of a row, of which many are taken side by side */
};

/* x: [outer, count, inner]. */
struct reduction {
    void *y;
    const void *x;
    int64_t count, inner;
    enum kernel_reduce_op op;
};

/* How another element is taken to what there is, of type `wide`. */
#define TAKE_SUM(all, x, wide)    ((all) + (wide)(x))
#define TAKE_SIZE(all, x, wide)   ((x) < 0 ? (all) - (wide)(x) : (all) + (wide)(x))
#define TAKE_SQUARE(all, x, wide) ((all) + (wide)(x) * (wide)(x))
#define TAKE_PROD(all, x, wide)   ((all) * (wide)(x))
#define TAKE_MAX(all, x, wide)    ((x) > (all) ? (x) : (all))
#define TAKE_MIN(all, x, wide)    ((x) < (all) ? (x) : (all))
#define TAKE_MAX_F64(all, x, wide)                                                                 \
    ((x) > (all) || (x) != (x) ? (x) : (all)) /* nothing is above a NaN */
#define TAKE_MIN_F64(all, x, wide) ((x) < (all) || (x) != (x) ? (x) : (all))

#define END_SAME(all, r) (all)
#define END_MEAN(all, r) ((all) / (r)->count)
#define END_F64(all, r)  end_real(all, r)

ISA_BODY double end_real(double all, const struct reduction *r)
{
    switch (r->op) {
    case REDUCE_L2:
        return sqrt(all);
    case REDUCE_LOG_SUM:
        return log(all);
    case REDUCE_MEAN:
        return all / (double)r->count;
    default:
        return all;
    }
}

/* Columns that lie `along` apart, elements `down`: neighbours, or short rows. */
#define COLUMN_BLOCK(name, type, wide, take, start, end)                                           \
    ISA_BODY void name##_lines(type *restrict y, const type *restrict x, int64_t columns,          \
                               int64_t along, int64_t down, const struct reduction *r)             \
    {                                                                                              \
        wide all[COLUMNS];                                                                         \
                                                                                                   \
        for (int64_t i = 0; i < columns; i++)                                                      \
            all[i] = start;                                                                        \
        for (int64_t k = 0; k < r->count; k++, x += down) {                                        \
            _Pragma("omp simd") for (int64_t i = 0; i < columns; i++) all[i] =                     \
                take(all[i], x[i * along], wide);                                                  \
        }                                                                                          \
        for (int64_t i = 0; i < columns; i++)                                                      \
            y[i] = (type)end(all[i], r);                                                           \
    }                                                                                              \
                                                                                                   \
    /* Columns [first, first + columns) of one of the outer places, or short rows. */              \
    ISA_BODY void name##_columns(type *restrict y, const type *restrict x, int64_t columns,        \
                                 const struct reduction *r)                                        \
    {                                                                                              \
        if (r->inner == 1)                                                                         \
            name##_lines(y, x, columns, r->count, 1, r);                                           \
        else                                                                                       \
            name##_lines(y, x, columns, 1, r->inner, r);                                           \
    }

/* Rows of integers: compilers know such loops. */
#define WHOLE_ROW(name, type, wide, take, start)                                                   \
    ISA_BODY wide name##_row(const type *x, int64_t count)                                         \
    {                                                                                              \
        wide all = start;                                                                          \
                                                                                                   \
        for (int64_t i = 0; i < count; i++)                                                        \
            all = take(all, x[i], wide);                                                           \
        return all;                                                                                \
    }

/* Rows of f64, of both halves at once, so that no sum waits for itself. */
#define REAL_ROW(name, take, start, both, sign)                                                    \
    ISA_BODY double name##_row(const double *x, int64_t count)                                     \
    {                                                                                              \
        double all = start, second = start;                                                        \
        int64_t half = count / 2;                                                                  \
                                                                                                   \
        _Pragma(sign) for (int64_t i = 0; i < half; i++)                                           \
        {                                                                                          \
            all = take(all, x[i], double);                                                         \
            second = take(second, x[half + i], double);                                            \
        }                                                                                          \
        if (count % 2)                                                                             \
            all = take(all, x[count - 1], double);                                                 \
        return all both second;                                                                    \
    }

ISA_BODY double f64_max_row(const double *x, int64_t count)
{
    return extreme_f64(x, count, 1);
}

ISA_BODY double f64_min_row(const double *x, int64_t count)
{
    return extreme_f64(x, count, 0);
}

/* Rows, or blocks of columns, [begin, end). */
#define PART(name, type, end_of)                                                                   \
    ISA_BODY void name##_part(const struct reduction *r, int64_t begin, int64_t end)               \
    {                                                                                              \
        int64_t blocks = (r->inner + COLUMNS - 1) / COLUMNS;                                       \
        const type *x = r->x;                                                                      \
        type *y = r->y;                                                                            \
                                                                                                   \
        for (; r->inner == 1 && r->count <= SHORT && begin < end; begin += COLUMNS)                \
            name##_columns(y + begin, x + begin * r->count,                                        \
                           end - begin < COLUMNS ? end - begin : COLUMNS, r);                      \
        for (; r->inner == 1 && begin < end; begin++)                                              \
            y[begin] = (type)end_of(name##_row(x + begin * r->count, r->count), r);                \
        for (; begin < end; begin++) {                                                             \
            int64_t outer = begin / blocks, first = begin % blocks * COLUMNS;                      \
            int64_t left = r->inner - first;                                                       \
                                                                                                   \
            name##_columns(y + outer * r->inner + first, x + outer * r->count * r->inner + first,  \
                           left < COLUMNS ? left : COLUMNS, r);                                    \
        }                                                                                          \
    }

#define WHOLE(name, type, wide, take, start, end)                                                  \
    COLUMN_BLOCK(name, type, wide, take, start, end)                                               \
    WHOLE_ROW(name, type, wide, take, start)                                                       \
    PART(name, type, end)

#define REAL(name, take, start, both, sign)                                                        \
    COLUMN_BLOCK(name, double, double, take, start, END_F64)                                       \
    REAL_ROW(name, take, start, both, sign)                                                        \
    PART(name, double, END_F64)

#define WHOLES(name, type, wide, low, high)                                                        \
    WHOLE(name##_sum, type, wide, TAKE_SUM, 0, END_SAME)                                           \
    WHOLE(name##_size, type, wide, TAKE_SIZE, 0, END_SAME)                                         \
    WHOLE(name##_square, type, wide, TAKE_SQUARE, 0, END_SAME)                                     \
    WHOLE(name##_prod, type, wide, TAKE_PROD, 1, END_SAME)                                         \
    WHOLE(name##_mean, type, int64_t, TAKE_SUM, 0, END_MEAN)                                       \
    WHOLE(name##_max, type, type, TAKE_MAX, low, END_SAME)                                         \
    WHOLE(name##_min, type, type, TAKE_MIN, high, END_SAME)

WHOLES(i32, int32_t, uint32_t, INT32_MIN, INT32_MAX)
WHOLES(i64, int64_t, uint64_t, INT64_MIN, INT64_MAX)
WHOLE(i8_max, int8_t, int8_t, TAKE_MAX, INT8_MIN, END_SAME)
WHOLE(i8_min, int8_t, int8_t, TAKE_MIN, INT8_MAX, END_SAME)
WHOLE(u8_max, uint8_t, uint8_t, TAKE_MAX, 0, END_SAME)
WHOLE(u8_min, uint8_t, uint8_t, TAKE_MIN, UINT8_MAX, END_SAME)
REAL(f64_sum, TAKE_SUM, 0.0, +, "omp simd reduction(+ : all, second)")
REAL(f64_size, TAKE_SIZE, 0.0, +, "omp simd reduction(+ : all, second)")
REAL(f64_square, TAKE_SQUARE, 0.0, +, "omp simd reduction(+ : all, second)")
REAL(f64_prod, TAKE_PROD, 1.0, *, "omp simd reduction(* : all, second)")
COLUMN_BLOCK(f64_max, double, double, TAKE_MAX_F64, -(double)INFINITY, END_SAME)
COLUMN_BLOCK(f64_min, double, double, TAKE_MIN_F64, (double)INFINITY, END_SAME)
PART(f64_max, double, END_SAME)
PART(f64_min, double, END_SAME)

#define VERSION(name, isa)                                                                         \
    ISA_TARGET_##isa static void name##_##isa(void *argument, int64_t begin, int64_t end)          \
    {                                                                                              \
        name##_part(argument, begin, end);                                                         \
    }

#define VERSIONS_OF(type, isa)                                                                     \
    VERSION(type##_sum, isa)                                                                       \
    VERSION(type##_size, isa)                                                                      \
    VERSION(type##_square, isa)                                                                    \
    VERSION(type##_prod, isa)                                                                      \
    VERSION(type##_max, isa)                                                                       \
    VERSION(type##_min, isa)

#define SUMS(type, mean, isa)                                                                      \
    [REDUCE_L1] = type##_size_##isa, [REDUCE_MAX] = type##_max_##isa, [REDUCE_MEAN] = mean,        \
    [REDUCE_MIN] = type##_min_##isa, [REDUCE_PROD] = type##_prod_##isa,                            \
    [REDUCE_SUM] = type##_sum_##isa, [REDUCE_SUM_SQUARE] = type##_square_##isa

#define REDUCE_ANY(isa)                                                                            \
    VERSIONS_OF(i32, isa)                                                                          \
    VERSIONS_OF(i64, isa)                                                                          \
    VERSIONS_OF(f64, isa)                                                                          \
    VERSION(i32_mean, isa)                                                                         \
    VERSION(i64_mean, isa)                                                                         \
    VERSION(i8_max, isa)                                                                           \
    VERSION(i8_min, isa)                                                                           \
    VERSION(u8_max, isa)                                                                           \
    VERSION(u8_min, isa)                                                                           \
                                                                                                   \
    void reduce_any_##isa(void *y, const void *x, const struct kernel_reduce *s)                   \
    {                                                                                              \
        static team_fn *const parts[KERNEL_DTYPES][REDUCE_SUM_SQUARE + 1] = {                      \
            [KERNEL_I32] = {SUMS(i32, i32_mean_##isa, isa)},                                       \
            [KERNEL_I64] = {SUMS(i64, i64_mean_##isa, isa)},                                       \
            [KERNEL_F64] = {SUMS(f64, f64_sum_##isa, isa), [REDUCE_L2] = f64_square_##isa,         \
                            [REDUCE_LOG_SUM] = f64_sum_##isa},                                     \
            [KERNEL_I8] = {[REDUCE_MAX] = i8_max_##isa, [REDUCE_MIN] = i8_min_##isa},              \
            [KERNEL_U8] = {[REDUCE_MAX] = u8_max_##isa, [REDUCE_MIN] = u8_min_##isa},              \
            [KERNEL_BOOL] = {[REDUCE_MAX] = u8_max_##isa, [REDUCE_MIN] = u8_min_##isa},            \
        };                                                                                         \
        struct reduction r = {.y = y, .x = x, .op = s->op};                                        \
        struct reduced_axes axes;                                                                  \
                                                                                                   \
        if (!parts[s->dtype][s->op] || !find_axes(s, &axes)) {                                     \
            reduce_real_##isa(y, x, s);                                                            \
            return;                                                                                \
        }                                                                                          \
        r.count = axes.count;                                                                      \
        r.inner = axes.inner;                                                                      \
        team_for(axes.outer *((r.inner + COLUMNS - 1) / COLUMNS),                                  \
                 GRAIN / (r.count * (r.inner < COLUMNS ? r.inner : COLUMNS)) + 1,                  \
                 parts[s->dtype][s->op], &r);                                                      \
    }

ISA_VERSIONS(REDUCE_ANY)
