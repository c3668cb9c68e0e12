/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcublas.so.13 and libcublasLt.so.13 of the double in one: a product clears its workspace,
 * launches a kernel named by its sizes, and a second one that adds up. cuBLAS calls cuBLASLt.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cuda/double.h"

enum {
    FAILED = 14,
    ROWS = 2,
    COLUMNS = 3,
    TYPE = 0,
    BATCHES = 5,
    A_OPERATION = 3,
    B_OPERATION = 4
};

/* As cublasLtMatrixLayoutInit() and cublasLtMatmulDescInit() fill theirs: opaque. */
struct layout {
    int32_t type, batches;
    uint64_t rows, columns;
};
struct description {
    int32_t a, b;
};

int cublasLtMatrixLayoutGetAttribute(const struct layout *layout, int attribute, void *value,
                                     size_t bytes, size_t *written);
int cublasLtMatmulDescGetAttribute(const struct description *description, int attribute,
                                   void *value, size_t bytes, size_t *written);
int cublasLtMatmul(void *handle, const struct description *description, const void *alpha,
                   const void *a, const struct layout *a_layout, const void *b,
                   const struct layout *b_layout, const void *beta, const void *c,
                   const struct layout *c_layout, void *d, const struct layout *d_layout,
                   const void *algorithm, void *workspace, size_t workspace_bytes, void *stream);
int cublasGemmEx(void *handle, int a_op, int b_op, int m, int n, int k, const void *alpha,
                 const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                 const void *beta, void *c, int c_type, int ldc, int compute, int algorithm);
int cublasSgemm_v2(void *handle, int a_op, int b_op, int m, int n, int k, const void *alpha,
                   const void *a, int lda, const void *b, int ldb, const void *beta, void *c,
                   int ldc);

static int give(const void *from, size_t has, void *value, size_t bytes, size_t *written)
{
    if (bytes < has)
        return FAILED;
    memcpy(value, from, has);
    *written = has;
    return 0;
}

int cublasLtMatrixLayoutGetAttribute(const struct layout *layout, int attribute, void *value,
                                     size_t bytes, size_t *written)
{
    switch (attribute) {
    case TYPE:
        return give(&layout->type, sizeof(layout->type), value, bytes, written);
    case BATCHES:
        return give(&layout->batches, sizeof(layout->batches), value, bytes, written);
    case ROWS:
        return give(&layout->rows, sizeof(layout->rows), value, bytes, written);
    case COLUMNS:
        return give(&layout->columns, sizeof(layout->columns), value, bytes, written);
    default:
        return FAILED;
    }
}

int cublasLtMatmulDescGetAttribute(const struct description *description, int attribute,
                                   void *value, size_t bytes, size_t *written)
{
    const int32_t *field = attribute == A_OPERATION   ? &description->a
                           : attribute == B_OPERATION ? &description->b
                                                      : NULL;

    return field ? give(field, sizeof(*field), value, bytes, written) : FAILED;
}

int cublasLtMatmul(void *handle, const struct description *description, const void *alpha,
                   const void *a, const struct layout *a_layout, const void *b,
                   const struct layout *b_layout, const void *beta, const void *c,
                   const struct layout *c_layout, void *d, const struct layout *d_layout,
                   const void *algorithm, void *workspace, size_t workspace_bytes, void *stream)
{
    static char memory[64];
    static void *product, *sum;

    (void)handle, (void)description, (void)alpha, (void)a, (void)a_layout, (void)b;
    (void)b_layout, (void)beta, (void)c, (void)c_layout, (void)d, (void)d_layout;
    (void)algorithm, (void)workspace, (void)workspace_bytes;
    cuInit(0);
    if (!product) {
        cuModuleGetFunction(&product, NULL, "product");
        cuModuleGetFunction(&sum, NULL, "sum_of_parts");
    }
    cuMemsetD8Async((uint64_t)(uintptr_t)memory, 0, sizeof(memory), stream);
    cuLaunchKernel(product, 8, 8, 1, 128, 1, 1, 0, stream, NULL, NULL);
    return cuLaunchKernel(sum, 8, 1, 1, 128, 1, 1, 0, stream, NULL, NULL);
}

static int by_lt(int a_op, int b_op, int m, int n, int k, int a_type, int b_type, int c_type)
{
    const struct layout a = {a_type, 1, (uint64_t)(a_op ? k : m), (uint64_t)(a_op ? m : k)},
                        b = {b_type, 1, (uint64_t)(b_op ? n : k), (uint64_t)(b_op ? k : n)},
                        c = {c_type, 1, (uint64_t)m, (uint64_t)n};
    const struct description description = {a_op, b_op};

    return cublasLtMatmul(NULL, &description, NULL, NULL, &a, NULL, &b, NULL, NULL, &c, NULL, &c,
                          NULL, NULL, 0, NULL);
}

int cublasGemmEx(void *handle, int a_op, int b_op, int m, int n, int k, const void *alpha,
                 const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                 const void *beta, void *c, int c_type, int ldc, int compute, int algorithm)
{
    (void)handle, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb;
    (void)beta, (void)c, (void)ldc, (void)compute, (void)algorithm;
    return by_lt(a_op, b_op, m, n, k, a_type, b_type, c_type);
}

int cublasSgemm_v2(void *handle, int a_op, int b_op, int m, int n, int k, const void *alpha,
                   const void *a, int lda, const void *b, int ldb, const void *beta, void *c,
                   int ldc)
{
    (void)handle, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb, (void)beta, (void)c,
        (void)ldc;
    return by_lt(a_op, b_op, m, n, k, 0, 0, 0);
}
