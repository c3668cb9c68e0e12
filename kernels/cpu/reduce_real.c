/* SPDX-License-Identifier: Apache-2.0 */
/* Roots and logarithms of sums of integers, and logarithms of sums of powers of integers and f64. An integer that is
 * stored may not depend on the order in which was summed: where it might, it is summed again as the reference does. */
#include "kernels/cpu/reduce_real.h"

#include "kernels/cpu/isa.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/math_f64.h"
#include "kernels/cpu/norm_rows.h"
#include "kernels/cpu/team.h"

#include <float.h>
#include <math.h>

enum {
    COLUMNS = 256,   /* at a time */
    GRAIN = 1 << 12, /* elements that are worth a second thread */
    TERMS = 128,     /* of a sum in f32 */
    LANES = 16,
};

/* x: [outer, count, inner]. */
struct reduction {
    void *y;
    const void *x;
    int64_t count, inner;
    enum kernel_reduce_op op;
};

/* What was summed: of powers, e^(x - largest). The reference's sum is at most `room` away. */
struct total {
    double sum, room, largest;
};

static double end_of(const struct reduction *r, double sum, double largest)
{
    return r->op == REDUCE_L2 ? sqrt(sum) : log(sum) + largest;
}

/* As the reference stores it. */
static int64_t cut_off(double x, int64_t low, int64_t high)
{
    return isnan(x) ? 0 : x <= (double)low ? low : x >= (double)high ? high : (int64_t)x;
}

/* Sums of whole numbers are exact in any order while those of their sizes are below 2^53. */
static struct total total_of(double sum, double size, int64_t count)
{
    double room = size < 0x1p53 ? 0.0 : size * (double)(count + 16) * 0x1p-52;

    return (struct total){sum, room, 0.0};
}

/* Of how many are the largest, and the powers of the rest, each right to `error` of it: what is next to nothing changes
 * no sum from 1 on. */
static struct total total_of_powers(double largest, double ones, double rest, double error,
                                    int64_t count)
{
    double sum = ones + rest, room = rest * error + sum * (double)(count + 16) * 0x1p-52;

    return (struct total){sum, rest < 0x1p-54 ? 0.0 : room, largest};
}

/* TYPE_plain(): in the order of the reference, and without its sums of products in one step. */
#define PLAIN(name, type)                                                                          \
    static __attribute__((noinline)) double name##_plain(const struct reduction *r, const type *x) \
    {                                                                                              \
        double largest = r->op == REDUCE_LOG_SUM_EXP ? -(double)INFINITY : 0.0, sum = 0.0;         \
        int64_t last = r->op == REDUCE_LOG_SUM_EXP ? r->count * r->inner : 0;                      \
                                                                                                   \
        for (int64_t k = 0; k < last; k += r->inner)                                               \
            if (!((double)x[k] <= largest))                                                        \
                largest = isnan(largest) ? largest : (double)x[k];                                 \
        largest = isfinite(largest) ? largest : 0.0;                                               \
        for (int64_t k = 0; k < r->count * r->inner; k += r->inner) {                              \
            double number = (double)x[k];                                                          \
                                                                                                   \
            sum += r->op == REDUCE_LOG_SUM_EXP ? exp(number - largest)                             \
                   : r->op == REDUCE_L2        ? number * number                                   \
                                               : number;                                                  \
        }                                                                                          \
        return end_of(r, sum, largest);                                                            \
    }

/* The ends of what the reference's result may be. */
static void find_ends(const struct reduction *r, const struct total *t, double *out_least,
                      double *out_most)
{
    if (t->room > 0.0 && r->op == REDUCE_LOG_SUM_EXP && fabs(t->largest) < 0x1p30) {
        /* By the logarithm's slope, which is one in place of two. */
        double middle = end_of(r, t->sum, t->largest);
        double room = 2.0 * t->room / t->sum + (fabs(t->largest) + 64.0) * 0x1p-50;

        *out_least = middle - room;
        *out_most = middle + room;
        return;
    }
    *out_least = *out_most = end_of(r, t->sum - t->room, t->largest);
    if (t->room > 0.0)
        *out_most = end_of(r, t->sum + t->room, t->largest);
}

