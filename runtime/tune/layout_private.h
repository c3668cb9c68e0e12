/* SPDX-License-Identifier: Apache-2.0 */
/* What layout_choose.c and layout_time.c share; nobody else includes it. */
#ifndef OPTRACE_RUNTIME_TUNE_LAYOUT_PRIVATE_H
#define OPTRACE_RUNTIME_TUNE_LAYOUT_PRIVATE_H

#include "runtime/exec/layout_format.h"
#include "runtime/tune/layout_choose.h"
#include "runtime/tune/layout_search.h"
#include "runtime/tune/private.h"

/** The search's layouts are these formats, in this order. */
static inline enum format layout_format_of(int layout)
{
    return layout == 0 ? FORMAT_ROW_MAJOR : FORMAT_CHANNELS_LAST;
}

/** One thing to be timed: a node's kernel in both layouts, or moving a tensor both ways. */
struct layout_trial {
    char *key; /* owned */
    struct subject subjects[SEARCH_LAYOUTS];
    struct call calls[SEARCH_LAYOUTS];
    bool can[SEARCH_LAYOUTS]; /* and computes right; of a move: from this one */
    uint64_t times_ns[SEARCH_LAYOUTS];
    size_t bytes; /* of a move: the tensor's */
};

struct layout_trials ARRAY_FIELDS(struct layout_trial);

struct layout_job {
    const struct graph *graph;
    struct layout_trials trials;
    uint32_t *node_trials;  /* by node: its trial, or SEARCH_NONE */
    uint32_t *value_trials; /* by value: of moving it, or SEARCH_NONE */
    uint64_t timing_ns;
    uint32_t recalled;                    /* trials of a device that were timed before */
    bool only_recalls;                    /* of a device: nothing is timed */
    uint32_t unknown;                     /* then: trials that were never timed */
    bool has_conv;                        /* of a device: one that computes in both */
    const struct device_backend *backend; /* on which; NULL: on the CPU */
    struct device *device;
    struct device_memory *memory; /* what was timed on devices before; NULL */
    const char *conditions;       /* words, beside what is timed, on which its time there depends */
    uint32_t wrong_count;         /* kernels of trials that compute something else */
    struct diag *diag;
    struct diag quiet;
};

/** A Reshape and its like show what they read in whatever order it lies, and a Transpose moves
 *  everything anyway: they have no layout of their own. */
bool layout_passes_through(const struct node *node);

/** Fill in trials, node_trials and value_trials, and time them all. -ENOMEM. */
int layout_time(struct layout_job *job);
/** Compare what the nodes' kernels compute with the reference; who is wrong in one layout only
 *  cannot be had there. -ENOMEM. */
int layout_check(struct layout_job *job);

/** The same on the device of the job, each trial alone; what its memory knows is not timed.
 *  Nothing is where no convolution computes in both. -ENOMEM, -ENOSPC, what the device fails with. */
int layout_time_on_device(struct layout_job *job);

void layout_time_deinit(struct layout_job *job);

#endif
