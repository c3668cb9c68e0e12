/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers of image.cu, but for convolutions. */
#include "kernels/cuda.h"
#include "kernels/cuda/launch.h"

static int64_t outputs_of(int64_t batch, int64_t channels, const struct kernel_window *window)
{
    return batch * channels * cuda_product(window->out, KERNEL_SPATIAL);
}

static void pool(float *y, const float *x, const struct kernel_pool *shape, bool is_max)
{
    int64_t count = outputs_of(shape->batch, shape->channels, &shape->window);
    struct kernel_pool given = *shape;

    cuda_launch_elements(CUDA_KERNEL_pool_f32, count, (void *[]){&y, &x, &is_max, &count, &given});
}

static void max_pool_f32_cuda(float *y, const float *x, const struct kernel_pool *shape)
{
    pool(y, x, shape, true);
}

static void average_pool_f32_cuda(float *y, const float *x, const struct kernel_pool *shape)
{
    pool(y, x, shape, false);
}

static void lrn_f32_cuda(float *y, const float *x, const struct kernel_lrn *shape)
{
    int64_t count = shape->batch * shape->channels * shape->plane;
    struct kernel_lrn given = *shape;

    cuda_launch_elements(CUDA_KERNEL_lrn_f32, count, (void *[]){&y, &x, &count, &given});
}

void cuda_table_image(struct kernel_table *table)
{
    CUDA_USE(max_pool_f32, max_pool_f32_cuda);
    CUDA_USE(average_pool_f32, average_pool_f32_cuda);
    CUDA_USE(lrn_f32, lrn_f32_cuda);
}
