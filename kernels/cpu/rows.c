/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and normalisations over whole rows of f32: the last axes, dense. Other ones are the
 * reference's. Sums are kept in f64. */
#include "kernels/cpu/extreme.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

enum {
    GRAIN = 1 << 14, /* elements that are worth a second thread */
    SHORT = 16,      /* elements of a row that are no vectors of their own */
    SHORT_ROWS = 64,
};

/* How many of the last axes are reduced, when no other one is; -1 when it is not so simple. */
static int reduced_tail(int rank, const bool *is_reduced)
{
    int kept = rank;

    while (kept > 0 && is_reduced[kept - 1])
        kept--;
    for (int i = 0; i < kept; i++) {
        if (is_reduced[i])
            return -1;
    }
    return rank - kept;
}

static int64_t product(const int64_t *dims, int from, int until)
{
    int64_t count = 1;

    for (int i = from; i < until; i++)
        count *= dims[i];
    return count;
}

/* Sum of x - shift, or of its square: of both halves at once, so that no sum waits for itself. */
ISA_BODY double sum_row(const float *x, int64_t count, double shift, int of_squares)
{
    double sum = 0.0, second = 0.0;
    int64_t half = count / 2;

#pragma omp simd reduction(+ : sum, second)
    for (int64_t i = 0; i < half; i++) {
        double d = (double)x[i] - shift, e = (double)x[half + i] - shift;

        sum += of_squares ? d * d : d;
        second += of_squares ? e * e : e;
    }
    if (count % 2) {
        double d = (double)x[count - 1] - shift;

        sum += of_squares ? d * d : d;
    }
    return sum + second;
}

/* --- Reductions. --- */

struct reduction {
    float *y;
    const float *x;
    int64_t count; /* of a row */
    int64_t inner; /* elements behind the reduced axes */
    enum kernel_reduce_op op;
};

/* Short rows side by side. */
ISA_BODY void sum_short(float *y, const float *x, int64_t rows, int64_t count,
                        enum kernel_reduce_op op)
{
    double sums[SHORT_ROWS] = {0};
    bool of_squares = op == REDUCE_SUM_SQUARE || op == REDUCE_L2;

    for (int64_t k = 0; k < count; k++) {
        if (of_squares)
            for (int64_t i = 0; i < rows; i++)
                sums[i] += (double)x[i * count + k] * (double)x[i * count + k];
        else
            for (int64_t i = 0; i < rows; i++)
                sums[i] += (double)x[i * count + k];
    }
    for (int64_t i = 0; i < rows; i++) {
        double sum = op == REDUCE_MEAN ? sums[i] / (double)count : sums[i];

        y[i] = (float)(op == REDUCE_L2 ? sqrt(sum) : sum);
    }
}

ISA_BODY void reduce_part(const struct reduction *r, int64_t begin, int64_t end)
{
    for (; r->count <= SHORT && begin < end; begin += SHORT_ROWS) {
        int64_t rows = end - begin < SHORT_ROWS ? end - begin : SHORT_ROWS;

        sum_short(r->y + begin, r->x + begin * r->count, rows, r->count, r->op);
    }
    for (int64_t row = begin; row < end; row++) {
        const float *x = r->x + row * r->count;

        if (r->op == REDUCE_SUM_SQUARE)
            r->y[row] = (float)sum_row(x, r->count, 0.0, 1);
        else if (r->op == REDUCE_L2)
            r->y[row] = (float)sqrt(sum_row(x, r->count, 0.0, 1));
        else if (r->op == REDUCE_MEAN)
            r->y[row] = (float)(sum_row(x, r->count, 0.0, 0) / (double)r->count);
        else
            r->y[row] = (float)sum_row(x, r->count, 0.0, 0);
    }
}

/* The largest, or the smallest; NaN where there is one. */
ISA_BODY float extreme_row(const float *x, int64_t count, int is_max)
{
    struct extremes found = extremes_of(x, count);

    return found.has_nan ? NAN : is_max ? found.high : found.low;
}

ISA_BODY void extreme_part(const struct reduction *r, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row++)
        r->y[row] = extreme_row(r->x + row * r->count, r->count, r->op == REDUCE_MAX);
}

