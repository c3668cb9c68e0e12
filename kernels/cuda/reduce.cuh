/* SPDX-License-Identifier: Apache-2.0 */
/* What a reduction does with each element, in double: shared by the kernels of any layout and of rows. */
#ifndef OPTRACE_KERNELS_CUDA_REDUCE_CUH
#define OPTRACE_KERNELS_CUDA_REDUCE_CUH

#include "kernels/cuda/device.cuh"

static __device__ double begin_real(int op)
{
    return op == REDUCE_MAX   ? -(double)INFINITY
           : op == REDUCE_MIN ? (double)INFINITY
                              : op == REDUCE_PROD;
}

static __device__ double add_real(int op, double sum, double x, double largest)
{
    switch (op) {
    case REDUCE_L1:
        return sum + fabs(x);
    case REDUCE_L2:
    case REDUCE_SUM_SQUARE:
        return sum + x * x;
    case REDUCE_LOG_SUM_EXP:
        return sum + exp(x - largest);
    case REDUCE_MAX:
        return is_nan(sum) || is_nan(x) ? (double)NAN : x > sum ? x : sum;
    case REDUCE_MIN:
        return is_nan(sum) || is_nan(x) ? (double)NAN : x < sum ? x : sum;
    case REDUCE_PROD:
        return sum * x;
    default:
        return sum + x;
    }
}

/* Two sums of parts become one. */
struct join_of {
    int op;
    __device__ double operator()(double a, double b) const
    {
        return op == REDUCE_MAX || op == REDUCE_MIN || op == REDUCE_PROD ? add_real(op, a, b, 0.0)
                                                                         : a + b;
    }
};

static __device__ double end_real(int op, double sum, int64_t count, double largest)
{
    switch (op) {
    case REDUCE_L2:
        return sqrt(sum);
    case REDUCE_LOG_SUM:
        return log(sum);
    case REDUCE_LOG_SUM_EXP:
        return log(sum) + largest;
    case REDUCE_MEAN:
        return sum / (double)count;
    default:
        return sum;
    }
}

#endif
