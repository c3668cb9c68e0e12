/* SPDX-License-Identifier: Apache-2.0 */
/* Products of 8-bit integers, the truth: those of every type. */
#include "kernels/kernels.h"

void product_int8_ref(const struct kernel_product_data *data, const void *packed,
                      const struct kernel_product *shape, void *workspace)
{
    (void)packed;
    (void)workspace;
    product_ref(data, shape);
}

void convolve_int8_ref(const struct kernel_convolve_data *data, const void *packed,
                       const struct kernel_convolve *shape, void *workspace)
{
    (void)packed;
    (void)workspace;
    convolve_ref(data, shape);
}