/* Axes in the middle: [outer, count, inner], a block of columns at a time. */

enum { COLUMNS = 512 };

ISA_BODY void sum_columns(float *y, const float *x, int64_t columns, const struct reduction *r)
{
    double sums[COLUMNS] = {0};

    for (int64_t k = 0; k < r->count; k++, x += r->inner) {
        if (r->op == REDUCE_SUM || r->op == REDUCE_MEAN)
            for (int64_t i = 0; i < columns; i++)
                sums[i] += (double)x[i];
        else
            for (int64_t i = 0; i < columns; i++)
                sums[i] += (double)x[i] * (double)x[i];
    }
    for (int64_t i = 0; i < columns; i++) {
        double sum = r->op == REDUCE_MEAN ? sums[i] / (double)r->count : sums[i];

        y[i] = (float)(r->op == REDUCE_L2 ? sqrt(sum) : sum);
    }
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
    return op == REDUCE_SUM || op == REDUCE_MEAN || op == REDUCE_SUM_SQUARE || op == REDUCE_L2;
}

/* --- Normalisations. --- */

struct normalization {
    const struct kernel_normalize_data *data;
    const struct kernel_normalize *shape;
    int64_t count;                     /* of a row */
    int64_t scale_stride, bias_stride; /* along a row: 1, or 0 for one that all share */
    int64_t segment; /* elements of a row that share scale and bias, which follow each other from
                        segment to segment; 0: none do */
    int64_t scales;  /* how many there are before they begin anew */
};

/* In one pass: sums of the distances from the first element, and of their squares. No element is
 * further from the mean than sqrt(count) deviations, so that little is lost in the difference. */
ISA_BODY void mean_and_variance(const float *x, int64_t count, double *out_mean,
                                double *out_variance)
{
    double first = (double)x[0], sum = 0.0, squares = 0.0, mean;

#pragma omp simd reduction(+ : sum, squares)
    for (int64_t i = 0; i < count; i++) {
        double d = (double)x[i] - first;

        sum += d;
        squares += d * d;
    }
    mean = sum / (double)count;
    squares = squares / (double)count - mean * mean;
    *out_mean = first + mean;
    *out_variance = squares < 0.0 ? 0.0 : squares;
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

ISA_BODY void normalize_row(const struct normalization *n, int64_t row)
{
    const struct kernel_normalize *s = n->shape;
    const float *x = (const float *)n->data->x + row * n->count;
    float *y = (float *)n->data->y + row * n->count;
    double count = (double)n->count;
    double mean = 0.0, variance, inverse;

    if (s->keeps_mean)
        variance = sum_row(x, n->count, 0.0, 1) / count;
    else
        mean_and_variance(x, n->count, &mean, &variance);
    inverse =
        s->adds_to_root ? 1.0 / (sqrt(variance) + s->epsilon) : 1.0 / sqrt(variance + s->epsilon);
    /* The mean in two parts: x may lie close to it. */
    float middle = (float)mean, a = (float)inverse, b = (float)(((double)middle - mean) * inverse);

    if (n->segment)
        scale_segments(n, y, x, row, middle, a, b);
    else
        scale_row(n, y, x, middle, a, b);
    if (n->data->mean)
        ((float *)n->data->mean)[row] = (float)mean;
    if (n->data->inverse)
        ((float *)n->data->inverse)[row] = (float)inverse;
}

ISA_BODY void normalize_part(const struct normalization *n, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row++)
        normalize_row(n, row);
}

/* Whether an operand is dense along the reduced axes and the same for all rows; its stride along
 * a row goes to *out_stride. */
static bool lies_along_rows(const int64_t *dims, const int64_t *strides, int rank, int tail,
                            int64_t *out_stride)
{
    int64_t dense = 1;
    bool is_dense = true, is_one = true;

    for (int i = rank - 1; i >= 0; i--) {
        if (dims[i] == 1)
            continue;
        if (i < rank - tail && strides[i] != 0)
            return false;
        if (i < rank - tail)
            continue;
        is_dense = is_dense && strides[i] == dense;
        is_one = is_one && strides[i] == 0;
        dense *= dims[i];
    }
    *out_stride = is_one ? 0 : 1;
    return is_dense || is_one;
}

