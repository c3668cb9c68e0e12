/* SPDX-License-Identifier: Apache-2.0 */
/* A program of nvcc, unchanged: what it launches is recorded over the double, which runs none of it. */
#include <cstdio>

template <typename T>
__global__ void scale(T *x, T factor)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] *= factor;
}

extern "C" __global__ void shift(float *x)
{
    x[threadIdx.x] += 1.0f;
}

int main()
{
    float *x = nullptr;

    if (cudaMalloc(reinterpret_cast<void **>(&x), 1 << 20) != cudaSuccess)
        return 1;
    for (int i = 0; i < 100; i++) {
        scale<float><<<64, 256>>>(x, 2.0f);
        shift<<<1, 32>>>(x);
    }
    if (cudaDeviceSynchronize() != cudaSuccess || cudaGetLastError() != cudaSuccess)
        return 1;
    cudaFree(x);
    std::printf("200 launches\n");
    return 0;
}
