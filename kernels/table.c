/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel table: reference first, then the best that this machine runs. */
#include "kernels/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define USE(entry, name, v)                                                                        \
    do {                                                                                           \
        table->entry.fn = name##_##v;                                                              \
        table->entry.version = #v;                                                                 \
    } while (0)

static void init_ref(struct kernel_table *table)
{
    USE(unary_f32[KERNEL_RELU], relu_f32, ref);
    USE(unary_f32[KERNEL_LEAKY_RELU], leaky_relu_f32, ref);
    USE(unary_f32[KERNEL_CLIP], clip_f32, ref);
    USE(unary_f32[KERNEL_SIGMOID], sigmoid_f32, ref);
    USE(unary_f32[KERNEL_TANH], tanh_f32, ref);
    USE(binary[KERNEL_ADD][KERNEL_F32], add_f32, ref);
    USE(binary[KERNEL_SUB][KERNEL_F32], sub_f32, ref);
    USE(binary[KERNEL_MUL][KERNEL_F32], mul_f32, ref);
    USE(binary[KERNEL_DIV][KERNEL_F32], div_f32, ref);
    USE(binary[KERNEL_ADD][KERNEL_F64], add_f64, ref);
    USE(binary[KERNEL_SUB][KERNEL_F64], sub_f64, ref);
    USE(binary[KERNEL_MUL][KERNEL_F64], mul_f64, ref);
    USE(binary[KERNEL_DIV][KERNEL_F64], div_f64, ref);
    USE(binary[KERNEL_ADD][KERNEL_I32], add_i32, ref);
    USE(binary[KERNEL_SUB][KERNEL_I32], sub_i32, ref);
    USE(binary[KERNEL_MUL][KERNEL_I32], mul_i32, ref);
    USE(binary[KERNEL_DIV][KERNEL_I32], div_i32, ref);
    USE(binary[KERNEL_ADD][KERNEL_I64], add_i64, ref);
    USE(binary[KERNEL_SUB][KERNEL_I64], sub_i64, ref);
    USE(binary[KERNEL_MUL][KERNEL_I64], mul_i64, ref);
    USE(binary[KERNEL_DIV][KERNEL_I64], div_i64, ref);
    USE(conv_f32, conv_f32, ref);
    USE(gemm_f32, gemm_f32, ref);
    USE(max_pool_f32, max_pool_f32, ref);
    USE(average_pool_f32, average_pool_f32, ref);
    USE(lrn_f32, lrn_f32, ref);
    USE(softmax_f32, softmax_f32, ref);
    USE(batch_norm_f32, batch_norm_f32, ref);
    USE(copy, copy, ref);
    USE(fill, fill, ref);
    USE(pad, pad, ref);
    USE(gather, gather, ref);
    USE(cast, cast, ref);
    USE(map, map, ref);
    USE(zip, zip, ref);
    USE(chain, chain, ref);
    USE(where, where, ref);
    USE(reduce, reduce, ref);
    USE(arg_reduce, arg_reduce, ref);
    USE(normalize, normalize, ref);
    USE(along, along, ref);
    USE(attention, attention, ref);
    USE(rotary, rotary, ref);
    USE(quantize, quantize, ref);
    USE(dequantize, dequantize, ref);
    USE(quantize_dynamic, quantize_dynamic, ref);
    USE(resample, resample, ref);
    USE(gather_elements, gather_elements, ref);
    USE(scatter_elements, scatter_elements, ref);
    USE(gather_nd, gather_nd, ref);
    USE(scatter_nd, scatter_nd, ref);
    USE(top_k, top_k, ref);
    USE(nonzero, nonzero, ref);
    USE(compress, compress, ref);
    USE(one_hot, one_hot, ref);
    USE(triangle, triangle, ref);
    USE(eye, eye, ref);
    USE(range, range, ref);
    USE(reverse, reverse, ref);
    USE(cache_write, cache_write, ref);
    USE(product, product, ref);
    USE(einsum, einsum, ref);
    USE(convolve, convolve, ref);
    USE(product_int8, product_int8, ref);
    USE(convolve_int8, convolve_int8, ref);
    USE(conv_transpose, conv_transpose, ref);
    USE(pool, pool, ref);
    USE(lrn, lrn, ref);
    USE(batch_norm, batch_norm, ref);
    USE(recurrent, recurrent, ref);
    USE(grid_sample, grid_sample, ref);
    USE(roi_align, roi_align, ref);
    USE(nms, nms, ref);
}

