/* SPDX-License-Identifier: Apache-2.0 */
/* Several streams of a device, and marks by which they wait for each other. */
#include <stdlib.h>

#include "kernels/cuda/device.h"

enum { NOT_FOR_THE_DEFAULT_STREAM = 1 };

int cuda_stream_create(struct kernel_cuda *cuda)
{
    int error = cuda->driver->cuStreamCreate(&cuda->streams[cuda->stream_count],
                                             NOT_FOR_THE_DEFAULT_STREAM);

    cuda->stream_count += error == 0;
    return error;
}

void cuda_marks_destroy(struct kernel_cuda *cuda)
{
    for (uint32_t i = 0; i < cuda->mark_count; i++)
        (void)cuda->driver->cuEventDestroy_v2(cuda->marks[i]);
    free(cuda->marks);
}
