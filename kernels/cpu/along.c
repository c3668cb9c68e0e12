/* SPDX-License-Identifier: Apache-2.0 */
/* What runs along one axis: the logarithm of softmax, the place of the largest, norms, running sums
 * and products. Lines that lie dense one by one, others many at once. Types and operations without a
 * loop here are the reference's. */
#include "kernels/cpu/along_f64.h"
#include "kernels/cpu/extreme.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/team.h"
#include "kernels/cpu/wide.h"
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

enum {
    GRAIN = 1 << 14, /* elements that are worth a second thread */
    COLUMNS = 1024,  /* at a time, at most */
    LEAST = 64,      /* of which a thread has a block of its own */
    LINE = 16,       /* of a cache */
    SHORT = 128,     /* elements of a row, at most, of which some are computed side by side */
    TOGETHER = 16,   /* of these, from LINE elements on */
    FEW = 32,        /* for Hardmax, which has less to do for each */
    ROWS = 64,
    PART = 32,
};

struct lines {
    void *y;
    const void *x;
    const struct kernel_along *shape;
    int64_t width; /* of a block of columns */
};

/* --- The logarithm of softmax. --- */

ISA_BODY void log_softmax_part(const struct lines *p, int64_t begin, int64_t end)
{
    int64_t count = p->shape->axis;

    for (int64_t row = begin; row < end; row++) {
        const float *x = (const float *)p->x + row * count;
        float *y = (float *)p->y + row * count, largest = math_largest(x, count), logarithm;
        double sum = math_sum_below(x, count, largest);

        if (!isfinite(largest) || isnan(sum)) {
            struct kernel_along one = *p->shape;

            one.outer = one.inner = 1;
            along_ref(y, x, &one);
            continue;
        }
        logarithm = (float)log(sum * MATH_BELOW);
        for (int64_t first = 0; first < count; first += 128) {
            int64_t last = first + 128 < count ? first + 128 : count;

            for (int64_t i = first; i < last; i += 16) { /* the next row */
                __builtin_prefetch(x + count + i);
                __builtin_prefetch(y + count + i, 1);
            }
#pragma omp simd
            for (int64_t i = first; i < last; i++)
                y[i] = (x[i] - largest) - logarithm;
        }
    }
}

/* `columns` neighbours on the inner axes. The logarithm is of a sum from 1 to the length of the axis, MATH_BELOW times as
 * small, and what it lacks of the truth is as much. Where something is not finite the reference does it. */
ISA_BODY bool log_softmax_columns(float *y, const float *x, int64_t axis, int64_t inner,
                                  int64_t columns)
{
    float largest[COLUMNS], sums[COLUMNS], parts[COLUMNS], least = math_least();
    int odd = 0;

    for (int64_t i = 0; i < columns; i++) {
        largest[i] = x[i];
        sums[i] = 0.0f;
    }
    for (int64_t k = 1; k < axis; k++)
        for (int64_t i = 0; i < columns; i++)
            largest[i] = x[k * inner + i] > largest[i] ? x[k * inner + i] : largest[i];
    for (int64_t first = 0; first < axis;
         first += PART) { /* small sums, so that little is rounded off */
        for (int64_t i = 0; i < columns; i++)
            parts[i] = 0.0f;
        for (int64_t k = first; k < axis && k < first + PART; k++)
            for (int64_t i = 0; i < columns; i++)
                parts[i] += math_exp_below(x[k * inner + i] - largest[i], least);
        for (int64_t i = 0; i < columns; i++)
            sums[i] += parts[i];
    }
#pragma omp simd reduction(| : odd)
    for (int64_t i = 0; i < columns; i++) {
        odd |= !(fabsf(largest[i]) <= 0x1.fffffep+127f) | (sums[i] != sums[i]);
        sums[i] = math_log(sums[i] * MATH_BELOW);
    }
    for (int64_t k = 0; !odd && k < axis; k++)
        for (int64_t i = 0; i < columns; i++)
            y[k * inner + i] = (x[k * inner + i] - largest[i]) - sums[i];
    return !odd;
}

/* Rows that hardly fill a register, as columns of a block of them. */
ISA_BODY bool log_softmax_short(float *y, const float *x, int64_t rows, int64_t axis)
{
    float block[LINE * ROWS];

    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < axis; i++)
            block[i * ROWS + r] = x[r * axis + i];
    if (!log_softmax_columns(block, block, axis, ROWS, rows))
        return false;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < axis; i++)
            y[r * axis + i] = block[i * ROWS + r];
    return true;
}

