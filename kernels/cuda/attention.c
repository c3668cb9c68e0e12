/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers of attention.cu. */
#include "kernels/cuda.h"
#include "kernels/cuda/launch.h"

static void make_present(void *present, const void *past, const void *now,
                         const struct kernel_heads *heads, int64_t channels,
                         const struct kernel_attention *shape)
{
    struct kernel_attention given = *shape;
    struct kernel_heads lies = *heads;
    int bytes = (int)kernel_dtype_bytes(shape->dtype);
    int64_t total = shape->past_steps + shape->kv_steps;
    int64_t count = shape->batch * shape->kv_heads * total * channels;

    if (present)
        cuda_launch_elements(
            CUDA_KERNEL_present_any, count,
            (void *[]){&present, &past, &now, &lies, &channels, &bytes, &count, &given});
}

static void attention_cuda(const struct kernel_attention_data *data,
                           const struct kernel_attention *shape)
{
    struct kernel_attention_data pointers = *data;
    struct kernel_attention given = *shape;
    int64_t rows = shape->batch * shape->heads * shape->q_steps;

    make_present(data->present_k, data->past_k, data->k, &shape->k, shape->channels, shape);
    make_present(data->present_v, data->past_v, data->v, &shape->v, shape->v_channels, shape);
    cuda_launch_lines(CUDA_KERNEL_attention_any, rows, (void *[]){&pointers, &given, &rows});
}

static int rotary_cuda(void *y, const void *x, const void *cosines, const void *sines,
                       const int64_t *places, const struct kernel_rotary *shape)
{
    struct kernel_rotary given = *shape;
    struct cuda_fault fault = cuda_fault_place();
    int64_t lines = shape->batch * shape->heads * shape->steps;

    cuda_launch_elements(CUDA_KERNEL_rotary_any, lines,
                         (void *[]){&y, &x, &cosines, &sines, &places, &lines, &given, &fault});
    return cuda_fault_result();
}

void cuda_table_attention(struct kernel_table *table)
{
    CUDA_USE(attention, attention_cuda);
    CUDA_USE(rotary, rotary_cuda);
}
