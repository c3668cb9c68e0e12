/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel table: reference first, then the best that this machine runs. */
#include "kernels/kernels.h"

#include <stdatomic.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define USE(entry, name, v)                                                                        \
    do {                                                                                           \
        table->entry.fn = name##_##v;                                                              \
        table->entry.version = #v;                                                                 \
    } while (0)

/* Of an entry of a family's list what a level has. */
#define AT_REF(name, versions)      USE(name, name, ref)
#define AT_PORTABLE(name, versions) PORTABLE_OF_##versions(name)
#define AT_AVX2(name, versions)     FAST_OF_##versions(name, avx2)
#define AT_AVX512(name, versions)   FAST_OF_##versions(name, avx512)

#define PORTABLE_OF_REF(name)
#define PORTABLE_OF_PORTABLE(name) USE(name, name, portable)
#define PORTABLE_OF_EACH(name)     USE(name, name, portable)
#define FAST_OF_REF(name, v)
#define FAST_OF_PORTABLE(name, v)
#define FAST_OF_EACH(name, v) USE(name, name, v)

#define USE_ARITHMETIC(dtype, name, v)                                                             \
    do {                                                                                           \
        USE(binary[KERNEL_ADD][dtype], add_##name, v);                                             \
        USE(binary[KERNEL_SUB][dtype], sub_##name, v);                                             \
        USE(binary[KERNEL_MUL][dtype], mul_##name, v);                                             \
        USE(binary[KERNEL_DIV][dtype], div_##name, v);                                             \
    } while (0)

static void init_ref(struct kernel_table *table)
{
    USE(unary_f32[KERNEL_RELU], relu_f32, ref);
    USE(unary_f32[KERNEL_LEAKY_RELU], leaky_relu_f32, ref);
    USE(unary_f32[KERNEL_CLIP], clip_f32, ref);
    USE(unary_f32[KERNEL_SIGMOID], sigmoid_f32, ref);
    USE(unary_f32[KERNEL_TANH], tanh_f32, ref);
    USE_ARITHMETIC(KERNEL_F32, f32, ref);
    USE_ARITHMETIC(KERNEL_F64, f64, ref);
    USE_ARITHMETIC(KERNEL_I32, i32, ref);
    USE_ARITHMETIC(KERNEL_I64, i64, ref);
    USE(max_pool_f32, max_pool_f32, ref);
    USE(average_pool_f32, average_pool_f32, ref);
    ALL_KERNELS(AT_REF);
}

/* What is compiled once per instruction set and stands in no family's list. */
#define USE_VERSIONS(v)                                                                            \
    do {                                                                                           \
        USE(unary_f32[KERNEL_RELU], relu_f32, v);                                                  \
        USE(unary_f32[KERNEL_LEAKY_RELU], leaky_relu_f32, v);                                      \
        USE(unary_f32[KERNEL_CLIP], clip_f32, v);                                                  \
        USE(unary_f32[KERNEL_SIGMOID], sigmoid_f32, v);                                            \
        USE(unary_f32[KERNEL_TANH], tanh_f32, v);                                                  \
        USE_ARITHMETIC(KERNEL_F32, f32, v);                                                        \
        USE_ARITHMETIC(KERNEL_F64, f64, v);                                                        \
        USE_ARITHMETIC(KERNEL_I32, i32, v);                                                        \
        USE_ARITHMETIC(KERNEL_I64, i64, v);                                                        \
        USE(max_pool_f32, max_pool_f32, v);                                                        \
        USE(average_pool_f32, average_pool_f32, v);                                                \
    } while (0)

#if defined(__x86_64__)
/* clang's __builtin_cpu_supports() does not know it. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

static enum kernel_level find_best_level(void)
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

enum kernel_level kernel_best_level(void)
{
    /* Asked once: under a hypervisor CPUID takes microseconds. Threads may ask at the same time. */
    static atomic_int known; /* and 1 */
    int level = atomic_load_explicit(&known, memory_order_relaxed) - 1;

    if (level < 0) {
        level = find_best_level();
        atomic_store_explicit(&known, level + 1, memory_order_relaxed);
    }
    return (enum kernel_level)level;
}

void kernel_table_init(struct kernel_table *table, enum kernel_level level)
{
    *table = (struct kernel_table){.level = level};
    init_ref(table);
    if (level >= KERNEL_LEVEL_PORTABLE) {
        USE_VERSIONS(portable);
        ALL_KERNELS(AT_PORTABLE);
    }
#if defined(__x86_64__)
    if (level >= KERNEL_LEVEL_AVX2) {
        USE_VERSIONS(avx2);
        ALL_KERNELS(AT_AVX2);
    }
    if (level >= KERNEL_LEVEL_AVX512) {
        USE_VERSIONS(avx512);
        ALL_KERNELS(AT_AVX512);
    }
#endif
}
