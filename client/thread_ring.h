/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring that a thread writes into: that of an ended thread, or a new one; another one when the
 * session is another, or when this one cannot be handed over any more. Needs the session's lock,
 * but for ot_thread_make_room().
 */
#ifndef OPTRACE_CLIENT_THREAD_RING_H
#define OPTRACE_CLIENT_THREAD_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "client/thread.h"

/** Give the calling thread a ring; with `inherits` that of an ended thread will do. Returns 0 or a
 *  negative errno, which optrace_status() tells of. */
int ot_thread_give_ring(struct ot_thread *thread, bool inherits);

/** The calling thread has none, and tries again a second later. */
void ot_thread_lose_ring(struct ot_thread *thread, uint64_t now);

/** Move the calling thread to a ring of the present session that can be handed over, if it has
 * none. Needs the session's lock. */
void ot_thread_follow(uint64_t now);

/** Make room for a record, or find that there is none; rings the daemon's doorbell. Sets
 *  ot_hot.stop. Returns false when the ring is full or there is none. */
bool ot_thread_make_room(uint64_t now);

#endif
