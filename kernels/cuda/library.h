/* SPDX-License-Identifier: Apache-2.0 */
/* What cuBLASLt and cuDNN share: workspaces, one for each stream, and times of what they propose.
 * Inside of kernels/cuda only. */
#ifndef OPTRACE_KERNELS_CUDA_LIBRARY_H
#define OPTRACE_KERNELS_CUDA_LIBRARY_H

#include "kernels/cuda/device.h"

/** So much for each stream, from now on. False where the device has no room, or a graph is being
 *  captured: then it is as before. */
bool cuda_workspaces_take(struct kernel_cuda *cuda, size_t bytes);

/** The one of the stream that work is handed over to. */
void *cuda_workspace(const struct kernel_cuda *cuda);

/** Hands over what is to be timed. Returns a library's status, 0: well. */
typedef int cuda_hand_over_fn(struct kernel_cuda *cuda, void *context);

/** The shortest of several times, after one that does not count; rehearsals are interrupted. False
 *  where it cannot be had. */
bool cuda_time(struct kernel_cuda *cuda, const char *what, cuda_hand_over_fn *hand_over,
               void *context, float *out_ms);

enum { CUDA_WAYS_MAX = 40, CUDA_TASK_BYTES = 1024 };

/** What was timed of a task. */
struct cuda_ways {
    struct kernel_cuda_way items[CUDA_WAYS_MAX];
    int count;
};

/** Add one; of more than there is room for the last are left out, and of those of one name and one
 *  workspace the slower. */
void cuda_ways_add(struct cuda_ways *ways, const char *name, float ms, size_t workspace_bytes);

/** Hands them to whoever keeps them. */
void cuda_ways_keep(const struct kernel_cuda *cuda, const char *task, const struct cuda_ways *ways);

/** The fastest way that is known of a task, of those within the limit for workspaces. False: none. */
bool cuda_ways_recall(const struct kernel_cuda *cuda, const char *task,
                      struct kernel_cuda_way *out_way);

/** A key of numbers, begun with CUDA_KEY_BEGIN. */
#define CUDA_KEY_BEGIN UINT64_C(0xcbf29ce484222325)
static inline uint64_t cuda_key_of(uint64_t key, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        key = (key ^ (number >> 8 * i & 0xff)) * UINT64_C(0x100000001b3);
    return key;
}

/** The name of the own kernel among ways. */
#define CUDA_OWN_WAY "own"

#endif