/* Everything that is compiled once per instruction set. */
#define USE_VERSIONS(v)                                                                            \
    do {                                                                                           \
        USE(unary_f32[KERNEL_RELU], relu_f32, v);                                                  \
        USE(unary_f32[KERNEL_LEAKY_RELU], leaky_relu_f32, v);                                      \
        USE(unary_f32[KERNEL_CLIP], clip_f32, v);                                                  \
        USE(unary_f32[KERNEL_SIGMOID], sigmoid_f32, v);                                            \
        USE(unary_f32[KERNEL_TANH], tanh_f32, v);                                                  \
        USE(binary[KERNEL_ADD][KERNEL_F32], add_f32, v);                                           \
        USE(binary[KERNEL_SUB][KERNEL_F32], sub_f32, v);                                           \
        USE(binary[KERNEL_MUL][KERNEL_F32], mul_f32, v);                                           \
        USE(binary[KERNEL_DIV][KERNEL_F32], div_f32, v);                                           \
        USE(gemm_f32, gemm_f32, v);                                                                \
        USE(max_pool_f32, max_pool_f32, v);                                                        \
        USE(average_pool_f32, average_pool_f32, v);                                                \
        USE(lrn_f32, lrn_f32, v);                                                                  \
        USE(softmax_f32, softmax_f32, v);                                                          \
        USE(batch_norm_f32, batch_norm_f32, v);                                                    \
        USE(cast, cast, v);                                                                        \
        USE(map, map, v);                                                                          \
        USE(chain, chain, v);                                                                      \
        USE(reduce, reduce, v);                                                                    \
        USE(normalize, normalize, v);                                                              \
        USE(product_int8, product_int8, v);                                                        \
        USE(convolve_int8, convolve_int8, v);                                                      \
        USE(zip, zip, v);                                                                          \
        USE(where, where, v);                                                                      \
        USE(quantize, quantize, v);                                                                \
        USE(dequantize, dequantize, v);                                                            \
        USE(quantize_dynamic, quantize_dynamic, v);                                                \
        USE(recurrent, recurrent, v);                                                              \
        USE(attention, attention, v);                                                              \
        USE(product, product, v);                                                                  \
        USE(einsum, einsum, v);                                                                    \
        USE(resample, resample, v);                                                                \
        USE(along, along, v);                                                                      \
        USE(gather_elements, gather_elements, v);                                                  \
        USE(grid_sample, grid_sample, v);                                                          \
        USE(arg_reduce, arg_reduce, v);                                                            \
        USE(pool, pool, v);                                                                        \
    } while (0)

#if defined(__x86_64__)
/* clang's __builtin_cpu_supports() does not know it. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

enum kernel_level kernel_best_level(void)
{
#if defined(__x86_64__)
    if (!has_f16c())
        return KERNEL_LEVEL_PORTABLE;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return KERNEL_LEVEL_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return KERNEL_LEVEL_AVX2;
#endif
    return KERNEL_LEVEL_PORTABLE;
}

void kernel_table_init(struct kernel_table *table, enum kernel_level level)
{
    *table = (struct kernel_table){0};
    init_ref(table);
    if (level >= KERNEL_LEVEL_PORTABLE) {
        USE_VERSIONS(portable);
        USE(copy, copy, portable);
        USE(nms, nms, portable);
        USE(top_k, top_k, portable);
        USE(pad, pad, portable);
        USE(triangle, triangle, portable);
        USE(roi_align, roi_align, portable);
    }
#if defined(__x86_64__)
    if (level >= KERNEL_LEVEL_AVX2)
        USE_VERSIONS(avx2);
    if (level >= KERNEL_LEVEL_AVX512)
        USE_VERSIONS(avx512);
#endif
}
