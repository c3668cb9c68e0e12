/* SPDX-License-Identifier: Apache-2.0 */
/* What a device can do at best: kernels that do nothing but copy, and nothing but multiply and add. */
#include "kernels/cuda/device.cuh"

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    peak_copy(struct quad *y, const struct quad *x, int64_t count)
{
    for (int64_t i = grid_index(); i < count; i += grid_step())
        y[i] = x[i];
}
KERNEL_EXPORT(peak_copy)

/* Chains that do not wait for each other. The result is stored where it is what it never is, so that
 * no compiler leaves it out. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    peak_multiply_add(float *y, int64_t rounds, float factor, float addend)
{
    float sum[CUDA_PEAK_CHAINS], total = 0.0f;

    for (int i = 0; i < CUDA_PEAK_CHAINS; i++)
        sum[i] = (float)(threadIdx.x + (unsigned)i);
    for (int64_t r = 0; r < rounds; r++)
        for (int i = 0; i < CUDA_PEAK_CHAINS; i++)
            sum[i] = fmaf(sum[i], factor, addend);
    for (int i = 0; i < CUDA_PEAK_CHAINS; i++)
        total += sum[i];
    if (total == -1.0f)
        y[0] = total;
}
KERNEL_EXPORT(peak_multiply_add)
