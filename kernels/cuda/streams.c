/* SPDX-License-Identifier: Apache-2.0 */
/* Several streams of a device, and marks by which they wait for each other. */
#include <errno.h>
#include <stdlib.h>

#include "kernels/cuda/device.h"

int cuda_stream_create(struct kernel_cuda *cuda)
{
    int error = cuda->driver->cuStreamCreate(&cuda->streams[cuda->stream_count], CUDA_OWN_STREAM);

    cuda->stream_count += error == 0;
    return error;
}

int kernel_cuda_make_streams(struct kernel_cuda *cuda, uint32_t count)
{
    while (cuda->failure == 0 && cuda->stream_count < count)
        (void)cuda_checked(cuda, cuda_stream_create(cuda), "making a stream");
    return cuda->failure;
}

void kernel_cuda_choose(struct kernel_cuda *cuda, uint32_t stream)
{
    cuda->stream = cuda->streams[stream];
}

int kernel_cuda_make_marks(struct kernel_cuda *cuda, uint32_t count)
{
    void **marks;

    if (cuda->failure != 0 || count <= cuda->mark_count)
        return cuda->failure;
    marks = realloc(cuda->marks, count * sizeof(*marks));
    if (!marks)
        return -ENOMEM;
    cuda->marks = marks;
    while (cuda->mark_count < count) {
        int error = cuda->driver->cuEventCreate(&marks[cuda->mark_count], CUDA_EVENT_WITHOUT_TIME);

        if (error != 0)
            return cuda_checked(cuda, error, "making an event");
        cuda->mark_count++;
    }
    return 0;
}

void cuda_marks_destroy(struct kernel_cuda *cuda)
{
    for (uint32_t i = 0; i < cuda->mark_count; i++)
        (void)cuda->driver->cuEventDestroy_v2(cuda->marks[i]);
    free(cuda->marks);
}

int kernel_cuda_mark(struct kernel_cuda *cuda, uint32_t mark)
{
    if (cuda->failure != 0)
        return cuda->failure;
    return cuda_checked(cuda, cuda->driver->cuEventRecord(cuda->marks[mark], cuda->stream),
                        "recording an event");
}

int kernel_cuda_follow(struct kernel_cuda *cuda, uint32_t mark)
{
    if (cuda->failure != 0)
        return cuda->failure;
    return cuda_checked(cuda, cuda->driver->cuStreamWaitEvent(cuda->stream, cuda->marks[mark], 0),
                        "letting a stream wait");
}