/* The last LINE elements are made first, of which some are made twice: y may be x. */
ISA_BODY void subtract_few(float *y, const float *x, int64_t count, float largest, float logarithm)
{
    float last[LINE];

#pragma omp simd
    for (int64_t j = 0; j < LINE; j++)
        last[j] = (x[count - LINE + j] - largest) - logarithm;
    for (int64_t i = 0; i + LINE < count; i += LINE)
#pragma omp simd
        for (int64_t j = 0; j < LINE; j++)
            y[i + j] = (x[i + j] - largest) - logarithm;
#pragma omp simd
    for (int64_t j = 0; j < LINE; j++)
        y[count - LINE + j] = last[j];
}

/* Some rows of few registers, step by step, so that none waits for the sum of one before. False, with nothing done,
 * where something is not finite. */
ISA_BODY bool log_softmax_few(float *y, const float *x, int64_t rows, int64_t axis)
{
    float largest[TOGETHER], sums[TOGETHER], least = math_least();
    int odd = 0;

    for (int64_t r = 0; r < rows; r++)
        largest[r] = math_largest_few(x + r * axis, axis);
    for (int64_t r = 0; r < rows; r++)
        sums[r] = math_sum_few(x + r * axis, axis, largest[r], least);
    for (int64_t r = rows; r < TOGETHER; r++)
        largest[r] = sums[r] = 1.0f;
#pragma omp simd reduction(| : odd)
    for (int64_t r = 0; r < TOGETHER; r++) {
        odd |= !(fabsf(largest[r]) < 0x1.fffffep+127f) | (sums[r] != sums[r]);
        sums[r] = math_log(sums[r] * MATH_BELOW);
    }
    for (int64_t r = 0; !odd && r < rows; r++)
        subtract_few(y + r * axis, x + r * axis, axis, largest[r], sums[r]);
    return !odd;
}

static void log_softmax_ref(const struct lines *p, int64_t at, int64_t rows)
{
    struct kernel_along some = *p->shape;

    some.outer = rows;
    along_ref((float *)p->y + at, (const float *)p->x + at, &some);
}

ISA_BODY void log_softmax_blocks(const struct lines *p, int64_t begin, int64_t end)
{
    int64_t axis = p->shape->axis, inner = p->shape->inner;

    for (; inner == 1 && axis >= LINE && begin < end; begin += TOGETHER) {
        int64_t rows = end - begin < TOGETHER ? end - begin : TOGETHER, at = begin * axis;

        if (!log_softmax_few((float *)p->y + at, (const float *)p->x + at, rows, axis))
            log_softmax_ref(p, at, rows);
    }
    for (; inner == 1 && begin < end; begin += ROWS) {
        int64_t rows = end - begin < ROWS ? end - begin : ROWS, at = begin * axis;

        if (!log_softmax_short((float *)p->y + at, (const float *)p->x + at, rows, axis))
            log_softmax_ref(p, at, rows);
    }
    for (; begin < end; begin++) {
        int64_t at = begin * axis * inner;
        bool is_done = true;

        for (int64_t j = 0; is_done && j < inner; j += COLUMNS)
            is_done = log_softmax_columns((float *)p->y + at + j, (const float *)p->x + at + j,
                                          axis, inner, inner - j < COLUMNS ? inner - j : COLUMNS);
        if (!is_done)
            log_softmax_ref(p, at, 1);
    }
}

/* --- The first of the largest: 1, and 0 elsewhere. A NaN is larger than nothing, and nothing than it. --- */

ISA_BODY void hard_line(float *y, const float *x, int64_t count)
{
    struct extremes found = extremes_of(x, count);
    int64_t best = 0;

    memset(y, 0, (size_t)count * sizeof(*y));
    if (found.has_nan) {
        for (int64_t k = 1; k < count; k++)
            best = x[k] > x[best] ? k : best;
    } else {
        best = extreme_first(x, count, found.high, 0);
    }
    y[best] = 1.0f;
}