/* Whole numbers beside which a sum's logarithm lies, without one, where neither the sum's room nor what the reference
 * rounds off reaches the next. */
static bool is_between(const struct reduction *r, const struct total *t, int64_t *out_number)
{
    static const double powers[] = {1.0,
                                    2.718281828459045,
                                    7.38905609893065,
                                    20.085536923187668,
                                    54.598150033144236,
                                    148.4131591025766,
                                    403.4287934927351,
                                    1096.6331584284585,
                                    2980.9579870417283,
                                    8103.083927575384,
                                    22026.465794806718,
                                    59874.14171519782};
    enum { COUNT = sizeof(powers) / sizeof(powers[0]) };
    double room = t->room + t->sum * 1e-6;
    int64_t below;
    int k = 0;

    if (r->op != REDUCE_LOG_SUM_EXP || !(fabs(t->largest) < 0x1p30) ||
        !(t->sum < powers[COUNT - 1]))
        return false;
    while (t->sum >= powers[k + 1])
        k++;
    below = (int64_t)t->largest + k;
    *out_number = below < 0 ? below + 1 : below; /* cut off */
    return t->sum - room > powers[k] && t->sum + room < powers[k + 1];
}

#define END_WHOLE(name, type, low, high)                                                           \
    static void name##_end(const struct reduction *r, type *y, const type *x,                      \
                           const struct total *t)                                                  \
    {                                                                                              \
        double least, most;                                                                        \
        int64_t number;                                                                            \
                                                                                                   \
        if (is_between(r, t, &number)) {                                                           \
            *y = (type)number;                                                                     \
            return;                                                                                \
        }                                                                                          \
        find_ends(r, t, &least, &most);                                                            \
        *y = (type)cut_off(most, low, high);                                                       \
        if (cut_off(least, low, high) != *y || (t->room > 0.0 && !(t->sum > t->room)))             \
            *y = (type)cut_off(name##_plain(r, x), low, high);                                     \
    }

PLAIN(i32, int32_t)
PLAIN(i64, int64_t)
PLAIN(f64, double)
END_WHOLE(i32, int32_t, INT32_MIN, INT32_MAX)
END_WHOLE(i64, int64_t, INT64_MIN, INT64_MAX)

static void f64_end(const struct reduction *r, double *y, const double *x, const struct total *t)
{
    bool is_finite =
        fabs(t->largest) < DBL_MAX; /* with -DBL_MAX clang begins: it may not be there */

    *y = is_finite && !isnan(t->sum) ? end_of(r, t->sum, t->largest) : f64_plain(r, x);
}

/* Rows, or blocks of columns, [begin, end), by name_row() and name_columns(). */
#define PART(name, type)                                                                           \
    ISA_BODY void name##_part(const struct reduction *r, int64_t begin, int64_t end)               \
    {                                                                                              \
        int64_t blocks = (r->inner + COLUMNS - 1) / COLUMNS;                                       \
        const type *x = r->x;                                                                      \
        type *y = r->y;                                                                            \
                                                                                                   \
        for (; r->inner == 1 && begin < end; begin++)                                              \
            name##_row(r, y + begin, x + begin * r->count);                                        \
        for (; begin < end; begin++) {                                                             \
            int64_t outer = begin / blocks, first = begin % blocks * COLUMNS;                      \
            int64_t left = r->inner - first;                                                       \
                                                                                                   \
            name##_columns(r, y + outer * r->inner + first,                                        \
                           x + outer * r->count * r->inner + first,                                \
                           left < COLUMNS ? left : COLUMNS);                                       \
        }                                                                                          \
    }

