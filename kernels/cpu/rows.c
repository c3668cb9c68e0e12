/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and normalisations of f32 over rows: the last axes, dense, or rows that lie apart. Other
 * types are reduce_any.c's and norms_f64.c's. Sums are kept in f64. */
#include "kernels/cpu/extreme.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/math_f64.h"
#include "kernels/cpu/norm_rows.h"
#include "kernels/cpu/norms_f64.h"
#include "kernels/cpu/reduce_any.h"
#include "kernels/cpu/team.h"
#include "kernels/cpu/wide.h"
#include "kernels/kernels.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    GRAIN = 1 << 14, /* elements that are worth a second thread */
    SHORT = 16,      /* elements of a row that are no vectors of their own */
    SHORT_ROWS = 64,
};

/* Of which the sum is taken; constants where it is given. */
enum { NUMBERS, SQUARES, SIZES };

ISA_BODY double sum_of(double x, int kind)
{
    return kind == SQUARES ? x * x : kind == SIZES ? fabs(x) : x;
}

/* Of both halves at once, so that no sum waits for itself. */
ISA_BODY double sum_row(const float *x, int64_t count, int kind)
{
    double sum = 0.0, second = 0.0;
    int64_t half = count / 2;

#pragma omp simd reduction(+ : sum, second)
    for (int64_t i = 0; i < half; i++) {
        sum += sum_of((double)x[i], kind);
        second += sum_of((double)x[half + i], kind);
    }
    if (count % 2)
        sum += sum_of((double)x[count - 1], kind);
    return sum + second;
}

ISA_BODY double multiply_row(const float *x, int64_t count)
{
    double all = 1.0, second = 1.0;
    int64_t half = count / 2;

#pragma omp simd reduction(* : all, second)
    for (int64_t i = 0; i < half; i++) {
        all *= (double)x[i];
        second *= (double)x[half + i];
    }
    return all * second * (count % 2 ? (double)x[count - 1] : 1.0);
}

/* --- Reductions. --- */

struct reduction {
    float *y;
    const float *x;
    int64_t count; /* of a row */
    int64_t inner; /* elements behind the reduced axes */
    enum kernel_reduce_op op;
};

ISA_BODY float end_sum(double sum, int64_t count, enum kernel_reduce_op op)
{
    switch (op) {
    case REDUCE_L2:
        return (float)sqrt(sum);
    case REDUCE_LOG_SUM:
        return (float)log(sum);
    case REDUCE_MEAN:
        return (float)(sum / (double)count);
    default:
        return (float)sum;
    }
}

/* What is no normal number above 0 is the library's. */
ISA_BODY void end_logarithms(float *y, const double *sums, int64_t columns)
{
    int any = 0;

#pragma omp simd reduction(| : any)
    for (int64_t i = 0; i < columns; i++) {
        int odd = !(sums[i] >= DBL_MIN) | !(sums[i] <= DBL_MAX);

        any |= odd;
        y[i] = (float)math_f64_log(odd ? 1.0 : sums[i]);
    }
    for (int64_t i = 0; any && i < columns; i++)
        if (!(sums[i] >= DBL_MIN) || !(sums[i] <= DBL_MAX))
            y[i] = (float)log(sums[i]);
}

/* Of many at once: a mean by a product, as a register of divisions takes as long as the sums of four rows. */
ISA_BODY void end_sums(float *restrict y, const double *restrict sums, int64_t columns,
                       int64_t count, enum kernel_reduce_op op)
{
    double share = 1.0 / (double)count;

    if (op == REDUCE_LOG_SUM)
        end_logarithms(y, sums, columns);
    else
        for (int64_t i = 0; i < columns; i++)
            y[i] = op == REDUCE_MEAN ? (float)(sums[i] * share) : end_sum(sums[i], count, op);
}

/* Element i of `columns`, which lie `step` apart, is added to sums[i]. */
ISA_BODY void add_columns(double *sums, const float *x, int64_t step, int64_t columns,
                          enum kernel_reduce_op op)
{
    if (op == REDUCE_SUM_SQUARE || op == REDUCE_L2)
        for (int64_t i = 0; i < columns; i++)
            sums[i] += (double)x[i * step] * (double)x[i * step];
    else if (op == REDUCE_L1)
        for (int64_t i = 0; i < columns; i++)
            sums[i] += fabs((double)x[i * step]);
    else if (op == REDUCE_PROD)
        for (int64_t i = 0; i < columns; i++)
            sums[i] *= (double)x[i * step];
    else
        for (int64_t i = 0; i < columns; i++)
            sums[i] += (double)x[i * step];
}