ISA_BODY void hard_columns(float *restrict y, const float *restrict x, int64_t columns,
                           const struct kernel_along *s)
{
    float best[COLUMNS];
    int32_t at[COLUMNS];

    for (int64_t i = 0; i < columns; i++) {
        best[i] = x[i];
        at[i] = 0;
    }
    for (int64_t k = 1; k < s->axis; k++) {
        const float *row = x + k * s->inner;

#pragma omp simd
        for (int64_t i = 0; i < columns; i++) {
            float a = row[i], b = best[i];

            best[i] = a > b ? a : b;
            at[i] = a > b ? (int32_t)k : at[i];
        }
    }
    for (int64_t k = 0; k < s->axis; k++)
        for (int64_t i = 0; i < columns; i++)
            y[k * s->inner + i] = at[i] == (int32_t)k ? 1.0f : 0.0f;
}

/* Short rows side by side. */
ISA_BODY void hard_short(float *restrict y, const float *restrict x, int64_t rows, int64_t axis)
{
    float best[ROWS];
    int32_t at[ROWS];

    for (int64_t i = 0; i < rows; i++) {
        best[i] = x[i * axis];
        at[i] = 0;
    }
    for (int64_t k = 1; k < axis; k++) {
#pragma omp simd
        for (int64_t i = 0; i < rows; i++) {
            float a = x[i * axis + k], b = best[i];

            best[i] = a > b ? a : b;
            at[i] = a > b ? (int32_t)k : at[i];
        }
    }
    memset(y, 0, (size_t)(rows * axis) * sizeof(*y));
    for (int64_t i = 0; i < rows; i++)
        y[i * axis + at[i]] = 1.0f;
}

/* --- Norms. --- */

/* Of both halves at once, so that no sum waits for itself. */
ISA_BODY double norm_of(const float *x, int64_t count, int is_l1)
{
    double sum = 0.0, second = 0.0;
    int64_t half = count / 2;

#pragma omp simd reduction(+ : sum, second)
    for (int64_t i = 0; i < half; i++) {
        double d = (double)x[i], e = (double)x[half + i];

        sum += is_l1 ? fabs(d) : d * d;
        second += is_l1 ? fabs(e) : e * e;
    }
    if (count % 2) {
        double d = (double)x[count - 1];

        sum += is_l1 ? fabs(d) : d * d;
    }
    return is_l1 ? sum + second : sqrt(sum + second);
}

ISA_BODY void norm_line(float *y, const float *x, const struct kernel_along *s)
{
    double norm = s->op == ALONG_L1_NORM ? norm_of(x, s->axis, 1) : norm_of(x, s->axis, 0);
    double inverse = norm != 0.0 ? 1.0 / norm : 0.0;

    for (int64_t k = 0; k < s->axis; k++)
        y[k] = (float)((double)x[k] * inverse);
}

/* Rows that hardly fill a register, up to four at once, so that none waits for its sum; those that are not there are the
 * last one again. */
ISA_BODY void norm_short(float *y, const float *x, int64_t rows, int64_t axis, bool is_l1)
{
    const float *a = x, *b = x + (rows > 1) * axis, *c = b + (rows > 2) * axis;
    const float *d = c + (rows > 3) * axis;
    double sums[4] = {0};

    for (int64_t i = 0; i < axis; i++) {
        double numbers[4] = {(double)a[i], (double)b[i], (double)c[i], (double)d[i]};

        for (int r = 0; r < 4; r++)
            sums[r] += is_l1 ? fabs(numbers[r]) : numbers[r] * numbers[r];
    }
    for (int64_t r = 0; r < rows; r++) {
        double norm = is_l1 ? sums[r] : sqrt(sums[r]), inverse = norm != 0.0 ? 1.0 / norm : 0.0;

        for (int64_t i = 0; i < axis; i++)
            y[r * axis + i] = (float)((double)x[r * axis + i] * inverse);
    }
}

ISA_BODY void norm_columns(float *restrict y, const float *restrict x, int64_t columns,
                           const struct kernel_along *s)
{
    double sums[COLUMNS] = {0};

    for (int64_t k = 0; k < s->axis; k++) {
        const float *row = x + k * s->inner;

        if (s->op == ALONG_L1_NORM)
            for (int64_t i = 0; i < columns; i++)
                sums[i] += fabs((double)row[i]);
        else
            for (int64_t i = 0; i < columns; i++)
                sums[i] += (double)row[i] * (double)row[i];
    }
    for (int64_t i = 0; i < columns; i++) {
        double norm = s->op == ALONG_L1_NORM ? sums[i] : sqrt(sums[i]);

        sums[i] = norm != 0.0 ? 1.0 / norm : 0.0;
    }
    for (int64_t k = 0; k < s->axis; k++)
        for (int64_t i = 0; i < columns; i++)
            y[k * s->inner + i] = (float)((double)x[k * s->inner + i] * sums[i]);
}

