/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: who goes, and what is put for those that are over. */
#include <errno.h>
#include <string.h>

#include "daemon/collector_private.h"
#include "daemon/drain.h"
#include "daemon/log.h"
#include "daemon/memory.h"

static const uint64_t ALONE_NS = UINT64_C(5000000000); /* a living client may come back */

void collector_end(struct collector *collector, struct session *session, const char *reason,
                   const char *note)
{
    session->producer = NULL;
    session->end_reason = reason;
    session_leave_budget(session);
    session->end_ns = (int64_t)alarm_now_ns(CLOCK_REALTIME);
    if (session->end_ns < session->start_ns)
        session->end_ns = session->start_ns; /* somebody set the clock back */
    if (note && !session->end_note) {
        session->end_note = strdup(note);
        memory_must(session->end_note ? 0 : -ENOMEM);
    }
    collector->commits_soon = true;
    collector_schedule(collector);
}

void collector_cut_off(struct collector *collector, struct session *session, const char *text)
{
    if (session->producer)
        collector->events.on_nonsense(collector->events.context, session->producer, text);
    else
        collector_end(collector, session, "cut off", text);
}

void collector_leave(struct collector *collector, struct session *session)
{
    session->producer = NULL;
    session->alone_since_ns = alarm_now_ns(CLOCK_MONOTONIC);
    collector_schedule(collector);
}

void collector_check_alone(struct collector *collector, struct session *session)
{
    if (session->alone_since_ns == 0 || session->end_reason || collector->is_stopping)
        return;
    if (session_process_lives(session) &&
        alarm_now_ns(CLOCK_MONOTONIC) - session->alone_since_ns < ALONE_NS)
        return;
    collector_end(collector, session, "died", NULL);
}

void collector_finish(struct collector *collector, struct session *session)
{
    drain_open_spans(collector, session);
    if (session->is_coming_back || session->has_begun) /* and came no further */
        batch_add_unknown_gap(collector->open, session->session_id,
                              ot_wire_loss_name(OT_LOSS_NO_DAEMON),
                              session->complete_ns ? session->complete_ns : session->start_ns);
    session_put_end(session, collector->open);
    session_drop_rings(session); /* batches on their way have references of their own */
    collector->commits_soon = true;
    log_detail("session %lld (pid %lld of user %lld) ends: %s", (long long)session->session_id,
               (long long)session->pid, (long long)session->uid, session->end_reason);
}