/* As add_columns(), four rows `line` apart at a time, so that sums are loaded once for them. Not of products. */
ISA_BODY void add_four(double *restrict sums, const float *restrict x, int64_t line,
                       int64_t columns, int kind)
{
#pragma omp simd
    for (int64_t i = 0; i < columns; i++)
        sums[i] += (sum_of((double)x[i], kind) + sum_of((double)x[line + i], kind)) +
                   (sum_of((double)x[2 * line + i], kind) + sum_of((double)x[3 * line + i], kind));
}

/* `rows` rows of columns, `line` apart. */
ISA_BODY void add_rows(double *restrict sums, const float *restrict x, int64_t rows, int64_t line,
                       int64_t columns, enum kernel_reduce_op op)
{
    int64_t k = 0;

    for (; op != REDUCE_PROD && k + 4 <= rows; k += 4, x += 4 * line) {
        if (op == REDUCE_SUM_SQUARE || op == REDUCE_L2)
            add_four(sums, x, line, columns, SQUARES);
        else if (op == REDUCE_L1)
            add_four(sums, x, line, columns, SIZES);
        else
            add_four(sums, x, line, columns, NUMBERS);
    }
    for (; k < rows; k++, x += line)
        add_columns(sums, x, 1, columns, op);
}

/* Short rows side by side. */
ISA_BODY void sum_short(float *y, const float *x, int64_t rows, int64_t count,
                        enum kernel_reduce_op op)
{
    double sums[SHORT_ROWS];

    for (int64_t i = 0; i < rows; i++)
        sums[i] = op == REDUCE_PROD ? 1.0 : 0.0;
    for (int64_t k = 0; k < count; k++)
        add_columns(sums, x + k, count, rows, op);
    end_sums(y, sums, rows, count, op);
}

ISA_BODY double whole_row(const float *x, int64_t count, enum kernel_reduce_op op)
{
    switch (op) {
    case REDUCE_SUM_SQUARE:
    case REDUCE_L2:
        return sum_row(x, count, SQUARES);
    case REDUCE_L1:
        return sum_row(x, count, SIZES);
    case REDUCE_PROD:
        return multiply_row(x, count);
    default:
        return sum_row(x, count, NUMBERS);
    }
}

ISA_BODY void reduce_part(const struct reduction *r, int64_t begin, int64_t end)
{
    for (; r->count <= SHORT && begin < end; begin += SHORT_ROWS) {
        int64_t rows = end - begin < SHORT_ROWS ? end - begin : SHORT_ROWS;

        sum_short(r->y + begin, r->x + begin * r->count, rows, r->count, r->op);
    }
    for (int64_t row = begin; row < end; row++)
        r->y[row] = end_sum(whole_row(r->x + row * r->count, r->count, r->op), r->count, r->op);
}

/* --- Sums of rows of some registers: first those of the lanes of many rows, then those of each row's lanes, so that none
 * waits for the sum of one before. --- */

enum { MEDIUM = 512, LANES = 8 };

ISA_BODY double sum_lanes(const double *a, int count)
{
    double sum = (a[0] + a[1]) + (a[2] + a[3]);

    return count == LANES ? sum + ((a[4] + a[5]) + (a[6] + a[7])) : sum;
}

