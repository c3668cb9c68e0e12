/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a session's rings into the open batch. Loop thread only. */
#ifndef OPTRACE_DAEMON_DRAIN_H
#define OPTRACE_DAEMON_DRAIN_H

#include <stdbool.h>

#include "daemon/collector.h"

enum drain_result {
    DRAIN_DONE,  /* all that was there */
    DRAIN_WAITS, /* a record uses an id that is not defined yet: its definition is on the way */
    DRAIN_FULL,  /* there is no room */
};

/* What a pass over rings has seen, for pacing the next ones. */
struct drain_pace {
    bool is_pressing; /* a ring is half full of records that are not committed */
    double fill_max;  /* the fullest ring: new records / record_count */
};

/**
 * Read all rings of a session up to where they stand now.
 *
 * pace  updated
 *
 * Returns an enum drain_result, or -EPROTO when a ring's numbers are impossible; that ring is not
 * read any more, call again for the others.
 */
int drain_session(struct collector *collector, struct session *session, struct drain_pace *pace,
                  struct diag *diag);

/** Instead of reading the rings of a session: count what they hold as lost, because the store
 *  fails. */
void drain_nothing(struct collector *collector, struct session *session);

/** Put the spans that are open on all rings, as unfinished. There must be room. */
void drain_open_spans(struct collector *collector, struct session *session);

#endif
