/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording costs the program here, measured when it starts and told to the session: the
 * counters "recording....", once for each session, with its first ring (schema/store/store.md).
 * Needs the session's lock.
 */
#ifndef OPTRACE_CLIENT_COST_H
#define OPTRACE_CLIENT_COST_H

#include "client/counters.h"

/**
 * Record some spans of the calling thread into memory that nobody reads, and keep what the quickest
 * batch took. Some tens of microseconds; without memory for it, nothing is known and nothing told.
 *
 * counters  what is read at the begin and the end of spans, or NULL
 */
void ot_cost_measure(struct ot_counters *counters);

/** The calling thread has a ring: record what was measured, unless the session has it. */
void ot_cost_tell(void);

#endif
