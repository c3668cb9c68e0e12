/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers of order.cu. */
#include "kernels/cuda.h"
#include "kernels/cuda/launch.h"

/* Dense memory, by the largest unit that both addresses have. */
static void copy_all(void *y, const void *x, int64_t bytes)
{
    bool is_aligned = (((uintptr_t)x | (uintptr_t)y | (uintptr_t)bytes) & 3) == 0;
    int64_t count = is_aligned ? bytes / 4 : bytes;
    struct kernel_copy copy = {.rank = 1, .dims = {count}, .y_stride = {1}, .x_stride = {1}};

    if (y != x)
        cuda_launch_elements(is_aligned ? CUDA_KERNEL_copy_4 : CUDA_KERNEL_copy_1, count,
                             (void *[]){&y, &x, &count, &copy});
}

static int scatter_elements_cuda(void *y, const void *x, const void *indices, const void *updates,
                                 const struct kernel_elements *shape)
{
    struct kernel_elements given = *shape;
    struct cuda_fault fault = cuda_fault_place();
    int bytes = (int)kernel_dtype_bytes(shape->dtype);
    int64_t lines = 1;

    for (int i = 0; i < shape->rank; i++)
        lines *= i == shape->axis ? 1 : shape->dims[i];
    copy_all(y, x, cuda_product(shape->x_dims, shape->rank) * bytes);
    cuda_launch_elements(CUDA_KERNEL_scatter_elements_any, lines,
                         (void *[]){&y, &indices, &updates, &bytes, &lines, &given, &fault});
    return cuda_fault_result();
}

static int scatter_nd_cuda(void *y, const void *x, const void *indices, const void *updates,
                           const struct kernel_tuples *shape)
{
    struct kernel_tuples given = *shape;
    struct cuda_fault fault = cuda_fault_place();
    int bytes = (int)kernel_dtype_bytes(shape->dtype);
    int64_t slices = shape->batch * cuda_product(shape->dims, shape->depth);

    copy_all(y, x, slices * shape->slice * bytes);
    cuda_launch_elements(CUDA_KERNEL_scatter_nd_any, shape->batch * shape->slice,
                         (void *[]){&y, &indices, &updates, &bytes, &given, &fault});
    return cuda_fault_result();
}

static void top_k_cuda(void *values, int64_t *indices, const void *x,
                       const struct kernel_top_k *shape)
{
    struct kernel_top_k given = *shape;
    int bytes = (int)kernel_dtype_bytes(shape->dtype);
    int64_t lines = shape->outer * shape->inner;

    if (shape->k > 0)
        cuda_launch_lines(CUDA_KERNEL_top_k_any, lines,
                          (void *[]){&values, &indices, &x, &bytes, &lines, &given});
}

static void triangle_cuda(void *y, const void *x, int64_t k, const struct kernel_triangle *shape)
{
    struct kernel_triangle given = *shape;
    int64_t count = shape->batch * shape->rows * shape->cols;

    cuda_launch_elements(CUDA_KERNEL_triangle_any, count, (void *[]){&y, &x, &k, &count, &given});
}

static int reverse_cuda(void *y, const void *x, const int64_t *lengths,
                        const struct kernel_reverse *shape)
{
    struct kernel_reverse given = *shape;
    struct cuda_fault fault = cuda_fault_place();
    int bytes = (((uintptr_t)x | (uintptr_t)y | (uintptr_t)shape->inner_bytes) & 3) == 0 ? 4 : 1;
    int64_t inner = shape->inner_bytes / bytes, count = shape->batch * shape->time * inner;

    cuda_launch_elements(CUDA_KERNEL_reverse_any, count,
                         (void *[]){&y, &x, &lengths, &bytes, &inner, &count, &given, &fault});
    return cuda_fault_result();
}

static int cache_write_cuda(void *y, const void *cache, const void *update, const int64_t *at,
                            const struct kernel_cache_write *shape)
{
    struct kernel_cache_write given = *shape;
    struct cuda_fault fault = cuda_fault_place();
    int64_t rows = shape->batch * shape->outer;
    int bytes = (((uintptr_t)y | (uintptr_t)update | (uintptr_t)shape->inner_bytes) & 3) ? 1 : 4;
    int64_t inner = shape->inner_bytes / bytes, count = rows * shape->steps * inner;

    copy_all(y, cache, rows * shape->places * shape->inner_bytes);
    cuda_launch_elements(CUDA_KERNEL_cache_write_any, count,
                         (void *[]){&y, &update, &at, &bytes, &inner, &count, &given, &fault});
    return cuda_fault_result();
}

static void quantize_dynamic_cuda(uint8_t *y, float *scale, uint8_t *zero, const float *x,
                                  size_t size)
{
    int64_t count = (int64_t)size;

    cuda_launch_lines(CUDA_KERNEL_quantize_dynamic_u8, 1,
                      (void *[]){&y, &scale, &zero, &x, &count});
}

static void quantize_cuda(void *y, const void *x, const void *scale, const void *zero,
                          const struct kernel_quantize *shape)
{
    struct kernel_quantize given = *shape;
    int64_t count = shape->outer * shape->axis * shape->inner;

    cuda_launch_elements(CUDA_KERNEL_quantize_any, count,
                         (void *[]){&y, &x, &scale, &zero, &count, &given});
}

static void dequantize_cuda(void *y, const void *x, const void *scale, const void *zero,
                            const struct kernel_quantize *shape)
{
    struct kernel_quantize given = *shape;
    int64_t count = shape->outer * shape->axis * shape->inner;

    cuda_launch_elements(CUDA_KERNEL_dequantize_any, count,
                         (void *[]){&y, &x, &scale, &zero, &count, &given});
}

void cuda_table_order(struct kernel_table *table)
{
    CUDA_USE(scatter_elements, scatter_elements_cuda);
    CUDA_USE(scatter_nd, scatter_nd_cuda);
    CUDA_USE(top_k, top_k_cuda);
    CUDA_USE(triangle, triangle_cuda);
    CUDA_USE(reverse, reverse_cuda);
    CUDA_USE(cache_write, cache_write_cuda);
    CUDA_USE(quantize_dynamic, quantize_dynamic_cuda);
    CUDA_USE(quantize, quantize_cuda);
    CUDA_USE(dequantize, dequantize_cuda);
}
