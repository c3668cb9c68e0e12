/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What load_and_run records through liboptrace. trace*.c are the only files of the runtime that know
 * liboptrace; the others see this.
 *
 * Order: trace_start() once, before any thread; per session, when it is ready to run, trace_open(),
 * then trace_run_begin() and trace_run_end() around each run, trace_close() before the session
 * goes; at last trace_stop(). All accept NULL in place of a trace and then do nothing: that is
 * --no-trace.
 *
 * Recorded: the model; an op per step, with shapes, dtypes, computation, memory, scratch, the
 * implementation and the names of the model's nodes it came from; for each execution of a step a
 * span on the dispatching thread's lane and one on the lane of the execution's queue (start, kern,
 * end of both, tied by a correlation id; of a run that a GPU has as one graph a span of its launch, and
 * of each step that on the device's lane, with the launch's correlation id); for each execution of a node inside of an If or a Loop a
 * span on the queue's lane, within that of the step that holds it; the runs, warm-ups marked; the
 * memory that the execution holds. In more detail also the phases of each execution, on the queue's
 * lane.
 */
#ifndef OPTRACE_RUNTIME_SESSION_TRACE_H
#define OPTRACE_RUNTIME_SESSION_TRACE_H

#include "base/diag.h"
#include "runtime/session/session.h"

/** The recording of one session. */
struct trace;

enum trace_detail {
    TRACE_DEFAULT, /* runs, ops, memory; phases as well where the daemon asks for them */
    TRACE_OP,  /* and phases. Of a step: compute, its kernel, which of a Reorder is prepare_data.
                  Of a step inside of an If or a Loop: infer_shape, prepare_data (memory for its
                  outputs, choice of its kernel), compute. Shapes of other steps were inferred
                  when the model was loaded */
    TRACE_ALL, /* and each node's phases under a name of their own: "conv1/compute" */
};

struct trace_config {
    bool required;        /* the daemon's absence is an error */
    const char *counters; /* CPU counters to record; NULL: those of the environment. With a list
                             recording is required, and it is an error that none can be read */
    /* Is told, once, where only some counters of the list can be read. */
    void (*warn)(const struct diag *diag);
};

/**
 * Record from trace_begin() on, which trace_open() calls: what goes wrong before it leaves no
 * session in the store.
 *
 * Returns 0, or, where a recording is required and nobody listens, what trace_begin() does, so that
 * it is known before the work is done.
 */
int trace_start(const struct trace_config *config, struct diag *diag);

/**
 * Connect to the daemon, once; later calls, on whichever thread, return what the first one did.
 *
 * Returns 0, also where trace_start() was not called, and where there is no daemon and none is
 * required; else -ENOENT, -ECONNREFUSED, -EACCES, -ETIMEDOUT, -EINVAL for a wrong setting, -ENODATA
 * for counters, with the sentence in diag.
 */
int trace_begin(struct diag *diag);

/** Whether trace_begin() failed. */
bool trace_is_refused(void);

/** Whether it is a list of CPU counters: 0, or -EINVAL with the sentence. */
int trace_check_counters(const char *list, struct diag *diag);

/** Record a value of a counter by name, on the calling thread. Nothing happens while nothing is
 *  recorded. */
void trace_value(const char *name, double value);

/** What is recorded where, or why nothing is: one sentence. */
void trace_status(char *out_text, size_t bytes);

/** Save what was recorded, and end. */
void trace_stop(void);

/**
 * Watch a session from now on. The calling thread dispatches its runs.
 *
 * number  of the session in this process, for the name of its queue's lane
 * detail  the same for all sessions of the process
 *
 * Returns 0, what trace_begin() returns, or -ENOMEM.
 */
int trace_open(struct session *session, uint32_t number, enum trace_detail detail,
               struct trace **out_trace, struct diag *diag);

/** Accepts NULL; sets *trace to NULL. The session must not run again afterwards. */
void trace_close(struct trace **trace);

void trace_run_begin(struct trace *trace, bool is_warmup);
void trace_run_end(struct trace *trace);

#endif
