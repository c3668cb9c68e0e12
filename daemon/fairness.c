/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by user and by process. */
#include "daemon/fairness.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    const struct holder *a = left, *b = right;

    if (a->uid != b->uid)
        return a->uid < b->uid ? -1 : 1;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

/* Adds up what each process holds. Returns how many there are. */
static size_t add_up(struct holder *holders, size_t count)
{
    size_t kept = 0;

    qsort(holders, count, sizeof(holders[0]), compare);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && compare(&holders[kept - 1], &holders[i]) == 0)
            holders[kept - 1].held += holders[i].held;
        else
            holders[kept++] = holders[i];
    }
    return kept;
}

static uint64_t held_by_user(const struct holder *processes, size_t count, uid_t uid)
{
    uint64_t held = 0;

    for (size_t i = 0; i < count; i++)
        held += processes[i].uid == uid ? processes[i].held : 0;
    return held;
}

/* The user who holds most; processes are sorted. */
static struct holder greediest_user(const struct holder *processes, size_t count)
{
    struct holder most = {0}, user = {0};

    for (size_t i = 0; i < count; i++) {
        if (i == 0 || processes[i].uid != user.uid)
            user = (struct holder){.uid = processes[i].uid};
        user.held += processes[i].held;
        if (user.held > most.held)
            most = user;
    }
    return most;
}

bool fairness_choose(struct holder *holders, size_t count, const struct holder *wanted,
                     struct holder *out_loser)
{
    struct holder loser = {0}, user;
    uint64_t own = wanted->held;

    count = add_up(holders, count);
    user = greediest_user(holders, count);
    if (user.held <= held_by_user(holders, count, wanted->uid) + wanted->held)
        user.uid = wanted->uid; /* nobody else is greedier: it is between one's own processes */
    for (size_t i = 0; i < count; i++) {
        if (compare(&holders[i], wanted) == 0)
            own += holders[i].held;
        else if (holders[i].uid == user.uid && holders[i].held > loser.held)
            loser = holders[i];
    }
    if (loser.held == 0 || (user.uid == wanted->uid && loser.held <= own))
        return false;
    *out_loser = loser;
    return true;
}
