/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of integers. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_MAP_WHOLE_H
#define OPTRACE_KERNELS_CPU_MAP_WHOLE_H

#include "kernels/kernels.h"

/** As map_fn; false, with nothing done, where there is no loop for the function and the type. */
typedef bool map_whole_fn(void *y, const void *x, size_t count, const struct kernel_map_args *args);

KERNEL_VERSIONS(map_whole_fn, map_whole);

#endif
