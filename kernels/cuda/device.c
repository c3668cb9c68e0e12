/* SPDX-License-Identifier: Apache-2.0 */
/* A device: opening it, its stream, moments and graphs, launching kernels. */
#include "kernels/cuda.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/device.h"
#include "kernels/cuda/launch.h"

enum {
    ELEMENT_BLOCKS_MAX = 1 << 16,
    LINE_BLOCKS_MAX = 1 << 20,
    ROWS_FOR_WARPS = 4096,
    FAULT_BYTES = 16
};

struct kernel_cuda_graph {
    void *graph, *executable;
};

const char kernel_cuda_version[] = "cuda";

/* The kernels, or a few words where there was no nvcc: made by meson.build. */
extern const unsigned char kernel_cuda_image[];

static const char *const kernel_names[] = {
#define NAME(name) #name,
    CUDA_KERNELS(NAME)
#undef NAME
};

/* The calling thread's. */
static _Thread_local struct {
    struct kernel_cuda *cuda;
    const void *context; /* that is current for the driver */
    uint32_t mark;
    bool is_awaited;
} current;

/* --- Opening --- */

static bool has_kernels(void)
{
    return memcmp(kernel_cuda_image, "none", 4) != 0;
}

static void describe(struct kernel_cuda *cuda)
{
    const struct cuda_driver *driver = cuda->driver;
    char name[64] = "a GPU";
    int major = 0, minor = 0, version = 0;

    (void)driver->cuDeviceGetName(name, sizeof(name), cuda->device);
    (void)driver->cuDeviceGetAttribute(&major, CUDA_MAJOR, cuda->device);
    (void)driver->cuDeviceGetAttribute(&minor, CUDA_MINOR, cuda->device);
    (void)driver->cuDriverGetVersion(&version);
    snprintf(cuda->description, sizeof(cuda->description),
             "%s, compute capability %d.%d, driver for CUDA %d.%d", name, major, minor,
             version / 1000, version % 1000 / 10);
}

/* Returns a CUDA error. */
static int find_device(struct kernel_cuda *cuda, int number, char *out_text)
{
    const struct cuda_driver *driver = cuda->driver;
    char name[CUDA_NAME_BYTES];
    int count = 0, error = driver->cuInit(0);

    if (error == 0)
        error = driver->cuDeviceGetCount(&count);
    if (error == CUDA_NO_DEVICE || (error == 0 && count == 0)) {
        snprintf(out_text, KERNEL_CUDA_TEXT_BYTES, "the driver finds no GPU on this machine");
        return CUDA_NO_DEVICE;
    }
    if (error == 0 && (number < 0 || number >= count)) {
        snprintf(out_text, KERNEL_CUDA_TEXT_BYTES, "there is no GPU %d: the driver finds %d",
                 number, count);
        return CUDA_INVALID_DEVICE;
    }
    if (error == 0)
        error = driver->cuDeviceGet(&cuda->device, number);
    if (error != 0)
        snprintf(out_text, KERNEL_CUDA_TEXT_BYTES, "the driver cannot be used: %s",
                 cuda_name_of(driver, error, name));
    return error;
}

static int load_kernels(struct kernel_cuda *cuda, char *out_text)
{
    int error = cuda->driver->cuModuleLoadData(&cuda->module, kernel_cuda_image);
    char name[CUDA_NAME_BYTES];

    if (error != 0 && !has_kernels())
        snprintf(out_text, KERNEL_CUDA_TEXT_BYTES,
                 "this build has no kernels for a GPU: nvcc was not there when it was built");
    else if (error != 0)
        snprintf(out_text, KERNEL_CUDA_TEXT_BYTES,
                 "the kernels cannot be loaded on %s: %s; they need compute capability 7.5 and a "
                 "driver for CUDA 13.0",
                 cuda->description, cuda_name_of(cuda->driver, error, name));
    return error;
}

static int open_stream(struct kernel_cuda *cuda, char *out_text)
{
    const struct cuda_driver *driver = cuda->driver;
    char name[CUDA_NAME_BYTES];
    int error = cuda_stream_create(cuda);

    cuda->stream = cuda->streams[0];
    if (error == 0)
        error = driver->cuMemAlloc_v2(&cuda->fault, FAULT_BYTES);
    if (error == 0)
        error = driver->cuMemsetD8Async(cuda->fault, 0, FAULT_BYTES, cuda->stream);
    if (error != 0)
        snprintf(out_text, KERNEL_CUDA_TEXT_BYTES, "%s cannot be used: %s", cuda->description,
                 cuda_name_of(driver, error, name));
    return error;
}

