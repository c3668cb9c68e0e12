/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an execution tells while it runs. The profile and the trace are observers; the executor
 * knows neither. An observer reads the clock itself: a callback is called at the moment that it
 * names, and nothing is called when there is no observer.
 */
#ifndef OPTRACE_RUNTIME_OBSERVER_H
#define OPTRACE_RUNTIME_OBSERVER_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/graph.h"

enum exec_moment {
    /* On the dispatching thread, for each node in order. */
    EXEC_HOST_START, /* the node's turn to be issued */
    EXEC_HOST_KERN,  /* right before its (first) kernel is handed to the queue; left out if none is
                      */
    EXEC_HOST_END,   /* fully issued */
    /* On the thread that works off the queue (in order, one node at a time). */
    EXEC_DEVICE_START, /* the queue has reached the node */
    EXEC_DEVICE_KERN,  /* layout changes and other preparation are done, right before its kernels */
    EXEC_DEVICE_END,   /* right after them */
};

enum exec_memory {
    EXEC_MEMORY_ARENA,     /* activations */
    EXEC_MEMORY_WEIGHTS,   /* constants in the layout that the kernels want */
    EXEC_MEMORY_WORKSPACE, /* scratch of the kernels */
};

struct exec_observer {
    void *user;
    void (*moment)(void *user, enum exec_moment moment, const struct node *node);

    /** Memory was taken (bytes > 0) or given back (bytes < 0, the same address). NULL: not wanted.
     *  On the thread that creates or destroys the execution. */
    void (*memory)(void *user, enum exec_memory what, const void *address, int64_t bytes);
};

enum { EXEC_OBSERVERS_MAX = 4 };

#endif
