/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine can do at best: the measure that an op's FLOP/s and bytes/s are held against.
 */
#ifndef OPTRACE_KERNELS_PEAK_H
#define OPTRACE_KERNELS_PEAK_H

struct peak {
    double f32_flops;    /* f32 fused multiply-adds per second, each counted as two operations */
    double read_bytes_s; /* bytes per second read from memory, streaming over 64 MiB */
    const char *isa;     /* instruction set used: "avx512f", "avx2+fma" or "generic" */
};

/**
 * Measure one thread's peak: the best of several rounds of about 20 ms each, because anything else
 * that runs on the machine only makes a round slower.
 *
 * For several threads call it on all of them at once and add up. Blocks for about 0.3 s; allocates
 * 64 MiB. Returns 0 or -ENOMEM. Any thread.
 */
int peak_measure(struct peak *out_peak);

#endif
