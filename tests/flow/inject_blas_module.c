/* SPDX-License-Identifier: Apache-2.0 */
/* A module that brings a BLAS of its own, as the extensions of Python's wheels do. */
#include <stdint.h>

void scipy_cblas_dgemm64_(int order, int a_number, int b_number, int64_t m, int64_t n, int64_t k,
                          double alpha, const double *a, int64_t lda, const double *b, int64_t ldb,
                          double beta, double *c, int64_t ldc);
double module_work(double *c);

__attribute__((visibility("default"))) double module_work(double *c)
{
    scipy_cblas_dgemm64_(101, 111, 112, 3, 4, INT64_C(5000000000), 7, c, 1, c, 1, 8, c, 1);
    return c[0];
}
