/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of bytes with few outputs in a plane. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_INT8_FEW_H
#define OPTRACE_KERNELS_CPU_INT8_FEW_H

#include "kernels/convolve.h"
#include "kernels/cpu/int8.h"

/** Whether there are so few that filters had better be the columns of a product. */
bool int8_few_fits(const struct kernel_convolve *shape);

/** Bytes of packed filters with their sums behind them. */
size_t int8_few_packed(const struct kernel_convolve *shape);
void int8_few_pack(void *packed, const uint8_t *w, const struct kernel_convolve *shape);

/** Bytes of scratch. */
size_t int8_few_room(const struct kernel_convolve *shape);

struct int8_few_call {
    const uint8_t *x;
    const void *packed;
    void *workspace;
    struct int8_steps steps;
    int32_t x_zero;
    const int32_t *bias; /* of each filter, or NULL */
    const double *scale; /* of each filter */
    const int32_t *y_zero;
    void *y;
    bool is_quantised;
};

/** The zero points of filters must be 0. */
void int8_few_run(const struct int8_few_call *call, const struct kernel_convolve *shape);

enum { INT8_FEW_PIXELS = 1024 };

/** All channels of a pixel side by side, pixels `line` bytes apart; at most INT8_FEW_PIXELS of them. */
void int8_turn_image(uint8_t *image, const uint8_t *x, int64_t pixels, int64_t channels,
                     int64_t line);

/** Outputs that are rows, `line` elements apart, of bytes or of int32, become columns. */
void int8_turn_back(void *y, const void *turned, int64_t outputs, int64_t filters, int64_t line,
                    bool is_byte);

#endif
