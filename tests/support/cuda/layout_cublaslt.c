/* SPDX-License-Identifier: Apache-2.0 */
/* Holds our numbers of cuBLASLt against its header; compiled by tests/flow/cublaslt_numbers.py. */
#include <cublasLt.h>

#include "kernels/cuda/cublaslt.h"

#define IS(number, name)   _Static_assert((int)(number) == (int)(name), #name " has another number")
#define SAME(ours, theirs) _Static_assert(ours == theirs, #theirs " differs")

IS(0, CUBLAS_STATUS_SUCCESS);
IS(LT_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED);
IS(LT_R_32F, CUDA_R_32F);
IS(LT_R_64F, CUDA_R_64F);
IS(LT_R_16F, CUDA_R_16F);
IS(LT_R_8I, CUDA_R_8I);
IS(LT_R_32I, CUDA_R_32I);
IS(LT_R_16BF, CUDA_R_16BF);
IS(LT_COMPUTE_32F, CUBLAS_COMPUTE_32F);
IS(LT_COMPUTE_64F, CUBLAS_COMPUTE_64F);
IS(LT_COMPUTE_32I, CUBLAS_COMPUTE_32I);
IS(LT_COMPUTE_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
IS(LT_LAYOUT_BATCHES, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
IS(LT_LAYOUT_BATCH_STRIDE, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
IS(LT_PRODUCT_A_OPERATION, CUBLASLT_MATMUL_DESC_TRANSA);
IS(LT_PRODUCT_B_OPERATION, CUBLASLT_MATMUL_DESC_TRANSB);
IS(LT_PRODUCT_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE);
IS(LT_PRODUCT_BIAS, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
IS(LT_PREFERENCE_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
IS(LT_PREFERENCE_REDUCTIONS, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
IS(LT_REDUCTION_COMPUTE, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
IS(LT_REDUCTION_OUTPUT, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);
IS(LT_PREFERENCE_ALIGNMENT, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
IS(LT_PREFERENCE_ALIGNMENT + 1, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
IS(LT_PREFERENCE_ALIGNMENT + 2, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
IS(LT_PREFERENCE_ALIGNMENT + 3, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
IS(LT_ALGORITHM_ID, CUBLASLT_ALGO_CONFIG_ID);
IS(LT_ALGORITHM_TILE, CUBLASLT_ALGO_CONFIG_TILE_ID);
IS(LT_ALGORITHM_PARTS, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
IS(LT_ALGORITHM_REDUCTION, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
IS(LT_ALGORITHM_SWIZZLING, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
IS(LT_ALGORITHM_OPTION, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
IS(LT_ALGORITHM_STAGES, CUBLASLT_ALGO_CONFIG_STAGES_ID);
IS(LT_ALGORITHM_INNER_SHAPE, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID);
IS(LT_ALGORITHM_CLUSTER, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
IS(LT_TRANSPOSED, CUBLAS_OP_T);
IS(LT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU);
IS(LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS);
IS(LT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS);
IS(LT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU);
IS(LT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS);

SAME(sizeof(struct lt_algorithm), sizeof(cublasLtMatmulAlgo_t));
SAME(sizeof(struct lt_proposal), sizeof(cublasLtMatmulHeuristicResult_t));
SAME(offsetof(struct lt_proposal, workspace_bytes),
     offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
SAME(offsetof(struct lt_proposal, status), offsetof(cublasLtMatmulHeuristicResult_t, state));
SAME(sizeof(int), sizeof(cublasStatus_t));
SAME(sizeof(int), sizeof(cudaDataType));
SAME(sizeof(int), sizeof(cublasComputeType_t));
SAME(sizeof(void *), sizeof(cublasLtHandle_t));

/* What each function takes: a call with our arguments compiles as one of theirs. */
void call_all(const struct lt_library *ours, void **handle, void *object, const void *value,
              struct lt_proposal *proposals, int *count, size_t *written);
void call_all(const struct lt_library *ours, void **handle, void *object, const void *value,
              struct lt_proposal *proposals, int *count, size_t *written)
{
    (void)ours;
    cublasLtCreate((cublasLtHandle_t *)handle);
    cublasLtDestroy(*handle);
    cublasLtMatrixLayoutCreate(object, (cudaDataType)0, (uint64_t)1, (uint64_t)1, (int64_t)1);
    cublasLtMatrixLayoutDestroy(object);
    cublasLtMatrixLayoutSetAttribute(object, (cublasLtMatrixLayoutAttribute_t)0, value, 4);
    cublasLtMatmulDescCreate(object, (cublasComputeType_t)0, (cudaDataType)0);
    cublasLtMatmulDescDestroy(object);
    cublasLtMatmulDescSetAttribute(object, (cublasLtMatmulDescAttributes_t)0, value, 4);
    cublasLtMatmulPreferenceCreate(object);
    cublasLtMatmulPreferenceDestroy(object);
    cublasLtMatmulPreferenceSetAttribute(object, (cublasLtMatmulPreferenceAttributes_t)0, value, 4);
    cublasLtMatmulAlgoGetHeuristic(*handle, object, object, object, object, object, object, 1,
                                   (cublasLtMatmulHeuristicResult_t *)proposals, count);
    cublasLtMatmulAlgoConfigGetAttribute((const cublasLtMatmulAlgo_t *)proposals,
                                         (cublasLtMatmulAlgoConfigAttributes_t)0, object, 4,
                                         written);
    cublasLtMatmul(*handle, object, value, value, object, value, object, value, value, object,
                   object, object, (const cublasLtMatmulAlgo_t *)proposals, object, (size_t)0,
                   (cudaStream_t)object);
}
