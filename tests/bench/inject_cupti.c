/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording CUDA costs on the host, played by the double of tests/support/cuda: CPU time of the
 * thread that launches, per call, in CUPTI's two callbacks, recorded and with nobody listening; and
 * of CUPTI's worker per record of a kernel, from the buffer into the ring, after a rest, as between
 * buffers; beside it what these bytes take without anybody who reads them. What a device pays is not
 * in it. Where only the host is recorded there are no callbacks: a whole launch over the double,
 * without the library and with it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cupti/records.h"
#include "tests/support/bench.h"
#include "tests/support/cuda/double.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"

enum {
    BURST = 5000,
    BURSTS = 10,
    PAUSE_MS = 20,
    KERNELS = 1000,
    NAMES = 8,
    LAUNCH = 211,
    BUFFER_BYTES = 256 << 10, /* as the library has them, and as long as its ring */
    RING_BYTES = 4 << 20,
    EVENT_BYTES = 64,
};

static struct double_hooks hooks;
static uint32_t correlation;
static int64_t decoded;

static double thread_ns(void)
{
    return (double)ot_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000}, NULL);
}

static double launch(void)
{
    uint64_t slot = 0;
    struct cupti_call call = {.function = "cudaLaunchKernel_v7000", .slot = &slot};
    double spent_ns = 0, start_ns;

    for (int i = 0; i < BURSTS; i++) {
        start_ns = thread_ns();
        for (int k = 0; k < BURST; k++) {
            call.correlation = ++correlation;
            call.site = 0;
            hooks.callback(NULL, CUPTI_RUNTIME, LAUNCH, &call);
            call.site = 1;
            hooks.callback(NULL, CUPTI_RUNTIME, LAUNCH, &call);
        }
        spent_ns += thread_ns() - start_ns;
        rest();
    }
    return spent_ns / BURST / BURSTS;
}

/* Long names, as templates have them. */
static const char *kernel_name(int number)
{
    static char names[NAMES][200];

    if (!names[number][0])
        snprintf(names[number], sizeof(names[number]),
                 "void at::native::vectorized_elementwise_kernel<%d, at::native::CUDAFunctor_add"
                 "<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>)",
                 number);
    return names[number];
}

static void fill(uint8_t *buffer)
{
    const uint64_t now = cuda_double_now();

    for (int k = 0; k < KERNELS; k++) {
        const struct cupti_kernel kernel = {.kind = CUPTI_KERNEL,
                                            .registers = 32,
                                            .start = now + (uint64_t)k * 1000,
                                            .end = now + (uint64_t)k * 1000 + 900,
                                            .context = 1,
                                            .stream = 7,
                                            .grid = {k % NAMES + 1, 1, 1},
                                            .block = {128, 1, 1},
                                            .correlation = ++correlation,
                                            .name = kernel_name(k % NAMES)};

        memcpy(buffer + (size_t)k * hooks.kernel_bytes, &kernel, hooks.kernel_bytes);
    }
}

static double decode(void)
{
    double spent_ns = 0, start_ns;

    for (int i = 0; i < BURSTS; i++) {
        uint8_t *buffer;
        size_t bytes, limit;

        hooks.request(&buffer, &bytes, &limit);
        fill(buffer);
        start_ns = thread_ns();
        hooks.complete(NULL, 0, buffer, bytes, KERNELS * hooks.kernel_bytes);
        spent_ns += thread_ns() - start_ns;
        rest();
    }
    decoded += KERNELS * BURSTS;
    return spent_ns / KERNELS / BURSTS;
}

