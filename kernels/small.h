/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts of types that are stored, never computed with: floats of eight and four bits, integers
 * of four and two. Each element takes a byte: an integer as int8 or uint8, a float as its bits. What
 * is common to all contracts stands in kernels.h, which includes this.
 */
#ifndef OPTRACE_KERNELS_SMALL_H
#define OPTRACE_KERNELS_SMALL_H

#include "kernels/dtype.h"

/** Where a number lies between two powers of two; of KERNEL_F8E8M0 alone. */
enum kernel_small_round { SMALL_NEAREST, SMALL_UP, SMALL_DOWN };

/** One of the two types at least is small. */
struct kernel_cast_small {
    enum kernel_dtype from, to;
    bool saturates; /* floats of 8 bits: what is too large becomes the largest, else inf or NaN */
    enum kernel_small_round rounding;
};

/** y = x as the other type has it: floats to nearest, ties to even; integers of fewer bits keep the
 *  low ones, also of a float, which is cut off. Exact. */
typedef void cast_small_fn(void *y, const void *x, size_t count,
                           const struct kernel_cast_small *shape);

/* See KERNEL_DECLARE(). */
#define SMALL_KERNELS(KERNEL) KERNEL(cast_small, PORTABLE)
SMALL_KERNELS(KERNEL_DECLARE);

#endif