/* The sum of numbers, or of squares, and that of their sizes. */
#define SUMS(name, type)                                                                           \
    ISA_BODY void name##_sums_row(const struct reduction *r, type *y, const type *x)               \
    {                                                                                              \
        struct total total;                                                                        \
        double sum = 0.0, size = 0.0;                                                              \
                                                                                                   \
        if (r->op == REDUCE_L2) {                                                                  \
            _Pragma("omp simd reduction(+ : size)") for (int64_t i = 0; i < r->count; i++) size += \
                (double)x[i] * (double)x[i];                                                       \
            sum = size;                                                                            \
        } else {                                                                                   \
            _Pragma("omp simd reduction(+ : sum, size)") for (int64_t i = 0; i < r->count; i++)    \
            {                                                                                      \
                sum += (double)x[i];                                                               \
                size += fabs((double)x[i]);                                                        \
            }                                                                                      \
        }                                                                                          \
        total = total_of(sum, size, r->count);                                                     \
        name##_end(r, y, x, &total);                                                               \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void name##_sums_columns(const struct reduction *r, type *y, const type *x,           \
                                      int64_t columns)                                             \
    {                                                                                              \
        struct total total;                                                                        \
        double sums[COLUMNS] = {0}, sizes[COLUMNS] = {0};                                          \
        const type *row = x;                                                                       \
                                                                                                   \
        for (int64_t k = 0; k < r->count; k++, row += r->inner) {                                  \
            if (r->op == REDUCE_L2)                                                                \
                for (int64_t i = 0; i < columns; i++)                                              \
                    sizes[i] += (double)row[i] * (double)row[i];                                   \
            else                                                                                   \
                for (int64_t i = 0; i < columns; i++) {                                            \
                    sums[i] += (double)row[i];                                                     \
                    sizes[i] += fabs((double)row[i]);                                              \
                }                                                                                  \
        }                                                                                          \
        for (int64_t i = 0; i < columns; i++) {                                                    \
            total = total_of(r->op == REDUCE_L2 ? sizes[i] : sums[i], sizes[i], r->count);         \
            name##_end(r, y + i, x + i, &total);                                                   \
        }                                                                                          \
    }                                                                                              \
    PART(name##_sums, type)

/* e^(x - largest), of which those that are 1 are counted. Of integers in f32: what is nothing to a sum from 1 on is 0. */
#define BELOW 100 /* of which the power is 0 */
#define POWER_OF_WHOLE(x, most, ones, rest, unsigned_type, sum_type)                               \
    do {                                                                                           \
        unsigned_type below = (unsigned_type)(most) - (unsigned_type)(x);                          \
        float power = math_exp_below(-(float)(int32_t)(below < BELOW ? below : BELOW), smallest);  \
                                                                                                   \
        (ones) += below == 0;                                                                      \
        (rest) += (sum_type)(below == 0 ? 0.0f : power);                                           \
    } while (0)

#define POWER_OF_F64(x, most, ones, rest, unsigned_type, sum_type)                                 \
    do {                                                                                           \
        (rest) += math_f64_exp_below((x) - (most));                                                \
    } while (0)

/* `factor` is what each power was divided by, `error` how far it, and a sum of TERMS of them, may be from the truth. */
#define POWERS(name, type, unsigned_type, sum_type, power_of, factor, error)                       \
    ISA_BODY void name##_powers_row(const struct reduction *r, type *y, const type *x)             \
    {                                                                                              \
        float smallest = math_least();                                                             \
        type most = x[0];                                                                          \
        int32_t ones = 0;                                                                          \
        double rest = 0.0;                                                                         \
        struct total total;                                                                        \
                                                                                                   \
        (void)smallest;                                                                            \
        _Pragma("omp simd reduction(max : most)") for (int64_t i = 0; i < r->count; i++) most =    \
            x[i] > most ? x[i] : most;                                                             \
        for (int64_t first = 0; first < r->count; first += TERMS) {                                \
            int64_t last = r->count - first < TERMS ? r->count : first + TERMS, i = first;         \
            sum_type parts[LANES] = {0};                                                           \
            int32_t counts[LANES] = {0};                                                           \
                                                                                                   \
            for (; i + LANES <= last; i += LANES)                                                  \
                _Pragma("omp simd") for (int j = 0; j < LANES; j++)                                \
                    power_of(x[i + j], most, counts[j], parts[j], unsigned_type, sum_type);        \
            for (; i < last; i++)                                                                  \
                power_of(x[i], most, counts[0], parts[0], unsigned_type, sum_type);                \
            for (int width = LANES / 2; width > 0; width /= 2)                                     \
                for (int j = 0; j < width; j++) {                                                  \
                    parts[j] += parts[j + width];                                                  \
                    counts[j] += counts[j + width];                                                \
                }                                                                                  \
            rest += (double)parts[0];                                                              \
            ones += counts[0];                                                                     \
        }                                                                                          \
        total = total_of_powers((double)most, ones, rest * factor, error, r->count);               \
        name##_end(r, y, x, &total);                                                               \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void name##_powers_columns(const struct reduction *r, type *y, const type *x,         \
                                        int64_t columns)                                           \
    {                                                                                              \
        float smallest = math_least();                                                             \
        double rest[COLUMNS] = {0};                                                                \
        int32_t ones[COLUMNS] = {0};                                                               \
        const type *row = x;                                                                       \
        type most[COLUMNS];                                                                        \
        struct total total;                                                                        \
                                                                                                   \
        (void)smallest;                                                                            \
        for (int64_t i = 0; i < columns; i++)                                                      \
            most[i] = x[i];                                                                        \
        for (int64_t k = 1; k < r->count; k++)                                                     \
            for (int64_t i = 0; i < columns; i++)                                                  \
                most[i] = x[k * r->inner + i] > most[i] ? x[k * r->inner + i] : most[i];           \
        for (int64_t k = 0; k < r->count; k++, row += r->inner)                                    \
            _Pragma("omp simd") for (int64_t i = 0; i < columns; i++)                              \
                power_of(row[i], most[i], ones[i], rest[i], unsigned_type, double);                \
        for (int64_t i = 0; i < columns; i++) {                                                    \
            total = total_of_powers((double)most[i], ones[i], rest[i] * factor, error, r->count);  \
            name##_end(r, y + i, x + i, &total);                                                   \
        }                                                                                          \
    }                                                                                              \
    PART(name##_powers, type)

SUMS(i32, int32_t)
SUMS(i64, int64_t)
POWERS(i32, int32_t, uint32_t, float, POWER_OF_WHOLE, MATH_BELOW, 0x1p-19)
POWERS(i64, int64_t, uint64_t, float, POWER_OF_WHOLE, MATH_BELOW, 0x1p-19)
POWERS(f64, double, double, double, POWER_OF_F64, 1.0, 0x1p-50)

#define VERSION(name, isa)                                                                         \
    ISA_TARGET_##isa static void name##_##isa(void *argument, int64_t begin, int64_t end)          \
    {                                                                                              \
        name##_part(argument, begin, end);                                                         \
    }

#define REDUCE_REAL(isa)                                                                           \
    VERSION(i32_sums, isa)                                                                         \
    VERSION(i64_sums, isa)                                                                         \
    VERSION(i32_powers, isa)                                                                       \
    VERSION(i64_powers, isa)                                                                       \
    VERSION(f64_powers, isa)                                                                       \
                                                                                                   \
    void reduce_real_##isa(void *y, const void *x, const struct kernel_reduce *s)                  \
    {                                                                                              \
        static team_fn *const sums[KERNEL_DTYPES] = {                                              \
            [KERNEL_I32] = i32_sums_##isa, [KERNEL_I64] = i64_sums_##isa};                         \
        static team_fn *const powers[KERNEL_DTYPES] = {[KERNEL_I32] = i32_powers_##isa,            \
                                                       [KERNEL_I64] = i64_powers_##isa,            \
                                                       [KERNEL_F64] = f64_powers_##isa};           \
        team_fn *part = s->op == REDUCE_LOG_SUM_EXP                     ? powers[s->dtype]         \
                        : s->op == REDUCE_L2 || s->op == REDUCE_LOG_SUM ? sums[s->dtype]           \
                                                                        : NULL;                    \
        struct reduction r = {.y = y, .x = x, .op = s->op};                                        \
        struct reduced_axes axes;                                                                  \
                                                                                                   \
        if (!part || !find_axes(s, &axes) || axes.count > INT32_MAX) {                             \
            reduce_ref(y, x, s);                                                                   \
            return;                                                                                \
        }                                                                                          \
        r.count = axes.count;                                                                      \
        r.inner = axes.inner;                                                                      \
        team_for(axes.outer *((r.inner + COLUMNS - 1) / COLUMNS),                                  \
                 GRAIN / (r.count * (r.inner < COLUMNS ? r.inner : COLUMNS)) + 1, part, &r);       \
    }

ISA_VERSIONS(REDUCE_REAL)
