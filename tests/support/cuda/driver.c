/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda.so.1 of the double: streams that run on, and the tool that hears of it. */
#include "tests/support/cuda/double.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cupti/records.h"

enum {
    NO_DEVICE = 100,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    LAUNCH_NS = 2000,
    NODES = 4096,
    FIRST_STREAM = 7,
    NS_PER_BYTE_INVERSE = 16,
};

struct node {
    const char *name;
    uint64_t ns;
    unsigned grid[3], block[3];
    uint64_t id, original; /* original: of the one that it is a copy of, or 0 */
    uint64_t set_bytes;    /* of a memset; 0: it is a kernel */
};

struct graph {
    uint32_t number, count;
    struct node nodes[NODES];
};

struct stream {
    uint32_t number;
    uint64_t busy_until;
    struct graph *capture;
    uint32_t context;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stream first = {FIRST_STREAM, 0, NULL, 1};
static struct stream *streams[256] = {&first};
static _Thread_local uint32_t current = 1; /* context */
static uint64_t gone_until;                /* when what runs on streams that are destroyed ends */
static uint32_t stream_count = 1, last_stream = FIRST_STREAM, graph_count;
static const struct double_tool *tool;
static void *kept[1024]; /* functions and graphs, for ever: nobody unloads them */
static uint32_t kept_count;

void *cuda_double_keep(void *thing)
{
    if (thing)
        kept[__atomic_fetch_add(&kept_count, 1, __ATOMIC_RELAXED) % 1024] = thing;
    return thing;
}

void cuda_double_attach(const struct double_tool *comes)
{
    __atomic_store_n(&tool, comes, __ATOMIC_RELEASE);
}

const struct double_tool *cuda_double_tool(void)
{
    return __atomic_load_n(&tool, __ATOMIC_ACQUIRE);
}

uint64_t cuda_double_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static uint32_t enter(uint32_t domain, uint32_t id, const char *function, const char *symbol)
{
    const struct double_tool *there = cuda_double_tool();

    return there ? there->enter(domain, id, function, symbol) : 0;
}

static void leave(uint32_t domain, uint32_t id, const char *function, const char *symbol,
                  uint32_t correlation)
{
    const struct double_tool *there = cuda_double_tool();

    if (there)
        there->leave(domain, id, function, symbol, correlation);
}

uint32_t cuda_double_enter_runtime(uint32_t id, const char *function, const char *symbol)
{
    return enter(CUPTI_RUNTIME, id, function, symbol);
}

void cuda_double_leave_runtime(uint32_t id, const char *function, const char *symbol,
                               uint32_t correlation)
{
    leave(CUPTI_RUNTIME, id, function, symbol, correlation);
}

static void inject(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*initialize)(void) = NULL;

    if (library)
        *(void **)&initialize = dlsym(library, "InitializeInjection");
    if (initialize)
        initialize();
}

static int is_absent(void)
{
    const char *driver = getenv("CUDA_DOUBLE_DRIVER");

    return driver && strcmp(driver, "none") == 0;
}

int cuInit(unsigned flags)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)flags;
    if (is_absent())
        return NO_DEVICE;
    pthread_once(&once, inject);
    return 0;
}

int cuDriverGetVersion(int *out_version)
{
    *out_version = 13050;
    return is_absent() ? NO_DEVICE : 0;
}

/* --- Streams --- */

static struct stream *stream_of(void *handle)
{
    return handle ? handle : &first;
}

/* What runs on it goes on. */
int cuStreamDestroy_v2(void *handle)
{
    const uint32_t correlation = enter(CUPTI_DRIVER, 326, "cuStreamDestroy_v2", NULL);

    pthread_mutex_lock(&lock);
    if (stream_of(handle)->busy_until > gone_until)
        gone_until = stream_of(handle)->busy_until;
    for (uint32_t i = 1; i < stream_count; i++) {
        if (streams[i] == handle)
            streams[i] = streams[--stream_count];
    }
    pthread_mutex_unlock(&lock);
    free(handle);
    leave(CUPTI_DRIVER, 326, "cuStreamDestroy_v2", NULL, correlation);
    return 0;
}

