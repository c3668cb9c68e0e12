/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A double of CUDA for tests: libcuda.so.1, libcupti.so.13 and libcudart.so.13 over a device that is
 * not there. It is not CUDA, and computes nothing.
 *
 * What it keeps of the real thing: the driver calls the injector of $CUDA_INJECTION64_PATH in
 * cuInit(); a launch returns at once, and streams run on by themselves, each kernel for as long as
 * $CUDA_DOUBLE_KERNELS says; CUPTI calls back for what was subscribed and enabled and nothing else,
 * writes records of the lengths that the toolkit $CUDA_DOUBLE_TOOLKIT (11.7 to 13.5) writes, of
 * enabled kinds, into buffers that it asks for on the thread that launches, and hands them back full
 * on a thread of its own, or by a flush once all in them is finished.
 *
 * What it does not: memory of a device (it is the host's), order between streams but by events
 * and waits of the host, errors of kernels, more than one device, memory and modules of contexts, profiling, anything of a GPU's speed.
 * NVIDIA's own runtime does not run over it, as it asks the driver to prove that it is NVIDIA's:
 * programs of nvcc are linked with -cudart shared and get the runtime of this folder.
 *
 * Environment, read once:
 *   CUDA_DOUBLE_TOOLKIT  "12.4": which libcupti to play; 13.5. "ancient": one before 11.0
 *   CUDA_DOUBLE_DRIVER   "none": as if there were no driver (cuInit() fails with 100)
 *   CUDA_DOUBLE_KERNELS  "gemm=250000,relu=40000": ns of kernels; 1000 for others
 *   CUDA_DOUBLE_FAIL     "cuptiSubscribe=39,cuptiActivityEnable/2=35": what functions answer, of
 *                        one kind of record alone after a slash
 *   CUDA_DOUBLE_RECORDS  "zero": records have no times; "backwards": they end before they start;
 *                        "drop": every other one is dropped; "late": nothing comes before the end; "reverse": so, the latest first;
 *                        "none": they go elsewhere; "overhead": each flush takes 0.9 s, it says;
 *                        "unknown": between them are some of kinds that nobody asked for; "garbage":
 *                        one is of a kind that libcupti does not know itself; "cut": the last one of
 *                        each buffer is not whole
 *
 * The parts of the double call each other by the functions below, which real ones do not have.
 */
#ifndef OPTRACE_TESTS_SUPPORT_CUDA_DOUBLE_H
#define OPTRACE_TESTS_SUPPORT_CUDA_DOUBLE_H

#include <stddef.h>
#include <stdint.h>

/** What the driver tells a libcupti that is there. */
struct double_tool {
    /* before and after a call, as struct cupti_call has it; enter returns the correlation */
    uint32_t (*enter)(uint32_t domain, uint32_t id, const char *function, const char *symbol);
    void (*leave)(uint32_t domain, uint32_t id, const char *function, const char *symbol,
                  uint32_t correlation);
    /* a record of a kind, as base/cupti/records.h has it, whole */
    void (*put)(uint32_t kind, const void *record, uint64_t end_ns);
    int (*has_kind)(uint32_t kind);
    /* a node of a graph is made (13), or copied from another one (20) */
    void (*node)(uint32_t id, void *node, void *original);
};

/** Of libcuda: a libcupti comes, one at most. */
void cuda_double_attach(const struct double_tool *tool);

/** Of libcuda: the libcupti that came; NULL: none did. And what stays as long as the process. */
const struct double_tool *cuda_double_tool(void);
void *cuda_double_keep(void *thing);

/** Of libcuda: the runtime tells of its calls by it; 0 where no tool is there. */
uint32_t cuda_double_enter_runtime(uint32_t id, const char *function, const char *symbol);
void cuda_double_leave_runtime(uint32_t id, const char *function, const char *symbol,
                               uint32_t correlation);

/** Of libcuda: the number of a node of a graph, with its graph's in the upper half. */
uint64_t cuda_double_node_id(const void *node);

/** Of libcupti: what a tool has given it, for those who play CUPTI themselves; NULL and 0 before. */
struct double_hooks {
    void (*callback)(void *user, uint32_t domain, uint32_t id, const void *data);
    void (*request)(uint8_t **out_buffer, size_t *out_bytes, size_t *out_record_limit);
    void (*complete)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid);
    /* complete(), or what a tool has given that asks for chosen fields */
    void (*hand_over)(uint8_t *buffer, size_t bytes, size_t valid);
    size_t kernel_bytes; /* of a record */
};
void cuda_double_get_hooks(struct double_hooks *out_hooks);

/** Of libcupti: be that of the toolkit with this number in toolkits.h from now on. */
void cuda_double_play(size_t toolkit);

/** Of libcupti: where the chosen fields of a kind of record lie, as in short.h; NULL: none are. */
struct cupti_layout;
const struct cupti_layout *cuda_double_layout(uint32_t kind);

/** ns of CLOCK_REALTIME, CUPTI's clock. */
uint64_t cuda_double_now(void);

/* The driver's functions that programs and the runtime of this folder use; ids of calls are those
 * of CUPTI. Results are CUDA's: 0, or an error. */
int cuInit(unsigned flags);
int cuDriverGetVersion(int *out_version);
int cuMemAlloc_v2(uint64_t *out_address, size_t bytes);
int cuMemFree_v2(uint64_t address);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void *stream);
int cuMemPoolCreate(void **out_pool, const void *properties);
int cuMemPoolTrimTo(void *pool, size_t kept_bytes);
int cuMemPoolDestroy(void *pool);
int cuMemAllocFromPoolAsync(uint64_t *out_address, size_t bytes, void *pool, void *stream);
int cuMemFreeAsync(uint64_t address, void *stream);
int cuModuleLoadData(void **out_module, const void *image);
int cuModuleGetFunction(void **out_function, void *module, const char *name);
int cuStreamCreate(void **out_stream, unsigned flags);
int cuStreamDestroy_v2(void *stream);
int cuStreamSynchronize(void *stream);
int cuGreenCtxCreate(void **out_context, void *description, int device, unsigned flags);
int cuGreenCtxDestroy(void *context);
int cuCtxCreate_v2(void **out_context, unsigned flags, int device);
int cuCtxSetCurrent(void *context);
int cuCtxDestroy_v2(void *context);
int cuGreenCtxStreamCreate(void **out_stream, void *context, unsigned flags, int priority);
int cuEventCreate(void **out_event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventSynchronize(void *event);
int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
int cuCtxSynchronize(void);
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void *stream, void **params, void **extra);
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, void **out_graph);
int cuGraphInstantiateWithFlags(void **out_executable, void *graph, uint64_t flags);
int cuGraphExecUpdate_v2(void *executable, void *graph, void *info);
int cuGraphLaunch(void *executable, void *stream);

#endif
