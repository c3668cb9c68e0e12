/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by the matrices that they choose, the truth: one row after the other. */
#include "kernels/experts.h"
#include "kernels/ref/number.h"

static double product_at(const struct kernel_experts_data *d, const struct kernel_experts *s,
                         int64_t row, int64_t column)
{
    int64_t expert = d->chosen[row];
    double sum = d->bias ? ref_get_f64(d->bias, s->dtype, expert * s->n + column) : 0.0;

    for (int64_t p = 0; p < s->k; p++)
        sum += ref_get_f64(d->x, s->dtype, row / s->each * s->k + p) *
               ref_get_f64(d->w, s->dtype, (expert * s->k + p) * s->n + column);
    return sum;
}

int experts_ref(const struct kernel_experts_data *data, const struct kernel_experts *shape,
                gemm_f32_fn *gemm)
{
    (void)gemm;
    for (int64_t row = 0; row < shape->rows; row++)
        if (data->chosen[row] < 0 || data->chosen[row] >= shape->experts)
            return -1;
    for (int64_t i = 0; i < shape->rows * shape->n; i++)
        ref_set_f64(data->y, shape->dtype, i, product_at(data, shape, i / shape->n, i % shape->n));
    return 0;
}