static int open_context(struct kernel_cuda *cuda, char *out_text)
{
    const struct cuda_driver *driver = cuda->driver;
    char name[CUDA_NAME_BYTES];
    int error = driver->cuDevicePrimaryCtxRetain(&cuda->context, cuda->device);

    cuda->has_context = error == 0;
    if (error == 0)
        error = driver->cuCtxSetCurrent(cuda->context);
    if (error == 0) {
        current.context = cuda->context;
        return 0;
    }
    snprintf(out_text, KERNEL_CUDA_TEXT_BYTES, "%s cannot be used: %s", cuda->description,
             cuda_name_of(driver, error, name));
    return error;
}

int kernel_cuda_open(int number, struct kernel_cuda **out_cuda,
                     char out_text[KERNEL_CUDA_TEXT_BYTES])
{
    struct kernel_cuda *cuda = calloc(1, sizeof(*cuda));
    int error;

    if (!cuda) {
        snprintf(out_text, KERNEL_CUDA_TEXT_BYTES, "out of memory");
        return -ENOMEM;
    }
    cuda->choice.workspace_limit = UINT64_MAX;
    cuda->driver = cuda_driver_open(out_text, KERNEL_CUDA_TEXT_BYTES);
    if (!cuda->driver) {
        free(cuda);
        return -ENODEV;
    }
    error = find_device(cuda, number, out_text);
    if (error == 0)
        describe(cuda);
    if (error == 0)
        error = open_context(cuda, out_text);
    if (error == 0)
        error = load_kernels(cuda, out_text);
    if (error == 0)
        error = open_stream(cuda, out_text);
    if (error == 0)
        *out_cuda = cuda;
    else
        kernel_cuda_close(&cuda);
    return error ? cuda_errno_of(error) : 0;
}

void kernel_cuda_close(struct kernel_cuda **cuda_ptr)
{
    struct kernel_cuda *cuda = *cuda_ptr;
    const struct cuda_driver *driver;

    *cuda_ptr = NULL;
    if (!cuda)
        return;
    driver = cuda->driver;
    if (current.cuda == cuda)
        current.cuda = NULL;
    if (cuda->has_context)
        (void)driver->cuCtxSetCurrent(cuda->context);
    for (uint32_t i = 0; i < cuda->stream_count; i++)
        (void)driver->cuStreamSynchronize(cuda->streams[i]);
    product_plans_destroy(cuda);
    conv_plans_destroy(cuda);
    cuda_timers_destroy(cuda);
    cuda_upload_release(cuda);
    cuda_marks_destroy(cuda);
    for (uint32_t i = 0; i < cuda->moment_count; i++)
        (void)driver->cuEventDestroy_v2(cuda->moments[i]);
    for (size_t i = 0; i < cuda->range_count; i++)
        (void)driver->cuMemFree_v2(cuda->ranges[i].address);
    if (cuda->fault)
        (void)driver->cuMemFree_v2(cuda->fault);
    for (uint32_t i = 0; i < cuda->stream_count; i++)
        (void)driver->cuStreamDestroy_v2(cuda->streams[i]);
    if (cuda->module)
        (void)driver->cuModuleUnload(cuda->module);
    if (cuda->has_context)
        (void)driver->cuDevicePrimaryCtxRelease_v2(cuda->device);
    current.context = NULL;
    free(cuda->moments);
    free(cuda->ranges);
    free(cuda);
}

const char *kernel_cuda_describe(const struct kernel_cuda *cuda)
{
    return cuda->description;
}

const char *kernel_cuda_problem(const struct kernel_cuda *cuda)
{
    return cuda->problem;
}

/* --- Waiting --- */

int kernel_cuda_wait(struct kernel_cuda *cuda)
{
    for (uint32_t i = 0; cuda->failure == 0 && i < cuda->stream_count; i++)
        (void)cuda_checked(cuda, cuda->driver->cuStreamSynchronize(cuda->streams[i]),
                           "running kernels");
    if (cuda->failure == 0)
        cuda_upload_release(cuda);
    return cuda->failure;
}

/* --- Launching --- */

void kernel_cuda_use(struct kernel_cuda *cuda, uint32_t mark, bool is_awaited)
{
    current.cuda = cuda;
    current.mark = mark;
    current.is_awaited = is_awaited;
    if (cuda)
        cuda->chosen = (struct kernel_cuda_chosen){0};
    if (cuda && current.context != cuda->context &&
        cuda_checked(cuda, cuda->driver->cuCtxSetCurrent(cuda->context), "using it in a thread") ==
            0)
        current.context = cuda->context;
}

