/* SPDX-License-Identifier: Apache-2.0 */
/* Which session gives way when what all sessions share is used up; see fairness.h. No I/O. */
#ifndef OPTRACE_DAEMON_ROOM_H
#define OPTRACE_DAEMON_ROOM_H

#include "daemon/collector.h"

/**
 * Choose the session that ends so that somebody else finds room.
 *
 * sessions  all of them; those that are over do not count
 * wanted    what the process that asks wants, on top of what it has
 *
 * Returns NULL when no other process holds more than the one that asks.
 */
struct session *room_choose(struct session *sessions, enum room_kind kind, uid_t uid, int64_t pid,
                            uint64_t wanted);

/** What is said to a session that gave way. */
const char *room_farewell(enum room_kind kind);

/** For struct session_budget; context is the collector. */
bool room_make(void *context, enum room_kind kind, const struct session *session, uint64_t wanted);

/** Whether this peer may have one more session; makes room for it. */
bool room_for_session(struct collector *collector, const struct session_peer *peer);

#endif
