/* SPDX-License-Identifier: Apache-2.0 */
/* Prints this machine's measured peaks, for one thread and for all CPUs at once: what the FLOPS and
 * bandwidth of a report can be compared with. One JSON line per figure. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernels/peak.h"

enum {
    THREADS_MAX = 256,
};

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

static int measure(size_t threads)
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
        if (workers[i].rc < 0)
            return workers[i].rc;
        f32_flops += workers[i].peak.f32_flops;
        read_bytes_s += workers[i].peak.read_bytes_s;
    }
    printf("{\"bench\":\"machine_peak\",\"figure\":\"f32_fma\",\"threads\":%zu,\"isa\":\"%s\","
           "\"value\":%.1f,\"unit\":\"GFLOP/s\"}\n",
           threads, workers[0].peak.isa, f32_flops / 1e9);
    printf("{\"bench\":\"machine_peak\",\"figure\":\"memory_read\",\"threads\":%zu,"
           "\"value\":%.1f,\"unit\":\"GB/s\"}\n",
           threads, read_bytes_s / 1e9);
    return 0;
}

int main(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    if (measure(1) < 0 ||
        (cpus > 1 && measure(cpus < THREADS_MAX ? (size_t)cpus : THREADS_MAX) < 0)) {
        fprintf(stderr, "machine_peak: no memory\n");
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
