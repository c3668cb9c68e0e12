/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling of f64 and int32 by sums of f64, one axis after the other. Where that might round an integer another way
 * than the reference, which sums all axes at once, it is summed again as there. */
#include "kernels/cpu/resample_f64.h"

#include <math.h>

#include "kernels/cpu/team.h"

#define SUM      double
#define SUM_TYPE KERNEL_F64
#include "kernels/cpu/resample_steps.h"

ISA_BODY void add_row(double *restrict line, const void *row, int64_t columns, double weight,
                      bool is_first, enum kernel_dtype dtype)
{
    if (dtype == KERNEL_F64)
        ADD_ROW(double)
    else
        ADD_ROW(int32_t)
}

/* As sum_plain(), of planes with one axis of rows. */
static double sum_flat(const struct resampling *r, int64_t row, int64_t column)
{
    const int32_t *plane =
        (const int32_t *)(const void *)r->x + row / r->y_rows * r->rows * r->columns;
    int64_t first = row % r->y_rows * r->down->taps;
    const int64_t *places = r->along->places + column * r->along->taps;
    const double *weights = r->along->weights + column * r->along->taps;
    double sum = 0.0;

    for (int64_t d = first; d < first + r->down->taps; d++)
        for (int64_t t = 0; t < r->along->taps; t++) {
            double weight = r->down->weights[d] * weights[t];

            if (weight != 0.0)
                sum += weight * (double)plane[r->down->places[d] * r->columns + places[t]];
        }
    return sum;
}

/* Element `column` of row `row` of all planes, summed in the order of the reference and without its sums of products
 * in one step. */
static __attribute__((noinline)) double sum_plain(const struct resampling *r, int64_t row,
                                                  int64_t column)
{
    const struct kernel_resample *s = r->shape;
    int64_t plane = row / r->y_rows * r->rows * r->columns, terms = 1;
    double sum = 0.0;

    if (r->top >= s->rank - 2)
        return sum_flat(r, row, column);
    for (int i = r->top; i < s->rank; i++)
        terms *= s->axes[i].taps;
    for (int64_t term = 0; term < terms; term++) {
        int64_t place = 0, stride = 1, choice = term,
                rest = row % r->y_rows * r->y_columns + column;
        double weights[KERNEL_MAX_RANK], weight = 1.0;

        for (int i = s->rank - 1; i >= r->top; i--) {
            const struct kernel_resample_axis *a = &s->axes[i];
            int64_t at = rest % s->y_dims[i] * a->taps + choice % a->taps;

            place += a->places[at] * stride;
            weights[i] = a->weights[at];
            stride *= s->x_dims[i];
            choice /= a->taps;
            rest /= s->y_dims[i];
        }
        for (int i = r->top; i < s->rank; i++)
            weight *= weights[i];
        if (weight != 0.0)
            sum += weight * (double)((const int32_t *)(const void *)r->x)[plane + place];
    }
    return sum;
}

/* Saturated. */
ISA_BODY int32_t to_whole(double sum)
{
    double number = __builtin_nearbyint(sum);

    number = number > (double)INT32_MIN ? number : (double)INT32_MIN;
    return (int32_t)(number < (double)INT32_MAX ? number : (double)INT32_MAX);
}

ISA_BODY void round_row(void *y, const double *restrict line, const struct resampling *r,
                        const struct block *block, int64_t row, enum kernel_dtype dtype)
{
    int32_t *restrict to = y;
    int odd = 0;

#pragma omp simd reduction(| : odd)
    for (int i = 0; i < block->count; i++) {
        odd |= fabs(line[i] - __builtin_nearbyint(line[i])) > 0.5 - block->rooms[i];
        to[i] = to_whole(line[i]);
    }
    for (int i = 0; odd && i < block->count; i++)
        if (fabs(line[i] - __builtin_nearbyint(line[i])) > 0.5 - block->rooms[i])
            to[i] = to_whole(sum_plain(r, row, block->first + i));
}

/* How far a sum of integers may be from the reference's: not at all where weights have so few bits that no sum is
 * rounded. False where it might be further than is worth looking at, or weights are no numbers. */
static bool find_room(struct resampling *r)
{
    const struct kernel_resample *s = r->shape;
    double most = 1.0, terms = 1.0;

    r->scale = ldexp(1.0, 20 / (s->rank - r->top));
    r->has_exact_rows = true;
    for (int i = r->top; i < s->rank; i++) {
        const struct kernel_resample_axis *a = &s->axes[i];
        double largest = 0.0;

        for (int64_t o = 0; o < s->y_dims[i]; o++) {
            double sum = 0.0;

            for (int64_t t = 0; t < a->taps; t++)
                sum += fabs(a->weights[o * a->taps + t]);
            largest = sum <= largest ? largest : sum;
            if (i < s->rank - 1 && !is_exact(a, o, r->scale))
                r->has_exact_rows = false;
        }
        most *= largest;
        terms *= (double)a->taps;
    }
    r->has_exact_rows = r->has_exact_rows && most < 2.0;
    r->room = most * (terms + 8.0) * 0x1p-21;
    return r->room < 0x1p-10;
}

#define RESAMPLE_F64(isa)                                                                          \
    ISA_TARGET_##isa static void rows_##isa(void *argument, int64_t begin, int64_t end)            \
    {                                                                                              \
        const struct resampling *r = argument;                                                     \
                                                                                                   \
        if (r->shape->dtype == KERNEL_F64)                                                         \
            do_rows(r, begin, end, KERNEL_F64);                                                    \
        else                                                                                       \
            do_rows(r, begin, end, KERNEL_I32);                                                    \
    }                                                                                              \
                                                                                                   \
    void resample_f64_##isa(void *y, const void *x, const struct kernel_resample *shape)           \
    {                                                                                              \
        struct resampling r = {.y = y, .x = x, .shape = shape};                                    \
        bool is_here = shape->dtype == KERNEL_F64 || shape->dtype == KERNEL_I32;                   \
        int64_t planes = 1;                                                                        \
                                                                                                   \
        if (shape->rank < 1 || !is_here || !find_planes(&r) || !can_sum(&r) ||                     \
            (shape->dtype == KERNEL_I32 && !find_room(&r))) {                                      \
            resample_ref(y, x, shape);                                                             \
            return;                                                                                \
        }                                                                                          \
        for (int i = 0; i < r.top; i++)                                                            \
            planes *= shape->y_dims[i];                                                            \
        team_for(planes *r.y_rows, GRAIN / r.y_columns + 1, rows_##isa, &r);                       \
    }

ISA_VERSIONS(RESAMPLE_F64)
