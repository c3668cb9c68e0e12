/* SPDX-License-Identifier: Apache-2.0 */
/* Determinants, the truth: the product of what is left on the diagonal once the rows below it are
 * eliminated, each time by the row whose number is the largest. */
#include <math.h>

#include "kernels/kernels.h"
#include "kernels/ref/number.h"

static void swap_rows(double *a, double *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double kept = a[i];

        a[i] = b[i];
        b[i] = kept;
    }
}

/* Eliminates a [n, n]. */
static double determinant(double *a, int64_t n)
{
    double product = 1.0;

    for (int64_t i = 0; i < n; i++) {
        int64_t best = i;

        for (int64_t row = i + 1; row < n; row++)
            if (fabs(a[row * n + i]) > fabs(a[best * n + i]) || isnan(a[row * n + i]))
                best = row;
        if (a[best * n + i] == 0.0)
            return 0.0;
        if (best != i) {
            swap_rows(a + best * n, a + i * n, n);
            product = -product;
        }
        product *= a[i * n + i];
        for (int64_t row = i + 1; row < n; row++) {
            double factor = a[row * n + i] / a[i * n + i];

            for (int64_t k = i + 1; k < n; k++)
                a[row * n + k] -= factor * a[i * n + k];
        }
    }
    return product;
}

void determinant_ref(void *y, const void *x, double *workspace,
                     const struct kernel_determinant *shape)
{
    int64_t size = shape->size * shape->size;

    for (int64_t i = 0; i < shape->batch; i++) {
        for (int64_t k = 0; k < size; k++)
            workspace[k] = ref_get_f64(x, shape->dtype, i * size + k);
        ref_set_f64(y, shape->dtype, i, determinant(workspace, shape->size));
    }
}
