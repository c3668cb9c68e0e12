/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session may put into the store for good. Events are dropped as new ones come; what defines
 * a session stays for as long as the session does. So each session has a share: an eighth of what
 * the store has for pages, and never more than half of what all living sessions have left for each
 * other, who have a quarter.
 *
 * Beyond its share a session's lanes and models are stored without texts, its ops not at all; what
 * it records of those ops is counted as lost, for the reason "definitions". Loop thread only.
 */
#ifndef OPTRACE_DAEMON_SHARE_H
#define OPTRACE_DAEMON_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/session.h"

enum {
    SHARE_ROW_BYTES = 100, /* of a row without its texts, with what indexes have of it */
    SHARE_OP_BYTES = 500,  /* of an op and its roll-ups of the latest 10 s */
    SHARE_TEXT_BYTES = 20, /* of a row of a long text without it */
    SHARE_OP_REFUSED = -1, /* the store's number of an op that it does not have */
};

/** Whether so many bytes more are within the session's share; then they are counted. What is not is
 *  said in the log once. */
bool share_take(struct session *session, int64_t bytes);

/** Count what the store has of it already. */
void share_add(struct session *session, int64_t bytes);

/** Bytes of a text, 0 for NULL. */
int64_t share_of_text(const char *text);

/** The longest command line that a row of `session` may have. */
int64_t share_command_max(const struct session_budget *budget);

#endif
