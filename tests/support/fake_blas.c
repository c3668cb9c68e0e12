/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library of products that computes nothing: the first element of the result becomes BLAS_MARK,
 * the second the count of calls so far. Its C functions call its Fortran one, as that of reference
 * BLAS does.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

static double calls;

EXPORT void dgemm_(const char *a_letter, const char *b_letter, const int *m, const int *n,
                   const int *k, const double *alpha, const double *a, const int *lda,
                   const double *b, const int *ldb, const double *beta, double *c, const int *ldc);
EXPORT void cblas_dgemm(int order, int a_number, int b_number, int m, int n, int k, double alpha,
                        const double *a, int lda, const double *b, int ldb, double beta, double *c,
                        int ldc);
EXPORT void cblas_zgemm(int order, int a_number, int b_number, int m, int n, int k,
                        const void *alpha, const void *a, int lda, const void *b, int ldb,
                        const void *beta, void *c, int ldc);
EXPORT void scipy_cblas_dgemm64_(int order, int a_number, int b_number, int64_t m, int64_t n,
                                 int64_t k, double alpha, const double *a, int64_t lda,
                                 const double *b, int64_t ldb, double beta, double *c, int64_t ldc);

void dgemm_(const char *a_letter, const char *b_letter, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc)
{
    c[0] = BLAS_MARK;
    c[1] = ++calls;
}

void cblas_dgemm(int order, int a_number, int b_number, int m, int n, int k, double alpha,
                 const double *a, int lda, const double *b, int ldb, double beta, double *c,
                 int ldc)
{
    dgemm_(a_number == 111 ? "N" : "T", b_number == 111 ? "N" : "T", &m, &n, &k, &alpha, a, &lda, b,
           &ldb, &beta, c, &ldc);
}

void cblas_zgemm(int order, int a_number, int b_number, int m, int n, int k, const void *alpha,
                 const void *a, int lda, const void *b, int ldb, const void *beta, void *c, int ldc)
{
    *(double *)c = BLAS_MARK;
}

void scipy_cblas_dgemm64_(int order, int a_number, int b_number, int64_t m, int64_t n, int64_t k,
                          double alpha, const double *a, int64_t lda, const double *b, int64_t ldb,
                          double beta, double *c, int64_t ldc)
{
    c[0] = BLAS_MARK;
    c[1] = alpha + beta;
}
