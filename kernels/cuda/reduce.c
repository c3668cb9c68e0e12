/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers of reduce.cu. */
#include "kernels/cuda.h"
#include "kernels/cuda/launch.h"

enum { WIDTH_MAX = 1 << 30 };

/* Whether groups are rows: what is reduced are the last axes. */
static bool are_rows(const struct cuda_groups *groups)
{
    int64_t stride = 1;

    for (int i = groups->reduced - 1; i >= 0; i--) {
        if (groups->dims[i] != 1 && groups->stride[i] != stride)
            return false;
        stride *= groups->dims[i];
    }
    return groups->group_size > 0 && groups->group_size < WIDTH_MAX;
}

static struct cuda_rows rows_of(float *y, const float *x, int64_t count, int64_t width)
{
    return (struct cuda_rows){.y = y, .x = x, .count = count, .width = (int)width};
}

static void reduce_cuda(void *y, const void *x, const struct kernel_reduce *shape)
{
    struct cuda_groups groups = cuda_groups_of(shape->dims, shape->is_reduced, shape->rank);
    int dtype = (int)shape->dtype, op = (int)shape->op;
    bool as_real = kernel_dtype_is_real(shape->dtype) || op == REDUCE_L2 || op == REDUCE_LOG_SUM ||
                   op == REDUCE_LOG_SUM_EXP;

    if (shape->dtype == KERNEL_F32 && op != REDUCE_LOG_SUM_EXP && are_rows(&groups) &&
        cuda_are_aligned(&x, 1)) {
        struct cuda_rows rows = rows_of(y, x, groups.group_count, groups.group_size);

        rows.op = op;
        cuda_launch_rows(CUDA_KERNEL_reduce_warp_f32, CUDA_KERNEL_reduce_block_f32, &rows);
    } else if (as_real && groups.group_size > CUDA_SHORT_LINE)
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
    /* along_fn's softmax is exact. */
    if (((shape->op == ALONG_SOFTMAX && is_plain) || shape->op == ALONG_LOG_SOFTMAX) &&
        shape->inner == 1 && shape->dtype == KERNEL_F32 && shape->axis < WIDTH_MAX &&
        cuda_are_aligned((const void *const[]){x, y}, 2)) {
        struct cuda_rows rows = rows_of(y, x, shape->outer, shape->axis);

        rows.op = (int)shape->op;
        rows.is_plain = is_plain;
        cuda_launch_rows(CUDA_KERNEL_softmax_warp_f32, CUDA_KERNEL_softmax_block_f32, &rows);
        return;
    }
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

/* Whether scale or bias is one row, the same for all. */
static bool is_row(const struct kernel_normalize *shape, const int64_t *stride)
{
    int64_t dense = 1;

    for (int i = shape->rank - 1; i >= 0; i--) {
        if (shape->dims[i] != 1 && stride[i] != (shape->is_reduced[i] ? dense : 0))
            return false;
        dense *= shape->dims[i];
    }
    return true;
}

static bool normalizes_rows(const struct kernel_normalize_data *data,
                            const struct kernel_normalize *shape, const struct cuda_groups *groups)
{
    return shape->dtype == KERNEL_F32 && are_rows(groups) &&
           (!data->scale || is_row(shape, shape->scale_stride)) &&
           (!data->bias || is_row(shape, shape->bias_stride)) &&
           cuda_are_aligned((const void *const[]){data->y, data->x, data->scale, data->bias}, 4);
}

static void normalize_rows(const struct kernel_normalize_data *data,
                           const struct kernel_normalize *shape, const struct cuda_groups *groups)
{
    struct cuda_rows rows = rows_of(data->y, data->x, groups->group_count, groups->group_size);

    rows.scale = data->scale;
    rows.bias = data->bias;
    rows.mean = data->mean;
    rows.inverse = data->inverse;
    rows.stat_dtype = (int)shape->stat_dtype;
    rows.keeps_mean = shape->keeps_mean;
    rows.adds_to_root = shape->adds_to_root;
    rows.epsilon = shape->epsilon;
    cuda_launch_rows(CUDA_KERNEL_normalize_warp_f32, CUDA_KERNEL_normalize_block_f32, &rows);
}

static void normalize_cuda(const struct kernel_normalize_data *data,
                           const struct kernel_normalize *shape)
{
    struct cuda_groups groups = cuda_groups_of(shape->dims, shape->is_reduced, shape->rank);
    struct kernel_normalize_data pointers = *data;
    struct kernel_normalize given = *shape;

    if (normalizes_rows(data, shape, &groups)) {
        normalize_rows(data, shape, &groups);
        return;
    }
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
