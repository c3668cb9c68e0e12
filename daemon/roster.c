/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions in a list and in an array that is sorted by their numbers. */
#include "daemon/roster.h"

#include <string.h>

#include "base/sorted.h"
#include "daemon/memory.h"
#include "daemon/session.h"

/* The place of the first whose number is not below. */
static size_t place_of(const struct roster *roster, int64_t session_id)
{
    return search_past(0, roster->by_id.count, i, roster->by_id.items[i]->session_id < session_id);
}

void roster_add(struct roster *roster, struct session *session)
{
    size_t place = place_of(roster, session->session_id);
    size_t behind = roster->by_id.count - place;

    memory_must(array_push(&roster->by_id, session)); /* new ones have the highest numbers */
    memmove(&roster->by_id.items[place + 1], &roster->by_id.items[place],
            behind * sizeof(roster->by_id.items[0]));
    roster->by_id.items[place] = session;
    session->next = roster->first;
    roster->first = session;
}

void roster_remove(struct roster *roster, struct session *session)
{
    size_t place = place_of(roster, session->session_id);
    struct session **at = &roster->first;

    while (roster->by_id.items[place] != session)
        place++; /* two of one number would be the store's fault */
    roster->by_id.count--;
    memmove(&roster->by_id.items[place], &roster->by_id.items[place + 1],
            (roster->by_id.count - place) * sizeof(roster->by_id.items[0]));
    while (*at != session)
        at = &(*at)->next;
    *at = session->next;
    session->next = NULL;
}

struct session *roster_find(const struct roster *roster, const uint8_t uuid[16])
{
    for (struct session *s = roster->first; s; s = s->next)
        if (memcmp(s->uuid, uuid, sizeof(s->uuid)) == 0)
            return s;
    return NULL;
}

struct session *roster_next(const struct roster *roster, int64_t first)
{
    for (size_t i = place_of(roster, first); i < roster->by_id.count; i++)
        if (!roster->by_id.items[i]->end_reason)
            return roster->by_id.items[i];
    return NULL;
}

void roster_deinit(struct roster *roster)
{
    array_deinit(&roster->by_id);
    roster->first = NULL;
}