#define MEDIUM_ROWS(isa)                                                                           \
    WIDE_TYPES(isa)                                                                                \
    typedef int64_t bits_##isa __attribute__((vector_size(8 * each_##isa)));                       \
                                                                                                   \
    ISA_TARGET_##isa static inline __attribute__((always_inline))                                  \
    wide_##isa take_##isa(const float *x, int kind)                                                \
    {                                                                                              \
        wide_##isa v = WIDE_OF_##isa(x);                                                           \
                                                                                                   \
        if (kind == SIZES)                                                                         \
            return (wide_##isa)((bits_##isa)v & INT64_MAX);                                        \
        if (kind == SQUARES)                                                                       \
            return v * v;                                                                          \
        return v;                                                                                  \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static inline __attribute__((always_inline)) void fold_##isa(                 \
        double *lanes, const float *x, int64_t rows, int64_t count, int kind)                      \
    {                                                                                              \
        for (int64_t r = 0; r < rows; r++, x += count, lanes += each_##isa) {                      \
            wide_##isa sum = take_##isa(x, kind), second = {0};                                    \
            int64_t i = each_##isa;                                                                \
                                                                                                   \
            for (; i + 2 * each_##isa <= count; i += 2 * each_##isa) {                             \
                second += take_##isa(x + i, kind);                                                 \
                sum += take_##isa(x + i + each_##isa, kind);                                       \
            }                                                                                      \
            for (; i + each_##isa <= count; i += each_##isa)                                       \
                second += take_##isa(x + i, kind);                                                 \
            *(wide_##isa *)lanes = sum + second;                                                   \
            for (int64_t j = 0; i < count; i++, j++)                                               \
                lanes[j] += sum_of((double)x[i], kind);                                            \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* The sum of a row's squares, by registers that do not wait for each other. */                \
    ISA_TARGET_##isa static inline double squares_##isa(const float *x, int64_t count)             \
    {                                                                                              \
        wide_##isa sums[4] = {{0}, {0}, {0}, {0}};                                                 \
        double lanes[LANES], rest = 0.0;                                                           \
        int64_t i = 0;                                                                             \
                                                                                                   \
        for (; i + 4 * each_##isa <= count; i += 4 * each_##isa)                                   \
            for (int j = 0; j < 4; j++)                                                            \
                sums[j] += take_##isa(x + i + j * each_##isa, SQUARES);                            \
        for (; i + each_##isa <= count; i += each_##isa)                                           \
            sums[0] += take_##isa(x + i, SQUARES);                                                 \
        for (; i < count; i++)                                                                     \
            rest += (double)x[i] * (double)x[i];                                                   \
        *(wide_##isa *)lanes = (sums[0] + sums[1]) + (sums[2] + sums[3]);                          \
        return rest + sum_lanes(lanes, each_##isa);                                                \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void medium_part_##isa(void *argument, int64_t begin, int64_t end)     \
    {                                                                                              \
        const struct reduction *p = argument;                                                      \
        double lanes[SHORT_ROWS * each_##isa], sums[SHORT_ROWS];                                   \
                                                                                                   \
        for (; begin < end; begin += SHORT_ROWS) {                                                 \
            int64_t rows = end - begin < SHORT_ROWS ? end - begin : SHORT_ROWS;                    \
            const float *x = p->x + begin * p->count;                                              \
                                                                                                   \
            if (p->op == REDUCE_SUM_SQUARE || p->op == REDUCE_L2)                                  \
                fold_##isa(lanes, x, rows, p->count, SQUARES);                                     \
            else if (p->op == REDUCE_L1)                                                           \
                fold_##isa(lanes, x, rows, p->count, SIZES);                                       \
            else                                                                                   \
                fold_##isa(lanes, x, rows, p->count, NUMBERS);                                     \
            for (int64_t r = 0; r < rows; r++)                                                     \
                sums[r] = sum_lanes(lanes + r * each_##isa, each_##isa);                           \
            end_sums(p->y + begin, sums, rows, p->count, p->op);                                   \
        }                                                                                          \
    }

ISA_VERSIONS(MEDIUM_ROWS)

/* The logarithm of the sum of e^x. */
ISA_BODY void exponential_part(const struct reduction *r, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row++) {
        const float *x = r->x + row * r->count;
        float largest = math_largest(x, r->count);
        double sum = math_sum_below(x, r->count, largest);
        struct kernel_reduce one = {
            .op = r->op, .dtype = KERNEL_F32, .rank = 1, .dims = {r->count}, .is_reduced = {true}};

        if (isfinite(largest) && !isnan(sum))
            r->y[row] = (float)(log(sum * MATH_BELOW) + (double)largest);
        else
            reduce_ref(r->y + row, x, &one);
    }
}

/* The largest, or the smallest; NaN where there is one. is_max is a constant, so that only one is looked for. */
ISA_BODY float extreme_row(const float *x, int64_t count, int is_max)
{
    struct extremes found = extremes_of(x, count);

    return found.has_nan ? NAN : is_max ? found.high : found.low;
}

ISA_BODY void extreme_part(const struct reduction *r, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row++)
        r->y[row] = r->op == REDUCE_MAX ? extreme_row(r->x + row * r->count, r->count, 1)
                                        : extreme_row(r->x + row * r->count, r->count, 0);
}

/* Axes in the middle: [outer, count, inner], a block of columns at a time. */

enum { COLUMNS = 512 };

ISA_BODY void sum_columns(float *y, const float *x, int64_t columns, const struct reduction *r)
{
    double sums[COLUMNS];

    for (int64_t i = 0; i < columns; i++)
        sums[i] = r->op == REDUCE_PROD ? 1.0 : 0.0;
    add_rows(sums, x, r->count, r->inner, columns, r->op);
    end_sums(y, sums, columns, r->count, r->op);
}

ISA_BODY void extreme_columns(float *restrict y, const float *restrict x, int64_t columns,
                              const struct reduction *r)
{
    for (int64_t i = 0; i < columns; i++)
        y[i] = x[i];
    for (int64_t k = 1; k < r->count; k++) {
        x += r->inner;
        if (r->op == REDUCE_MAX)
            for (int64_t i = 0; i < columns; i++)
                y[i] = x[i] > y[i] || x[i] != x[i] ? x[i] : y[i];
        else
            for (int64_t i = 0; i < columns; i++)
                y[i] = x[i] < y[i] || x[i] != x[i] ? x[i] : y[i];
    }
}

/* The logarithm of the sum of e^x of one column, as the reference has it. */
static float exponential_column(const float *x, const struct reduction *r)
{
    double largest = -(double)INFINITY, sum = 0.0;

    for (int64_t k = 0; k < r->count; k++)
        if (!((double)x[k * r->inner] <= largest))
            largest = isnan(largest) ? largest : (double)x[k * r->inner];
    largest = isfinite(largest) ? largest : 0.0;
    for (int64_t k = 0; k < r->count; k++)
        sum += exp((double)x[k * r->inner] - largest);
    return (float)(log(sum) + largest);
}

enum { TERMS = 32 }; /* of a sum in f32 */

ISA_BODY void exponential_columns(float *restrict y, const float *restrict x, int64_t columns,
                                  const struct reduction *r)
{
    float largest[COLUMNS], parts[COLUMNS], least = math_least();
    double sums[COLUMNS];
    int odd = 0;

    for (int64_t i = 0; i < columns; i++) {
        largest[i] = x[i];
        sums[i] = 0.0;
    }
    for (int64_t k = 1; k < r->count; k++)
        for (int64_t i = 0; i < columns; i++)
            largest[i] = x[k * r->inner + i] > largest[i] ? x[k * r->inner + i] : largest[i];
    for (int64_t first = 0; first < r->count; first += TERMS) {
        for (int64_t i = 0; i < columns; i++)
            parts[i] = 0.0f;
        for (int64_t k = first; k < r->count && k < first + TERMS; k++)
            for (int64_t i = 0; i < columns; i++)
                parts[i] += math_exp_below(x[k * r->inner + i] - largest[i], least);
        for (int64_t i = 0; i < columns; i++)
            sums[i] += (double)parts[i];
    }
#pragma omp simd reduction(| : odd)
    for (int64_t i = 0; i < columns; i++) {
        odd |= !(fabsf(largest[i]) <= 0x1.fffffep+127f) | (sums[i] != sums[i]);
        y[i] = math_log((float)(sums[i] * MATH_BELOW)) + largest[i];
    }
    for (int64_t i = 0; odd && i < columns; i++)
        if (!isfinite(largest[i]) || isnan(sums[i]))
            y[i] = exponential_column(x + i, r);
}

/* Blocks of columns [begin, end), counted over the outer axes. */
ISA_BODY void columns_part(const struct reduction *r, int64_t begin, int64_t end)
{
    int64_t blocks = (r->inner + COLUMNS - 1) / COLUMNS;

    for (; begin < end; begin++) {
        int64_t outer = begin / blocks, first = begin % blocks * COLUMNS;
        int64_t columns = r->inner - first < COLUMNS ? r->inner - first : COLUMNS;
        const float *x = r->x + outer * r->count * r->inner + first;
        float *y = r->y + outer * r->inner + first;

        if (r->op == REDUCE_MAX || r->op == REDUCE_MIN)
            extreme_columns(y, x, columns, r);
        else if (r->op == REDUCE_LOG_SUM_EXP)
            exponential_columns(y, x, columns, r);
        else
            sum_columns(y, x, columns, r);
    }
}

/* Whether the reduced axes are neighbours with others behind them; what is before, in and behind
 * them. */
static bool find_middle(const struct kernel_reduce *s, int64_t *out_outer, struct reduction *r)
{
    int first = 0, end;

    while (first < s->rank && !s->is_reduced[first])
        first++;
    for (end = first; end < s->rank && s->is_reduced[end]; end++)
        ;
    for (int i = end; i < s->rank; i++)
        if (s->is_reduced[i])
            return false;
    *out_outer = product(s->dims, 0, first);
    r->count = product(s->dims, first, end);
    r->inner = product(s->dims, end, s->rank);
    return end > first && r->count > 0 && r->inner > 0 && *out_outer > 0;
}

static bool is_extreme(enum kernel_reduce_op op)
{
    return op == REDUCE_MAX || op == REDUCE_MIN;
}

static bool is_sum(enum kernel_reduce_op op)
{
    return !is_extreme(op) && op != REDUCE_LOG_SUM_EXP;
}

/* Whether a row has some registers, which are added up. */
static bool is_medium(enum kernel_reduce_op op, int64_t count)
{
    return is_sum(op) && op != REDUCE_PROD && count > SHORT && count <= MEDIUM;
}

struct spread_reduction {
    float *y;
    const float *x;
    struct spread s;
    enum kernel_reduce_op op;
};

ISA_BODY float reduce_rows(const struct spread_reduction *r, const float *x)
{
    const struct spread *s = &r->s;
    double sum = r->op == REDUCE_PROD ? 1.0 : 0.0;

    for (int64_t row = 0; row < s->rows; row++) {
        double more = whole_row(x + place_of(row, s->dims, s->stride, s->reduced), s->run, r->op);

        sum = r->op == REDUCE_PROD ? sum * more : sum + more;
    }
    return end_sum(sum, s->rows * s->run, r->op);
}

ISA_BODY void reduce_apart(const struct spread_reduction *r, float *y, const float *x,
                           int64_t columns)
{
    const struct spread *s = &r->s;
    double sums[COLUMNS];

    for (int64_t i = 0; i < columns; i++)
        sums[i] = r->op == REDUCE_PROD ? 1.0 : 0.0;
    for (int64_t row = 0; row < s->rows; row++)
        add_columns(sums, x + place_of(row, s->dims, s->stride, s->reduced), 1, columns, r->op);
    end_sums(y, sums, columns, s->rows, r->op);
}

/* Groups, or blocks of columns of them, [begin, end). */
ISA_BODY void spread_part(const struct spread_reduction *r, int64_t begin, int64_t end)
{
    const struct spread *s = &r->s;
    int64_t blocks = s->is_reduced ? 1 : (s->run + COLUMNS - 1) / COLUMNS;

    for (; begin < end; begin++) {
        int64_t group = begin / blocks, first = begin % blocks * COLUMNS;
        const float *x = r->x + place_of(group, s->kept_dims, s->kept_stride, s->kept) + first;

        if (s->is_reduced)
            r->y[group] = reduce_rows(r, x);
        else
            reduce_apart(r, r->y + group * s->run + first, x,
                         s->run - first < COLUMNS ? s->run - first : COLUMNS);
    }
}

/* --- Normalisations. --- */

/* In one pass: sums of the distances from the first element, and of their squares. No element is
 * further from the mean than sqrt(count) deviations, so that little is lost in the difference. */
struct moments {
    double first, sum, squares;
};

ISA_BODY void add_moments(struct moments *m, const float *x, int64_t count)
{
    double first = m->first, sum = 0.0, squares = 0.0;

#pragma omp simd reduction(+ : sum, squares)
    for (int64_t i = 0; i < count; i++) {
        double d = (double)x[i] - first;

        sum += d;
        squares += d * d;
    }
    m->sum += sum;
    m->squares += squares;
}

static void end_moments(const struct moments *m, int64_t count, double *out_mean,
                        double *out_variance)
{
    double mean = m->sum / (double)count, squares = m->squares / (double)count - mean * mean;

    *out_mean = m->first + mean;
    *out_variance = squares < 0.0 ? 0.0 : squares;
}

/* What takes the mean away, in two parts, as x may lie close to it: (x - middle) * a + b. */
struct scaling {
    float middle, a, b;
};

static struct scaling scaling_of(const struct kernel_normalize *s, double mean, double variance,
                                 double *out_inverse)
{
    double inverse =
        s->adds_to_root ? 1.0 / (sqrt(variance) + s->epsilon) : 1.0 / sqrt(variance + s->epsilon);
    float middle = (float)mean;

    *out_inverse = inverse;
    return (struct scaling){middle, (float)inverse, (float)(((double)middle - mean) * inverse)};
}

/* (x - middle) * a + b, in the loop that the operands' strides allow. */
ISA_BODY void scale_row(const struct normalization *n, float *y, const float *x, float middle,
                        float a, float b)
{
    const float *scale = n->data->scale, *bias = n->data->bias;
    int64_t scale_stride = n->scale_stride, bias_stride = n->bias_stride;

    if (scale && bias && scale_stride == 1 && bias_stride == 1) {
#pragma omp simd
        for (int64_t i = 0; i < n->count; i++)
            y[i] = ((x[i] - middle) * a + b) * scale[i] + bias[i];
        return;
    }
    for (int64_t i = 0; i < n->count; i++) {
        float z = (x[i] - middle) * a + b;

        z = scale ? z * scale[i * scale_stride] : z;
        y[i] = bias ? z + bias[i * bias_stride] : z;
    }
}

/* Scale and bias of one number for each segment of the row. */
ISA_BODY void scale_segments(const struct normalization *n, float *y, const float *x, int64_t row,
                             float middle, float a, float b)
{
    const float *scale = n->data->scale, *bias = n->data->bias;
    int64_t at = row * (n->count / n->segment) % n->scales;

    for (int64_t first = 0; first < n->count; first += n->segment, at++) {
        float factor = scale ? scale[at] : 1.0f, summand = bias ? bias[at] : 0.0f;

#pragma omp simd
        for (int64_t i = first; i < first + n->segment; i++)
            y[i] = ((x[i] - middle) * a + b) * factor + summand;
    }
}

typedef double squares_fn(const float *x, int64_t count);

ISA_BODY void normalize_row(const struct normalization *n, int64_t row, squares_fn *squares)
{
    const struct kernel_normalize *s = n->shape;
    const float *x = (const float *)n->data->x + row * n->count;
    float *y = (float *)n->data->y + row * n->count;
    struct moments m = {.first = (double)x[0]};
    double mean = 0.0, variance, inverse;
    struct scaling by;

    if (s->keeps_mean) {
        variance = squares(x, n->count) / (double)n->count;
    } else {
        add_moments(&m, x, n->count);
        end_moments(&m, n->count, &mean, &variance);
    }
    by = scaling_of(s, mean, variance, &inverse);
    if (n->segment)
        scale_segments(n, y, x, row, by.middle, by.a, by.b);
    else
        scale_row(n, y, x, by.middle, by.a, by.b);
    if (n->data->mean)
        ((float *)n->data->mean)[row] = (float)mean;
    if (n->data->inverse)
        ((float *)n->data->inverse)[row] = (float)inverse;
}

ISA_BODY void normalize_part(const struct normalization *n, int64_t begin, int64_t end,
                             squares_fn *squares)
{
    for (int64_t row = begin; row < end; row++)
        normalize_row(n, row, squares);
}

ISA_BODY void apart_part(const struct apart *p, int64_t begin, int64_t end)
{
    const struct spread *s = &p->s;

    for (; begin < end; begin++) {
        int64_t group = place_of(begin, s->kept_dims, s->kept_stride, s->kept);
        const float *x = p->x;
        float *y = p->y;
        struct moments m = {.first = (double)x[group]};
        double mean, variance, inverse;
        struct scaling by;

        for (int64_t row = 0; row < s->rows; row++)
            add_moments(&m, x + group + place_of(row, s->dims, s->stride, s->reduced), s->run);
        end_moments(&m, s->rows * s->run, &mean, &variance);
        by = scaling_of(p->shape, mean, variance, &inverse);
        for (int64_t row = 0; row < s->rows; row++) {
            int64_t at = group + place_of(row, s->dims, s->stride, s->reduced);

#pragma omp simd
            for (int64_t i = at; i < at + s->run; i++)
                y[i] = (x[i] - by.middle) * by.a + by.b;
        }
    }
}

/* --- The versions. --- */

static bool plan_rows_f32(const struct kernel_normalize_data *data,
                          const struct kernel_normalize *s, struct normalization *out_plan)
{
    return plan_rows(data, s, KERNEL_F32, out_plan) &&
           ((!data->mean && !data->inverse) || s->stat_dtype == KERNEL_F32);
}

#define ROWS(isa)                                                                                  \
    ISA_TARGET_##isa static void reduce_part_##isa(void *argument, int64_t begin, int64_t end)     \
    {                                                                                              \
        reduce_part(argument, begin, end);                                                         \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void extreme_part_##isa(void *argument, int64_t begin, int64_t end)    \
    {                                                                                              \
        extreme_part(argument, begin, end);                                                        \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void columns_part_##isa(void *argument, int64_t begin, int64_t end)    \
    {                                                                                              \
        columns_part(argument, begin, end);                                                        \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void exponential_part_##isa(void *argument, int64_t begin,             \
                                                        int64_t end)                               \
    {                                                                                              \
        exponential_part(argument, begin, end);                                                    \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void spread_part_##isa(void *argument, int64_t begin, int64_t end)     \
    {                                                                                              \
        spread_part(argument, begin, end);                                                         \
    }                                                                                              \
                                                                                                   \
    void reduce_##isa(void *y, const void *x, const struct kernel_reduce *s)                       \
    {                                                                                              \
        int tail = reduced_tail(s->rank, s->dims, s->is_reduced);                                  \
        struct reduction r = {.y = y, .x = x, .op = s->op};                                        \
        struct spread_reduction apart = {.y = y, .x = x, .op = s->op};                             \
        bool is_here = s->dtype == KERNEL_F32;                                                     \
        int64_t outer;                                                                             \
                                                                                                   \
        r.count = product(s->dims, s->rank - (tail > 0 ? tail : 0), s->rank);                      \
        if (is_here && tail > 0 && r.count > 0)                                                    \
            team_for(product(s->dims, 0, s->rank - tail), GRAIN / r.count + 1,                     \
                     is_medium(s->op, r.count) ? medium_part_##isa                                 \
                     : is_sum(s->op)           ? reduce_part_##isa                                 \
                     : is_extreme(s->op)       ? extreme_part_##isa                                \
                                               : exponential_part_##isa,                                 \
                     &r);                                                                          \
        else if (is_here && tail <= 0 && find_middle(s, &outer, &r))                               \
            team_for(outer *((r.inner + COLUMNS - 1) / COLUMNS), GRAIN / (r.count * COLUMNS) + 1,  \
                     columns_part_##isa, &r);                                                      \
        else if (is_here && tail <= 0 && is_sum(s->op) &&                                          \
                 plan_spread(s->rank, s->dims, s->is_reduced, &apart.s))                           \
            team_for(                                                                              \
                apart.s.groups *(apart.s.is_reduced ? 1 : (apart.s.run + COLUMNS - 1) / COLUMNS),  \
                GRAIN / (apart.s.rows * apart.s.run) + 1, spread_part_##isa, &apart);              \
        else                                                                                       \
            reduce_any_##isa(y, x, s);                                                             \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void normalize_part_##isa(void *argument, int64_t begin, int64_t end)  \
    {                                                                                              \
        normalize_part(argument, begin, end, squares_##isa);                                       \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void apart_part_##isa(void *argument, int64_t begin, int64_t end)      \
    {                                                                                              \
        apart_part(argument, begin, end);                                                          \
    }                                                                                              \
                                                                                                   \
    void normalize_##isa(const struct kernel_normalize_data *data,                                 \
                         const struct kernel_normalize *s)                                         \
    {                                                                                              \
        struct normalization n;                                                                    \
        struct apart apart;                                                                        \
                                                                                                   \
        if (plan_rows_f32(data, s, &n))                                                            \
            team_for(product(s->dims, 0, s->rank - reduced_tail(s->rank, s->dims, s->is_reduced)), \
                     GRAIN / n.count + 1, normalize_part_##isa, &n);                               \
        else if (plan_apart(data, s, KERNEL_F32, &apart))                                          \
            team_for(apart.s.groups, GRAIN / (apart.s.rows * apart.s.run) + 1, apart_part_##isa,   \
                     &apart);                                                                      \
        else                                                                                       \
            normalize_f64_##isa(data, s);                                                          \
    }

ISA_VERSIONS(ROWS)
