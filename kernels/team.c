/* SPDX-License-Identifier: Apache-2.0 */
/* The team of threads that kernels share: GNU OpenMP's, because oneDNN uses that one too. */
#include "kernels/kernels.h"

/* libgomp's own ABI, declared here so that any compiler can use it: clang's -fopenmp would bring a
 * second runtime with a second team into the process. */
extern void omp_set_num_threads(int count);
extern int omp_get_max_threads(void);

void kernel_set_threads(uint32_t threads)
{
    omp_set_num_threads((int)threads);
}

uint32_t kernel_threads(void)
{
    return (uint32_t)omp_get_max_threads();
}
