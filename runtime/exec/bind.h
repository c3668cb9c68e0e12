/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a graph to a list of steps: which kernel computes each node, which memory layout each value
 * has on the way, which buffers the steps read and write.
 *
 * Layouts: convolutions want and make channels-last images; pools, normalisations and element-wise
 * operators take what they get; Reshape and Transpose are free where they can be; matrix products
 * read and write matrices with gaps between their rows; the rest is row-major. Where a
 * value is wanted in a layout that it does not have yet, a step of type "Reorder" makes it, once.
 *
 * Order: bind_graph(), which also plans the arena; then bound_place() with the addresses; then
 * bound_step_run() for each step, any number of times; bound_destroy().
 */
#ifndef OPTRACE_RUNTIME_EXEC_BIND_H
#define OPTRACE_RUNTIME_EXEC_BIND_H

#include "base/diag.h"
#include "runtime/exec/backend.h"
#include "runtime/exec/choosers.h"
#include "runtime/exec/exec.h"
#include "runtime/exec/plan.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/layout.h"
#include "runtime/ops/call/call.h"

struct bound_step {
    struct exec_step info;
    struct call call;
    char *name;                /* owned; of a Reorder or a copy, else NULL */
    const struct value *value; /* what a Reorder or a copy copies, else NULL */
    uint32_t copied; /* of a copy between host and device: the buffer, whole; else PLAN_NONE */
    /* Buffers and, once they are placed, addresses: one per input and output of the node; a buffer
     * is PLAN_NONE (address NULL) where the node leaves one out. */
    uint32_t *input_buffers, *output_buffers;
    const void **inputs;
    void **outputs;
    uint32_t in_place_input; /* buffer that output 0 may, or must, be written over; PLAN_NONE */
    bool must_be_in_place;
    uint32_t stream; /* of the device's */
    uint32_t mark;   /* others wait for it: its number among such, from 1; else 0 */
    uint32_t *waits; /* steps of other streams that must be done before */
    uint32_t wait_count;
};

/** A constant in another layout, for a device: the buffer's memory is its own, and NULL once the device
 *  has it and nobody else reads it. */
struct bound_turned {
    const struct value *value;
    uint32_t buffer;
};

struct bound {
    const struct graph *graph;
    struct bound_step *steps;
    uint32_t step_count;
    struct plan plan;
    /* By buffer: what it is made of, when it is external: a constant's or graph input's memory. */
    void **memory;
    struct bound_turned *turned;
    uint32_t turned_count;
    struct layout *layouts;   /* by buffer: in which order the axes lie there */
    uint32_t *output_buffers; /* by position in graph->outputs */
    uint32_t *input_buffers;  /* by position in graph->inputs: external, memory NULL until placed */
    /* Of a device, else NULL. By buffer: where roots are needed, and where roots and outputs have
     * their content at the end, sets of enum bound_side; the memory of roots on the device. */
    uint8_t *needed_on, *ends_on;
    void **device_memory;
    uint32_t stream_count; /* that are used; 0 where nobody asked for several */
    uint32_t mark_count;
};

enum bound_side { ON_HOST = 1, ON_DEVICE = 2 };

struct bind_options {
    bool is_lavish;                 /* see plan.h */
    struct graph *frees_packed;     /* see exec.h; NULL or the same graph */
    struct kernel_chooser *kernels; /* NULL: the default ones */
    struct layout_chooser *layouts; /* NULL: graph->layouts, or the rules */
    /* Steps are those of this device's kernels where it has them, and copies are put between; NULL:
     * the CPU alone. Borrowed until bound_destroy(). */
    const struct device_backend *backend;
    struct device *device;
    uint32_t streams; /* of it, at most; 0 is 1 */
};

/** On the thread that will run the steps: kernels prepare for the size of its team. Returns 0 or
 *  what exec_create() says. */
int bind_graph(const struct graph *graph, const struct bind_options *options,
               struct bound **out_bound, struct diag *diag);

/** Give the steps their addresses. arenas have plan.arena_bytes, device_arena is NULL without a
 *  device, arena where nothing is computed on the host; bound->memory of the graph's inputs is set,
 *  and bound->device_memory of inputs and constants. */
void bound_place(struct bound *bound, void *arena, void *device_arena);

/** Where a buffer begins, after bound_place(); NULL for a constant that was freed. */
void *bound_address(const struct bound *bound, uint32_t buffer);
void *bound_device_address(const struct bound *bound, uint32_t buffer);

/** Whether a call, bound with the device's kernels, is theirs with all that comes behind. */
bool bound_is_on_device(const struct device_backend *backend, const struct call *call);

/** Put copies before the steps that need what lies on the other side. 0 or -ENOMEM. */
int bound_add_copies(struct bound *bound, const struct bind_options *options, struct diag *diag);

/** Before and after the plan: streams of the steps, and what these wait for. 0 or -ENOMEM. */
int bound_choose_streams(struct bound *bound, uint32_t streams, struct diag *diag);
int bound_add_waits(struct bound *bound, struct diag *diag);

/** Run it with what its inputs held when sizes were inferred, where that was kept: for a step that made an
 *  output of another size, -ESTALE. Returns as call_run(), or -ENOMEM. */
int bound_step_run_as_inferred(const struct bound_step *step);

/** Returns 0 or a negative errno, as call_run(). */
static inline int bound_step_run(const struct bound_step *step)
{
    return call_run(&step->call);
}

/** Accepts NULL; sets *bound to NULL. */
void bound_destroy(struct bound **bound);

void bound_step_deinit(struct bound_step *step);

#endif
