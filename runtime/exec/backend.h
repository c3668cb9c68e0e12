/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device can do for an execution: hold memory, take copies, work a queue off.
 *
 * Each backend is one constant of this type. All functions are called by one thread, the one that
 * dispatches, except for what a queue's own worker does.
 */
#ifndef OPTRACE_RUNTIME_EXEC_BACKEND_H
#define OPTRACE_RUNTIME_EXEC_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct backend_queue;

/** One item of a queue. Runs on the queue's worker. */
typedef void backend_item_fn(void *argument);

struct backend_queue_config {
    uint32_t threads;      /* of the team that the kernels use, the worker included; at least 1 */
    bool is_inline;        /* no worker: the thread that pushes leads the team */
    const uint32_t *cores; /* one for each thread of the team, the leader first; NULL: any */
};

struct backend {
    const char *name; /* "cpu" */

    /** 64-byte aligned device memory, all zero; NULL when there is none left. */
    void *(*alloc)(size_t bytes);
    void (*free)(void *memory, size_t bytes);

    /** Host memory to device memory. The queue must be idle. */
    void (*copy_in)(void *device, const void *host, size_t bytes);

    /**
     * A queue with one worker, or without: pushing an item then runs it at once.
     *
     * Returns 0; -ENOMEM; -EAGAIN; -EINVAL when a core cannot be used.
     */
    int (*queue_create)(const struct backend_queue_config *config,
                        struct backend_queue **out_queue);

    /** Finishes what is queued. Accepts NULL. */
    void (*queue_destroy)(struct backend_queue *queue);

    /** Items run one after the other, in order. Waits only while the queue is full. */
    void (*queue_push)(struct backend_queue *queue, backend_item_fn *item, void *argument);

    /** Until every item pushed so far has run. What the items wrote is then visible. */
    void (*queue_wait)(struct backend_queue *queue);
};

extern const struct backend backend_cpu;

#endif
