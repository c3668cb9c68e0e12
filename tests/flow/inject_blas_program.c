/* SPDX-License-Identifier: Apache-2.0 */
/* A program with a BLAS, and without us: inject_blas_program SCENE */
#include <fenv.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void dgemm_(const char *a_letter, const char *b_letter, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc);
void cblas_dgemm(int order, int a_number, int b_number, int m, int n, int k, double alpha,
                 const double *a, int lda, const double *b, int ldb, double beta, double *c,
                 int ldc);
void cblas_zgemm(int order, int a_number, int b_number, int m, int n, int k, const void *alpha,
                 const void *a, int lda, const void *b, int ldb, const void *beta, void *c,
                 int ldc);

static void products(void)
{
    const int m = 30, n = 20, k = 10;
    const double one = 1;
    double c[4] = {0};

    for (int i = 0; i < 5; i++)
        cblas_dgemm(101, 111, 112, m, n, k, 1, c, k, c, n, 0, c, n);
    for (int i = 0; i < 7; i++)
        dgemm_("n", "T", &m, &n, &k, &one, c, &m, c, &k, &one, c, &m);
    cblas_zgemm(102, 113, 111, 6, 5, 4, c, c, 1, c, 1, c, c, 1);
    cblas_dgemm(101, 111, 111, 0, n, k, 1, c, k, c, n, 0, c, n);
    printf("%g %g\n", c[0], c[1]);
}

static void *call_often(void *context)
{
    double c[4];

    for (int i = 0; i < 1000; i++)
        cblas_dgemm(101, 111, 111, 2, 2, 2, 1, c, 2, c, 2, 0, c, 2);
    return NULL;
}

static void threads(void)
{
    pthread_t ids[8];

    for (int i = 0; i < 8; i++)
        pthread_create(&ids[i], NULL, call_often, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(ids[i], NULL);
}

/* What the program's own arithmetic has raised since it looked last, as NumPy does. */
static void flags(void)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    double c[4] = {0};
    int raised = 0;

    for (int i = 0; i < 600; i++) {
        feclearexcept(FE_ALL_EXCEPT);
        cblas_dgemm(101, 111, 111, 1 + i % 9, 3, 2, 1, c, 2, c, 2, 0, c, 2);
        raised |= fetestexcept(FE_ALL_EXCEPT);
        nanosleep(&pause, NULL);
    }
    printf("raised %x\n", (unsigned)raised);
}

int main(int argc, char **argv)
{
    if (strcmp(argv[1], "products") == 0)
        products();
    else if (strcmp(argv[1], "threads") == 0)
        threads();
    else if (strcmp(argv[1], "flags") == 0)
        flags();
    return 0;
}