/* As many bytes read, written, and made 0, by the same thread after the same rest. */
static double move(void)
{
    static _Alignas(4096) uint8_t buffer[BUFFER_BYTES], ring[RING_BYTES];
    static size_t at;
    static bool is_there;
    double spent_ns = 0, start_ns;

    if (!is_there)
        memset(ring, 1, sizeof(ring)); /* as much of a ring is there after its first round */
    is_there = true;
    for (int i = 0; i < BURSTS; i++) {
        fill(buffer);
        start_ns = thread_ns();
        for (int k = 0; k < KERNELS; k++) {
            memcpy(ring + at, buffer + (size_t)k * hooks.kernel_bytes + EVENT_BYTES, EVENT_BYTES);
            at = (at + EVENT_BYTES) % RING_BYTES;
        }
        memset(buffer, 0, KERNELS * hooks.kernel_bytes);
        spent_ns += thread_ns() - start_ns;
        rest();
    }
    return spent_ns / KERNELS / BURSTS;
}

/* A launch by the driver, all of it: what the double takes, and what is added to it. */
static double launch_by_driver(void *function)
{
    double spent_ns = 0, start_ns;

    for (int i = 0; i < BURSTS; i++) {
        start_ns = thread_ns();
        for (int k = 0; k < BURST; k++)
            cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
        spent_ns += thread_ns() - start_ns;
    }
    return spent_ns / BURST / BURSTS;
}

/* Without the library, and with it where only the host is recorded. */
static int run_host(const char *library)
{
    struct bench_figure figure = {.name = library ? "cuda_driver_launch_host_ns"
                                                  : "cuda_driver_launch_bare_ns",
                                  .unit = "ns"};
    void *function;

    unsetenv("OPTRACE_GPU");
    if (library)
        setenv("CUDA_INJECTION64_PATH", library, 1);
    else
        unsetenv("CUDA_INJECTION64_PATH");
    if (cuInit(0) != 0 || cuModuleGetFunction(&function, NULL, "kernel") != 0)
        return 1;
    launch_by_driver(function);
    for (int i = 0; i < BENCH_REPEATS; i++)
        bench_add(&figure, launch_by_driver(function));
    bench_print(&figure);
    return 0;
}

/* One process is recorded, another is not: what is once open stays so. */
static int run(const char *socket, const char *word)
{
    char names[3][64];
    struct bench_figure call = {.name = names[0], .unit = "ns"},
                        record = {.name = names[1], .unit = "ns"},
                        floor = {.name = names[2], .unit = "ns"};

    snprintf(names[0], sizeof(names[0]), "cuda_launch_%s_ns", word);
    snprintf(names[1], sizeof(names[1]), "cuda_kernel_%s_ns", word);
    snprintf(names[2], sizeof(names[2]), "cuda_kernel_%s_floor_ns", word);
    setenv("OPTRACE_SOCKET", socket, 1);
    cuInit(0);
    cuda_double_get_hooks(&hooks);
    if (!hooks.callback || !hooks.complete)
        return 1;
    launch();
    decode();
    move();
    for (int i = 0; i < BENCH_REPEATS; i++) {
        bench_add(&call, launch());
        bench_add(&record, decode());
        bench_add(&floor, move());
    }
    bench_print(&call);
    bench_print(&record);
    bench_print(&floor);
    return 0;
}

int main(void)
{
    char *library = place_program("client/inject/liboptrace_inject.so");
    struct optraced daemon;
    int64_t stored;
    int status;
    pid_t pid;

    bench_print_machine();
    setenv("CUDA_INJECTION64_PATH", library, 1);
    setenv("OPTRACE_GPU", "node", 1);
    for (int i = 0; i < 3; i++) {
        fflush(stdout);
        pid = fork();
        if (pid == 0) {
            status = i == 0   ? run_host(NULL)
                     : i == 1 ? run_host(library)
                              : run("/nonexistent/optrace.sock", "off");
            fflush(stdout);
            _exit(status);
        }
        if (waitpid(pid, &status, 0) != pid || status != 0)
            return 1;
    }
    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    status = run(daemon.socket, "recorded");
    optraced_stop(&daemon);
    stored = optraced_query(&daemon, "SELECT count(*) FROM v_event WHERE op_type = 'kernel'");
    if (stored != decoded) {
        fprintf(stderr, "%lld of %lld kernels were lost: what is lost costs something else\n",
                (long long)(decoded - stored), (long long)decoded);
        status = 1;
    }
    optraced_deinit(&daemon);
    free(library);
    return status;
}
