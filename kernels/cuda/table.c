/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the kernels that a GPU has. */
#include "kernels/cuda.h"
#include "kernels/cuda/launch.h"

void kernel_cuda_table(struct kernel_table *out_table)
{
    *out_table = (struct kernel_table){0};
    cuda_table_elementwise(out_table);
    cuda_table_move(out_table);
    cuda_table_nms(out_table);
    cuda_table_reduce(out_table);
    cuda_table_image(out_table);
    cuda_table_any(out_table);
    cuda_table_conv(out_table);
    cuda_table_order(out_table);
    cuda_table_product(out_table);
    cuda_table_attention(out_table);
    cuda_table_recurrent(out_table);
}
