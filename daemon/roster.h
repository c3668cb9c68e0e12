/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All sessions, those that are over too: as a list, for those who go through all, and by number.
 * {0} is empty. Nothing here owns a session. Loop thread only.
 */
#ifndef OPTRACE_DAEMON_ROSTER_H
#define OPTRACE_DAEMON_ROSTER_H

#include <stdint.h>

#include "base/array.h"

struct session;

struct roster {
    struct session *first; /* the others by `next` */
    ARRAY_OF(struct session *) by_id;
};

/** Its session_id is set, and stays. */
void roster_add(struct roster *roster, struct session *session);

/** It is there. */
void roster_remove(struct roster *roster, struct session *session);

/** NULL: not there. */
struct session *roster_find(const struct roster *roster, const uint8_t uuid[16]);

/** The session of the smallest number that is not below `first` and not over; NULL: none. */
struct session *roster_next(const struct roster *roster, int64_t first);

/** Frees the memory. */
void roster_deinit(struct roster *roster);

#endif
