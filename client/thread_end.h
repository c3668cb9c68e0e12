/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a ring whose thread has ended, or whose session has: it is the next thread's, or
 * stays until the daemon has all that is in it, or what is in it is counted as lost. Needs the
 * session's lock.
 */
#ifndef OPTRACE_CLIENT_THREAD_END_H
#define OPTRACE_CLIENT_THREAD_END_H

#include <stdbool.h>
#include <stdint.h>

#include "client/thread.h"

/** Take it off the session's list, with its ring. Its losses stay counted. */
void ot_thread_free(struct ot_thread *thread);

/** The thread has ended: its ring waits for the next thread, or is closed. */
void ot_thread_leave_ring(struct ot_thread *thread);

/** The daemon may have this thread's ring, and nobody can hand it over: whoever reads it reads what
 *  is in it. */
void ot_thread_orphan_ring(struct ot_thread *thread);

/** Its ring is of a session that has ended, and not by a goodbye, after which the daemon reads it.
 */
bool ot_thread_is_left_behind(const struct ot_thread *thread);

/** The program has closed the descriptor of this thread's ring, which is to be handed over: the
 * thread is called to move to a new one. Needs the session's lock. */
void ot_thread_cut_off(struct ot_thread *thread);

/** At the end: what threads hold that were called so, and have not come, is looked after as
 * orphans. Needs the session's lock. */
void ot_thread_leave_cut_off(void);

/** A new session has begun: what ended threads have left in rings of those before, which no daemon
 *  has, is counted as lost. Needs the session's lock. */
void ot_thread_leave_past(void);

/** At the end: the same of threads that live, and have not come to the session. Needs the session's
 *  lock. */
void ot_thread_give_up_past(void);

/** Close rings that no thread has asked for a while, and free ended threads whose records the
 * store has, and losses; with `all`, ended threads altogether. Needs the session's lock. */
void ot_thread_reap(bool all);

/** Records of its ring that are not committed; 0 for numbers that are no ring's. */
uint64_t ot_thread_unread(const struct ot_thread *thread);

/** True while a ring holds records that are not committed, of the present session or of one that
 *  ended without them. Needs the session's lock. */
bool ot_thread_has_records(void);

#endif
