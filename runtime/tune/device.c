/* SPDX-License-Identifier: Apache-2.0 */
/* What was timed on devices: the entries of a policy whose machine is a device. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/exec/backend.h"
#include "runtime/tune/policy.h"
#include "runtime/tune/tune.h"

struct kept {
    struct device_memory calls; /* the first: what executions have */
    pthread_mutex_t lock;       /* of all that follows */
    struct policy policy;
    const char *path;
    bool is_changed;
    int problem; /* the first; 0 */
};

static void write_machine(const char *device, char *out)
{
    snprintf(out, POLICY_LINE_BYTES - 200, "%s, optrace %s", device, OPTRACE_VERSION);
}

static int recall(struct device_memory *memory, const char *device, const char *task,
                  struct device_way *out_ways, int most)
{
    struct kept *kept = (struct kept *)memory;
    const struct policy_entry *entry;
    char machine[POLICY_LINE_BYTES];
    int count = 0;

    write_machine(device, machine);
    pthread_mutex_lock(&kept->lock);
    entry = policy_find(&kept->policy, machine, task);
    for (; entry && count < entry->count && count < most; count++) {
        const struct policy_time *time = &entry->times[count];

        out_ways[count] =
            (struct device_way){.time_ns = time->time_ns, .workspace_bytes = time->workspace_bytes};
        memcpy(out_ways[count].name, time->name, sizeof(time->name));
    }
    pthread_mutex_unlock(&kept->lock);
    return count;
}

static int compare_ways(const void *a, const void *b)
{
    const struct device_way *left = a, *right = b;

    return (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

/* The fastest first, and no more than an entry has room for. */
static void keep(struct device_memory *memory, const char *device, const char *task,
                 const struct device_way *ways, int count)
{
    struct kept *kept = (struct kept *)memory;
    struct device_way *sorted = malloc((size_t)count * sizeof(*sorted));
    struct policy_time times[POLICY_TIMES_MAX] = {0};
    char machine[POLICY_LINE_BYTES];
    int rc = sorted ? 0 : -ENOMEM;

    write_machine(device, machine);
    if (sorted) {
        memcpy(sorted, ways, (size_t)count * sizeof(*sorted));
        qsort(sorted, (size_t)count, sizeof(*sorted), compare_ways);
    }
    count = count < POLICY_TIMES_MAX ? count : POLICY_TIMES_MAX;
    for (int i = 0; sorted && i < count; i++) {
        times[i].time_ns = sorted[i].time_ns;
        times[i].workspace_bytes = sorted[i].workspace_bytes;
        memcpy(times[i].name, sorted[i].name, sizeof(times[i].name));
    }
    pthread_mutex_lock(&kept->lock);
    if (rc == 0)
        rc = policy_put(&kept->policy, machine, task, times, count);
    kept->is_changed = kept->is_changed || rc == 0;
    if (rc < 0 && kept->problem == 0)
        kept->problem = rc;
    pthread_mutex_unlock(&kept->lock);
    free(sorted);
}

static int settle(struct device_memory *memory, struct diag *diag)
{
    struct kept *kept = (struct kept *)memory;
    int rc;

    pthread_mutex_lock(&kept->lock);
    rc = kept->problem;
    if (rc < 0)
        (void)diag_set(diag, rc,
                       rc == -ENOSPC ? "there is no room for more times of kernels"
                                     : "out of memory");
    else if (kept->is_changed)
        rc = policy_save(&kept->policy, kept->path, diag);
    kept->is_changed = kept->is_changed && rc < 0;
    pthread_mutex_unlock(&kept->lock);
    return rc;
}

int device_memory_open(const char *path, bool makes, struct device_memory **out_memory,
                       struct diag *diag)
{
    struct kept *kept = calloc(1, sizeof(*kept));
    int rc;

    if (!kept)
        return diag_set(diag, -ENOMEM, "out of memory");
    kept->calls = (struct device_memory){recall, keep, settle};
    kept->path = path;
    pthread_mutex_init(&kept->lock, NULL);
    rc = policy_open(&kept->policy, path, makes, diag);
    *out_memory = &kept->calls;
    if (rc < 0)
        device_memory_close(out_memory);
    return rc < 0 ? rc : 0;
}

void device_memory_close(struct device_memory **memory)
{
    struct kept *kept = (struct kept *)*memory;

    *memory = NULL;
    if (!kept)
        return;
    policy_deinit(&kept->policy);
    pthread_mutex_destroy(&kept->lock);
    free(kept);
}
