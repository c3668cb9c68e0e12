/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations of f64 over rows. Mean and variance are taken one after the other: in one pass, as rows.c has it,
 * there would be no wider type for what is lost in the difference. */
#include "kernels/cpu/norms_f64.h"

#include "kernels/cpu/isa.h"
#include "kernels/cpu/norm_rows.h"
#include "kernels/cpu/team.h"

#include <math.h>

enum { GRAIN = 1 << 13 }; /* elements that are worth a second thread */

/* Of both halves at once, so that no sum waits for itself. */
ISA_BODY double sum_of(const double *x, int64_t count)
{
    double sum = 0.0, second = 0.0;
    int64_t half = count / 2;

#pragma omp simd reduction(+ : sum, second)
    for (int64_t i = 0; i < half; i++) {
        sum += x[i];
        second += x[half + i];
    }
    return sum + second + (count % 2 ? x[count - 1] : 0.0);
}

ISA_BODY double squares_of(const double *x, int64_t count, double mean)
{
    double sum = 0.0, second = 0.0, last = count % 2 ? x[count - 1] - mean : 0.0;
    int64_t half = count / 2;

#pragma omp simd reduction(+ : sum, second)
    for (int64_t i = 0; i < half; i++) {
        double a = x[i] - mean, b = x[half + i] - mean;

        sum += a * a;
        second += b * b;
    }
    return sum + second + last * last;
}

static double inverse_of(const struct kernel_normalize *s, double variance)
{
    return s->adds_to_root ? 1.0 / (sqrt(variance) + s->epsilon)
                           : 1.0 / sqrt(variance + s->epsilon);
}

static void put_statistic(void *to, enum kernel_dtype dtype, int64_t row, double number)
{
    if (to && dtype == KERNEL_F64)
        ((double *)to)[row] = number;
    else if (to)
        ((float *)to)[row] = (float)number;
}

/* In the loop that the operands' strides allow. */
ISA_BODY void scale_row(const struct normalization *n, double *y, const double *x, double mean,
                        double inverse)
{
    const double *scale = n->data->scale, *bias = n->data->bias;
    int64_t scale_stride = n->scale_stride, bias_stride = n->bias_stride;

    if (scale && scale_stride == 1 && (!bias || bias_stride == 1)) {
        if (bias)
#pragma omp simd
            for (int64_t i = 0; i < n->count; i++)
                y[i] = (x[i] - mean) * inverse * scale[i] + bias[i];
        else
#pragma omp simd
            for (int64_t i = 0; i < n->count; i++)
                y[i] = (x[i] - mean) * inverse * scale[i];
        return;
    }
    for (int64_t i = 0; i < n->count; i++) {
        double z = (x[i] - mean) * inverse;

        z = scale ? z * scale[i * scale_stride] : z;
        y[i] = bias ? z + bias[i * bias_stride] : z;
    }
}

/* Scale and bias of one number for each segment of the row. */
ISA_BODY void scale_segments(const struct normalization *n, double *y, const double *x, int64_t row,
                             double mean, double inverse)
{
    const double *scale = n->data->scale, *bias = n->data->bias;
    int64_t at = row * (n->count / n->segment) % n->scales;

    for (int64_t first = 0; first < n->count; first += n->segment, at++) {
        double factor = scale ? scale[at] : 1.0, summand = bias ? bias[at] : 0.0;

#pragma omp simd
        for (int64_t i = first; i < first + n->segment; i++)
            y[i] = (x[i] - mean) * inverse * factor + summand;
    }
}

ISA_BODY void rows_part(const struct normalization *n, int64_t begin, int64_t end)
{
    const struct kernel_normalize *s = n->shape;

    for (int64_t row = begin; row < end; row++) {
        const double *x = (const double *)n->data->x + row * n->count;
        double *y = (double *)n->data->y + row * n->count, count = (double)n->count;
        double mean = s->keeps_mean ? 0.0 : sum_of(x, n->count) / count;
        double inverse = inverse_of(s, squares_of(x, n->count, mean) / count);

        if (n->segment)
            scale_segments(n, y, x, row, mean, inverse);
        else
            scale_row(n, y, x, mean, inverse);
        put_statistic(n->data->mean, s->stat_dtype, row, mean);
        put_statistic(n->data->inverse, s->stat_dtype, row, inverse);
    }
}

ISA_BODY void apart_part(const struct apart *p, int64_t begin, int64_t end)
{
    const struct spread *s = &p->s;
    double count = (double)(s->rows * s->run);

    for (; begin < end; begin++) {
        int64_t group = place_of(begin, s->kept_dims, s->kept_stride, s->kept);
        const double *x = (const double *)p->x + group;
        double *y = (double *)p->y + group, mean = 0.0, squares = 0.0, inverse;

        for (int64_t row = 0; row < s->rows; row++)
            mean += sum_of(x + place_of(row, s->dims, s->stride, s->reduced), s->run);
        mean /= count;
        for (int64_t row = 0; row < s->rows; row++)
            squares += squares_of(x + place_of(row, s->dims, s->stride, s->reduced), s->run, mean);
        inverse = inverse_of(p->shape, squares / count);
        for (int64_t row = 0; row < s->rows; row++) {
            int64_t at = place_of(row, s->dims, s->stride, s->reduced);

#pragma omp simd
            for (int64_t i = at; i < at + s->run; i++)
                y[i] = (x[i] - mean) * inverse;
        }
    }
}

#define NORMS(isa)                                                                                 \
    ISA_TARGET_##isa static void rows_part_##isa(void *argument, int64_t begin, int64_t end)       \
    {                                                                                              \
        rows_part(argument, begin, end);                                                           \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void apart_part_##isa(void *argument, int64_t begin, int64_t end)      \
    {                                                                                              \
        apart_part(argument, begin, end);                                                          \
    }                                                                                              \
                                                                                                   \
    void normalize_f64_##isa(const struct kernel_normalize_data *data,                             \
                             const struct kernel_normalize *s)                                     \
    {                                                                                              \
        bool has_statistics = data->mean || data->inverse;                                         \
        struct normalization n;                                                                    \
        struct apart apart;                                                                        \
                                                                                                   \
        if (has_statistics && s->stat_dtype != KERNEL_F32 && s->stat_dtype != KERNEL_F64)          \
            normalize_ref(data, s);                                                                \
        else if (plan_rows(data, s, KERNEL_F64, &n))                                               \
            team_for(product(s->dims, 0, s->rank - reduced_tail(s->rank, s->dims, s->is_reduced)), \
                     GRAIN / n.count + 1, rows_part_##isa, &n);                                    \
        else if (plan_apart(data, s, KERNEL_F64, &apart))                                          \
            team_for(apart.s.groups, GRAIN / (apart.s.rows * apart.s.run) + 1, apart_part_##isa,   \
                     &apart);                                                                      \
        else                                                                                       \
            normalize_ref(data, s);                                                                \
    }

ISA_VERSIONS(NORMS)
