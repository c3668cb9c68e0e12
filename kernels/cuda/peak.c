/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers of peak.cu: what a device can do at best, by events. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "kernels/cuda/device.h"

enum {
    ROUNDS = 5,
    COPY_BYTES = 1 << 20,       /* to begin with */
    COPY_BYTES_MAX = 256 << 20, /* more than any cache holds */
    LONG_NS = 200000000,        /* that the host waits for one launch: it is not made longer then */
    COPY_UNIT = 16,             /* that a thread moves at once */
    BLOCKS_EACH = 8,            /* for each processor, of CUDA_BLOCK threads */
    LEAST_NS = 5000000,         /* of a measurement: events count in steps of 500 ns */
    CHAIN_ROUNDS = 64,          /* to begin with */
    CHAIN_ROUNDS_MAX = 1 << 24,
};

static int fail(struct kernel_cuda *cuda, const char *why)
{
    if (cuda->failure == 0) {
        cuda->failure = -EIO;
        snprintf(cuda->problem, sizeof(cuda->problem), "the GPU cannot be measured: %s", why);
    }
    return cuda->failure;
}

struct copy {
    void *to, *from;
    int64_t units;
};

struct sums {
    void *to;
    int64_t rounds;
    unsigned blocks;
};

static void copy_once(const void *given)
{
    struct copy copy = *(const struct copy *)given;

    cuda_launch_elements(CUDA_KERNEL_peak_copy, copy.units,
                         (void *[]){&copy.to, &copy.from, &copy.units});
}

static void add_once(const void *given)
{
    struct sums sums = *(const struct sums *)given;
    float factor = 0.999f, addend = 0.5f;

    cuda_launch(CUDA_KERNEL_peak_multiply_add, (struct cuda_size){sums.blocks, 1, 1},
                (struct cuda_size){CUDA_BLOCK, 1, 1},
                (void *[]){&sums.to, &sums.rounds, &factor, &addend});
}

static int64_t host_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Of the launch of `work`; not counted before that it was done once. */
static int time_of(struct kernel_cuda *cuda, void (*work)(const void *), const void *argument,
                   int64_t *out_ns)
{
    int rc = kernel_cuda_note(cuda, 0);

    work(argument);
    if (rc == 0)
        rc = kernel_cuda_note(cuda, 1);
    if (rc == 0)
        rc = kernel_cuda_await(cuda, 1);
    if (rc == 0)
        rc = kernel_cuda_between(cuda, 0, 1, out_ns);
    if (rc == 0 && *out_ns <= 0)
        rc = fail(cuda, "its events tell of no time");
    return cuda->failure != 0 ? cuda->failure : rc;
}

/* The same, and whether a launch of twice the work would take longer than the host waits: an emulated
 * device's events know nothing of what it costs to emulate it. */
static int try_once(struct kernel_cuda *cuda, void (*work)(const void *), const void *argument,
                    int64_t *out_ns, bool *out_is_long)
{
    int64_t start_ns = host_ns();
    int rc = time_of(cuda, work, argument, out_ns);

    *out_is_long = host_ns() - start_ns > LONG_NS / 2;
    return rc;
}

static int least_time(struct kernel_cuda *cuda, void (*work)(const void *), const void *argument,
                      int64_t *out_ns)
{
    int64_t ns = 0, least = INT64_MAX;
    int rc = time_of(cuda, work, argument, &ns);

    for (int i = 0; rc == 0 && i < ROUNDS; i++) {
        rc = time_of(cuda, work, argument, &ns);
        least = ns < least ? ns : least;
    }
    *out_ns = least;
    return rc;
}

static int measure_copy(struct kernel_cuda *cuda, struct kernel_cuda_peak *peak)
{
    size_t bytes = kernel_cuda_room(cuda) / 4;
    struct copy copy = {0};
    int64_t ns = 0, most;
    bool is_long = false;
    int rc;

    bytes = (bytes < COPY_BYTES_MAX ? bytes : COPY_BYTES_MAX) / COPY_UNIT * COPY_UNIT;
    if (bytes == 0)
        return fail(cuda, "it has no memory that is free");
    rc = kernel_cuda_alloc(cuda, bytes, &copy.from);
    if (rc == 0)
        rc = kernel_cuda_alloc(cuda, bytes, &copy.to);
    if (rc == 0)
        rc = kernel_cuda_clear(cuda, copy.from, bytes);
    most = (int64_t)(bytes / COPY_UNIT);
    copy.units = most < COPY_BYTES / COPY_UNIT ? most : COPY_BYTES / COPY_UNIT;
    for (; rc == 0 && copy.units < most;
         copy.units = copy.units * 2 < most ? copy.units * 2 : most) {
        rc = try_once(cuda, copy_once, &copy, &ns, &is_long);
        if (is_long)
            break;
    }
    bytes = (size_t)copy.units * COPY_UNIT;
    if (rc == 0)
        rc = least_time(cuda, copy_once, &copy, &ns);
    if (rc == -ENOMEM)
        return fail(cuda, "it has no memory that is free");
    peak->copy_bytes = bytes;
    if (rc == 0) /* read and written */
        peak->copy_bytes_s = 2.0 * (double)bytes * 1e9 / (double)ns;
    return rc;
}

/* As many rounds as take long enough, or longer than the host waits. */
static int measure_sums(struct kernel_cuda *cuda, struct kernel_cuda_peak *peak)
{
    struct sums sums = {.rounds = CHAIN_ROUNDS};
    int processors = 0, rc;
    int64_t ns = 0;
    bool is_long = false;

    rc = cuda_checked(
        cuda, cuda->driver->cuDeviceGetAttribute(&processors, CUDA_PROCESSORS, cuda->device),
        "asking for its processors");
    if (rc == 0 && processors <= 0)
        rc = fail(cuda, "it does not say how many processors it has");
    if (rc == 0)
        rc = kernel_cuda_alloc(cuda, sizeof(float), &sums.to);
    if (rc < 0)
        return rc == -ENOMEM ? fail(cuda, "it has no memory that is free") : rc;
    sums.blocks = (unsigned)processors * BLOCKS_EACH;
    rc = try_once(cuda, add_once, &sums, &ns, &is_long);
    while (rc == 0 && ns < LEAST_NS && sums.rounds < CHAIN_ROUNDS_MAX && !is_long) {
        sums.rounds *= 2;
        rc = try_once(cuda, add_once, &sums, &ns, &is_long);
    }
    if (rc == 0)
        rc = least_time(cuda, add_once, &sums, &ns);
    peak->processors = (uint32_t)processors;
    if (rc == 0)
        peak->f32_flops = 2.0 * CUDA_PEAK_CHAINS * CUDA_BLOCK * (double)sums.blocks *
                          (double)sums.rounds * 1e9 / (double)ns;
    return rc;
}

int kernel_cuda_measure(struct kernel_cuda *cuda, struct kernel_cuda_peak *out_peak)
{
    struct kernel_cuda_peak peak = {0};
    int rc;

    kernel_cuda_use(cuda, 0, false);
    rc = kernel_cuda_make_moments(cuda, 2);
    if (rc == 0)
        rc = measure_copy(cuda, &peak);
    if (rc == 0)
        rc = measure_sums(cuda, &peak);
    if (rc == 0)
        *out_peak = peak;
    return rc;
}
