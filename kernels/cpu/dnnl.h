/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels that use oneDNN share. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_DNNL_H
#define OPTRACE_KERNELS_CPU_DNNL_H

#include <stdbool.h>

#include <oneapi/dnnl/dnnl.h>

#include "kernels/activation.h"

/** The process's one CPU engine, made on first use; NULL when that failed, which every oneDNN call
 *  refuses. Any thread. */
dnnl_engine_t dnnl_cpu_engine(void);

/** [batch, channels, spatial...], rank 3 to 5, channels-last or row-major. */
dnnl_status_t dnnl_image_desc(dnnl_memory_desc_t *out_desc, int rank, const dnnl_dims_t dims,
                              dnnl_data_type_t type, bool channels_last);

/** Whether this is a kernel for the processor's products of bf16, and not one that stands in. */
bool dnnl_multiplies_bf16(const char *name);

/** Copy from one order to another, now. */
dnnl_status_t dnnl_reorder_now(const dnnl_memory_desc_t *to, void *y,
                               const dnnl_memory_desc_t *from, const void *x);

/** The same between orders of f32 of elements of 16 bits, which stay what they are. dnnl_unimplemented where there is no
 *  jitted way for it on this processor. */
dnnl_status_t dnnl_reorder_half_now(const dnnl_memory_desc_t *to, void *y,
                                    const dnnl_memory_desc_t *from, const void *x);

/** What is done to the result: the residual, which is what y holds already, is added; then the
 *  activation. Scratch comes from the caller. */
dnnl_status_t dnnl_fused_attr(const struct kernel_activation *activation, bool has_residual,
                              dnnl_primitive_attr_t *out_attr);

#endif
