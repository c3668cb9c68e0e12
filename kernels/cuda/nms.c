/* SPDX-License-Identifier: Apache-2.0 */
/* Launcher of nms.cu. */
#include "kernels/cuda.h"
#include "kernels/cuda/launch.h"

enum { BLOCKS_MAX = 1 << 20 };

static void launch(enum cuda_kernel kernel, int64_t lines, void **arguments)
{
    unsigned blocks = (unsigned)(lines < BLOCKS_MAX ? lines : BLOCKS_MAX);

    cuda_launch(kernel, (struct cuda_size){blocks, 1, 1}, (struct cuda_size){CUDA_BLOCK, 1, 1},
                arguments);
}

/* How many boxes are kept is known to those alone who wait: for others it is `room`, and fewer are
 * told as an index that is out of range. */
static int64_t nms_cuda(int64_t *y, int64_t room, const float *boxes, const float *scores,
                        void *scratch, const struct kernel_nms *shape)
{
    struct kernel_nms given = *shape;
    struct cuda_fault fault = cuda_fault_place();
    int64_t lines = shape->batch * shape->classes, count = room;
    int64_t *counts = scratch, *sum = cuda_answer_place();
    int32_t *lists = (int32_t *)(counts + lines);

    if (room <= 0 || lines <= 0 || shape->boxes <= 0 || shape->limit <= 0)
        return 0;
    launch(CUDA_KERNEL_nms_keep, lines,
           (void *[]){&counts, &lists, &boxes, &scores, &lines, &given});
    launch(CUDA_KERNEL_nms_rows, lines,
           (void *[]){&y, &room, &counts, &lists, &lines, &given, &sum, &fault});
    if (sum && kernel_cuda_get(cuda_current(), &count, sum, sizeof(count)) < 0)
        return 0;
    return count < room ? count : room;
}

void cuda_table_nms(struct kernel_table *table)
{
    CUDA_USE(nms, nms_cuda);
}
