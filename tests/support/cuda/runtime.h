/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the CUDA runtime that programs of the tests call, by no header of a toolkit: of the
 * double's libcudart, and of any other.
 */
#ifndef OPTRACE_TESTS_SUPPORT_CUDA_RUNTIME_H
#define OPTRACE_TESTS_SUPPORT_CUDA_RUNTIME_H

#include <stddef.h>

struct size3 {
    unsigned x, y, z;
};

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, void *thread, void *block, void *block_size, void *grid,
                            int *warp);
int cudaLaunchKernel(const void *host, struct size3 grid, struct size3 block, void **params,
                     size_t shared, void *stream);
int cudaMalloc(void **out_memory, size_t bytes);
int cudaFree(void *memory);
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream);
int cudaStreamCreate(void **out_stream);
int cudaStreamSynchronize(void *stream);
int cudaDeviceSynchronize(void);

#endif
