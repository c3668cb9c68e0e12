/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of f64. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_ATTENTION_F64_H
#define OPTRACE_KERNELS_CPU_ATTENTION_F64_H

#include "kernels/kernels.h"

/** As attention(), of f64 only. */
KERNEL_VERSIONS(attention_fn, attention_f64);

/** Bytes of its workspace, of f64, for the calling thread's team. */
size_t kernel_attention_f64_room(const struct kernel_attention *shape);

#endif
