/* SPDX-License-Identifier: Apache-2.0 */
/* Axes of two operands that are one run of memory. */
#ifndef OPTRACE_KERNELS_CPU_BROADCAST_JOIN_H
#define OPTRACE_KERNELS_CPU_BROADCAST_JOIN_H

#include "kernels/broadcast.h"

/** Two axes are one when every tensor steps from the end of the inner one to the outer one's next
 *  element. At least one axis is left. */
struct kernel_broadcast broadcast_join(const struct kernel_broadcast *shape);

#endif
