/* SPDX-License-Identifier: Apache-2.0 */
/* Reading in turn what sessions bring, from their rings and from their frames. */
#include "daemon/collector_private.h"
#include "daemon/drain.h"
#include "daemon/log.h"

/* Records that a session may bring before it is another's turn, and how many such turns are taken
 * before the loop looks at its sockets again. */
enum { TURN_RECORDS = 4096, TURNS_AT_ONCE = 16 };

/* Reads the rings of one session for one turn. */
static enum drain_result read_session(struct collector *collector, struct session *session,
                                      struct drain_pace *pace)
{
    pace->quota = TURN_RECORDS;
    for (;;) {
        struct diag diag = {0};
        int rc = drain_session(collector, session, pace, &diag);

        if (rc >= 0)
            return (enum drain_result)rc;
        if (session->producer)
            collector->events.on_nonsense(collector->events.context, session->producer, diag.text);
        else
            log_peer(session->pid, "pid %lld of user %lld left nonsense: %s",
                     (long long)session->pid, (long long)session->uid, diag.text);
    }
}

static void note_pace(struct collector *collector, const struct drain_pace *pace)
{
    collector->has_read |= pace->has_read;
    collector->commits_soon |= pace->is_pressing;
}

void collector_read_rings(struct collector *collector, struct session *session)
{
    struct drain_pace pace = {0};

    if (!collector->is_behind && !collector->lacks_room)
        collector->is_behind = read_session(collector, session, &pace) == DRAIN_TURN;
    note_pace(collector, &pace);
    collector_schedule(collector);
}

static void set_pace(struct collector *collector, const struct drain_pace *pace)
{
    if (pace->fill_max > 0.25)
        collector->pace_ms /= 2;
    else if (pace->fill_max < 0.05)
        collector->pace_ms *= 2;
    if (collector->pace_ms < PACE_BUSY_MS)
        collector->pace_ms = PACE_BUSY_MS;
    if (collector->pace_ms > collector_calm_pace_ms(collector))
        collector->pace_ms = collector_calm_pace_ms(collector);
}

/* Reads what a session has brought, for one turn. */
static enum drain_result take_turn(struct collector *collector, struct session *session,
                                   struct drain_pace *pace)
{
    enum drain_result result;
    bool was_over;

    collector_check_alone(collector, session);
    if (session->is_ended)
        return DRAIN_DONE;
    was_over = session->end_reason != NULL;
    result = read_session(collector, session, pace);
    if (result != DRAIN_FULL && session->producer &&
        collector->events.on_turn(collector->events.context, session->producer))
        result = collector->lacks_room ? DRAIN_FULL : DRAIN_TURN;
    if (result < DRAIN_TURN && !collector_room(collector))
        result = DRAIN_FULL;
    if (result == DRAIN_FULL && session->end_reason && drain_is_too_much_left(collector)) {
        drain_nothing(collector, session);
        result = DRAIN_DONE;
    }
    if (result < DRAIN_TURN && session->end_reason && !was_over)
        result = DRAIN_TURN; /* its last frames may have brought rings */
    if (result >= DRAIN_TURN)
        return result;
    session_drop_closed_rings(session);
    if (session->end_reason)
        collector_finish(collector, session);
    return DRAIN_DONE;
}

bool collector_read_all(struct collector *collector)
{
    struct session *s = collector->turn ? collector->turn : collector->roster.first;
    struct drain_pace pace = {0};
    struct session *waiting = NULL; /* the first that found no room: the next to come */
    size_t done = 0, turns = 0;

    while (s && done < collector->budget.session_count + collector->budget.over_count &&
           turns < TURNS_AT_ONCE) {
        enum drain_result result = take_turn(collector, s, &pace);

        if (result == DRAIN_FULL && !waiting)
            waiting = s;
        done = result == DRAIN_TURN ? 0 : done + 1;
        turns += result == DRAIN_TURN;
        s = s->next ? s->next : collector->roster.first;
    }
    collector->turn = waiting ? waiting : s;
    collector->is_behind = !waiting && turns == TURNS_AT_ONCE;
    note_pace(collector, &pace);
    set_pace(collector, &pace);
    return !waiting && !collector->is_behind;
}
