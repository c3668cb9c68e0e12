/* SPDX-License-Identifier: Apache-2.0 */
/* Workspaces of libraries, and times of what they propose. */
#include "kernels/cuda/library.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 3 };

bool cuda_workspaces_take(struct kernel_cuda *cuda, size_t bytes)
{
    for (uint32_t i = 0; i < cuda->stream_count; i++) {
        void *memory;

        if (cuda->workspaces[i].bytes >= bytes)
            continue;
        if (cuda->is_capturing || kernel_cuda_alloc(cuda, bytes, &memory) < 0)
            return false;
        cuda->ranges[cuda->range_count - 1].is_workspace = true;
        cuda->workspaces[i].memory = memory; /* the one before may be in use: until the end */
        cuda->workspaces[i].bytes = bytes;
        cuda->workspace_bytes += bytes;
    }
    return true;
}

void *cuda_workspace(const struct kernel_cuda *cuda)
{
    uint32_t i = 0;

    while (cuda->streams[i] != cuda->stream)
        i++;
    return cuda->workspaces[i].memory;
}

static int make_timers(struct kernel_cuda *cuda)
{
    for (int i = 0; i < 2; i++)
        if (cuda->failure == 0 && !cuda->timers[i])
            (void)cuda_checked(cuda, cuda->driver->cuEventCreate(&cuda->timers[i], 0),
                               "making an event");
    return cuda->failure;
}

bool cuda_time(struct kernel_cuda *cuda, const char *what, cuda_hand_over_fn *hand_over,
               void *context, float *out_ms)
{
    const struct cuda_driver *driver = cuda->driver;
    const bool was_rehearsing = cuda->is_rehearsing;
    float least = 0.0f;
    int status = 0;

    if (make_timers(cuda) < 0)
        return false;
    cuda->is_rehearsing = false;
    for (int round = 0; round <= ROUNDS && status == 0 && cuda->failure == 0; round++) {
        float ms = 0.0f;
        int error = driver->cuEventRecord(cuda->timers[0], cuda->stream);

        if (error == 0)
            status = hand_over(cuda, context);
        if (error == 0)
            error = driver->cuEventRecord(cuda->timers[1], cuda->stream);
        if (error == 0)
            error = driver->cuEventSynchronize(cuda->timers[1]);
        if (error == 0)
            error = driver->cuEventElapsedTime(&ms, cuda->timers[0], cuda->timers[1]);
        (void)cuda_checked(cuda, error, what);
        if (round == 1 || (round > 1 && ms < least))
            least = ms;
    }
    cuda->is_rehearsing = was_rehearsing;
    if (status != 0 || cuda->failure != 0)
        return false;
    *out_ms = least;
    return true;
}

struct item {
    void (*call)(void *argument);
    void *argument;
};

static int call_item(struct kernel_cuda *cuda, void *context)
{
    const struct item *item = context;

    item->call(item->argument);
    return cuda->failure;
}

int kernel_cuda_time(struct kernel_cuda *cuda, void (*call)(void *argument), void *argument,
                     uint64_t *out_ns)
{
    struct item item = {call, argument};
    float ms = 0.0f;

    if (!cuda_time(cuda, "timing layouts", call_item, &item, &ms))
        return cuda->failure != 0 ? cuda->failure : -EIO;
    *out_ns = (uint64_t)((double)ms * 1e6) + 1;
    return 0;
}

void cuda_ways_add(struct cuda_ways *ways, const char *name, float ms, size_t workspace_bytes)
{
    const uint64_t ns = ms > 0.0f ? (uint64_t)((double)ms * 1e6) + 1 : 1;
    struct kernel_cuda_way *way;

    for (int i = 0; i < ways->count; i++) {
        way = &ways->items[i];
        if (strcmp(way->name, name) != 0 || way->workspace_bytes != workspace_bytes)
            continue;
        way->time_ns = ns < way->time_ns ? ns : way->time_ns;
        return;
    }
    if (ways->count == CUDA_WAYS_MAX)
        return;
    way = &ways->items[ways->count++];
    snprintf(way->name, sizeof(way->name), "%s", name);
    way->time_ns = ns;
    way->workspace_bytes = workspace_bytes;
}

void cuda_ways_keep(const struct kernel_cuda *cuda, const char *task, const struct cuda_ways *ways)
{
    const struct kernel_cuda_memory *memory = cuda->choice.memory;

    if (memory && ways->count > 0)
        memory->keep(memory->user, task, ways->items, ways->count);
}

bool cuda_ways_recall(const struct kernel_cuda *cuda, const char *task,
                      struct kernel_cuda_way *out_way)
{
    const struct kernel_cuda_memory *memory = cuda->choice.memory;
    struct kernel_cuda_way ways[CUDA_WAYS_MAX];
    int count = memory ? memory->recall(memory->user, task, ways, CUDA_WAYS_MAX) : 0;

    for (int i = 0; i < count; i++) {
        if (ways[i].workspace_bytes > cuda->choice.workspace_limit)
            continue;
        *out_way = ways[i];
        return true;
    }
    return false;
}

void cuda_timers_destroy(struct kernel_cuda *cuda)
{
    for (int i = 0; i < 2; i++)
        if (cuda->timers[i])
            (void)cuda->driver->cuEventDestroy_v2(cuda->timers[i]);
}

void kernel_cuda_choose_by(struct kernel_cuda *cuda, const struct kernel_cuda_choice *choice)
{
    cuda->choice = *choice;
}

struct kernel_cuda_chosen kernel_cuda_chosen(const struct kernel_cuda *cuda)
{
    return cuda->chosen;
}

uint64_t kernel_cuda_workspace_bytes(const struct kernel_cuda *cuda)
{
    return cuda->workspace_bytes;
}
