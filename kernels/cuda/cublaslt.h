/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of cuBLASLt that is used, by own declarations: no toolkit's header is needed. The numbers
 * are those of its versions 12 and 13.
 */
#ifndef OPTRACE_KERNELS_CUDA_CUBLASLT_H
#define OPTRACE_KERNELS_CUDA_CUBLASLT_H

#include <stddef.h>
#include <stdint.h>

enum {
    LT_NOT_SUPPORTED = 15, /* of what its functions answer; 0 is success */
    LT_R_32F = 0,          /* types */
    LT_R_64F = 1,
    LT_R_16F = 2,
    LT_R_8I = 3,
    LT_R_32I = 10,
    LT_R_16BF = 14,
    LT_COMPUTE_32F = 68, /* what is added up in which type */
    LT_COMPUTE_64F = 70,
    LT_COMPUTE_32I = 72,
    LT_COMPUTE_TF32 = 77,
    LT_LAYOUT_BATCHES = 5, /* attributes of a layout */
    LT_LAYOUT_BATCH_STRIDE = 6,
    LT_PRODUCT_A_OPERATION = 3, /* of a product */
    LT_PRODUCT_B_OPERATION = 4,
    LT_PRODUCT_EPILOGUE = 7,
    LT_PRODUCT_BIAS = 8,
    LT_PREFERENCE_WORKSPACE = 1, /* of a preference */
    LT_PREFERENCE_REDUCTIONS =
        3, /* how parts of a sum may be added up; in any way unless it is said: */
    LT_REDUCTION_COMPUTE = 2,    /* in the type that is summed in; bits */
    LT_REDUCTION_OUTPUT = 4,     /* in the type of the result */
    LT_PREFERENCE_ALIGNMENT = 5, /* of a's address; then b's, c's and d's */
    LT_ALGORITHM_ID = 0,         /* of an algorithm; the others say in which of its ways: */
    LT_ALGORITHM_TILE = 1,
    LT_ALGORITHM_PARTS = 2, /* of each sum */
    LT_ALGORITHM_REDUCTION = 3,
    LT_ALGORITHM_SWIZZLING = 4,
    LT_ALGORITHM_OPTION = 5,
    LT_ALGORITHM_STAGES = 6,
    LT_ALGORITHM_INNER_SHAPE = 7, /* 16 bits, as what comes after it */
    LT_ALGORITHM_CLUSTER = 8,
    LT_TRANSPOSED = 1,         /* an operation; 0: as it is */
    LT_EPILOGUE_RELU = 2,      /* what is below 0 becomes 0 */
    LT_EPILOGUE_BIAS = 4,      /* a number per row of d is added */
    LT_EPILOGUE_RELU_BIAS = 6, /* first this, then that */
    LT_EPILOGUE_GELU = 32,     /* the form with a tanh */
    LT_EPILOGUE_GELU_BIAS = 36,
};

struct lt_algorithm {
    uint64_t data[8];
};

struct lt_proposal {
    struct lt_algorithm algorithm;
    size_t workspace_bytes;
    int status;
    float waves;
    int reserved[4];
};

/* Those that answer a status. Matrices are stored by columns. */
#define LT_FUNCTIONS(F)                                                                            \
    F(cublasLtCreate, (void **out_handle))                                                         \
    F(cublasLtDestroy, (void *handle))                                                             \
    F(cublasLtMatrixLayoutCreate,                                                                  \
      (void **out_layout, int type, uint64_t rows, uint64_t columns, int64_t line))                \
    F(cublasLtMatrixLayoutDestroy, (void *layout))                                                 \
    F(cublasLtMatrixLayoutSetAttribute,                                                            \
      (void *layout, int attribute, const void *value, size_t bytes))                              \
    F(cublasLtMatmulDescCreate, (void **out_product, int compute, int scale_type))                 \
    F(cublasLtMatmulDescDestroy, (void *product))                                                  \
    F(cublasLtMatmulDescSetAttribute,                                                              \
      (void *product, int attribute, const void *value, size_t bytes))                             \
    F(cublasLtMatmulPreferenceCreate, (void **out_preference))                                     \
    F(cublasLtMatmulPreferenceDestroy, (void *preference))                                         \
    F(cublasLtMatmulPreferenceSetAttribute,                                                        \
      (void *preference, int attribute, const void *value, size_t bytes))                          \
    F(cublasLtMatmulAlgoGetHeuristic,                                                              \
      (void *handle, void *product, void *a, void *b, void *c, void *d, void *preference,          \
       int wanted, struct lt_proposal *out_proposals, int *out_count))                             \
    F(cublasLtMatmulAlgoConfigGetAttribute, (const struct lt_algorithm *algorithm, int attribute,  \
                                             void *value, size_t bytes, size_t *out_written))      \
    F(cublasLtMatmul,                                                                              \
      (void *handle, void *product, const void *alpha, const void *a, void *a_layout,              \
       const void *b, void *b_layout, const void *beta, const void *c, void *c_layout, void *d,    \
       void *d_layout, const struct lt_algorithm *algorithm, void *workspace,                      \
       size_t workspace_bytes, void *stream))

/** The functions of libcublasLt. */
struct lt_library {
    void *library;
    size_t (*cublasLtGetVersion)(void);
    const char *(*cublasLtGetStatusName)(int status);
#define LT_MEMBER(name, arguments) int(*name) arguments;
    LT_FUNCTIONS(LT_MEMBER)
#undef LT_MEMBER
};

/**
 * Opened once for the process, and never closed.
 *
 * out_text  why not, on failure
 *
 * Returns NULL when it is not there, or lacks a function that is used. Any thread.
 */
const struct lt_library *lt_library_open(char *out_text, size_t bytes);

#endif
