/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of every type, the truth: one element at a time. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"

#include <math.h>

/* One matrix of each operand. */
struct matrices {
    int64_t a, b, y;                      /* first elements */
    int64_t a_number, b_number, y_number; /* of the matrix in its tensor */
    int64_t a_row, a_col, b_row, b_col;   /* strides */
};

static int64_t line_at(const struct kernel_lines *lines, int64_t matrix, int64_t line)
{
    return matrix * lines->matrix_stride + line * lines->line_stride;
}

static int64_t zero_at(const void *zero, enum kernel_dtype dtype, int64_t i)
{
    return zero ? ref_get_i64(zero, dtype, i) : 0;
}

static double sum_reals(const struct kernel_product_data *d, const struct kernel_product *s,
                        const struct matrices *m, int64_t i, int64_t j)
{
    double sum = 0.0;

    for (int64_t p = 0; p < s->k; p++)
        sum += ref_get_f64(d->a, s->a_type, m->a + i * m->a_row + p * m->a_col) *
               ref_get_f64(d->b, s->b_type, m->b + p * m->b_row + j * m->b_col);
    return sum;
}

static int64_t sum_integers(const struct kernel_product_data *d, const struct kernel_product *s,
                            const struct matrices *m, int64_t i, int64_t j)
{
    int64_t a_zero = zero_at(d->a_zero, s->a_type, line_at(&s->a_lines, m->a_number, i));
    int64_t b_zero = zero_at(d->b_zero, s->b_type, line_at(&s->b_lines, m->b_number, j));
    uint64_t sum = 0;

    for (int64_t p = 0; p < s->k; p++) {
        int64_t a = ref_get_i64(d->a, s->a_type, m->a + i * m->a_row + p * m->a_col);
        int64_t b = ref_get_i64(d->b, s->b_type, m->b + p * m->b_row + j * m->b_col);

        sum += ((uint64_t)a - (uint64_t)a_zero) * ((uint64_t)b - (uint64_t)b_zero);
    }
    return (int64_t)sum;
}

static void store_quantised(const struct kernel_product_data *d, const struct kernel_product *s,
                            const struct matrices *m, int64_t i, int64_t j, int64_t sum)
{
    int64_t y_line = line_at(&s->y_lines, m->y_number, i);
    double scale = ref_get_f64(d->a_scale, s->scale_type, line_at(&s->a_lines, m->a_number, i)) *
                   ref_get_f64(d->b_scale, s->scale_type, line_at(&s->b_lines, m->b_number, j)) /
                   ref_get_f64(d->y_scale, s->scale_type, y_line);

    ref_set_f64(d->y, s->y_type, m->y + i * s->n + j,
                nearbyint((double)sum * scale) + (double)zero_at(d->y_zero, s->y_type, y_line));
}

static void product_one(const struct kernel_product_data *d, const struct kernel_product *s,
                        const struct matrices *m, int64_t i, int64_t j)
{
    int64_t at = m->y + i * s->n + j, c_at = i * s->c_row_stride + j * s->c_col_stride;
    const void *c = s->beta == 0.0 ? NULL : d->c;

    if (kernel_dtype_is_real(s->y_type)) {
        double sum = s->alpha * sum_reals(d, s, m, i, j);

        ref_set_f64(d->y, s->y_type, at, sum + (c ? s->beta * ref_get_f64(c, s->y_type, c_at) : 0));
    } else if (d->y_scale) {
        store_quantised(d, s, m, i, j,
                        sum_integers(d, s, m, i, j) + (c ? ref_get_i64(c, KERNEL_I32, c_at) : 0));
    } else if (s->alpha == 1.0 && (!c || s->beta == 1.0)) {
        uint64_t sum = (uint64_t)sum_integers(d, s, m, i, j);

        sum += c ? (uint64_t)ref_get_i64(c, s->y_type, c_at) : 0;
        ref_set_i64(d->y, s->y_type, at, (int64_t)sum);
    } else {
        double sum = s->alpha * (double)sum_integers(d, s, m, i, j);

        ref_set_f64(d->y, s->y_type, at, sum + (c ? s->beta * ref_get_f64(c, s->y_type, c_at) : 0));
    }
}

void product_ref(const struct kernel_product_data *data, const struct kernel_product *shape)
{
    const struct kernel_product *s = shape;
    int64_t count = ref_product(s->batch_dims, s->batch_rank);
    struct matrices m = {
        .a_row = s->trans_a ? 1 : s->k,
        .a_col = s->trans_a ? s->m : 1,
        .b_row = s->trans_b ? 1 : s->n,
        .b_col = s->trans_b ? s->k : 1,
    };

    for (m.y_number = 0; m.y_number < count; m.y_number++) {
        int64_t rest = m.y_number;

        m.a = m.b = 0;
        for (int i = s->batch_rank - 1; i >= 0; i--) {
            m.a += rest % s->batch_dims[i] * s->a_batch_stride[i];
            m.b += rest % s->batch_dims[i] * s->b_batch_stride[i];
            rest /= s->batch_dims[i];
        }
        m.y = m.y_number * s->m * s->n;
        m.a_number = s->m * s->k > 0 ? m.a / (s->m * s->k) : 0;
        m.b_number = s->k * s->n > 0 ? m.b / (s->k * s->n) : 0;
        for (int64_t i = 0; i < s->m; i++)
            for (int64_t j = 0; j < s->n; j++)
                product_one(data, s, &m, i, j);
    }
}
