/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of half precision by a warp, as tensor cores make them: 16 rows by 16 by 8 columns, with sums
 * of float32. Which element lies in which lane is as PTX says of mma.m16n8k16:
 *
 *     a     [16, 16]: part 0 has row lane / 4 and columns 2 * (lane % 4) and the next; part 1 the row 8
 *           behind; parts 2 and 3 the columns 8 behind
 *     b     [16, 8]: part 0 has rows 2 * (lane % 4) and the next of column lane / 4; part 1 8 behind
 *     sums  [16, 8]: 0 and 1 row lane / 4, columns 2 * (lane % 4) and the next; 2 and 3 8 rows behind
 *
 * On sm_75, float16 goes by halves of that, and bfloat16, which has no such products there, by float32.
 */
#ifndef OPTRACE_KERNELS_CUDA_MATRIX_CUH
#define OPTRACE_KERNELS_CUDA_MATRIX_CUH

#include "kernels/cuda/device.cuh"

#if defined(EMULATION)
#define LOAD_MATRICES(out, row, is_turned)                                                         \
    emu_load_matrices(out, row, is_turned, __FILE__, __LINE__)
#else
/* Four matrices of 8 rows of 16 bytes; the lanes 8 * i to 8 * i + 7 say where those of matrix i lie. */
#define LOAD_MATRICES(out, row, is_turned) load_matrices<is_turned>(out, row)
template <bool IS_TURNED>
static __device__ __forceinline__ void load_matrices(uint32_t *out, const void *row)
{
    unsigned at = (unsigned)__cvta_generic_to_shared(row);

    if (IS_TURNED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                     : "r"(at)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                     : "r"(at)
                     : "memory");
}
#endif

/* Two numbers of float16 or bfloat16 in one word, the first in its lower half. */
template <int DTYPE>
static __device__ __forceinline__ float first_of(uint32_t two)
{
    return DTYPE == KERNEL_F16 ? half_to_f32((uint16_t)(two & 0xffff))
                               : __int_as_float((int)(two << 16));
}

template <int DTYPE>
static __device__ __forceinline__ float second_of(uint32_t two)
{
    return DTYPE == KERNEL_F16 ? half_to_f32((uint16_t)(two >> 16))
                               : __int_as_float((int)(two & 0xffff0000u));
}

template <int DTYPE>
static __device__ __forceinline__ uint32_t both_of(float first, float second)
{
#if !defined(EMULATION) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint32_t two;

    if (DTYPE == KERNEL_F16)
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(second), "f"(first));
    else
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(second), "f"(first));
    return two;
#else
    return DTYPE == KERNEL_F16
               ? (uint32_t)f32_to_half(first) | (uint32_t)f32_to_half(second) << 16
               : (uint32_t)f32_to_brain(first) | (uint32_t)f32_to_brain(second) << 16;
#endif
}

/* The same without tensor cores: what a lane needs of a row and of two columns comes from those who
 * have it. */
template <int DTYPE>
static __device__ __forceinline__ void multiply_plain(float *sums, const uint32_t *a, uint32_t b0,
                                                      uint32_t b1)
{
    int lane = threadIdx.x % 32, row = lane / 4 * 4, column = 8 * (lane % 4);
    uint64_t mine[3] = {a[0] | (uint64_t)a[2] << 32, a[1] | (uint64_t)a[3] << 32,
                        b0 | (uint64_t)b1 << 32};

    UNROLL_NOT
    for (int from = 0; from < 4; from++) {
        uint64_t upper = __shfl_sync(EVERY_LANE, mine[0], row + from);
        uint64_t lower = __shfl_sync(EVERY_LANE, mine[1], row + from);
        uint64_t left = __shfl_sync(EVERY_LANE, mine[2], column + from);
        uint64_t right = __shfl_sync(EVERY_LANE, mine[2], column + 4 + from);

        UNROLL
        for (int e = 0; e < 64; e += 32) {
            uint32_t rows[2] = {(uint32_t)(upper >> e), (uint32_t)(lower >> e)};
            uint32_t columns[2] = {(uint32_t)(left >> e), (uint32_t)(right >> e)};

            UNROLL
            for (int i = 0; i < 4; i++) {
                sums[i] =
                    fmaf(first_of<DTYPE>(rows[i / 2]), first_of<DTYPE>(columns[i % 2]), sums[i]);
                sums[i] =
                    fmaf(second_of<DTYPE>(rows[i / 2]), second_of<DTYPE>(columns[i % 2]), sums[i]);
            }
        }
    }
}

/* sums += a by b. All lanes do it: it is not to move to where only some of them go on. */
template <int DTYPE>
static __device__ __forceinline__ void multiply_add(float *sums, const uint32_t *a, uint32_t b0,
                                                    uint32_t b1)
{
#if defined(EMULATION)
    emu_operands mine;

    if (DTYPE != KERNEL_F16) { /* as on sm_75 */
        multiply_plain<DTYPE>(sums, a, b0, b1);
        return;
    }
    for (int i = 0; i < 4; i++) {
        mine.a[2 * i] = first_of<DTYPE>(a[i]);
        mine.a[2 * i + 1] = second_of<DTYPE>(a[i]);
    }
    mine.b[0] = first_of<DTYPE>(b0);
    mine.b[1] = second_of<DTYPE>(b0);
    mine.b[2] = first_of<DTYPE>(b1);
    mine.b[3] = second_of<DTYPE>(b1);
    emu_multiply(sums, mine, __FILE__, __LINE__);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if (DTYPE == KERNEL_F16)
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
            "{%8, %9}, {%0, %1, %2, %3};"
            : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, "
            "%7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    if (DTYPE != KERNEL_F16) {
        multiply_plain<DTYPE>(sums, a, b0, b1);
        return;
    }
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, "
        "%1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(b0));
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, "
        "%1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[2]), "r"(a[3]), "r"(b1));
#endif
}

/* 16 bytes to shared memory, or zeros: there when the thread has waited for its copies. */
static __device__ __forceinline__ void copy_later(struct quad *to, const void *from, bool is_there)
{
#if defined(EMULATION)
    emu_copy_later(to, from, is_there);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(is_there ? 16 : 0)
                 : "memory");
#else
    struct quad none = {{0.0f, 0.0f, 0.0f, 0.0f}};

    *to = is_there ? *(const struct quad *)from : none;
#endif
}

static __device__ __forceinline__ void wait_for_copies(void)
{
#if defined(EMULATION)
    emu_copies_wait();
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}

/* 2^x, to about 2^-22 of it; what is smaller than the smallest normal number is 0. */
static __device__ __forceinline__ float power_of_two(float x)
{
#if defined(EMULATION)
    return exp2f(x);
#else
    float y;

    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

#endif
