/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of programs that have none: an op whose name matches $OPTRACE_RUNS_BY, an extended regular
 * expression, begins one where its thread is in none, and ends it with its own end.
 *
 * Inside client/inject only. Any thread.
 */
#ifndef OPTRACE_CLIENT_INJECT_RUNS_H
#define OPTRACE_CLIENT_INJECT_RUNS_H

#include "client/inject/recorder.h"

/** Whether begin and end of ops go the long way: any op begins runs, or stack.h is kept. */
extern bool runs_follow_ops;

/** Read the variable. Once, while nothing is recorded yet. */
void runs_open(void);

/** Tell of an op as it is defined. */
void runs_note(uint32_t op, const char *name);

/** Have an op begin runs whatever its name. As it is defined: one thread at a time. */
void runs_always(uint32_t op);

struct optrace_span runs_begin(uint32_t op);
void runs_end(struct optrace_span span);

/** What sources begin and end ops with. */
static inline struct optrace_span op_begin(uint32_t op)
{
    return UNLIKELY(runs_follow_ops) ? runs_begin(op) : recorder.begin(op);
}

static inline void op_end(struct optrace_span span)
{
    if (UNLIKELY(runs_follow_ops))
        runs_end(span);
    else
        recorder.end(span);
}

#endif
