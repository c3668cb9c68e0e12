/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of a device in the recording: a lane each, and who waits for whom, as
 * analyze/metrics/stream_waits.h reads it. */
#ifndef OPTRACE_RUNTIME_SESSION_TRACE_STREAMS_H
#define OPTRACE_RUNTIME_SESSION_TRACE_STREAMS_H

#include <stdint.h>

#include "runtime/exec/exec.h"

enum { TRACE_STREAMS_MAX = 16 };

struct trace_streams {
    uint32_t count; /* 0: there is no device */
    uint32_t lanes[TRACE_STREAMS_MAX];
    uint32_t waits[TRACE_STREAMS_MAX]; /* ops: a wait for this one */
    uint32_t record;                   /* op: that others may wait for a step is noted */
    uint32_t device_record;            /* the same, by the device, within a graph */
    uint32_t launch;                   /* op: all steps are launched as one graph */
    uint32_t steps;
};

/** number  of the session in the process: lanes of others have other names */
void trace_streams_define(struct trace_streams *streams, const struct exec *exec, uint32_t number);

/** Marks what times of the device were by. */
void trace_streams_close(const struct trace_streams *streams, const struct exec *exec);

/** In the unit of optrace_ticks(). */
void trace_streams_mark(const struct trace_streams *streams, uint32_t step, uint64_t start,
                        uint64_t end);
/** That others may wait for a step from then on, within a graph, where they do with trace_streams_wait(). */
void trace_streams_mark_device(const struct trace_streams *streams, const struct exec_step *awaited,
                               uint32_t step, uint32_t run, uint64_t ticks);
/** Returns the correlation id, which steps on the device have then. */
uint32_t trace_streams_launch(const struct trace_streams *streams, uint64_t start, uint64_t end);
void trace_streams_wait(const struct trace_streams *streams, const struct exec_step *waiting,
                        const struct exec_step *awaited, uint32_t awaited_step, uint32_t run,
                        uint64_t ticks);

#endif
