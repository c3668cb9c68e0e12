/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for packed weights. Those of a network are many pieces that live equally long: they lie
 * together in huge pages, which the system gives faster and the CPU finds faster. Inside
 * kernels/cpu only.
 */
#ifndef OPTRACE_KERNELS_CPU_WEIGHTS_H
#define OPTRACE_KERNELS_CPU_WEIGHTS_H

#include <stddef.h>

/** 64-byte aligned memory, NULL when there is none left. Any thread. */
void *weights_alloc(size_t bytes);

/** bytes: what weights_alloc() was asked for. Accepts NULL. */
void weights_free(void *memory, size_t bytes);

#endif
