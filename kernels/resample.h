/* SPDX-License-Identifier: Apache-2.0 */
/* Contract of resampling: what Resize and Upsample come down to. What is common to all contracts
 * stands in kernels.h, which includes this. */
#ifndef OPTRACE_KERNELS_RESAMPLE_H
#define OPTRACE_KERNELS_RESAMPLE_H

#include "kernels/dtype.h"

/** Along one axis, element o of y is the sum of x[places[o, t]] * weights[o, t] over `taps` terms.
 *  A place of -1 makes the whole element the outside value. */
struct kernel_resample_axis {
    int64_t taps; /* >= 1 */
    const int64_t *places;
    const double *weights;
};

struct kernel_resample {
    enum kernel_dtype dtype;
    int rank;
    int64_t x_dims[KERNEL_MAX_RANK];
    int64_t y_dims[KERNEL_MAX_RANK];
    struct kernel_resample_axis axes[KERNEL_MAX_RANK];
    double outside;
};

/** y = x weighted along all axes, summed in f64 and rounded once (integers: to nearest, halves to
 *  even). Versions sum f32 in f32, to 1e-6 of the sum of what is added. */
typedef void resample_fn(void *y, const void *x, const struct kernel_resample *shape);

/* See KERNEL_DECLARE(). */
#define RESAMPLE_KERNELS(KERNEL) KERNEL(resample, EACH)
RESAMPLE_KERNELS(KERNEL_DECLARE);

#endif
