/* SPDX-License-Identifier: Apache-2.0 */
/* 3 x 3 convolutions of bytes by Winograd's algorithm. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_INT8_WINOGRAD_H
#define OPTRACE_KERNELS_CPU_INT8_WINOGRAD_H

#include "kernels/convolve.h"
#include "kernels/cpu/int8.h"

/** Whether that is faster than the products themselves on this CPU. */
bool int8_winograd_fits(const struct kernel_convolve *shape);

/** Bytes of transformed filters. */
size_t int8_winograd_packed(const struct kernel_convolve *shape);
void int8_winograd_pack(void *packed, const uint8_t *w, const struct kernel_convolve *shape);

/** Bytes of scratch. */
size_t int8_winograd_room(const struct kernel_convolve *shape);

struct int8_winograd_call {
    const uint8_t *x;
    const void *packed;
    void *workspace;
    int32_t x_zero;
    struct int8_product product; /* what is done to sums: from filter 0 on */
};

/** The zero points of filters must be 0. */
typedef void int8_winograd_fn(const struct int8_winograd_call *call,
                              const struct kernel_convolve *shape);
int8_winograd_fn int8_winograd_portable;
#if defined(__x86_64__)
int8_winograd_fn int8_winograd_avx2, int8_winograd_avx512;
#endif

#endif
