/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, its logarithm and norms along an axis, of f64: lines that lie dense one by one, short ones and others many
 * at once. Lines whose largest element is not finite are computed as the reference does. */
#include "kernels/cpu/along_f64.h"

#include <float.h>
#include <math.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/math_f64.h"
#include "kernels/cpu/team.h"

enum {
    GRAIN = 1 << 13, /* elements that are worth a second thread */
    COLUMNS = 256,   /* at a time */
    SHORT = 32,      /* elements of a line, at most, of which many are computed side by side */
    ROWS = 64,
    TOGETHER = 4, /* rows of norms */
};

struct lines {
    double *y;
    const double *x;
    const struct kernel_along *shape;
};

/* --- Softmax and its logarithm. --- */

static void softmax_plain(double *y, const double *x, int64_t axis, int64_t inner, bool is_log)
{
    double largest = -(double)INFINITY, sum = 0.0;

    for (int64_t k = 0; k < axis; k++)
        largest = fmax(largest, x[k * inner]);
    largest = isfinite(largest) ? largest : 0.0;
    for (int64_t k = 0; k < axis; k++)
        sum += exp(x[k * inner] - largest);
    for (int64_t k = 0; k < axis; k++) {
        double moved = x[k * inner] - largest;

        y[k * inner] = is_log ? moved - log(sum) : exp(moved) / sum;
    }
}

ISA_BODY void softmax_line(double *y, const double *x, int64_t count, bool is_log)
{
    double largest = -(double)INFINITY, sum = 0.0;

#pragma omp simd reduction(max : largest)
    for (int64_t i = 0; i < count; i++)
        largest = x[i] > largest ? x[i] : largest;
    if (!(fabs(largest) < DBL_MAX)) { /* or that with which clang begins */
        softmax_plain(y, x, count, 1, is_log);
        return;
    }
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; i++) {
        double power = math_f64_exp_below(x[i] - largest);

        sum += power;
        if (!is_log)
            y[i] = power;
    }
    if (is_log)
        sum = log(sum);
#pragma omp simd
    for (int64_t i = 0; i < count; i++)
        y[i] = is_log ? (x[i] - largest) - sum : y[i] / sum;
}

/* `columns` neighbours on the inner axes. False, with nothing done, where something is not finite. */
ISA_BODY bool softmax_columns(double *y, const double *x, int64_t axis, int64_t inner,
                              int64_t columns, bool is_log)
{
    double largest[COLUMNS], sums[COLUMNS];
    int odd = 0;

    for (int64_t i = 0; i < columns; i++) {
        largest[i] = x[i];
        sums[i] = 0.0;
    }
    for (int64_t k = 1; k < axis; k++)
        for (int64_t i = 0; i < columns; i++)
            largest[i] = x[k * inner + i] > largest[i] ? x[k * inner + i] : largest[i];
#pragma omp simd reduction(| : odd)
    for (int64_t i = 0; i < columns; i++)
        odd |= !(fabs(largest[i]) <= DBL_MAX);
    for (int64_t k = 0; !odd && k < axis; k++)
#pragma omp simd
        for (int64_t i = 0; i < columns; i++) {
            double power = math_f64_exp_below(x[k * inner + i] - largest[i]);

            sums[i] += power;
            if (!is_log)
                y[k * inner + i] = power;
        }
#pragma omp simd reduction(| : odd)
    for (int64_t i = 0; i < columns; i++) {
        odd |= is_log & (sums[i] != sums[i]); /* of which the logarithm would be a number */
        sums[i] = is_log ? math_f64_log(sums[i]) : sums[i];
    }
    for (int64_t k = 0; !odd && k < axis; k++)
#pragma omp simd
        for (int64_t i = 0; i < columns; i++)
            y[k * inner + i] =
                is_log ? (x[k * inner + i] - largest[i]) - sums[i] : y[k * inner + i] / sums[i];
    return !odd;
}

/* Lines that hardly fill a register, as columns of a block of them. */
ISA_BODY void softmax_short(double *y, const double *x, int64_t rows, int64_t axis, bool is_log)
{
    double block[SHORT * ROWS];
    bool is_done;

    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < axis; i++)
            block[i * ROWS + r] = x[r * axis + i];
    is_done = softmax_columns(block, block, axis, ROWS, rows, is_log);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; is_done && i < axis; i++)
            y[r * axis + i] = block[i * ROWS + r];
        if (!is_done)
            softmax_plain(y + r * axis, x + r * axis, axis, 1, is_log);
    }
}

/* --- Norms. --- */

/* Of both halves at once, so that no sum waits for itself. */
ISA_BODY double norm_of(const double *x, int64_t count, bool is_l1)
{
    double sum = 0.0, second = 0.0, last = count % 2 ? x[count - 1] : 0.0;
    int64_t half = count / 2;

#pragma omp simd reduction(+ : sum, second)
    for (int64_t i = 0; i < half; i++) {
        double a = x[i], b = x[half + i];

        sum += is_l1 ? fabs(a) : a * a;
        second += is_l1 ? fabs(b) : b * b;
    }
    sum += second + (is_l1 ? fabs(last) : last * last);
    return is_l1 ? sum : sqrt(sum);
}

ISA_BODY void norm_line(double *y, const double *x, int64_t count, bool is_l1)
{
    double norm = norm_of(x, count, is_l1);

#pragma omp simd
    for (int64_t i = 0; i < count; i++)
        y[i] = norm != 0.0 ? x[i] / norm : 0.0;
}

