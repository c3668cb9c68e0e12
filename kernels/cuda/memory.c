/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a device, and copies to and from it. */
#include <errno.h>
#include <stdlib.h>

#include "kernels/cuda/device.h"

int kernel_cuda_alloc(struct kernel_cuda *cuda, size_t bytes, void **out_memory)
{
    struct cuda_range range = {.bytes = bytes ? bytes : 1};
    int error;

    if (cuda->failure != 0)
        return cuda->failure;
    if (cuda->range_count == cuda->range_room) {
        size_t room = cuda->range_room ? 2 * cuda->range_room : 16;
        struct cuda_range *ranges = realloc(cuda->ranges, room * sizeof(*ranges));

        if (!ranges)
            return -ENOMEM;
        cuda->ranges = ranges;
        cuda->range_room = room;
    }
    error = cuda->driver->cuMemAlloc_v2(&range.address, range.bytes);
    if (error == CUDA_OUT_OF_MEMORY)
        return -ENOMEM;
    if (error != 0)
        return cuda_checked(cuda, error, "allocating memory");
    cuda->ranges[cuda->range_count++] = range;
    *out_memory = cuda_pointer(range.address);
    return 0;
}

static int wait_for_streams(struct kernel_cuda *cuda)
{
    for (uint32_t i = 0; cuda->failure == 0 && i < cuda->stream_count; i++)
        (void)cuda_checked(cuda, cuda->driver->cuStreamSynchronize(cuda->streams[i]),
                           "running kernels");
    return cuda->failure;
}

void kernel_cuda_free(struct kernel_cuda *cuda, void *memory)
{
    size_t i = 0;

    while (i < cuda->range_count && (!memory || cuda_pointer(cuda->ranges[i].address) != memory))
        i++;
    /* What a failed device was handed over may still run: closing waits for it. */
    if (i == cuda->range_count || wait_for_streams(cuda) != 0)
        return;
    if (cuda_checked(cuda, cuda->driver->cuMemFree_v2(cuda->ranges[i].address),
                     "giving memory back") == 0)
        cuda->ranges[i] = cuda->ranges[--cuda->range_count];
}

size_t kernel_cuda_room(struct kernel_cuda *cuda)
{
    size_t room = 0, all;

    return cuda->driver->cuMemGetInfo_v2(&room, &all) == 0 ? room : 0;
}

int kernel_cuda_clear(struct kernel_cuda *cuda, void *to, size_t bytes)
{
    if (cuda->failure != 0 || bytes == 0)
        return cuda->failure;
    return cuda_checked(cuda,
                        cuda->driver->cuMemsetD8Async(cuda_address_of(to), 0, bytes, cuda->stream),
                        "clearing memory");
}

int kernel_cuda_put(struct kernel_cuda *cuda, void *to, const void *from, size_t bytes)
{
    if (cuda->failure != 0 || bytes == 0)
        return cuda->failure;
    return cuda_checked(
        cuda, cuda->driver->cuMemcpyHtoDAsync_v2(cuda_address_of(to), from, bytes, cuda->stream),
        "a copy to it");
}

int kernel_cuda_get(struct kernel_cuda *cuda, void *to, const void *from, size_t bytes)
{
    if (cuda->failure != 0 || bytes == 0)
        return cuda->failure;
    (void)cuda_checked(
        cuda, cuda->driver->cuMemcpyDtoHAsync_v2(to, cuda_address_of(from), bytes, cuda->stream),
        "a copy from it");
    if (cuda->failure != 0)
        return cuda->failure;
    return cuda_checked(cuda, cuda->driver->cuStreamSynchronize(cuda->stream), "running kernels");
}
