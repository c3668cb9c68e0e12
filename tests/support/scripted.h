/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock, alarms and a writer that do what the test says, in place of daemon/alarm.c and
 * daemon/writer.c: a program that links this has no time of its own, no thread and no disk. One
 * world per process. Nothing happens by itself: time stands still until scripted_pass() or
 * scripted_ring(), batches stay in the queue until scripted_write().
 */
#ifndef OPTRACE_TESTS_SUPPORT_SCRIPTED_H
#define OPTRACE_TESTS_SUPPORT_SCRIPTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/batch.h"

/** Forget everything of an earlier world. The clocks begin near the true ones. */
void scripted_begin(void);

/** Let time pass; nobody is called. */
void scripted_pass(uint64_t duration_ns);

/** In how many ns the next alarm rings; UINT64_MAX: none is set. */
uint64_t scripted_due_ns(void);

/** With how many ms the alarm that rings next was set. */
uint64_t scripted_delay_ms(void);

/** Let time pass until the next alarm, and ring it; one must be set. */
void scripted_ring(void);

/** Batches that were handed over and have not come back, and the oldest of them or NULL. */
size_t scripted_queued(void);
const struct batch *scripted_batch(void);

/** Give the oldest one back: committed (0) or given up. A batch that is committed ends trouble, as
 *  with the true writer. */
void scripted_write(int status);

/** The store cannot be written for now. */
void scripted_fail(int error);

/** Whether batches that fail are to be given back. */
bool scripted_gives_up(void);

/** How often a batch was handed over. */
uint64_t scripted_submit_count(void);

#endif
