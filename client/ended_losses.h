/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was dropped and counted in the rings of threads that have ended. The daemon moves a ring's
 * tail when it has stored records, and nothing of the kind shows that it has stored the counts. So
 * such rings are kept until it says so, for the next daemon to read if this one dies before.
 *
 * All of it needs the session's lock.
 */
#ifndef OPTRACE_CLIENT_ENDED_LOSSES_H
#define OPTRACE_CLIENT_ENDED_LOSSES_H

#include <stdbool.h>

#include "client/thread.h"

/** Ask the daemon about those that are not known to be stored. Needs a connection that has every
 *  ring. Returns 0 or as ot_link_send(). */
int ot_ended_losses_push(void);

/** What an ended thread's ring counts is in the store, or it counts nothing. */
bool ot_ended_losses_are_stored(const struct ot_thread *thread);

/** Wait for no answer any more: in a child after fork(), or when all such rings are gone. */
void ot_ended_losses_forget(void);

#endif