/* Whether scale (or bias) has one number for each place of axis 1, or of axes 1 and 2 together, as
 * group normalisation has it, the rows being that of `tail` axes behind the first two. */
static bool lies_by_channel(const struct kernel_normalize *s, const int64_t *strides, int tail,
                            struct normalization *out_plan)
{
    int last = s->rank > 2 && strides[2] != 0 ? 2 : 1;

    if (s->rank - tail != 2 || strides[0] != 0 || strides[last] != 1 ||
        (last == 2 && strides[1] != s->dims[2]))
        return false;
    for (int i = last + 1; i < s->rank; i++)
        if (strides[i] != 0)
            return false;
    out_plan->segment = product(s->dims, last + 1, s->rank);
    out_plan->scales = product(s->dims, 1, last + 1);
    return out_plan->segment > 0;
}

static bool plan_rows(const struct kernel_normalize_data *data, const struct kernel_normalize *s,
                      struct normalization *out_plan)
{
    int tail = reduced_tail(s->rank, s->is_reduced);

    *out_plan = (struct normalization){.data = data, .shape = s};
    if (s->dtype != KERNEL_F32 || tail <= 0 ||
        ((data->mean || data->inverse) && s->stat_dtype != KERNEL_F32))
        return false;
    out_plan->count = product(s->dims, s->rank - tail, s->rank);
    if (out_plan->count > 0 && data->scale && lies_by_channel(s, s->scale_stride, tail, out_plan) &&
        (!data->bias ||
         memcmp(s->scale_stride, s->bias_stride, (size_t)s->rank * sizeof(int64_t)) == 0))
        return true;
    out_plan->segment = 0;
    return out_plan->count > 0 &&
           (!data->scale ||
            lies_along_rows(s->dims, s->scale_stride, s->rank, tail, &out_plan->scale_stride)) &&
           (!data->bias ||
            lies_along_rows(s->dims, s->bias_stride, s->rank, tail, &out_plan->bias_stride));
}

/* --- The versions. --- */

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
    void reduce_##isa(void *y, const void *x, const struct kernel_reduce *s)                       \
    {                                                                                              \
        int tail = reduced_tail(s->rank, s->is_reduced);                                           \
        struct reduction r = {.y = y, .x = x, .op = s->op};                                        \
        bool is_here = s->dtype == KERNEL_F32 && (is_sum(s->op) || is_extreme(s->op));             \
        int64_t outer;                                                                             \
                                                                                                   \
        r.count = product(s->dims, s->rank - (tail > 0 ? tail : 0), s->rank);                      \
        if (is_here && tail > 0 && r.count > 0)                                                    \
            team_for(product(s->dims, 0, s->rank - tail), GRAIN / r.count + 1,                     \
                     is_sum(s->op) ? reduce_part_##isa : extreme_part_##isa, &r);                  \
        else if (is_here && tail < 0 && find_middle(s, &outer, &r))                                \
            team_for(outer *((r.inner + COLUMNS - 1) / COLUMNS), GRAIN / (r.count * COLUMNS) + 1,  \
                     columns_part_##isa, &r);                                                      \
        else                                                                                       \
            reduce_ref(y, x, s);                                                                   \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void normalize_part_##isa(void *argument, int64_t begin, int64_t end)  \
    {                                                                                              \
        normalize_part(argument, begin, end);                                                      \
    }                                                                                              \
                                                                                                   \
    void normalize_##isa(const struct kernel_normalize_data *data,                                 \
                         const struct kernel_normalize *s)                                         \
    {                                                                                              \
        struct normalization n;                                                                    \
                                                                                                   \
        if (plan_rows(data, s, &n))                                                                \
            team_for(product(s->dims, 0, s->rank - reduced_tail(s->rank, s->is_reduced)),          \
                     GRAIN / n.count + 1, normalize_part_##isa, &n);                               \
        else                                                                                       \
            normalize_ref(data, s);                                                                \
    }

ISA_VERSIONS(ROWS)
