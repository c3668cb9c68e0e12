/* SPDX-License-Identifier: Apache-2.0 */
/* What exec.c and memory.c share; nobody else includes it. */
#ifndef OPTRACE_RUNTIME_EXEC_PRIVATE_H
#define OPTRACE_RUNTIME_EXEC_PRIVATE_H

#include "base/clock.h"
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

    const struct device_backend *device_backend; /* NULL: the CPU alone */
    struct device *device;
    struct device_memory *device_memory; /* what was timed before; NULL */
    char device_name[24];                /* "cuda:0" */
    void *device_arena, *device_constants;
    uint64_t device_constant_bytes;
    uint32_t device_constant_copies;
    struct exec_library_steps library_steps[DEVICE_TASKS];
    void **output_copies; /* by position in graph->outputs: read from the device when asked for */
    bool has_host_steps, offloads;
    bool is_captured;       /* a run is kept on the device as a whole, */
    bool is_captured_timed; /* with the moments of its steps */
    bool is_capturing;
    bool device_pending;          /* observers are to hear of the device's moments of this run */
    uint64_t first_ticks;         /* of the device's moment 0 in this run */
    struct ot_clock_triple begun; /* right after it */
    struct ot_clock_triple zero;  /* of the clocks, once */
    struct {
        uint64_t recorded_runs, event_runs, graph_runs;
        const char *problem; /* why events; NULL: nothing */
        bool is_recorded;    /* this run */
    } times;                 /* see exec_times.c */

    struct exec_observer observers[EXEC_OBSERVERS_MAX];
    uint32_t observer_count;
    bool observers_take_time; /* one of them, at least */

    /* The worker's. The dispatching thread reads them when the queue is idle. */
    bool run_failed; /* the steps up to the next run are left out */
    int failure;     /* the first since the last exec_wait(), or 0 */
    uint32_t failed_step;
    uint32_t resized_step; /* see exec_resized_step(); EXEC_NO_STEP */
};

/** Touch all that the runs of a struct exec read and write: an item of its queue. */
void exec_touch_all(void *exec);

/* exec_device.c: all of them do nothing, and return 0, without a device. */

int exec_device_open(struct exec *exec, const struct exec_options *options, struct diag *diag);
int exec_device_allocate(struct exec *exec, struct diag *diag);
/** After bound_place(): what computes products and convolutions is decided. */
int exec_device_rehearse(struct exec *exec, struct diag *diag);
void exec_device_close(struct exec *exec);
/** As a run begins; steps are observed. */
int exec_device_begin(struct exec *exec);
/** Around a step of the device. */
int exec_device_step(struct exec *exec, uint32_t step, bool is_observed);
/* exec_times.c: of a run that is observed, before its first step; around a step; and once all is done,
 * observers are told of the device's moments. */
int exec_times_begin(struct exec *exec);
int exec_times_before(struct exec *exec, uint32_t step);
int exec_times_after(struct exec *exec, uint32_t step);
int exec_times_tell(struct exec *exec);

/* exec_streams.c: where steps are on several streams of a device; else nothing. Number 0 is chosen
 * after a join. */
int exec_streams_open(struct exec *exec);
/** Number 0 waits for all others; they wait for it. */
int exec_streams_join(struct exec *exec);
int exec_streams_fork(struct exec *exec);
/** Before a step, and after it. */
int exec_streams_prepare(struct exec *exec, uint32_t step);
int exec_streams_mark(struct exec *exec, uint32_t step);

/** A graph input was set. */
int exec_device_put_input(struct exec *exec, uint32_t index);
/** As a run ends: waits, tells observers of the device's moments. out_step: whose failure it is. */
int exec_device_finish(struct exec *exec, uint32_t *out_step);
/** Whether runs are those of device steps alone, as a whole. */
static inline bool exec_device_is_graph(const struct exec *exec)
{
    return exec->device && exec->is_recorded && !exec->has_host_steps;
}

/** Such a run; false: it must go step by step. */
bool exec_device_replay(struct exec *exec, int *out_failure);
/** Where an output can be read. -EIO: the device could not bring it. */
int exec_device_output(const struct exec *exec, uint32_t index, void **out_data);

/** Which memory of the graph's own the steps read, and the caller at the end. -ENOMEM. */
int exec_list_needed(struct exec *exec);

#endif