/* Rows that hardly fill a register, up to four at once, so that none waits for its sum; those that are not there are the
 * last one again. */
ISA_BODY void norm_short(double *y, const double *x, int64_t rows, int64_t axis, bool is_l1)
{
    const double *a = x, *b = x + (rows > 1) * axis, *c = b + (rows > 2) * axis;
    const double *d = c + (rows > 3) * axis;
    double sums[TOGETHER] = {0};

    for (int64_t i = 0; i < axis; i++) {
        sums[0] += is_l1 ? fabs(a[i]) : a[i] * a[i];
        sums[1] += is_l1 ? fabs(b[i]) : b[i] * b[i];
        sums[2] += is_l1 ? fabs(c[i]) : c[i] * c[i];
        sums[3] += is_l1 ? fabs(d[i]) : d[i] * d[i];
    }
    for (int64_t r = 0; r < rows; r++) {
        double norm = is_l1 ? sums[r] : sqrt(sums[r]);

#pragma omp simd
        for (int64_t i = 0; i < axis; i++)
            y[r * axis + i] = norm != 0.0 ? x[r * axis + i] / norm : 0.0;
    }
}

ISA_BODY void norm_columns(double *y, const double *x, int64_t axis, int64_t inner, int64_t columns,
                           bool is_l1)
{
    double norms[COLUMNS] = {0};

    for (int64_t k = 0; k < axis; k++)
        for (int64_t i = 0; i < columns; i++) {
            double number = x[k * inner + i];

            norms[i] += is_l1 ? fabs(number) : number * number;
        }
    for (int64_t i = 0; i < columns; i++)
        norms[i] = is_l1 ? norms[i] : sqrt(norms[i]);
    for (int64_t k = 0; k < axis; k++)
#pragma omp simd
        for (int64_t i = 0; i < columns; i++)
            y[k * inner + i] = norms[i] != 0.0 ? x[k * inner + i] / norms[i] : 0.0;
}

/* --- Lines, or blocks of columns, [begin, end). --- */

ISA_BODY void softmax_part(const struct lines *p, int64_t begin, int64_t end, bool is_log)
{
    int64_t axis = p->shape->axis, inner = p->shape->inner;
    int64_t blocks = (inner + COLUMNS - 1) / COLUMNS;

    for (; inner == 1 && axis <= SHORT && begin < end; begin += ROWS)
        softmax_short(p->y + begin * axis, p->x + begin * axis,
                      end - begin < ROWS ? end - begin : ROWS, axis, is_log);
    for (; inner == 1 && begin < end; begin++)
        softmax_line(p->y + begin * axis, p->x + begin * axis, axis, is_log);
    for (; begin < end; begin++) {
        int64_t first = begin % blocks * COLUMNS, at = begin / blocks * axis * inner + first;
        int64_t columns = inner - first < COLUMNS ? inner - first : COLUMNS;
        double *y = p->y + at;
        const double *x = p->x + at;

        if (!softmax_columns(y, x, axis, inner, columns, is_log))
            for (int64_t i = 0; i < columns; i++)
                softmax_plain(y + i, x + i, axis, inner, is_log);
    }
}

ISA_BODY void norm_part(const struct lines *p, int64_t begin, int64_t end, bool is_l1)
{
    int64_t axis = p->shape->axis, inner = p->shape->inner;
    int64_t blocks = (inner + COLUMNS - 1) / COLUMNS;

    for (; inner == 1 && axis <= SHORT && begin < end; begin += TOGETHER)
        norm_short(p->y + begin * axis, p->x + begin * axis,
                   end - begin < TOGETHER ? end - begin : TOGETHER, axis, is_l1);
    for (; begin < end; begin++) {
        int64_t first = begin % blocks * COLUMNS, at = begin / blocks * axis * inner + first;

        if (inner == 1)
            norm_line(p->y + at, p->x + at, axis, is_l1);
        else
            norm_columns(p->y + at, p->x + at, axis, inner,
                         inner - first < COLUMNS ? inner - first : COLUMNS, is_l1);
    }
}

#define PART(name, part, choice, isa)                                                              \
    ISA_TARGET_##isa static void name##_##isa(void *argument, int64_t begin, int64_t end)          \
    {                                                                                              \
        part(argument, begin, end, choice);                                                        \
    }

#define ALONG_F64(isa)                                                                             \
    PART(softmax, softmax_part, false, isa)                                                        \
    PART(log_softmax, softmax_part, true, isa)                                                     \
    PART(l1_norm, norm_part, true, isa)                                                            \
    PART(l2_norm, norm_part, false, isa)                                                           \
                                                                                                   \
    void along_f64_##isa(void *y, const void *x, const struct kernel_along *s)                     \
    {                                                                                              \
        static team_fn *const parts[] = {[ALONG_SOFTMAX] = softmax_##isa,                          \
                                         [ALONG_LOG_SOFTMAX] = log_softmax_##isa,                  \
                                         [ALONG_L1_NORM] = l1_norm_##isa,                          \
                                         [ALONG_L2_NORM] = l2_norm_##isa};                         \
        struct lines p = {y, x, s};                                                                \
        int64_t width = s->inner < COLUMNS ? s->inner : COLUMNS;                                   \
                                                                                                   \
        team_for(s->outer *((s->inner + COLUMNS - 1) / COLUMNS), GRAIN / (s->axis * width) + 1,    \
                 parts[s->op], &p);                                                                \
    }

ISA_VERSIONS(ALONG_F64)
