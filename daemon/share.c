/* SPDX-License-Identifier: Apache-2.0 */
/* Counting what sessions define. */
#include "daemon/share.h"

#include <string.h>

#include "base/amount.h"
#include "daemon/log.h"

enum { COMMAND_LEAST = 1024, COMMANDS = 4096 };

/* stored_max is a quarter of what the store has for pages: half of it is an eighth. */
static int64_t limit_of(const struct session *session)
{
    const struct session_budget *budget = session->budget;
    int64_t others = budget->stored_bytes - session->stored_bytes;
    int64_t left = others < budget->stored_max ? budget->stored_max - others : 0;

    return left / 2;
}

void share_add(struct session *session, int64_t bytes)
{
    session->stored_bytes += bytes;
    session->budget->stored_bytes += bytes;
}

bool share_take(struct session *session, int64_t bytes)
{
    struct session_budget *budget = session->budget;
    char share[32];

    if (!budget->stored_max || session->stored_bytes + bytes <= limit_of(session)) {
        share_add(session, bytes);
        return true;
    }
    if (!session->said_share) {
        session->said_share = true;
        log_say("pid %lld of user %lld has defined more than its share of the store (%s): further "
                "ops of it are not stored, and what it records of them is counted as lost",
                (long long)session->pid, (long long)session->uid,
                amount_format_bytes(share, sizeof(share), limit_of(session)));
    }
    return false;
}

int64_t share_of_text(const char *text)
{
    return text ? (int64_t)strlen(text) : 0;
}

int64_t share_command_max(const struct session_budget *budget)
{
    int64_t most = budget->stored_max / COMMANDS * 4;

    if (!budget->stored_max)
        return INT64_MAX;
    return most < COMMAND_LEAST ? COMMAND_LEAST : most;
}