int kernel_cuda_fault(struct kernel_cuda *cuda, uint32_t *out_mark)
{
    int rc = kernel_cuda_get(cuda, out_mark, cuda_pointer(cuda->fault), sizeof(*out_mark));

    if (rc == 0 && *out_mark != 0)
        rc = kernel_cuda_clear(cuda, cuda_pointer(cuda->fault), sizeof(*out_mark));
    return rc;
}

struct kernel_cuda *cuda_current(void)
{
    return current.cuda;
}

struct cuda_fault cuda_fault_place(void)
{
    return (struct cuda_fault){cuda_pointer(current.cuda->fault), current.mark ? current.mark : 1};
}

int64_t *cuda_answer_place(void)
{
    return current.is_awaited ? (int64_t *)cuda_pointer(current.cuda->fault) + 1 : NULL;
}

int cuda_fault_result(void)
{
    uint32_t mark = 0;

    if (!current.is_awaited)
        return 0;
    return kernel_cuda_fault(current.cuda, &mark) < 0 || mark != 0 ? -1 : 0;
}

void cuda_launch(enum cuda_kernel kernel, struct cuda_size grid, struct cuda_size block,
                 void **arguments)
{
    struct kernel_cuda *cuda = current.cuda;
    char what[64];

    if (cuda->failure != 0 || cuda->is_rehearsing)
        return;
    snprintf(what, sizeof(what), "kernel %s", kernel_names[kernel]);
    if (!cuda->functions[kernel] &&
        cuda_checked(cuda,
                     cuda->driver->cuModuleGetFunction(&cuda->functions[kernel], cuda->module,
                                                       kernel_names[kernel]),
                     what) < 0)
        return;
    (void)cuda_checked(cuda,
                       cuda->driver->cuLaunchKernel(cuda->functions[kernel], grid.x, grid.y, grid.z,
                                                    block.x, block.y, block.z, 0, cuda->stream,
                                                    arguments, NULL),
                       what);
}

void cuda_launch_elements(enum cuda_kernel kernel, int64_t count, void **arguments)
{
    int64_t blocks = (count + CUDA_BLOCK - 1) / CUDA_BLOCK;

    if (count <= 0)
        return;
    if (blocks > ELEMENT_BLOCKS_MAX)
        blocks = ELEMENT_BLOCKS_MAX; /* each thread then has several */
    cuda_launch(kernel, (struct cuda_size){(unsigned)blocks, 1, 1},
                (struct cuda_size){CUDA_BLOCK, 1, 1}, arguments);
}

void cuda_launch_quads(enum cuda_kernel kernel, int64_t count, void **arguments)
{
    cuda_launch_elements(kernel, (count + 3) / 4, arguments);
}

void cuda_launch_lines(enum cuda_kernel kernel, int64_t count, void **arguments)
{
    if (count <= 0)
        return;
    if (count > LINE_BLOCKS_MAX)
        count = LINE_BLOCKS_MAX;
    cuda_launch(kernel, (struct cuda_size){(unsigned)count, 1, 1},
                (struct cuda_size){CUDA_LINE_BLOCK, 1, 1}, arguments);
}

void cuda_launch_rows(enum cuda_kernel by_warp, enum cuda_kernel by_block,
                      const struct cuda_rows *rows)
{
    const int pieces = rows->width % 4 == 0 ? rows->width / 4 : rows->width;
    const int teams = CUDA_LINE_BLOCK / 32;
    struct cuda_rows given = *rows;

    /* Of few rows a warp each would leave most of the device idle. */
    if (pieces <= 64 || (pieces <= 32 * CUDA_ROW_PIECES && rows->count >= ROWS_FOR_WARPS))
        cuda_launch_lines(by_warp, (rows->count + teams - 1) / teams, (void *[]){&given});
    else
        cuda_launch_lines(by_block, rows->count, (void *[]){&given});
}

struct cuda_scalar cuda_scalar_of(const void *value, size_t bytes)
{
    const struct kernel_cuda *cuda = current.cuda;
    const uint64_t address = cuda_address_of(value);
    struct cuda_scalar scalar = {NULL, 0};

    for (size_t i = 0; i < cuda->range_count; i++)
        if (address - cuda->ranges[i].address < cuda->ranges[i].bytes)
            return (struct cuda_scalar){value, 0};
    if (value)
        memcpy(&scalar.bits, value, bytes);
    return scalar;
}

