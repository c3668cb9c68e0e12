/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings that cannot be handed over again, since the program closed their descriptors and the
 * connection broke after that. The daemon that has such a ring mapped reads it to its end; one that
 * was started later never sees it. Which of the two it is shows after a FLUSH: records that are not
 * committed then are lost, and are counted. It may be too many: by those that the former daemon
 * committed just before it died, and by what was dropped and counted in the ring before.
 *
 * All of it needs the session's lock.
 */
#ifndef OPTRACE_CLIENT_ORPHAN_H
#define OPTRACE_CLIENT_ORPHAN_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wire/wire.h"

/** Take over a ring into which nobody writes any more, and say so in it. With `borrowed` its thread
 *  goes on using it, and the ring is looked at only until ot_orphan_forget(). Without memory for
 *  that, what it holds is counted as lost at once. */
void ot_orphan_add(struct ot_ring *ring, bool borrowed);

/** Free those that the daemon has read; ask it about the others, and count what is lost. Needs a
 *  connection that has everything else. Returns 0 or an error of ot_link_send(). */
int ot_orphan_push(void);

/** Some are left. */
bool ot_orphan_is_left(void);

/** Count what the others hold as lost, now. */
void ot_orphan_give_up(void);

/** Let go of all of them, without a word: in a child after fork(), or at the end. */
void ot_orphan_forget(void);

#endif
