/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of row-major images by few filters. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_CONV_FEW_H
#define OPTRACE_KERNELS_CPU_CONV_FEW_H

#include "kernels/cpu/conv_plan.h"

void conv_few_list(const struct kernel_conv *shape, struct kernel_conv_versions *versions);
/** Its name where it is expected to be the fastest; else NULL. */
const char *conv_few_prefer(const struct kernel_conv *shape);
/** Errors as kernel_conv_plan_create(); -ENOTSUP for another name or shape. */
int conv_few_create(const struct conv_request *request, const char *version,
                    struct kernel_conv_plan **out_plan);

#endif
