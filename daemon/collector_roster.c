/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: who is there. */
#include "daemon/collector_private.h"

void collector_unlink(struct collector *collector, struct session *session)
{
    if (collector->turn == session)
        collector->turn = session->next;
    roster_remove(&collector->roster, session);
}

struct session *collector_next_session(struct collector *collector, int64_t first)
{
    return roster_next(&collector->roster, first);
}

struct session *collector_sessions(const struct collector *collector)
{
    return collector->roster.first;
}

bool collector_is_empty(const struct collector *collector)
{
    return !collector->roster.first;
}
