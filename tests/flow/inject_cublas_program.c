/* SPDX-License-Identifier: Apache-2.0 */
/* A program with products of cuBLAS and without us: inject_cublas_program [captured]. With the word
 * they are captured once, in a graph that is replayed. */
#include <stdint.h>
#include <stdio.h>

#include "tests/support/cuda/double.h"

int cublasGemmEx(void *handle, int a_op, int b_op, int m, int n, int k, const void *alpha,
                 const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                 const void *beta, void *c, int c_type, int ldc, int compute, int algorithm);
int cublasSgemm_v2(void *handle, int a_op, int b_op, int m, int n, int k, const void *alpha,
                   const void *a, int lda, const void *b, int ldb, const void *beta, void *c,
                   int ldc);
int cublasLtMatmul(void *handle, const void *description, const void *alpha, const void *a,
                   const void *a_layout, const void *b, const void *b_layout, const void *beta,
                   const void *c, const void *c_layout, void *d, const void *d_layout,
                   const void *algorithm, void *workspace, size_t workspace_bytes, void *stream);

enum { CALLS = 50, F32 = 0, F16 = 2, BF16 = 14 };

struct layout {
    int32_t type, batches;
    uint64_t rows, columns;
};

/* A product of each kind. */
static int products(void)
{
    const struct layout a = {BF16, 4, 64, 32}, b = {BF16, 4, 64, 48}, d = {F32, 4, 32, 48};
    const struct {
        int32_t a, b;
    } transposed = {1, 0};
    int status =
        cublasSgemm_v2(NULL, 0, 0, 128, 256, 512, NULL, NULL, 128, NULL, 512, NULL, NULL, 128);

    status |= cublasGemmEx(NULL, 0, 1, 64, 64, 64, NULL, NULL, F16, 64, NULL, F16, 64, NULL, NULL,
                           F16, 64, 0, 0);
    status |= cublasLtMatmul(NULL, &transposed, NULL, NULL, &a, NULL, &b, NULL, NULL, &d, NULL, &d,
                             NULL, NULL, 0, NULL);
    return status;
}

static int replay(void)
{
    void *graph, *executable;
    int status = cuStreamBeginCapture_v2(NULL, 0);

    status |= products();
    status |= cuStreamEndCapture(NULL, &graph);
    status |= cuGraphInstantiateWithFlags(&executable, graph, 0);
    for (int i = 0; i < CALLS; i++)
        status |= cuGraphLaunch(executable, NULL);
    return status;
}

int main(int argc, char **argv)
{
    int status = cuInit(0); /* as cublasCreate() does */

    (void)argv;
    if (argc > 1) {
        status |= replay();
    } else {
        for (int i = 0; i < CALLS; i++)
            status |= products();
    }
    status |= cuCtxSynchronize();
    printf("status %d\n", status);
    return status;
}
