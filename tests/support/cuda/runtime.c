/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcudart.so.13 of the double: what code of nvcc calls, and a few functions of the interface.
 * Both ways to launch: by a function of the host, and from toolkit 13 on by a kernel's handle.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cuda/double.h"
#include "tests/support/cuda/runtime.h"

enum { FUNCTIONS = 256, NESTING = 16, NO_DRIVER = 35, NO_FUNCTION = 98, INVALID = 1 };

static struct {
    const void *host;
    const char *name;
    void *function;
} functions[FUNCTIONS];
static int function_count;

static _Thread_local struct {
    struct size3 grid, block;
    size_t shared;
    void *stream;
} launches[NESTING];
static _Thread_local int depth;

void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
unsigned __cudaPushCallConfiguration(struct size3 grid, struct size3 block, size_t shared,
                                     void *stream);
int __cudaPopCallConfiguration(struct size3 *grid, struct size3 *block, size_t *shared,
                               void **stream);
int __cudaGetKernel(void **out_kernel, const void *host);
int __cudaLaunchKernel(void *kernel, struct size3 grid, struct size3 block, void **params,
                       size_t shared, void *stream);
int cudaGetLastError(void);

static int start(void)
{
    return cuInit(0) == 0 ? 0 : NO_DRIVER;
}

void **__cudaRegisterFatBinary(void *binary)
{
    static void *handle;

    handle = binary;
    return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, void *thread, void *block, void *block_size, void *grid,
                            int *warp)
{
    (void)handle, (void)device, (void)limit, (void)thread;
    (void)block, (void)block_size, (void)grid, (void)warp;
    if (function_count == FUNCTIONS)
        abort();
    functions[function_count].host = host;
    functions[function_count++].name = name;
}

unsigned __cudaPushCallConfiguration(struct size3 grid, struct size3 block, size_t shared,
                                     void *stream)
{
    if (depth == NESTING)
        return INVALID;
    launches[depth].grid = grid;
    launches[depth].block = block;
    launches[depth].shared = shared;
    launches[depth++].stream = stream;
    return 0;
}

int __cudaPopCallConfiguration(struct size3 *grid, struct size3 *block, size_t *shared,
                               void **stream)
{
    if (depth == 0)
        return INVALID;
    depth--;
    *grid = launches[depth].grid;
    *block = launches[depth].block;
    *shared = launches[depth].shared;
    *stream = launches[depth].stream;
    return 0;
}

int __cudaGetKernel(void **out_kernel, const void *host)
{
    const int rc = start();

    if (rc != 0)
        return rc;
    for (int i = 0; i < function_count; i++) {
        if (functions[i].host != host)
            continue;
        if (!functions[i].function)
            cuModuleGetFunction(&functions[i].function, NULL, functions[i].name);
        *out_kernel = functions[i].function;
        return 0;
    }
    return NO_FUNCTION;
}

static int launch(uint32_t id, const char *function, void *kernel, struct size3 grid,
                  struct size3 block, void **params, size_t shared, void *stream)
{
    const uint32_t correlation = cuda_double_enter_runtime(id, function, kernel);
    const int rc = cuLaunchKernel(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                  (unsigned)shared, stream, params, NULL);

    cuda_double_leave_runtime(id, function, kernel, correlation);
    return rc;
}

int __cudaLaunchKernel(void *kernel, struct size3 grid, struct size3 block, void **params,
                       size_t shared, void *stream)
{
    return launch(505, "__cudaLaunchKernel_v13000", kernel, grid, block, params, shared, stream);
}

int cudaLaunchKernel(const void *host, struct size3 grid, struct size3 block, void **params,
                     size_t shared, void *stream)
{
    void *kernel;
    const int rc = __cudaGetKernel(&kernel, host);

    if (rc != 0)
        return rc;
    return launch(211, "cudaLaunchKernel_v7000", kernel, grid, block, params, shared, stream);
}

int cudaMalloc(void **out_memory, size_t bytes)
{
    uint64_t address = 0;
    int rc = start();

    if (rc == 0)
        rc = cuMemAlloc_v2(&address, bytes);
    *out_memory = (void *)(uintptr_t)address;
    return rc;
}

int cudaFree(void *memory)
{
    return memory ? cuMemFree_v2((uint64_t)(uintptr_t)memory) : 0;
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
    uint32_t correlation;
    int rc = start();

    if (rc != 0)
        return rc;
    correlation = cuda_double_enter_runtime(41, "cudaMemcpyAsync_v3020", NULL);
    rc = kind == 1 ? cuMemcpyHtoDAsync_v2((uint64_t)(uintptr_t)to, from, bytes, stream)
                   : cuMemcpyDtoHAsync_v2(to, (uint64_t)(uintptr_t)from, bytes, stream);
    cuda_double_leave_runtime(41, "cudaMemcpyAsync_v3020", NULL, correlation);
    return rc;
}

int cudaStreamCreate(void **out_stream)
{
    const int rc = start();

    return rc == 0 ? cuStreamCreate(out_stream, 0) : rc;
}

int cudaStreamSynchronize(void *stream)
{
    const uint32_t correlation =
        cuda_double_enter_runtime(131, "cudaStreamSynchronize_v3020", NULL);
    const int rc = cuStreamSynchronize(stream);

    cuda_double_leave_runtime(131, "cudaStreamSynchronize_v3020", NULL, correlation);
    return rc;
}

int cudaDeviceSynchronize(void)
{
    const uint32_t correlation =
        cuda_double_enter_runtime(165, "cudaDeviceSynchronize_v3020", NULL);
    const int rc = cuCtxSynchronize();

    cuda_double_leave_runtime(165, "cudaDeviceSynchronize_v3020", NULL, correlation);
    return rc;
}

int cudaGetLastError(void)
{
    return 0;
}
