/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who gives way when something that all clients share is used up: connections, sessions, rings,
 * memory for definitions. The greediest does, so that nobody can take what others need: first the
 * user who holds most, of that user's processes the one that holds most. Whoever would then hold as
 * much itself gets nothing. Pure computation.
 */
#ifndef OPTRACE_DAEMON_FAIRNESS_H
#define OPTRACE_DAEMON_FAIRNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What one connection or session holds. */
struct holder {
    uid_t uid;
    pid_t pid;
    uint64_t held;
};

/**
 * Choose the process that gives way.
 *
 * holders     of all who hold something, several for a process perhaps; they get sorted
 * wanted     who asks, and for how much
 * out_loser  its user and process, and how much that holds
 *
 * Returns false when nobody holds more than the one who asks would.
 */
bool fairness_choose(struct holder *holders, size_t count, const struct holder *wanted,
                     struct holder *out_loser);

#endif
