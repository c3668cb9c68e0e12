/* SPDX-License-Identifier: Apache-2.0 */
/* What doubles of NVIDIA's libraries ask of the workspaces that they are given. */
#ifndef OPTRACE_TESTS_SUPPORT_CUDA_WORKSPACE_H
#define OPTRACE_TESTS_SUPPORT_CUDA_WORKSPACE_H

#include <stdbool.h>

enum { WORKSPACE_STREAMS = 64 };

/** Whether a workspace has been no other stream's. */
static inline bool workspace_is_own(const void *workspace, void *stream)
{
    static struct {
        const void *workspace;
        void *stream;
    } seen[WORKSPACE_STREAMS];
    int i = 0;

    while (i < WORKSPACE_STREAMS && seen[i].workspace && seen[i].workspace != workspace)
        i++;
    if (i == WORKSPACE_STREAMS)
        return false;
    if (!seen[i].workspace) {
        seen[i].workspace = workspace;
        seen[i].stream = stream;
    }
    return seen[i].stream == stream;
}

#endif
