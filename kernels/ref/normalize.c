/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation over groups of elements, softmax and its kin, running sums: the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"

#include <math.h>

/* The elements that share a mean: those with the same place on the axes that are not reduced. */
struct group {
    int64_t dims[KERNEL_MAX_RANK]; /* of the reduced axes; 1 for the others */
    int64_t at[KERNEL_MAX_RANK];   /* of the other axes */
    int64_t stride[KERNEL_MAX_RANK];
    int64_t count;
};

static int64_t element_at(const struct group *group, const int64_t *inside, int rank,
                          int64_t out_at[KERNEL_MAX_RANK])
{
    for (int i = 0; i < rank; i++)
        out_at[i] = group->at[i] + inside[i];
    return ref_offset(out_at, group->stride, rank);
}

/* The mean of x, or of the square of what is left when `mean` is taken away. */
static double average(const struct kernel_normalize_data *data, const struct kernel_normalize *s,
                      const struct group *group, bool of_squares, double mean)
{
    int64_t inside[KERNEL_MAX_RANK] = {0}, at[KERNEL_MAX_RANK];
    double sum = 0.0;

    for (int64_t i = 0; i < group->count; i++) {
        double x = ref_get_f64(data->x, s->dtype, element_at(group, inside, s->rank, at)) - mean;

        sum += of_squares ? x * x : x;
        ref_step(inside, group->dims, s->rank);
    }
    return sum / (double)group->count;
}

static void normalize_group(const struct kernel_normalize_data *data,
                            const struct kernel_normalize *s, const struct group *group,
                            int64_t index)
{
    double mean = s->keeps_mean ? 0.0 : average(data, s, group, false, 0.0);
    double variance = average(data, s, group, true, mean);
    double inverse =
        s->adds_to_root ? 1.0 / (sqrt(variance) + s->epsilon) : 1.0 / sqrt(variance + s->epsilon);
    int64_t inside[KERNEL_MAX_RANK] = {0}, at[KERNEL_MAX_RANK];

    for (int64_t i = 0; i < group->count; i++) {
        int64_t element = element_at(group, inside, s->rank, at);
        double y = (ref_get_f64(data->x, s->dtype, element) - mean) * inverse;

        if (data->scale)
            y *= ref_get_f64(data->scale, s->dtype, ref_offset(at, s->scale_stride, s->rank));
        if (data->bias)
            y += ref_get_f64(data->bias, s->dtype, ref_offset(at, s->bias_stride, s->rank));
        ref_set_f64(data->y, s->dtype, element, y);
        ref_step(inside, group->dims, s->rank);
    }
    if (data->mean)
        ref_set_f64(data->mean, s->stat_dtype, index, mean);
    if (data->inverse)
        ref_set_f64(data->inverse, s->stat_dtype, index, inverse);
}

void normalize_ref(const struct kernel_normalize_data *data, const struct kernel_normalize *shape)
{
    struct group group = {.count = 1};
    int64_t outer[KERNEL_MAX_RANK], stride = 1;

    for (int i = shape->rank - 1; i >= 0; i--) {
        group.stride[i] = stride;
        stride *= shape->dims[i];
        group.dims[i] = shape->is_reduced[i] ? shape->dims[i] : 1;
        group.count *= group.dims[i];
        outer[i] = shape->is_reduced[i] ? 1 : shape->dims[i];
    }
    for (int64_t i = 0; i < ref_product(outer, shape->rank); i++) {
        normalize_group(data, shape, &group, i);
        ref_step(group.at, outer, shape->rank);
    }
}

/* Along one axis: element k of a line is at x[base + k * inner]. */

static double line_get(const void *x, const struct kernel_along *s, int64_t base, int64_t k)
{
    return ref_get_f64(x, s->dtype, base + k * s->inner);
}

static void softmax_line(void *y, const void *x, const struct kernel_along *s, int64_t base)
{
    double largest = -(double)INFINITY, sum = 0.0;

    for (int64_t k = 0; k < s->axis; k++)
        largest = fmax(largest, line_get(x, s, base, k));
    if (!isfinite(largest))
        largest = 0.0;
    for (int64_t k = 0; k < s->axis; k++)
        sum += exp(line_get(x, s, base, k) - largest);
    for (int64_t k = 0; k < s->axis; k++) {
        double moved = line_get(x, s, base, k) - largest;

        ref_set_f64(y, s->dtype, base + k * s->inner,
                    s->op == ALONG_SOFTMAX ? exp(moved) / sum : moved - log(sum));
    }
}

static void hardmax_line(void *y, const void *x, const struct kernel_along *s, int64_t base)
{
    int64_t best = 0;

    for (int64_t k = 1; k < s->axis; k++)
        if (line_get(x, s, base, k) > line_get(x, s, base, best))
            best = k;
    for (int64_t k = 0; k < s->axis; k++)
        ref_set_f64(y, s->dtype, base + k * s->inner, k == best);
}

static void norm_line(void *y, const void *x, const struct kernel_along *s, int64_t base)
{
    double sum = 0.0;

    for (int64_t k = 0; k < s->axis; k++) {
        double number = line_get(x, s, base, k);

        sum += s->op == ALONG_L1_NORM ? fabs(number) : number * number;
    }
    if (s->op == ALONG_L2_NORM)
        sum = sqrt(sum);
    for (int64_t k = 0; k < s->axis; k++)
        ref_set_f64(y, s->dtype, base + k * s->inner,
                    sum != 0.0 ? line_get(x, s, base, k) / sum : 0.0);
}

static void run_line(void *y, const void *x, const struct kernel_along *s, int64_t base)
{
    bool is_real = kernel_dtype_is_real(s->dtype), is_product = s->op == ALONG_PRODUCT;
    uint64_t integer = is_product;
    double real = is_product;

    for (int64_t k = 0; k < s->axis; k++) {
        int64_t at = base + (s->is_reverse ? s->axis - 1 - k : k) * s->inner;
        double real_before = real, number = is_real ? ref_get_f64(x, s->dtype, at) : 0.0;
        uint64_t integer_before = integer;
        uint64_t whole = is_real ? 0 : (uint64_t)ref_get_i64(x, s->dtype, at);

        real = is_product ? real * number : real + number;
        integer = is_product ? integer * whole : integer + whole;
        if (is_real)
            ref_set_f64(y, s->dtype, at, s->is_exclusive ? real_before : real);
        else
            ref_set_i64(y, s->dtype, at, (int64_t)(s->is_exclusive ? integer_before : integer));
    }
}

void along_ref(void *y, const void *x, const struct kernel_along *shape)
{
    for (int64_t i = 0; i < shape->outer * shape->inner; i++) {
        int64_t base = i / shape->inner * shape->axis * shape->inner + i % shape->inner;

        switch (shape->op) {
        case ALONG_SOFTMAX:
        case ALONG_LOG_SOFTMAX:
            softmax_line(y, x, shape, base);
            break;
        case ALONG_HARDMAX:
            hardmax_line(y, x, shape, base);
            break;
        case ALONG_SUM:
        case ALONG_PRODUCT:
            run_line(y, x, shape, base);
            break;
        default:
            norm_line(y, x, shape, base);
            break;
        }
    }
}
