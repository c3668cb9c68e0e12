/* SPDX-License-Identifier: Apache-2.0 */
/* Measures this machine's peaks, of one thread and of all CPUs at once: what the FLOPS and the
 * bandwidth of a report can be compared with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/peak.h"
#include "tests/support/bench.h"

/* One sample of both figures: the sum over threads that run at the same time. */
static void measure(size_t threads, struct bench_figure *flops, struct bench_figure *read)
{
    struct peak peak;
    int rc = peak_measure_threads(threads, &peak);

    if (rc < 0) {
        fprintf(stderr, "machine_peak: cannot measure %zu threads: %s\n", threads, strerror(-rc));
        exit(EXIT_FAILURE);
    }
    bench_add(flops, peak.f32_flops / 1e9);
    bench_add(read, peak.read_bytes_s / 1e9);
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
        measure(cpus < 1 ? 1 : (size_t)cpus, &flops_all, &read_all);
    }
    bench_print(&flops_1);
    bench_print(&flops_all);
    bench_print(&read_1);
    bench_print(&read_all);
    return EXIT_SUCCESS;
}
