/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who chooses kernels and layouts otherwise than by the rules, as binding sees them. They stand on
 * binding (they bind what they time), so it knows no more of them than these calls.
 */
#ifndef OPTRACE_RUNTIME_EXEC_CHOOSERS_H
#define OPTRACE_RUNTIME_EXEC_CHOOSERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "runtime/graph/graph.h"

struct bound_step;
struct device;
struct device_backend;
struct layout;

struct kernel_chooser {
    /**
     * Let the steps of a graph that was bound, and has no addresses yet, call other kernels. On the
     * thread that will run the steps; may block for as long as timing takes.
     *
     * layouts  by buffer: in which order the axes lie there
     *
     * Returns 0, or a negative errno that exec_create() returns.
     */
    int (*choose)(struct kernel_chooser *chooser, const struct graph *graph,
                  struct bound_step *steps, uint32_t count, const struct layout *layouts,
                  struct diag *diag);
};

struct layout_chooser {
    /**
     * Say in which layout nodes compute, before any is bound; as above.
     *
     * backend, device  on which, nothing being handed over to it; NULL: on the CPU
     * out_formats  graph->node_count of them, enum format, all FORMAT_BY_RULE
     */
    int (*choose)(struct layout_chooser *chooser, const struct graph *graph,
                  const struct device_backend *backend, struct device *device, uint8_t *out_formats,
                  struct diag *diag);
    bool yields; /* not asked where the graph says it itself, in graph->layouts */
};

/** Whether the chooser, or NULL, is who says it of a graph. */
static inline bool layout_chooser_is_asked(const struct layout_chooser *chooser,
                                           const struct graph *graph)
{
    return chooser && !(chooser->yields && graph->layouts);
}

#endif
