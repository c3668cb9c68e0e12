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

uint32_t collector_count_sessions(const struct collector *collector)
{
    uint32_t count = 0;

    for (const struct session *s = collector->roster.first; s; s = s->next)
        count += !s->end_reason;
    return count;
}

bool collector_is_empty(const struct collector *collector)
{
    return !collector->roster.first;
}