/* --- Running sums and products, in the order of the reference, which they equal. --- */

/* Four steps at a time, so that sums are kept in registers between them. */
#define RUN_COLUMNS(type, sum_type, exclusive, operator)                                           \
    {                                                                                              \
        for (; k + 4 <= s->axis; k += 4, in += 4 * step, out += 4 * step)                          \
            _Pragma("omp simd") for (int64_t i = 0; i < columns; i++)                              \
            {                                                                                      \
                sum_type first = sums[i], second = first operator in[i];                           \
                sum_type third = second operator in[i + step];                                     \
                sum_type fourth = third operator in[i + 2 * step];                                 \
                sum_type last = fourth operator in[i + 3 * step];                                  \
                                                                                                   \
                sums[i] = last;                                                                    \
                out[i] = (type)((exclusive) ? first : second);                                     \
                out[i + step] = (type)((exclusive) ? second : third);                              \
                out[i + 2 * step] = (type)((exclusive) ? third : fourth);                          \
                out[i + 3 * step] = (type)((exclusive) ? fourth : last);                           \
            }                                                                                      \
        for (; k < s->axis; k++, in += step, out += step)                                          \
            for (int64_t i = 0; i < columns; i++) {                                                \
                sum_type before = sums[i];                                                         \
                                                                                                   \
                sums[i] = before operator in[i];                                                   \
                out[i] = (type)((exclusive) ? before : sums[i]);                                   \
            }                                                                                      \
    }

/* run_TYPE(): `columns` lines side by side. Integers are unsigned, so that they wrap around. */
#define RUN(name, type, sum_type)                                                                  \
    ISA_BODY void run_##name(type *restrict y, const type *restrict x, int64_t columns,            \
                             const struct kernel_along *s)                                         \
    {                                                                                              \
        bool is_product = s->op == ALONG_PRODUCT;                                                  \
        int64_t k = 0, step = s->is_reverse ? -s->inner : s->inner;                                \
        const type *in = s->is_reverse ? x + (s->axis - 1) * s->inner : x;                         \
        type *out = s->is_reverse ? y + (s->axis - 1) * s->inner : y;                              \
        sum_type sums[COLUMNS];                                                                    \
                                                                                                   \
        for (int64_t i = 0; i < columns; i++)                                                      \
            sums[i] = is_product;                                                                  \
        if (is_product && s->is_exclusive)                                                         \
            RUN_COLUMNS(type, sum_type, true, *)                                                   \
        else if (is_product)                                                                       \
            RUN_COLUMNS(type, sum_type, false, *)                                                  \
        else if (s->is_exclusive)                                                                  \
            RUN_COLUMNS(type, sum_type, true, +)                                                   \
        else                                                                                       \
            RUN_COLUMNS(type, sum_type, false, +)                                                  \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void run_line_##name(type *restrict y, const type *restrict x,                        \
                                  const struct kernel_along *s)                                    \
    {                                                                                              \
        bool is_product = s->op == ALONG_PRODUCT, is_exclusive = s->is_exclusive;                  \
        int64_t step = s->is_reverse ? -1 : 1, at = s->is_reverse ? s->axis - 1 : 0;               \
        sum_type sum = is_product;                                                                 \
                                                                                                   \
        for (int64_t k = 0; k < s->axis; k++, at += step) {                                        \
            sum_type before = sum;                                                                 \
                                                                                                   \
            sum = is_product ? sum * x[at] : sum + x[at];                                          \
            y[at] = (type)(is_exclusive ? before : sum);                                           \
        }                                                                                          \
    }

RUN(f32, float, double)
RUN(f64, double, double)
RUN(i32, uint32_t, uint32_t)
RUN(i64, uint64_t, uint64_t)

