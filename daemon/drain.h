/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a session's rings into the open batch. Loop thread only. */
#ifndef OPTRACE_DAEMON_DRAIN_H
#define OPTRACE_DAEMON_DRAIN_H

#include <stdbool.h>

#include "daemon/collector.h"

enum drain_result {
    DRAIN_DONE,  /* all that was there */
    DRAIN_WAITS, /* a record uses an id that is not defined yet: its definition is on the way */
    DRAIN_TURN,  /* the quota is used up: others first */
    DRAIN_FULL,  /* there is no room */
};

/* What a pass over rings has seen, for pacing the next ones. */
struct drain_pace {
    bool is_pressing; /* a ring is half full of records that are not on their way to the store */
    bool has_read;    /* a ring has come further, or has counted losses */
    uint64_t quota;   /* records that may still be read */
    double fill_max;  /* the fullest ring: new records / record_count */
};

/**
 * Read the rings of a session up to where they stand now, or until the quota is used up; its rings
 * take turns, too.
 *
 * pace  updated; set its quota before
 *
 * Returns an enum drain_result, or -EPROTO when a ring's numbers are impossible; that ring is not
 * read any more, call again for the others.
 */
int drain_session(struct collector *collector, struct session *session, struct drain_pace *pace,
                  struct diag *diag);

/** True when the store fails, and programs that have ended left more in their rings than may wait
 *  for it. */
bool drain_is_too_much_left(const struct collector *collector);

/** Instead of reading the rings of a session: count what they hold as lost, because the store
 *  fails. */
void drain_nothing(struct collector *collector, struct session *session);

/** Put the spans that are open on all rings, as unfinished. There must be room. */
void drain_open_spans(struct collector *collector, struct session *session);

#endif
