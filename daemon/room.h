/* SPDX-License-Identifier: Apache-2.0 */
/* Which session gives way when what all sessions share is used up; see fairness.h. No I/O. */
#ifndef OPTRACE_DAEMON_ROOM_H
#define OPTRACE_DAEMON_ROOM_H

#include "daemon/collector.h"

/** For struct session_budget; context is the collector. */
bool room_make(void *context, enum room_kind kind, const struct session *session, uint64_t wanted);

/** Whether this peer may have one more session; makes room for it. */
bool room_for_session(struct collector *collector, const struct session_peer *peer);

#endif
