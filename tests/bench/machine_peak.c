/* SPDX-License-Identifier: Apache-2.0 */
/* Measures this machine's peaks, of one thread and of all CPUs at once: what the FLOPS and the
 * bandwidth of a report can be compared with. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernels/peak.h"
#include "tests/support/bench.h"

enum { THREADS_MAX = 256 };

struct worker {
    pthread_t thread;
    struct peak peak;
    int rc;
};

static void *work(void *arg)
{
    struct worker *worker = arg;

    worker->rc = peak_measure(&worker->peak);
    return NULL;
}

/* One sample of both figures: the sum over threads that run at the same time. */
static void measure(size_t threads, struct bench_figure *flops, struct bench_figure *read)
{
    static struct worker workers[THREADS_MAX];
    double f32_flops = 0, read_bytes_s = 0;

    for (size_t i = 0; i < threads; i++) {
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i])) {
            fprintf(stderr, "machine_peak: cannot start thread %zu\n", i);
            exit(EXIT_FAILURE);
        }
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].rc < 0) {
            fprintf(stderr, "machine_peak: no memory\n");
            exit(EXIT_FAILURE);
        }
        f32_flops += workers[i].peak.f32_flops;
        read_bytes_s += workers[i].peak.read_bytes_s;
    }
    bench_add(flops, f32_flops / 1e9);
    bench_add(read, read_bytes_s / 1e9);
}

int main(void)
{
    static struct bench_figure flops_1 = {.name = "peak_f32_fma_1_thread", .unit = "GFLOP/s"};
    static struct bench_figure read_1 = {.name = "peak_memory_read_1_thread", .unit = "GB/s"};
    static struct bench_figure flops_all = {.name = "peak_f32_fma_all_cpus", .unit = "GFLOP/s"};
    static struct bench_figure read_all = {.name = "peak_memory_read_all_cpus", .unit = "GB/s"};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    bench_print_machine();
    for (int i = 0; i < BENCH_REPEATS; i++) {
        measure(1, &flops_1, &read_1);
        measure(cpus < 1             ? 1
                : cpus < THREADS_MAX ? (size_t)cpus
                                     : THREADS_MAX,
                &flops_all, &read_all);
    }
    bench_print(&flops_1);
    bench_print(&flops_all);
    bench_print(&read_1);
    bench_print(&read_all);
    return EXIT_SUCCESS;
}
