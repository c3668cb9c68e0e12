/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with CUDA and without us: inject_cupti_program SCENE. What it computes is what was
 * copied to the device and back.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/flow/inject_cupti_profiler.h"
#include "tests/support/cuda/double.h"
#include "tests/support/cuda/runtime.h"
#include "tests/support/nvtx_unit.h"

enum {
    REPEATS = 100,
    BYTES = 4096,
    THREADS = 16,
    STREAMS = 8,
    REPLAYS = 1000,
    NODES = 5,
    STEADY_S = 8,
    EVENT_ROUNDS = 10,
    FLOOD = 350000,
    CONTEXTS = 70,
};

static char folder[PATH_MAX - 64]; /* of the program */
static char gemm, relu;            /* functions of the host are known by their address */

#define DO(call)                                                                                   \
    do {                                                                                           \
        const int rc_ = (call);                                                                    \
                                                                                                   \
        if (rc_ != 0) {                                                                            \
            fprintf(stderr, "%s: error %d\n", #call, rc_);                                         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void launch(const void *host, unsigned blocks, void *stream)
{
    DO(cudaLaunchKernel(host, (struct size3){blocks, 1, 1}, (struct size3){128, 1, 1}, NULL, 0,
                        stream));
}

static void kernels(void)
{
    unsigned char sent[BYTES], got[BYTES];
    void *memory;

    memset(sent, 7, sizeof(sent));
    DO(cudaMalloc(&memory, BYTES));
    DO(cudaMemcpyAsync(memory, sent, BYTES, 1, NULL));
    for (int i = 0; i < REPEATS; i++) {
        nvtx_push("layer");
        launch(&gemm, 16, NULL);
        launch(&relu, 4, NULL);
        nvtx_pop();
    }
    DO(cudaMemcpyAsync(got, memory, BYTES, 2, NULL));
    DO(cudaStreamSynchronize(NULL));
    DO(cudaFree(memory));
    printf("same %d\n", memcmp(sent, got, BYTES) == 0);
}

static void by_driver(void)
{
    void *function;

    DO(cuInit(0));
    DO(cuModuleGetFunction(&function, NULL, "_Z6kernelPfi"));
    for (int i = 0; i < REPEATS; i++)
        DO(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    DO(cuCtxSynchronize());
    printf("done\n");
}

/* Graphs and what is made of them: the double destroys none. */
static void *kept[4 * STEADY_S];
static size_t kept_count;

static void *captured(void *stream)
{
    void *graph = NULL, *executable = NULL;

    DO(cuStreamBeginCapture_v2(stream, 0));
    nvtx_push("decode");
    for (int i = 0; i < NODES; i++) {
        nvtx_push(i < 2 ? "first \"layer\"" : "second layer");
        launch(i == 0 ? &gemm : &relu, 1, stream);
        nvtx_pop();
    }
    nvtx_pop();
    DO(cuStreamEndCapture(stream, &graph));
    DO(cuGraphInstantiateWithFlags(&executable, graph, 0));
    kept[kept_count++] = graph;
    kept[kept_count++] = executable;
    return executable;
}

static void graph(void)
{
    void *executable, *stream;

    DO(cudaStreamCreate(&stream));
    executable = captured(stream);
    for (int i = 0; i < REPLAYS; i++)
        DO(cuGraphLaunch(executable, stream));
    DO(cudaStreamSynchronize(stream));
    printf("replayed\n");
}

/* Two streams, of which one waits for the other; then the host waits for the second. */
static void events(void)
{
    void *first, *second, *done;

    DO(cudaStreamCreate(&first));
    DO(cudaStreamCreate(&second));
    DO(cuEventCreate(&done, 0));
    for (int i = 0; i < EVENT_ROUNDS; i++) {
        launch(&gemm, 1, first);
        DO(cuEventRecord(done, first));
        DO(cuStreamWaitEvent(second, done, 0));
        launch(&relu, 1, second);
        DO(cuEventRecord(done, second));
        DO(cuEventSynchronize(done));
    }
    DO(cudaDeviceSynchronize());
    printf("one after the other\n");
}

static void green(void)
{
    void *context, *stream;

    DO(cuInit(0));
    for (int i = 0; i < 2; i++) {
        DO(cuGreenCtxCreate(&context, NULL, 0, 0));
        DO(cuGreenCtxStreamCreate(&stream, context, 0, 0));
        launch(&relu, 1, stream);
    }
    DO(cudaDeviceSynchronize());
    printf("green\n");
}

/* Contexts and parts of the device, all there together; they go while their kernels run, and their
 * records come when others are in their places. */
static void contexts(void)
{
    void *context[2][CONTEXTS], *stream[2][CONTEXTS], *later;

    DO(cuInit(0));
    for (int i = 0; i < CONTEXTS; i++) {
        DO(cuGreenCtxCreate(&context[0][i], NULL, 0, 0));
        DO(cuGreenCtxStreamCreate(&stream[0][i], context[0][i], 0, 0));
        DO(cuCtxCreate_v2(&context[1][i], 0, 0));
        DO(cuCtxSetCurrent(context[1][i]));
        DO(cuStreamCreate(&stream[1][i], 0));
    }
    DO(cuCtxSetCurrent(NULL));
    for (int i = 0; i < CONTEXTS; i++) {
        launch(&gemm, 1, stream[0][i]);
        launch(&relu, 1, stream[1][i]);
        DO(cuGreenCtxDestroy(context[0][i]));
        DO(cuCtxDestroy_v2(context[1][i]));
        DO(cuGreenCtxCreate(&later, NULL, 0, 0));
    }
    DO(cudaDeviceSynchronize());
    printf("destroyed\n");
}

static void *stream_of_thread;

static void *launch_many(void *argument)
{
    void **streams = stream_of_thread;

    for (int i = 0; i < REPEATS; i++)
        launch(&relu, 1, streams[(uintptr_t)argument % STREAMS]);
    return NULL;
}

static void threads(void)
{
    pthread_t ids[THREADS];
    void *streams[STREAMS];

    for (int i = 0; i < STREAMS; i++)
        DO(cudaStreamCreate(&streams[i]));
    stream_of_thread = streams;
    for (uintptr_t i = 0; i < THREADS; i++)
        DO(pthread_create(&ids[i], NULL, launch_many, (void *)i)); /* NOLINT */
    for (int i = 0; i < THREADS; i++)
        DO(pthread_join(ids[i], NULL));
    DO(cudaDeviceSynchronize());
    printf("joined\n");
}

static void in_child(void)
{
    int status;
    pid_t pid;

    launch(&gemm, 1, NULL);
    DO(cudaDeviceSynchronize());
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        launch(&relu, 1, NULL);
        exit(3);
    }
    waitpid(pid, &status, 0);
    launch(&gemm, 1, NULL);
    DO(cudaDeviceSynchronize());
    printf("child ended with %d\n", WEXITSTATUS(status));
}

/* Flushes are waited for by those alone that have somebody who flushes. */
static bool is_recorded(void)
{
    return getenv("CUDA_INJECTION64_PATH") != NULL;
}

/* More than a second, so that what came before is flushed; then it ends without a word. */
static void sudden(void)
{
    launch(&gemm, 1, NULL);
    sleep(is_recorded() ? 3 : 0);
    printf("bye\n");
    fflush(stdout);
    _exit(0);
}

/* A module of the program goes while its kernels run; somebody opens and closes our library. */
static void unload(void)
{
    const char *ours = getenv("CUDA_INJECTION64_PATH");
    int (*run)(int);
    char path[PATH_MAX];
    void *module;

    snprintf(path, sizeof(path), "%s/libinject_cupti_module.so", folder);
    for (int i = 0; i < 3; i++) {
        module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!module) {
            fprintf(stderr, "%s\n", dlerror());
            exit(1);
        }
        *(void **)&run = dlsym(module, "launch_of_module");
        DO(run(REPEATS));
        dlclose(module);
        module = ours ? dlopen(ours, RTLD_NOW) : NULL;
        if (module) {
            dlclose(module);
            dlclose(module);
        }
        launch(&relu, 1, NULL);
    }
    DO(cudaDeviceSynchronize());
    printf("gone\n");
}

/* Two pools, of which one is trimmed while it is in use. */
static void pools(void)
{
    void *pool[2];
    uint64_t memory[2][2];

    DO(cuInit(0));
    for (int i = 0; i < 2; i++) {
        DO(cuMemPoolCreate(&pool[i], NULL));
        DO(cuMemAllocFromPoolAsync(&memory[i][0], 3 << 20, pool[i], NULL));
        DO(cuMemAllocFromPoolAsync(&memory[i][1], 1 << 20, pool[i], NULL));
        DO(cuMemFreeAsync(memory[i][0], NULL));
    }
    DO(cuMemPoolTrimTo(pool[0], 0));
    for (int i = 0; i < 2; i++) {
        DO(cuMemFreeAsync(memory[i][1], NULL));
        DO(cuMemPoolDestroy(pool[i]));
    }
    printf("pools\n");
}

static void modules(void)
{
    void *module;

    DO(cuInit(0));
    for (int i = 0; i < 3; i++)
        DO(cuModuleLoadData(&module, "ptx"));
    printf("compiled\n");
}

static void *capture(void *stream, const char *label, const void *host)
{
    void *graph;

    DO(cuStreamBeginCapture_v2(stream, 0));
    nvtx_push(label);
    launch(host, 1, stream);
    nvtx_pop();
    DO(cuStreamEndCapture(stream, &graph));
    return graph;
}

/* What is replayed becomes another kernel. */
static void update(void)
{
    void *executable, *stream, *graphs[2];

    DO(cudaStreamCreate(&stream));
    graphs[0] = capture(stream, "before", &gemm);
    graphs[1] = capture(stream, "after", &relu);
    DO(cuGraphInstantiateWithFlags(&executable, graphs[0], 0));
    for (int i = 0; i < REPEATS; i++) {
        DO(cuGraphLaunch(executable, stream));
        DO(cuGraphExecUpdate_v2(executable, graphs[(i + 1) % 2], NULL));
    }
    DO(cudaStreamSynchronize(stream));
    printf("updated\n");
}

/* Streams go while their kernels run, and others come in their places. */
static void destroyed(void)
{
    void *stream;

    for (int i = 0; i < REPEATS; i++) {
        DO(cudaStreamCreate(&stream));
        launch(&gemm, 1, stream);
        DO(cuStreamDestroy_v2(stream));
    }
    DO(cudaDeviceSynchronize());
    printf("destroyed\n");
}

/* Somebody sets the wall clock, there and back; with step_clock.c preloaded. */
static void clock_is_set(void)
{
    void (*step)(long) = NULL;

    *(void **)&step = dlsym(RTLD_DEFAULT, "step_clock");
    if (!step)
        exit(1);
    for (int i = 0; i < 2; i++) {
        launch(&gemm, 1, NULL);
        step(i == 0 ? 1000 : -1000);
        for (int k = 0; k < (is_recorded() ? 250 : 1); k++) {
            launch(&relu, 1, NULL);
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        }
    }
    printf("set\n");
}

/* More than all buffers hold. */
static void flood(void)
{
    for (int i = 0; i < FLOOD; i++)
        launch(&relu, 1, NULL);
    DO(cudaDeviceSynchronize());
    printf("flooded\n");
}

/* For some seconds, so that there are flushes. */
/* A kernel a millisecond, and a graph, which is captured again each second. */
static void go_on(bool with_graphs)
{
    const time_t seconds = is_recorded() ? STEADY_S : 1;
    struct timespec start, now;
    void *stream, *graph = NULL;
    time_t captured_s = -1;

    DO(cudaStreamCreate(&stream));
    clock_gettime(CLOCK_MONOTONIC, &start);
    now = start;
    do {
        launch(&relu, 1, NULL);
        if (with_graphs && captured_s != now.tv_sec) {
            graph = captured(stream);
            captured_s = now.tv_sec;
        }
        if (with_graphs)
            DO(cuGraphLaunch(graph, stream));
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - start.tv_sec < seconds);
    DO(cudaDeviceSynchronize());
    printf("steady\n");
}

static void steady(void)
{
    go_on(false);
}

static void steady_graphs(void)
{
    go_on(true);
}

/* As torch.profiler does it, in the middle: how many kernels it sees, of those that it launches. */
static void profiled(enum profile_way way)
{
    char path[PATH_MAX];
    profile_type *profile;
    void *module;

    kernels();
    snprintf(path, sizeof(path), "%s/libinject_cupti_profiler.so", folder);
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    *(void **)&profile = dlsym(module, "profile");
    printf("profiled %d\n", profile(way));
    kernels();
}

static void linked(void)
{
    profiled(PROFILE_LINKED);
}

static void asked_for(void)
{
    profiled(PROFILE_ASKED_FOR);
}

static void unsubscribed(void)
{
    profiled(PROFILE_UNSUBSCRIBED);
}

static uint32_t is_done;

static void *launch_on(void *nothing)
{
    while (!__atomic_load_n(&is_done, __ATOMIC_RELAXED)) {
        launch(&relu, 4, NULL);
        nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
    }
    return nothing;
}

/* While others launch. */
static void crowded(void)
{
    pthread_t others[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&others[i], NULL, launch_on, NULL);
    profiled(PROFILE_LINKED);
    __atomic_store_n(&is_done, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++)
        pthread_join(others[i], NULL);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } scenes[] = {
        {"kernels", kernels},
        {"driver", by_driver},
        {"graph", graph},
        {"threads", threads},
        {"fork", in_child},
        {"sudden", sudden},
        {"steady", steady},
        {"events", events},
        {"green", green},
        {"flood", flood},
        {"pools", pools},
        {"modules", modules},
        {"update", update},
        {"destroyed", destroyed},
        {"clock", clock_is_set},
        {"contexts", contexts},
        {"steady graphs", steady_graphs},
        {"unload", unload},
        {"profiler", linked},
        {"profiler by name", asked_for},
        {"profiler without subscription", unsubscribed},
        {"profiler in a crowd", crowded},
    };

    __cudaRegisterFunction(NULL, &gemm, NULL, "gemm", 0, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(NULL, &relu, NULL, "relu", 0, NULL, NULL, NULL, NULL, NULL);
    snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(argv[0], '/') - argv[0]), argv[0]);
    for (size_t i = 0; argc > 1 && i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        if (strcmp(argv[1], scenes[i].name) == 0) {
            scenes[i].run();
            return 0;
        }
    }
    fprintf(stderr, "usage: inject_cupti_program SCENE\n");
    return 2;
}