int cuStreamCreate(void **out_stream, unsigned flags)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    int rc = OUT_OF_MEMORY;

    (void)flags;
    pthread_mutex_lock(&lock);
    if (stream && stream_count < sizeof(streams) / sizeof(streams[0])) {
        stream->number = ++last_stream;
        stream->context = current;
        streams[stream_count++] = stream;
        *out_stream = stream;
        rc = 0;
    }
    pthread_mutex_unlock(&lock);
    if (rc != 0)
        free(stream);
    return rc;
}

/* Its handle is its number; a part of the device has 16 multiprocessors. */
static int create_context(void **out_context, uint8_t is_green)
{
    static uintptr_t count = 1;
    const struct double_tool *there = cuda_double_tool();
    struct cupti_context record = {.kind = CUPTI_CONTEXT,
                                   .parent = is_green,
                                   .is_green = is_green,
                                   .multiprocessors = is_green ? 16 : 0};

    record.context = (uint32_t)__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    *out_context = (void *)(uintptr_t)record.context;
    if (there)
        there->put(CUPTI_CONTEXT, &record, cuda_double_now());
    return 0;
}

/* With its streams; what runs on them goes on, and its records come later. */
static int destroy_context(void *context)
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = stream_count; --i > 0;) {
        if (streams[i]->context != (uintptr_t)context)
            continue;
        if (streams[i]->busy_until > gone_until)
            gone_until = streams[i]->busy_until;
        free(streams[i]);
        streams[i] = streams[--stream_count];
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

int cuCtxCreate_v2(void **out_context, unsigned flags, int device)
{
    (void)flags, (void)device;
    return create_context(out_context, 0);
}

int cuCtxSetCurrent(void *context)
{
    current = context ? (uint32_t)(uintptr_t)context : 1;
    return 0;
}

int cuCtxDestroy_v2(void *context)
{
    return destroy_context(context);
}

int cuGreenCtxCreate(void **out_context, void *description, int device, unsigned flags)
{
    (void)description, (void)device, (void)flags;
    return create_context(out_context, 1);
}

int cuGreenCtxDestroy(void *context)
{
    return destroy_context(context);
}

int cuGreenCtxStreamCreate(void **out_stream, void *context, unsigned flags, int priority)
{
    const int rc = cuStreamCreate(out_stream, flags);

    (void)priority;
    if (rc == 0)
        ((struct stream *)*out_stream)->context = (uint32_t)(uintptr_t)context;
    return rc;
}

/* When something of this length runs on the stream, which is asked for now. */
static void run(struct stream *stream, uint64_t ns, uint64_t *out_start, uint64_t *out_end)
{
    const uint64_t soon = cuda_double_now() + LAUNCH_NS;

    pthread_mutex_lock(&lock);
    *out_start = soon > stream->busy_until ? soon : stream->busy_until;
    *out_end = *out_start + ns;
    stream->busy_until = *out_end;
    pthread_mutex_unlock(&lock);
}

static void wait_until(uint64_t ns)
{
    uint64_t now = cuda_double_now();

    while (now < ns) {
        const struct timespec rest = {(time_t)((ns - now) / 1000000000),
                                      (long)((ns - now) % 1000000000)};

        nanosleep(&rest, NULL);
        now = cuda_double_now();
    }
}

static uint64_t end_of(const struct stream *stream)
{
    uint64_t end;

    pthread_mutex_lock(&lock);
    end = stream->busy_until;
    pthread_mutex_unlock(&lock);
    return end;
}

int cuStreamSynchronize(void *handle)
{
    const uint32_t correlation = enter(CUPTI_DRIVER, 126, "cuStreamSynchronize", NULL);

    wait_until(end_of(stream_of(handle)));
    leave(CUPTI_DRIVER, 126, "cuStreamSynchronize", NULL, correlation);
    return 0;
}

/* --- Events: when the stream has done what it was asked for before --- */

struct event {
    uint32_t number, stream;
    uint64_t at_ns, record; /* record: counts all records of events */
};

int cuEventCreate(void **out_event, unsigned flags)
{
    static uint32_t count;
    struct event *event = cuda_double_keep(calloc(1, sizeof(*event)));

    (void)flags;
    if (!event)
        return OUT_OF_MEMORY;
    event->number = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    *out_event = event;
    return 0;
}

int cuEventRecord(void *handle, void *on)
{
    static uint64_t count;
    const uint32_t correlation = enter(CUPTI_DRIVER, 119, "cuEventRecord", NULL);
    const struct stream *stream = stream_of(on);
    struct event *event = handle;
    struct cupti_event record = {.kind = CUPTI_EVENT,
                                 .correlation = correlation,
                                 .context = stream->context,
                                 .stream = stream->number,
                                 .event = event->number};
    const struct double_tool *there = cuda_double_tool();

    event->stream = stream->number;
    event->at_ns = end_of(stream);
    event->record = record.number = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    if (there)
        there->put(CUPTI_EVENT, &record, cuda_double_now());
    leave(CUPTI_DRIVER, 119, "cuEventRecord", NULL, correlation);
    return 0;
}

static void put_wait(uint32_t type, const struct event *event, uint32_t stream, uint64_t start,
                     uint32_t correlation)
{
    const struct cupti_sync record = {.kind = CUPTI_SYNC,
                                      .type = type,
                                      .start = start,
                                      .end = cuda_double_now(),
                                      .correlation = correlation,
                                      .context = 1,
                                      .stream = stream,
                                      .event = event->number,
                                      .event_number = event->record};
    const struct double_tool *there = cuda_double_tool();

    if (there)
        there->put(CUPTI_SYNC, &record, record.end);
}

int cuEventSynchronize(void *handle)
{
    const uint32_t correlation = enter(CUPTI_DRIVER, 121, "cuEventSynchronize", NULL);
    const uint64_t start = cuda_double_now();
    const struct event *event = handle;

    wait_until(event->at_ns);
    put_wait(1, event, event->stream, start, correlation);
    leave(CUPTI_DRIVER, 121, "cuEventSynchronize", NULL, correlation);
    return 0;
}

int cuStreamWaitEvent(void *on, void *handle, unsigned flags)
{
    const uint32_t correlation = enter(CUPTI_DRIVER, 295, "cuStreamWaitEvent", NULL);
    struct stream *stream = stream_of(on);
    const struct event *event = handle;

    (void)flags;
    pthread_mutex_lock(&lock);
    if (event->at_ns > stream->busy_until)
        stream->busy_until = event->at_ns;
    pthread_mutex_unlock(&lock);
    put_wait(2, event, stream->number, cuda_double_now(), correlation);
    leave(CUPTI_DRIVER, 295, "cuStreamWaitEvent", NULL, correlation);
    return 0;
}

int cuCtxSynchronize(void)
{
    const uint32_t correlation = enter(CUPTI_DRIVER, 17, "cuCtxSynchronize", NULL);

    for (uint32_t i = 0; i < stream_count; i++)
        wait_until(end_of(streams[i]));
    wait_until(gone_until);
    leave(CUPTI_DRIVER, 17, "cuCtxSynchronize", NULL, correlation);
    return 0;
}

/* --- Copies --- */

static void put_copy(struct stream *stream, uint8_t kind, uint64_t bytes, uint32_t correlation)
{
    struct cupti_memcpy record = {.kind = CUPTI_MEMCPY,
                                  .copy_kind = kind,
                                  .from = kind == 1 ? 1 : 3,
                                  .to = kind == 1 ? 3 : 1,
                                  .bytes = bytes,
                                  .context = stream->context,
                                  .stream = stream->number,
                                  .correlation = correlation,
                                  .copy_count = 1};
    const struct double_tool *there = cuda_double_tool();

    run(stream, bytes / NS_PER_BYTE_INVERSE, &record.start, &record.end);
    if (there)
        there->put(CUPTI_MEMCPY, &record, record.end);
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    const uint32_t correlation = enter(CUPTI_DRIVER, 277, "cuMemcpyHtoDAsync_v2", NULL);

    memcpy((void *)(uintptr_t)to, from, bytes);
    put_copy(stream_of(stream), 1, bytes, correlation);
    leave(CUPTI_DRIVER, 277, "cuMemcpyHtoDAsync_v2", NULL, correlation);
    return 0;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    const uint32_t correlation = enter(CUPTI_DRIVER, 279, "cuMemcpyDtoHAsync_v2", NULL);

    memcpy(to, (const void *)(uintptr_t)from, bytes);
    put_copy(stream_of(stream), 2, bytes, correlation);
    leave(CUPTI_DRIVER, 279, "cuMemcpyDtoHAsync_v2", NULL, correlation);
    return 0;
}

/* --- Kernels: a function is its name --- */

int cuModuleGetFunction(void **out_function, void *module, const char *name)
{
    (void)module;
    *out_function = cuda_double_keep(strdup(name));
    return *out_function ? 0 : OUT_OF_MEMORY;
}

static uint64_t length_of(const char *name)
{
    const char *script = getenv("CUDA_DOUBLE_KERNELS");
    const size_t length = strlen(name);

    while (script && *script) {
        if (strncmp(script, name, length) == 0 && script[length] == '=')
            return strtoull(script + length + 1, NULL, 10);
        script = strchr(script, ',');
        script += script != NULL;
    }
    return 1000;
}

static void put_kernel(struct stream *stream, const struct node *node, uint32_t correlation)
{
    struct cupti_kernel record = {
        .kind = CUPTI_KERNEL,
        .registers = 32,
        .context = stream->context,
        .stream = stream->number,
        .grid = {(int32_t)node->grid[0], (int32_t)node->grid[1], (int32_t)node->grid[2]},
        .block = {(int32_t)node->block[0], (int32_t)node->block[1], (int32_t)node->block[2]},
        .correlation = correlation,
        .name = node->name,
        .graph = (uint32_t)(node->id >> 32),
        .graph_node = node->id,
        .priority = -1,
        .source_graph = (uint32_t)(node->original >> 32),
        .source_node = node->original};
    const struct double_tool *there = cuda_double_tool();

    run(stream, node->ns, &record.start, &record.end);
    record.completed = record.end;
    if (there)
        there->put(CUPTI_KERNEL, &record, record.end);
}

static void put_memset(struct stream *stream, const struct node *node, uint32_t correlation)
{
    struct cupti_memset record = {.kind = CUPTI_MEMSET,
                                  .bytes = node->set_bytes,
                                  .context = stream->context,
                                  .stream = stream->number,
                                  .correlation = correlation,
                                  .graph = (uint32_t)(node->id >> 32),
                                  .graph_node = node->id,
                                  .source_graph = (uint32_t)(node->original >> 32),
                                  .source_node = node->original};
    const struct double_tool *there = cuda_double_tool();

    run(stream, node->ns, &record.start, &record.end);
    if (there)
        there->put(CUPTI_MEMSET, &record, record.end);
}

static void put_node(struct stream *stream, const struct node *node, uint32_t correlation)
{
    if (node->set_bytes)
        put_memset(stream, node, correlation);
    else
        put_kernel(stream, node, correlation);
}

static void capture_node(struct graph *graph, const struct node *node)
{
    const struct double_tool *there = cuda_double_tool();
    struct node *made;

    if (graph->count == NODES)
        return;
    made = &graph->nodes[graph->count++];
    *made = *node;
    made->id = (uint64_t)graph->number << 32 | graph->count;
    if (there)
        there->node(CUPTI_NODE_CREATED, made, NULL);
}

uint64_t cuda_double_node_id(const void *node)
{
    return ((const struct node *)node)->id;
}

/* Now, or when what is being captured is replayed. */
static void put_or_capture(struct stream *stream, const struct node *node, uint32_t correlation)
{
    if (stream->capture)
        capture_node(stream->capture, node);
    else
        put_node(stream, node, correlation);
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void *handle)
{
    const uint32_t correlation = enter(CUPTI_DRIVER, 216, "cuMemsetD8Async", NULL);
    const struct node node = {.ns = count / NS_PER_BYTE_INVERSE, .set_bytes = count};

    memset((void *)(uintptr_t)to, value, count);
    put_or_capture(stream_of(handle), &node, correlation);
    leave(CUPTI_DRIVER, 216, "cuMemsetD8Async", NULL, correlation);
    return 0;
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void *handle, void **params, void **extra)
{
    const char *name = function;
    const struct node node = {
        name, length_of(name), {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, 0, 0, 0};
    const uint32_t correlation = enter(CUPTI_DRIVER, 307, "cuLaunchKernel", name);

    (void)shared;
    (void)params;
    (void)extra;
    put_or_capture(stream_of(handle), &node, correlation);
    leave(CUPTI_DRIVER, 307, "cuLaunchKernel", name, correlation);
    return 0;
}

/* --- Graphs --- */

int cuStreamBeginCapture_v2(void *handle, int mode)
{
    struct stream *stream = stream_of(handle);

    (void)mode;
    if (stream->capture)
        return INVALID_VALUE;
    stream->capture = cuda_double_keep(calloc(1, sizeof(*stream->capture)));
    if (!stream->capture)
        return OUT_OF_MEMORY;
    stream->capture->number = __atomic_add_fetch(&graph_count, 1, __ATOMIC_RELAXED);
    return 0;
}

int cuStreamEndCapture(void *handle, void **out_graph)
{
    struct stream *stream = stream_of(handle);

    *out_graph = stream->capture;
    stream->capture = NULL;
    return *out_graph ? 0 : INVALID_VALUE;
}

int cuGraphInstantiateWithFlags(void **out_executable, void *graph, uint64_t flags)
{
    const struct double_tool *there = cuda_double_tool();
    struct graph *original = graph, *copy;

    (void)flags;
    if (!original)
        return INVALID_VALUE;
    copy = cuda_double_keep(malloc(sizeof(*copy)));
    if (!copy)
        return OUT_OF_MEMORY;
    *copy = *original;
    copy->number = __atomic_add_fetch(&graph_count, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < copy->count; i++) {
        copy->nodes[i].original = original->nodes[i].id;
        copy->nodes[i].id = (uint64_t)copy->number << 32 | (i + 1);
        if (there)
            there->node(CUPTI_NODE_CLONED, &copy->nodes[i], &original->nodes[i]);
    }
    *out_executable = copy;
    return 0;
}

/* What the nodes are is what those of the other graph are; they stay themselves. */
int cuGraphExecUpdate_v2(void *executable, void *graph, void *info)
{
    const uint32_t correlation = enter(CUPTI_DRIVER, 696, "cuGraphExecUpdate_v2", NULL);
    struct graph *updated = executable;
    const struct graph *from = graph;
    const int rc = updated->count == from->count ? 0 : INVALID_VALUE;

    (void)info;
    for (uint32_t i = 0; rc == 0 && i < updated->count; i++) {
        const struct node before = updated->nodes[i];

        updated->nodes[i] = from->nodes[i];
        updated->nodes[i].id = before.id;
        updated->nodes[i].original = before.original;
    }
    leave(CUPTI_DRIVER, 696, "cuGraphExecUpdate_v2", NULL, correlation);
    return rc;
}

static void put_graph(struct stream *stream, const struct graph *graph, uint32_t correlation)
{
    struct cupti_graph record = {.kind = CUPTI_GRAPH,
                                 .correlation = correlation,
                                 .graph = graph->number,
                                 .context = stream->context,
                                 .stream = stream->number};
    uint64_t ns = 0;

    for (uint32_t i = 0; i < graph->count; i++)
        ns += graph->nodes[i].ns;
    run(stream, ns, &record.start, &record.end);
    cuda_double_tool()->put(CUPTI_GRAPH, &record, record.end);
}

int cuGraphLaunch(void *executable, void *handle)
{
    const struct graph *graph = executable;
    struct stream *stream = stream_of(handle);
    const uint32_t correlation = enter(CUPTI_DRIVER, 514, "cuGraphLaunch", NULL);

    if (cuda_double_tool() && cuda_double_tool()->has_kind(CUPTI_GRAPH)) {
        put_graph(stream, graph, correlation);
    } else {
        for (uint32_t i = 0; i < graph->count; i++)
            put_node(stream, &graph->nodes[i], correlation);
    }
    leave(CUPTI_DRIVER, 514, "cuGraphLaunch", NULL, correlation);
    return 0;
}
