/* SPDX-License-Identifier: Apache-2.0 */
/* The team of threads that kernels share: GNU OpenMP's, because oneDNN uses that one too. */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>

#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

/* libgomp's own ABI, declared here so that any compiler can use it: clang's -fopenmp would bring a
 * second runtime with a second team into the process. */
extern void omp_set_num_threads(int count);
extern int omp_get_max_threads(void);
extern int omp_get_num_threads(void);
extern int omp_get_thread_num(void);
extern void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags);

struct loop {
    int64_t count;
    team_fn *part;
    void *argument;
};

static void loop_part(void *data)
{
    const struct loop *loop = data;
    int64_t threads = omp_get_num_threads(), index = omp_get_thread_num();

    loop->part(loop->argument, loop->count * index / threads, loop->count * (index + 1) / threads);
}

void team_for(int64_t count, int64_t grain, team_fn *part, void *argument)
{
    struct loop loop = {count, part, argument};
    int64_t threads = omp_get_max_threads();

    if (threads > count / grain)
        threads = count / grain;
    if (threads <= 1)
        part(argument, 0, count);
    else
        GOMP_parallel(loop_part, &loop, (unsigned)threads, 0);
}

void kernel_set_threads(uint32_t threads)
{
    omp_set_num_threads((int)threads);
}

uint32_t kernel_threads(void)
{
    return (uint32_t)omp_get_max_threads();
}

struct pins {
    const uint32_t *cores;
    atomic_int failed;
};

static void pin_part(void *data)
{
    struct pins *pins = data;
    uint32_t core = pins->cores[omp_get_thread_num()];
    cpu_set_t set;

    CPU_ZERO(&set);
    if (core < CPU_SETSIZE)
        CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0)
        atomic_store(&pins->failed, 1);
}

int kernel_pin_threads(const uint32_t *cores, uint32_t count)
{
    struct pins pins = {cores, 0};

    GOMP_parallel(pin_part, &pins, count, 0);
    return atomic_load(&pins.failed) ? -EINVAL : 0;
}
