/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine can do at best: the measure that an op's FLOP/s and bytes/s are held against.
 */
#ifndef OPTRACE_KERNELS_PEAK_H
#define OPTRACE_KERNELS_PEAK_H

#include <stddef.h>

struct peak {
    double f32_flops;    /* f32 fused multiply-adds per second, each counted as two operations */
    double read_bytes_s; /* bytes per second read from memory, streaming over 64 MiB */
    const char *isa;     /* instruction set used: "avx512f", "avx2+fma" or "generic" */
};

/**
 * Measure one thread's peak: the best of several rounds of about 20 ms each, because anything else
 * that runs on the machine only makes a round slower.
 *
 * Blocks for about 0.3 s; allocates 64 MiB. Returns 0 or -ENOMEM. Any thread.
 */
int peak_measure(struct peak *out_peak);

/** The sum of that many threads that measure at the same time, at most PEAK_THREADS_MAX. Returns 0,
 *  -ENOMEM or -EAGAIN when a thread cannot be started. */
int peak_measure_threads(size_t threads, struct peak *out_peak);
enum { PEAK_THREADS_MAX = 256 };

/** Bytes per second that one thread reads again and again of so many, which are in a cache when
 * they fit. Blocks for about 0.05 s. Returns 0 or -ENOMEM. */
int peak_measure_read(size_t bytes, double *out_read_bytes_s);

#endif
