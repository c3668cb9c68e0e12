/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of bytes whose images lie channels-last: the pixels are the rows of a product, the filters its columns; or
 * filters see one channel each. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_INT8_LAST_H
#define OPTRACE_KERNELS_CPU_INT8_LAST_H

#include "kernels/convolve.h"
#include "kernels/cpu/int8.h"

/** What of a convolution is known before each of its kernels. */
struct int8_last {
    const struct kernel_convolve *shape;
    const uint8_t *x, *w;
    const void *packed; /* w by int8_last_pack(), or NULL */
    void *workspace;    /* int8_last_room() bytes */
    int32_t x_zero;
    const int32_t *w_zero;       /* of each filter */
    int32_t *b_zero;             /* room for as many */
    struct int8_product product; /* what is done to the sums, by column */
    struct int8_steps steps;
    int8_finish_rows_fn *finish;
};

bool int8_last_fits(const struct kernel_convolve *shape);
size_t int8_last_packed(const struct kernel_convolve *shape);
void int8_last_pack(void *packed, const uint8_t *w, const struct kernel_convolve *shape);
size_t int8_last_room(const struct kernel_convolve *shape);

typedef void int8_last_fn(const struct int8_last *l);
int8_last_fn int8_last_portable;
#if defined(__x86_64__)
int8_last_fn int8_last_avx2, int8_last_avx512;

/* Filters of one channel each by AVX512-VNNI and AVX512-VBMI. */

/** Whether the CPU has these and the window is small enough. */
bool int8_last_depth_fits(const struct kernel_convolve *shape);
size_t int8_last_depth_packed(const struct kernel_convolve *shape);
void int8_last_depth_pack(void *packed, const uint8_t *w, const struct kernel_convolve *shape);
size_t int8_last_depth_room(const struct kernel_convolve *shape);
int8_last_fn int8_last_depth;
#endif

#endif
