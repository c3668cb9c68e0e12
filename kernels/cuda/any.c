/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers of any.cu but for products. */
#include "kernels/cuda.h"
#include "kernels/cuda/launch.h"

static void einsum_cuda(void *y, const void *const *operands, const struct kernel_einsum *shape)
{
    struct kernel_einsum given = *shape;
    struct cuda_operands from = {{NULL}};
    int64_t count = cuda_product(shape->dims, shape->kept);
    int64_t terms = cuda_product(shape->dims + shape->kept, shape->summed);

    for (int i = 0; i < shape->operands; i++)
        from.address[i] = operands[i];
    cuda_launch_elements(CUDA_KERNEL_einsum_any, count,
                         (void *[]){&y, &from, &given, &count, &terms});
}

static void convolve_cuda(const struct kernel_convolve_data *data,
                          const struct kernel_convolve *shape)
{
    struct kernel_convolve_data pointers = *data;
    struct kernel_convolve given = *shape;
    int64_t count = shape->batch * shape->filters * cuda_product(shape->window.out, KERNEL_SPATIAL);

    cuda_launch_elements(CUDA_KERNEL_convolve_any, count, (void *[]){&pointers, &given, &count});
}

static void pool_cuda(void *y, int64_t *indices, const void *x, const struct kernel_pool_any *shape)
{
    struct kernel_pool_any given = *shape;
    int64_t count =
        shape->batch * shape->channels * cuda_product(shape->window.out, KERNEL_SPATIAL);

    cuda_launch_elements(CUDA_KERNEL_pool_any, count, (void *[]){&y, &indices, &x, &given, &count});
}

void cuda_table_any(struct kernel_table *table)
{
    CUDA_USE(einsum, einsum_cuda);
    CUDA_USE(convolve, convolve_cuda);
    CUDA_USE(pool, pool_cuda);
}
