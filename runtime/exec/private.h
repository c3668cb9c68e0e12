/* SPDX-License-Identifier: Apache-2.0 */
/* What exec.c and memory.c share; nobody else includes it. */
#ifndef OPTRACE_RUNTIME_EXEC_PRIVATE_H
#define OPTRACE_RUNTIME_EXEC_PRIVATE_H

#include "runtime/exec/backend.h"
#include "runtime/exec/bind.h"
#include "runtime/exec/exec.h"

/* What the queue is handed for each step. */
struct task {
    struct exec *exec;
    uint32_t step;
};

struct inner_step {
    struct exec_step info;
    uint32_t holder;
};

struct exec {
    const struct graph *graph;
    const struct backend *backend;
    struct backend_queue *queue;
    struct bound *bound;
    struct task *tasks; /* one per step */
    void *arena;
    void **input_memory; /* by position in graph->inputs */
    struct exec_chunk *chunks;
    uint32_t chunk_count;
    const void **needed; /* memory of constants that the steps read, sorted, with repetitions */
    size_t needed_count;
    uint32_t threads;
    struct inner_step *inner;
    uint32_t inner_count;
    struct call_watch inner_watch; /* tells the observers */
    bool is_recorded;
    struct exec_observer observers[EXEC_OBSERVERS_MAX];
    uint32_t observer_count;
    bool observers_take_time; /* one of them, at least */

    /* The worker's. The dispatching thread reads them when the queue is idle. */
    bool run_failed; /* the steps up to the next run are left out */
    int failure;     /* the first since the last exec_wait(), or 0 */
    uint32_t failed_step;
};

/** Touch all that the runs of a struct exec read and write: an item of its queue. */
void exec_touch_all(void *exec);

/** Which memory of the graph's own the steps read, and the caller at the end. -ENOMEM. */
int exec_list_needed(struct exec *exec);

#endif
