/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where threads count what they lose that have no ring of their own: a small ring without a writer,
 * in whose gap slots, of lane 0, all of them count. The daemon reads it like the others, also when
 * the program has been killed, and the store remembers what was read: each loss is said once.
 *
 * Made when the first thread finds no room for a ring. When it cannot be made either, losses are
 * counted in private memory and told by GAP frames, to each daemon until one has stored it.
 */
#ifndef OPTRACE_CLIENT_LOSS_RING_H
#define OPTRACE_CLIENT_LOSS_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wire/wire.h"

/** Make it for the present session, if it is not there. Needs the session's lock. */
void ot_loss_ring_make(void);

/** Count one record as lost. Any thread, without the lock. pause_ticks as ot_ring_count_loss(). */
void ot_loss_ring_count(uint64_t now, uint64_t pause_ticks);

/** Count what a ring holds that no daemon has, and none will take: its records, and what was
 * dropped and counted in it. That may have been read, or not; there is no telling, so it is counted
 * again. Needs the session's lock. */
void ot_loss_ring_add_left(const struct ot_ring *left);

/** Hand the ring over to a connection that does not have it, or say in a GAP what there is to say
 * without one. Needs the session's lock. Returns 0 or as ot_link_send(). */
int ot_loss_ring_push(void);

/** The session has ended; the next one makes its own. Unless the daemon reads all of it, which it
 *  has said goodbye to then, what was counted is counted for the next session, too. Needs the
 *  session's lock. */
void ot_loss_ring_retire(bool is_read);

/** In a child after fork(): it is the parent's. */
void ot_loss_ring_forget(void);

#endif
