/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver answers, in words. */
#include <errno.h>
#include <stdio.h>

#include "kernels/cuda/device.h"

int cuda_errno_of(int error)
{
    switch (error) {
    case CUDA_OUT_OF_MEMORY:
        return -ENOMEM;
    case CUDA_NO_DEVICE:
        return -ENODEV;
    case CUDA_INVALID_DEVICE:
        return -EINVAL;
    case CUDA_NO_BINARY:
    case CUDA_INVALID_IMAGE:
    case CUDA_UNSUPPORTED_PTX:
        return -ENOTSUP;
    default:
        return -EIO;
    }
}

const char *cuda_name_of(const struct cuda_driver *driver, int error, char out[CUDA_NAME_BYTES])
{
    const char *name = NULL;

    if (driver->cuGetErrorName(error, &name) != 0 || !name)
        snprintf(out, CUDA_NAME_BYTES, "error %d", error);
    else
        snprintf(out, CUDA_NAME_BYTES, "%s", name);
    return out;
}

/* How much there is, where there was too little. */
static void tell_room(const struct kernel_cuda *cuda, char *text, size_t bytes)
{
    size_t room = 0, all = 0;

    if (cuda->driver->cuMemGetInfo_v2(&room, &all) == 0)
        snprintf(text, bytes, "; %zu of its %zu bytes are free", room, all);
}

int cuda_checked(struct kernel_cuda *cuda, int error, const char *what)
{
    char name[CUDA_NAME_BYTES], room[CUDA_NAME_BYTES] = "";

    if (error == 0 || cuda->failure != 0)
        return cuda->failure;
    cuda->failure = cuda_errno_of(error);
    if (error == CUDA_OUT_OF_MEMORY)
        tell_room(cuda, room, sizeof(room));
    snprintf(cuda->problem, sizeof(cuda->problem), "the GPU failed at %s: %s%s", what,
             cuda_name_of(cuda->driver, error, name), room);
    return cuda->failure;
}
