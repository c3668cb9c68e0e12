/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every .cu file here includes: one source, for nvcc and for the emulated device of the tests,
 * whose header stands in EMULATION.
 *
 * Numbers are kept as the contracts say: reals that are not f32 are computed in f64 and rounded
 * once, integers in int64.
 */
#ifndef OPTRACE_KERNELS_CUDA_DEVICE_CUH
#define OPTRACE_KERNELS_CUDA_DEVICE_CUH

#if defined(EMULATION)
#include EMULATION
#else
#include <math.h>
#include <stdint.h>
#define KERNEL_EXPORT(name)
#endif

#define KERNEL_SHARED static __host__ __device__ inline
#include "kernels/cuda/args.h"

#define EVERY_LANE 0xffffffffu
/* The number of the mistake that a test plants, to see that it is found: none on a device. */
#if !defined(BUG)
#define BUG 0
#endif

/* Wholly, so that what a thread keeps in an array is in registers; by four or two, where that takes too
 * many. */
#if defined(EMULATION)
#define UNROLL
#define UNROLL_FOUR
#define UNROLL_TWO
#define UNROLL_NOT
#else
#define UNROLL      _Pragma("unroll")
#define UNROLL_FOUR _Pragma("unroll 4")
#define UNROLL_TWO  _Pragma("unroll 2")
#define UNROLL_NOT  _Pragma("unroll 1")
#endif

/* What a thread moves at once, where that lies together. */
struct alignas(16) quad {
    float part[4];
};

static __device__ __forceinline__ bool are_quads(const void *a, const void *b, const void *c)
{
    return ((uintptr_t)a | (uintptr_t)b | (uintptr_t)c) % sizeof(struct quad) == 0;
}

/* The index of the thread over the whole grid, and how many there are. */
static __device__ __forceinline__ int64_t grid_index(void)
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ int64_t grid_step(void)
{
    return (int64_t)gridDim.x * blockDim.x;
}

static __device__ __forceinline__ bool is_real_type(int dtype)
{
    return dtype <= KERNEL_BF16;
}

static __device__ __forceinline__ bool is_nan(double x)
{
    return x != x;
}

static __device__ inline double half_to_f64(uint16_t half)
{
    int exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
    double sign = half & 0x8000 ? -1.0 : 1.0;

    if (exponent == 0x1f)
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp((double)fraction, -24);
    return sign * ldexp((double)(fraction + 1024), exponent - 25);
}

static __device__ __forceinline__ float half_to_f32(uint16_t half)
{
#if defined(EMULATION)
    bool is_finite = (half & 0x7c00) != 0x7c00;
    float size = __int_as_float((half & 0x7fff) << 13);

    size = is_finite ? size * 0x1p112f : __int_as_float(0x7f800000 | (half & 0x3ff) << 13);
    return half & 0x8000 ? -size : size;
#else
    float number;

    asm("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"(half));
    return number;
#endif
}

static __device__ __forceinline__ float brain_to_f32(uint16_t brain)
{
    return __int_as_float((int)((uint32_t)brain << 16));
}

/* Rounds to nearest, ties to even; a carry out of the fraction runs into the exponent. */
static __device__ inline uint16_t f64_to_half(double number)
{
    uint16_t sign = copysign(1.0, number) < 0.0 ? 0x8000 : 0;
    double size = fabs(number);
    int exponent;

    if (is_nan(number))
        return 0x7e00;
    if (size >= 65520.0)
        return sign | 0x7c00;
    if (size < 6.103515625e-05) /* 2^-14 */
        return sign | (uint16_t)rint(ldexp(size, 24));
    exponent = ilogb(size);
    return sign | (uint16_t)(((exponent + 14) << 10) + (int)rint(ldexp(size, 10 - exponent)));
}

static __device__ inline uint16_t f64_to_brain(double number)
{
    float narrow = (float)number;

    if (is_nan(number))
        return 0x7fc0;
    if (!isinf(number) && number != 0.0) {
        int exponent = ilogb(number) < -126 ? -126 : ilogb(number);

        narrow = (float)ldexp(rint(ldexp(number, 7 - exponent)), exponent - 7);
    }
    return (uint16_t)((unsigned)__float_as_int(narrow) >> 16);
}

static __device__ __forceinline__ uint16_t f32_to_half(float number)
{
#if defined(EMULATION)
    return f64_to_half((double)number);
#else
    uint16_t half;

    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(number));
    return half;
#endif
}

