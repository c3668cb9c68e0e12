/* SPDX-License-Identifier: Apache-2.0 */
/* What several reference kernels share. Inside kernels/ref only. */
#ifndef OPTRACE_KERNELS_REF_REF_H
#define OPTRACE_KERNELS_REF_REF_H

#include "kernels/kernels.h"

/** The input coordinate that output o's window element k reads on an axis, or -1 outside. */
static inline int64_t ref_window_at(const struct kernel_window *window, int axis, int64_t o,
                                    int64_t k)
{
    int64_t at = o * window->stride[axis] - window->pad_begin[axis] + k * window->dilation[axis];

    return at >= 0 && at < window->in[axis] ? at : -1;
}

/** Strides of images in either layout, in elements. */
struct ref_strides {
    int64_t image, channel, spatial[KERNEL_SPATIAL];
};

static inline struct ref_strides ref_image_strides(int64_t channels, const int64_t *spatial,
                                                   bool channels_last)
{
    int64_t plane = spatial[0] * spatial[1] * spatial[2];
    int64_t step = channels_last ? channels : 1;

    return (struct ref_strides){
        .image = channels * plane,
        .channel = channels_last ? 1 : plane,
        .spatial = {spatial[1] * spatial[2] * step, spatial[2] * step, step},
    };
}

/** Input i of a chain, which is of this type, for one element of the result. */
float ref_chain_input(const void *x, const struct kernel_chain *chain, int i,
                      enum kernel_dtype type, int64_t index);

/** One element through an activation. */
float ref_activate(float x, const struct kernel_activation *activation);

#endif
