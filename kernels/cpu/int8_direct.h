/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of bytes that read the image where it was laid out. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_INT8_DIRECT_H
#define OPTRACE_KERNELS_CPU_INT8_DIRECT_H

#include "kernels/convolve.h"
#include "kernels/cpu/int8.h"

/** How the image lies: planes [phase of the stride][four channels], each [rows][pitch][4]. */
struct int8_direct {
    int64_t quads, rows, pitch;
    int64_t plane; /* bytes */
    int64_t taps;  /* elements of the window */
    int64_t depth; /* k: taps * quads * 4 */
};

/** Whether that is faster than gathering. */
bool int8_direct_fits(const struct kernel_convolve *shape);

/** Bytes of filters in the order of k, with their sums behind them. */
size_t int8_direct_packed(const struct kernel_convolve *shape);
void int8_direct_pack(void *packed, const uint8_t *w, const struct kernel_convolve *shape);

/** Whether narrow filters make it the fastest way; where they do not become narrow, it may be no way at all. */
bool int8_direct_narrow_fits(const struct kernel_convolve *shape);

/** Bytes of them, and those; false: they do not become narrow. */
size_t int8_direct_narrow_packed(const struct kernel_convolve *shape);
bool int8_direct_narrow_pack(void *packed, const uint8_t *w, const struct kernel_convolve *shape);

/** Bytes of scratch, of either. */
size_t int8_direct_room(const struct kernel_convolve *shape);

struct int8_direct_call {
    const uint8_t *x;
    const void *packed;
    void *workspace;
    struct int8_steps steps;
    bool is_narrow;    /* what is packed */
    uint8_t pad, flip; /* what stands for a pixel outside, and how pixels are turned round */
    struct int8_product product; /* what is not sizes and places: from filter 0 on */
};

/** The zero points of filters must be 0. */
void int8_direct_run(const struct int8_direct_call *call, const struct kernel_convolve *shape);

#endif
