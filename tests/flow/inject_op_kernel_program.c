/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model of the small ONNX Runtime whose nodes launch over the double of CUDA: inject_op_kernel_program
 * RUNS. A convolution is a product of cuBLAS, the others a kernel each; the last one
 * waits for the device.
 */
#include <stdlib.h>

#include "tests/support/cuda/double.h"
#include "tests/support/cuda/runtime.h"
#include "tests/support/ort/nodes.h"
#include "tests/support/ort_program.h"

int cublasSgemm_v2(void *handle, int a_op, int b_op, int m, int n, int k, const void *alpha,
                   const void *a, int lda, const void *b, int ldb, const void *beta, void *c,
                   int ldc);

static const char *const names[] = {"relu", "scale"};
static char kernels[2]; /* functions of the host are known by their address */

static void launch(int which)
{
    if (cudaLaunchKernel(&kernels[which], (struct size3){16, 1, 1}, (struct size3){128, 1, 1}, NULL,
                         0, NULL) != 0)
        exit(1);
}

void nodes_compute(uint64_t node)
{
    if (node > 1)
        launch((int)node - 2);
    else if (cublasSgemm_v2(NULL, 0, 0, 128, 256, 512, NULL, NULL, 128, NULL, 512, NULL, NULL, 128))
        exit(1);
    if (node == 3 && cudaDeviceSynchronize() != 0)
        exit(1);
}

int main(int argc, char **argv)
{
    const int runs = argc > 1 ? atoi(argv[1]) : 1;
    double sum = 0;
    void *session;

    ort_api = OrtGetApiBase()->get_api(17);
    for (int i = 0; i < 2; i++)
        __cudaRegisterFunction(NULL, &kernels[i], NULL, names[i], 0, NULL, NULL, NULL, NULL, NULL);
    if (cuInit(0) != 0)
        return 1;
    ort_create("/models/conv.onnx", &session);
    for (int i = 0; i < runs; i++)
        sum += ort_run(session, i);
    ort_release(session);
    printf("%g\n", sum);
    return 0;
}
