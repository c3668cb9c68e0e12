/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions along any axes, and the place of the largest, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"

#include <math.h>

/* The axes of x in two groups: those that stay, and those that are summed up. */
struct split {
    int kept, reduced;
    int64_t kept_dims[KERNEL_MAX_RANK], kept_stride[KERNEL_MAX_RANK];
    int64_t dims[KERNEL_MAX_RANK], stride[KERNEL_MAX_RANK];
};

static struct split split_axes(const struct kernel_reduce *s)
{
    struct split split = {0};
    int64_t strides[KERNEL_MAX_RANK], stride = 1;

    for (int i = s->rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= s->dims[i];
    }
    for (int i = 0; i < s->rank; i++) {
        if (s->is_reduced[i]) {
            split.dims[split.reduced] = s->dims[i];
            split.stride[split.reduced++] = strides[i];
        } else {
            split.kept_dims[split.kept] = s->dims[i];
            split.kept_stride[split.kept++] = strides[i];
        }
    }
    return split;
}

static double begin_real(enum kernel_reduce_op op)
{
    switch (op) {
    case REDUCE_MAX:
        return -(double)INFINITY;
    case REDUCE_MIN:
        return (double)INFINITY;
    case REDUCE_PROD:
        return 1.0;
    default:
        return 0.0;
    }
}

static double add_real(enum kernel_reduce_op op, double sum, double x, double largest)
{
    switch (op) {
    case REDUCE_L1:
        return sum + fabs(x);
    case REDUCE_L2:
    case REDUCE_SUM_SQUARE:
        return sum + x * x;
    case REDUCE_LOG_SUM_EXP:
        return sum + exp(x - largest);
    case REDUCE_MAX:
        return isnan(sum) || isnan(x) ? (double)NAN : x > sum ? x : sum;
    case REDUCE_MIN:
        return isnan(sum) || isnan(x) ? (double)NAN : x < sum ? x : sum;
    case REDUCE_PROD:
        return sum * x;
    default:
        return sum + x;
    }
}

static double end_real(enum kernel_reduce_op op, double sum, int64_t count, double largest)
{
    switch (op) {
    case REDUCE_L2:
        return sqrt(sum);
    case REDUCE_LOG_SUM:
        return log(sum);
    case REDUCE_LOG_SUM_EXP:
        return log(sum) + largest;
    case REDUCE_MEAN:
        return sum / (double)count;
    default:
        return sum;
    }
}

/* One result; base is where its elements begin. */
static double reduce_real(const void *x, int64_t base, const struct split *split,
                          const struct kernel_reduce *s)
{
    int64_t count = ref_product(split->dims, split->reduced);
    int64_t at[KERNEL_MAX_RANK] = {0};
    double largest = 0.0, sum = begin_real(s->op);

    if (s->op == REDUCE_LOG_SUM_EXP) {
        struct kernel_reduce max = *s;

        max.op = REDUCE_MAX;
        largest = reduce_real(x, base, split, &max);
        if (!isfinite(largest)) /* inf - inf would be NaN */
            largest = 0.0;
    }
    for (int64_t i = 0; i < count; i++) {
        double number =
            ref_get_f64(x, s->dtype, base + ref_offset(at, split->stride, split->reduced));

        sum = add_real(s->op, sum, number, largest);
        ref_step(at, split->dims, split->reduced);
    }
    return end_real(s->op, sum, count, largest);
}

static uint64_t add_integer(const struct kernel_reduce *s, uint64_t sum, int64_t x)
{
    bool is_more = ref_order(x, s->dtype) > ref_order((int64_t)sum, s->dtype);

    switch (s->op) {
    case REDUCE_L1:
        return sum + (x < 0 && s->dtype != KERNEL_U64 ? 0 - (uint64_t)x : (uint64_t)x);
    case REDUCE_SUM_SQUARE:
        return sum + (uint64_t)x * (uint64_t)x;
    case REDUCE_MAX:
        return is_more ? (uint64_t)x : sum;
    case REDUCE_MIN:
        return is_more ? sum : (uint64_t)x;
    case REDUCE_PROD:
        return sum * (uint64_t)x;
    default:
        return sum + (uint64_t)x;
    }
}

static int64_t reduce_integer(const void *x, int64_t base, const struct split *split,
                              const struct kernel_reduce *s)
{
    int64_t count = ref_product(split->dims, split->reduced);
    int64_t at[KERNEL_MAX_RANK] = {0};
    uint64_t sum = s->op == REDUCE_MAX    ? (uint64_t)ref_lowest(s->dtype)
                   : s->op == REDUCE_MIN  ? (uint64_t)ref_highest(s->dtype)
                   : s->op == REDUCE_PROD ? 1
                                          : 0;

    for (int64_t i = 0; i < count; i++) {
        sum = add_integer(
            s, sum, ref_get_i64(x, s->dtype, base + ref_offset(at, split->stride, split->reduced)));
        ref_step(at, split->dims, split->reduced);
    }
    if (s->op == REDUCE_MEAN)
        return count == 0               ? 0
               : s->dtype == KERNEL_U64 ? (int64_t)(sum / (uint64_t)count)
                                        : (int64_t)sum / count;
    return (int64_t)sum;
}

void reduce_ref(void *y, const void *x, const struct kernel_reduce *shape)
{
    struct split split = split_axes(shape);
    int64_t count = ref_product(split.kept_dims, split.kept);
    int64_t at[KERNEL_MAX_RANK] = {0};
    bool as_real = kernel_dtype_is_real(shape->dtype) || shape->op == REDUCE_L2 ||
                   shape->op == REDUCE_LOG_SUM || shape->op == REDUCE_LOG_SUM_EXP;

    for (int64_t i = 0; i < count; i++) {
        int64_t base = ref_offset(at, split.kept_stride, split.kept);

        if (as_real)
            ref_set_f64(y, shape->dtype, i, reduce_real(x, base, &split, shape));
        else
            ref_set_i64(y, shape->dtype, i, reduce_integer(x, base, &split, shape));
        ref_step(at, split.kept_dims, split.kept);
    }
}

/* Whether x[i] takes the place of x[best]. */
static bool is_better(const void *x, int64_t i, int64_t best, const struct kernel_arg_reduce *s)
{
    bool less, same;

    if (kernel_dtype_is_real(s->dtype)) {
        less = ref_get_f64(x, s->dtype, i) < ref_get_f64(x, s->dtype, best);
        same = ref_get_f64(x, s->dtype, i) == ref_get_f64(x, s->dtype, best);
        if (isnan(ref_get_f64(x, s->dtype, best)))
            return false;
        if (isnan(ref_get_f64(x, s->dtype, i)))
            return true;
    } else {
        less = ref_get_order(x, s->dtype, i) < ref_get_order(x, s->dtype, best);
        same = ref_get_i64(x, s->dtype, i) == ref_get_i64(x, s->dtype, best);
    }
    return same ? s->takes_last : less == s->is_min;
}

void arg_reduce_ref(int64_t *y, const void *x, const struct kernel_arg_reduce *shape)
{
    for (int64_t o = 0; o < shape->outer; o++) {
        for (int64_t i = 0; i < shape->inner; i++) {
            int64_t base = o * shape->axis * shape->inner + i, best = 0;

            for (int64_t k = 1; k < shape->axis; k++)
                if (is_better(x, base + k * shape->inner, base + best * shape->inner, shape))
                    best = k;
            y[o * shape->inner + i] = best;
        }
    }
}