/* --- Moments --- */

int kernel_cuda_make_moments(struct kernel_cuda *cuda, uint32_t count)
{
    void **moments;

    if (cuda->failure != 0 || count <= cuda->moment_count)
        return cuda->failure;
    moments = realloc(cuda->moments, count * sizeof(*moments));
    if (!moments)
        return -ENOMEM;
    cuda->moments = moments;
    while (cuda->moment_count < count) {
        int error = cuda->driver->cuEventCreate(&moments[cuda->moment_count], 0);

        if (error != 0)
            return cuda_checked(cuda, error, "making an event");
        cuda->moment_count++;
    }
    return 0;
}

/* An event that is captured without the flag has no time: it only orders streams. */
int kernel_cuda_note(struct kernel_cuda *cuda, uint32_t moment)
{
    void *event;

    if (cuda->failure != 0)
        return cuda->failure;
    event = cuda->moments[moment];
    return cuda_checked(cuda,
                        cuda->is_capturing ? cuda->driver->cuEventRecordWithFlags(
                                                 event, cuda->stream, CUDA_RECORD_AT_LAUNCH)
                                           : cuda->driver->cuEventRecord(event, cuda->stream),
                        "recording an event");
}

int kernel_cuda_await(struct kernel_cuda *cuda, uint32_t moment)
{
    if (cuda->failure != 0)
        return cuda->failure;
    return cuda_checked(cuda, cuda->driver->cuEventSynchronize(cuda->moments[moment]),
                        "waiting for an event");
}

int kernel_cuda_between(struct kernel_cuda *cuda, uint32_t from, uint32_t to, int64_t *out_ns)
{
    float ms = 0.0f;
    int rc;

    if (cuda->failure != 0)
        return cuda->failure;
    rc = cuda_checked(cuda,
                      cuda->driver->cuEventElapsedTime(&ms, cuda->moments[from], cuda->moments[to]),
                      "reading an event");
    if (rc == 0)
        *out_ns = (int64_t)((double)ms * 1e6 + (ms < 0.0f ? -0.5 : 0.5));
    return rc;
}

/* --- Graphs --- */

int kernel_cuda_graph_begin(struct kernel_cuda *cuda)
{
    int rc = kernel_cuda_wait(cuda);

    if (rc == 0) /* 1: of this thread only; others may do what they like */
        rc = cuda_checked(cuda, cuda->driver->cuStreamBeginCapture_v2(cuda->stream, 1),
                          "beginning a graph");
    cuda->is_capturing = rc == 0;
    return rc;
}

int kernel_cuda_graph_end(struct kernel_cuda *cuda, struct kernel_cuda_graph **out_graph)
{
    struct kernel_cuda_graph *graph = calloc(1, sizeof(*graph));
    void *captured = NULL;
    int rc;

    if (cuda->is_capturing) {
        int error = cuda->driver->cuStreamEndCapture(cuda->stream, &captured);

        (void)cuda_checked(cuda, error, "ending a graph");
    }
    cuda->is_capturing = false;
    rc = graph ? cuda->failure : -ENOMEM;
    if (graph)
        graph->graph = captured;
    if (rc == 0)
        rc = cuda_checked(
            cuda, cuda->driver->cuGraphInstantiateWithFlags(&graph->executable, captured, 0),
            "making a graph");
    if (rc == 0)
        *out_graph = graph;
    else
        kernel_cuda_graph_destroy(cuda, &graph);
    return rc;
}

int kernel_cuda_graph_launch(struct kernel_cuda *cuda, struct kernel_cuda_graph *graph)
{
    if (cuda->failure != 0)
        return cuda->failure;
    return cuda_checked(cuda, cuda->driver->cuGraphLaunch(graph->executable, cuda->stream),
                        "launching a graph");
}

void kernel_cuda_graph_destroy(struct kernel_cuda *cuda, struct kernel_cuda_graph **graph_ptr)
{
    struct kernel_cuda_graph *graph = *graph_ptr;

    *graph_ptr = NULL;
    if (!graph)
        return;
    if (graph->executable)
        (void)cuda->driver->cuGraphExecDestroy(graph->executable);
    if (graph->graph)
        (void)cuda->driver->cuGraphDestroy(graph->graph);
    free(graph);
}

struct kernel_cuda_library kernel_cuda_library(const struct kernel_cuda *cuda,
                                               enum kernel_cuda_task task)
{
    return task == KERNEL_CUDA_PRODUCT ? product_library(cuda) : conv_library(cuda);
}
