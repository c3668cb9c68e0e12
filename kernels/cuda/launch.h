/* SPDX-License-Identifier: Apache-2.0 */
/* How launchers hand kernels over: inside of kernels/cuda only. */
#ifndef OPTRACE_KERNELS_CUDA_LAUNCH_H
#define OPTRACE_KERNELS_CUDA_LAUNCH_H

#include "kernels/cuda/args.h"

#define CUDA_KERNELS(X)                                                                            \
    X(map_f32)                                                                                     \
    X(map_any)                                                                                     \
    X(clip_f32)                                                                                    \
    X(zip_f32)                                                                                     \
    X(zip_dense_f32)                                                                               \
    X(zip_one_f32)                                                                                 \
    X(zip_repeat_f32)                                                                              \
    X(zip_any)                                                                                     \
    X(chain_f32)                                                                                   \
    X(chain_half)                                                                                  \
    X(step_half)                                                                                   \
    X(convert_half)                                                                                \
    X(saturate_half)                                                                               \
    X(where_any)                                                                                   \
    X(cast_any)                                                                                    \
    X(copy_1)                                                                                      \
    X(copy_2)                                                                                      \
    X(copy_4)                                                                                      \
    X(copy_8)                                                                                      \
    X(copy_16)                                                                                     \
    X(transpose_4)                                                                                 \
    X(fill_any)                                                                                    \
    X(pad_any)                                                                                     \
    X(gather_any)                                                                                  \
    X(gather_elements_any)                                                                         \
    X(gather_nd_any)                                                                               \
    X(one_hot_any)                                                                                 \
    X(eye_any)                                                                                     \
    X(range_any)                                                                                   \
    X(reduce_block)                                                                                \
    X(reduce_thread)                                                                               \
    X(arg_reduce_any)                                                                              \
    X(along_block)                                                                                 \
    X(along_thread)                                                                                \
    X(normalize_block)                                                                             \
    X(softmax_warp_f32)                                                                            \
    X(softmax_block_f32)                                                                           \
    X(normalize_warp_f32)                                                                          \
    X(normalize_block_f32)                                                                         \
    X(reduce_warp_f32)                                                                             \
    X(reduce_block_f32)                                                                            \
    X(batch_norm_f32)                                                                              \
    X(conv_f32)                                                                                    \
    X(conv_end_f32)                                                                                \
    X(conv_half)                                                                                   \
    X(conv_end_half)                                                                               \
    X(pool_f32)                                                                                    \
    X(lrn_f32)                                                                                     \
    X(gemm_f32)                                                                                    \
    X(gemm_half)                                                                                   \
    X(gemm_end_half)                                                                               \
    X(product_any)                                                                                 \
    X(einsum_any)                                                                                  \
    X(convolve_any)                                                                                \
    X(conv_transpose_any)                                                                          \
    X(pool_any)                                                                                    \
    X(scatter_elements_any)                                                                        \
    X(scatter_nd_any)                                                                              \
    X(top_k_any)                                                                                   \
    X(triangle_any)                                                                                \
    X(reverse_any)                                                                                 \
    X(quantize_any)                                                                                \
    X(dequantize_any)                                                                              \
    X(attention_any)                                                                               \
    X(attention_tile_64)                                                                           \
    X(attention_tile_128)                                                                          \
    X(attention_f16_64)                                                                            \
    X(attention_f16_128)                                                                           \
    X(attention_bf16_64)                                                                           \
    X(attention_bf16_128)                                                                          \
    X(attention_few_f16_64)                                                                        \
    X(attention_few_f16_128)                                                                       \
    X(attention_few_bf16_64)                                                                       \
    X(attention_few_bf16_128)                                                                      \
    X(attention_join)                                                                              \
    X(present_any)                                                                                 \
    X(rotary_any)                                                                                  \
    X(resample_any)                                                                                \
    X(recurrent_step)                                                                              \
    X(recurrent_states)                                                                            \
    X(recurrent_step_f64)                                                                          \
    X(recurrent_states_f64)                                                                        \
    X(cache_write_any)                                                                             \
    X(nms_keep)                                                                                    \
    X(nms_rows)                                                                                    \
    X(quantize_dynamic_u8)                                                                         \
    X(peak_copy)                                                                                   \
    X(peak_multiply_add)

enum cuda_kernel {
#define CUDA_KERNEL_ID(name) CUDA_KERNEL_##name,
    CUDA_KERNELS(CUDA_KERNEL_ID)
#undef CUDA_KERNEL_ID
        CUDA_KERNEL_COUNT,
};

/** Blocks, or threads of a block, along three axes. */
struct cuda_size {
    unsigned x, y, z;
};

/** On the calling thread's device. arguments: the addresses of the kernel's, in their order. */
void cuda_launch(enum cuda_kernel kernel, struct cuda_size grid, struct cuda_size block,
                 void **arguments);

/** One thread per element, where there are that many blocks. Of no element nothing is launched. */
void cuda_launch_elements(enum cuda_kernel kernel, int64_t count, void **arguments);

/** The same for float32 of which a thread takes four. */
void cuda_launch_quads(enum cuda_kernel kernel, int64_t count, void **arguments);

/** A block of CUDA_LINE_BLOCK threads per line. */
void cuda_launch_lines(enum cuda_kernel kernel, int64_t count, void **arguments);

/** A warp or a block per row: `by_warp` or `by_block`. */
void cuda_launch_rows(enum cuda_kernel by_warp, enum cuda_kernel by_block,
                      const struct cuda_rows *rows);

/** `value` where it is on the device; else its first `bytes`, at most 8, are taken now. */
struct cuda_scalar cuda_scalar_of(const void *value, size_t bytes);

/** Where kernels tell of an index that is out of range. */
struct cuda_fault cuda_fault_place(void);

/** For functions that tell of it: 0, or -1 where this thread waits for that. */
int cuda_fault_result(void);

/** Where a kernel puts a number that a function returns, where this thread waits for it; NULL: it does not. */
int64_t *cuda_answer_place(void);

/** The calling thread's device. */
struct kernel_cuda *cuda_current(void);

/** A function of the table. */
copy_fn cuda_copy;

/** Infinities of float16 that a library has made of finite sums become the largest number. */
void cuda_saturate_half(void *y, int64_t count);

/** Of all axes. */
int64_t cuda_product(const int64_t *dims, int rank);

/** Whether a tensor of these dims and strides lies as a dense one. */
bool cuda_is_dense(const int64_t *dims, const int64_t *strides, int rank);

/** Whether all are at multiples of 16 bytes, or NULL. */
bool cuda_are_aligned(const void *const *pointers, int count);

/** The axes of a dense tensor in those that stay and those that are summed up. */
struct cuda_groups cuda_groups_of(const int64_t *dims, const bool *is_reduced, int rank);

/* The launchers, by file. */
void cuda_table_elementwise(struct kernel_table *table);
void cuda_table_move(struct kernel_table *table);
void cuda_table_nms(struct kernel_table *table);
void cuda_table_reduce(struct kernel_table *table);
void cuda_table_image(struct kernel_table *table);
void cuda_table_any(struct kernel_table *table);
void cuda_table_conv(struct kernel_table *table);
void cuda_table_product(struct kernel_table *table);
void cuda_table_order(struct kernel_table *table);
void cuda_table_attention(struct kernel_table *table);
void cuda_table_recurrent(struct kernel_table *table);

#define CUDA_USE(entry, function)                                                                  \
    do {                                                                                           \
        table->entry.fn = function;                                                                \
        table->entry.version = kernel_cuda_version;                                                \
    } while (0)

#endif
