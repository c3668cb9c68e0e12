/* SPDX-License-Identifier: Apache-2.0 */
/* Determinants and inverses, the truth: the product of what is left on the diagonal once the rows below it are
 * eliminated, each time by the row whose number is the largest; what the same steps make of the identity, above it,
 * too. */
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

/* The row from i on whose number in column i is the largest, or is none. */
static int64_t find_pivot(const double *a, int64_t n, int64_t i)
{
    int64_t best = i;

    for (int64_t row = i + 1; row < n; row++)
        if (fabs(a[row * n + i]) > fabs(a[best * n + i]) || isnan(a[row * n + i]))
            best = row;
    return best;
}

/* Eliminates a [n, n]. */
static double determinant(double *a, int64_t n)
{
    double product = 1.0;

    for (int64_t i = 0; i < n; i++) {
        int64_t best = find_pivot(a, n, i);

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

/* Makes a [n, n] the identity, and that b. */
static void invert(double *a, double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t best = find_pivot(a, n, i);
        double pivot = a[best * n + i];

        if (best != i) {
            swap_rows(a + best * n, a + i * n, n);
            swap_rows(b + best * n, b + i * n, n);
        }
        for (int64_t k = 0; k < n; k++) {
            a[i * n + k] /= pivot;
            b[i * n + k] /= pivot;
        }
        for (int64_t row = 0; row < n; row++) {
            double factor = row == i ? 0.0 : a[row * n + i];

            for (int64_t k = 0; row != i && k < n; k++) {
                a[row * n + k] -= factor * a[i * n + k];
                b[row * n + k] -= factor * b[i * n + k];
            }
        }
    }
}

void inverse_ref(void *y, const void *x, double *workspace, const struct kernel_determinant *shape)
{
    int64_t n = shape->size, size = n * n;
    double *identity = workspace + size;

    for (int64_t i = 0; i < shape->batch; i++) {
        for (int64_t k = 0; k < size; k++) {
            workspace[k] = ref_get_f64(x, shape->dtype, i * size + k);
            identity[k] = k / n == k % n ? 1.0 : 0.0;
        }
        invert(workspace, identity, n);
        for (int64_t k = 0; k < size; k++)
            ref_set_f64(y, shape->dtype, i * size + k, identity[k]);
    }
}
