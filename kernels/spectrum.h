/* SPDX-License-Identifier: Apache-2.0 */
/* Contracts of signal processing and of random numbers. What is common to all contracts stands in
 * kernels.h, which includes this. */
#ifndef OPTRACE_KERNELS_SPECTRUM_H
#define OPTRACE_KERNELS_SPECTRUM_H

#include "kernels/dtype.h"

/** Transforms of `length` numbers along the middle axis of x [outer, in, inner, x_parts]; y is
 *  [outer, out, inner, y_parts]. Parts: 1, real numbers alone, or 2, imaginary ones behind them. */
struct kernel_dft {
    enum kernel_dtype dtype; /* a real one */
    int64_t outer, in, inner, out;
    int64_t length; /* >= 1; x is cut off behind it, or zeros follow */
    int x_parts, y_parts;
    bool is_inverse; /* and divided by the length */
    bool is_half;    /* x is the first half of what is conjugate to the second: y is real */
};

/** The discrete Fourier transform's first `out` numbers. workspace: kernel_dft_room() bytes, aligned
 *  to 8. Agrees with ref to 2e-6 of the root of the sum of squares of x. */
typedef void dft_fn(void *y, const void *x, void *workspace, const struct kernel_dft *shape);

static inline size_t kernel_dft_room(const struct kernel_dft *shape)
{
    return (size_t)shape->length * 8 * sizeof(double);
}

struct kernel_mel {
    enum kernel_dtype dtype; /* any */
    int64_t bands, length;
    double sample_rate, low, high; /* in Hz */
};

/** y [length / 2 + 1, bands]: of each band a triangle over the frequencies of a transform of that
 *  length, the bands being even on the mel scale. Returns 0, or -1 when one is outside of these. */
typedef int mel_fn(void *y, const struct kernel_mel *shape);

struct kernel_random {
    enum kernel_dtype dtype; /* a real one */
    bool is_normal;          /* of mean a and deviation b, else uniform from a to b */
    double a, b;
    uint64_t seed;
};

/** y[i] follows from the seed and i alone. */
typedef void random_fn(void *y, size_t count, const struct kernel_random *shape);

/* See KERNEL_DECLARE(). */
#define SPECTRUM_KERNELS(KERNEL)                                                                   \
    KERNEL(dft, PORTABLE);                                                                         \
    KERNEL(mel, PORTABLE);                                                                         \
    KERNEL(random, REF)
SPECTRUM_KERNELS(KERNEL_DECLARE);

#endif
