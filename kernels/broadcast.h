/* SPDX-License-Identifier: Apache-2.0 */
/* Two operands of one shape, along axes of which either may stand still. */
#ifndef OPTRACE_KERNELS_BROADCAST_H
#define OPTRACE_KERNELS_BROADCAST_H

#include "kernels/dtype.h"

/** y has shape dims, dense. The strides are in elements; 0 where an operand is broadcast. */
struct kernel_broadcast {
    int rank;
    int64_t dims[KERNEL_MAX_RANK];
    int64_t a_stride[KERNEL_MAX_RANK];
    int64_t b_stride[KERNEL_MAX_RANK];
};

#endif
