/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products that are no matrix products. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_EINSUM_LOOPS_H
#define OPTRACE_KERNELS_CPU_EINSUM_LOOPS_H

#include "kernels/kernels.h"

/** As einsum(): copies, products of elements, and loops over one or two operands; of what else there is the
 *  reference's. */
KERNEL_VERSIONS(einsum_fn, einsum_loops);

#endif