/* A carry out of the fraction runs into the exponent, also into that of infinity. */
static __device__ __forceinline__ uint16_t f32_to_brain(float number)
{
    uint32_t bits = (uint32_t)__float_as_int(number);

    return number != number ? 0x7fc0 : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static __device__ inline int64_t get_i64(const void *x, int dtype, int64_t i)
{
    switch (dtype) {
    case KERNEL_I8:
    case KERNEL_I4:
    case KERNEL_I2:
        return ((const int8_t *)x)[i];
    case KERNEL_I16:
        return ((const int16_t *)x)[i];
    case KERNEL_I32:
        return ((const int32_t *)x)[i];
    case KERNEL_I64:
    case KERNEL_U64: /* the bits */
        return ((const int64_t *)x)[i];
    case KERNEL_U16:
        return ((const uint16_t *)x)[i];
    case KERNEL_U32:
        return ((const uint32_t *)x)[i];
    default:
        return ((const uint8_t *)x)[i];
    }
}

static __device__ inline double get_f64(const void *x, int dtype, int64_t i)
{
    switch (dtype) {
    case KERNEL_F32:
        return (double)((const float *)x)[i];
    case KERNEL_F64:
        return ((const double *)x)[i];
    case KERNEL_F16:
        return (double)half_to_f32(((const uint16_t *)x)[i]);
    case KERNEL_BF16:
        return (double)brain_to_f32(((const uint16_t *)x)[i]);
    case KERNEL_U64:
        return (double)((const uint64_t *)x)[i];
    default:
        return (double)get_i64(x, dtype, i);
    }
}

static __device__ inline void set_i64(void *y, int dtype, int64_t i, int64_t number)
{
    switch (dtype) {
    case KERNEL_I16:
    case KERNEL_U16:
        ((uint16_t *)y)[i] = (uint16_t)number;
        break;
    case KERNEL_I32:
    case KERNEL_U32:
        ((uint32_t *)y)[i] = (uint32_t)number;
        break;
    case KERNEL_I64:
    case KERNEL_U64:
        ((int64_t *)y)[i] = number;
        break;
    default:
        ((uint8_t *)y)[i] = (uint8_t)number;
        break;
    }
}

static __device__ inline int64_t lowest_of(int dtype)
{
    switch (dtype) {
    case KERNEL_I8:
        return INT8_MIN;
    case KERNEL_I16:
        return INT16_MIN;
    case KERNEL_I32:
        return INT32_MIN;
    case KERNEL_I64:
        return INT64_MIN;
    case KERNEL_I4:
        return -8;
    case KERNEL_I2:
        return -2;
    default:
        return 0;
    }
}

static __device__ inline int64_t highest_of(int dtype)
{
    switch (dtype) {
    case KERNEL_I8:
        return INT8_MAX;
    case KERNEL_I16:
        return INT16_MAX;
    case KERNEL_I32:
        return INT32_MAX;
    case KERNEL_I64:
        return INT64_MAX;
    case KERNEL_U16:
        return UINT16_MAX;
    case KERNEL_U32:
        return UINT32_MAX;
    case KERNEL_I4:
        return 7;
    case KERNEL_U4:
        return 15;
    case KERNEL_U2:
        return 3;
    case KERNEL_BOOL:
    case KERNEL_I2:
        return 1;
    default:
        return UINT8_MAX;
    }
}

/* Cuts off and saturates; NaN is 0. 2^63 as a double is one above the largest int64. */
static __device__ inline int64_t saturate(int dtype, double number)
{
    if (is_nan(number))
        return 0;
    if (number <= (double)lowest_of(dtype))
        return lowest_of(dtype);
    if (number >= (double)highest_of(dtype))
        return highest_of(dtype);
    return (int64_t)number;
}

static __device__ inline void set_f64(void *y, int dtype, int64_t i, double number)
{
    switch (dtype) {
    case KERNEL_F32:
        ((float *)y)[i] = (float)number;
        break;
    case KERNEL_F64:
        ((double *)y)[i] = number;
        break;
    case KERNEL_F16:
        ((uint16_t *)y)[i] = f64_to_half(number);
        break;
    case KERNEL_BF16:
        ((uint16_t *)y)[i] = f64_to_brain(number);
        break;
    case KERNEL_BOOL:
        ((uint8_t *)y)[i] = number != 0.0;
        break;
    case KERNEL_U64:
        ((uint64_t *)y)[i] = !(number > 0.0)                    ? 0
                             : number >= 18446744073709551616.0 ? UINT64_MAX
                                                                : (uint64_t)number;
        break;
    default:
        set_i64(y, dtype, i, saturate(dtype, number));
        break;
    }
}

/* What is computed in float32, of f32, f16 and bf16. */
static __device__ __forceinline__ float get_f32(const void *x, int dtype, int64_t i)
{
    if (dtype == KERNEL_F32)
        return ((const float *)x)[i];
    return dtype == KERNEL_F16 ? half_to_f32(((const uint16_t *)x)[i])
                               : brain_to_f32(((const uint16_t *)x)[i]);
}

/* saturates  what is finite stays so */
static __device__ __forceinline__ void set_f32(void *y, int dtype, int64_t i, float number,
                                               bool saturates)
{
    const float most = dtype == KERNEL_F16 ? 65504.0f : 3.38953139e38f, size = fabsf(number);

    if (saturates && dtype != KERNEL_F32 && size > most && size <= 3.402823466e38f)
        number = BUG == 26 ? number : copysignf(most, number);
    if (dtype == KERNEL_F32)
        ((float *)y)[i] = number;
    else
        ((uint16_t *)y)[i] = dtype == KERNEL_F16 ? f32_to_half(number) : f32_to_brain(number);
}

/* A sum that a library has rounded to half precision: infinity stands for what is too large. */
static __device__ __forceinline__ float get_sum(const void *y, int dtype, int64_t i, bool saturates)
{
    float sum = get_f32(y, dtype, i);

    return saturates && dtype == KERNEL_F16 && isinf(sum) ? copysignf(65504.0f, sum) : sum;
}

/* One element of 1, 2, 4 or 8 bytes. */
static __device__ __forceinline__ void move_element(void *y, int64_t to, const void *x,
                                                    int64_t from, int bytes)
{
    if (bytes == 4)
        ((uint32_t *)y)[to] = ((const uint32_t *)x)[from];
    else if (bytes == 8)
        ((uint64_t *)y)[to] = ((const uint64_t *)x)[from];
    else if (bytes == 2)
        ((uint16_t *)y)[to] = ((const uint16_t *)x)[from];
    else
        ((uint8_t *)y)[to] = ((const uint8_t *)x)[from];
}

/* An index into `limit` places; 0, and the fault is told, where there is no such. */
static __device__ int64_t index_at(const void *indices, int type, int64_t i, int64_t limit,
                                   const struct cuda_fault *fault)
{
    int64_t index = get_i64(indices, type, i);

    if (index < -limit || index >= limit) {
        atomicCAS(fault->word, 0u, fault->mark);
        return limit > 0 ? 0 : -1;
    }
    return index < 0 ? (BUG == 7 ? -index : index + limit) : index;
}

/* Where element k of a window lies on an axis, or -1. */
static __device__ __forceinline__ int64_t window_at(const struct kernel_window *window, int axis,
                                                    int64_t o, int64_t k)
{
    int64_t at = o * window->stride[axis] - window->pad_begin[axis] + k * window->dilation[axis];

    return at >= 0 && at < window->in[axis] ? at : -1;
}

/* A result through an activation. */
static __device__ inline float activated(float x, const struct kernel_activation *activation)
{
    float a = activation->a, b = activation->b;

    switch (activation->kind) {
    case KERNEL_RELU:
        return x < 0.0f ? 0.0f : x;
    case KERNEL_LEAKY_RELU:
        return x < 0.0f ? a * x : x;
    case KERNEL_CLIP:
        x = x < a ? a : x;
        return x > b ? b : x;
    case KERNEL_SIGMOID:
        return 1.0f / (1.0f + expf(-x));
    case KERNEL_TANH:
        return tanhf(x);
    case KERNEL_GELU_TANH:
        return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
    default:
        return x;
    }
}

/* What f makes of the v of all threads of the block, in each of them. `partial` has room for a
 * number per warp; the block has whole warps. Callers may call it again at once. */
template <typename F>
static __device__ double block_reduce(double *partial, double v, F f, double neutral)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;

    for (int d = 16; d; d /= 2)
        v = f(v, __shfl_xor_sync(EVERY_LANE, v, d));
    if (lane == 0)
        partial[warp] = v;
    if (BUG != 1)
        __syncthreads();
    v = lane < warps ? partial[lane] : neutral;
    for (int d = 16; d; d /= 2)
        v = f(v, __shfl_xor_sync(EVERY_LANE, v, d));
    __syncthreads(); /* nobody writes `partial` again before all have read it */
    return v;
}

struct sum_of {
    __device__ double operator()(double a, double b) const
    {
        return a + b;
    }
};

/* The larger one, of which NaN is none. */
struct larger_of {
    __device__ double operator()(double a, double b) const
    {
        return fmax(a, b);
    }
};

struct largest_of {
    __device__ double operator()(double a, double b) const
    {
        return is_nan(a) || is_nan(b) ? (double)NAN : a > b ? a : b;
    }
};

#endif
