/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that move over an image: what the contracts of convolutions and pools share. */
#ifndef OPTRACE_KERNELS_WINDOW_H
#define OPTRACE_KERNELS_WINDOW_H

#include "kernels/dtype.h"

/** Always three axes, the last one innermost; axes that the tensor does not have are 1 (pads 0).
 *  Element k of output o reads input o * stride - pad_begin + k * dilation, or nothing when that is
 *  outside of [0, in). */
struct kernel_window {
    int64_t in[KERNEL_SPATIAL];
    int64_t out[KERNEL_SPATIAL];
    int64_t kernel[KERNEL_SPATIAL];
    int64_t stride[KERNEL_SPATIAL];
    int64_t dilation[KERNEL_SPATIAL];
    int64_t pad_begin[KERNEL_SPATIAL];
    int64_t pad_end[KERNEL_SPATIAL];
};

#endif
