/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product over f32, the truth: one element at a time, summed in f64. */
#include "kernels/kernels.h"

static void gemm_one(float *y, const float *a, const float *b, const float *c,
                     const struct kernel_gemm *s)
{
    int64_t a_line = kernel_gemm_a_line(s), b_line = kernel_gemm_b_line(s);
    int64_t a_row = s->trans_a ? 1 : a_line, a_col = s->trans_a ? a_line : 1;
    int64_t b_row = s->trans_b ? 1 : b_line, b_col = s->trans_b ? b_line : 1;

    for (int64_t i = 0; i < s->m; i++) {
        for (int64_t j = 0; j < s->n; j++) {
            double sum = 0.0;

            for (int64_t p = 0; p < s->k; p++)
                sum += (double)a[i * a_row + p * a_col] * b[p * b_row + j * b_col];
            sum *= s->alpha;
            if (c && s->beta != 0.0f)
                sum += (double)s->beta * c[i * s->c_row_stride + j * s->c_col_stride];
            y[i * kernel_gemm_y_line(s) + j] = (float)sum;
        }
    }
}

void gemm_f32_ref(float *y, const float *a, const float *b, const float *c,
                  const struct kernel_gemm *shape)
{
    int64_t count = 1;

    for (int i = 0; i < shape->batch_rank; i++)
        count *= shape->batch_dims[i];
    for (int64_t index = 0; index < count; index++) {
        struct kernel_gemm_place at = kernel_gemm_place(shape, index);

        gemm_one(y + at.y, a + at.a, b + at.b, c, shape);
    }
}
