/* SPDX-License-Identifier: Apache-2.0 */
/* A thread from its first record to its end, which is noticed by itself: a destructor of a key
 * ends its spans, and leaves its ring to the next thread. */
#ifndef OPTRACE_CLIENT_THREAD_LIFE_H
#define OPTRACE_CLIENT_THREAD_LIFE_H

#include "client/thread.h"

/** Give the calling thread a ring, connecting first in a forked child. Returns false when it has
 *  none now: recording is off, or it cannot be made (then the loss is to be counted by
 *  ot_thread_lost_here()). */
bool ot_thread_attach(uint64_t now);

/** Make the calling thread's struct, unless it has one. Needs the session's lock. Returns 0 or
 *  -ENOMEM. */
int ot_thread_make(struct ot_thread **out_thread);

/** The housekeeping of the calling thread, whose deadline has passed: looks after the connection,
 *  moves to the ring of a new session, sets the next deadline. */
void ot_thread_service(uint64_t now);

/** In a child after fork(): forget all threads but without touching what the parent has. */
void ot_thread_fork_child(void);

#endif
