/* SPDX-License-Identifier: Apache-2.0 */
/* What sessions hold, and which one of the greediest process is given up. */
#include "daemon/room.h"

#include <stdlib.h>

#include "daemon/memory.h"
#include "daemon/fairness.h"

static uint64_t held(const struct session *session, enum room_kind kind)
{
    if (session->end_reason)
        return 0;
    switch (kind) {
    case ROOM_SESSIONS:
        return 1;
    case ROOM_DEFINITIONS:
        return session->definition_bytes;
    default:
        return session->rings.count;
    }
}

/* Of the process: whose client is gone first, then what holds most, then the oldest. */
static struct session *choose_of(struct session *sessions, enum room_kind kind,
                                 const struct holder *process)
{
    struct session *chosen = NULL;

    for (struct session *s = sessions; s; s = s->next) {
        if (held(s, kind) == 0 || s->uid != process->uid || s->pid != process->pid)
            continue;
        if (!chosen || (kind == ROOM_SESSIONS ? !s->producer || chosen->producer
                                              : held(s, kind) >= held(chosen, kind)))
            chosen = s;
    }
    return chosen;
}

/*
 * Choose the session that ends so that somebody else finds room.
 *
 * sessions  all of them; those that are over do not count
 * wanted    what the process that asks wants, on top of what it has
 *
 * Returns NULL when no other process holds more than the one that asks.
 */
static struct session *choose(struct session *sessions, enum room_kind kind, uid_t uid, int64_t pid,
                              uint64_t wanted)
{
    const struct holder asker = {.uid = uid, .pid = (pid_t)pid, .held = wanted};
    struct session *chosen = NULL;
    struct holder *holders, loser;
    size_t count = 0;

    for (const struct session *s = sessions; s; s = s->next)
        count++;
    holders = memory_zeroed(count + 1, sizeof(*holders));
    count = 0;
    for (const struct session *s = sessions; s; s = s->next)
        if (held(s, kind) > 0)
            holders[count++] = (struct holder){s->uid, (pid_t)s->pid, held(s, kind)};
    if (fairness_choose(holders, count, &asker, &loser))
        chosen = choose_of(sessions, kind, &loser);
    free(holders);
    return chosen;
}

/* What is said to a session that gave way. */
static const char *farewell(enum room_kind kind)
{
    switch (kind) {
    case ROOM_SESSIONS:
        return "it gave way: all sessions were in use, and its process had the most";
    case ROOM_DEFINITIONS:
        return "it gave way: the memory for definitions was used up, and its process had the most";
    default:
        return "it gave way: all rings were in use, and its process had the most";
    }
}

/* Lets a session end so that somebody else finds room. */
static bool give_way(struct collector *collector, enum room_kind kind, uid_t uid, int64_t pid,
                     uint64_t wanted)
{
    struct session *loser = choose(collector_sessions(collector), kind, uid, pid, wanted);

    if (loser)
        collector_cut_off(collector, loser, farewell(kind));
    return loser != NULL;
}

bool room_make(void *context, enum room_kind kind, const struct session *session, uint64_t wanted)
{
    return give_way(context, kind, session->uid, session->pid, wanted);
}

bool room_for_session(struct collector *collector, const struct session_peer *peer)
{
    /* Those that are over stay until their end is committed; so many may do so. */
    if (peer->budget->over_count >= OT_WIRE_SESSIONS_MAX)
        return false;
    return peer->budget->session_count < OT_WIRE_SESSIONS_MAX ||
           give_way(collector, ROOM_SESSIONS, peer->uid, peer->pid, 1);
}
