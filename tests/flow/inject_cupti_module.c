/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a program that comes and goes, with kernels of its own, as plugins do. */
#include <stddef.h>

#include "tests/support/cuda/runtime.h"

int launch_of_module(int count);

static char scale;

/* The last of them run when the module is gone. */
int launch_of_module(int count)
{
    int rc = 0;

    __cudaRegisterFunction(NULL, &scale, NULL, "scale", 0, NULL, NULL, NULL, NULL, NULL);
    for (int i = 0; i < count; i++)
        rc |= cudaLaunchKernel(&scale, (struct size3){1, 1, 1}, (struct size3){32, 1, 1}, NULL, 0,
                               NULL);
    return rc;
}
