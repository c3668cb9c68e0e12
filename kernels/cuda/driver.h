/* SPDX-License-Identifier: Apache-2.0 */
/* The part of CUDA's driver API that is used, by own declarations: no toolkit's header is needed. */
#ifndef OPTRACE_KERNELS_CUDA_DRIVER_H
#define OPTRACE_KERNELS_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

enum {
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NO_DEVICE = 100,
    CUDA_INVALID_DEVICE = 101,
    CUDA_INVALID_IMAGE = 200,
    CUDA_NO_BINARY = 209,
    CUDA_UNSUPPORTED_PTX = 222,
    CUDA_PROCESSORS = 16, /* attributes of a device */
    CUDA_MAJOR = 75,
    CUDA_MINOR = 76,
    CUDA_OWN_STREAM = 1, /* does not wait for the default one */
    CUDA_EVENT_WITHOUT_TIME = 2,
    CUDA_RECORD_AT_LAUNCH = 1, /* CU_EVENT_RECORD_EXTERNAL: a node of the graph that is captured */
};

#define CUDA_DRIVER_FUNCTIONS(F)                                                                   \
    F(cuInit, (unsigned flags))                                                                    \
    F(cuGetErrorName, (int error, const char **out_name))                                          \
    F(cuDriverGetVersion, (int *out_version))                                                      \
    F(cuDeviceGetCount, (int *out_count))                                                          \
    F(cuDeviceGet, (int *out_device, int ordinal))                                                 \
    F(cuDeviceGetName, (char *out_name, int length, int device))                                   \
    F(cuDeviceGetAttribute, (int *out_value, int attribute, int device))                           \
    F(cuDevicePrimaryCtxRetain, (void **out_context, int device))                                  \
    F(cuDevicePrimaryCtxRelease_v2, (int device))                                                  \
    F(cuCtxSetCurrent, (void *context))                                                            \
    F(cuModuleLoadData, (void **out_module, const void *image))                                    \
    F(cuModuleUnload, (void *module))                                                              \
    F(cuModuleGetFunction, (void **out_function, void *module, const char *name))                  \
    F(cuMemGetInfo_v2, (size_t * out_free, size_t * out_total))                                    \
    F(cuMemAlloc_v2, (uint64_t * out_address, size_t bytes))                                       \
    F(cuMemFree_v2, (uint64_t address))                                                            \
    F(cuMemHostAlloc, (void **out_memory, size_t bytes, unsigned flags))                           \
    F(cuMemFreeHost, (void *memory))                                                               \
    F(cuMemcpyHtoDAsync_v2, (uint64_t to, const void *from, size_t bytes, void *stream))           \
    F(cuMemcpyDtoHAsync_v2, (void *to, uint64_t from, size_t bytes, void *stream))                 \
    F(cuMemsetD8Async, (uint64_t to, unsigned char value, size_t bytes, void *stream))             \
    F(cuStreamCreate, (void **out_stream, unsigned flags))                                         \
    F(cuStreamDestroy_v2, (void *stream))                                                          \
    F(cuStreamSynchronize, (void *stream))                                                         \
    F(cuStreamWaitEvent, (void *stream, void *event, unsigned flags))                              \
    F(cuStreamBeginCapture_v2, (void *stream, int mode))                                           \
    F(cuStreamEndCapture, (void *stream, void **out_graph))                                        \
    F(cuGraphInstantiateWithFlags, (void **out_executable, void *graph, uint64_t flags))           \
    F(cuGraphLaunch, (void *executable, void *stream))                                             \
    F(cuGraphDestroy, (void *graph))                                                               \
    F(cuGraphExecDestroy, (void *executable))                                                      \
    F(cuEventCreate, (void **out_event, unsigned flags))                                           \
    F(cuEventDestroy_v2, (void *event))                                                            \
    F(cuEventRecord, (void *event, void *stream))                                                  \
    F(cuEventRecordWithFlags, (void *event, void *stream, unsigned flags))                         \
    F(cuEventSynchronize, (void *event))                                                           \
    F(cuEventElapsedTime, (float *out_ms, void *from, void *to))                                   \
    F(cuLaunchKernel, (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,          \
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,      \
                       void *stream, void **arguments, void **extra))

/** The functions of libcuda.so.1. */
struct cuda_driver {
    void *library;
#define CUDA_DRIVER_MEMBER(name, arguments) int(*name) arguments;
    CUDA_DRIVER_FUNCTIONS(CUDA_DRIVER_MEMBER)
#undef CUDA_DRIVER_MEMBER
};

/** Opened once for the process, and never closed: NVIDIA's does not bear it.
 *
 * out_text  a sentence, on failure
 *
 * Returns NULL when it is not there, or lacks a function that is used. Any thread. */
const struct cuda_driver *cuda_driver_open(char *out_text, size_t bytes);

#endif