/* Sums and products of floats: a row of registers of columns at a time, and the columns that are left over. */
#define RUN_WIDE(isa)                                                                              \
    WIDE_TYPES(isa)                                                                                \
                                                                                                   \
    ISA_TARGET_##isa static inline __attribute__((always_inline)) void run_wide_##isa(             \
        float *restrict y, const float *restrict x, int64_t columns, const struct kernel_along *s, \
        bool is_product, bool is_exclusive)                                                        \
    {                                                                                              \
        int64_t step = s->is_reverse ? -s->inner : s->inner;                                       \
        int64_t first = s->is_reverse ? (s->axis - 1) * s->inner : 0;                              \
        double sums[COLUMNS];                                                                      \
                                                                                                   \
        for (int64_t i = 0; i < columns; i++)                                                      \
            sums[i] = is_product;                                                                  \
        x += first;                                                                                \
        y += first;                                                                                \
        for (int64_t k = 0; k < s->axis; k++, x += step, y += step)                                \
            for (int64_t i = 0; i < columns; i += each_##isa) {                                    \
                wide_##isa before = *(const wide_##isa *)(sums + i), here = WIDE_OF_##isa(x + i);  \
                wide_##isa after = is_product ? before * here : before + here;                     \
                                                                                                   \
                *(wide_##isa *)(sums + i) = after;                                                 \
                *(thin_##isa *)(y + i) =                                                           \
                    __builtin_convertvector(is_exclusive ? before : after, thin_##isa);            \
            }                                                                                      \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void run_wide_part_##isa(void *argument, int64_t begin, int64_t end)   \
    {                                                                                              \
        const struct lines *p = argument;                                                          \
        const struct kernel_along *s = p->shape;                                                   \
        int64_t blocks = (s->inner + p->width - 1) / p->width;                                     \
                                                                                                   \
        for (; begin < end; begin++) {                                                             \
            int64_t first = begin % blocks * p->width;                                             \
            int64_t at = begin / blocks * s->axis * s->inner + first;                              \
            int64_t columns = s->inner - first < p->width ? s->inner - first : p->width;           \
            int64_t whole = columns / each_##isa * each_##isa;                                     \
            float *y = (float *)p->y + at;                                                         \
            const float *x = (const float *)p->x + at;                                             \
                                                                                                   \
            if (s->op == ALONG_PRODUCT && s->is_exclusive)                                         \
                run_wide_##isa(y, x, whole, s, true, true);                                        \
            else if (s->op == ALONG_PRODUCT)                                                       \
                run_wide_##isa(y, x, whole, s, true, false);                                       \
            else if (s->is_exclusive)                                                              \
                run_wide_##isa(y, x, whole, s, false, true);                                       \
            else                                                                                   \
                run_wide_##isa(y, x, whole, s, false, false);                                      \
            if (whole < columns)                                                                   \
                run_f32(y + whole, x + whole, columns - whole, s);                                 \
        }                                                                                          \
    }

/* --- Lines, or blocks of columns. --- */

static bool is_run(const struct kernel_along *s)
{
    return s->op == ALONG_SUM || s->op == ALONG_PRODUCT;
}

static bool has_loop(const struct kernel_along *s)
{
    bool is_wide = s->dtype == KERNEL_F64 || s->dtype == KERNEL_I64 || s->dtype == KERNEL_U64;

    if (s->axis > INT32_MAX)
        return false;
    if (is_run(s))
        return is_wide || s->dtype == KERNEL_F32 || s->dtype == KERNEL_I32 ||
               s->dtype == KERNEL_U32;
    return s->dtype == KERNEL_F32 && s->op != ALONG_SOFTMAX;
}

#define RUN_AT(name, type)                                                                         \
    do {                                                                                           \
        type *to = (type *)p->y + at;                                                              \
        const type *from = (const type *)p->x + at;                                                \
                                                                                                   \
        if (s->inner == 1)                                                                         \
            run_line_##name(to, from, s);                                                          \
        else                                                                                       \
            run_##name(to, from, columns, s);                                                      \
    } while (0)

ISA_BODY void run_at(const struct lines *p, int64_t at, int64_t columns)
{
    const struct kernel_along *s = p->shape;

    if (s->dtype == KERNEL_F32)
        RUN_AT(f32, float);
    else if (s->dtype == KERNEL_F64)
        RUN_AT(f64, double);
    else if (s->dtype == KERNEL_I32 || s->dtype == KERNEL_U32)
        RUN_AT(i32, uint32_t);
    else
        RUN_AT(i64, uint64_t);
}

static bool is_short_norm(const struct kernel_along *s)
{
    return (s->op == ALONG_L1_NORM || s->op == ALONG_L2_NORM) && s->inner == 1 && s->axis <= FEW;
}

ISA_BODY void along_part(const struct lines *p, int64_t begin, int64_t end)
{
    const struct kernel_along *s = p->shape;
    int64_t blocks = (s->inner + p->width - 1) / p->width;

    for (; s->op == ALONG_HARDMAX && s->inner == 1 && s->axis <= FEW && begin < end; begin += ROWS)
        hard_short((float *)p->y + begin * s->axis, (const float *)p->x + begin * s->axis,
                   end - begin < ROWS ? end - begin : ROWS, s->axis);
    for (; is_short_norm(s) && begin < end; begin += 4)
        norm_short((float *)p->y + begin * s->axis, (const float *)p->x + begin * s->axis,
                   end - begin < 4 ? end - begin : 4, s->axis, s->op == ALONG_L1_NORM);
    for (; begin < end; begin++) {
        int64_t first = begin % blocks * p->width, at = begin / blocks * s->axis * s->inner + first;
        int64_t columns = s->inner - first < p->width ? s->inner - first : p->width;
        float *y = (float *)p->y + at;
        const float *x = (const float *)p->x + at;

        if (is_run(s))
            run_at(p, at, columns);
        else if (s->op == ALONG_HARDMAX && s->inner == 1)
            hard_line(y, x, s->axis);
        else if (s->op == ALONG_HARDMAX)
            hard_columns(y, x, columns, s);
        else if (s->inner == 1)
            norm_line(y, x, s);
        else
            norm_columns(y, x, columns, s);
    }
}

/* Of blocks of columns: as wide as may be, so that memory is read in its order, and as many as threads. */
static int64_t width_of(const struct kernel_along *s)
{
    int64_t width = s->inner < COLUMNS ? s->inner : COLUMNS;

    while (width > LEAST && s->outer * ((s->inner + width - 1) / width) < kernel_threads())
        width = (width + 1) / 2;
    return width;
}

#define ALONG(isa)                                                                                 \
    RUN_WIDE(isa)                                                                                  \
                                                                                                   \
    ISA_TARGET_##isa static void log_softmax_part_##isa(void *argument, int64_t begin,             \
                                                        int64_t end)                               \
    {                                                                                              \
        log_softmax_part(argument, begin, end);                                                    \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void log_softmax_blocks_##isa(void *argument, int64_t begin,           \
                                                          int64_t end)                             \
    {                                                                                              \
        log_softmax_blocks(argument, begin, end);                                                  \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void along_part_##isa(void *argument, int64_t begin, int64_t end)      \
    {                                                                                              \
        along_part(argument, begin, end);                                                          \
    }                                                                                              \
                                                                                                   \
    void along_##isa(void *y, const void *x, const struct kernel_along *s)                         \
    {                                                                                              \
        struct lines p = {y, x, s, width_of(s)};                                                   \
                                                                                                   \
        if (s->axis <= 0 || s->inner <= 0)                                                         \
            return;                                                                                \
        if (s->dtype == KERNEL_F64 && !is_run(s) && s->op != ALONG_HARDMAX)                        \
            along_f64_##isa(y, x, s);                                                              \
        else if (!has_loop(s))                                                                     \
            along_ref(y, x, s);                                                                    \
        else if (s->op == ALONG_LOG_SOFTMAX && s->inner == 1 && s->axis > SHORT)                   \
            team_for(s->outer, GRAIN / s->axis + 1, log_softmax_part_##isa, &p);                   \
        else if (s->op == ALONG_LOG_SOFTMAX)                                                       \
            team_for(s->outer, GRAIN / (s->axis * s->inner) + 1, log_softmax_blocks_##isa, &p);    \
        else                                                                                       \
            team_for(s->outer *((s->inner + p.width - 1) / p.width),                               \
                     GRAIN / (s->axis * p.width) + 1,                                              \
                     is_run(s) && s->dtype == KERNEL_F32 && s->inner > 1 ? run_wide_part_##isa     \
                                                                         : along_part_##isa,       \
                     &p);                                                                          \
    }

ISA_VERSIONS(ALONG)
