/* SPDX-License-Identifier: Apache-2.0 */
/* Rehearsals: when one ends, the workspaces are those of what was chosen. */
#include "kernels/cuda/library.h"

static void give_back_workspaces(struct kernel_cuda *cuda)
{
    size_t kept = 0;

    for (size_t i = 0; i < cuda->range_count; i++) {
        if (cuda->ranges[i].is_workspace)
            (void)cuda_checked(cuda, cuda->driver->cuMemFree_v2(cuda->ranges[i].address),
                               "giving workspaces back");
        else
            cuda->ranges[kept++] = cuda->ranges[i];
    }
    cuda->range_count = kept;
    for (uint32_t i = 0; i < cuda->stream_count; i++) {
        cuda->workspaces[i].memory = NULL;
        cuda->workspaces[i].bytes = 0;
    }
    cuda->workspace_bytes = 0;
}

/* What was tried and not chosen wants no workspace any more. */
static void settle_workspaces(struct kernel_cuda *cuda)
{
    size_t products = product_workspace(cuda), convolutions = conv_workspace(cuda);
    size_t most = products > convolutions ? products : convolutions;

    if (cuda->workspace_bytes == cuda->stream_count * most)
        return;
    for (uint32_t i = 0; i < cuda->stream_count; i++)
        (void)cuda_checked(cuda, cuda->driver->cuStreamSynchronize(cuda->streams[i]),
                           "timing what libraries propose");
    if (cuda->failure != 0)
        return;
    give_back_workspaces(cuda);
    (void)cuda_workspaces_take(cuda, most); /* who computes asks again */
}

void kernel_cuda_rehearse(struct kernel_cuda *cuda, bool is_on)
{
    cuda->is_rehearsing = is_on;
    if (is_on)
        conv_plans_release(cuda);
    if (!is_on && cuda->failure == 0)
        settle_workspaces(cuda);
}
