/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of bytes whose filters see one channel. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_INT8_DEPTH_H
#define OPTRACE_KERNELS_CPU_INT8_DEPTH_H

#include "kernels/convolve.h"
#include "kernels/cpu/int8.h"
#include "kernels/cpu/team.h"

struct int8_depth {
    const struct kernel_convolve *shape;
    const uint8_t *x, *w;
    const uint8_t *packed; /* w by int8_depth_few_pack(), where that is for it; or NULL */
    int32_t x_zero;
    const int32_t *w_zero;       /* of each filter */
    struct int8_product product; /* what is done to the sums, by filter; y from its beginning */
};

bool int8_depth_fits(const struct kernel_convolve *shape);

typedef void int8_depth_fn(const struct int8_depth *d, int64_t begin, int64_t end);

/** Whether a plane has so few outputs that channels had better lie side by side. */
bool int8_depth_few_fits(const struct kernel_convolve *shape);

/** Filters as they are read then, a block of channels after the other. */
size_t int8_depth_few_packed(const struct kernel_convolve *shape);
void int8_depth_few_pack(void *packed, const uint8_t *w, const struct kernel_convolve *shape);

/** Planes [begin, end) of y where they do. */
int8_depth_fn int8_depth_few_portable;
#if defined(__x86_64__)
int8_depth_fn int8_depth_few_avx2, int8_depth_few_avx512;
#endif

/** Planes [begin, end) of y, counted over images and filters; argument: a struct int8_depth. */
team_fn int8_depth_portable;
#if defined(__x86_64__)
team_fn int8_depth_avx2, int8_depth_avx512;

/** Whether the CPU multiplies four bytes at once and puts them into any order, and the window is small
 *  enough for int8_depth_planes(). */
bool int8_depth_takes_bytes(const struct kernel_convolve *shape);

/** Planes [begin, end) of y by these instructions; `others`, where a weight without its zero point is no
 *  byte. */
void int8_depth_planes(const struct int8_depth *d, int64_t begin, int64_t end,
                       int8_depth_fn *others);

/** Whether rows of the window follow each other, and are small enough for int8_depth_pairs(). */
bool int8_depth_pairs_fits(const struct kernel_convolve *shape);

/** Planes [begin, end) of y by AVX2's products of 16-bit numbers. */
int8_depth_fn int8_depth_pairs;
#endif

#endif
