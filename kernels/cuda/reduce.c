/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers of reduce.cu. */
#include "kernels/cuda.h"
#include "kernels/cuda/launch.h"

static void reduce_cuda(void *y, const void *x, const struct kernel_reduce *shape)
{
    struct cuda_groups groups = cuda_groups_of(shape->dims, shape->is_reduced, shape->rank);
    int dtype = (int)shape->dtype, op = (int)shape->op;
    bool as_real = kernel_dtype_is_real(shape->dtype) || op == REDUCE_L2 || op == REDUCE_LOG_SUM ||
                   op == REDUCE_LOG_SUM_EXP;

    if (as_real && groups.group_size > CUDA_SHORT_LINE)
        cuda_launch_lines(CUDA_KERNEL_reduce_block, groups.group_count,
                          (void *[]){&y, &x, &dtype, &op, &groups});
    else
        cuda_launch_elements(CUDA_KERNEL_reduce_thread, groups.group_count,
                             (void *[]){&y, &x, &dtype, &op, &as_real, &groups});
}

static void arg_reduce_cuda(int64_t *y, const void *x, const struct kernel_arg_reduce *shape)
{
    struct kernel_arg_reduce given = *shape;

    cuda_launch_elements(CUDA_KERNEL_arg_reduce_any, shape->outer * shape->inner,
                         (void *[]){&y, &x, &given});
}

static void along(void *y, const void *x, const struct kernel_along *shape, bool is_plain)
{
    struct kernel_along given = *shape;
    int64_t lines = shape->outer * shape->inner;

    if (shape->axis == 0)
        return;
    if (shape->op == ALONG_SUM || shape->op == ALONG_PRODUCT || shape->op == ALONG_HARDMAX)
        cuda_launch_elements(CUDA_KERNEL_along_thread, lines, (void *[]){&y, &x, &given});
    else
        cuda_launch_lines(CUDA_KERNEL_along_block, lines, (void *[]){&y, &x, &is_plain, &given});
}

static void along_cuda(void *y, const void *x, const struct kernel_along *shape)
{
    along(y, x, shape, false);
}

static void softmax_f32_cuda(float *y, const float *x, size_t outer, size_t axis, size_t inner)
{
    struct kernel_along shape = {.op = ALONG_SOFTMAX,
                                 .dtype = KERNEL_F32,
                                 .outer = (int64_t)outer,
                                 .axis = (int64_t)axis,
                                 .inner = (int64_t)inner};

    along(y, x, &shape, true);
}

static void normalize_cuda(const struct kernel_normalize_data *data,
                           const struct kernel_normalize *shape)
{
    struct cuda_groups groups = cuda_groups_of(shape->dims, shape->is_reduced, shape->rank);
    struct kernel_normalize_data pointers = *data;
    struct kernel_normalize given = *shape;

    cuda_launch_lines(CUDA_KERNEL_normalize_block, groups.group_count,
                      (void *[]){&pointers, &given, &groups});
}

static void batch_norm_f32_cuda(float *y, const float *x, const float *scale, const float *bias,
                                const float *mean, const float *variance, float epsilon,
                                size_t batch, size_t channels, size_t plane)
{
    int64_t count = (int64_t)(batch * channels * plane);
    int64_t channel_count = (int64_t)channels, plane_size = (int64_t)plane;

    cuda_launch_elements(CUDA_KERNEL_batch_norm_f32, count,
                         (void *[]){&y, &x, &scale, &bias, &mean, &variance, &epsilon, &count,
                                    &channel_count, &plane_size});
}

void cuda_table_reduce(struct kernel_table *table)
{
    CUDA_USE(reduce, reduce_cuda);
    CUDA_USE(arg_reduce, arg_reduce_cuda);
    CUDA_USE(along, along_cuda);
    CUDA_USE(softmax_f32, softmax_f32_cuda);
    CUDA_USE(normalize, normalize_cuda);
    CUDA_USE(batch_norm_f32, batch_norm_f32_cuda);
}
